package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/extension"
	"artoo/tool/journal"
	"artoo/tool/mcp"
	"artoo/tool/mcp/mcptest"
)

// withServer makes options with one MCP server, the test binary, that was listed before.
func withServer(t *testing.T, p *fake.Provider, s extension.Server, kinds ...string) agent.Options {
	t.Helper()
	s.Name, s.Source, s.Command = "s", extension.SourceUser, append([]string{os.Args[0], mcptest.Arg}, kinds...)
	m := mcp.New(mcp.Config{Servers: []extension.Server{s}, Environ: os.Environ()})
	t.Cleanup(func() { must(t, m.Close()) })
	_, err := m.List(context.Background(), "s")
	must(t, err)
	opt := testOptions(p, builtin.Random())
	opt.System = strings.Repeat("a long prompt ", 600) // so that the tools do not become functions
	opt.Env = &tool.Env{Dir: t.TempDir(), MCP: m}
	return opt
}

func callServer(name, arguments string) fake.Step {
	return fake.Call("c-"+name, "mcp_call", `{"tool":"`+name+`","arguments":`+arguments+`}`)
}

// A call through mcp_call is one of the server's tool to rules, questions and front ends, and one
// of mcp_call to the model.
func TestACallOfAServersToolHasOneName(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{callServer("mcp__s__echo", `{"text":"hello"}`), fake.Say("ok")}}
	opt := withServer(t, p, extension.Server{})
	r := &recorder{answers: []agent.Answer{{Verdict: agent.YesForSession}}}
	a, err := agent.New(opt)
	must(t, err)
	mustSend(t, a, r, "go")
	asked := r.asked
	if len(asked) != 1 || asked[0].Call.Name != "mcp__s__echo" || string(asked[0].Call.Input) != `{"text":"hello"}` ||
		asked[0].Rule != "mcp__s__echo" || asked[0].Call.Access.Claims != "only reads" ||
		!strings.Contains(asked[0].Call.Access.Address, mcptest.Arg) {
		t.Fatalf("asked %+v", asked)
	}
	if rules := a.Policy().SessionRules(); len(rules) != 1 || rules[0].String() != "mcp__s__echo" {
		t.Errorf("rules %v", rules)
	}
	for _, m := range p.Requests()[1].Messages {
		for _, part := range m.Parts {
			switch part := part.(type) {
			case provider.ToolCall:
				if part.Name != "mcp_call" {
					t.Errorf("the model's call is sent again as one of %s", part.Name)
				}
			case provider.ToolResult:
				if part.Name != "mcp_call" || part.Text != "hello" {
					t.Errorf("result %+v", part)
				}
			}
		}
	}
	for _, request := range p.Requests() {
		var names []string
		for _, spec := range request.Tools {
			names = append(names, spec.Name)
		}
		if !slices.Equal(names, []string{"random_number", "mcp_find", "mcp_call"}) {
			t.Errorf("offered %v", names)
		}
	}
}

// Nothing that a server says of its tools lets one run unasked, whatever the mode.
func TestServersCallsAreAskedInEveryMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []permission.Mode{permission.ModePlan, permission.ModeAsk, permission.ModeEdits, permission.ModeAuto} {
		p := &fake.Provider{Steps: []fake.Step{callServer("mcp__s__echo", `{"text":"hello"}`), fake.Say("ok")}}
		opt := withServer(t, p, extension.Server{})
		opt.Policy = &permission.Policy{Mode: mode, Root: opt.Env.Dir, TrustsPrograms: true}
		a, err := agent.New(opt)
		must(t, err)
		response, err := a.SendMessage(context.Background(), "go", agent.NopCallbacks{})
		must(t, err)
		if len(response.Denied) != 1 || response.Denied[0].Tool != "mcp__s__echo" {
			t.Fatalf("%s: denied %+v", mode, response.Denied)
		}
		d := response.Denied[0]
		if plan := mode == permission.ModePlan; d.Nobody == plan || !plan && (d.Rule != "mcp__s__echo" || d.Code != permission.ServerTool) {
			t.Errorf("%s: %+v", mode, d)
		}
	}
}

