package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sourcegraph/conc"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

func TestNothingIsToldAfterAPanicOfTheFrontEnd(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	look := makeTool("look", tool.KindRead, func(_ context.Context, arg string, out io.Writer) (tool.Result, error) {
		if arg == "slow" {
			<-release
			io.WriteString(out, "late")
		}
		return tool.Result{Text: "x"}, nil
	})
	a := newAgent(&fake.Provider{Steps: []fake.Step{fake.Calls(fake.ToolCall("a", "look", `{}`),
		fake.ToolCall("b", "look", `{"arg":"slow"}`))}}, look)
	cb := &hooked{recorder: &recorder{}, at: func(m string) {
		if m == "result" {
			panic("front end")
		}
	}}
	func() {
		defer func() { _ = recover() }()
		_, _ = send(t, a, cb, "go")
	}()
	close(release)
	a.Close()
	if last := cb.lines[len(cb.lines)-1]; last != "result a ok" {
		t.Errorf("told afterwards: %q", last)
	}
}

func TestASessionThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, c := range []struct {
		moment   string
		requests int
		lines    []string
	}{
		{"from the start", 0, nil},
		{"during the request", 1, []string{"thinking", "thinking done", "text hm"}},
		{"in the first tool", 1, []string{"thinking", "thinking done", "text hm", "call a 0/3", "result a ok",
			"call b 1/3", "result b interrupted", "call c 2/3", "result c interrupted"}},
		{"in the last tool", 1, []string{"thinking", "thinking done", "text hm", "call a 0/3", "result a ok",
			"call b 1/3", "result b ok", "call c 2/3", "result c ok"}},
	} {
		t.Run(c.moment, func(t *testing.T) {
			store := conversation.Store{Dir: filepath.Join(dir, c.moment)}
			if c.moment == "from the start" {
				store.Dir = filepath.Join(dir, "file", "x")
			}
			session := store.Create(conversation.Header{CWD: "/p"})
			shut := func(m string) {
				if m == c.moment {
					if err := session.Close(); err != nil {
						t.Error(err)
					}
				}
			}
			n := 0
			change := makeTool("change", tool.KindWrite, func(context.Context, string, io.Writer) (tool.Result, error) {
				if n++; n == 1 {
					shut("in the first tool")
				} else if n == 3 {
					shut("in the last tool")
				}
				return tool.Result{Text: "x"}, nil
			})
			step := fake.Calls(fake.ToolCall("a", "change", `{}`), fake.ToolCall("b", "change", `{}`),
				fake.ToolCall("c", "change", `{}`))
			step.Text = []string{"hm"}
			p := &fake.Provider{Then: func(provider.Request) fake.Step { shut("during the request"); return step }}
			a := newAgent(p, change)
			a.Opt().Policy.Mode = permission.ModeEdits
			a.Hold(conversation.New(conversation.Config{}, session))
			cb := &recorder{}
			r, err := send(t, a, cb, "go")
			if err == nil || r == nil {
				t.Fatalf("response %v, error %v", r, err)
			}
			if f := agent.Classify(err); f.Hint == "" || f.Kind != agent.KindInternal && f.Kind != agent.KindUsage {
				t.Errorf("kind %s, hint %q: %v", f.Kind, f.Hint, err)
			}
			if got := len(p.Requests()); got != c.requests {
				t.Errorf("%d requests, want %d", got, c.requests)
			}
			wantLines(t, cb.lines, c.lines...)
			usable(t, a)
		})
	}
}

