package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/agent/permission"
	"artoo/tool"
)

// OwnTools are the tools that the agent itself runs, in the model's order; task offers agents by name.
func OwnTools(agents []SubAgent) []tool.Tool {
	return []tool.Tool{taskTool(agents), todoTool(), askUserTool(), enterPlanTool(), exitPlanTool(), skillTool(nil), rememberTool()}
}

func (t *turn) announce(p *pending) {
	switch p.tool.Name {
	case "task":
		t.number(p)
	case "todo":
		t.showTodo(p)
	}
}

// runOwn runs a call of one of OwnTools.
func (t *turn) runOwn(ctx context.Context, p *pending) (tool.Result, error) {
	run := map[string]func(*turn, context.Context, *pending) (tool.Result, error){"task": (*turn).runTask, "todo": (*turn).runTodo,
		AskUser: (*turn).runAskUser, Skill: (*turn).runSkill, RememberTool: (*turn).runRemember, "enter_plan_mode": (*turn).runEnterPlan, ExitPlan: (*turn).runExitPlan}[p.tool.Name]
	if run == nil {
		return tool.Result{}, fmt.Errorf("no one runs the tool %s here", p.tool.Name)
	}
	return run(t, ctx, p)
}

type askUserInput struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices,omitempty" jsonschema:"answers to choose from; others can be typed"`
}

// AskUser is the name of the tool that asks the user something.
const AskUser = "ask_user"

func askUserTool() tool.Tool {
	return tool.New(tool.Def{Name: AskUser, Kind: tool.KindNone,
		Description: "Ask the user what only they can decide, and wait. Not for permission to call a tool."},
		func(_ context.Context, _ *tool.Env, in askUserInput) (tool.Access, error) {
			if strings.TrimSpace(in.Question) == "" {
				return tool.Access{}, errors.New("ask_user: question is empty")
			}
			return tool.Access{Kind: tool.KindNone, Verb: "ask", Object: firstLine(in.Question)}, nil
		}, nil)
}

func (t *turn) runAskUser(ctx context.Context, p *pending) (result tool.Result, err error) {
	in, err := tool.Decode[askUserInput](*p.tool, p.call.Input)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { p.answered = firstLine(in.Question) + " " + firstLine(result.Text) }()
	answer, err := t.calls.askAfter(ctx, p, Question{Kind: QuestionChoice, Text: in.Question, Choices: in.Choices})
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	case errors.Is(err, ErrNobody):
		return tool.Result{}, fmt.Errorf("%w: decide yourself, and say what you decided", ErrNobody)
	case err != nil:
		return tool.Result{}, err
	case answer.Verdict == StopTurn:
		p.run.endTurn(ErrStopped)
		return tool.Result{Text: "The user stopped the turn.", Summary: "stopped"}, nil
	case answer.Text == "":
		return tool.Result{Text: "The user gave no answer.", Summary: "no answer"}, nil
	}
	return tool.Result{Text: "The user answers: " + answer.Text, Summary: firstLine(answer.Text)}, nil
}

type exitPlanInput struct {
	Plan string `json:"plan" jsonschema:"in Markdown: what changes where, in which order, how it is checked"`
}

type enterPlanInput struct {
	Reason string `json:"reason,omitempty"`
}

func enterPlanTool() tool.Tool {
	return tool.New(tool.Def{Name: "enter_plan_mode", Kind: tool.KindNone, Optional: true,
		Description: "Begin plan mode: from then on only reading runs, until the user has approved a plan. " +
			"For work that may be understood in several ways, or touches much."},
		func(_ context.Context, _ *tool.Env, _ enterPlanInput) (tool.Access, error) {
			return tool.Access{Kind: tool.KindNone, Verb: "plan", Object: "look, but change nothing"}, nil
		}, nil)
}

// ExitPlan is the name of the tool that ends plan mode.
const ExitPlan = "exit_plan_mode"

func exitPlanTool() tool.Tool {
	return tool.New(tool.Def{Name: ExitPlan, Kind: tool.KindNone, Optional: true,
		Description: "Show the user the finished plan and ask for a yes, which ends plan mode."},
		func(_ context.Context, _ *tool.Env, in exitPlanInput) (tool.Access, error) {
			if strings.TrimSpace(in.Plan) == "" {
				return tool.Access{}, errors.New("exit_plan_mode: plan is empty")
			}
			return tool.Access{Kind: tool.KindNone, Verb: "plan", Object: "for approval"}, nil
		}, nil)
}

// BeforePlan is the mode that plan mode replaced. Where a session began with it that is ModeAsk, or
// the first mode that the system's policy allows.
func (a *Agent) BeforePlan() permission.Mode {
	mode, ceiling := cmp.Or(a.beforePlan, permission.ModeAsk), a.session.opt.Policy.Ceiling
	if ceiling.Forbids(mode) && len(ceiling.Modes) > 0 {
		return ceiling.Modes[0]
	}
	return mode
}

