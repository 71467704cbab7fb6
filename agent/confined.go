package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/environ"
	"artoo/tool/names"
	"artoo/tool/shell"
)

// environment is that of a call's tool: commands start where it was decided.
func (c *calls) environment(p *pending) *tool.Env {
	env := *c.env
	if p.tool.Kind == tool.KindServer {
		env.Forms, env.Definition = c.forms(p), p.call.Access.Definition
		return &env
	}
	if p.tool.Kind == tool.KindNetwork {
		env.Hosts = c.session.opt.Policy.Hosts(p.tool.Name)
		return &env
	}
	if p.decision.Place == permission.PlaceHost || c.session.opt.Sandbox == nil {
		return c.env
	}
	if p.decision.Place == permission.PlaceReadOnly {
		env.Jobs = nil
	}
	env.Start = func(cmd *exec.Cmd) (shell.Started, error) {
		confined, err := guard(func() (confine.Confined, error) { return c.startConfined(cmd, p) })
		switch {
		case err == nil:
			p.confined = confined
			return confined, nil
		case errors.As(err, new(*crash)): // no word on the place
			return nil, err
		case p.readsAlone() && !c.session.opt.Policy.Confinement.Binding():
			// Its words alone say that it only reads: the sandbox only makes sure of it.
			c.loose.Do(func() { c.cb.notice(NoticeWarning, "reading commands run unconfined: "+err.Error()) })
			if c.env.Start != nil {
				return c.env.Start(cmd)
			}
			return shell.StartHere(cmd)
		}
		p.refused = err
		return nil, err
	}
	return &env
}

func (c *calls) startConfined(cmd *exec.Cmd, p *pending) (confine.Confined, error) {
	place := p.decision.Place
	line := confine.Line{Place: place, Exec: c.runsOwn(p)}
	var err error
	if line.Hidden, err = c.session.hidden(cmd, p.readsAlone()); err != nil {
		return nil, err
	}
	var writes []string
	if place == permission.PlaceBackground {
		line.Outputs, line.Whole = c.outputDirs(), p.whole == permission.Run
		if writes = line.Outputs; line.Whole {
			writes = []string{c.session.opt.Policy.Root}
		}
	}
	p.made = nil
	if c.session.opt.Guard != nil && (place == permission.PlaceBackground || place == permission.PlaceSandbox) {
		if p.made, err = c.guards(writes); err != nil {
			return nil, err
		}
	}
	confined, err := c.session.opt.Sandbox.Start(cmd, line)
	if err == nil && p.made != nil && place == permission.PlaceBackground {
		made := p.made
		c.background.watches.Go(func() { made.watch(confined.Done()) })
	}
	return confined, err
}

func (c *calls) runsOwn(p *pending) bool {
	policy := c.session.opt.Policy
	return p.decision.Place != permission.PlaceReadOnly &&
		(len(p.decision.Own) > 0 || policy.TrustsPrograms || policy.Mode == permission.ModeAuto ||
			p.decision.Covers >= permission.Content || p.decision.Place == permission.PlaceBackground)
}

// layerTakesLong is how long a command runs on a layer before the user is warned that a question
// may follow.
var layerTakesLong = 30 * time.Second

// sayQuestionMayFollow warns the user. The func ends it; goesOn means that the command runs on in
// the background.
func (c *calls) sayQuestionMayFollow(p *pending) (stop func(goesOn bool)) {
	if p.decision.Place != permission.PlaceLayer {
		return func(bool) {}
	}
	say := func() {
		c.cb.notice(NoticeInfo, "when this command has ended, a question about its changes may follow")
	}
	timer := time.AfterFunc(layerTakesLong, say)
	return func(goesOn bool) {
		if timer.Stop() && goesOn {
			say()
		}
	}
}

