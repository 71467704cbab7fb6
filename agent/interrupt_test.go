package agent_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

// pairs checks that callbacks come in pairs and in order.
func pairs(t *testing.T, lines []string) {
	t.Helper()
	thinking := false
	open := map[string]bool{}
	var results, calls []string
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "thinking" && thinking, line == "thinking done" && !thinking:
			t.Errorf("%q comes twice: %q", line, lines)
		case line == "thinking":
			thinking = true
		case line == "thinking done":
			thinking = false
		case word == "call":
			id, _, _ := strings.Cut(rest, " ")
			if open[id] {
				t.Errorf("call %s is told twice", id)
			}
			open[id] = true
			calls = append(calls, id)
		case word == "output", word == "result":
			id, _, _ := strings.Cut(rest, " ")
			if !open[id] {
				t.Errorf("%s of a call that is not open", line)
			}
			if word == "result" {
				delete(open, id)
				results = append(results, id)
			}
		}
	}
	if thinking || len(open) > 0 {
		t.Errorf("left open: thinking %v, calls %v: %q", thinking, open, lines)
	}
	if !slices.Equal(calls, results) {
		t.Errorf("calls %v, results %v", calls, results)
	}
}

// usable checks that the next request would be accepted, and makes it.
func usable(t *testing.T, a *agent.Agent) {
	t.Helper()
	if err := fake.Check(provider.Repair(a.Conversation().Messages())); err != nil {
		t.Errorf("the history is broken: %v", err)
	}
}

func TestInterruptsAtEveryMoment(t *testing.T) {
	t.Parallel()
	cause := errors.New("that is enough")
	for _, moment := range []string{"before", "thinking", "text", "plan", "call", "ask", "run", "after a run",
		"result", "notice"} {
		t.Run(moment, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			at := func(m string) {
				if m == moment {
					cancel(cause)
				}
			}
			look := tool.New(tool.Def{Name: "look", Kind: tool.KindRead},
				func(context.Context, *tool.Env, in) (tool.Access, error) {
					at("plan")
					return tool.Access{Kind: tool.KindRead, Verb: "look"}, nil
				}, func(ctx context.Context, _ *tool.Env, i in, _ io.Writer) (tool.Result, error) {
					at("run")
					return tool.Result{Text: i.Arg}, ctx.Err()
				})
			ran := 0
			bash := makeTool("bash", tool.KindRun, func(context.Context, string, io.Writer) (tool.Result, error) {
				ran++
				at("after a run")
				return tool.Result{Text: "did it"}, nil
			})
			first := fake.Calls(fake.ToolCall("a", "look", `{}`), fake.ToolCall("b", "look", `{}`),
				fake.ToolCall("c", "bash", `{"arg":"make"}`), fake.ToolCall("d", "bash", `{"arg":"make"}`))
			first.Text = []string{"let me"}
			first.Model = "other"
			p := &fake.Provider{Steps: []fake.Step{first, fake.Say("done")}}
			a := newAgent(p, look, bash)
			cb := &hooked{recorder: &recorder{answers: slices.Repeat([]agent.Answer{{Verdict: agent.Yes}}, 9)}, at: at}
			at("before")
			r, err := a.SendMessage(ctx, "go", cb)
			if !errors.Is(err, cause) {
				t.Errorf("error %v, want the cause of the interrupt", err)
			}
			if r == nil || r.Provider != fake.Name || r.Model == "" {
				t.Errorf("response %+v", r)
			}
			pairs(t, cb.lines)
			usable(t, a)
			if n := len(slices.DeleteFunc(slices.Clone(cb.lines),
				func(l string) bool { return !strings.HasPrefix(l, "result ") })); n != 0 && n != 4 {
				t.Errorf("%d results for 4 calls", n)
			}
			if moment == "after a run" && ran != 1 || moment != "after a run" && ran > 0 && moment != "result" {
				t.Errorf("%d commands ran", ran)
			}
			if _, err := a.SendMessage(t.Context(), "again", &recorder{}); err != nil &&
				!strings.Contains(err.Error(), "only 2 steps") {
				t.Errorf("the next turn: %v", err)
			}
			a.Close()
		})
	}
}

// hooked calls at with the name of each moment.
type hooked struct {
	*recorder
	at func(string)
}

func (h *hooked) OnThinking()             { h.recorder.OnThinking(); h.at("thinking") }
func (h *hooked) OnText(s string)         { h.recorder.OnText(s); h.at("text") }
func (h *hooked) OnToolCall(c agent.Call) { h.recorder.OnToolCall(c); h.at("call") }
func (h *hooked) OnNotice(n agent.Notice) {
	h.recorder.OnNotice(n)
	if n.Kind != agent.NoticeInput {
		h.at("notice")
	}
}
func (h *hooked) OnToolResult(c agent.Call, r agent.CallResult) {
	h.recorder.OnToolResult(c, r)
	h.at("result")
}
func (h *hooked) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	h.at("ask")
	return h.recorder.Ask(ctx, q)
}

func TestCallsThatWaitDoNotBeginAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ran := 0
	look := makeTool("look", tool.KindRead, func(context.Context, string, io.Writer) (tool.Result, error) {
		ran++
		cancel()
		return tool.Result{Text: "x"}, nil
	})
	a := newAgent(&fake.Provider{Steps: []fake.Step{fake.Calls(fake.ToolCall("a", "look", `{}`),
		fake.ToolCall("b", "look", `{}`))}}, look)
	a.Opt().Concurrency = 1
	cb := &recorder{}
	if _, err := a.SendMessage(ctx, "go", cb); !errors.Is(err, context.Canceled) || ran != 1 {
		t.Errorf("%d calls ran, %v", ran, err)
	}
	pairs(t, cb.lines)
}

func TestAnInterruptDoesNotHideALostSession(t *testing.T) {
	t.Parallel()
	session := conversation.Store{Dir: t.TempDir()}.Create(conversation.Header{CWD: "/p"})
	ctx, cancel := context.WithCancel(t.Context())
	a := newAgent(&fake.Provider{Steps: []fake.Step{fake.Call("a", "look", `{}`)}})
	a.Hold(conversation.New(conversation.Config{}, session))
	cb := &hooked{recorder: &recorder{}, at: func(m string) {
		if m == "notice" { // the notice of the request's usage
			cancel()
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		}
	}}
	_, err := a.SendMessage(ctx, "go", cb)
	var lost *conversation.Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &lost) {
		t.Errorf("error %v, want the interrupt and the session's", err)
	}
}

func TestInterruptKeepsThePartialText(t *testing.T) {
	t.Parallel()
	gate := fake.NewGate()
	step := fake.Say("half a ", "sentence", " more")
	step.Reasoning = []string{"hm"}
	step.Gate, step.GateAfter = gate, 4
	a := newAgent(&fake.Provider{Steps: []fake.Step{step, fake.Say("ok")}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-gate.Reached(); cancel() }()
	cb := &recorder{}
	r, err := a.SendMessage(ctx, "go", cb)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if r.Text != "half a sentence" {
		t.Errorf("partial %q", r.Text)
	}
	mustSend(t, a, cb, "go on")
	wantLines(t, history(a), "user go", "assistant partial half a sentence", "user go on", "assistant ok")
}

func TestInterruptGivesEveryOpenCallAResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stubborn := make(chan struct{})
		slow := makeTool("slow", tool.KindNone, func(ctx context.Context, arg string, out io.Writer) (tool.Result, error) {
			io.WriteString(out, "working")
			<-stubborn // ignores ctx, like a command that traps the signal
			io.WriteString(out, "too late")
			return tool.Result{}, nil
		})
		p := &fake.Provider{Steps: []fake.Step{fake.Calls(fake.ToolCall("a", "slow", `{}`),
			fake.ToolCall("b", "bash", `{"arg":"make"}`)), fake.Say("ok")}}
		a := newAgent(p, slow, makeTool("bash", tool.KindRun, nil))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)
		cb := &recorder{}
		began := time.Now()
		_, err := a.SendMessage(ctx, "go", cb)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("the prompt came back %s after the interrupt", took-10*time.Second)
		}
		close(stubborn)
		a.Close()
		wantLines(t, cb.lines, "thinking", "thinking done", "call a 0/2", "output a working", "result a interrupted",
			"call b 1/2", "result b interrupted")
		if _, err := a.SendMessage(t.Context(), "again", cb); err != nil {
			t.Errorf("the history is broken: %v", err)
		}
	})
}

// late is a provider whose reply goes on for a while when it is cancelled.
type late struct{ cancel func() }

func (l late) Stream(ctx context.Context, _ provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		if !yield(provider.TextDelta{Text: "in time"}, nil) {
			return
		}
		l.cancel()
		if yield(provider.TextDelta{Text: ", late"}, nil) && yield(provider.ReasoningDelta{Text: "late"}, nil) {
			yield(nil, ctx.Err())
		}
	}
}

func TestWhatComesAfterAnInterruptIsNotShown(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cb := &recorder{}
	r, err := newAgent(late{cancel: cancel}).SendMessage(ctx, "go", cb)
	if !errors.Is(err, context.Canceled) || r.Text != "in time" {
		t.Errorf("%q, %v", r.Text, err)
	}
	wantLines(t, cb.lines, "thinking", "thinking done", "text in time")
}