// runEnterPlan sets plan mode. It only restricts, so there is no question.
func (t *turn) runEnterPlan(context.Context, *pending) (tool.Result, error) {
	if t.session.opt.Policy.Mode == permission.ModePlan {
		return tool.Result{Text: "Plan mode is on already.", Summary: "on already"}, nil
	}
	if err := t.agent.SetMode(permission.ModePlan); err != nil {
		return tool.Result{}, err
	}
	t.offerPlan()
	return tool.Result{Text: t.noteMode(), Summary: "plan mode; /plan off ends it"}, nil
}

// noteMode notes for the model which mode holds now, at the end of a result.
func (t *turn) noteMode() string {
	now := t.agent.notes.settings.in(t.session.opt.Policy.Mode)
	t.agent.notes.known = now.key()
	return now.modeNote()
}

func (t *turn) runExitPlan(ctx context.Context, p *pending) (result tool.Result, err error) {
	in, err := tool.Decode[exitPlanInput](*p.tool, p.call.Input)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { p.answered = firstLine(result.Text) }()
	if t.session.opt.Policy.Mode != permission.ModePlan {
		return tool.Result{}, errors.New("plan mode is not on: go on with the work")
	}
	answer, err := t.calls.askAfter(ctx, p, Question{Kind: QuestionPlan, Plan: in.Plan, Then: t.agent.BeforePlan()})
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	case errors.Is(err, ErrNobody):
		t.requests.answer.Reset()
		t.requests.answer.WriteString(in.Plan)
		p.run.endTurn(errPlan)
		return tool.Result{Text: "No one can approve the plan (headless run): it is the answer.", Summary: "the plan is the answer"}, nil
	case err != nil || answer.Verdict == No:
		return tool.Result{Text: "The user did not approve the plan" + because(answer.Reason) + ". Plan mode stays on.",
			Summary: "not approved" + because(answer.Reason)}, nil
	case answer.Verdict == StopTurn:
		p.run.endTurn(ErrStopped)
		return tool.Result{Text: "The user stopped the turn. Plan mode stays on.", Summary: "not approved"}, nil
	}
	mode := t.agent.BeforePlan()
	if answer.Verdict == YesForSession {
		mode = permission.ModeEdits
	}
	if err := t.agent.SetMode(mode); err != nil {
		return tool.Result{}, fmt.Errorf("approved, but the mode stays: %w", err)
	}
	return tool.Result{Text: "The user approved the plan: carry it out. " + t.noteMode(), Summary: "approved, mode " + string(mode)}, nil
}

// showTodo shows a call's changes of the plan in the call's line.
func (t *turn) showTodo(p *pending) {
	in, err := tool.Decode[todoInput](*p.tool, p.call.Input)
	if err != nil {
		return // it was planned
	}
	lines := []string{todoSummary(in.Items)}
	for _, item := range in.Items {
		if !slices.Contains(t.session.todo, item) {
			lines = append(lines, todoWords[item.Status]+": "+strings.Join(strings.Fields(item.Text), " "))
		}
	}
	p.call.Access.Object = strings.Join(lines, "\n")
}

func (t *turn) runTodo(_ context.Context, p *pending) (tool.Result, error) {
	in, err := tool.Decode[todoInput](*p.tool, p.call.Input)
	if err != nil {
		return tool.Result{}, err
	}
	t.session.todo, p.todo = in.Items, in.Items
	return tool.Result{Text: "The plan is kept and shown: " + todoSummary(in.Items) + ".", Summary: "kept"}, nil
}

func todoTool() tool.Tool {
	return tool.New(tool.Def{Name: "todo", Kind: tool.KindNone, Optional: true,
		Description: "Show the user the plan of a task of several steps. Send all items each time, in order; " +
			"one is in_progress at a time. Call it when a step begins or ends."},
		func(_ context.Context, _ *tool.Env, in todoInput) (tool.Access, error) {
			for _, item := range in.Items {
				if todoWords[item.Status] == "" {
					return tool.Access{}, fmt.Errorf("todo: %q is no status: pending, in_progress, done or dropped", item.Status)
				}
				if strings.TrimSpace(item.Text) == "" {
					return tool.Access{}, errors.New("todo: an item has no text")
				}
			}
			return tool.Access{Kind: tool.KindNone, Verb: "todo"}, nil
		}, nil)
}

func todoSummary(items []TodoItem) string {
	done, of := 0, 0
	for _, item := range items {
		switch todoWords[item.Status] {
		case "done":
			done++
			of++
		case "to do", "doing":
			of++
		}
	}
	return fmt.Sprintf("%d of %d done", done, of)
}