// unconfined goes on with a call whose place was not to be had: it counts as gone, and the call
// is decided again.
func (c *calls) unconfined(ctx context.Context, p *pending) (tool.Result, error) {
	can := &c.session.opt.Policy.Confinement
	switch {
	case can.Inside():
		p.fail("not run: there is no layer", "Not run: the layer that this run needs cannot be had: "+p.refused.Error())
		return tool.Result{}, nil
	case can.Required:
		p.fail("not run: ARTOO_SANDBOX=on, and there is no sandbox", "Not run: the sandbox cannot be had, and ARTOO_SANDBOX=on requires it: "+p.refused.Error())
		return tool.Result{}, nil
	case p.decision.Place == permission.PlaceLayer || p.decision.Place == permission.PlaceBackground:
		can.Layer = false
		c.cb.notice(NoticeWarning, "layers lost ("+p.refused.Error()+"): commands now run in the sandbox")
	default:
		*can = permission.Confinement{}
		c.cb.notice(NoticeWarning, "sandbox lost ("+p.refused.Error()+"): commands now run unconfined")
	}
	p.refused = nil
	if p.opinion.Verdict == permission.Run { // A hook allowed the call as a confined one.
		p.opinion = permission.Opinion{}
	}
	if err := c.policy(p); err != nil {
		return tool.Result{}, err
	}
	if p.stop = c.decide(ctx, p, nil); p.final || p.stop != nil {
		return tool.Result{}, p.stop
	}
	result, err := c.runAgain(ctx, p)
	if p.refused != nil {
		return c.unconfined(ctx, p)
	}
	return result, err
}

// runAgain runs a call once more, where it is decided by now.
func (c *calls) runAgain(ctx context.Context, p *pending) (tool.Result, error) {
	kept, err := c.keepBefore(ctx, p)
	if kept {
		defer c.keeper.recordAfter(c.cb)
	}
	if err != nil {
		return tool.Result{}, fmt.Errorf("the files it changes could not be saved first: %w", err)
	}
	result, err := guard(func() (tool.Result, error) { return p.tool.Run(ctx, c.environment(p), p.call.Input, p.live) })
	p.job = result.Job
	return result, err
}

// keepBefore keeps the files that a call may change; kept means that recordAfter has to follow.
// After an error the call must not run.
func (c *calls) keepBefore(ctx context.Context, p *pending) (kept bool, err error) {
	if files := c.session.opt.Env.Files; files != nil && p.call.Access.Kind == tool.KindWrite {
		if err := files.SaveUnsaved(p.call.Access.Paths...); err != nil {
			return false, err
		}
	}
	if c.keeper.journal == nil {
		return false, nil
	}
	c.keeper.giveYours(c.cb)
	access := p.call.Access
	what := strings.TrimSpace(access.Verb + " " + firstLine(access.Object))
	switch {
	case access.Kind == tool.KindWrite:
		c.keeper.recordAfter(c.cb)
		c.keeper.step = c.keeper.journal.Begin(c.session.turnNumber(), what)
		_, err := c.keeper.step.Before(access.Paths...)
		return true, err
	case access.Kind != tool.KindRun && !(access.Kind == tool.KindServer && access.Local) || p.reads || p.decision.Place == permission.PlaceLayer || p.decision.Place == permission.PlaceReadOnly,
		access.Kind == tool.KindServer && c.keeper.tally != nil:
		return false, nil
	case c.keeper.step == nil: // else it was kept when it was decided
		c.keeper.step = c.keeper.journal.Begin(c.session.turnNumber(), what)
		_, err = c.keeper.step.Snapshot(ctx)
	}
	return true, err
}

func (c *calls) guards(writes []string) (*madeGuarded, error) {
	before, err := c.session.opt.Guard.Look(writes...)
	return &madeGuarded{session: c.session, keeper: c.keeper, journal: c.keeper.journal, policy: *c.session.opt.Policy, writes: writes, before: before, turn: c.session.turnNumber()}, err
}

