package agent_test

import (
	"slices"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/sandbox"
)

// A call that the user edited is checked, planned, decided and asked again, even where a rule would let it pass.
func TestAnEditedCallIsAskedAgain(t *testing.T) {
	t.Parallel()
	edit := func(arg string) agent.Answer { return agent.Answer{Input: []byte(`{"arg":"` + arg + `"}`)} }
	for _, c := range []struct {
		name     string
		answers  []agent.Answer
		commands []string // commands in the questions
		ran      string
		warned   string
	}{
		{"into what a rule allows", []agent.Answer{edit("ninja all"), {}}, []string{"make", "ninja all"}, "", ""},
		{"into what a rule allows, then yes", []agent.Answer{edit("ninja all"), {Verdict: agent.Yes}},
			[]string{"make", "ninja all"}, "ninja all", ""},
		{"into what only reads", []agent.Answer{edit("ls"), {}}, []string{"make", "ls"}, "", ""},
		{"into what is denied", []agent.Answer{edit("rm -r /p/x"), {Verdict: agent.Yes}}, []string{"make", "make"},
			"make", "denied"},
		{"into what does not fit the schema", []agent.Answer{{Input: []byte(`{"arg":["x"]}`)}, {Verdict: agent.Yes}},
			[]string{"make", "make"}, "make", "cannot run"},
		{"twice", []agent.Answer{edit("make a"), edit("make b"), {Verdict: agent.Yes}},
			[]string{"make", "make a", "make b"}, "make b", ""},
		{"always, for what it was edited into", []agent.Answer{edit("make a"), {Verdict: agent.YesForSession}},
			[]string{"make", "make a"}, "make a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAgent(&fake.Provider{Steps: []fake.Step{fake.Calls(fake.ToolCall("a", "bash", `{"arg":"make"}`)),
				fake.Say("done")}}, makeTool("bash", tool.KindRun, nil))
			a.Opt().Policy.AllowRules = []permission.Rule{{Tool: "bash", Arg: "ninja:*", HasArg: true}}
			a.Opt().Policy.DenyRules = []permission.Rule{{Tool: "bash", Arg: "rm:*", HasArg: true}}
			cb := &recorder{answers: c.answers}
			mustSend(t, a, cb, "go")
			var asked []string
			for _, q := range cb.asked {
				asked = append(asked, q.Call.Access.Command)
			}
			if !slices.Equal(asked, c.commands) {
				t.Errorf("asked about %q, want %q", asked, c.commands)
			}
			if got := strings.Contains(history(a)[2], "bash:"); got != (c.ran != "") ||
				!strings.Contains(history(a)[2], c.ran) {
				t.Errorf("the model is told %q, want a run of %q", history(a)[2], c.ran)
			}
			if c.warned != "" && (len(cb.notices) != 1 || !strings.Contains(cb.notices[0].Text, c.warned)) {
				t.Errorf("the notices are %+v, want one of %q", cb.notices, c.warned)
			}
		})
	}
}

// A question says beforehand whether a rule would do, without taking it.
func TestAQuestionKnowsWhichRulesCoverIt(t *testing.T) {
	t.Parallel()
	a := newAgent(&fake.Provider{Steps: []fake.Step{fake.Calls(fake.ToolCall("a", "bash",
		`{"arg":"make all && touch x"}`)), fake.Say("done")}}, makeTool("bash", tool.KindRun, nil))
	cb := &recorder{answers: []agent.Answer{{}}}
	cb.onAsk = func(q agent.Question) {
		for rule, want := range map[string]bool{
			"bash": true, "bash(make all && touch x)": true,
			"bash(make:*)": false, "bash(make all)": false, "bash(touch:*)": false, "write": false,
			"": false, "bash(": false, "bash()": false, "make": false, "make all": false, "bash make": false,
		} {
			if err := q.Covers(rule); (err == nil) != want {
				t.Errorf("the rule %q: %v, want it to cover the call: %v", rule, err, want)
			}
		}
		if rules := a.Opt().Policy.SessionRules(); len(rules) != 0 {
			t.Errorf("asking took the rules %v", rules)
		}
	}
	mustSend(t, a, cb, "go")
	if len(cb.asked) != 1 {
		t.Fatalf("%d questions", len(cb.asked))
	}
}

// A yes to an edited line is no yes to the project's own programs, which it turns out to need: that is asked.
func TestAnEditedLinesOwnProgramsAreAskedAbout(t *testing.T) {
	t.Parallel()
	c := &confinement{denials: []sandbox.Denial{{Kind: sandbox.DenialExec, What: "it may not run"}}}
	call := fake.ToolCall("c1", "bash", `{"command":"npm --version"}`)
	opt := c.options(t, permission.ModeAsk, fake.Calls(call), fake.Say("ok"))
	opt.Policy.AskRules = []permission.Rule{{Tool: "bash"}}
	edited := agent.Answer{Verdict: agent.Yes, Input: []byte(`{"command":"false"}`)}
	cb := &recorder{answers: []agent.Answer{edited, {}}}
	mustSend(t, made(t, opt), cb, "go")
	if len(cb.asked) != 2 || !strings.Contains(cb.asked[1].Reason, "own programs") || len(c.lines) != 1 {
		t.Errorf("asked %d times, ran %d times: %+v", len(cb.asked), len(c.lines), cb.asked)
	}
}
