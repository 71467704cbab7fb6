package agent

import (
	"cmp"
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
	"artoo/tool/sandbox"
	"artoo/tool/shell"
	"artoo/tool/skill"
	"artoo/tool/text"
)

// environment is that of a call's tool: commands start where it was decided.
func (c *calls) environment(p *pending) *tool.Env {
	env := *c.env
	env.Digest = p.call.Access.Digest
	if p.tool.Kind == tool.KindServer {
		env.Forms = c.forms(p)
		return &env
	}
	if p.tool.Kind == tool.KindNetwork {
		env.Hosts = c.session.opt.Policy.Hosts(p.tool.Name)
		return &env
	}
	if p.decision.Place == permission.PlaceHost || c.session.opt.Sandbox == nil {
		return &env
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
	var writes []string
	if place == permission.PlaceBackground {
		line.Outputs, line.Whole = c.outputDirs(), p.whole == permission.Run
		if writes = line.Outputs; line.Whole {
			writes = []string{c.session.opt.Policy.Root}
		}
	}
	p.made = nil
	if c.session.opt.Guard != nil && (place == permission.PlaceBackground || place == permission.PlaceSandbox) {
		var err error
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

// sayQuestionMayFollow warns the user. The func ends it; goesOn means that the command runs on in
// the background.
func (c *calls) sayQuestionMayFollow(p *pending) (stop func(goesOn bool)) {
	w := c.session.opt.Workspace
	if p.decision.Place != permission.PlaceLayer || w != nil && w.Headless || c.session.opt.Policy.Mode == permission.ModePlan {
		return func(bool) {}
	}
	say := func() {
		c.cb.notice(NoticeInfo, "when this command has ended, a question about its changes may follow")
	}
	timer := time.AfterFunc(c.session.opt.Waits.orUsual().Warning, say)
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
		*can = permission.Confinement{Lost: p.refused.Error()}
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
	if err == nil && answer.Verdict == Yes {
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
	lead(result, "moved away, since programs run or obey it automatically: "+names+because(answer.Reason))
	c.response.Denied = append(c.response.Denied,
		p.denial("moved away, since programs run or obey it automatically: "+names, errors.Is(err, ErrNobody)))
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case answer.Verdict == StopTurn:
		return ErrStopped
	}
	return nil
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

// followUp finishes a command that ran confined: it judges the changes on a layer, and asks the
// user about acts that the sandbox denied. result is for the model. The error ends the turn. A
// crash discards the layer.
func (c *calls) followUp(ctx context.Context, p *pending, result *tool.Result) error {
	stop, err := guard(func() (error, error) { return c.followUpConfined(ctx, p, result), nil })
	if err != nil {
		lead(result, "its changes were discarded: "+err.Error())
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
		lead(result, "it was ended at a limit: "+limit)
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
		c.nameDenials(p, result)
		return nil
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
	longest := c.session.opt.Waits.orUsual().Judging
	within, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	changes, err := p.confined.Changes(within)
	if err != nil {
		why := "they could not be read: " + err.Error()
		if errors.Is(err, context.DeadlineExceeded) {
			why = fmt.Sprintf("reading them took longer than %v", longest)
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
	if leaksUnseen(p.call.Access.Command, result.Text) {
		words = append(words, sandbox.LeaksOff)
	}
	words = append(words, c.session.hiddenFrom(p.confined, p.call.Access.Dir, p.call.Access.Command, result.Text, result.IsError)...)
	if can := c.session.opt.Policy.Confinement; p.decision.Git && (can.Layer && p.decision.Place == permission.PlaceBackground || !can.Layer && can.ByEntry) {
		if tracked := c.session.hiddenTracked(); len(tracked) > 0 {
			words = append(words, "hidden here, not deleted: "+text.UpTo(mostHidden, c.session.namesOf(tracked)))
		}
	}
	if len(words) > 0 {
		result.Text += "[confined: " + strings.Join(words, "; ") + "]\n"
	}
}

// leaksUnseen reports whether a command has to do with a sanitizer that would look for leaks on the user's machine.
func leaksUnseen(command, output string) bool {
	output = output[max(0, len(output)-builtin.Heard):]
	return sandbox.LeaksOff != "" && slices.ContainsFunc([]string{"-fsanitize=", "ASAN_OPTIONS", "LSAN_OPTIONS", "AddressSanitizer", "LeakSanitizer"},
		func(mark string) bool { return strings.Contains(command, mark) || strings.Contains(output, mark) })
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

// followUpServers asks about files that confined servers made and that programs run or obey automatically. said is a
// text for the model, "" for none. An error ends the turn.
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

// skillDirs lists the directories of the user's skills, loaded or not: the programs of a skill run confined,
// too, and the sandbox is made before any is loaded.
func skillDirs(skills *skill.Library) func() []string {
	return func() (dirs []string) {
		for _, i := range skills.Items(skill.Skill) {
			dirs = append(dirs, i.Dir())
		}
		return dirs
	}
}
