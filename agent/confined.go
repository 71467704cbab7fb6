package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	Start(cmd *exec.Cmd, line Line) (Confined, error)
}

// Line is how one command runs confined. Paths are absolute.
type Line struct {
	Place  permission.Place
	Exec   bool     // the project's own programs may run
	Hidden []string // what it must not see, besides what no command may
	// Outputs are the directories of the project that a background command may write; with
	// Whole it writes all of it, except what programs run or obey automatically.
	Outputs []string
	Whole   bool
}

// Confined is a command that runs confined. What follows holds once it has ended.
type Confined interface {
	shell.Started
	Denials() []sandbox.Denial // the walls it met, also while it runs
	Hides(path string) bool    // what lies at an absolute path of the machine was out of its sight
	Protect() error            // makes what programs run read-only again: a landing replaced files
	Limit() string             // the limit that ended it, in words; "" for none
	// Changes are what it did on a layer; they hold the layer until Discard. An error gives
	// the layer up, as Discard does unread.
	Changes(ctx context.Context) (Changes, error)
	Discard() error
}

// Changes are what a command did on a layer.
type Changes interface {
	List() []sandbox.Change
	Stays() []string // what it could not see of directories that it removed, absolute
	// Open opens the new content of a regular file.
	Open(c sandbox.Change) (*os.File, error)
	// Path is where that content lies, if it may be renamed from there; "" has it copied.
	Path(c sandbox.Change) string
	// Discard gives the layer up. With keepCaches, what the command wrote into caches
	// stays for the next one.
	Discard(keepCaches bool) error
}

