package agent_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
)

// ownTools are those of the agent by name.
func ownTools(names ...string) []tool.Tool { return builtin.Pick(agent.OwnTools(nil), names) }

func offered(req provider.Request) (names []string) {
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	return names
}

func TestAPlanIsApprovedInOneOfTwoModesOrNot(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answer agent.Answer
		mode   permission.Mode
		result string
		err    error
	}{
		"yes":        {agent.Answer{Verdict: agent.Yes}, permission.ModeAsk, "The user approved the plan", nil},
		"with edits": {agent.Answer{Verdict: agent.YesForSession}, permission.ModeEdits, "(The approval mode is now edits", nil},
		"no": {agent.Answer{Reason: "smaller"}, permission.ModePlan,
			"did not approve the plan: smaller. Plan mode stays on", nil},
		"stop": {agent.Answer{Verdict: agent.StopTurn}, permission.ModePlan, "stopped the turn", agent.ErrStopped},
	} {
		t.Run(name, func(t *testing.T) {
			p := &fake.Provider{Steps: []fake.Step{fake.Call("c1", "ExitPlanMode", `{"plan":"# Plan\n\n1. a"}`), fake.Say("ok")}}
			a := newAgent(p, makeTool("change", tool.KindWrite, nil))
			a.Opt().PlanTools = ownTools(agent.ExitPlan)
			must(t, a.SetMode(permission.ModePlan))
			cb := &recorder{answers: []agent.Answer{row.answer}}
			if _, err := send(t, a, cb, "go"); !errors.Is(err, row.err) {
				t.Fatal(err)
			}
			if a.Policy().Mode != row.mode || !strings.Contains(history(a)[2], row.result) {
				t.Errorf("mode %s, %q", a.Policy().Mode, history(a)[2])
			}
			if q := cb.asked[0]; q.Kind != agent.QuestionPlan || q.Plan != "# Plan\n\n1. a" || q.Then != permission.ModeAsk {
				t.Errorf("asked %+v", q)
			}
		})
	}
}

// The tool comes with plan mode and stays: each change of the tools costs the cache.
func TestTheToolThatEndsPlanModeIsOfferedOnceItIsOn(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{fake.Say("1"), fake.Say("2"), fake.Say("3")}}
	a := newAgent(p, makeTool("look", tool.KindRead, nil))
	a.Opt().PlanTools = ownTools(agent.ExitPlan)
	cb := &recorder{}
	for _, mode := range []permission.Mode{permission.ModeAsk, permission.ModePlan, permission.ModeEdits} {
		must(t, a.SetMode(mode))
		mustSend(t, a, cb, "go")
	}
	var all []string
	for _, req := range p.Requests() {
		all = append(all, strings.Join(offered(req), " "))
	}
	wantLines(t, all, "look", "look exit_plan_mode", "look exit_plan_mode")
	if n := len(cb.notices); n != 1 || !strings.Contains(cb.notices[0].Text, "exit_plan_mode is available") {
		t.Errorf("told %+v", cb.notices)
	}
}

func TestWhereNobodyCanApproveAPlanItIsTheAnswer(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{fake.Call("c1", agent.ExitPlan, `{"plan":"do this"}`)}}
	a := newAgentIn(t, realDir(t), p, func(o *agent.Options) { o.Tools = ownTools(agent.ExitPlan) })
	a.Opt().Policy.Mode = permission.ModePlan
	cb := &recorder{}
	r, err := send(t, a, cb, "go")
	if last := lastLine(t, a.Conversation().Session().Path()); !strings.HasPrefix(last, turnEnds) {
		t.Errorf("the turn is not on the disk, but %.60s", last)
	}
	if err != nil || r.Text != "do this" || len(r.Denied) > 0 || !slices.Contains(cb.lines, "text do this") {
		t.Errorf("%v, %+v, %q", err, r, cb.lines)
	}
}

func TestTheModelMayBeginPlanMode(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{fake.Call("c1", "enter_plan_mode", `{}`),
		fake.Call("c2", "change", `{"arg":"x"}`), fake.Call("c3", agent.ExitPlan, `{"plan":"x"}`), fake.Call("c4", agent.ExitPlan, `{"plan":"x"}`),
		fake.Say("ok")}}
	a := newAgent(p, append(ownTools("enter_plan_mode", agent.ExitPlan), makeTool("change", tool.KindWrite, nil))...)
	a.Opt().Policy.Mode = permission.ModeEdits
	r := mustSend(t, a, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}, "go")
	h := history(a)
	if len(r.Denied) != 1 || a.Policy().Mode != permission.ModeEdits || !strings.Contains(h[2], "The approval mode is now plan") ||
		!strings.Contains(h[6], "approved the plan") || !strings.Contains(h[8], "plan mode is not on") {
		t.Errorf("denied %v, mode %s, %q", r.Denied, a.Policy().Mode, h)
	}
}