// keepGuarded asks whether files stay that a command on the project itself made and that programs
// run or obey automatically. Without a yes they move into the journal; after one, those that
// moved before come back.
func (c *calls) keepGuarded(ctx context.Context, p *pending, result *tool.Result) error {
	m := p.made
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	effects, paths, err := m.look()
	if err != nil {
		c.warn(result, "it is not known whether this command made files that programs run automatically: "+err.Error())
		return nil
	}
	entries := append(m.moved, effects.By[permission.RunsAutomatically]...)
	effects.By[permission.RunsAutomatically] = entries
	steps := m.steps
	if m.moved, m.steps = nil, nil; len(entries) == 0 {
		return nil
	}
	why := permission.Reason{Code: permission.AlwaysAsked, Object: "it made files that programs run automatically"}
	answer, err := c.askAfter(ctx, p, Question{Kind: QuestionChanges, Effects: &effects, Reason: rowsOf(effects),
		Reasons: []permission.Reason{why}})
	names := pathsOf(entries)
	if err == nil && slices.Contains([]Verdict{Yes, YesForSession, YesForever}, answer.Verdict) {
		back, err := m.bringBack(ctx, steps)
		if err != nil {
			c.cb.notice(NoticeWarning, "files that were moved away could not be restored, and are in the journal's quarantine: "+err.Error())
		}
		kept := append(paths, back...)
		c.keeper.approved.add(kept...)
		if m.journal != nil {
			if err := m.journal.Approved(m.turn, "files that programs run automatically", kept...); err != nil {
				c.cb.notice(NoticeWarning, "the applied changes cannot be undone: "+err.Error())
			}
		}
		result.Text += "[the user keeps files that programs run automatically: " + names + "]\n"
		return nil
	}
	if len(paths) > 0 {
		if _, err := quarantine(m.journal, m.turn, paths); err != nil {
			c.warn(result, "files that programs run automatically stay: "+err.Error())
			return nil
		}
	}
	result.Text += "[moved away, since programs run or obey it automatically: " + names + because(answer.Reason) + "]\n"
	c.response.Denied = append(c.response.Denied,
		p.denial("moved away, since programs run or obey it automatically: "+names, errors.Is(err, ErrNobody)))
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case answer.Verdict == StopTurn:
		return ErrStopped
	case answer.Verdict == Withhold:
		result.Text = "[the user withholds the output of this command; files that programs run automatically were moved away" +
			because(answer.Reason) + "]\n"
	}
	return nil
}

const (
	mostHidden = 3 // hidden paths that are named

)

// hiddenFrom names files that a command could not see: those of other places in its line; where it
// failed also files of the project and of the end of its output; the program that was not found,
// else links beside it.
func (c *calls) hiddenFrom(p *pending, result *tool.Result) (said []string) {
	variable := environ.Variable(c.session.opt.Env.Environ)
	home, path := variable("HOME"), filepath.SplitList(variable("PATH"))
	missed := p.confined.Exit().Code == notFound
	programs, paths := map[string]bool{}, map[string]bool{}
	look := func(text string) {
		if home != "" {
			text = strings.NewReplacer("${HOME}", home, "$HOME", home).Replace(text)
		}
		for word := range builtin.Words(text) {
			if missed && !strings.Contains(word, "/") && !programs[word] {
				programs[word] = true
				if at := hiddenProgram(p.confined, path, word); at != "" {
					said = append(said, word+" is hidden here; [permissions] toolchains or ARTOO_TOOLCHAINS shows its directory "+at)
				}
			}
			if word = names.InHome(word, home); !filepath.IsAbs(word) {
				word = filepath.Join(p.call.Access.Dir, word)
			}
			word = filepath.Clean(word)
			inside, err := filepath.Rel(c.session.opt.Policy.Root, word)
			if paths[word] || len(said) >= mostHidden || !result.IsError && err == nil && filepath.IsLocal(inside) {
				continue
			}
			if paths[word] = true; p.confined.Hides(word) {
				said = append(said, c.shown(word, home)+" is hidden here")
			}
		}
	}
	look(p.call.Access.Command)
	if result.IsError {
		look(result.Text[max(0, len(result.Text)-builtin.Heard):])
	}
	if missed && len(said) == 0 { // it may lie where a link leads, as node_modules may be one
		for _, dir := range slices.Compact([]string{p.call.Access.Dir, c.session.opt.Policy.Root}) {
			entries, _ := os.ReadDir(dir) // A directory that cannot be listed gives no hint.
			for _, entry := range entries {
				at := filepath.Join(dir, entry.Name())
				if entry.Type()&os.ModeSymlink != 0 && len(said) < mostHidden && p.confined.Hides(at) {
					said = append(said, c.shown(at, home)+" is hidden here")
				}
			}
		}
	}
	return said
}

func (c *calls) shown(path, home string) string {
	if rel, err := filepath.Rel(home, path); home != "" && err == nil && filepath.IsLocal(rel) {
		return c.session.masked("~/" + rel)
	}
	return c.session.namesOf([]string{path})[0]
}

// hiddenProgram is the directory that would show a program of PATH; "" where none is hidden.
func hiddenProgram(c confine.Confined, path []string, name string) (hidden string) {
	for _, dir := range path {
		at := filepath.Join(dir, name)
		if !executable(at) {
			continue
		}
		real, err := filepath.EvalSymlinks(at)
		switch {
		case err == nil && !c.Hides(at):
			return ""
		case hidden == "" && c.Hides(dir):
			hidden = dir
		case hidden == "" && err == nil:
			hidden = filepath.Dir(real)
		}
	}
	return hidden
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