// A mark in place of a key is refused, a key itself is masked in the question, and a server's
// form reaches the user and is answered.
func TestWhatAServerIsGivenAndAsks(t *testing.T) {
	t.Parallel()
	const key = "sk-live-0123456789"
	p := &fake.Provider{Steps: []fake.Step{callServer("mcp__s__echo", `{"text":"‹secret:1a2b3c4d5e6f›"}`),
		callServer("mcp__s__echo", `{"text":"`+key+`"}`), callServer("mcp__s__ask", `{}`), fake.Say("ok")}}
	opt := withServer(t, p, extension.Server{})
	opt.Secrets.Mask = func(text string) string { return strings.ReplaceAll(text, key, "‹secret:000000000000›") }
	yes := agent.Answer{Verdict: agent.Yes}
	form := agent.Answer{Form: mcp.Answer{Action: mcp.Accept, Content: map[string]any{"name": "Ada"}}}
	r := &recorder{answers: []agent.Answer{yes, yes, form}}
	a, err := agent.New(opt)
	must(t, err)
	mustSend(t, a, r, "go")
	var forms []agent.Question
	var shown []string
	for _, q := range r.asked {
		if q.Kind == agent.QuestionForm {
			forms = append(forms, q)
			continue
		}
		shown = append(shown, string(q.Call.Input))
	}
	if len(shown) != 2 || shown[0] != `{"text":"‹secret:000000000000›"}` {
		t.Errorf("shown %q", shown)
	}
	if len(forms) != 1 || forms[0].Form.Server != "s" || len(forms[0].Form.Fields) != 2 {
		t.Errorf("forms %+v", forms)
	}
	if log := strings.Join(history(a), "\n"); !strings.Contains(log, "Ada") || !strings.Contains(log, "stands for a key") {
		t.Errorf("history:\n%s", log)
	}
}

// Changes of a server's process in the project are undone as those of a command. The test makes them while a call waits
// at a form.
func TestAServersChangesAreUndone(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{callServer("mcp__s__ask", `{}`), fake.Say("ok")}}
	opt := withServer(t, p, extension.Server{})
	root, err := filepath.EvalSymlinks(opt.Env.Dir)
	must(t, err)
	opt.Env.Dir = root
	must(t, os.WriteFile(filepath.Join(root, "a.txt"), []byte("before"), 0o600))
	opt.Policy = &permission.Policy{Root: root, Mode: permission.ModeAsk, AllowRules: rules(t, "mcp__s")}
	state := t.TempDir()
	opt.Journal = func(session, _ string) (*journal.Journal, error) {
		return journal.Open(journal.Config{Dir: journal.Dir(state, root, session), Root: root})
	}
	a, err := agent.New(opt)
	must(t, err)
	defer func() { must(t, a.Close()) }()
	r := &recorder{answers: []agent.Answer{{Form: mcp.Answer{Action: mcp.Decline}}}}
	r.onAsk = func(agent.Question) { must(t, os.WriteFile(filepath.Join(root, "a.txt"), []byte("after"), 0o600)) }
	mustSend(t, a, r, "go")
	plan, err := a.Journal().Plan(t.Context(), 1, false)
	must(t, err)
	report, err := a.Journal().Apply(t.Context(), plan)
	if text, readErr := os.ReadFile(filepath.Join(root, "a.txt")); err != nil || readErr != nil || string(text) != "before" {
		t.Errorf("%q, %+v, %v", text, report, errors.Join(err, readErr))
	}
}

