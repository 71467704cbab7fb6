package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

// endOfReply is how a reply ends, and the turn's reaction.
type endOfReply struct {
	name    string
	steps   []fake.Step
	text    string
	kind    agent.Kind
	history []string
}

// endsOfReplies are the ends a provider can give.
func endsOfReplies() []endOfReply {
	cutCall := fake.Call("c", "bash", `{"arg":"rm"}`)
	cutCall.Stop = provider.StopMaxTokens
	cutText := func(s string) fake.Step { st := fake.Say(s); st.Stop = provider.StopMaxTokens; return st }
	refused := fake.Say("I will not")
	refused.Stop, refused.Detail = provider.StopRefusal, "against the rules"
	full := fake.Say("so far")
	full.Stop = provider.StopContext
	pause := fake.Say("working")
	pause.Stop = provider.StopPause
	return []endOfReply{
		{"a cut text is continued once", []fake.Step{cutText("one "), fake.Say("two")}, "one two", "",
			[]string{"user go", "assistant partial one ", "user [Not from the user: Your reply was cut", "assistant two"}},
		{"after that it is asked for less", []fake.Step{cutText("one "), cutText("two "), fake.Say("three")},
			"one two three", "",
			[]string{"user go", "assistant partial one ", "assistant partial two ",
				"user [Not from the user: Your reply was cut at its length limit once more. Give the rest in fewer words", "assistant three"}},
		{"three times is a cap", []fake.Step{cutText("one "), cutText("two "), cutText("three")}, "one two three",
			agent.KindCap,
			[]string{"user go", "assistant partial one ", "assistant partial two ", "user [Not from the user: ",
				"assistant partial three"}},
		{"a cut call is asked again and never run", []fake.Step{cutCall, fake.Say("ok")}, "ok", "",
			[]string{"user go", "assistant ok"}},
		{"cut twice it is asked for less", []fake.Step{cutCall, cutCall, fake.Say("ok")}, "ok", "",
			[]string{"user go",
				"user [Not from the user: Your reply was cut at its length limit, in the middle of a tool call",
				"assistant ok"}},
		{"three times is a cap too", []fake.Step{cutCall, cutCall, cutCall}, "", agent.KindCap,
			[]string{"user go", "user [Not from the user: "}},
		{"reasoning took all the room", []fake.Step{cutText(""), fake.Say("ok")}, "ok",
			"", []string{"user go", "assistant ok"}},
		{"refusal", []fake.Step{refused}, "I will not", agent.KindRefused, []string{"user go"}},
		{"nothing once", []fake.Step{{}, fake.Say("ok")}, "ok", "", []string{"user go", "assistant ok"}},
		{"nothing twice", []fake.Step{{}, {}}, "", agent.KindProvider, []string{"user go"}},
		{"pause", []fake.Step{pause, fake.Say("ok")}, "ok", "", []string{"user go", "assistant working", "assistant ok"}},
		{"the stream ends without an end", []fake.Step{{Text: []string{"x"}, Cut: true}}, "x", agent.KindProvider,
			[]string{"user go", "assistant partial x"}},
		{"fault after a part", []fake.Step{{Text: []string{"x"}, Err: &provider.Error{Kind: provider.KindNetwork,
			Err: io.ErrUnexpectedEOF}}}, "x", agent.KindNetwork, []string{"user go", "assistant partial x"}},
	}
}

func TestEndsOfReplies(t *testing.T) {
	t.Parallel()
	for _, c := range endsOfReplies() {
		t.Run(c.name, func(t *testing.T) {
			p := &fake.Provider{Steps: c.steps, Lenient: true}
			ran := false
			a := newAgent(p, makeTool("bash", tool.KindRun,
				func(context.Context, string, io.Writer) (tool.Result, error) { ran = true; return tool.Result{}, nil }))
			a.Opt().Policy.AllowRules = []permission.Rule{{Tool: "bash"}}
			r, err := send(t, a, &recorder{}, "go")
			if f := agent.Classify(err); (f == nil) != (c.kind == "") || f != nil && f.Kind != c.kind {
				t.Fatalf("error %v, want kind %q", err, c.kind)
			}
			if r.Text != c.text {
				t.Errorf("text %q, want %q", r.Text, c.text)
			}
			if ran {
				t.Error("a cut call was run")
			}
			if p.Left() != 0 {
				t.Errorf("%d steps left", p.Left())
			}
			got := history(a)
			if len(got) != len(c.history) {
				t.Fatalf("history %q, want %q", got, c.history)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.history[i]) {
					t.Errorf("history %d: %q, want %q", i, got[i], c.history[i])
				}
			}
			if c.name == "a cut call is asked again and never run" {
				if req, _ := p.Last(); req.MaxTokens != 4000 {
					t.Errorf("asked again with %d tokens, want the model's own maximum", req.MaxTokens)
				}
			}
		})
	}
}