// environment is what a call's tool works with: commands start where it was
// decided.
func (t *turn) environment(p *pending) *tool.Env {
	env := *t.env
	if p.tool.Kind == tool.KindNetwork {
		env.Hosts = t.opt.Policy.Hosts(p.tool.Name)
		return &env
	}
	if p.decision.Place == permission.PlaceHost || t.opt.Sandbox == nil {
		return t.env
	}
	if p.decision.Place == permission.PlaceReadOnly {
		env.Jobs = nil
	}
	env.Start = func(cmd *exec.Cmd) (shell.Started, error) {
		confined, err := guard(func() (Confined, error) { return t.startConfined(cmd, p) })
		switch {
		case err == nil:
			p.confined = confined
			return confined, nil
		case errors.As(err, new(*crash)): // no word on the place
			return nil, err
		case p.readsAlone() && !t.opt.Policy.Confinement.Required:
			// Its words alone say that it only reads: the sandbox only makes sure of it.
			t.loose.Do(func() { t.notice(NoticeWarning, "reading commands run unconfined: "+err.Error()) })
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

// startConfined starts a call's command in the place of its decision.
func (t *turn) startConfined(cmd *exec.Cmd, p *pending) (Confined, error) {
	place := p.decision.Place
	line := Line{Place: place, Exec: t.runsOwn(p)}
	var err error
	if line.Hidden, err = t.hidden(cmd, p.readsAlone()); err != nil {
		return nil, err
	}
	var writes []string
	if place == permission.PlaceBackground {
		line.Outputs, line.Whole = t.outputDirs(), p.whole == permission.Run
		if writes = line.Outputs; line.Whole {
			writes = []string{t.opt.Policy.Root}
		}
	}
	p.made = nil
	if t.opt.Guard != nil && (place == permission.PlaceBackground || place == permission.PlaceSandbox) {
		if p.made, err = t.guards(writes); err != nil {
			return nil, err
		}
	}
	confined, err := t.opt.Sandbox.Start(cmd, line)
	if err == nil && p.made != nil && place == permission.PlaceBackground {
		made := p.made
		t.watches.Go(func() { made.watch(confined) })
	}
	return confined, err
}

// judging is the policy by which a command is judged: where the mode has changed since
// the command was decided, the stricter one holds.
func (t *turn) judging(p *pending) *permission.Policy {
	policy := *t.opt.Policy
	for _, mode := range modes() {
		if mode == p.mode || mode == policy.Mode {
			policy.Mode = mode
			break
		}
	}
	return &policy
}

// runsOwn reports whether the project's own programs may run in a call's command.
func (t *turn) runsOwn(p *pending) bool {
	policy := t.opt.Policy
	return p.decision.Place != permission.PlaceReadOnly &&
		(len(p.decision.Own) > 0 || policy.TrustsPrograms || policy.Mode == permission.ModeAuto ||
			p.decision.Covers >= permission.Content || p.decision.Place == permission.PlaceBackground)
}

// hidden lists what a command must not see besides what no command may: git's
// store of objects where it holds denied files, except where the command only reads.
func (t *turn) hidden(cmd *exec.Cmd, reads bool) ([]string, error) {
	w := t.opt.Workspace
	if reads || w == nil || !w.Project.Git || t.opt.Policy.TrackedSecret() == "" {
		return nil, nil
	}
	store, err := w.Project.ObjectStore()
	// go build asks git for the commit, for which there is no store.
	flags := strings.TrimSpace(tool.Variable(cmd.Env)("GOFLAGS") + " -buildvcs=false")
	cmd.Env = append(slices.Clip(cmd.Env), "GOFLAGS="+flags)
	return []string{store}, err
}

// layerTakesLong is how long a command runs on a layer before the user is told that
// a question may follow: by then the user may look elsewhere.
var layerTakesLong = 30 * time.Second

// sayQuestionMayFollow tells the user so of a command on a layer that takes long. The
// func ends it.
func (t *turn) sayQuestionMayFollow(p *pending) (stop func()) {
	if p.decision.Place != permission.PlaceLayer {
		return func() {}
	}
	say := func() {
		t.notice(NoticeInfo, "when this command has ended, a question about its changes may follow")
	}
	timer := time.AfterFunc(layerTakesLong, say)
	return func() {
		if timer.Stop() && p.job != nil { // it goes on after the call, perhaps after the turn
			say()
		}
	}
}

// unconfined goes on with a call whose command could not be started where it was
// decided: that place counts as gone, and what is decided now holds.
func (t *turn) unconfined(ctx context.Context, p *pending) (tool.Result, error) {
	can := &t.opt.Policy.Confinement
	switch {
	case can.Required:
		p.fail("not run: ARTOO_SANDBOX=on, and there is no sandbox", "Not run: the sandbox cannot be had, and ARTOO_SANDBOX=on requires it: "+p.refused.Error())
		return tool.Result{}, nil
	case p.decision.Place == permission.PlaceLayer || p.decision.Place == permission.PlaceBackground:
		can.Layer = false
		t.notice(NoticeWarning, "layers lost ("+p.refused.Error()+"): commands now run in the sandbox")
	default:
		*can = permission.Confinement{}
		t.notice(NoticeWarning, "sandbox lost ("+p.refused.Error()+"): commands now run unconfined")
	}
	p.refused = nil
	if err := t.policy(p); err != nil {
		return tool.Result{}, err
	}
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
	result, err := guard(func() (tool.Result, error) { return p.tool.Run(ctx, t.environment(p), p.call.Input, p.live) })
	p.job = result.Job
	return result, err
}

// offerMore asks about what a line on a layer was refused: to run the project's own
// programs, or to leave the sandbox.
func (t *turn) offerMore(ctx context.Context, p *pending, result *tool.Result) error {
	if metWall(p.confined, sandbox.WallExec) == "" || t.runsOwn(p) || !result.IsError || ctx.Err() != nil {
		return t.offerOutside(ctx, p, result)
	}
	p.decision.Own = []string{"programs of the project"}
	p.decision.Reasons = []permission.Reason{{Code: permission.OwnPrograms, Object: p.decision.Own[0]}}
	if err := p.asks.ask(ctx, p); err != nil || p.final {
		result.Text += "[the project's own programs were not allowed to run]\n"
		p.final, p.outcome, p.refusal = false, CallResult{}, nil
		return err
	}
	again, err := t.runAgain(ctx, p)
	if err != nil {
		result.Text += "[it could not be started again: " + err.Error() + "]\n"
		return nil
	}
	again.Text = "[it was refused the project's own programs, and ran again with the user's yes]\n" + again.Text
	*result = again
	return t.settleConfined(ctx, p, result)
}

// metWall says in words that a command met a wall; "" where it did not.
func metWall(c Confined, wall string) string {
	for _, d := range c.Denials() {
		if d.Wall == wall {
			return d.What
		}
	}
	return ""
}

// offerWhole asks whether a background command starts again, with the whole project
// writable: one that failed, or goes on, and may not write what it tried to. A rule that
// covers what it changes is a yes.
func (t *turn) offerWhole(ctx context.Context, p *pending, result *tool.Result) error {
	wall, runs := metWall(p.confined, sandbox.WallWrite), p.job != nil && p.job.Runs()
	if wall == "" || p.whole != "" || ctx.Err() != nil {
		return nil
	}
	if runs && !p.told {
		result.Text += "[background command " + p.job.ID + " is confined: " + wall + "]\n"
	}
	answer, err := Answer{Verdict: Yes}, error(nil)
	switch {
	case !runs && !result.IsError, t.opt.Policy.Mode == permission.ModePlan:
		err = errNotOffered
	case p.decision.Covers < permission.Content:
		answer, err = t.askAfter(ctx, p, Question{Kind: QuestionWhole, Reason: wall, Rule: p.decision.Narrow})
	}
	if context.Cause(ctx) != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		if !p.told {
			t.notice(NoticeWarning, "confined: "+wall+": "+firstLine(p.call.Access.Command))
		}
		if p.told = true; !runs && errors.Is(err, ErrNobody) {
			t.response.Denied = append(t.response.Denied, Denial{Tool: p.tool.Name, Object: p.call.Access.Object, Reason: wall,
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
		p.job.Tell()
		p.job.Stop()
		<-p.job.Done()
		if err := t.keepGuarded(ctx, p, result); err != nil {
			return err
		}
	}
	first := p.job
	again, err := t.runAgain(ctx, p)
	if err != nil {
		result.Text += "[it could not be started again: " + err.Error() + "]\n"
		return nil
	}
	again.Text = result.Text + "[it was started again, and may write the whole project except files that programs run " +
		"automatically]\n" + again.Text
	if *result = again; p.job != nil {
		if first != nil {
			first.FollowedBy(p.job.ID)
		}
		return nil
	}
	return t.settleConfined(ctx, p, result)
}

// errNotOffered says that a background command is not to be started again.
var errNotOffered = errors.New("not offered")

// offerOutside asks whether a command that failed at a wall runs once more on the
// host. Where no one can answer the model knows the wall, and may ask for more
// itself.
func (t *turn) offerOutside(ctx context.Context, p *pending, result *tool.Result) error {
	// An empty home refuses nothing by itself; a port can be admitted.
	walls := slices.DeleteFunc(slices.Clone(p.confined.Denials()), func(d sandbox.Denial) bool {
		return slices.Contains([]string{sandbox.WallHome, sandbox.WallExec, sandbox.WallLoopback}, d.Wall)
	})
	if !result.IsError || len(walls) == 0 || t.judging(p).Mode == permission.ModePlan || ctx.Err() != nil {
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
	p.decision.Place, p.confined = permission.PlaceHost, nil
	again, err := t.runAgain(ctx, p)
	if err != nil {
		result.Text += "[outside it could not be started: " + err.Error() + "]\n"
		return nil
	}
	again.Text = "[it failed confined, and ran once more outside, with the user's yes]\n" + again.Text
	*result = again
	return nil
}

// nameWalls tells the model what a confined command wrote in vain, which other walls it
// met if it failed, and what it named that is hidden from it.
func (t *turn) nameWalls(p *pending, result *tool.Result) {
	var words []string
	for _, d := range p.confined.Denials() {
		lost := d.Wall == sandbox.WallHome || d.Wall == sandbox.WallWrite || d.Wall == sandbox.WallGuarded
		if (lost || result.IsError) && !slices.Contains(words, d.What) && !(p.readsAlone() && d.Wall == sandbox.WallWrite) {
			words = append(words, d.What)
		}
	}
	words = append(words, t.hiddenFrom(p, result)...)
	if !p.readsAlone() && p.decision.Git {
		if name := t.opt.Policy.TrackedSecret(); name != "" {
			words = append(words, name+" is hidden here, not deleted")
		}
	}
	if len(words) > 0 {
		result.Text += "[confined: " + strings.Join(words, "; ") + "]\n"
	}
}
