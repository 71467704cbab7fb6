package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/provider/telemetry"
	"artoo/tool"
	"artoo/tool/shell"
)

// side is what calls that run side by side share.
type side struct {
	slots chan struct{} // So many run at a time.
	grace chan struct{} // It is closed a moment after an interrupt.
	end   func() bool
}

func newSide(ctx context.Context, most int) *side {
	s := &side{slots: make(chan struct{}, cmp.Or(max(most, 0), 4)), grace: make(chan struct{})}
	s.end = context.AfterFunc(ctx, func() { time.AfterFunc(interruptGrace, func() { close(s.grace) }) })
	return s
}

// start starts the tool of an approved call in a goroutine, whose end await awaits. The files that it may change are kept
// before.
func (c *calls) start(ctx context.Context, a approved, side *side) (r running, over *settled) {
	if over = c.passesCap(ctx, a.decided, c.tally.land); over != nil { // The user may have changed the input, or the file.
		return r, over
	}
	r.approved = a
	defer func() {
		if r.run == nil {
			c.counted(a)
		}
	}()
	var err error
	if r.kept, err = c.keepBefore(ctx, a); err != nil {
		return r, a.failed("not run", "Not run: the files it changes could not be saved first, so it could not be undone: "+err.Error())
	}
	if files := c.session.opt.Env.Files; files != nil && a.call.Access.Kind == tool.KindRun {
		r.watched = files.Seen.Watch()
	}
	// The time for which the user was asked beforehand does not belong to the span.
	ctx, r.span = c.span(ctx, a.call)
	live := &liveOutput{call: c.session.shown(a.call), cb: c.cb, text: heldText{mask: c.session.masked}}
	run := &run{done: make(chan ran, 1), live: live}
	r.run = run
	// Counted here, on the turn's goroutine: Close may not wait before it.
	c.background.abandoned.Go(func() {
		side.slots <- struct{}{}
		end := c.runTool(ctx, a, live)
		c.counted(a)
		<-side.slots
		if run.decided.CompareAndSwap(false, true) {
			run.done <- end
		} else if end.Job == nil {
			c.giveUp(end)
		}
	})
	return r, nil
}

func (c *calls) span(ctx context.Context, call Call) (context.Context, *telemetry.Span) {
	return c.session.opt.Telemetry.Start(ctx, telemetry.Operation{Name: telemetry.Tool, Of: call.Name, Call: call.ID})
}

// counted lets the changes of others be counted: those of a call are made, or not to come.
func (c *calls) counted(a approved) {
	if c.tally != nil && a.call.Access.Kind == tool.KindWrite {
		c.tally.landed()
	}
}

// keepBefore keeps the files that a call may change; kept means that recordAfter has to follow.
// After an error the call must not run.
func (c *calls) keepBefore(ctx context.Context, a approved) (kept bool, err error) {
	access, k := a.call.Access, c.keeper
	if files := c.session.opt.Env.Files; files != nil && access.Kind == tool.KindWrite {
		if err := files.SaveUnsaved(access.Paths...); err != nil {
			return false, err
		}
	}
	if k.journal == nil {
		return false, nil
	}
	k.giveYours(c.cb)
	what := strings.TrimSpace(access.Verb + " " + firstLine(access.Object))
	local := access.Kind == tool.KindServer && access.Local && c.tally == nil
	switch {
	case access.Kind == tool.KindWrite:
		k.recordAfter(c.cb)
		k.step = k.journal.Begin(c.session.turnNumber(), what)
		_, err := k.step.Before(access.Paths...)
		return true, err
	case access.Kind != tool.KindRun && !local || a.reads || a.decision.Place == permission.PlaceLayer ||
		a.decision.Place == permission.PlaceReadOnly:
		return false, nil
	case k.step == nil: // else it was kept when it was decided
		k.step = k.journal.Begin(c.session.turnNumber(), what)
		_, err = k.step.Snapshot(ctx)
	}
	return true, err
}

