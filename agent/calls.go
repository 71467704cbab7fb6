package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/telemetry"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/lsp"
	"artoo/tool/shell"
	"artoo/tool/text"
)

// run gives every call of a reply exactly one result, in the model's order. Neighbouring calls that
// only read run side by side. All are prepared first, to number the questions, and again when their turn
// comes: on the state that the calls before them left.
func (c *calls) run(ctx context.Context, calls []provider.ToolCall) error {
	all := c.prepareAll(ctx, calls)
	for i := 0; i < len(all); {
		batch := all[i : i+sideBySide(all[i:])]
		stale := i > 0 || c.session.parent != nil // Other sub-agents may change the files that were seen.
		stop, lost := c.runBatch(ctx, calls, batch, stale)
		i += len(batch)
		if stop == nil {
			stop = context.Cause(ctx)
		}
		if stop == nil && lost == nil {
			stop = c.repeats.over(batch)
		}
		// A result that could not be kept ends the turn like an interrupt.
		if stop = errors.Join(stop, lost); stop != nil {
			return withLost(stop, c.skip(calls, i, stop))
		}
	}
	return nil
}

func (c *calls) prepareAll(ctx context.Context, calls []provider.ToolCall) []*pending {
	defer c.session.alone(ctx)()
	asks := &prompter{calls: c}
	all := make([]*pending, len(calls))
	for i := range calls {
		p := c.prepare(ctx, calls, i)
		if p.asks = asks; !p.final && p.decision.Verdict == permission.Ask {
			asks.of++
		}
		all[i] = p
	}
	return all
}

func (c *calls) prepare(ctx context.Context, calls []provider.ToolCall, i int) *pending {
	call := calls[i]
	p := newPending(calls, i)
	p.tool, p.call.Input = builtin.FindCall(c.session.opt.Tools, call.Name, call.Input)
	if p.tool != nil && p.tool.FromText != nil && call.Raw != "" {
		if text, ok := p.tool.FromText(call.Raw); ok {
			call.Raw, p.call.Input = "", text
		}
	}
	c.serverCall(p)
	switch {
	case p.final:
	case p.tool == nil:
		p.fail("unknown tool", strings.TrimSpace(fmt.Sprintf("There is no tool %q. The tools are: %s. %s", call.Name, c.session.toolNames(),
			tool.Instead(call.Name))))
	case call.Raw != "":
		p.fail("broken input", c.brokenInput(call))
	case c.marked(p):
	default:
		c.plan(ctx, p)
	}
	return p
}

func (c *calls) brokenInput(call provider.ToolCall) string {
	raw, why := call.Raw, "is not a JSON object"
	if key, twice := provider.DuplicateKey([]byte(raw)); twice {
		why = fmt.Sprintf("has the duplicate key %q", key)
	} else if json.Valid([]byte(raw)) && strings.HasPrefix(raw, "{") {
		why = "was not in the form that the server reads"
	}
	if remark := c.session.tooLarge[call.ID]; remark != "" {
		why = remark + " (write less at once)"
	}
	return fmt.Sprintf("The input of this call %s, so it was not run. It begins: %s", why, text.Clip(raw, 300))
}

// sideBySide is how many of the next calls run together: one, or all that read or are sub-agents' work.
func sideBySide(next []*pending) (n int) {
	for n < len(next) && (onlyReads(next[n].tool) || isTask(next[n].tool) || next[n].commandReads() || next[n].readsOnServer()) {
		n++
	}
	return max(n, 1)
}

// runBatch runs calls that run together; stale has them prepared again. stop ends the turn; lost is
// of the first result that could not be kept.
func (c *calls) runBatch(ctx context.Context, calls []provider.ToolCall, batch []*pending, stale bool) (stop, lost error) {
	free := c.session.alone(ctx)
	defer free() // also after a crash of a sub-agent, which is an error of its parent's call
	for _, p := range batch {
		if stale {
			asks := p.asks
			*p = *c.prepare(ctx, calls, p.call.Index)
			p.asks = asks
		}
		c.beforeTool(ctx, p)
		if !p.final && p.tool.ByLoop() {
			c.own.announce(p)
		}
		c.cb.OnToolCall(p.call)
	}
	for _, p := range batch {
		if err := c.decide(ctx, p, stop); err != nil {
			stop = err
		}
	}
	if !slices.ContainsFunc(batch, (*pending).changesHere) {
		free()
	}
	group := len(batch)
	if slices.ContainsFunc(batch, (*pending).commandChanges) { // The state it was prepared on has changed since.
		group = 1
	}
	for together := range slices.Chunk(batch, group) {
		lost = cmp.Or(lost, c.runTogether(ctx, together))
	}
	for _, p := range batch {
		stop = cmp.Or(stop, p.stop)
	}
	return cmp.Or(stop, c.keeper.tally.end()), lost
}

