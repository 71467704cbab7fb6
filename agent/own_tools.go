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
	return []tool.Tool{taskTool(agents, false), todoTool(), askUserTool(), enterPlanTool(), exitPlanTool(), skillTool(nil), rememberTool()}
}

// announce gives a call of one of OwnTools what its line says of it.
func (t *turn) announce(d decided) decided {
	switch {
	case !d.tool.ByLoop():
	case d.tool.Name == "task":
		d.call.Access.Object = t.number(d)
	case d.tool.Name == "todo":
		d.call.Access.Object = t.todoChanges(d)
	}
	return d
}

// runOwn runs a call of one of OwnTools.
func (t *turn) runOwn(ctx context.Context, d decided) (made produced, err error) {
	switch d.tool.Name {
	case "task":
		made.Result, err = t.runTask(ctx, d)
	case "todo":
		return t.runTodo(d)
	case Skill:
		made.Result, err = t.runSkill(d)
	case "enter_plan_mode":
		made.Result, err = t.runEnterPlan()
	case AskUser:
		return t.runAskUser(ctx, d)
	case RememberTool:
		return t.runRemember(ctx, d)
	case ExitPlan:
		return t.runExitPlan(ctx, d)
	default:
		err = fmt.Errorf("the tool %s is not available here", d.tool.Name)
	}
	return made, err
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

func (t *turn) runAskUser(ctx context.Context, d decided) (made produced, err error) {
	in, err := tool.Decode[askUserInput](*d.tool, d.call.Input)
	if err != nil {
		return made, err
	}
	answer, err := t.calls.askMore(ctx, d, Question{Kind: QuestionChoice, Text: in.Question, Choices: in.Choices})
	made.program = answer.By
	switch {
	case ctx.Err() != nil:
		return made, context.Cause(ctx)
	case errors.Is(err, ErrNobody):
		return made, fmt.Errorf("%w: decide yourself, and say what you decided", ErrNobody)
	case err != nil:
		return made, err
	case answer.Verdict == StopTurn:
		made = stopped("The user stopped the turn.", "stopped")
	case answer.Text == "":
		made.Text, made.Summary = "The user gave no answer.", "no answer"
	default:
		made.Text, made.Summary = "The user answers: "+answer.Text, firstLine(answer.Text)
	}
	made.answered = firstLine(in.Question) + " " + firstLine(made.Text)
	return made, nil
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
	mode, ceiling := cmp.Or(a.modes.beforePlan, permission.ModeAsk), a.session.opt.Policy.Ceiling
	if ceiling.Forbids(mode) && len(ceiling.Modes) > 0 {
		return ceiling.Modes[0]
	}
	return mode
}

// runEnterPlan sets plan mode. It only restricts, so there is no question.
func (t *turn) runEnterPlan() (tool.Result, error) {
	if t.session.opt.Policy.Mode == permission.ModePlan {
		return tool.Result{Text: "Plan mode is on already.", Summary: "already on"}, nil
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

func (t *turn) runExitPlan(ctx context.Context, d decided) (made produced, err error) {
	in, err := tool.Decode[exitPlanInput](*d.tool, d.call.Input)
	if err != nil {
		return made, err
	}
	if t.session.opt.Policy.Mode != permission.ModePlan {
		return made, errors.New("plan mode is not on: go on with the work")
	}
	mode := t.agent.BeforePlan()
	answer, err := t.calls.askMore(ctx, d, Question{Kind: QuestionPlan, Plan: in.Plan, Then: mode})
	made.program = answer.By
	switch {
	case ctx.Err() != nil:
		return made, context.Cause(ctx)
	case errors.Is(err, ErrNobody):
		t.requests.answer.Reset()
		t.requests.answer.WriteString(in.Plan)
		made.stop = errPlan
		made.Text, made.Summary = "No one can approve the plan (headless run): it is the answer.", "the plan is the answer"
	case err != nil || answer.Verdict == No:
		made.Text = "The user did not approve the plan" + because(answer.Reason) + ". Plan mode stays on."
		made.Summary = "not approved" + because(answer.Reason)
	case answer.Verdict == StopTurn:
		made = stopped("The user stopped the turn. Plan mode stays on.", "not approved")
	default:
		if answer.Verdict == YesForSession {
			mode = permission.ModeEdits
		}
		if err := t.agent.SetMode(mode); err != nil {
			return made, fmt.Errorf("approved, but the mode is unchanged: %w", err)
		}
		if answer.Verdict == YesFresh {
			made.stop = errFresh
		}
		made.Text, made.Summary = "The user approved the plan: carry it out. "+t.noteMode(), "approved, mode "+string(mode)
	}
	made.answered = firstLine(made.Text)
	return made, nil
}

// todoChanges names a call's changes of the plan.
func (t *turn) todoChanges(d decided) string {
	in, err := tool.Decode[todoInput](*d.tool, d.call.Input)
	if err != nil {
		return d.call.Access.Object // it was planned
	}
	lines := []string{todoSummary(in.Items)}
	for _, item := range in.Items {
		if !slices.Contains(t.session.todo, item) {
			lines = append(lines, todoWords[item.Status]+": "+strings.Join(strings.Fields(item.Text), " "))
		}
	}
	return strings.Join(lines, "\n")
}

func (t *turn) runTodo(d decided) (made produced, err error) {
	in, err := tool.Decode[todoInput](*d.tool, d.call.Input)
	if err != nil {
		return made, err
	}
	t.session.todo, made.todo = in.Items, in.Items
	made.Text, made.Summary = "The plan is kept and shown: "+todoSummary(in.Items)+".", "updated"
	return made, nil
}

func todoTool() tool.Tool {
	return tool.New(tool.Def{Name: "todo", Kind: tool.KindNone, Optional: true,
		Description: "Show the user the plan of a task of several steps. Send all items each time, in order; " +
			"one is in_progress at a time. Call it when a step begins or ends."},
		func(_ context.Context, _ *tool.Env, in todoInput) (tool.Access, error) {
			for _, item := range in.Items {
				if todoWords[item.Status] == "" {
					return tool.Access{}, fmt.Errorf("todo: %q is not a status: pending, in_progress, done or dropped", item.Status)
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
