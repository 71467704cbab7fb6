package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/sandbox"
)

// followUp finishes a command that ran confined: it judges the changes on a layer, and asks the
// user about acts that the sandbox denied. result is for the model. The error ends the turn. A
// crash discards the layer.
func (c *calls) followUp(ctx context.Context, p *pending, result *tool.Result) error {
	stop, err := guard(func() (error, error) { return c.followUpConfined(ctx, p, result), nil })
	if err != nil {
		result.Text += "[its changes were discarded: " + err.Error() + "]\n"
		result.IsError = true
		return nil
	}
	return stop
}

func (c *calls) followUpConfined(ctx context.Context, p *pending, result *tool.Result) error {
	if p.call.Access.Kind == tool.KindServer && p.call.Access.Local && !p.call.Access.Reads {
		return c.landServer(ctx, p, result)
	}
	if p.confined == nil {
		return nil
	}
	if limit := p.confined.Limit(); limit != "" {
		result.Text += "[it was ended at a limit: " + limit + "]\n"
	}
	switch p.decision.Place {
	case permission.PlaceSandbox, permission.PlaceBackground:
		c.nameDenials(p, result)
		if err := c.keepGuarded(ctx, p, result); err != nil {
			return err
		}
		if denialOf(p.confined, sandbox.DenialWrite) != "" {
			return c.offerWhole(ctx, p, result)
		}
		return c.offerOutside(ctx, p, result)
	case permission.PlaceReadOnly:
		return c.offerSandbox(ctx, p, result)
	}
	if judged, err := c.landLayer(ctx, p, result); err != nil || !judged {
		return err
	}
	return c.offerMore(ctx, p, result)
}

// landServer decides about the changes of a server on a layer of its own. The call's approval covers them.
func (c *calls) landServer(ctx context.Context, p *pending, result *tool.Result) (err error) {
	if p.confined, err = c.keeper.servers.landing(ctx, c.session.opt.Env.MCP, p.call.Access.Server); err != nil || p.confined == nil {
		return err
	}
	p.decision.Place, p.decision.Covers = permission.PlaceLayer, max(p.decision.Covers, permission.Content)
	_, err = c.landLayer(ctx, p, result)
	return err
}

// landLayer decides about the changes of a command that has ended on a layer; judged is false where they count for
// nothing whatever they are.
func (c *calls) landLayer(ctx context.Context, p *pending, result *tool.Result) (judged bool, err error) {
	if why := p.unlessDone(result); why != "" {
		lost, err := p.discard(c.session.opt.Policy)
		if err != nil {
			return false, err
		}
		c.discarded(p, lost, why, false, result)
		return false, nil
	}
	within, cancel := context.WithTimeout(ctx, longestJudging)
	defer cancel()
	changes, err := p.confined.Changes(within)
	if err != nil {
		why := "they could not be read: " + err.Error()
		if errors.Is(err, context.DeadlineExceeded) {
			why = fmt.Sprintf("reading them took longer than %v", longestJudging)
		}
		c.loses(p, why, result)
		return false, context.Cause(ctx)
	}
	landed := false
	defer func() {
		if err := changes.Discard(landed); err != nil {
			c.cb.notice(NoticeWarning, "a layer could not be removed: "+err.Error())
		}
	}()
	c.nameDenials(p, result)
	landed, err = c.judge(ctx, within, p, changes, result)
	return true, err
}

// longestJudging is how long the effects of a command may take to be read and judged.
var longestJudging = 10 * time.Second

// offerSandbox asks whether a command that was tried read-only runs again on the project itself.
func (c *calls) offerSandbox(ctx context.Context, p *pending, result *tool.Result) error {
	more := ""
	for _, d := range p.confined.Denials() {
		switch {
		case d.Kind == sandbox.DenialExec:
			more = "tried to run programs of the project"
		case d.Kind == sandbox.DenialWrite && len(d.Paths) > 0:
			more = "tried to write " + strings.Join(c.session.namesOf(d.Paths[:min(len(d.Paths), 3)]), ", ")
		case d.Kind == sandbox.DenialWrite:
			more = "failed or tried to change files"
		}
	}
	if more == "" || p.readsAlone() || ctx.Err() != nil {
		c.nameDenials(p, result)
		return nil
	}
	p.decision.Place, p.decision.Verdict = permission.PlaceSandbox, permission.Ask
	p.decision.Reasons = []permission.Reason{{Code: permission.TriedToWrite, Object: more}}
	if c.session.opt.Policy.Mode == permission.ModePlan { // since it was decided
		c.deny(p, permission.Reason{Code: permission.PlanMode}.String(), false)
	}
	return c.askAgain(ctx, p, result, p.decision.Reason()+"; nothing was changed, since it was not allowed to do more",
		p.decision.Reason()+"; with the user's yes it ran again")
}

