package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

// recorder writes every callback down as a line, and answers questions from a
// list.
type recorder struct {
	agent.NopCallbacks
	mu      sync.Mutex
	inside  bool
	broken  bool // two callbacks ran at once
	lines   []string
	notices []agent.Notice
	answers []agent.Answer
	asked   []agent.Question
	onAsk   func(agent.Question)
	// onNotice is called for each notice; may be nil.
	onNotice func(agent.Notice)
}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	if r.inside {
		r.broken = true
	}
	r.inside = true
	r.mu.Unlock()
	line := fmt.Sprintf(format, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside = false
	r.lines = append(r.lines, line)
}

func (r *recorder) OnThinking()             { r.add("thinking") }
func (r *recorder) OnThinkingDone()         { r.add("thinking done") }
func (r *recorder) OnReasoning(s string)    { r.add("reasoning %s", s) }
func (r *recorder) OnText(s string)         { r.add("text %s", s) }
func (r *recorder) OnToolCall(c agent.Call) { r.add("call %s %d/%d", c.ID, c.Index, c.Of) }
func (r *recorder) OnToolOutput(c agent.Call, s string) {
	r.add("output %s %s", c.ID, s)
}
func (r *recorder) OnToolResult(c agent.Call, res agent.CallResult) {
	r.add("result %s %s", c.ID, res.Status)
}
func (r *recorder) OnNotice(n agent.Notice) {
	if n.Kind == agent.NoticeUsage || n.Kind == agent.NoticeInput {
		return
	}
	r.add("notice %s", n.Kind)
	r.notices = append(r.notices, n)
	if r.onNotice != nil {
		r.onNotice(n)
	}
}
func (r *recorder) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	r.add("ask %d/%d %s", q.Number, q.Of, q.Call.ID)
	r.asked = append(r.asked, q)
	if r.onAsk != nil {
		r.onAsk(q)
	}
	if len(r.answers) == 0 {
		return agent.Answer{}, agent.ErrNobody
	}
	answer := r.answers[0]
	r.answers = r.answers[1:]
	return answer, ctx.Err()
}

type in struct {
	Arg string `json:"arg,omitempty"`
}

// makeTool makes a tool that answers "name:arg".
func makeTool(name string, kind tool.Kind, run func(ctx context.Context, arg string, out io.Writer) (tool.Result,
	error)) tool.Tool {
	if run == nil {
		run = func(_ context.Context, arg string, _ io.Writer) (tool.Result, error) {
			return tool.Result{Text: name + ":" + arg, Summary: "fine"}, nil
		}
	}
	return tool.New(tool.Def{Name: name, Description: name, Kind: kind},
		func(_ context.Context, _ *tool.Env, i in) (tool.Access, error) {
			a := tool.Access{Kind: kind, Verb: name, Object: i.Arg}
			if kind == tool.KindRun {
				a.Command, a.Dir = i.Arg, "/p"
			} else {
				a.Paths = []string{"/p/" + i.Arg}
			}
			return a, nil
		},
		func(ctx context.Context, _ *tool.Env, i in, out io.Writer) (tool.Result, error) {
			return run(ctx, i.Arg, out)
		})
}

func newAgent(p provider.Provider, tools ...tool.Tool) *agent.Agent {
	a, err := agent.New(testOptions(p, tools...))
	if err != nil {
		panic(err)
	}
	a.Hold(conversation.New(conversation.Config{MaxContextTokens: 50000, ToolResultMaxChars: 10000}, nil))
	return a
}

// testOptions are all that an agent without a project needs.
func testOptions(p provider.Provider, tools ...tool.Tool) agent.Options {
	return agent.Options{
		Model: agent.Model{
			Provider: p, Name: fake.Name, Defaults: provider.Options{Model: "m", MaxTokens: 1000},
			Info: provider.ModelInfo{Context: 100000, MaxOutput: 4000, Price: &provider.Price{Input: 1, Output: 10}},
		},
		System: "be brief", Tools: tools, Env: &tool.Env{Dir: "/p"},
		Policy: &permission.Policy{Mode: permission.ModeAsk, Root: "/p"},
		Limits: agent.Limits{MaxTurns: 20}, Sessions: agent.Sessions{Ephemeral: true},
	}
}

func send(t *testing.T, a *agent.Agent, cb agent.Callbacks, text string) (*agent.Response, error) {
	t.Helper()
	return a.SendMessage(t.Context(), text, cb)
}

