// Package ollama speaks Ollama's own API, which tells and takes what its
// Chat Completions face does not: how large a model's window is, whether it
// thinks, sees and calls tools, and that a prompt must not be cut in silence.
package ollama

import (
	"context"
	"errors"
	"iter"
	"strings"
	"syscall"
	"time"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// What is asked of a server where nothing else is said: a window that holds the
// work of an agent and still fits into most machines, and that a model stays
// loaded while its user reads.
const (
	DefaultWindow    = 65_536
	DefaultKeepAlive = "30m"
)

// Provider asks models of an Ollama server. The zero value of every field but
// Name has a meaning; the fields must not change once it is in use. It may be
// used by several goroutines.
//
// Before the first request to a model it asks the server what the model can do.
// A request is always made to fit: tools, thinking and images are left out for
// models without them, with a Notice where something is lost.
type Provider struct {
	provider.Server // BaseURL as Address takes it; a key is for ollama.com alone

	// Window is the most context to ask for, in tokens; the model's own limit
	// holds as well. 0 means what its Modelfile says, or DefaultWindow, or that
	// limit for one that runs elsewhere.
	Window int
	// KeepAlive is how long the model stays loaded, in the server's words; ""
	// means DefaultKeepAlive.
	KeepAlive string

	known known
}

var (
	_ provider.Provider  = (*Provider)(nil)
	_ provider.Describer = (*Provider)(nil)
)

// mostTries is how often one request is sent while something is learned of the
// model each time.
const mostTries = 4

// Stream implements provider.Provider.
func (p *Provider) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		for tries := 1; ; tries++ {
			a := &attempt{Provider: p, req: req, yield: yield, last: tries == mostTries}
			if !a.run(ctx) {
				return
			}
		}
	}
}

// attempt is a request that is sent once.
type attempt struct {
	*Provider
	req   provider.Request
	yield func(provider.Event, error) bool
	last  bool // nothing more is learned
	facts facts
	dec   *decoder
}

// run sends the request. It reports whether to send it again, without what the
// model turned out not to know.
func (a *attempt) run(ctx context.Context) (again bool) {
	e := a.endpoint(a.Idle)
	e.Lines = true
	a.dec = &decoder{provider: a.Name, model: a.req.Model, history: a.req.Messages}
	for ev, err := range wire.Stream(ctx, e, a.prepare, a.dec) {
		if _, ok := ev.(provider.Done); ok {
			a.known.badCall("", a.req)
		}
		if err != nil {
			return a.failed(provider.AsError(err))
		}
		if s, ok := ev.(provider.Started); ok && !a.started(s) {
			return false
		} else if ok {
			continue
		}
		if !a.yield(ev, nil) {
			return false
		}
	}
	return false
}

// started passes the first sign of life on, and after it what the user must know
// of this request.
func (a *attempt) started(s provider.Started) bool {
	if !a.yield(s, nil) {
		return false
	}
	for _, text := range a.known.notices(a.req, a.facts) {
		if !a.yield(provider.Notice{Text: text, Warning: true}, nil) {
			return false
		}
	}
	return true
}

// failed looks for what another request would do better.
func (a *attempt) failed(e *provider.Error) (again bool) {
	if !a.last && a.known.learn(e, a.req, a.facts) {
		return true
	}
	switch {
	case strings.Contains(e.Message, badCall):
		if a.known.badCall(e.Message, a.req) {
			a.yield(a.dec.unreadable(e, a.req.Tools), nil)
			return false
		}
		e.Hint = "the model wrote a call that cannot be read: again, or another model with --model"
	case e.Kind == provider.KindContext && e.Window == 0:
		e.Window = a.facts.window
	case e.Kind == provider.KindConfig && strings.Contains(e.Message, "not found"):
		e.Hint = "ollama pull " + a.req.Model + ", or choose another model with --model"
	case errors.Is(e.Err, syscall.ECONNREFUSED) && e.Local:
		at := a.Setting
		if at == "" {
			at = "OLLAMA_HOST"
		}
		e.Hint = "start Ollama (ollama serve), or check " + at
	case strings.Contains(e.Message, "more system memory"): // for as long as the machine is this one
		no := false
		e.Retry, e.Hint = &no, "a smaller model with --model, or a smaller window with ARTOO_MAX_CONTEXT_TOKENS"
	case strings.Contains(e.Message, "unauthorized"):
		e.Kind, e.Hint = provider.KindAuth, "ollama signin, for models that run in its cloud"
	}
	a.yield(nil, e)
	return false
}

func (p *Provider) endpoint(idle time.Duration) wire.Endpoint {
	e := wire.Endpoint{Server: p.Server}
	e.Idle = idle
	return e
}

func (a *attempt) prepare(ctx context.Context) (wire.Request, error) {
	var err error
	if a.facts, err = a.lookup(ctx, a.req.Model, showTimeout); err != nil {
		return wire.Request{}, err
	}
	a.facts = a.known.of(a.req.Model, a.facts)
	keep := a.KeepAlive
	if keep == "" {
		keep = DefaultKeepAlive
	}
	body, size, err := encode(a.Name, a.req, a.facts, keep)
	if err != nil {
		return wire.Request{}, &provider.Error{Kind: provider.KindInvalid, Message: "the request cannot be encoded: " + err.Error(), Err: err}
	}
	a.dec.window = a.facts.window
	a.dec.cut = func(read int) string { return a.known.cut(a.req, size, read, a.facts.window) }
	return a.request(ctx, "chat", a.req.Model, body)
}

// request is one to the given end of the API; a nil body makes it a GET.
func (p *Provider) request(ctx context.Context, end, model string, body []byte) (wire.Request, error) {
	r, err := wire.Ask(ctx, p.Server, Address(p.BaseURL), wire.Bearer, "api", end)
	r.Model, r.Body = model, body
	return r, err
}