// runTogether executes calls side by side and finishes them in order, each as soon as it can.
func (c *calls) runTogether(ctx context.Context, batch []*pending) (lost error) {
	grace := make(chan struct{}) // closed a moment after an interrupt
	stopped := context.AfterFunc(ctx, func() { time.AfterFunc(interruptGrace, func() { close(grace) }) })
	defer stopped()
	slots := make(chan struct{}, cmp.Or(max(c.session.opt.Concurrency, 0), 4))
	for _, p := range batch {
		within := c.span(ctx, p)
		if err := guarded(func() { c.execute(within, p, slots) }); err != nil {
			p.crashed(err)
		}
	}
	for _, p := range batch {
		if p.run != nil {
			if err := guarded(func() { c.complete(ctx, p, grace) }); err != nil {
				p.crashed(err)
			}
		}
		c.takeBackground(ctx, p)
		lost = cmp.Or(lost, c.finish(p))
	}
	if err := guarded(func() { c.keeper.recordAfter(c.cb) }); err != nil { // The step belongs to a call that was decided and did not run.
		c.cb.notice(NoticeWarning, err.Error())
	}
	return lost
}

// execute starts a call that has no outcome yet in a goroutine, whose end complete awaits.
func (c *calls) execute(ctx context.Context, p *pending, slots chan struct{}) {
	if p.final {
		return
	}
	if cause := context.Cause(ctx); cause != nil {
		p.interrupted(cause)
		return
	}
	if c.passesCap(ctx, p, true) { // The user may have changed the input, or the file.
		return
	}
	started := false
	defer func() {
		if !started {
			p.landed()
		}
	}()
	var err error
	if p.kept, err = c.keepBefore(ctx, p); err != nil {
		p.fail("not run", "Not run: the files it changes could not be saved first, so it could not be undone: "+err.Error())
		return
	}
	if files := c.session.opt.Env.Files; files != nil && p.call.Access.Kind == tool.KindRun {
		p.ownChanges = files.Seen.OwnChanges()
	}
	p.live = &liveOutput{call: c.session.shown(p.call), cb: c.cb, text: heldText{mask: c.session.masked}}
	p.run = &callRun{done: make(chan ended, 1)}
	started = true
	landed := p.landed // p is the turn's again where the call is given up.
	// Counted here, on the turn's goroutine: Close may not wait before it.
	c.background.abandoned.Go(func() {
		slots <- struct{}{}
		e := c.runTool(ctx, p)
		landed()
		<-slots
		if p.run.decided.CompareAndSwap(false, true) {
			p.run.done <- e
		} else if e.result.Job == nil {
			c.giveUp(p)
		}
	})
}

// runTool runs a call's tool. A crash is its error.
func (c *calls) runTool(ctx context.Context, p *pending) (e ended) {
	if cause := context.Cause(ctx); cause != nil { // while it waited for others
		return ended{skipped: cause}
	}
	began := time.Now()
	stop := c.sayQuestionMayFollow(p)
	e.result, e.err = guard(func() (tool.Result, error) {
		if p.tool.ByLoop() {
			return c.own.runOwn(ctx, p)
		}
		c.showServers(p)
		return p.tool.Run(ctx, c.environment(p), p.call.Input, p.live)
	})
	stop(e.result.Job != nil)
	e.took = time.Since(began)
	return e
}

// await waits for the end of a call. ran is false where grace was closed first: the tool is being
// killed.
func (c *calls) await(ctx context.Context, p *pending, grace <-chan struct{}) (e ended, ran bool) {
	select {
	case e = <-p.run.done:
		return e, true
	case <-grace:
		if p.run.decided.CompareAndSwap(false, true) {
			return ended{err: context.Cause(ctx)}, false
		}
		return <-p.run.done, true
	}
}

