package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/files"
	"artoo/tool/journal"
)

// cast is a model that plays several conversations side by side: each is known by the first message of its history.
type cast struct {
	mu     sync.Mutex
	script map[string][]fake.Step
	heard  map[string][]provider.Request
}

func (c *cast) next(req provider.Request) fake.Step {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := strings.TrimSpace(req.Messages[0].Text())
	if c.heard == nil {
		c.heard = map[string][]provider.Request{}
	}
	c.heard[first] = append(c.heard[first], req)
	steps := c.script[first]
	if len(steps) == 0 {
		return fake.Step{Err: errors.New("no step left for " + first)}
	}
	c.script[first] = steps[1:]
	return steps[0]
}

func task(id, prompt string) provider.ToolCall {
	return fake.ToolCall(id, "task", fmt.Sprintf(`{"description":"about %s","prompt":%q}`, prompt, prompt))
}

// used is a step that reports its usage.
func used(s fake.Step) fake.Step {
	s.Usage = provider.Usage{Input: 100, Output: 10}
	return s
}

// withTasks are the options of an agent that can give work to sub-agents.
func withTasks(script map[string][]fake.Step, agents []agent.SubAgent, tools ...tool.Tool) (agent.Options, *cast) {
	c := &cast{script: script}
	opt := testOptions(&fake.Provider{Then: c.next}, append(tools, agent.OwnTools(agents)...)...)
	opt.SubAgents = agents
	return opt, c
}

func made(t *testing.T, opt agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(opt)
	must(t, err)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func TestASubAgentWorksInAConversationOfItsOwn(t *testing.T) {
	t.Parallel()
	opt, c := withTasks(map[string][]fake.Step{
		"go":       {used(fake.Calls(task("t1", "count it"))), used(fake.Say("three"))},
		"count it": {used(fake.Call("x", "look", `{"arg":"a"}`)), used(fake.Say("there are three"))},
	}, nil, makeTool("look", tool.KindRead, nil))
	a, cb := made(t, opt), &recorder{}
	r := mustSend(t, a, cb, "go")
	wantLines(t, history(a), "user go", "assistant call:t1", "tool result:t1 error=false there are three", "assistant three")
	wantLines(t, cb.lines, "thinking", "thinking done", "call t1 0/1", "call t1/x 0/1", "result t1/x ok", "result t1 ok",
		"thinking", "thinking done", "text three")
	if r.Steps != 4 || len(r.Requests) != 4 || r.Usage.Total() != 440 {
		t.Errorf("%d steps, %d requests, usage %+v: the sub-agent's count too", r.Steps, len(r.Requests), r.Usage)
	}
	if usage, _ := a.Spent(); usage.Total() != 440 {
		t.Errorf("the run used %+v", usage)
	}
	req := c.heard["count it"][0]
	if len(req.Tools) != 1 || req.Tools[0].Name != "look" {
		t.Errorf("the sub-agent is offered %v: neither task nor what needs the user", req.Tools)
	}
	if !strings.Contains(req.System, "You are a sub-agent") || !strings.Contains(req.System, "be brief") {
		t.Errorf("its prompt is %q", req.System)
	}
	if cb.broken {
		t.Error("two callbacks ran at once")
	}
}

func TestSubAgentsOfOneReplyWorkSideBySideUpToTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		script := map[string][]fake.Step{"go": {fake.Calls(task("t1", "one"), task("t2", "two"), task("t3", "three")),
			fake.Say("all")}}
		for _, name := range []string{"one", "two", "three"} {
			script[name] = []fake.Step{fake.Call("x", "look", `{"arg":"`+name+`"}`), fake.Say("done " + name)}
		}
		var mu sync.Mutex
		now, most := 0, 0
		look := makeTool("look", tool.KindRead, func(_ context.Context, arg string, _ io.Writer) (tool.Result, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return tool.Result{Text: arg}, nil
		})
		opt, _ := withTasks(script, nil, look)
		opt.Concurrency = 2
		a := made(t, opt)
		mustSend(t, a, &recorder{}, "go")
		if most != 2 {
			t.Errorf("%d at a time, want 2", most)
		}
		wantLines(t, history(a)[2:], "tool result:t1 error=false done one", "tool result:t2 error=false done two",
			"tool result:t3 error=false done three", "assistant all")
	})
}

