//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/ui/screen"
)

// commandInput is the input of the tool that commands are asked about.
type commandInput struct {
	Command string `json:"command"`
}

// agentWith is a real agent with a model that plays steps, and one tool, which
// hands its commands to run.
func agentWith(run func(ctx context.Context, env *tool.Env, command string) string,
	steps ...fake.Step) (*agent.Agent, *fake.Provider) {
	return savingAgent(nil, run, steps...)
}

// savingAgent passes permanent rules to save.
func savingAgent(save func(rule string) error, run func(ctx context.Context, env *tool.Env, command string) string,
	steps ...fake.Step) (*agent.Agent, *fake.Provider) {
	p := &fake.Provider{Steps: steps}
	bash := tool.New(tool.Def{Name: "bash", Description: "runs", Kind: tool.KindRun},
		func(_ context.Context, _ *tool.Env, i commandInput) (tool.Access, error) {
			return tool.Access{Kind: tool.KindRun, Verb: "run", Object: i.Command, Command: i.Command, Dir: "/p"}, nil
		},
		func(ctx context.Context, env *tool.Env, i commandInput, _ io.Writer) (tool.Result, error) {
			return tool.Result{Text: run(ctx, env, i.Command), Summary: "exit 0"}, nil
		})
	a, err := agent.New(agent.Options{
		Model: agent.Model{
			Provider: p, Name: fake.Name, Defaults: provider.Options{Model: "m", MaxTokens: 1000},
			Info: provider.ModelInfo{Context: 100000, MaxOutput: 4000},
		},
		Tools: []tool.Tool{bash}, Env: &tool.Env{Dir: "/p"}, Limits: agent.Limits{MaxTurns: 20},
		Sessions:         agent.Sessions{Ephemeral: true},
		MaxContextTokens: 50000, ToolResultMaxChars: 10000, SaveRule: save,
	})
	if err != nil {
		panic(err)
	}
	return a, p
}