// A changed list of tools is reported with the next message, and the tools that are offered stay.
func TestAChangedListBreaksNoPrefix(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{fake.Say("one"), fake.Say("two"), fake.Say("three")}}
	opt := withServer(t, p, extension.Server{Tools: []string{"echo"}})
	a, err := agent.New(opt)
	must(t, err)
	mustSend(t, a, &recorder{}, "first")
	a.Forget("s", "mcp__s__old")
	mustSend(t, a, &recorder{}, "second")
	mustSend(t, a, &recorder{}, "third")
	requests := p.Requests()
	for _, r := range requests[1:] {
		if !reflect.DeepEqual(r.Tools, requests[0].Tools) || r.System != requests[0].System {
			t.Error("the prefix changed")
		}
	}
	for i, want := range []bool{false, true, false} {
		messages := requests[i].Messages
		last := fmt.Sprint(messages[len(messages)-1])
		if got := strings.Contains(last, "new: mcp__s__echo; gone: mcp__s__old"); got != want {
			t.Errorf("message %d: reported %t: %s", i+1, got, last)
		}
	}
}

// The tools that a sub-agent may have bind those of servers too: mcp_call is among them, or none is.
func TestASubAgentHasServersOnlyWithMCPCall(t *testing.T) {
	t.Parallel()
	for _, tools := range [][]string{nil, {"random_number"}, {"mcp_call"}} {
		p := &fake.Provider{Steps: []fake.Step{fake.Call("t", "task", `{"prompt":"do it","agent":"ro"}`),
			callServer("mcp__s__echo", `{"text":"one"}`), fake.Call("x", "mcp__s__echo", `{"text":"two"}`), fake.Say("done"), fake.Say("ok")}}
		opt := withServer(t, p, extension.Server{})
		opt.Policy = &permission.Policy{Root: opt.Env.Dir, Mode: permission.ModeAsk, AllowRules: rules(t, "mcp__s")}
		opt.SubAgents = []agent.SubAgent{{Name: "ro", Tools: tools}}
		opt.Tools = append(append(opt.Tools, agent.OwnTools(opt.SubAgents)...), builtin.MCPTools()...)
		a, err := agent.New(opt)
		must(t, err)
		mustSend(t, a, &recorder{}, "go")
		requests, want := p.Requests(), tools == nil || tools[0] == "mcp_call"
		var names []string
		for _, spec := range requests[1].Tools {
			names = append(names, spec.Name)
		}
		if slices.Contains(names, "mcp_call") != want || slices.Contains(names, "mcp_find") != want {
			t.Errorf("%v: offered %v", tools, names)
		}
		for i, text := range []string{"one", "two"} {
			messages := requests[2+i].Messages
			result := messages[len(messages)-1].Parts[0].(provider.ToolResult)
			if ran := !result.IsError && result.Text == text; ran != want {
				t.Errorf("%v: call %d: %+v", tools, i+1, result)
			}
		}
	}
}

// A call of mcp_call that means no tool of a server stays one of mcp_call.
func TestAModelNamesNoOtherToolByMCPCall(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{callServer("bash", `{"command":"rm -rf /"}`), fake.Say("ok")}}
	r := &called{}
	a, err := agent.New(withServer(t, p, extension.Server{}))
	must(t, err)
	mustSend(t, a, r, "go")
	if len(r.calls) != 1 || r.calls[0].Name != "mcp_call" || r.calls[0].Access.Verb != "mcp_call" || !strings.Contains(string(r.calls[0].Input), "rm -rf") {
		t.Errorf("got %+v", r.calls)
	}
}

// called collects calls as front ends get them.
type called struct {
	agent.NopCallbacks
	calls []agent.Call
}

func (c *called) OnToolCall(call agent.Call) { c.calls = append(c.calls, call) }