// askAgain asks, unless the answer is no already, whether a command runs again. refused and ran
// are for the model.
func (c *calls) askAgain(ctx context.Context, p *pending, result *tool.Result, refused, ran string) (err error) {
	if !p.final {
		err = p.asks.ask(ctx, p)
	}
	if err != nil || p.final {
		result.Text += "[" + refused + "]\n"
		p.final, p.outcome, p.refusal = false, CallResult{}, nil
		return err
	}
	return c.rerun(ctx, p, result, "["+ran+"]\n")
}

func (c *calls) rerun(ctx context.Context, p *pending, result *tool.Result, said string) error {
	first := p.job
	again, err := c.runAgain(ctx, p)
	if err != nil {
		result.Text += "[it could not be started again: " + err.Error() + "]\n"
		return nil
	}
	again.Text = said + again.Text
	*result = again
	if p.job == nil {
		return c.followUpConfined(ctx, p, result)
	}
	if first != nil {
		first.FollowedBy(p.job.ID)
	}
	return nil
}

// offerMore asks about rights that a line on a layer was denied: the project's own programs, or leaving
// the sandbox.
func (c *calls) offerMore(ctx context.Context, p *pending, result *tool.Result) error {
	if denialOf(p.confined, sandbox.DenialExec) == "" || c.runsOwn(p) || !result.IsError || ctx.Err() != nil {
		return c.offerOutside(ctx, p, result)
	}
	p.decision.Own = []string{"programs of the project"}
	p.decision.Reasons = []permission.Reason{{Code: permission.OwnPrograms, Object: p.decision.Own[0]}}
	return c.askAgain(ctx, p, result, "the project's own programs were not allowed to run",
		"it was refused the project's own programs, and ran again with the user's yes")
}

// denialOf describes the denial of a kind that a command met; "" for none.
func denialOf(c confine.Confined, kind string) string {
	for _, d := range c.Denials() {
		if d.Kind == kind {
			return d.What
		}
	}
	return ""
}

// offerWhole asks whether a background command that was refused a write starts again
// with the whole project writable. A rule that covers its changes is a yes.
func (c *calls) offerWhole(ctx context.Context, p *pending, result *tool.Result) error {
	denial, runs := denialOf(p.confined, sandbox.DenialWrite), p.job != nil && p.job.Runs()
	if denial == "" || p.whole != "" || ctx.Err() != nil {
		return nil
	}
	if runs && !p.denialNotified {
		result.Text += "[background command " + p.job.ID + " is confined: " + denial + "]\n"
	}
	answer, err := Answer{Verdict: Yes}, error(nil)
	switch {
	case !runs && !result.IsError, c.session.opt.Policy.Mode == permission.ModePlan:
		err = errNotOffered
	case p.decision.Covers < permission.Content:
		answer, err = c.askAfter(ctx, p, Question{Kind: QuestionWhole, Reason: denial, Rule: p.decision.Narrow})
	}
	if context.Cause(ctx) != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		if !p.denialNotified {
			c.cb.notice(NoticeWarning, "confined: "+denial+": "+firstLine(p.call.Access.Command))
		}
		if p.denialNotified = true; !runs && errors.Is(err, ErrNobody) {
			c.response.Denied = append(c.response.Denied, Denial{Tool: p.tool.Name, Object: p.call.Access.Object, Reason: denial,
				Rule: p.decision.Narrow, Nobody: true})
		}
		return nil
	}
	if answer.Verdict != Yes {
		p.whole = permission.Refuse
		result.Text += "[the user does not let it write the whole project" + because(answer.Reason) + "]\n"
		if answer.Verdict == StopTurn {
			return ErrStopped
		}
		return nil
	}
	if p.whole = permission.Run; runs {
		p.job.Reported()
		p.job.Stop()
		<-p.job.Done()
		if err := c.keepGuarded(ctx, p, result); err != nil {
			return err
		}
	}
	return c.rerun(ctx, p, result, result.Text+
		"[it was started again, and may write the whole project except files that programs run automatically]\n")
}

// errNotOffered means that a background command is not to be started again.
var errNotOffered = errors.New("not offered")

// offerOutside asks whether a command that failed at a denial runs once more on the host.
func (c *calls) offerOutside(ctx context.Context, p *pending, result *tool.Result) error {
	// An empty home refuses nothing by itself; a port can be admitted.
	denials := slices.DeleteFunc(slices.Clone(p.confined.Denials()), func(d sandbox.Denial) bool {
		return slices.Contains([]string{sandbox.DenialHome, sandbox.DenialExec, sandbox.DenialLoopback}, d.Kind)
	})
	if !result.IsError || len(denials) == 0 || c.judging(p).Mode == permission.ModePlan || c.session.opt.Policy.Confinement.Inside() || ctx.Err() != nil {
		return nil
	}
	answer, err := c.askAfter(ctx, p, Question{Kind: QuestionOutside,
		Reason: "it ran once, confined, and failed: " + denials[0].What})
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err == nil && answer.Verdict == StopTurn:
		return ErrStopped
	case answer.Verdict == No && answer.Reason != "":
		result.Text += "[the user does not want it to run outside: " + answer.Reason + "]\n"
	}
	if err != nil || answer.Verdict != Yes {
		return nil
	}
	p.decision.Place, p.confined = permission.PlaceHost, nil
	return c.rerun(ctx, p, result, "[it failed confined, and ran once more outside, with the user's yes]\n")
}

