package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/text"
)

// run gives every call of a reply exactly one result, in the model's order. Neighbouring calls that
// only read run side by side. All are prepared first, to number the questions, and once more only
// where a call or a question before them may have changed the state they see.
func (c *calls) run(ctx context.Context, calls []provider.ToolCall) error {
	all := c.prepareAll(ctx, calls)
	stale := c.session.parent != nil // Other sub-agents may change the files that were seen.
	for i := 0; i < len(all); {
		batch := all[i : i+sideBySide(all[i:])]
		stop, lost := c.runBatch(ctx, calls, batch, stale)
		i += len(batch)
		stale = stale || slices.ContainsFunc(batch, func(p *pending) bool { return p.asked || !p.final && !p.reads })
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
	}
	if json.Valid([]byte(raw)) && strings.HasPrefix(raw, "{") && why == "is not a JSON object" {
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
		e.result.Text += "[" + why + "]\n"
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
	if p.outcome.Status == CallOK {
		c.session.offerFor(c.cb, p.call.Access.Paths)
	}
	c.afterServer(p)
	if c.session.guide != nil && p.outcome.Status == CallOK {
		p.outcome.Text += c.session.guide(p.call.Access.Paths)
	}
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
