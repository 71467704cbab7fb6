package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/text"
)

// run gives every call of a reply exactly one result, in the model's order. Neighbours that only read run side by side.
// Each is planned and decided when its turn comes, on the state that those before it left.
func (c *calls) run(ctx context.Context, calls []provider.ToolCall) error {
	groups := c.foresee(ctx, calls)
	for i := 0; i < len(calls); {
		done, stop, lost := c.carry(ctx, calls, i, groups[i])
		i += len(done)
		if stop == nil {
			stop = context.Cause(ctx)
		}
		if stop == nil && lost == nil {
			stop = c.repeats.over(done)
		}
		// A result that could not be kept ends the turn like an interrupt.
		if stop = errors.Join(stop, lost); stop != nil {
			return withLost(stop, c.skip(calls, i, stop))
		}
	}
	return nil
}

// carry carries the call at i from the model to its result, and with it those behind it, n in all, that run beside it.
// stop ends the turn; lost is of the first result that could not be kept.
func (c *calls) carry(ctx context.Context, calls []provider.ToolCall, i, n int) (done []settled, stop, lost error) {
	free := c.session.alone(ctx)
	defer free() // also after a crash of a sub-agent, which is an error of its parent's call
	side := newSide(ctx, c.session.opt.Concurrency)
	defer side.end()
	var all []begun
	changes := false
	for ; n > 0 && stop == nil && !changes; i, n = i+1, n-1 {
		p, over := c.plan(ctx, newPlanned(calls, i))
		d, over := c.decide(ctx, p, over)
		if changes = over == nil && d.changesHere(); changes && len(all) > 0 {
			changes = false // What it is now waits for the others, and is decided on what they leave.
			break
		}
		b := c.begin(ctx, d, over)
		if b.over != nil {
			stop = b.over.stop
		}
		all = append(all, b)
	}
	if !changes {
		free()
	}
	for i := range all {
		if b, a := &all[i], all[i].approved; b.over == nil {
			if err := guarded(func() { b.running, b.over = c.start(ctx, a, side) }); err != nil {
				b.over = a.crashed(err)
			}
		}
	}
	for _, b := range all {
		s, err := guard(func() (settled, error) { return c.end(ctx, b, side), nil })
		if err != nil {
			s = *b.crashed(err)
		}
		if s.span == nil { // It ended before its tool ran.
			_, s.span = c.span(ctx, s.call)
		}
		c.takeBackground(ctx, &s)
		lost = cmp.Or(lost, c.report(&s))
		stop = cmp.Or(stop, s.stop)
		done = append(done, s)
	}
	if err := guarded(func() { c.keeper.recordAfter(c.cb) }); err != nil { // The step belongs to a call that did not run.
		c.cb.notice(NoticeWarning, err.Error())
	}
	return done, cmp.Or(stop, c.tally.end()), lost
}

// begun is a call that is approved, and then runs, or which is over.
type begun struct {
	running
	over *settled // nil until it has ended
}

// begin carries a decided call to its approval.
func (c *calls) begin(ctx context.Context, d decided, over *settled) (b begun) {
	if over == nil {
		d = c.own.announce(d)
	}
	c.cb.OnToolCall(d.call)
	if b.over = over; over == nil {
		b.approved, b.over = c.approve(ctx, d)
	}
	return b
}

// end carries a call from the start of its tool to its outcome.
func (c *calls) end(ctx context.Context, b begun, side *side) settled {
	if b.over != nil {
		return *b.over
	}
	defer b.run.live.close()
	defer b.watched.Done()
	r := c.await(ctx, b.running, side)
	for b.over == nil && r.nowhere != nil {
		r, b.over = c.runElsewhere(ctx, r)
	}
	if b.over = cmp.Or(b.over, c.unrun(r)); b.over != nil {
		b.over.span = b.span
		return *b.over
	}
	began := time.Now()
	for _, text := range r.Notices {
		c.cb.notice(NoticeWarning, text)
	}
	if r.Job == nil && r.err == nil {
		r = c.followUp(ctx, r, &backgroundCall{})
	}
	r = c.observe(ctx, r)
	r.took += time.Since(began)
	return c.settle(ctx, r, b.span)
}

// runElsewhere runs a call whose place was not to be had in another one, which is decided and approved first.
func (c *calls) runElsewhere(ctx context.Context, r ran) (ran, *settled) {
	d, over := c.elsewhere(ctx, r)
	if over != nil {
		return r, over
	}
	a, over := c.approve(ctx, d)
	if over != nil {
		return r, over
	}
	return c.runAgain(ctx, a, r.live), nil
}

// followUp judges what a command has done on a layer, asks about it, and lands it; where the user then allows more to
// the command, it runs again. b is that of a background command.
func (c *calls) followUp(ctx context.Context, r ran, b *backgroundCall) ran {
	for {
		c.nameHosts(&r)
		judged := c.judge(ctx, r)
		agreed := c.askEffects(ctx, judged)
		landed := c.land(ctx, agreed)
		again := c.askAgain(ctx, &landed, b)
		if again == nil {
			return landed
		}
		next, runs := c.rerun(ctx, landed, *again)
		if !runs || next.Job != nil {
			return next
		}
		r = next
	}
}