func TestTheQuestionsOfSubAgentsCarryTheirNameAndTheirRulesEndWithThem(t *testing.T) {
	t.Parallel()
	script := map[string][]fake.Step{
		"go": {fake.Calls(fake.ToolCall("t1", "task", `{"prompt":"one","agent":"review"}`), task("t2", "two")),
			fake.Call("m", "bash", `{"arg":"x"}`), fake.Say("all")},
	}
	for _, name := range []string{"one", "two"} {
		script[name] = []fake.Step{fake.Call("x", "bash", `{"arg":"x"}`), fake.Call("y", "bash", `{"arg":"x"}`), fake.Say("ok")}
	}
	opt, _ := withTasks(script, []agent.SubAgent{{Name: "review", Prompt: "be strict"}}, makeTool("bash", tool.KindRun, nil))
	opt.Concurrency = 1
	a := made(t, opt)
	cb := &recorder{}
	cb.onAsk = func(q agent.Question) {
		cb.answers = []agent.Answer{{Verdict: agent.Yes}}
		if q.Call.Agent == "task 1 (review)" {
			cb.answers[0].Verdict = agent.YesForSession
		}
	}
	mustSend(t, a, cb, "go")
	var names []string
	for _, q := range cb.asked {
		names = append(names, q.Call.Agent+" "+q.Call.ID)
	}
	slices.Sort(names)
	wantLines(t, names, " m", "task 1 (review) t1/x", "task 2 t2/x", "task 2 t2/y")
	if rules := a.Policy().SessionRules(); len(rules) > 0 {
		t.Errorf("rules of a sub-agent outlive it: %v", rules)
	}
}

func TestASubAgentHasAtMostTheModeOfItsParent(t *testing.T) {
	t.Parallel()
	opt, _ := withTasks(map[string][]fake.Step{
		"go":  {fake.Calls(task("t1", "one")), fake.Say("all")},
		"one": {fake.Call("x", "change", `{"arg":"x"}`), fake.Say("I could not")},
	}, nil, makeTool("change", tool.KindWrite, nil))
	opt.Policy.Mode = permission.ModePlan
	r, err := send(t, made(t, opt), &recorder{}, "go")
	if err != nil || len(r.Denied) != 1 || !strings.Contains(r.Denied[0].Reason, "plan mode") {
		t.Errorf("%v, denied %+v", err, r.Denied)
	}
}

func TestAnInterruptReachesSubAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opt, _ := withTasks(map[string][]fake.Step{
			"go":  {fake.Calls(task("t1", "one"), task("t2", "two"))},
			"one": {fake.Call("x", "wait", `{}`)},
			"two": {{Gate: fake.NewGate(), Text: []string{"never"}}},
		}, nil, makeTool("wait", tool.KindRead, func(ctx context.Context, _ string, _ io.Writer) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}))
		a, cb := made(t, opt), &recorder{}
		ctx, stop := context.WithCancelCause(t.Context())
		go func() {
			synctest.Wait()
			stop(errors.New("the user pressed Ctrl-C"))
		}()
		began := time.Now()
		if _, err := a.SendMessage(ctx, "go", cb); err == nil || !strings.Contains(err.Error(), "Ctrl-C") {
			t.Errorf("the turn ended with %v", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		for _, l := range history(a)[2:] {
			if !strings.Contains(l, "interrupted") {
				t.Error(l)
			}
		}
	})
}

func TestTheCapsHoldOverSubAgents(t *testing.T) {
	t.Parallel()
	many := func(n int) (steps []fake.Step) {
		for i := range n {
			steps = append(steps, used(fake.Call(fmt.Sprint("x", i), "look", fmt.Sprintf(`{"arg":"%d"}`, i))))
		}
		return append(steps, used(fake.Say("enough")))
	}
	for name, row := range map[string]struct {
		limits agent.Limits
		want   string
	}{
		"steps":  {agent.Limits{MaxTurns: 6}, "cap of 6 steps"},
		"tokens": {agent.Limits{MaxTotalTokens: 2500}, "a higher ARTOO_MAX_TOTAL_TOKENS"},
		"money":  {agent.Limits{MaxCost: 0.0085}, "a higher --max-cost"},
	} {
		t.Run(name, func(t *testing.T) {
			opt, c := withTasks(map[string][]fake.Step{
				"go":  {used(fake.Calls(task("t1", "one"), task("t2", "two"))), used(fake.Say("all"))},
				"one": many(30), "two": many(30),
			}, nil, makeTool("look", tool.KindRead, nil))
			opt.Limits = row.limits
			a := made(t, opt)
			_, err := send(t, a, &recorder{}, "go")
			failure := agent.Classify(err)
			if failure == nil || failure.Kind != agent.KindCap || !strings.Contains(failure.Error()+failure.Hint, row.want) {
				t.Errorf("ended with %v", err)
			}
			usage, cost := a.Spent()
			if l := row.limits; l.MaxTotalTokens > 0 && usage.Total() > l.MaxTotalTokens || l.MaxCost > 0 && *cost > l.MaxCost {
				t.Errorf("used %v for %v, over the cap", usage, *cost)
			}
			if n := len(c.heard["one"]) + len(c.heard["two"]); n < 3 || n > 24 {
				t.Errorf("the sub-agents made %d requests", n)
			}
		})
	}
}

