package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/proxy"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
	"artoo/tool/text"
	"artoo/tool/web"
)

// again is a call that the user allows more than it had: it runs once more.
type again struct {
	approved
	said string // stands before what it says then
}

// askAgain asks about rights that a command was denied and may have needed; nil where it does not run again. r gets
// the answer in words, and in b it is noted for a background command.
func (c *calls) askAgain(ctx context.Context, r *ran, b *backgroundCall) *again {
	if r.confined == nil || r.lost || r.stop != nil || ctx.Err() != nil {
		return nil
	}
	switch place := r.decision.Place; {
	case place == permission.PlaceReadOnly || r.call.Access.Kind == tool.KindServer:
		return nil
	case place == permission.PlaceLayer && denialOf(r.confined, sandbox.DenialExec) != "" && !c.runsOwn(r.approved) && r.IsError:
		return c.offerOwn(ctx, r)
	case place != permission.PlaceLayer && denialOf(r.confined, sandbox.DenialWrite) != "":
		return c.offerWhole(ctx, r, b)
	case place == permission.PlaceLayer && r.IsError:
		if more, offered := c.offerHosts(ctx, r); offered {
			return more
		}
	}
	return c.offerOutside(ctx, r)
}

// offerOwn asks whether a command runs again with the project's own programs, which it was denied.
func (c *calls) offerOwn(ctx context.Context, r *ran) *again {
	d := r.decided
	d.decision = d.decision.RunningOwn("programs of the project")
	a, over := c.approve(ctx, d)
	if over != nil {
		r.Text += "[the project's own programs were not allowed to run]\n"
		r.stop = over.stop
		return nil
	}
	return &again{a, "[it was refused the project's own programs, and ran again with the user's yes]\n"}
}

// offerWhole asks whether a background command that was refused a write starts again
// with the whole project writable. A rule that covers its changes is a yes.
func (c *calls) offerWhole(ctx context.Context, r *ran, b *backgroundCall) *again {
	denial, runs := denialOf(r.confined, sandbox.DenialWrite), r.Job != nil && r.Job.Runs()
	if denial == "" || r.whole || b.refused || ctx.Err() != nil {
		return nil
	}
	if runs && !b.told {
		r.Text += "[background command " + r.Job.ID + " is confined: " + denial + "]\n"
	}
	answer, err := Answer{Verdict: Yes}, error(nil)
	switch {
	case !runs && !r.IsError, c.session.opt.Policy.Mode == permission.ModePlan:
		err = errNotOffered
	case r.decision.Covers < permission.Content:
		answer, err = c.askMore(ctx, r.decided, Question{Kind: QuestionWhole, Reason: denial, Rule: r.decision.Narrow})
		r.by = cmp.Or(answer.By, r.by)
	}
	switch {
	case context.Cause(ctx) != nil:
		r.stop = context.Cause(ctx)
		return nil
	case err != nil:
		if !b.told {
			c.cb.notice(NoticeWarning, "confined: "+denial+": "+firstLine(r.call.Access.Command))
		}
		if b.told = true; !runs && errors.Is(err, ErrNobody) {
			d := r.denial(denial, true)
			d.Rule = r.decision.Narrow
			c.response.Denied = append(c.response.Denied, d)
		}
		return nil
	case answer.Verdict != Yes:
		b.refused = true
		r.Text += "[the user does not let it write the whole project" + because(answer.Reason) + "]\n"
		if answer.Verdict == StopTurn {
			r.stop = ErrStopped
		}
		return nil
	}
	if runs {
		r.Job.Reported()
		r.Job.Stop()
		<-r.Job.Done()
		if r.stop = c.keepGuarded(ctx, r); r.stop != nil {
			return nil
		}
	}
	more := again{r.approved, r.Text +
		"[it was started again, and may write the whole project except files that programs run automatically]\n"}
	more.whole = true
	return &more
}

// errNotOffered means that a background command is not to be started again.
var errNotOffered = errors.New("not offered")

// offerHosts asks whether a command that failed for want of hosts runs again with them. offered is false where there
// is nothing to ask.
func (c *calls) offerHosts(ctx context.Context, r *ran) (more *again, offered bool) {
	var refused []permission.Host
	for _, at := range r.confined.Network().Refused {
		// Only the user's own settings open an address of this machine or network, and a package may name any.
		if host, err := web.ParseHost(at.Host); at.Unlisted && err == nil && web.Own(host) == "" {
			name, port := web.SplitHost(host)
			refused = append(refused, proxy.Host{Name: name, Port: port})
		}
	}
	if refused == nil && denialOf(r.confined, sandbox.DenialNetwork) == "" {
		return nil, false
	}
	d := r.decided
	var ok bool
	if d.decision, ok = c.session.opt.Policy.WithHosts(d.decision, d.tool.Name, d.call.Access, refused); !ok {
		return nil, false
	}
	if w := c.session.opt.Workspace; w != nil && w.Headless && d.decision.Verdict == permission.Ask {
		// The line did run, and it may do without: no one is missed.
		if list, ok := permission.ListedBy(d.decision.Narrow); ok {
			said := "this needs hosts that are not allowed; try: artoo --hosts " + shell.Quote(list)
			r.Text += "[" + said + "]\n"
			c.cb.notice(NoticeWarning, said)
		}
		return nil, true
	}
	a, over := c.approve(ctx, d)
	if over != nil {
		r.stop = over.stop
		return nil, true
	}
	names := text.UpTo(mostHosts, namesOfHosts(d.decision.Hosts))
	return &again{a, fmt.Sprintf("[it failed without these hosts, and ran again with them: %s]\n", names)}, true
}

// offerOutside asks whether a command that failed at a denial runs once more on the host.
func (c *calls) offerOutside(ctx context.Context, r *ran) *again {
	// An empty home refuses nothing by itself; a port can be admitted.
	denials := slices.DeleteFunc(slices.Clone(r.confined.Denials()), func(d sandbox.Denial) bool {
		return slices.Contains([]string{sandbox.DenialHome, sandbox.DenialExec, sandbox.DenialLoopback}, d.Kind)
	})
	if !r.IsError || len(denials) == 0 || c.judging(r.decided).Mode == permission.ModePlan || c.session.opt.Policy.Confinement.Inside() {
		return nil
	}
	answer, err := c.askMore(ctx, r.decided, Question{Kind: QuestionOutside,
		Reason: "it failed in the sandbox: " + denials[0].What})
	r.by = cmp.Or(answer.By, r.by)
	switch {
	case context.Cause(ctx) != nil:
		r.stop = context.Cause(ctx)
	case err == nil && answer.Verdict == StopTurn:
		r.stop = ErrStopped
	case answer.Verdict == No && answer.Reason != "":
		r.Text += "[the user does not want it to run outside: " + answer.Reason + "]\n"
	}
	if r.stop != nil || err != nil || answer.Verdict != Yes {
		return nil
	}
	more := again{r.approved, "[it failed confined, and ran once more outside, with the user's yes]\n"}
	more.decision = more.decision.Outside()
	return &more
}

// rerun runs a call again; runs is false where it could not be started, and first is what counts.
func (c *calls) rerun(ctx context.Context, first ran, more again) (r ran, runs bool) {
	r = c.runAgain(ctx, more.approved, first.live)
	if r.err != nil {
		first.Text += "[it could not be started again: " + r.err.Error() + "]\n"
		return first, false
	}
	r.Text = more.said + r.Text
	if first.Job != nil && r.Job != nil {
		first.Job.FollowedBy(r.Job.ID)
	}
	return r, true
}