// runTool runs a call's tool. A crash is its error.
func (c *calls) runTool(ctx context.Context, a approved, live *liveOutput) ran {
	r := ran{approved: a, live: live}
	if r.skipped = context.Cause(ctx); r.skipped != nil { // while it waited for others
		return r
	}
	began := time.Now()
	var stop atomic.Pointer[error] // set by a question of the tool
	warned := c.sayQuestionMayFollow(a)
	made, err := guard(func() (produced, error) {
		if a.tool.ByLoop() {
			return c.own.runOwn(ctx, a.decided)
		}
		c.showServers(a.planned)
		result, err := a.tool.Run(ctx, c.environment(&r, &stop), a.call.Input, live)
		return produced{Result: result}, err
	})
	r.produced, r.err = made, err
	warned(r.Job != nil)
	if why := stop.Load(); why != nil {
		r.stop = *why
	}
	r.took = time.Since(began)
	return r
}

// environment is that of a call's tool: commands start where it was decided, which r notes.
func (c *calls) environment(r *ran, stop *atomic.Pointer[error]) *tool.Env {
	env := *c.env
	env.Digest = r.call.Access.Digest
	place := r.decision.Place
	switch {
	case r.tool.Kind == tool.KindServer:
		env.Forms = c.forms(r.call, stop)
	case r.tool.Kind == tool.KindNetwork:
		env.Hosts = c.session.opt.Policy.Hosts(r.tool.Name)
	case place != permission.PlaceHost && c.session.opt.Sandbox != nil:
		if place == permission.PlaceReadOnly {
			env.Jobs = nil
		}
		env.Start = func(cmd *exec.Cmd) (shell.Started, error) { return c.startIn(cmd, r) }
	}
	return &env
}

// startIn starts the command of a call where it was decided.
func (c *calls) startIn(cmd *exec.Cmd, r *ran) (shell.Started, error) {
	confined, err := guard(func() (confine.Confined, error) { return c.startConfined(cmd, r) })
	switch {
	case err == nil:
		r.confined = confined
		return confined, nil
	case errors.As(err, new(*crash)): // no word on the place
		return nil, err
	case r.decision.Place == permission.PlaceReadOnly && !c.session.opt.Policy.Confinement.Binding():
		// Its words alone say that it only reads: the sandbox only makes sure of it.
		c.loose.Do(func() { c.cb.notice(NoticeWarning, "read-only commands run unconfined: "+err.Error()) })
		if c.env.Start != nil {
			return c.env.Start(cmd)
		}
		return shell.StartHere(cmd)
	}
	r.nowhere = err
	return nil, err
}

func (c *calls) startConfined(cmd *exec.Cmd, r *ran) (confine.Confined, error) {
	place := r.decision.Place
	line := confine.Line{Place: place, Exec: c.runsOwn(r.approved), Hosts: r.decision.Hosts,
		Files: r.decision.Files}
	var writes []string
	if place == permission.PlaceBackground {
		line.Outputs, line.Whole = c.outputDirs(), r.whole
		if writes = line.Outputs; line.Whole {
			writes = []string{c.session.opt.Policy.Root}
		}
	}
	r.made = nil
	if c.session.opt.Guard != nil && (place == permission.PlaceBackground || place == permission.PlaceSandbox) {
		var err error
		if r.made, err = c.guards(writes); err != nil {
			return nil, err
		}
	}
	confined, err := c.session.opt.Sandbox.Start(cmd, line)
	if err == nil && r.made != nil && place == permission.PlaceBackground {
		made := r.made
		c.background.watches.Go(func() { made.watch(confined.Done()) })
	}
	return confined, err
}

func (c *calls) runsOwn(a approved) bool {
	policy, d := c.session.opt.Policy, a.decision
	return d.Place != permission.PlaceReadOnly && (len(d.Own) > 0 || policy.TrustsPrograms || policy.Mode == permission.ModeAuto ||
		d.Covers >= permission.Content || d.Place == permission.PlaceBackground)
}

// sayQuestionMayFollow warns the user. The func ends it; goesOn means that the command runs on in
// the background.
func (c *calls) sayQuestionMayFollow(a approved) (stop func(goesOn bool)) {
	w := c.session.opt.Workspace
	if a.decision.Place != permission.PlaceLayer || w != nil && w.Headless || c.session.opt.Policy.Mode == permission.ModePlan {
		return func(bool) {}
	}
	say := func() {
		c.cb.notice(NoticeInfo, "artoo may ask about its changes when this command ends")
	}
	timer := time.AfterFunc(c.session.opt.Waits.orUsual().Warning, say)
	return func(goesOn bool) {
		if timer.Stop() && goesOn {
			say()
		}
	}
}