func TestWhatASubAgentDidIsToldWhenItFails(t *testing.T) {
	t.Parallel()
	opt, _ := withTasks(map[string][]fake.Step{
		"go":  {fake.Calls(task("t1", "one")), fake.Say("pity")},
		"one": {fake.Call("x", "look", `{"arg":"a"}`), fake.Fail(provider.KindInvalid)},
	}, nil, makeTool("look", tool.KindRead, nil))
	a, cb := made(t, opt), &recorder{}
	mustSend(t, a, cb, "go")
	result := history(a)[2]
	for _, want := range []string{"error=true", "did not come to an end", "scripted failure", "- look a: fine"} {
		if !strings.Contains(result, want) {
			t.Errorf("%q is not in %s", want, result)
		}
	}
}

func TestASubAgentByNameHasItsOwnModelToolsAndPrompt(t *testing.T) {
	t.Parallel()
	opt, c := withTasks(map[string][]fake.Step{
		"go": {fake.Calls(fake.ToolCall("t1", "task", `{"prompt":"one","subagent_type":"review"}`),
			fake.ToolCall("t2", "task", `{"prompt":"one","agent":"nobody"}`)), fake.Say("all")},
	}, nil)
	other := &cast{script: map[string][]fake.Step{"one": {fake.Say("fine")}}}
	opt.SubAgents = []agent.SubAgent{{Name: "review", Description: "reads", Prompt: "be strict", Tools: []string{"look"},
		Model: func() (agent.Model, error) {
			return agent.Model{Provider: &fake.Provider{Then: other.next}, Name: "other",
				Defaults: provider.Options{Model: "small", MaxTokens: 500}}, nil
		}}}
	opt.Tools = append([]tool.Tool{makeTool("look", tool.KindRead, nil), makeTool("change", tool.KindWrite, nil)},
		agent.OwnTools(opt.SubAgents)...)
	a := made(t, opt)
	mustSend(t, a, &recorder{}, "go")
	req := other.heard["one"][0]
	if req.Model != "small" || len(req.Tools) != 1 || req.Tools[0].Name != "look" || !strings.Contains(req.System, "be strict") {
		t.Errorf("it was sent %s, %v, %q", req.Model, req.Tools, req.System)
	}
	if len(c.heard["one"]) > 0 {
		t.Error("the parent's model was asked too")
	}
	wantLines(t, history(a)[2:4], "tool result:t1 error=false fine",
		`tool result:t2 error=true task: there is no agent "nobody"; there are: review`)
	i := slices.IndexFunc(opt.Tools, func(t tool.Tool) bool { return t.Name == "task" })
	if !strings.Contains(opt.Tools[i].Description, "\nreview: reads") {
		t.Errorf("the model is told %q", opt.Tools[i].Description)
	}
}

// Changes of a sub-agent belong to its parent's turn: they are undone with it. Its
// transcript is in the output directory of the session.
func TestWhatSubAgentsChangeIsTakenBackWithTheTurn(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	opt, _ := withTasks(map[string][]fake.Step{
		"go":  {fake.Calls(task("t1", "one"), task("t2", "two")), fake.Say("all")},
		"one": {fake.Call("x", "write", `{"path":"one.txt","content":"1\n"}`), fake.Say("ok")},
		"two": {fake.Call("x", "write", `{"path":"two.txt","content":"2\n"}`), fake.Say("ok")},
	}, nil, builtin.Write())
	files, err := files.Open(files.Config{Root: root})
	must(t, err)
	t.Cleanup(func() { files.Close() })
	opt.Env, opt.Policy = &tool.Env{Dir: root, Files: files}, &permission.Policy{Mode: permission.ModeEdits, Root: root}
	state := t.TempDir()
	opt.Journal = func(session, _ string) (*journal.Journal, error) {
		return journal.Open(journal.Config{Dir: journal.Dir(state, root, session), Root: root})
	}
	opt.Sessions = agent.Sessions{}
	opt.Sessions.Store.Dir = filepath.Join(state, "sessions")
	a := made(t, opt)
	mustSend(t, a, &recorder{}, "go")
	transcripts, _ := filepath.Glob(filepath.Join(a.OutputDir(), "*.jsonl"))
	if len(transcripts) != 2 {
		t.Errorf("%d transcripts in %s", len(transcripts), a.OutputDir())
	}
	if totals := a.Cost(); totals.Usage.Total() == 0 {
		t.Error("the session's cost does not count sub-agents")
	}
	plan, err := a.Journal().Plan(t.Context(), 1, false)
	must(t, err)
	report, err := a.Journal().Apply(t.Context(), plan)
	if err != nil || len(report.Done) != 2 {
		t.Errorf("%v, %+v", err, report)
	}
	for _, name := range []string{"one.txt", "two.txt"} {
		if _, err := os.Stat(filepath.Join(root, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
