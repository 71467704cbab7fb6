package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
)

// Sandbox starts commands so that the kernel holds them. It is called from any
// goroutine.
type Sandbox interface {
	// Start starts a command in a place other than the host. The error says why this
	// place is not to be had.
	Start(cmd *exec.Cmd, place permission.Place) (Confined, error)
}

// Confined is a command that runs confined. What follows holds once it has ended.
type Confined interface {
	shell.Started
	Denials() []sandbox.Denial // the walls it met
	Limit() string             // the limit that ended it, in words; "" for none
	// Appeared lists files that others run (permission.OthersRun) which it made, where it
	// did not run on a layer; Remove takes such files away.
	Appeared() ([]string, error)
	Remove(paths []string) error
	// Changes are what it did on a layer; they hold the layer until Discard.
	Changes() (Changes, error)
}

// Changes are what a command did on a layer.
type Changes interface {
	List() []sandbox.Change
	// Diff is what some of them changed in text files, as a unified diff; others are
	// named by type and size.
	Diff(some []sandbox.Change) string
	// Git is what those of git's own data come to, as git sees it, one a row.
	Git(ctx context.Context) []string
	// Apply makes some of them count, as one step of the journal: all or none. The error
	// says why nothing was applied; lost names what cannot be taken back.
	Apply(ctx context.Context, some []sandbox.Change) (lost []string, err error)
	Discard() error
}

// environment is what a call's tool works with: commands start where it was
// decided.
func (t *turn) environment(ctx context.Context, p *pending) *tool.Env {
	env := *t.env
	if p.tool.Kind == tool.KindNetwork {
		env.Hosts = t.opt.Policy.Hosts(p.tool.Name)
		return &env
	}
	if p.decision.Place == permission.PlaceHost || t.opt.Sandbox == nil {
		return t.env
	}
	if p.decision.Place != permission.PlaceSandbox {
		// What it changed is asked about when it has ended; while it reads nothing may be changed.
		env.Jobs = nil
	}
	env.Start = func(cmd *exec.Cmd) (shell.Started, error) {
		confined, err := t.startConfined(ctx, cmd, p.decision.Place)
		switch {
		case err == nil:
			p.confined = confined
			return confined, nil
		case p.decision.Place == permission.PlaceReading:
			// By its words alone it may run: the sandbox only made sure of it.
			t.loose.Do(func() { t.notice(NoticeWarning, "what only reads runs unconfined: "+err.Error()) })
			if t.env.Start != nil {
				return t.env.Start(cmd)
			}
			return shell.StartHere(cmd)
		}
		p.refused = err
		return nil, err
	}
	return &env
}

// How long a command waits for another one that is confined, as those of sub-agents
// are side by side, and how often it looks.
const (
	waitForOthers = 5 * time.Second
	lookForOthers = 20 * time.Millisecond
)

