// Package ollama speaks Ollama's own API. Unlike its Chat Completions API, it reports a model's window, and whether it
// thinks, sees and calls tools, and it can be told not to cut a prompt silently.
package ollama

import (
	"cmp"
	"context"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// The default window, and how long the model stays loaded.
const (
	DefaultWindow    = 65_536
	DefaultKeepAlive = "30m"
)

// Provider asks models of an Ollama server. Its fields must not change once it is in use;
// several goroutines may use it. It first asks for a model's abilities; tools, thinking and
// images are left out for models without them, with a Notice where something is lost.
type Provider struct {
	provider.Server // BaseURL as Address takes it; a key is for ollama.com alone

	// Window is the most context to ask for, in tokens, within the model's limit. 0 means
	// its Modelfile's, or DefaultWindow.
	Window int
	// KeepAlive is how long the model stays loaded; "" means DefaultKeepAlive.
	KeepAlive string

	known   known
	learned wire.Memory
}

var (
	_ provider.Structurer = (*Provider)(nil)
	_ provider.Describer  = (*Provider)(nil)
	_ provider.LocalHost  = (*Provider)(nil)
)

// Structures implements provider.Structurer.
func (p *Provider) Structures(req provider.Request) bool {
	return format(req, p.learned.Of(req.Model)) != nil
}

// Stream implements provider.Provider.
func (p *Provider) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	a := &attempt{Provider: p, req: req}
	return wire.RetryAdapted(ctx, wire.Exchange{
		Endpoint: wire.Endpoint{Server: p.Server, Lines: true}, API: wire.Ollama, Request: req, Memory: &p.learned,
		Prepare: a.prepare, Encode: a.encode, Decoder: a.decoder, Failed: a.failed,
	})
}

type attempt struct {
	*Provider
	req   provider.Request
	facts facts
	// ctx, dec and size, the bytes of text in the request, are the last try's.
	ctx  context.Context
	dec  *decoder
	size int
}

// loaded is the window, in tokens, of the model in memory; or 0.
func (a *attempt) loaded() int {
	ctx, cancel := context.WithTimeout(a.ctx, describeTimeout)
	defer cancel()
	models, err := a.Loaded(ctx)
	// On an error it is an old server, which the counts have to do for.
	for _, m := range models {
		if err == nil && (m.Name == a.req.Model || m.Name == a.req.Model+":latest") {
			return wire.Count(m.Context)
		}
	}
	return 0
}

func (a *attempt) decoder() wire.Decoder {
	a.dec = &decoder{Reply: wire.ReplyTo(a.Name, a.req), asked: a}
	return a.dec
}

// lost are the notices of what the model cannot be given.
func (a *attempt) lost() []string {
	return a.known.notices(a.req, a.facts.without(a.learned.Of(a.req.Model)))
}

// failed adds advice to an error, or makes a reply of a call that cannot be read.
func (a *attempt) failed(e *provider.Error) (provider.Event, error) {
	switch {
	case strings.Contains(e.Message, badCall):
		return a.dec.unreadable(e, a.req.Tools), nil
	case e.Kind == provider.KindContext && e.Window == 0:
		e.Window = a.facts.window
	case e.Kind == provider.KindConfig && strings.Contains(e.Message, "not found"):
		e.Hint = "ollama pull " + a.req.Model + ", or choose another model with --model"
	case strings.Contains(e.Message, "more system memory"): // this does not change while the machine is the same
		e.Retry, e.Hint = new(false), "a smaller model with --model, or a smaller window with ARTOO_MAX_CONTEXT_TOKENS"
	case strings.Contains(e.Message, "unauthorized"):
		e.Kind, e.Hint = provider.KindAuth, "ollama signin, for models that run in its cloud"
	}
	return nil, e
}

func (a *attempt) prepare(ctx context.Context) (r wire.Request, err error) {
	a.ctx = ctx
	if a.facts, err = a.lookup(ctx, a.req.Model, showTimeout); err != nil {
		return r, err
	}
	return a.request(ctx, "chat", a.req.Model, nil)
}

func (a *attempt) encode(l wire.Learned, _ http.Header) ([]byte, error) {
	req := a.req
	if l.Without(wire.Temperature) {
		req.Temperature = nil
	}
	req.Schema = format(req, l)
	body, size, err := encode(a.Name, req, a.facts.without(l), cmp.Or(a.KeepAlive, DefaultKeepAlive))
	a.size = size
	return body, err
}

// request is one to the given end of the API; a nil body makes it a GET.
func (p *Provider) request(ctx context.Context, end, model string, body []byte) (wire.Request, error) {
	r, err := wire.Ask(ctx, p.Server, Address(p.BaseURL), provider.AuthBearer, "api", end)
	r.Model, r.Body = model, body
	return r, err
}

const (
	defaultHost = "127.0.0.1"
	defaultPort = "11434"
)

// Address makes the base URL of any OLLAMA_HOST form; "" is this machine. 0.0.0.0 becomes the
// loopback, a final /v1 or /api is removed.
func Address(host string) string {
	host = strings.Trim(strings.TrimSpace(host), `"'`)
	scheme, rest, found := strings.Cut(host, "://")
	port := defaultPort
	switch {
	case !found && host == "ollama.com":
		scheme, rest, port = "https", host, "443"
	case !found:
		scheme, rest = "http", host
	case scheme == "https":
		port = "443"
	case scheme == "http":
		port = "80"
	}
	rest, path, _ := strings.Cut(rest, "/")
	path = strings.TrimRight("/"+path, "/")
	for _, face := range []string{"/v1", "/api"} {
		path = strings.TrimSuffix(path, face)
	}
	name, given, err := net.SplitHostPort(rest)
	if err != nil {
		name, given = strings.Trim(rest, "[]"), ""
	}
	if n, err := strconv.Atoi(given); err == nil && n >= 0 && n <= 65535 {
		port = given
	}
	name = cmp.Or(name, defaultHost)
	if addr, err := netip.ParseAddr(name); err == nil && addr.IsUnspecified() {
		if name = defaultHost; addr.Is6() {
			name = "::1"
		}
	}
	return scheme + "://" + net.JoinHostPort(name, port) + path
}