func TestPanicsAreTheToolsOwn(t *testing.T) {
	t.Parallel()
	plans := tool.New(tool.Def{Name: "plans", Kind: tool.KindRead},
		func(context.Context, *tool.Env, in) (tool.Access, error) { panic("no plan") },
		func(context.Context, *tool.Env, in, io.Writer) (tool.Result, error) { return tool.Result{}, nil })
	mends := tool.New(tool.Def{Name: "mends", Kind: tool.KindRead,
		Fix: func(map[string]json.RawMessage) bool { panic("no input") }}, nil,
		func(context.Context, *tool.Env, in, io.Writer) (tool.Result, error) { return tool.Result{}, nil })
	runs := makeTool("runs", tool.KindNone, func(context.Context, string, io.Writer) (tool.Result, error) { panic("no run") })
	waits := makeTool("waits", tool.KindNone, func(context.Context, string, io.Writer) (tool.Result, error) {
		var workers conc.WaitGroup
		workers.Go(func() { panic("no worker") })
		workers.Wait()
		return tool.Result{}, nil
	})
	good := makeTool("good", tool.KindNone, func(context.Context, string, io.Writer) (tool.Result, error) {
		return tool.Result{Text: "good"}, nil
	})
	p := &fake.Provider{Steps: []fake.Step{fake.Calls(fake.ToolCall("a", "plans", `{}`), fake.ToolCall("b", "mends", `{}`),
		fake.ToolCall("c", "runs", `{}`), fake.ToolCall("d", "waits", `{}`), fake.ToolCall("e", "good", `{}`)), fake.Say("ok")}}
	a := newAgent(p, plans, mends, runs, waits, good)
	cb := &recorder{}
	r, err := send(t, a, cb, "go")
	if err != nil || r.ToolErrors != 4 {
		t.Fatalf("%d tool errors, %v", r.ToolErrors, err)
	}
	for i, want := range []string{"this call crashed: no plan", "this call crashed: no input", "this call crashed: no run", "this call crashed: no worker\n",
		"error=false good"} {
		if got := history(a)[2+i]; !strings.Contains(got, want) || len(got) > 2500 {
			t.Errorf("result %d is %q, want %q", i, got, want)
		}
	}
	if text := strings.Join(cb.lines, "\n"); strings.Contains(text, "broken input") {
		t.Errorf("the user is shown %s", text)
	}
	usable(t, a)

	// A front end's panic is the program's: it reaches the caller, on its own
	// goroutine, and leaves a history that can be sent.
	for _, moment := range []string{"thinking", "text", "call", "ask", "result"} {
		step := fake.Calls(fake.ToolCall("a", "bash", `{"arg":"x"}`))
		step.Text = []string{"t"}
		a := newAgent(&fake.Provider{Steps: []fake.Step{step, fake.Say("ok")}}, makeTool("bash", tool.KindRun, nil))
		cb := &hooked{recorder: &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}, at: func(m string) {
			if m == moment {
				panic("front end")
			}
		}}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the panic is lost", moment)
				}
			}()
			_, _ = send(t, a, cb, "go")
		}()
		usable(t, a)
		if _, err := send(t, a, &recorder{}, "again"); err != nil {
			t.Errorf("%s: the next turn: %v", moment, err)
		}
	}
}

func TestOutputAfterTheEndIsDropped(t *testing.T) {
	t.Parallel()
	var late io.Writer
	look := makeTool("look", tool.KindRead, func(_ context.Context, _ string, out io.Writer) (tool.Result, error) {
		late = out
		_, err := out.Write([]byte("caf\xc3"))
		_, err2 := out.Write([]byte("\xa9 x"))
		return tool.Result{Text: "x"}, errors.Join(err, err2)
	})
	a := newAgent(&fake.Provider{Steps: []fake.Step{fake.Call("a", "look", `{}`), {Func: func(provider.Request) fake.Step {
		io.WriteString(late, "too late")
		return fake.Say("ok")
	}}}}, look)
	cb := &recorder{}
	mustSend(t, a, cb, "go")
	if n, err := io.WriteString(late, "even later"); n != 10 || err != nil {
		t.Errorf("a late write: %d, %v", n, err)
	}
	wantLines(t, cb.lines, "thinking", "thinking done", "call a 0/1", "output a café ", "output a x", "result a ok",
		"thinking", "thinking done", "text ok")
}

func TestAResultIsToldAsTheModelGetsIt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 1000)
	look := makeTool("look", tool.KindRead, func(context.Context, string, io.Writer) (tool.Result,
		error) {
		return tool.Result{Text: long}, nil
	})
	a := newAgent(&fake.Provider{Steps: []fake.Step{fake.Call("a", "look", `{}`), fake.Say("ok")}}, look)
	a.Hold(conversation.New(conversation.Config{ToolResultMaxChars: 500, OutputDir: t.TempDir()}, nil))
	var told agent.CallResult
	cb := &results{told: &told}
	mustSend(t, a, cb, "go")
	kept, err := os.ReadFile(told.File)
	if err != nil || string(kept) != long {
		t.Errorf("file %q: %d bytes, %v", told.File, len(kept), err)
	}
	if sent := a.Conversation().Messages()[2].Parts[0].(provider.ToolResult).Text; sent != told.Text || len(sent) > 1000 {
		t.Errorf("sent %q, told %q", sent, told.Text)
	}
}

type results struct {
	agent.NopCallbacks
	told *agent.CallResult
}

func (r *results) OnToolResult(_ agent.Call, res agent.CallResult) { *r.told = res }

func TestTheResponseSaysHowItStopped(t *testing.T) {
	t.Parallel()
	refused := fake.Say("no")
	refused.Stop, refused.Detail = provider.StopRefusal, "policy"
	cut := fake.Call("a", "look", `{}`)
	cut.Stop = provider.StopMaxTokens
	for _, c := range []struct {
		steps  []fake.Step
		stop   provider.StopReason
		detail string
	}{
		{[]fake.Step{fake.Say("x")}, provider.StopComplete, ""},
		{[]fake.Step{refused}, provider.StopRefusal, "policy"},
		{[]fake.Step{cut, cut, cut}, provider.StopMaxTokens, ""},
		{[]fake.Step{fake.Call("a", "look", `{}`), fake.Fail(provider.KindNetwork)}, "", ""},
	} {
		a := newAgent(&fake.Provider{Steps: c.steps}, makeTool("look", tool.KindRead, nil))
		if r, _ := send(t, a, &recorder{}, "go"); r.Stop != c.stop || r.Detail != c.detail {
			t.Errorf("stop %q %q, want %q %q", r.Stop, r.Detail, c.stop, c.detail)
		}
	}
}

