package agent

import (
	"context"
	"strings"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/sandbox"
)

// readsAlone reports whether a call's command runs read-only because it does nothing but
// read. Another one is only tried so.
func (p *pending) readsAlone() bool {
	return p.decision.Place == permission.PlaceReadOnly && !p.decision.Has(permission.TriedFirst)
}

// offerSandbox asks about a command that was tried read-only and needs more: whether it
// runs again, in the sandbox on the project itself.
func (t *turn) offerSandbox(ctx context.Context, p *pending, result *tool.Result) error {
	more := ""
	for _, d := range p.confined.Denials() {
		switch {
		case d.Wall == sandbox.WallExec:
			more = "tried to run programs of the project"
		case d.Wall == sandbox.WallWrite && len(d.Paths) > 0:
			more = "tried to write " + strings.Join(t.namesOf(d.Paths[:min(len(d.Paths), 3)]), ", ")
		case d.Wall == sandbox.WallWrite:
			more = "failed or tried to change files"
		}
	}
	if more == "" || p.readsAlone() || ctx.Err() != nil {
		t.nameWalls(p, result)
		return nil
	}
	p.decision.Place, p.decision.Verdict = permission.PlaceSandbox, permission.Ask
	p.decision.Reasons = []permission.Reason{{Code: permission.TriedToWrite, Object: more}}
	var err error
	if t.opt.Policy.Mode == permission.ModePlan { // since it was decided
		t.deny(p, permission.Reason{Code: permission.PlanMode}.String(), false)
	} else {
		err = p.asks.ask(ctx, p)
	}
	if err != nil || p.final {
		result.Text += "[" + p.decision.Reason() + "; nothing was changed, since it was not allowed to do more]\n"
		p.final, p.outcome, p.refusal = false, CallResult{}, nil
		return err
	}
	again, err := t.runAgain(ctx, p)
	if err != nil {
		result.Text += "[it could not be started again: " + err.Error() + "]\n"
		return nil
	}
	again.Text = "[" + p.decision.Reason() + "; with the user's yes it ran again]\n" + again.Text
	*result = again
	return t.settleConfined(ctx, p, result)
}