// must fails the test where something that it only needs did not work.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustSend is send for a turn that ends without an error.
func mustSend(t *testing.T, a *agent.Agent, cb agent.Callbacks, text string) *agent.Response {
	t.Helper()
	r, err := send(t, a, cb, text)
	must(t, err)
	return r
}

func history(a *agent.Agent) []string {
	var lines []string
	for _, m := range a.Conversation().Messages() {
		line := string(m.Role)
		if m.Partial {
			line += " partial"
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.Text:
				line += " " + p.Text
			case provider.ToolCall:
				line += " call:" + p.ID
			case provider.ToolResult:
				line += fmt.Sprintf(" result:%s error=%v %s", p.CallID, p.IsError, p.Text)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATurnWithTools(t *testing.T) {
	t.Parallel()
	step := fake.Calls(fake.ToolCall("c1", "look", `{"arg":"x"}`), fake.ToolCall("c2", "look", `{"arg":"y"}`))
	step.Text, step.Usage = []string{"let me see"}, provider.Usage{Input: 100, Output: 10}
	answer := fake.Say("it is ", "so")
	answer.Usage = provider.Usage{Input: 200, CacheRead: 50, Output: 20}
	p := &fake.Provider{Steps: []fake.Step{step, answer}}
	a := newAgent(p, makeTool("look", tool.KindRead, nil))
	a.Opt().Concurrency = 1
	cb := &recorder{}
	r := mustSend(t, a, cb, "why?")
	wantLines(t, cb.lines, "thinking", "thinking done", "text let me see", "call c1 0/2", "call c2 1/2",
		"result c1 ok", "result c2 ok", "thinking", "thinking done", "text it is ", "text so")
	wantLines(t, history(a), "user why?", "assistant let me see call:c1 call:c2",
		"tool result:c1 error=false look:x", "tool result:c2 error=false look:y", "assistant it is so")
	if r.Text != "it is so" || r.Stop != provider.StopComplete || r.Steps != 2 || len(r.Requests) != 2 ||
		r.Usage.Output != 30 {
		t.Errorf("response %+v", r)
	}
	if r.CostUSD == nil || *r.CostUSD <= 0 {
		t.Errorf("cost %v", r.CostUSD)
	}
	req, _ := p.Last()
	if req.System != "be brief" || req.Model != "m" || len(req.Tools) != 1 || len(req.Messages) != 4 {
		t.Errorf("request %+v", req)
	}
}

func TestReadersRunSideBySideAndWritersDoNot(t *testing.T) {
	t.Parallel()
	meet := make(chan struct{})
	look := makeTool("look", tool.KindRead, func(ctx context.Context, arg string, _ io.Writer) (tool.Result, error) {
		select { // two of them must be here at once
		case meet <- struct{}{}:
		case <-meet:
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
		return tool.Result{Text: arg}, nil
	})
	running := make(chan struct{}, 1)
	change := makeTool("change", tool.KindWrite, func(_ context.Context, arg string, _ io.Writer) (tool.Result, error) {
		select {
		case running <- struct{}{}:
		default:
			return tool.Result{}, errors.New("another one is running")
		}
		<-running
		return tool.Result{Text: arg}, nil
	})
	p := &fake.Provider{Steps: []fake.Step{fake.Calls(
		fake.ToolCall("r1", "look", `{"arg":"1"}`), fake.ToolCall("r2", "look", `{"arg":"2"}`),
		fake.ToolCall("w1", "change", `{"arg":"3"}`), fake.ToolCall("w2", "change", `{"arg":"4"}`)), fake.Say("ok")}}
	a := newAgent(p, look, change)
	a.Opt().Policy.Mode = permission.ModeEdits
	cb := &recorder{}
	mustSend(t, a, cb, "go")
	wantLines(t, history(a)[2:], "tool result:r1 error=false 1", "tool result:r2 error=false 2",
		"tool result:w1 error=false 3", "tool result:w2 error=false 4", "assistant ok")
	if cb.broken {
		t.Error("two callbacks ran at once")
	}
}

func TestEveryCallGetsOneResultWhateverHappens(t *testing.T) {
	t.Parallel()
	bad := makeTool("crash", tool.KindNone, func(context.Context, string, io.Writer) (tool.Result, error) { panic("boom") })
	fails := makeTool("fails", tool.KindNone, func(context.Context, string, io.Writer) (tool.Result, error) {
		return tool.Result{Text: "out\nput", IsError: true, Summary: "exit 1"}, nil
	})
	p := &fake.Provider{Steps: []fake.Step{fake.Calls(
		fake.ToolCall("a", "nothing_like_it", `{}`), fake.ToolCall("b", "crash", `{}`),
		fake.ToolCall("c", "crash", `{"arg":`), fake.ToolCall("d", "crash", `{"arg":true}`),
		fake.ToolCall("e", "crash", `{"typo":"x"}`), fake.ToolCall("f", "fails", `{}`),
		fake.ToolCall("g", "run", `{"arg":"make"}`)), fake.Say("sorry")}}
	a := newAgent(p, bad, fails, makeTool("run", tool.KindRun, nil))
	cb := &recorder{}
	r := mustSend(t, a, cb, "go")
	got := history(a)[2:]
	for i, want := range []string{
		`result:a error=true There is no tool "nothing_like_it". The tools are: crash, fails, run.`,
		"result:b error=true this call crashed: boom",
		`result:c error=true The input of this call is not a JSON object, so it was not run. It begins: {"arg":`,
		"result:d error=true the input of crash does not fit",
		"result:e error=true the input of crash does not fit",
		"result:f error=true out\nput",
		"result:g error=true Not run: this call needs approval, and no one can answer",
	} {
		if !strings.HasPrefix(got[i], "tool "+want) {
			t.Errorf("result %d is %q, want %q", i, got[i], want)
		}
	}
	if r.ToolErrors != 6 || len(r.Denied) != 1 || !r.Denied[0].Nobody || r.Denied[0].Rule != "bash(make)" &&
		r.Denied[0].Rule != "run(make)" {
		t.Errorf("tool errors %d, denied %+v", r.ToolErrors, r.Denied)
	}
}

func TestAnswersToQuestions(t *testing.T) {
	t.Parallel()
	calls := func() fake.Step {
		return fake.Calls(fake.ToolCall("a", "bash", `{"arg":"make a"}`), fake.ToolCall("b", "bash", `{"arg":"make b"}`))
	}
	cases := []struct {
		name    string
		answers []agent.Answer
		results []string // status of a and b
		err     error
	}{
		{"yes and no", []agent.Answer{{Verdict: agent.Yes}, {Reason: "use ninja"}}, []string{"ok", "denied"}, nil},
		{"always for all of make", []agent.Answer{{Verdict: agent.YesForSession, Rule: "bash(make:*)"}},
			[]string{"ok", "ok"}, nil},
		{"always for this one", []agent.Answer{{Verdict: agent.YesForSession}, {}}, []string{"ok", "denied"}, nil},
		{"a rule that does not fit is asked again",
			[]agent.Answer{{Verdict: agent.YesForSession, Rule: "bash(ninja:*)"}, {Verdict: agent.Yes}, {}},
			[]string{"ok", "denied"}, nil},
		{"stop", []agent.Answer{{Verdict: agent.StopTurn}}, []string{"denied", "interrupted"}, agent.ErrStopped},
		{"edited, then yes", []agent.Answer{{Input: []byte(`{"arg":"make c"}`)}, {Verdict: agent.Yes}, {}},
			[]string{"ok", "denied"}, nil},
		{"edited into nonsense, then no", []agent.Answer{{Input: []byte(`{"arg":1}`)}, {}, {}},
			[]string{"denied", "denied"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := newAgent(&fake.Provider{Steps: []fake.Step{calls(), fake.Say("done")}},
				makeTool("bash", tool.KindRun, nil))
			cb := &recorder{answers: c.answers}
			_, err := send(t, a, cb, "go")
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if len(cb.answers) > 0 {
				t.Errorf("%d answers were not asked for", len(cb.answers))
			}
			var results []string
			for _, line := range cb.lines {
				if rest, ok := strings.CutPrefix(line, "result "); ok {
					results = append(results, strings.Fields(rest)[1])
				}
			}
			wantLines(t, results, c.results...)
			if first := cb.asked[0]; first.Number != 1 || first.Of != 2 || first.Rule != "bash(make a)" {
				t.Errorf("first question %+v", first)
			}
			if c.name == "edited, then yes" &&
				!strings.Contains(history(a)[2], `changed the input of this call before it ran, to: {"arg":"make c"}`) {
				t.Errorf("the model is not told: %s", history(a)[2])
			}
			if c.name == "yes and no" && !strings.Contains(history(a)[3], "Reason: use ninja") {
				t.Errorf("the reason is lost: %s", history(a)[3])
			}
		})
	}
}

// newScript is a provider that says these texts, one for each request.
func newScript(texts ...string) *fake.Provider {
	p := &fake.Provider{}
	for _, text := range texts {
		p.Steps = append(p.Steps, fake.Say(text))
	}
	return p
}