// A request for a tool's or a server's own model names none.
func TestTheModelBehindTheDefaultIsNamed(t *testing.T) {
	t.Parallel()
	a := newAgent(&fake.Provider{Steps: []fake.Step{{Model: "claude-opus-9", Text: []string{"x"}}}})
	a.Asked().Defaults.Model = "default"
	cb := &recorder{}
	mustSend(t, a, cb, "go")
	if len(cb.notices) != 1 || cb.notices[0].Kind != agent.NoticeModel ||
		cb.notices[0].Text != "answered by claude-opus-9" {
		t.Errorf("%+v", cb.notices)
	}
}

func TestAnotherModelIsToldOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked, answered string
		told            bool
	}{
		{"m", "m", false}, {"claude-x-4-5", "claude-x-4-5-20250929", false},
		{"anthropic/claude-x-4.5", "claude-x-4-5", false}, {"gpt-9", "gpt-9-2025-08-07", false},
		{"gpt-9-latest", "gpt-9-0613", false}, {"llama3", "llama3:latest", false}, {"gpt-9", "gpt-9-mini", true},
		{"gpt-9-mini", "gpt-9", true}, {"claude-x-4-5", "claude-x-4-1", true}, {"big", "small", true}, {"m", "", false},
	} {
		n := 0
		p := &fake.Provider{Then: func(provider.Request) fake.Step {
			n++
			if n%3 == 0 {
				return fake.Step{Model: c.answered, Text: []string{"x"}}
			}
			return fake.Step{Model: c.answered,
				Calls: []provider.ToolCall{fake.ToolCall(fmt.Sprint("c", n), "look", fmt.Sprintf(`{"arg":"%d"}`, n))}}
		}}
		a := newAgent(p, makeTool("look", tool.KindRead, nil))
		a.Asked().Defaults.Model = c.asked
		cb := &recorder{}
		for range 2 {
			mustSend(t, a, cb, "go")
		}
		if told := slices.ContainsFunc(cb.notices,
			func(n agent.Notice) bool { return n.Kind == agent.NoticeModel }); told != c.told {
			t.Errorf("asked %s, answered %s: told %v", c.asked, c.answered, told)
		}
		if len(cb.notices) > 1 {
			t.Errorf("asked %s: told %d times", c.asked, len(cb.notices))
		}
		want := c.answered
		if want == "" {
			want = c.asked
		}
		messages := a.Conversation().Messages()
		if last := messages[len(messages)-1]; a.AnsweredBy() != want || last.Model != c.asked ||
			last.Answered != strings.TrimPrefix(want, c.asked) && last.Answered != want {
			t.Errorf("asked %s, answered by %q; in the history %q and %q", c.asked, a.AnsweredBy(), last.Model,
				last.Answered)
		}
		if a.Asked().Defaults.Model = "other"; a.AnsweredBy() != "" {
			t.Errorf("another model has answered already: %q", a.AnsweredBy())
		}
	}
}

func TestBrokenInputOfReadersIsMended(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{fake.Call("a", "look", `{"arg":`), fake.Call("b", "look", `{"arg":true}`),
		fake.Say("ok")}}
	a := newAgent(p, makeTool("look", tool.KindRead, nil))
	r, err := send(t, a, &recorder{}, "go")
	if err != nil || r.ToolErrors != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if !strings.Contains(history(a)[2], "is not a JSON object") {
		t.Errorf("%q", history(a))
	}
}

// A command that only reads changes nothing: it does not make a failing call
// worth trying again.
func TestAReadingCommandDoesNotResetTheRepeats(t *testing.T) {
	t.Parallel()
	fails := makeTool("fails", tool.KindNone,
		func(context.Context, string, io.Writer) (tool.Result, error) { return tool.Result{}, errors.New("no") })
	n := 0
	p := &fake.Provider{Then: func(provider.Request) fake.Step {
		n++
		return fake.Calls(fake.ToolCall(fmt.Sprintf("a%d", n), "bash", `{"arg":"pwd"}`),
			fake.ToolCall(fmt.Sprintf("b%d", n), "fails", `{"arg":"x"}`))
	}}
	a := newAgent(p, fails, makeTool("bash", tool.KindRun, nil))
	a.Opt().Limits.MaxTurns = 20
	_, err := send(t, a, &recorder{}, "go")
	if f := agent.Classify(err); f == nil || !strings.Contains(f.Error(), "it failed in the same way each time") || n != 6 {
		t.Errorf("after %d requests: %v", n, err)
	}
}

// The model that is shown is the one that answered.
func TestTheAnsweringModelIsShown(t *testing.T) {
	t.Parallel()
	step := fake.Say("hi")
	step.Model = "other-9"
	step.Usage = provider.Usage{Input: 1, Output: 1}
	a := newAgent(&fake.Provider{Steps: []fake.Step{step}})
	r := mustSend(t, a, &recorder{}, "go")
	if r.Model != "other-9" || r.Requests[0].Model != "other-9" {
		t.Errorf("model %q, of the request %q", r.Model, r.Requests[0].Model)
	}
}