// skip settles calls from the one at i on that do not run since the turn ends.
func (c *calls) skip(calls []provider.ToolCall, i int, why error) (lost error) {
	for ; i < len(calls); i++ {
		s := newPlanned(calls, i).interrupted(why)
		c.cb.OnToolCall(s.call)
		lost = cmp.Or(lost, c.report(s))
	}
	return lost
}

// RunLine runs a shell line of the user's command as a call of bash: decided, asked and journaled for the turn that
// follows, but no part of the conversation. Response lists denials, also of some of the line's changes, and is nil if
// there are none. The error is an interrupt, or says why the line cannot run.
func (a *Agent) RunLine(ctx context.Context, line string, cb Callbacks) (output string, denied *Response, err error) {
	if tool.Find(a.session.opt.Tools, "bash") == nil {
		return "", nil, &Failure{Kind: KindUsage, What: "!`" + line + "`", Err: errors.New("there is no tool bash"),
			Hint: "--tools +bash"}
	}
	input, err := provider.Marshal(map[string]string{"command": line})
	if err != nil {
		return "", nil, err
	}
	t, ctx := a.begin(ctx, cb)
	defer t.end()
	turns := a.session.turns
	a.session.turns = append(slices.Clip(turns), line) // The journal counts it to the turn that follows.
	defer func() { a.session.turns = turns }()
	a.tasks++
	calls := []provider.ToolCall{{ID: fmt.Sprintf("line-%d", a.tasks), Name: "bash", Input: input}}
	t.calls.apart = true
	done, stop, _ := t.calls.carry(ctx, calls, 0, 1)
	if stop != nil {
		return "", nil, stop
	}
	switch s := done[0]; {
	case s.outcome.Status == CallInterrupted:
		return "", nil, context.Cause(ctx)
	case len(t.response.Denied) > 0: // the line, or its changes
		return "", t.response, nil
	case s.outcome.Status == CallOK && s.printed != nil:
		output = *s.printed
	default:
		output = s.outcome.Text
	}
	return text.Ends(strings.TrimSuffix(output, "\n"), lineOutput), nil, nil
}

// followUpBackground decides about background commands that have ended, and offers more to those that go
// on. With servers it also looks for files that confined servers made. said is for the model, "" for
// nothing; the error ends the turn.
func (c *calls) followUpBackground(ctx context.Context, servers bool) (said string, err error) {
	if ctx.Err() != nil {
		return "", nil
	}
	for _, b := range c.background.ended() {
		how := builtin.HowItEnded(b.Job.Result())
		told := !b.Job.Reported()
		if !told {
			said += fmt.Sprintf("[background command %s has ended: %s: %s]\n", b.Job.ID, how, firstLine(b.Job.Line))
		}
		r := b.ran
		r.produced = produced{Result: tool.Result{Job: b.Job,
			IsError: r.decision.Place == permission.PlaceBackground && builtin.Failed(b.Job.Result())}}
		r = c.followUp(ctx, r, b)
		err = cmp.Or(err, r.stop)
		said += r.Text
		if !told || r.Summary != "" {
			text := fmt.Sprintf("background command %s has ended: %s%s", b.Job.ID, how, r.Summary)
			c.cb.OnNotice(Notice{Kind: NoticeInfo, Text: text, Applied: r.applied})
		}
		if r.Job != nil && r.Job != b.Job {
			c.background.add(r)
		}
	}
	for _, b := range c.background.running() {
		if b.confined == nil || err != nil {
			continue
		}
		r := b.ran
		r.produced = produced{Result: tool.Result{Job: b.Job}}
		if more := c.offerWhole(ctx, &r, b); more != nil {
			var runs bool
			switch r, runs = c.rerun(ctx, r, *more); {
			case runs && r.Job == nil:
				r = c.followUp(ctx, r, b)
				c.background.drop(b)
			case runs:
				b.ran = r
			}
		}
		said, err = said+r.Text, r.stop
	}
	if err == nil && (servers || c.servers.moved()) {
		var more string
		more, err = c.followUpServers(ctx)
		said += more
	}
	return c.session.masked(said), err
}

// takeBackground adds to the result of a call which background commands have ended.
func (c *calls) takeBackground(ctx context.Context, s *settled) {
	if s.outcome.Status == CallOK && s.call.Access.Kind == tool.KindWrite {
		c.keeper.approved.add(s.call.Access.Paths...)
	}
	said, err := c.followUpBackground(ctx, s.tool != nil && s.tool.Kind == tool.KindServer && s.call.Access.Local)
	s.stop = cmp.Or(s.stop, err)
	if said != "" {
		s.outcome.Text = strings.TrimRight(s.outcome.Text, "\n") + "\n" + said
	}
}