// A provider that refuses a request for the definition of a server's tool is asked again without
// functions of servers; one that has answered with them, or refuses again, is not.
func TestAToolThatTheProviderRefusesEndsNoSession(t *testing.T) {
	t.Parallel()
	functions := func(r provider.Request) bool {
		return slices.ContainsFunc(r.Tools, func(s provider.ToolSpec) bool { return strings.HasPrefix(s.Name, "mcp__") })
	}
	refused := fake.Step{Events: []provider.Event{}, Err: &provider.Error{Kind: provider.KindInvalid, Provider: fake.Name}}
	strict := fake.Step{Func: func(r provider.Request) fake.Step {
		if functions(r) {
			return refused
		}
		return fake.Say("ok")
	}}
	p := &fake.Provider{Steps: []fake.Step{strict, strict, callServer("mcp__s__echo", `{"text":"hello"}`), fake.Say("fine")}}
	opt := withServer(t, p, extension.Server{Direct: []string{"echo"}})
	opt.Policy = &permission.Policy{Root: opt.Env.Dir, Mode: permission.ModeAsk, AllowRules: rules(t, "mcp__s")}
	a, err := agent.New(opt)
	must(t, err)
	r := &recorder{}
	mustSend(t, a, r, "go")
	mustSend(t, a, r, "again")
	if log := strings.Join(history(a), "\n"); !strings.Contains(log, "error=false hello") {
		t.Errorf("history:\n%s", log)
	}
	warned := 0
	for _, n := range r.notices {
		if n.Kind == agent.NoticeWarning {
			warned++
		}
	}
	if requests := p.Requests(); len(requests) != 4 || !functions(requests[0]) || functions(requests[3]) || warned != 1 {
		t.Errorf("%d requests, %d warnings", len(requests), warned)
	}

	p = &fake.Provider{Steps: []fake.Step{fake.Say("ok"), refused, fake.Say("ok")}}
	a, err = agent.New(withServer(t, p, extension.Server{Direct: []string{"echo"}}))
	must(t, err)
	mustSend(t, a, r, "go")
	if _, err := send(t, a, r, "again"); err == nil {
		t.Error("a refusal after an answer was put down to the tools")
	}
	p = &fake.Provider{Steps: []fake.Step{refused, refused, fake.Say("ok")}}
	a, err = agent.New(withServer(t, p, extension.Server{Direct: []string{"echo"}}))
	must(t, err)
	if _, err := send(t, a, r, "go"); err == nil || len(p.Requests()) != 2 {
		t.Errorf("%v after %d requests", err, len(p.Requests()))
	}
}

// A server that changes its tools all the time breaks no prefix: each request begins with the one before it.
func TestChangesOfToolsAtEachStepBreakNoPrefix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := mcptest.NewWeb("legacy", "changing", "fickle")
		client, end := w.InMemory()
		m := mcp.New(mcp.Config{HTTP: client, Servers: []extension.Server{{Name: "s", Origin: extension.Origin{Source: extension.SourceUser},
			URL: mcptest.MemoryURL + "/mcp"}}})
		_, err := m.List(t.Context(), "s")
		must(t, err)
		const turns, steps = 25, 2
		var script []fake.Step
		for range turns {
			for range steps - 1 {
				script = append(script, callServer("mcp__s__echo", `{"text":"hello"}`))
			}
			script = append(script, fake.Say("ok"))
		}
		p := &fake.Provider{Steps: script}
		opt := testOptions(p, builtin.Random())
		opt.Env = &tool.Env{Dir: t.TempDir(), MCP: m}
		opt.Policy = &permission.Policy{Root: opt.Env.Dir, Mode: permission.ModeAsk, AllowRules: rules(t, "mcp__s")}
		a, err := agent.New(opt)
		must(t, err)
		for i := range turns {
			time.Sleep(2 * time.Second) // The server has other tools by then.
			mustSend(t, a, &recorder{}, fmt.Sprint("message ", i))
		}
		requests := p.Requests()
		for i, now := range requests[1:] {
			before := requests[i]
			if len(now.Messages) <= len(before.Messages) || now.System != before.System || !reflect.DeepEqual(now.Tools, before.Tools) ||
				!reflect.DeepEqual(now.Messages[:len(before.Messages)], before.Messages) {
				t.Errorf("request %d does not begin with the one before it", i+2)
			}
		}
		if len(requests) != turns*steps || w.Lists() < turns || len(w.Calls()) != turns*(steps-1) {
			t.Errorf("%d requests, %d listings, %d calls", len(requests), w.Lists(), len(w.Calls()))
		}
		must(t, errors.Join(a.Close(), m.Close(), end()))
	})
}