func (c *calls) complete(ctx context.Context, p *pending, grace <-chan struct{}) {
	defer p.live.close()
	if p.ownChanges != nil {
		defer p.ownChanges()
	}
	e, ran := c.await(ctx, p, grace)
	if stop := p.run.stop.Load(); ran && stop != nil {
		p.stop = *stop
	}
	began := time.Now()
	part := func(f func()) { // The tool has done its work: a crash is only reported.
		if err := guarded(f); err != nil {
			e.result.Text += "\n[" + err.Error() + "]\n"
			e.result.IsError = true
		}
	}
	if p.kept { // before any question: changes that the user makes meanwhile are the user's
		part(func() { c.keeper.recordAfter(c.cb) })
	}
	if e.skipped != nil {
		p.interrupted(e.skipped)
		return
	}
	if ran && p.refused != nil {
		if e.result, e.err = c.unconfined(ctx, p); p.final {
			return
		}
	}
	if lost, ok := errors.AsType[notAdded](e.err); ran && ok {
		p.decision.Narrow = "" // No rule adds a line.
		c.unanswered(p, lost.error, "the line was not added")
		return
	}
	for _, text := range e.result.Notices {
		c.cb.notice(NoticeWarning, text)
	}
	p.job = e.result.Job
	onLayer := p.decision.Place == permission.PlaceLayer
	if p.job != nil && c.session.once() {
		e.result.Text += "[your last reply ends it: wait for it with shell before, if its outcome counts]\n"
	}
	switch {
	case p.job != nil && onLayer:
		e.result.Text += "[its changes count once it has ended by itself; if it is ended before, they are discarded]\n"
	case p.job != nil: // it goes on
	case ran && e.err == nil:
		p.stop = cmp.Or(p.stop, c.followUp(ctx, p, &e.result))
		if !e.result.IsError {
			part(func() { c.check(ctx, p, &e.result) })
		}
		part(func() { c.askServers(ctx, p, &e.result) })
	case ran:
		c.giveUp(p)
	case onLayer: // Its changes are not known before it is killed.
		why := "interrupted; its changes are discarded"
		lead(&e.result, why)
		c.response.Denied = append(c.response.Denied, p.denial(why, false))
	}
	if ran && p.job == nil {
		part(func() { c.afterTool(ctx, p, e) })
	}
	p.live.close()
	e.result.Text = c.session.masked(e.result.Text)
	if e.result.Printed != nil {
		p.printed = new(c.session.masked(*e.result.Printed))
		e.result.Printed = p.printed
	}
	p.outcome = outcomeOf(ctx, e.result, e.err, e.took+time.Since(began))
	for _, img := range e.result.Images {
		p.result.Images = append(p.result.Images, provider.Image{MediaType: img.MediaType, Data: img.Data, Name: img.Name})
	}
	p.paged = e.result.Paged && e.err == nil
}

// finish appends the call's result to the conversation, and reports it even if it could not be kept.
func (c *calls) finish(p *pending) error {
	if note := c.repeats.count(p); note != "" {
		p.outcome.Text += "\n\n" + note
	}
	if touched := p.call.Access.Paths; p.outcome.Status == CallOK && len(touched) > 0 {
		c.session.offerFor(c.cb, touched)
		if c.session.guide != nil {
			p.outcome.Text += c.session.guide(touched)
		}
	}
	c.afterServer(p)
	if p.edited != "" {
		p.outcome.Text = p.edited + "\n\n" + p.outcome.Text
	}
	for _, remark := range p.hookContext {
		p.outcome.Text = strings.TrimRight(p.outcome.Text, "\n") + "\n" + remark
	}
	p.result.By = p.answeredBy
	p.outcome.Text, p.outcome.Summary = c.session.masked(p.outcome.Text), c.session.masked(p.outcome.Summary)
	p.outcome.Todo = p.todo
	p.result.CallID, p.result.Name = p.call.ID, p.wire
	p.result.Text = p.outcome.Text
	p.result.Effect = p.effect(c.session)
	p.result.IsError = p.outcome.Status != CallOK
	if p.outcome.Status == CallFailed {
		c.response.ToolErrors++
	}
	counted := c.own.conclude(p)
	endCall(p)
	if p.apart {
		c.cb.OnToolResult(p.call, p.outcome)
		return counted
	}
	keep := c.session.conv.AppendToolResult
	if p.paged {
		keep = c.session.conv.AppendPage
	}
	kept, err := keep(p.result)
	p.outcome.Text, p.outcome.File = kept.Text, kept.File
	c.cb.OnToolResult(p.call, p.outcome)
	return errors.Join(err, counted)
}