func TestTooLongIsTrimmedOnceAndAskedOnce(t *testing.T) {
	t.Parallel()
	tooLong := fake.Fail(provider.KindContext)
	for _, c := range []struct {
		steps []fake.Step
		kind  agent.Kind
	}{{[]fake.Step{tooLong, fake.Say("ok")}, ""}, {[]fake.Step{tooLong, tooLong}, agent.KindContext}} {
		p := &fake.Provider{}
		big := strings.Repeat("word ", 4000)
		for i := range 8 {
			p.Steps = append(p.Steps, fake.Call(fmt.Sprintf("c%d", i), "look", `{"arg":"x"}`))
		}
		p.Steps = append(append(p.Steps, fake.Say("read it all")), c.steps...)
		a := newAgent(p, makeTool("look", tool.KindRead,
			func(context.Context, string, io.Writer) (tool.Result, error) { return tool.Result{Text: big}, nil }))
		mustSend(t, a, &recorder{}, "read")
		cb := &recorder{}
		_, err := send(t, a, cb, "and now")
		if f := agent.Classify(err); (f == nil) != (c.kind == "") || f != nil && f.Kind != c.kind {
			t.Errorf("error %v, want kind %q", err, c.kind)
		}
		if len(cb.notices) == 0 || cb.notices[0].Kind != agent.NoticeTrimmed {
			t.Errorf("notices %+v, want one that tells of the trim", cb.notices)
		}
		requests := p.Requests()
		before, after := requests[len(requests)-2], requests[len(requests)-1]
		if size(t, after) >= size(t, before) {
			t.Error("the second request is not smaller")
		}
	}
}

func size(t *testing.T, r provider.Request) int {
	t.Helper()
	data, err := json.Marshal(r.Messages)
	must(t, err)
	return len(data)
}

func TestEveryReplyHasItsOwnSecondChance(t *testing.T) {
	t.Parallel()
	cut := func(s string) fake.Step { st := fake.Say(s); st.Stop = provider.StopMaxTokens; return st }
	call := func(id string) fake.Step { return fake.Call(id, "look", `{"arg":"`+id+`"}`) }
	p := &fake.Provider{Steps: []fake.Step{
		cut("first half, "), call("a"), {}, call("b"), cut("one "), fake.Say("two"), // the turn's end
	}}
	a := newAgent(p, makeTool("look", tool.KindRead, nil))
	r, err := send(t, a, &recorder{}, "go")
	if err != nil || r.Text != "one two" || r.Stop != provider.StopComplete {
		t.Errorf("text %q, stop %q, %v", r.Text, r.Stop, err)
	}
	if p.Left() != 0 || r.Steps != 6 || len(r.Requests) != 6 {
		t.Errorf("%d steps left, %d steps, %d reports", p.Left(), r.Steps, len(r.Requests))
	}
	usable(t, a)
}