// startConfined starts a command in its place. One that changes files waits for a
// while, or until ctx is done, for those that need them to stay as they are.
func (t *turn) startConfined(ctx context.Context, cmd *exec.Cmd, place permission.Place) (Confined, error) {
	again := time.NewTicker(lookForOthers)
	defer again.Stop()
	for since := time.Now(); ; {
		confined, err := t.opt.Sandbox.Start(cmd, place)
		if !errors.Is(err, sandbox.ErrBusy) || place != permission.PlaceSandbox || time.Since(since) > waitForOthers {
			return confined, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// layerTakesLong is how long a command runs on a layer before the user is told that
// a question may follow: by then nobody may be looking any more.
var layerTakesLong = 30 * time.Second

// sayQuestionMayFollow tells the user so of a command on a layer that takes long. The
// func ends it.
func (t *turn) sayQuestionMayFollow(p *pending) (stop func()) {
	if p.decision.Place != permission.PlaceLayer {
		return func() {}
	}
	timer := time.AfterFunc(layerTakesLong, func() {
		t.notice(NoticeInfo, "what this command changes is asked about when it has ended")
	})
	return func() { timer.Stop() }
}

// unconfined goes on with a call whose command could not be started where it was
// decided: that place counts as gone, and what is decided now holds.
func (t *turn) unconfined(ctx context.Context, p *pending) (tool.Result, error) {
	can := &t.opt.Policy.Confinement
	busy := errors.Is(p.refused, sandbox.ErrBusy)
	switch {
	case busy && p.decision.Place == permission.PlaceLayer: // so it is decided without one, this once
		defer func(layer bool) { can.Layer = layer }(can.Layer)
		can.Layer = false
	case busy:
		p.fail("not run", "Not run: "+p.refused.Error()+". Call it again when that has ended.")
		return tool.Result{}, nil
	case p.decision.Place == permission.PlaceLayer:
		can.Layer = false
		t.notice(NoticeWarning, "commands no longer run on a layer: "+p.refused.Error())
	default:
		*can = permission.Confinement{}
		t.notice(NoticeWarning, "commands are no longer confined: "+p.refused.Error())
	}
	p.refused = nil
	if p.stop = t.decide(ctx, p, nil); p.final || p.stop != nil {
		return tool.Result{}, p.stop
	}
	result, err := t.runAgain(ctx, p)
	if p.refused != nil {
		return t.unconfined(ctx, p)
	}
	return result, err
}

// runAgain runs a call once more, where it is decided by now.
func (t *turn) runAgain(ctx context.Context, p *pending) (tool.Result, error) {
	kept, err := t.keepBefore(ctx, p)
	if kept {
		defer t.recordAfter()
	}
	if err != nil {
		return tool.Result{}, fmt.Errorf("what it changes could not be kept beforehand: %w", err)
	}
	return guard(func() (tool.Result, error) { return p.tool.Run(ctx, t.environment(ctx, p), p.call.Input, p.live) })
}

// settle says what comes of a command that ran confined: what it did on a layer is
// judged, and where it met a wall the user may let it out. The result is the call's
// for the model. The error ends the turn.
func (t *turn) settle(ctx context.Context, p *pending, result *tool.Result) error {
	if p.confined == nil {
		return nil
	}
	if limit := p.confined.Limit(); limit != "" {
		result.Text += "[it was ended at a limit: " + limit + "]\n"
	}
	switch p.decision.Place {
	case permission.PlaceSandbox:
		if err := t.keepOthersRun(ctx, p, result); err != nil {
			return err
		}
		return t.offerOutside(ctx, p, result)
	case permission.PlaceReading:
		t.nameWalls(p, result)
		return nil
	}
	changes, err := p.confined.Changes()
	if err != nil {
		result.Text += "[what it changed could not be read, and was discarded: " + err.Error() + "]\n"
		result.IsError = true
		return nil
	}
	defer func() {
		if err := changes.Discard(); err != nil {
			t.notice(NoticeWarning, "a layer could not be removed: "+err.Error())
		}
	}()
	return t.judge(ctx, p, changes, result)
}

// judge asks about what a line did on a layer, where that is to be asked.
func (t *turn) judge(ctx context.Context, p *pending, changes Changes, result *tool.Result) error {
	j := t.opt.Policy.Judge(p.call.Access, changes.List())
	if j.Effects.InGit > 0 {
		j.Effects.Git = changes.Git(ctx)
	}
	all := len(j.Effects.Apply) + len(j.Effects.Never)
	switch {
	case j.Effect == permission.Allow && all == 0:
		t.nameWalls(p, result)
		return nil
	case j.Effect == permission.Allow:
		t.apply(ctx, changes, j, result)
		return nil
	case j.Effect == permission.Deny:
		t.discarded(p, j, j.Reason, false, result)
		return nil
	}
	answer, err := t.askAfter(ctx, p, Question{Kind: QuestionChanges, Reason: j.Reason,
		Rule: p.decision.Narrow, Effects: &j.Effects, Diff: t.maskedDiff(changes.Diff(j.Effects.Apply))})
	switch {
	case context.Cause(ctx) != nil:
		t.discarded(p, j, "the turn was stopped", false, result)
		return context.Cause(ctx)
	case errors.Is(err, ErrNobody):
		t.discarded(p, j, "nobody is there to approve them", true, result)
		return nil
	case err != nil:
		t.discarded(p, j, err.Error(), false, result)
		return nil
	}
	switch answer.Verdict {
	case YesForSession, YesForever:
		t.opt.Policy.KeepForLine(p.call.Access, j.Effects.Apply)
		fallthrough
	case Yes:
		t.apply(ctx, changes, j, result)
		return nil
	case StopTurn:
		t.discarded(p, j, "the user stopped the turn", false, result)
		return ErrStopped
	case Withhold:
		t.discarded(p, j, answer.Reason, false, result)
		result.Text = "[the user withholds the output of this command, and discarded what it changed" +
			because(answer.Reason) + "]\n"
		return nil
	}
	t.discarded(p, j, answer.Reason, false, result)
	return nil
}

// because sets a reason behind what is said; "" for none.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// askAfter puts a question about a command that has run.
func (t *turn) askAfter(ctx context.Context, p *pending, q Question) (Answer, error) {
	p.asked = true
	p.asks.number++
	p.asks.of = max(p.asks.of, p.asks.number)
	q.Call, q.Dir, q.Number, q.Of = p.call, t.opt.Env.Dir, p.asks.number, p.asks.of
	return t.cb.Ask(ctx, q)
}

// apply makes what a line did count.
func (t *turn) apply(ctx context.Context, changes Changes, j permission.Judgement, result *tool.Result) {
	lost, err := changes.Apply(ctx, j.Effects.Apply)
	if err != nil {
		result.Text += "[nothing of what it changed was applied: " + err.Error() + "]\n"
		result.IsError = true
		return
	}
	result.Text += "[its changes were applied: " + j.Effects.Summary() + "]\n"
	if len(lost) > 0 {
		t.notice(NoticeWarning, "cannot be undone: "+strings.Join(lost, ", "))
	}
	if len(j.Effects.Never) > 0 {
		result.Text += "[never applied: " + strings.Join(j.Effects.Never, ", ") + "]\n"
	}
}

// mostNamed is how many of the changes are named that may be left out; see
// permission.Effects.
const mostNamed = 20

// discarded tells the model, and the report, that what a line changed is gone; also
// the user, if nobody was shown what it was.
func (t *turn) discarded(p *pending, j permission.Judgement, why string, nobody bool, result *tool.Result) {
	shown := j.Effect == permission.Ask && !nobody
	text := "changes discarded" + because(why)
	whole, rest := j.Effects.Whole(), j.Effects.Rest()
	result.Text += fmt.Sprintf("[%s (%s)]\n", text, tool.ListUpTo(mostNamed, slices.Concat(whole, rest)))
	result.Summary += ", changes discarded"
	if !shown {
		t.notice(NoticeWarning, text+" ("+tool.ListUpTo(len(whole)+mostNamed, slices.Concat(whole, rest))+")")
	}
	t.response.Denied = append(t.response.Denied, Denial{Tool: p.tool.Name, Object: p.call.Access.Object,
		Reason: text + " (" + j.Effects.Summary() + ")", Rule: p.decision.Narrow, Nobody: nobody,
		Changes: slices.Concat(whole, rest)})
}

// keepOthersRun asks whether files stay that others run, which a command in the
// sandbox made. Without a yes they are removed.
func (t *turn) keepOthersRun(ctx context.Context, p *pending, result *tool.Result) error {
	made, err := t.madeForOthers(p)
	if err != nil {
		result.Text += "[whether it made files that others run or obey cannot be told: " + err.Error() + "]\n"
		t.notice(NoticeWarning, "whether a command made files that others run cannot be told: "+err.Error())
		return nil
	}
	if len(made) == 0 {
		return nil
	}
	defer t.madeUnapproved(made)()
	effects := t.opt.Policy.MadeForOthers(made)
	answer, err := t.askAfter(ctx, p, Question{Kind: QuestionChanges, Effects: &effects,
		Reason: "asked whatever the mode: it made what others run"})
	names := strings.Join(effects.Created, ", ")
	if err == nil && (answer.Verdict == Yes || answer.Verdict == YesForSession || answer.Verdict == YesForever) {
		t.approvedFiles = append(t.approvedFiles, made...)
		result.Text += "[the user keeps what it made for others to run: " + names + "]\n"
		return nil
	}
	if err := p.confined.Remove(made); err != nil {
		t.notice(NoticeWarning, "files that others run could not be removed: "+err.Error())
		result.Text += "[it made files that others run, which could not be removed: " + err.Error() + "]\n"
		return nil
	}
	why := cmp.Or(answer.Reason, "others run or obey them")
	result.Text += "[removed after it ended: " + names + ": " + why + "]\n"
	t.response.Denied = append(t.response.Denied, Denial{Tool: p.tool.Name, Object: p.call.Access.Object,
		Reason: "removed, since others run or obey it: " + names, Rule: p.decision.Narrow, Nobody: errors.Is(err, ErrNobody)})
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case answer.Verdict == StopTurn:
		return ErrStopped
	case answer.Verdict == Withhold:
		result.Text = "[the user withholds the output of this command; what it made for others to run was removed" +
			because(answer.Reason) + "]\n"
	}
	return nil
}

// removeOthersRun takes away what a command in the sandbox made for others to run, where
// the turn is over and nobody is asked any more.
func (t *turn) removeOthersRun(p *pending) {
	if p.confined == nil || p.decision.Place != permission.PlaceSandbox {
		return
	}
	made, err := p.confined.Appeared()
	if err == nil {
		err = p.confined.Remove(made)
	}
	if err != nil {
		t.notice(NoticeWarning, "files that others run, which a command made, could not be removed: "+err.Error())
	}
}

// offerOutside asks whether a command that failed at a wall runs once more on the
// host. Where nobody can be asked the model knows the wall, and may ask for more
// itself.
func (t *turn) offerOutside(ctx context.Context, p *pending, result *tool.Result) error {
	t.nameWalls(p, result)
	// An empty home refuses nothing by itself.
	walls := slices.DeleteFunc(slices.Clone(p.confined.Denials()), func(d sandbox.Denial) bool { return d.Wall == "home" })
	if !result.IsError || len(walls) == 0 || p.decision.Place != permission.PlaceSandbox || ctx.Err() != nil {
		return nil
	}
	answer, err := t.askAfter(ctx, p, Question{Kind: QuestionOutside,
		Reason: "it ran once, confined, and failed at a wall: " + walls[0].What})
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		return nil
	case answer.Verdict == StopTurn:
		return ErrStopped
	case answer.Verdict == No && answer.Reason != "":
		result.Text += "[the user does not want it to run outside: " + answer.Reason + "]\n"
	}
	if answer.Verdict != Yes {
		return nil
	}
	p.decision.Place = permission.PlaceHost
	again, err := t.runAgain(ctx, p)
	if err != nil {
		result.Text += "[outside it could not be started: " + err.Error() + "]\n"
		return nil
	}
	again.Text = "[it failed confined, and ran once more outside, with the user's yes]\n" + again.Text
	*result = again
	return nil
}

// nameWalls tells the model which walls a confined command met.
func (t *turn) nameWalls(p *pending, result *tool.Result) {
	walls := p.confined.Denials()
	if len(walls) == 0 {
		return
	}
	var words []string
	for _, d := range walls {
		if (d.Wall != "home" || result.IsError) && !slices.Contains(words, d.What) {
			words = append(words, d.What)
		}
	}
	if len(words) > 0 {
		result.Text += "[confined: " + strings.Join(words, "; ") + "]\n"
	}
}