func (c *calls) skip(calls []provider.ToolCall, i int, why error) (lost error) {
	for ; i < len(calls); i++ {
		p := newPending(calls, i)
		p.interrupted(why)
		c.cb.OnToolCall(p.call)
		lost = cmp.Or(lost, c.finish(p))
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
	all := t.calls.prepareAll(ctx, calls)
	p := all[0]
	p.apart = true
	stop, _ := t.calls.runBatch(ctx, calls, all, false)
	switch {
	case stop != nil:
		return "", nil, stop
	case p.outcome.Status == CallInterrupted:
		return "", nil, context.Cause(ctx)
	case len(t.response.Denied) > 0: // the line, or its changes
		return "", t.response, nil
	}
	output = p.outcome.Text
	if p.outcome.Status == CallOK && p.printed != nil {
		output = *p.printed
	}
	return text.Ends(strings.TrimSuffix(output, "\n"), lineOutput), nil, nil
}

// offerFor offers the tools for files like these from the next request on. They stay: a change of
// the tools costs the provider's cache.
func (s *session) offerFor(cb *serial, paths []string) {
	if s.beside {
		return
	}
	for _, path := range paths {
		kind := strings.ToLower(filepath.Ext(path))
		at := slices.IndexFunc(s.opt.Tools, func(o tool.Tool) bool { return o.For != "" && o.For == kind })
		if at < 0 || slices.Contains(s.kinds, kind) {
			continue
		}
		s.kinds = append(s.kinds, kind)
		s.conv.SetOverhead(s.system, s.specs)
		cb.notice(NoticeInfo, offeredNow(s.opt.Tools[at].Name))
	}
}

// span begins the span of a call. The time for which the user was asked beforehand does not belong to it.
func (c *calls) span(ctx context.Context, p *pending) context.Context {
	ctx, p.span = c.session.opt.Telemetry.Start(ctx, telemetry.Operation{Name: telemetry.Tool, Of: p.call.Name, Call: p.call.ID})
	return ctx
}

func endCall(p *pending) {
	out := telemetry.Outcome{}
	if p.outcome.Status != CallOK {
		out.Error = string(p.outcome.Status)
	}
	p.span.Content("gen_ai.tool.call.arguments", func() string { return string(p.call.Input) })
	p.span.Content("gen_ai.tool.call.result", func() string { return p.outcome.Text })
	p.span.End(out)
}

// conclude counts the usage and denials of a call's sub-agent as the turn's.
func (t *turn) conclude(p *pending) (err error) {
	w := t.subAgents[p]
	if w == nil {
		return nil
	}
	err = t.count(w)
	w.mu.Lock()
	defer w.mu.Unlock()
	t.response.Denied = append(t.response.Denied, w.denied...)
	t.response.Answered = append(t.response.Answered, w.answered...)
	t.response.Background = append(t.response.Background, w.ended...)
	if len(w.files) > 0 {
		p.result.Effect = &provider.Effect{Files: t.session.namesOf(w.files)}
	}
	w.denied, w.answered, w.ended = nil, nil, nil
	return err
}

const (
	checkLimit  = 30 * time.Second
	maxChecked  = 20   // files of one call that are checked
	maxFindings = 2000 // bytes of a check's findings, for the model
)

// check runs the user's checks over the files that a call has written, each on a layer that is thrown
// away. A failed check is reported to the model; the call itself has succeeded.
func (c *calls) check(ctx context.Context, p *pending, result *tool.Result) {
	if p.tool.Kind != tool.KindWrite || len(c.session.opt.Checks) == 0 || c.session.opt.Env.Files == nil {
		return
	}
	for _, check := range c.session.opt.Checks {
		files := c.checked(check.Glob, p.call.Access.Paths)
		if len(files) == 0 {
			continue
		}
		if c.session.opt.Sandbox == nil || !c.session.opt.Policy.Confinement.Layer {
			c.unchecked.Do(func() {
				c.cb.notice(NoticeWarning, "the commands of [check] do not run: they need a layer, which is not to be had here")
			})
			return
		}
		failed, err := c.runCheck(ctx, check, files)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			result.Text += fmt.Sprintf("\n[check %s did not run: %v]", check.Command, err)
		case failed != "":
			result.Text += fmt.Sprintf("\n[check %s: %s]", check.Command, failed)
			result.Summary += ", " + check.Command + " found something"
		}
	}
}

// checked are the existing files among paths that a glob matches, relative to the project's root.
func (c *calls) checked(glob string, paths []string) (files []string) {
	root := c.session.opt.Policy.Root
	for _, file := range paths {
		rel, err := filepath.Rel(root, file)
		if err != nil || !filepath.IsLocal(rel) || len(files) == maxChecked {
			continue
		}
		name := filepath.ToSlash(rel)
		if !strings.Contains(glob, "/") {
			name = path.Base(name)
		}
		if ok, err := doublestar.Match(glob, name); err != nil || !ok {
			continue
		}
		if _, err := c.session.opt.Env.Files.Stat(file); err == nil && !slices.Contains(files, rel) {
			files = append(files, rel)
		}
	}
	return files
}

