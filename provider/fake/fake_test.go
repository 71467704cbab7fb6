package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"artoo/provider"

	"github.com/google/go-cmp/cmp"
)

type pair struct {
	Event provider.Event
	Err   string
}

func drain(ctx context.Context, p *Provider, req provider.Request) []pair {
	var all []pair
	for e, err := range p.Stream(ctx, req) {
		if err != nil {
			all = append(all, pair{Err: err.Error()})
			continue
		}
		all = append(all, pair{Event: e})
	}
	return all
}

func TestStepsArePlayed(t *testing.T) {
	t.Parallel()
	call := ToolCall("1", "ls", `{"path":"."}`)
	started := pair{Event: provider.Started{Model: "m"}}
	message := func(parts ...provider.Part) provider.Message {
		return provider.Message{Role: provider.RoleAssistant, Provider: Name, Model: "m", Parts: parts}
	}
	calling := pair{Event: provider.CallDelta{Tool: "ls", Bytes: len(call.Input)}}
	tests := []struct {
		name string
		step Step
		want []pair
	}{
		{"an empty answer", Step{},
			[]pair{started, {Event: provider.Done{Message: message(), Stop: provider.StopComplete, Tries: 1}}}},
		{"everything", Step{Reasoning: []string{"r"}, Text: []string{"a", "b"}, Calls: []provider.ToolCall{call},
			Usage: provider.Usage{Input: 3}},
			[]pair{started, {Event: provider.ReasoningDelta{Text: "r"}}, {Event: provider.TextDelta{Text: "a"}},
				{Event: provider.TextDelta{Text: "b"}}, calling,
				{Event: provider.Done{Message: message(provider.Reasoning{Text: "r", Form: "thinking"},
					provider.Text{Text: "ab"}, call), Stop: provider.StopToolUse, Usage: provider.Usage{Input: 3},
					Tries: 1}}}},
		{"a cut reply with a call", Step{Calls: []provider.ToolCall{call}, Stop: provider.StopMaxTokens},
			[]pair{started, calling, {Event: provider.Done{Message: message(call), Stop: provider.StopMaxTokens, Tries: 1}}}},
		{"an error after a piece", Step{Text: []string{"a"}, Err: errors.New("boom")},
			[]pair{started, {Event: provider.TextDelta{Text: "a"}}, {Err: "fake: boom"}}},
		{"events as they are", Step{Events: []provider.Event{provider.Notice{Text: "n"}, provider.Done{Detail: "mine"},
			provider.Notice{Text: "never"}}},
			[]pair{{Event: provider.Notice{Text: "n"}}, {Event: provider.Done{Detail: "mine"}}}},
		{"no end at all", Step{Text: []string{"a"}, Cut: true}, []pair{started, {Event: provider.TextDelta{Text: "a"}}}},
		{"a branch", Step{Func: func(req provider.Request) Step { return Fail(provider.KindAuth) }},
			[]pair{started, {Err: "fake: scripted failure"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &Provider{Steps: []Step{tt.step}}
			req := provider.Request{Options: provider.Options{Model: "m"}}
			if diff := cmp.Diff(tt.want, drain(t.Context(), p, req)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := drain(t.Context(), p, req); len(got) != 1 || !strings.Contains(got[0].Err, "only 1 steps") {
				t.Errorf("a request too many got %v", got)
			}
			if p.Left() != 0 || len(p.Requests()) != 2 {
				t.Errorf("%d left, %d requests", p.Left(), len(p.Requests()))
			}
		})
	}
}

func TestRequestsAreKeptAsTheyWere(t *testing.T) {
	t.Parallel()
	p := &Provider{Then: func(req provider.Request) Step { return Say(fmt.Sprint(len(req.Messages))) }}
	if _, ok := p.Last(); ok {
		t.Error("a request before the first")
	}
	req := provider.Request{Messages: []provider.Message{provider.UserText("a")}}
	drain(t.Context(), p, req)
	req.Messages[0].Parts[0] = provider.Text{Text: "changed"}
	if last, _ := p.Last(); last.Messages[0].Text() != "a" {
		t.Errorf("kept %q", last.Messages[0].Text())
	}
}

func TestGateHoldsUntilOpenedOrCanceled(t *testing.T) {
	t.Parallel()
	gate := NewGate()
	p := &Provider{Steps: []Step{{Text: []string{"a", "b"}, Gate: gate, GateAfter: 2}, {Gate: gate}, {Gate: NewGate()}}}
	var seen []provider.Event
	events := make(chan provider.Event, 9)
	go func() {
		defer close(events)
		for e := range p.Stream(t.Context(), provider.Request{}) {
			events <- e
		}
	}()
	<-gate.Reached()
	if len(events) != 2 {
		t.Errorf("%d events came before the gate, want 2", len(events))
	}
	gate.Open()
	gate.Open()
	for e := range events {
		seen = append(seen, e)
	}
	if len(seen) != 4 {
		t.Errorf("%d events, want 4", len(seen))
	}
	if got := drain(t.Context(), p, provider.Request{}); len(got) != 2 {
		t.Errorf("an open gate held: %v", got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for e, err := range p.Stream(ctx, provider.Request{}) {
		if failed := provider.AsError(err); failed == nil || failed.Kind != provider.KindCanceled ||
			!errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v", e, err)
		}
	}
}

func TestRequestsSideBySideTakeOneStepEach(t *testing.T) {
	t.Parallel()
	p := &Provider{}
	for i := range 50 {
		p.Steps = append(p.Steps, Say(fmt.Sprintf("%02d", i)))
	}
	var wait sync.WaitGroup
	texts := make([]string, len(p.Steps))
	for i := range texts {
		wait.Go(func() {
			for e := range p.Stream(t.Context(), provider.Request{}) {
				if d, ok := e.(provider.Done); ok {
					texts[i] = d.Message.Text()
				}
			}
		})
	}
	wait.Wait()
	slices.Sort(texts)
	if got := len(slices.Compact(texts)); got != 50 || texts[0] != "00" {
		t.Errorf("%d different replies: %q", got, texts)
	}
}

func TestBrokenHistoriesAreRefused(t *testing.T) {
	t.Parallel()
	user := provider.UserText("a")
	assistant := func(parts ...provider.Part) provider.Message {
		return provider.Message{Role: provider.RoleAssistant, Parts: parts}
	}
	result := func(id string) provider.Message {
		return provider.Message{Role: provider.RoleTool,
			Parts: []provider.Part{provider.ToolResult{CallID: id, Name: "ls"}}}
	}
	raw := func(id, input string) provider.ToolCall {
		return provider.ToolCall{ID: id, Name: "ls", Input: json.RawMessage(input)}
	}
	c1, c2 := raw("1", `{}`), raw("2", `{}`)
	tests := []struct {
		want string // "" means sound
		h    []provider.Message
	}{
		{"", []provider.Message{user, assistant(provider.Reasoning{}, c1, c2), result("1"), result("2"),
			assistant(provider.Text{Text: "b"}), user}},
		{"", []provider.Message{user, assistant(raw("1", `{"a":"\ud83d\ude00 \\ud83d é\n"}`)), result("1")}},
		{`starts with role "assistant"`, []provider.Message{assistant(c1), result("1")}},
		{"ends with an assistant", []provider.Message{user, assistant(provider.Text{Text: "b"})}},
		{`call "2" has no result`, []provider.Message{user, assistant(c1, c2), result("1"), user}[:3]},
		{`before the result of call "1"`, []provider.Message{user, assistant(c1), user, result("1")}},
		{"where that of", []provider.Message{user, assistant(c1, c2), result("2"), result("1")}},
		{"no call right before", []provider.Message{user, result("1")}},
		{"comes twice", []provider.Message{user, assistant(c1), result("1"), assistant(c1), result("1")}},
		{"empty or no text", []provider.Message{user, assistant(raw("", `{}`)), result("")}},
		{"not an object", []provider.Message{user, assistant(raw("1", `[]`)), result("1")}},
		{"half a surrogate pair", []provider.Message{user, assistant(raw("1", `{"a":"\ud83d"}`)), result("1")}},
		{"half a surrogate pair", []provider.Message{user, assistant(raw("1", `{"a":"\udE00"}`)), result("1")}},
		{"empty text", []provider.Message{provider.UserText(" ")}},
		{"it is empty", []provider.Message{user, assistant(), user}},
		{"nothing but reasoning", []provider.Message{user, assistant(provider.Reasoning{Text: "x"}), user}},
		{"not UTF-8", []provider.Message{provider.UserText("\xff")}},
		{"empty image", []provider.Message{provider.UserText("a", provider.Image{})}},
		{"nobody has this role", []provider.Message{user, {Role: "system", Parts: user.Parts}, user}},
	}
	for _, tt := range tests {
		err := Check(tt.h)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("want %q, got %v", tt.want, err)
		}
		p := &Provider{Steps: []Step{Say("a")}}
		got := drain(t.Context(), p, provider.Request{Messages: tt.h})
		if refused := got[0].Err != ""; refused != (tt.want != "") || refused != (p.Left() == 1) {
			t.Errorf("want %q, the fake gave %v with %d steps left", tt.want, got[0], p.Left())
		}
	}
}