func TestAQuestionOfTheModelIsAnswered(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		input  string
		answer agent.Answer
		text   string
		n      int
		result string
	}{
		"choices":             {`{"question":"Which?","choices":["a","b"]}`, agent.Answer{Text: "b"}, "Which?", 2, "The user answers: b"},
		"none":                {`{"question":"Which?"}`, agent.Answer{}, "Which?", 0, "gave no answer"},
		"as others call them": {`{"question":"Which?","options":["a","b"]}`, agent.Answer{Text: "c"}, "Which?", 2, "The user answers: c"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &fake.Provider{Steps: []fake.Step{fake.Call("c1", "AskUserQuestion", row.input), fake.Say("ok")}}
			a, cb := newAgent(p, ownTools("ask_user")...), &recorder{answers: []agent.Answer{row.answer}}
			mustSend(t, a, cb, "go")
			if len(cb.asked) != 1 || cb.asked[0].Text != row.text || len(cb.asked[0].Choices) != row.n ||
				!strings.Contains(history(a)[2], row.result) {
				t.Errorf("asked %+v: %s", cb.asked, history(a)[2])
			}
		})
	}
}

// Other programs' words for such a list are taken, and changes are reported.
func TestThePlanOfALongTaskIsShownAsItChanges(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{
		fake.Call("c1", "TodoWrite", `{"todos":[{"content":"read","status":"completed","activeForm":"reading"},`+
			`{"content":"write","status":"in_progress","activeForm":"writing"}]}`),
		fake.Call("c2", "update_plan", `{"explanation":"x","plan":[{"step":"read","status":"completed"},{"step":"write","status":"completed"},`+
			`{"step":"test","status":"pending"}]}`),
		fake.Call("c3", "write_todos", `{"todos":[{"title":"read","status":"perhaps"}]}`),
		fake.Say("ok")}}
	a := newAgent(p, ownTools("todo")...)
	var objects []string
	mustSend(t, a, &callsHeard{each: func(c agent.Call) { objects = append(objects, c.Access.Object) }}, "go")
	wantLines(t, objects[:2], "1 of 2 done\ndone: read\ndoing: write", "2 of 3 done\ndone: write\nto do: test")
	if h := history(a)[6]; !strings.Contains(h, `"perhaps" is not a status: pending, in_progress, done or dropped`) {
		t.Error(h)
	}
}

// callsHeard hears of calls only.
type callsHeard struct {
	agent.NopCallbacks
	each func(agent.Call)
}

func (c *callsHeard) OnToolCall(call agent.Call) { c.each(call) }

func TestThePlanOfALongTaskIsGivenAgainWhenItsCallIsNoLongerSent(t *testing.T) {
	t.Parallel()
	steps := []fake.Step{fake.Call("c0", "todo", `{"items":[{"text":"read it all","status":"in_progress"}]}`)}
	for range 17 {
		steps = append(steps, fake.Call("c", "look", `{"arg":"`+strings.Repeat("x", 3000)+`"}`))
	}
	p := &fake.Provider{Steps: append(steps, fake.Say("ok"))}
	a := newAgent(p, append(ownTools("todo"), makeTool("look", tool.KindRead, nil))...)
	a.Hold(conversation.New(conversation.Config{MaxContextTokens: 12000}, nil))
	mustSend(t, a, &recorder{}, "go")
	req, _ := p.Last()
	n := 0
	for _, m := range req.Messages {
		if strings.Contains(m.Text(), "Your plan, as it stands:\n- doing: read it all") {
			n++
		}
		for _, c := range m.Calls() {
			if c.Name == "todo" {
				t.Fatal("the call is still sent: nothing is tested")
			}
		}
	}
	if n != 1 {
		t.Errorf("the plan is there %d times", n)
	}
}

// Where the user has described no agents, the model is not asked to name one; other programs' names of the default
// agent are taken.
func TestTaskOffersAgentsOnlyWhereThereAreSome(t *testing.T) {
	t.Parallel()
	for _, agents := range [][]agent.SubAgent{nil, {{Name: "review"}}} {
		task := builtin.Pick(agent.OwnTools(agents), []string{"task"})[0]
		if offered := strings.Contains(string(task.Schema()), `"agent"`); offered != (agents != nil) {
			t.Errorf("with %d agents: %s", len(agents), task.Schema())
		}
		input := json.RawMessage(`{"prompt":"look","subagent_type":"general-purpose"}`)
		if err := task.Check(input); err != nil {
			t.Error(err)
		}
		if _, err := task.Plan(t.Context(), &tool.Env{}, input); err != nil {
			t.Error(err)
		}
		err := task.Check(json.RawMessage(`{}`))
		if err == nil || strings.Contains(err.Error(), "agent (string)") != (agents != nil) {
			t.Errorf("with %d agents: %v", len(agents), err)
		}
	}
}