// nameDenials reports to the model the files and hosts that a confined command could not reach.
func (c *calls) nameDenials(p *pending, result *tool.Result) {
	var words []string
	for _, d := range p.confined.Denials() {
		lost := d.Kind == sandbox.DenialHome || d.Kind == sandbox.DenialWrite || d.Kind == sandbox.DenialGuarded
		if (lost || result.IsError) && !slices.Contains(words, d.What) && !(p.readsAlone() && d.Kind == sandbox.DenialWrite) {
			words = append(words, d.What)
		}
	}
	words = append(words, c.hiddenFrom(p, result)...)
	if !p.readsAlone() && p.decision.Git {
		if name := c.session.opt.Policy.TrackedSecret(); name != "" {
			words = append(words, name+" is hidden here, not deleted")
		}
	}
	if len(words) > 0 {
		result.Text += "[confined: " + strings.Join(words, "; ") + "]\n"
	}
}

// followUpBackground decides about background commands that have ended, and offers more to those that go
// on. With servers it also looks for files that confined servers made. said is for the model, "" for
// nothing; the error ends the turn.
func (c *calls) followUpBackground(ctx context.Context, servers bool) (said string, err error) {
	if ctx.Err() != nil {
		return "", nil
	}
	for _, p := range c.background.ended() {
		how := builtin.HowItEnded(p.job.Result())
		told := !p.job.Reported()
		if !told {
			said += fmt.Sprintf("[background command %s has ended: %s: %s]\n", p.job.ID, how, firstLine(p.job.Line))
		}
		job, result := p.job, tool.Result{}
		result.IsError = p.decision.Place == permission.PlaceBackground && builtin.Failed(job.Result())
		p.asks = &prompter{calls: c}
		err = cmp.Or(err, c.followUp(ctx, p, &result))
		said += result.Text
		if !told || result.Summary != "" {
			c.cb.notice(NoticeInfo, fmt.Sprintf("background command %s has ended: %s%s", job.ID, how, result.Summary))
		}
		if p.job != nil && p.job != job {
			c.background.add(p)
		}
	}
	for _, p := range c.background.running() {
		if p.confined == nil || err != nil {
			continue
		}
		var result tool.Result
		p.asks = &prompter{calls: c}
		err = c.offerWhole(ctx, p, &result)
		said += result.Text
	}
	if err == nil && (servers || c.keeper.servers.moved()) {
		var more string
		more, err = c.followUpServers(ctx)
		said += more
	}
	return c.session.masked(said), err
}

// takeBackground notes the background commands of a call, and adds to its result which commands have ended.
func (c *calls) takeBackground(ctx context.Context, p *pending) {
	if p.job != nil {
		c.background.add(p)
	}
	if p.outcome.Status == CallOK && p.call.Access.Kind == tool.KindWrite {
		c.keeper.approved.add(p.call.Access.Paths...)
	}
	said, err := c.followUpBackground(ctx, p.tool != nil && p.tool.Kind == tool.KindServer && p.call.Access.Local)
	p.stop = cmp.Or(p.stop, err)
	if said != "" {
		p.outcome.Text = strings.TrimRight(p.outcome.Text, "\n") + "\n" + said
	}
}

// followUpServers asks about files that confined servers made and that programs run or obey automatically. said is
// for the model, "" for nothing; the error ends the turn.
func (c *calls) followUpServers(ctx context.Context) (said string, err error) {
	s := c.keeper.servers
	if s == nil {
		return "", nil
	}
	s.mu.Lock()
	var names []string
	for _, name := range s.running {
		names = append(names, name)
	}
	s.mu.Unlock()
	slices.Sort(names)
	s.made.mu.Lock()
	s.made.turn = c.session.turnNumber()
	s.made.mu.Unlock()
	object := cmp.Or(strings.Join(slices.Compact(names), ", "), "MCP servers") // They may have ended.
	p := &pending{tool: &tool.Tool{Def: tool.Def{Name: builtin.CallTool}}, asks: &prompter{calls: c}, made: s.made,
		call: Call{Access: tool.Access{Kind: tool.KindRun, Verb: "server", Object: object, Command: object, Dir: c.session.opt.Env.Dir}}}
	var result tool.Result
	err = c.keepGuarded(ctx, p, &result)
	return result.Text, err
}