// runCheck returns the findings of a check, "" for none. The error means that it could not be run.
func (c *calls) runCheck(ctx context.Context, check Check, files []string) (findings string, err error) {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = "./" + filepath.ToSlash(file) // no name is an option
	}
	line := check.Command + " " + shell.Quote(names...)
	if strings.Contains(check.Command, "{}") {
		line = strings.ReplaceAll(check.Command, "{}", shell.Quote(names...))
	}
	cmd := c.session.own().Command(context.Background(), "sh", "-c", line)
	cmd.Dir, cmd.Env = c.session.opt.Policy.Root, slices.Clone(c.env.Environ)
	var confined confine.Confined
	run := shell.Command{Cmd: cmd, Limit: checkLimit, Waits: shell.DefaultWaits(), Live: io.Discard, Kill: c.env.Kill,
		Start: func(cmd *exec.Cmd) (shell.Started, error) {
			started, err := c.session.opt.Sandbox.Start(cmd, confine.Line{Place: permission.PlaceDiscarded, Exec: true})
			confined = started
			return started, err
		}}
	end, err := run.Run(ctx)
	if err != nil {
		return "", err
	}
	ok := end.Exit == shell.Exit{} && end.Stop == shell.StopNone
	hidden := c.session.hiddenFrom(confined, cmd.Dir, line, string(end.Output), !ok)
	changes, err := confined.Changes(ctx)
	if err == nil {
		err = changes.Discard(true)
	}
	if err != nil {
		return "", errors.Join(errors.New("its layer could not be thrown away"), err)
	}
	said := strings.TrimSpace(string(end.Output))
	if len(said) > maxFindings {
		said = text.Clip(said, maxFindings) + "\n(and more)"
	}
	if !ok && len(hidden) > 0 {
		said = strings.TrimPrefix(said+"\nconfined: "+strings.Join(hidden, "; "), "\n")
	}
	switch {
	case end.Stop == shell.StopTimeout:
		return fmt.Sprintf("ended after %s\n%s", checkLimit, said), nil
	case !ok:
		return fmt.Sprintf("%s\n%s", exitWords(end), said), nil
	}
	return said, nil
}

const (
	maxProblems = 10
	maxLooked   = 5 // files of one call that language servers look at
)

// showServers gives the language servers the files as they are before a call writes them: errors that they have already
// are not reported.
func (c *calls) showServers(p *pending) {
	if c.session.opt.Env.LSP == nil || p.tool.Kind != tool.KindWrite {
		return
	}
	for _, path := range p.call.Access.Paths[:min(len(p.call.Access.Paths), maxLooked)] {
		if text, err := c.session.opt.Env.Files.Source(path); err == nil { // a new file holds nothing
			c.session.opt.Env.LSP.Before(path, text)
		}
	}
}

// askServers adds to a call's result the problems that language servers have found since.
func (c *calls) askServers(ctx context.Context, p *pending, result *tool.Result) {
	if c.session.opt.Env.LSP == nil {
		return
	}
	found := c.session.opt.Env.LSP.Late()
	if p.tool.Kind == tool.KindWrite && !result.IsError {
		for _, path := range p.call.Access.Paths[:min(len(p.call.Access.Paths), maxLooked)] {
			text, err := c.session.opt.Env.Files.Source(path)
			if err != nil { // deleted
				continue
			}
			if f := c.session.opt.Env.LSP.After(ctx, path, text); f != nil {
				found = append(found, *f)
			}
		}
	}
	for _, f := range found {
		result.Text += c.problemText(f)
	}
}

func (c *calls) problemText(f lsp.Found) string {
	name := f.Path
	if place, err := c.session.opt.Env.Files.Resolve(f.Path, false); err == nil {
		name = place.Display
	}
	what := "new problems in"
	if f.Old {
		what = "errors, perhaps old ones, in"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n[%s: %s %s:\n", f.Server, what, name)
	for _, p := range f.Problems[:min(len(f.Problems), maxProblems)] {
		fmt.Fprintf(&b, "%s\n", text.Clip(p.String(), 400))
	}
	if more := len(f.Problems) - maxProblems; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n") + "]"
}