// outputDirs are the directories for results that git ignores, made where missing: a background
// command writes there.
func (c *calls) outputDirs() (dirs []string) {
	w := c.session.opt.Workspace
	if w == nil {
		return nil
	}
	var candidates []string
	for _, name := range permission.ResultDirs() {
		candidates = append(candidates, filepath.Join(w.Project.Root, name)+"/")
	}
	ignored := w.Project.IgnoredSince(context.Background(), c.session.opt.Env.Environ, w.Began, candidates)
	for _, dir := range candidates {
		dir = filepath.Clean(dir)
		if ignored[dir] && os.MkdirAll(dir, 0o755) == nil { // one that cannot be made is not written
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// await waits for the end of a call's tool, and records what it changed before any question: changes that the user makes
// meanwhile are the user's. After an interrupt it waits a moment only, and the tool is killed.
func (c *calls) await(ctx context.Context, r running, side *side) (end ran) {
	select {
	case end = <-r.run.done:
	case <-side.grace:
		if r.run.decided.CompareAndSwap(false, true) {
			end = ran{approved: r.approved, live: r.run.live, err: context.Cause(ctx), late: true}
		} else {
			end = <-r.run.done
		}
	}
	if r.kept {
		c.part(&end, func() { c.keeper.recordAfter(c.cb) })
	}
	return end
}

// unrun settles a call whose tool never did its work: the turn ended first, or no one answered the question of the tool. It
// is nil for others.
func (c *calls) unrun(r ran) *settled {
	if r.skipped != nil {
		return r.interrupted(r.skipped)
	}
	if lost, ok := errors.AsType[notAdded](r.err); ok {
		r.decision.Narrow = "" // No rule adds a line.
		return c.unanswered(r.decided, lost.error, "the line was not added").answeredBy(r.program)
	}
	return nil
}

// part does a part of a call whose tool has done its work: a crash is only reported.
func (c *calls) part(r *ran, f func()) {
	if err := guarded(f); err != nil {
		r.Text += "\n[" + err.Error() + "]\n"
		r.IsError = true
	}
}

// elsewhere decides again on a call whose place was not to be had: that place counts as gone from now on.
func (c *calls) elsewhere(ctx context.Context, r ran) (decided, *settled) {
	can := &c.session.opt.Policy.Confinement
	why := r.nowhere.Error()
	switch place := r.decision.Place; {
	case can.Inside():
		return r.decided, r.failed("not run: no layer could be made",
			"Not run: the layer that this run needs is not available: "+why)
	case can.Required:
		return r.decided, r.failed("not run: no sandbox, which ARTOO_SANDBOX=on requires",
			"Not run: the sandbox is not available, and ARTOO_SANDBOX=on requires it: "+why)
	case place == permission.PlaceLayer || place == permission.PlaceBackground:
		can.Layer = false
		c.cb.notice(NoticeWarning, "layers lost ("+why+"): commands now run in the sandbox, directly on the project")
	default:
		*can = permission.Confinement{Lost: why}
		c.cb.notice(NoticeWarning, "sandbox lost ("+why+"): commands now run unconfined")
	}
	o := r.opinion
	if o.Verdict == permission.Run { // A hook allowed the call as a confined one.
		o = permission.Opinion{}
	}
	d, over := c.byPolicy(r.planned, o)
	if over == nil {
		d, over = c.keepFirst(ctx, d)
	}
	return d, over
}

// runAgain runs a call once more, as it is approved by now.
func (c *calls) runAgain(ctx context.Context, a approved, live *liveOutput) ran {
	kept, err := c.keepBefore(ctx, a)
	if kept {
		defer c.keeper.recordAfter(c.cb)
	}
	if err != nil {
		return ran{approved: a, live: live, err: fmt.Errorf("the files it changes could not be saved first: %w", err)}
	}
	return c.runTool(ctx, a, live)
}
