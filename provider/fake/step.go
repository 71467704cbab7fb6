package fake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"artoo/provider"
)

// Name is the provider name in the replies and errors of a fake.
const Name = "fake"

// Step is one scripted reply: Started, reasoning, text, a CallDelta a call, Done. The zero
// Step is an empty answer.
type Step struct {
	Reasoning []string // one ReasoningDelta each
	Text      []string // one TextDelta each
	Calls     []provider.ToolCall
	// Events, when not nil, are yielded instead of everything made from
	// Reasoning, Text and Calls; a Done among them ends the reply as it is.
	Events []provider.Event

	Usage     provider.Usage
	Stop      provider.StopReason // "" means tool use with calls, else complete
	Detail    string
	Model     string // the model that answers; "" means the one asked for
	RequestID string

	// Err ends the reply in place of Done. An error other than *provider.Error is wrapped
	// as KindProvider.
	Err error
	// Cut ends the reply in place of Done with neither event nor error, which a
	// Provider must not do.
	Cut bool
	// Gate, when not nil, holds the reply back after GateAfter events (Started
	// is the first) until the gate is opened or the context ends.
	Gate      *Gate
	GateAfter int
	// Func makes the step from the request; the other fields are then unused.
	// It runs on the goroutine that iterates.
	Func func(req provider.Request) Step
}

// Say is a step that answers with text, in the pieces given.
func Say(pieces ...string) Step { return Step{Text: pieces} }

// Call is a step that calls one tool. Input is JSON, as the model writes it.
func Call(id, name, input string) Step { return Calls(ToolCall(id, name, input)) }

// Calls is a step that calls several tools at once.
func Calls(calls ...provider.ToolCall) Step { return Step{Calls: calls} }

// Fail is a step that fails at once.
func Fail(kind provider.ErrorKind) Step {
	return Step{Err: failure(kind, "scripted failure", nil)}
}

// ToolCall makes a call the way a wire does: input that is not a JSON object
// goes to Raw.
func ToolCall(id, name, input string) provider.ToolCall {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(input), &object); err != nil || object == nil {
		return provider.ToolCall{ID: id, Name: name, Input: json.RawMessage("{}"), Raw: input}
	}
	return provider.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

// Gate holds a reply until a test opens it. Make it with NewGate.
type Gate struct {
	reached, opened   chan struct{}
	onReach, onOpened sync.Once
}

// NewGate makes a closed gate.
func NewGate() *Gate {
	return &Gate{reached: make(chan struct{}), opened: make(chan struct{})}
}

// Reached is closed once a reply waits at the gate.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Open lets every reply through, now and later. It may be called repeatedly.
func (g *Gate) Open() { g.onOpened.Do(func() { close(g.opened) }) }

func (g *Gate) wait(ctx context.Context) error {
	g.onReach.Do(func() { close(g.reached) })
	select {
	case <-g.opened:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// play yields the step's events and its end. It never yields after the
// consumer broke off, and stops with KindCanceled as soon as ctx is done.
func (s Step) play(ctx context.Context, req provider.Request, yield func(provider.Event, error) bool) {
	s.Model = cmp.Or(s.Model, req.Model)
	for i, e := range append(s.events(), nil) {
		if s.Gate != nil && i == s.GateAfter {
			if err := s.Gate.wait(ctx); err != nil {
				yield(nil, canceled(err))
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, canceled(err))
			return
		}
		if e == nil {
			break
		}
		if !yield(e, nil) {
			return
		}
		if _, done := e.(provider.Done); done {
			return
		}
	}
	switch {
	case s.Err != nil:
		yield(nil, s.failure())
	case !s.Cut:
		yield(s.done(req.Model), nil)
	}
}

func (s Step) events() []provider.Event {
	if s.Events != nil {
		return s.Events[:len(s.Events):len(s.Events)]
	}
	events := []provider.Event{provider.Started{RequestID: s.RequestID, Model: s.Model}}
	for _, text := range s.Reasoning {
		events = append(events, provider.ReasoningDelta{Text: text})
	}
	for _, text := range s.Text {
		events = append(events, provider.TextDelta{Text: text})
	}
	for i, c := range s.Calls {
		events = append(events, provider.CallDelta{Tool: c.Name, Call: i, Bytes: len(c.Input) + len(c.Raw)})
	}
	return events
}

// done is the reply, in the name of the model that was asked, as with every wire.
func (s Step) done(asked string) provider.Done {
	m := provider.Message{Role: provider.RoleAssistant, Provider: Name, Model: asked}
	var reasoning, text string
	for _, e := range s.events() {
		switch e := e.(type) {
		case provider.ReasoningDelta:
			reasoning += e.Text
		case provider.TextDelta:
			text += e.Text
		}
	}
	if reasoning != "" {
		m.Parts = append(m.Parts, provider.Reasoning{Text: reasoning, Form: "thinking"})
	}
	if text != "" {
		m.Parts = append(m.Parts, provider.Text{Text: text})
	}
	stop := provider.StopComplete
	for _, c := range s.Calls {
		m.Parts = append(m.Parts, c)
		stop = provider.StopToolUse
	}
	if s.Stop != "" {
		stop = s.Stop
	}
	return provider.Done{Message: m, Stop: stop, Detail: s.Detail, Usage: s.Usage, RequestID: s.RequestID, Tries: 1}
}

func (s Step) failure() *provider.Error {
	if e := provider.AsError(s.Err); e != nil {
		copied := *e
		return &copied
	}
	return failure(provider.KindProvider, "", s.Err)
}

func canceled(err error) *provider.Error {
	return failure(provider.KindCanceled, fmt.Sprintf("stopped: %v", err), err)
}
