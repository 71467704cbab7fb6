// Package fake is a scripted Provider for tests: it plays prepared replies, one
// for each request, keeps the requests it saw, and refuses a history that a
// real server would refuse.
package fake

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"artoo/provider"
)

// Provider plays Steps in order, one a request. Use it by pointer; the zero value refuses
// every request. Several goroutines may use it.
type Provider struct {
	Steps []Step
	// Then makes the steps of all further requests; nil means that a request
	// too many fails (KindInvalid), which no retry hides.
	Then func(req provider.Request) Step
	// Lenient accepts histories that Check refuses. Otherwise such a request
	// fails with KindInvalid and takes no step.
	Lenient bool

	mu       sync.Mutex
	requests []provider.Request
	paused   bool // the last reply was paused by the server
	taken    int
}

// Requests returns copies of the requests so far, refused ones included, in
// the order in which they began.
func (p *Provider) Requests() []provider.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Last returns the newest request; ok is false when there was none.
func (p *Provider) Last() (req provider.Request, ok bool) {
	all := p.Requests()
	if len(all) == 0 {
		return provider.Request{}, false
	}
	return all[len(all)-1], true
}

// Left counts the steps no request has taken yet. A test that ends with some
// left did not follow its script.
func (p *Provider) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.Steps) - p.taken
}

// Stream implements provider.Provider.
func (p *Provider) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		step, err := p.take(req)
		if err != nil {
			yield(nil, err)
			return
		}
		step.play(ctx, req, yield)
	}
}

func (p *Provider) take(req provider.Request) (Step, error) {
	p.mu.Lock()
	p.requests = append(p.requests, snapshot(req))
	n := len(p.requests)
	if !p.Lenient && len(req.Messages) > 0 {
		messages := req.Messages
		if last := len(messages) - 1; p.paused && messages[last].Role == provider.RoleAssistant {
			messages = messages[:last] // a paused reply comes back as the end of the next request
		}
		if err := Check(messages); err != nil {
			p.mu.Unlock()
			return Step{}, failure(provider.KindInvalid, fmt.Sprintf("request %d: %v", n, err), nil)
		}
	}
	if p.taken < len(p.Steps) {
		step := p.Steps[p.taken]
		p.taken++
		p.mu.Unlock()
		return p.resolved(step, req), nil
	}
	p.mu.Unlock()
	if p.Then != nil {
		return p.resolved(p.Then(req), req), nil
	}
	return Step{}, failure(provider.KindInvalid, fmt.Sprintf("request %d: the script has only %d steps", n, len(p.Steps)),
		nil)
}

func (p *Provider) resolved(s Step, req provider.Request) Step {
	s = resolve(s, req)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = s.Stop == provider.StopPause
	return s
}

func resolve(s Step, req provider.Request) Step {
	for s.Func != nil {
		s = s.Func(req)
	}
	return s
}

// snapshot copies values that the caller may change later: slices, not the parts, which are values.
func snapshot(req provider.Request) provider.Request {
	req.Tools = slices.Clone(req.Tools)
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		req.Messages[i].Parts = slices.Clone(req.Messages[i].Parts)
	}
	return req
}

func failure(kind provider.ErrorKind, message string, cause error) *provider.Error {
	return &provider.Error{Kind: kind, Provider: Name, Message: message, Err: cause}
}