func TestTriesThatFailedCount(t *testing.T) {
	t.Parallel()
	busy := func(after ...string) fake.Step {
		return fake.Step{Text: after, Err: &provider.Error{Kind: provider.KindOverloaded, Provider: "fake",
			Usage: provider.Usage{Input: 100, Output: 10}}}
	}
	answer := fake.Say("ok")
	answer.Usage = provider.Usage{Input: 100, Output: 20}
	synctest.Test(t, func(t *testing.T) {
		p := &fake.Provider{Steps: []fake.Step{busy("half"), busy(), answer}}
		a := newAgent(&provider.Retrier{Provider: p})
		cb := &recorder{}
		r, err := a.SendMessage(t.Context(), "go", cb)
		if err != nil || r.Text != "ok" || r.Usage.Input != 300 || r.Usage.Output != 40 || len(r.Requests) != 1 ||
			r.Requests[0].Tries != 3 || r.Steps != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		wantLines(t, cb.lines, "thinking", "thinking done", "text half", "notice retry", "thinking", "thinking done",
			"notice retry", "thinking", "thinking done", "text ok")
		if total, cost := a.Spent(); total.Input != 300 || cost == nil || *cost != (300*1+40*10)/1e6 {
			t.Errorf("spent %+v, %v", total, cost)
		}
		if n := a.Conversation().EstimatedTokens(); n > 200 {
			t.Errorf("the failed tries count as history: %d tokens", n)
		}

		// All tries fail.
		p = &fake.Provider{Then: func(provider.Request) fake.Step { return busy("x") }}
		a = newAgent(&provider.Retrier{Provider: p})
		cb = &recorder{}
		r, err = a.SendMessage(t.Context(), "go", cb)
		if f := agent.Classify(err); f == nil || f.Kind != agent.KindOverloaded {
			t.Errorf("error %v", err)
		}
		if r.Usage.Input != 500 || len(r.Requests) != 1 || r.Requests[0].Tries != 5 || r.Text != "x" {
			t.Errorf("%+v", r)
		}
		pairs(t, cb.lines)

		// A request that broke off costs something even if no cost is reported.
		never := fake.Step{Events: []provider.Event{}, Err: &provider.Error{Kind: provider.KindNetwork}}
		a = newAgent(&fake.Provider{Steps: []fake.Step{{Text: []string{"some words"}, Cut: true}, never}})
		if r, _ = a.SendMessage(t.Context(), "go", &recorder{}); len(r.Requests) != 1 ||
			!r.Requests[0].Usage.Estimated || r.Usage.Output != 3 {
			t.Errorf("%+v", r)
		}
		if r, _ = a.SendMessage(t.Context(), "go", &recorder{}); len(r.Requests) != 0 {
			t.Errorf("a request that never began is booked: %+v", r)
		}
	})
}

func TestTextIsVoidOnlyWhenANewTrySaysSomething(t *testing.T) {
	t.Parallel()
	down := func(text ...string) fake.Step {
		return fake.Step{Text: text, Err: &provider.Error{Kind: provider.KindNetwork, Provider: "fake"}}
	}
	thought := down()
	thought.Reasoning = []string{"hm"}
	for name, c := range map[string]struct {
		steps []fake.Step
		want  string
	}{
		"all tries after it say nothing": {[]fake.Step{down("half an", " answer"), down(), thought, down(), down()},
			"half an answer"},
		"the last one said less": {[]fake.Step{down("half an answer"), down(), down(), down(), down("ha", "lf")}, "half"},
		"one in the middle":      {[]fake.Step{down("first"), down("second"), down(), thought, down()}, "second"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &fake.Provider{Steps: c.steps}
			a := newAgent(&provider.Retrier{Provider: p})
			r, err := a.SendMessage(t.Context(), "go", &recorder{})
			if f := agent.Classify(err); f == nil || f.Kind != agent.KindNetwork || len(p.Requests()) != 5 {
				t.Errorf("%s: %v after %d requests", name, err, len(p.Requests()))
			}
			if r.Text != c.want {
				t.Errorf("%s: the answer is %q, want %q", name, r.Text, c.want)
			}
			wantLines(t, history(a), "user go", "assistant partial "+c.want)
			usable(t, a)
		})
	}
}

// Text before the cut is kept when a request with more room fails.
func TestTextBeforeACutCallIsKept(t *testing.T) {
	t.Parallel()
	cut := fake.Call("a", "look", `{"arg":"x"}`)
	cut.Text, cut.Stop = []string{"I look."}, provider.StopMaxTokens
	a := newAgent(&fake.Provider{Steps: []fake.Step{cut,
		{Err: &provider.Error{Kind: provider.KindAuth, Provider: "fake"}}}}, makeTool("look", tool.KindRead, nil))
	if r, err := send(t, a, &recorder{}, "go"); err == nil || r.Text != "I look." {
		t.Errorf("%+v, %v", r, err)
	}
	wantLines(t, history(a), "user go", "assistant partial I look.")
}

func TestThinkingEndsWhenARetryComesToNothing(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{{Events: []provider.Event{provider.Started{},
		provider.Retry{Try: 2, Tries: 2}}, Cut: true}}}
	cb := &recorder{}
	if _, err := send(t, newAgent(p), cb, "go"); err == nil {
		t.Error("no error")
	}
	wantLines(t, cb.lines, "thinking", "thinking done", "notice retry", "thinking", "thinking done")
}
