package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
)

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

// BeforePlan is the mode that plan mode took the place of, ModeAsk where a session
// began with it.
func (a *Agent) BeforePlan() permission.Mode {
	if a.beforePlan == "" {
		return permission.ModeAsk
	}
	return a.beforePlan
}

// offerPlan offers the tools of plan mode from the moment on at which it is on. They
// stay: each change of the tools costs the provider's cache.
func (t *turn) offerPlan() {
	if t.opt.Policy.Mode != permission.ModePlan {
		return
	}
	var more []tool.Tool
	for _, offered := range t.opt.PlanTools {
		if !slices.ContainsFunc(t.opt.Tools, func(o tool.Tool) bool { return o.Name == offered.Name }) {
			more = append(more, offered)
			t.briefing.settings.Tools = append(t.briefing.settings.Tools, offered.Name)
		}
	}
	if more == nil {
		return
	}
	t.opt.Tools = append(slices.Clip(t.opt.Tools), more...)
	t.conv.SetOverhead(t.system, t.specs)
	if t.conv.MessageCount() > 0 {
		t.notice(NoticeInfo, offeredNow(more[0].Name))
	}
}

// runEnterPlan puts plan mode in force. It only takes away, so nobody is asked.
func (t *turn) runEnterPlan() (tool.Result, error) {
	if t.opt.Policy.Mode == permission.ModePlan {
		return tool.Result{Text: "Plan mode is on already.", Summary: "on already"}, nil
	}
	if err := t.SetMode(permission.ModePlan); err != nil {
		return tool.Result{}, err
	}
	t.offerPlan()
	return tool.Result{Text: t.modeTold(), Summary: "plan mode; /plan off ends it"}, nil
}

// modeTold is what the model is told of the mode that holds now, for the end of a
// result.
func (t *turn) modeTold() string {
	now := t.briefing.settings.in(t.opt.Policy.Mode)
	t.briefing.known = now.key()
	return now.modeNote()
}

// errPlan ends a turn whose plan nobody can approve: the plan is its answer.
var errPlan = errors.New("the plan is the answer")

// planned ends the turn with a plan that nobody can approve.
func (t *turn) planned() (*Response, error) {
	t.response.Text, t.response.Stop = t.answer.String(), provider.StopComplete
	t.cb.OnText(t.response.Text)
	return t.response, t.conv.Sync()
}

// runExitPlan shows the plan and asks.
func (t *turn) runExitPlan(ctx context.Context, p *pending) (tool.Result, error) {
	in, err := tool.Decode[exitPlanInput](*p.tool, p.call.Input)
	if err != nil {
		return tool.Result{}, err
	}
	if t.opt.Policy.Mode != permission.ModePlan {
		return tool.Result{}, errors.New("plan mode is not on: go on with the work")
	}
	answer, err := t.askAfter(ctx, p, Question{Kind: QuestionPlan, Plan: in.Plan, Then: t.BeforePlan()})
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	case errors.Is(err, ErrNobody):
		t.answer.Reset()
		t.answer.WriteString(in.Plan)
		p.stop = errPlan
		return tool.Result{Text: "No one can approve the plan (headless run): it is the answer.", Summary: "the plan is the answer"}, nil
	case err != nil || answer.Verdict == No:
		return tool.Result{Text: "The user did not approve the plan" + because(answer.Reason) + ". Plan mode stays on.",
			Summary: "not approved" + because(answer.Reason)}, nil
	case answer.Verdict == StopTurn:
		p.stop = ErrStopped
		return tool.Result{Text: "The user stopped the turn. Plan mode stays on.", Summary: "not approved"}, nil
	}
	mode := t.BeforePlan()
	if answer.Verdict == YesForSession {
		mode = permission.ModeEdits
	}
	if err := t.SetMode(mode); err != nil {
		return tool.Result{}, fmt.Errorf("approved, but the mode stays: %w", err)
	}
	return tool.Result{Text: "The user approved the plan: carry it out. " + t.modeTold(), Summary: "approved, mode " + string(mode)}, nil
}