// lastResults are the tool results of the model's last request.
func lastResults(t *testing.T, p *fake.Provider) string {
	t.Helper()
	request, ok := p.Last()
	if !ok {
		t.Fatal("the model was not asked")
	}
	var texts []string
	for _, m := range request.Messages {
		for _, part := range m.Parts {
			if r, ok := part.(provider.ToolResult); ok {
				texts = append(texts, r.CallID+": "+r.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// answer types an answer to the question that stands there.
func (k *talk) answerWith(text string) {
	k.Helper()
	k.clock.advance(quiet)
	k.send(text)
	k.expect(text)
	k.send("\r")
}

// isAnswer waits for the answer to a question.
func (k *talk) isAnswer(answers <-chan agent.Answer, want agent.Answer) {
	k.Helper()
	if diff := cmp.Diff(want, wanted(k, answers)); diff != "" {
		k.Error(diff)
	}
}

// sendTo plays the turns of an agent.
func sendTo(a *agent.Agent) func(context.Context, string, agent.Callbacks) (*agent.Response, error) {
	return func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		return a.SendMessage(ctx, text, cb)
	}
}

// Three calls of one reply are asked about one after another; one is edited and
// asked again, one refused with a reason, one ends the turn. Each decision is
// printed.
func TestQuestionsComeOneByOne(t *testing.T) {
	t.Parallel()
	var ran []string
	a, model := agentWith(func(_ context.Context, _ *tool.Env,
		command string) string {
		ran = append(ran, command)
		return "made"
	},
		fake.Calls(fake.ToolCall("a", "bash", `{"command":"make a"}`),
			fake.ToolCall("b", "bash", `{"command":"make b"}`), fake.ToolCall("c", "bash", `{"command":"make c"}`)),
		fake.Say("done"))
	editor := script(t, `printf 'make edited\n' >"$1"`)
	k := startPTY(t, &sender{play: sendTo(a)}, func(o *Options) { o.Environ = []string{"EDITOR=" + editor, "PATH=" + os.Getenv("PATH")} })
	k.expect("you: ")
	k.enter("do it")
	k.expect("make a")
	k.expect("approve: run \"make a\"? 1/3")
	k.expect("[?] (n) ")
	k.answerWith("e")
	k.expect("make edited")
	k.expect("approve: run \"make edited\"? 1/3")
	k.expect("[?] (n) ")
	k.answerWith("y")
	k.expect("make b")
	k.expect("approve: run \"make b\"? 2/3")
	k.expect("[?] (n) ")
	k.answerWith("n use ninja")
	k.expect("denied: use ninja")
	k.expect("approve: run \"make c\"? 3/3")
	k.expect("[?] (n) ")
	k.answerWith("q")
	k.expect("denied; turn stopped")
	k.expect("turn stopped")
	k.expect(pasteOn + "you: ")
	if diff := cmp.Diff([]string{"make edited"}, ran); diff != "" {
		t.Error(diff)
	}
	k.enter("and now")
	k.await(k.answer, 0, "done")
	told := lastResults(t, model)
	for _, want := range []string{`to: {"command":"make edited"}`,
		"b: Not run: this call was denied. Reason: use ninja",
		"c: Not run: this call was denied. Reason: the user stopped the turn"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model is told %q, not %q", told, want)
		}
	}
}

// A lasting yes prints the rule that holds and how to take it back; the next
// call it covers is not asked. A rule that is none, or speaks of something
// else, approves nothing and prints no decision.
func TestALastingYesNamesItsRule(t *testing.T) {
	t.Parallel()
	var ran []string
	var saved []string
	save := func(rule string) error { saved = append(saved, rule); return nil }
	a, _ := savingAgent(save, func(_ context.Context, _ *tool.Env,
		command string) string {
		ran = append(ran, command)
		return "made"
	},
		fake.Calls(fake.ToolCall("a", "bash", `{"command":"make everything"}`)),
		fake.Calls(fake.ToolCall("b", "bash", `{"command":"make b; touch x"}`)),
		fake.Calls(fake.ToolCall("c", "bash", `{"command":"make c"}`)), fake.Say("done"))
	k := startPTY(t, &sender{play: sendTo(a)}, nil)
	k.expect("you: ")
	k.enter("do it")
	for _, wrong := range []string{"a bash(ninja:*)", "A bash(ninja:*)", "a bash(", "A make", "a write(**)"} {
		k.expect("(n) ")
		from := k.seen
		k.answerWith(wrong)
		k.expect("not an answer: ")
		if shown := k.status.String()[from:]; strings.Contains(shown, "approve: allowed") || len(ran) > 0 {
			t.Errorf("%q: %q, ran %q", wrong, shown, ran)
		}
	}
	k.expect("(n) ")
	k.answerWith("a bash(make:*)")
	k.expect("allowed in this session: bash(make:*)   (/permissions to change)")
	k.expect("make b; touch x") // more than the rule covers
	k.expect("(n) ")
	k.answerWith("A")
	k.expect("allowed in this project: bash(make b; touch x)")
	k.await(k.answer, 0, "done") // make c was not asked
	if diff := cmp.Diff([]string{"make everything", "make b; touch x", "make c"}, ran); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"bash(make b; touch x)"}, saved); diff != "" {
		t.Error(diff)
	}
}

// The same holds in plain lines: a line that is no answer repeats the question with
// the list, and only a line that comes after the question counts.
func TestLinesAskAgainToo(t *testing.T) {
	t.Parallel()
	answers, errs := make(chan agent.Answer, 8), make(chan error, 8)
	k := startLines(t, &sender{play: asking("rm -r build", answers, errs)}, nil)
	k.expect("you: ")
	k.send("do it\n")
	for _, text := range []string{"s", "d", "yes please", "1"} {
		k.expect("(n) ")
		k.send(text + "\n")
		k.expect("please answer y, n, a, A, e, p, q or ?")
		none(k, answers)
	}
	k.expect("(n) ")
	k.send("e\n")
	k.expect("new command (an empty line changes nothing): ")
	k.send("\n")
	k.expect("unchanged")
	k.expect("(n) ")
	k.send("p\n")
	k.expect("rm -r build") // there is no pager here: it is printed
	k.expect("(n) ")
	k.send("n use rmdir\n")
	k.isAnswer(answers, agent.Answer{Reason: "use rmdir"})
	none(k, errs)
}

// The partial answer of an interrupted turn is in the next request.
func TestThePartialAnswerIsKept(t *testing.T) {
	t.Parallel()
	endless := fake.Say("three words so", " far", " and on")
	endless.Gate, endless.GateAfter = fake.NewGate(), 3
	a, model := agentWith(nil, endless, fake.Say("well"))
	k := startPTY(t, &sender{play: sendTo(a)}, nil)
	k.expect("you: ")
	k.enter("tell me")
	wanted(k, endless.Gate.Reached())
	k.send("\x03")
	k.expect("stopped after ")
	k.expect(pasteOn + "you: ")
	if shown := k.answer.String(); !strings.Contains(shown, "three words so") {
		t.Errorf("the answer shows %q", shown)
	}
	k.enter("go on")
	k.await(k.answer, 0, "well")
	request, _ := model.Last()
	var said []string
	for _, m := range request.Messages {
		said = append(said, string(m.Role)+": "+m.Text())
	}
	if len(said) != 3 || !strings.HasPrefix(said[1], "assistant: three words so") || said[2] != "user: go on" {
		t.Errorf("the next request holds %q", said)
	}
}

// The prompt is back within a second, however long a command takes to end. The
// second Ctrl-C reaches it.
func TestACommandThatTrapsTheInterrupt(t *testing.T) {
	running, killed, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	a, model := agentWith(func(ctx context.Context, env *tool.Env, _ string) string {
		close(running)
		<-ctx.Done()
		select {
		case <-env.Kill:
			close(killed)
		case <-over:
		}
		return "killed"
	}, fake.Calls(fake.ToolCall("a", "bash", `{"command":"make"}`)), fake.Say("well"))
	a.Policy().AllowRules = []permission.Rule{{Tool: "bash"}}
	t.Cleanup(func() { close(over); a.Close() })
	k := startPTY(t, &sender{kill: a.Kill, play: func(ctx context.Context, text string,
		cb agent.Callbacks) (*agent.Response, error) {
		return a.SendMessage(ctx, text, cb)
	}}, nil)
	k.expect("you: ")
	k.enter("do it")
	wanted(k, running)
	began := time.Now()
	k.send("\x03")
	k.expect("stopped")
	k.expect(pasteOn + "you: ")
	if took := time.Since(began); took > time.Second {
		t.Errorf("the prompt took %v", took)
	}
	select {
	case <-killed:
		t.Error("the first Ctrl-C left it no time")
	default:
	}
	k.send("\x03")
	wanted(k, killed)
	k.expect("Ctrl-C again")
	k.enter("and")
	k.await(k.answer, 0, "well")
	if told := lastResults(t, model); !strings.Contains(told, "a: interrupted: ") {
		t.Errorf("the model is told %q", told)
	}
}

// While the turn still stops, a second Ctrl-C reaches the command as well.
func TestTheSecondCtrlCInTheTurn(t *testing.T) {
	t.Parallel()
	running, stopping, killed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	k := startPTY(t, &sender{kill: func() { close(killed) },
		play: func(ctx context.Context, _ string, _ agent.Callbacks) (*agent.Response, error) {
			close(running)
			<-ctx.Done()
			close(stopping)
			<-killed
			return &agent.Response{}, context.Cause(ctx)
		}}, nil)
	k.expect("you: ")
	k.enter("do it")
	wanted(k, running)
	k.send("\x03")
	wanted(k, stopping)
	k.send("\x03")
	k.expect("stopped")
	k.expect(pasteOn + "you: ")
}

// Each 5 dollars of the session get one line, as the requests add up.
func TestCostIsToldAtEachFiveDollars(t *testing.T) {
	t.Parallel()
	a := testAgent(t)
	spend := func(usd float64) { // the session costs that much more
		m := a.Model()
		m.Provider = &fake.Provider{Steps: []fake.Step{{Text: []string{"ok"}, Usage: provider.Usage{Input: 1_000_000}}}}
		m.Info.Price = &provider.Price{Input: usd}
		a.SwitchModel(m)
		saying(t, a, "go")
	}
	spend(4.5)
	usage := func(usd float64) agent.Notice {
		return agent.Notice{Kind: agent.NoticeUsage, Request: &agent.RequestReport{CostUSD: &usd}}
	}
	k := startPTY(t, &sender{play: func(_ context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		var usd float64
		if _, err := fmt.Sscan(text, &usd); err != nil {
			return nil, errors.New("no number")
		}
		cb.OnNotice(usage(usd))
		cb.OnNotice(agent.Notice{Kind: agent.NoticeUsage, Request: &agent.RequestReport{}}) // a price that is not known
		spend(usd)
		return &agent.Response{}, nil
	}}, func(o *Options) {
		o.Agent = a
	})
	for _, spend := range []string{"0.4", "0.22", "4.5", "0.5", "11", "0.1"} {
		k.expect(pasteOn + "you: ")
		k.enter(spend)
	}
	k.expect(pasteOn + "you: ")
	var told []string
	for line := range strings.Lines(k.status.String()) {
		if strings.Contains(line, "cost so far") {
			told = append(told, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff([]string{"• cost so far: $5.12", "• cost so far: $10.12", "• cost so far: $21.12"}, told); diff != "" {
		t.Error(diff)
	}
}

// A call cannot be allowed before all of it was shown: a pager shows the rest first.
func TestNothingUnseenIsAllowed(t *testing.T) {
	t.Parallel()
	command := strings.Repeat("echo x\n", 300) + "rm -rf /\n" + strings.Repeat("echo y\n", 300)
	answers, errs := make(chan agent.Answer, 8), make(chan error, 8)
	k := startPTY(t, &sender{play: asking(command, answers, errs)}, func(o *Options) { o.Pager = "cat" })
	k.expect("you: ")
	k.enter("do it")
	for _, yes := range []string{"y", "a", "A", "yes"} {
		k.expect("(n) ")
		k.answerWith(yes)
		k.expect("not everything was shown. Type p")
	}
	k.expect("(n) ")
	k.answerWith("p")
	k.expect("rm -rf /")
	k.expect("(n) ")
	k.answerWith("y")
	k.isAnswer(answers, agent.Answer{Verdict: agent.Yes})
}

// The keys of the terminal and the words of programs are the same answers.
func TestKeysAndWordsAreTheSameAnswers(t *testing.T) {
	t.Parallel()
	changed := agent.Question{Kind: agent.QuestionApproval}
	changed.Call.Access.Changed = "now"
	for _, q := range []agent.Question{
		{Kind: agent.QuestionApproval}, changed, {Kind: agent.QuestionChanges},
		{Kind: agent.QuestionOutside}, {Kind: agent.QuestionWhole}, {Kind: agent.QuestionPlan}, {Kind: agent.QuestionMemory},
	} {
		var keys, words []string
		for _, key := range screen.Keys(screen.Approval{Question: q}) {
			if key == "e" && q.Kind == agent.QuestionPlan {
				key = "a" // for a plan e is a yes to edits
			}
			if key != "e" && key != "p" {
				keys = append(keys, key)
			}
		}
		for _, v := range q.Verdicts() {
			words = append(words, keyOf(agent.Answer{Verdict: v}, grants))
		}
		slices.Sort(keys)
		slices.Sort(words)
		if !slices.Equal(keys, words) {
			t.Errorf("%s: keys %v, words of programs %v", q.Kind, keys, words)
		}
	}
}
