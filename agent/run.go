package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/shell"
)

// interruptGrace is how long an interrupted call may take to end by itself
// before the turn goes on without it. The prompt has to be back within a
// second; a command that traps the signal is killed in the background.
const interruptGrace = 500 * time.Millisecond

// pending is one call on its way to its one result.
type pending struct {
	call    Call
	tool    *tool.Tool
	result  provider.ToolResult
	outcome CallResult
	reads   bool   // it changes nothing
	asked   bool   // the user was asked about it
	final   bool   // the outcome is, the call does not run
	edited  string // what the user changed the input to, for the model
	paged   bool   // the tool kept to the limit of a page itself

	refusal *string // why it was denied, "" for no reason; nil where it was not

	asks     *asker // of the reply that the call is in
	decision permission.Decision
	mode     permission.Mode    // in which that was decided
	confined Confined           // the command, once it was started confined
	made     *madeGuarded       // what it makes on the project itself that programs run or obey; nil elsewhere
	refused  error              // why it could not be started where it was decided
	live     *liveOutput        // shows what it prints while it runs
	job      *shell.Job         // the command that it left running in the background; nil for none
	stop     error              // the answer to a question about what it did ends the turn
	whole    permission.Verdict // whether a background command may write the whole project; "" before that is asked
	told     bool               // model and user know what it may not write
	work     *work              // of the sub-agent that it is for; nil for none
}

// runCalls gives every call of a reply exactly one result, in the model's
// order. Neighbouring calls that only read run side by side; the others one
// after another. All are planned first, which tells how many questions there will
// be, and once more only where a call or a question before them may have changed
// what they see.
func (t *turn) runCalls(ctx context.Context, calls []provider.ToolCall) error {
	all := t.prepareAll(ctx, calls)
	stale := t.parent != nil // other sub-agents may change what was seen
	for i := 0; i < len(all); {
		batch := all[i : i+t.sideBySide(all[i:])]
		stop, lost := t.takeBatch(ctx, calls, batch, stale)
		i += len(batch)
		stale = stale || slices.ContainsFunc(batch, func(p *pending) bool { return p.asked || !p.final && !p.reads })
		if stop == nil {
			stop = context.Cause(ctx)
		}
		if stop == nil && lost == nil {
			stop = t.repeats.over(batch)
		}
		// A result that could not be kept ends the turn like an interrupt.
		if stop = errors.Join(stop, lost); stop != nil {
			return withLost(stop, t.skip(calls, i, stop))
		}
	}
	return nil
}

// prepareAll plans all calls of a reply, which have one asker.
func (t *turn) prepareAll(ctx context.Context, calls []provider.ToolCall) []*pending {
	defer t.alone(ctx)()
	asks := &asker{turn: t}
	all := make([]*pending, len(calls))
	for i := range calls {
		p := t.prepare(ctx, calls, i)
		if p.asks = asks; !p.final && p.decision.Verdict == permission.Ask {
			asks.of++
		}
		all[i] = p
	}
	return all
}

// takeBatch decides over calls that run together, and runs them; stale says that they
// are planned again. stop ends the turn; lost is of the first result that could not be
// kept.
func (t *turn) takeBatch(ctx context.Context, calls []provider.ToolCall, batch []*pending, stale bool) (stop, lost error) {
	free := t.alone(ctx)
	defer free() // also after a crash of a sub-agent, which is an error of its parent's call
	for _, p := range batch {
		if stale {
			asks := p.asks
			*p = *t.prepare(ctx, calls, p.call.Index)
			p.asks = asks
		}
		switch {
		case p.final:
		case isTask(p.tool):
			t.number(p)
		case p.tool.ByLoop() && p.tool.Name == "todo":
			t.sayTodo(p)
		}
		t.cb.OnToolCall(p.call)
	}
	for _, p := range batch {
		if err := t.decide(ctx, p, stop); err != nil {
			stop = err
		}
	}
	if !slices.ContainsFunc(batch, changesHere) {
		free()
	}
	lost = t.runBatch(ctx, batch)
	for _, p := range batch {
		stop = cmp.Or(stop, p.stop)
	}
	return stop, lost
}

// sideBySide is how many of the next calls run together: one, or all that read or
// are work for sub-agents.
func (t *turn) sideBySide(next []*pending) (n int) {
	for n < len(next) && (onlyReads(next[n].tool) || isTask(next[n].tool) || t.commandReads(next[n])) {
		n++
	}
	return max(n, 1)
}

// commandReads reports whether a call runs a command that only reads, unasked, and
// ends with it.
func (t *turn) commandReads(p *pending) bool {
	if p.final || p.tool.Kind != tool.KindRun || p.call.Access.Kind != tool.KindRun || p.call.Access.Background {
		return false
	}
	return p.decision.Verdict == permission.Run && p.reads
}

// onlyReads reports whether a tool changes nothing, whatever it is called with.
func onlyReads(tool_ *tool.Tool) bool {
	return tool_ != nil && !tool_.ByLoop() && (tool_.Kind == tool.KindRead || tool_.Kind == tool.KindNone)
}

// changesHere reports whether a call may change something here: files, or what the
// decisions over other calls depend on.
func changesHere(p *pending) bool {
	return !p.final && !onlyReads(p.tool) && !isTask(p.tool) && p.tool.Kind != tool.KindNetwork
}

// alone waits until no sub-agent, nor the agent it works for, decides over a call or
// runs one that changes something: the journal and what layers start from hold for
// one at a time. The func lets the next one on, once; where ctx ends the wait there is
// nothing to let on.
func (t *turn) alone(ctx context.Context) (free func()) {
	select {
	case t.running <- struct{}{}:
		return sync.OnceFunc(func() { <-t.running })
	case <-ctx.Done():
		return func() {}
	}
}

// decide asks the policy, and the user if the policy says so. It returns the
// error that ends the turn, if there is one; the call has its outcome then.
func (t *turn) decide(ctx context.Context, p *pending, stop error) error {
	if stop == nil {
		stop = context.Cause(ctx)
	}
	if p.final {
		return nil
	}
	if stop != nil {
		p.interrupted(stop)
		return nil
	}
	if d := &p.decision; d.Verdict == permission.Ask && len(d.Keep) > 0 {
		lost, err := guard(func() (string, error) { return t.unsaved(d.Keep), nil })
		if err != nil {
			p.crashed(err)
			return nil
		}
		if lost == "" {
			d.Verdict = permission.Run
		} else {
			d.Reasons = append(d.Reasons, permission.Reason{Code: permission.NotKept, Object: lost})
		}
	}
	switch p.decision.Verdict {
	case permission.Run:
		return nil
	case permission.Ask:
		return p.asks.ask(ctx, p)
	}
	t.deny(p, p.decision.Reason(), false)
	return nil
}

// deny ends a call with a refusal that the model is told.
func (t *turn) deny(p *pending, reason string, nobody bool) {
	text := "Not run: this call was denied."
	status := CallDenied
	if nobody {
		text = "Not run: this call needs approval, and no one can answer (headless run). " +
			"Another way that needs no approval is welcome; report what is left."
		status = CallUnanswered
	}
	summary := "denied"
	if reason != "" {
		text, summary = text+" Reason: "+reason, summary+": "+firstLine(reason)
	}
	p.refusal = &reason
	p.end(CallResult{Status: status, Text: text, Summary: summary})
	t.response.Denied = append(t.response.Denied,
		Denial{Tool: p.tool.Name, Object: p.call.Access.Object, Reason: reason, Rule: p.decision.Narrow, Nobody: nobody,
			Code: p.decision.Cause()})
}

// runBatch runs the calls that have no outcome yet, one or several that read, and
// finishes all in their order, each as soon as those before it are. The error
// is of the first result that could not be kept.
func (t *turn) runBatch(ctx context.Context, batch []*pending) (lost error) {
	changes := func(p *pending) bool { return p.tool != nil && p.tool.Kind == tool.KindRun && !p.final && !p.reads }
	if len(batch) > 1 && slices.ContainsFunc(batch, changes) { // what it was planned on has changed since
		for i := range batch {
			lost = cmp.Or(lost, t.runBatch(ctx, batch[i:i+1]))
		}
		return lost
	}
	limit := t.opt.Concurrency
	if limit <= 0 {
		limit = 4
	}
	slots := make(chan struct{}, limit)
	ended := make([]chan struct{}, len(batch))
	for i, p := range batch {
		ended[i] = make(chan struct{})
		if p.final {
			close(ended[i])
			continue
		}
		// Counted here, on the turn's goroutine: Close may not wait before it.
		t.abandoned.Go(func() {
			defer close(ended[i])
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := guarded(func() { t.run(ctx, p) }); err != nil {
				p.crashed(err)
			}
		})
	}
	for i, p := range batch {
		<-ended[i]
		t.takeBackground(ctx, p)
		if err := t.finish(p); err != nil && lost == nil {
			lost = err
		}
	}
	if err := guarded(t.recordAfter); err != nil { // of a call that was decided and did not run
		t.notice(NoticeWarning, err.Error())
	}
	return lost
}

// run runs one call and waits for it, or, after an interrupt, for a moment.
func (t *turn) run(ctx context.Context, p *pending) {
	if cause := context.Cause(ctx); cause != nil {
		p.interrupted(cause)
		return
	}
	kept, err := t.keepBefore(ctx, p)
	if err != nil {
		p.fail("not run", "Not run: what it changes could not be kept beforehand, so it could not be undone: "+err.Error())
		return
	}
	defer t.sayQuestionMayFollow(p)()
	if files := t.opt.Env.Files; files != nil && p.call.Access.Kind == tool.KindRun {
		defer files.Seen.OwnChanges()()
	}
	t.showServers(p)
	began := time.Now()
	live := &liveOutput{call: p.call, cb: t.cb, mask: t.opt.Secrets.Mask}
	defer live.close()
	p.live = live
	e, ran := t.start(ctx, p)
	part := func(f func()) { // what the tool did stays done: a crash is said behind it
		if err := guarded(f); err != nil {
			e.result.Text += "\n[" + err.Error() + "]\n"
			e.result.IsError = true
		}
	}
	if kept { // before any question: what the user changes meanwhile is the user's
		part(t.recordAfter)
	}
	if ran && p.refused != nil {
		if e.result, e.err = t.unconfined(ctx, p); p.final {
			return
		}
	}
	p.job = e.result.Job
	onLayer := p.decision.Place == permission.PlaceLayer
	switch {
	case p.job != nil && onLayer:
		e.result.Text += "[its changes count once it has ended by itself; if it is ended before, they are discarded]\n"
	case p.job != nil: // it goes on
	case ran && e.err == nil:
		p.stop = cmp.Or(p.stop, t.settle(ctx, p, &e.result))
		if !e.result.IsError {
			part(func() { t.check(ctx, p, &e.result) })
		}
		part(func() { t.askServers(ctx, p, &e.result) })
	case ran:
		t.giveUp(p)
	case onLayer: // what it did is not known until it is killed
		why := "interrupted; its changes are discarded"
		e.result.Text += "[" + why + "]\n"
		t.response.Denied = append(t.response.Denied, Denial{Tool: p.tool.Name, Object: p.call.Access.Object, Reason: why})
	}
	live.close()
	e.result.Text = t.masked(e.result.Text)
	p.outcome = outcomeOf(ctx, e.result, e.err, time.Since(began))
	for _, img := range e.result.Images {
		p.result.Images = append(p.result.Images, provider.Image{MediaType: img.MediaType, Data: img.Data, Name: img.Name})
	}
	p.paged = e.result.Paged && e.err == nil
	if p.edited != "" {
		p.outcome.Text = p.edited + "\n\n" + p.outcome.Text
	}
}

// ended is how a tool's run came out.
type ended struct {
	result tool.Result
	err    error
}

// start starts a call's tool and waits for its end, or, after an interrupt, for a
// moment: then ran is false, and the tool is left to those who kill it.
func (t *turn) start(ctx context.Context, p *pending) (e ended, ran bool) {
	done := make(chan ended, 1)
	t.abandoned.Go(func() {
		env := t.environment(p)
		result, err := guard(func() (tool.Result, error) {
			if p.tool.ByLoop() {
				return t.runOwn(ctx, p)
			}
			return p.tool.Run(ctx, env, p.call.Input, p.live)
		})
		done <- ended{result, err}
	})
	select {
	case e = <-done:
		return e, true
	case <-ctx.Done():
	}
	grace := time.NewTimer(interruptGrace)
	defer grace.Stop()
	select {
	case e = <-done:
		return e, true
	case <-grace.C:
	}
	t.abandoned.Go(func() {
		if late := <-done; late.result.Job == nil {
			t.giveUp(p)
		}
	})
	return ended{err: context.Cause(ctx)}, false
}

// finish appends the call's one result to the conversation, and tells it. The
// result is told even when it could not be kept.
func (t *turn) finish(p *pending) error {
	if note := t.repeats.count(p); note != "" {
		p.outcome.Text += "\n\n" + note
	}
	if p.outcome.Status == CallOK {
		t.offerFor(p.call.Access.Paths)
	}
	if t.guide != nil && p.outcome.Status == CallOK {
		p.outcome.Text += t.guide(p.call.Access.Paths)
	}
	p.outcome.Text, p.outcome.Summary = t.masked(p.outcome.Text), t.masked(p.outcome.Summary)
	p.result.CallID, p.result.Name = p.call.ID, p.call.Name
	p.result.Text = p.outcome.Text
	p.result.Effect = t.effectOf(p)
	p.result.IsError = p.outcome.Status != CallOK
	if p.outcome.Status == CallFailed {
		t.response.ToolErrors++
	}
	counted := t.conclude(p)
	keep := t.conv.AppendToolResult
	if p.paged {
		keep = t.conv.AppendPage
	}
	kept, err := keep(p.result)
	p.outcome.Text, p.outcome.File = kept.Text, kept.File
	t.cb.OnToolResult(p.call, p.outcome)
	return errors.Join(err, counted)
}

// skip gives the calls from i on their results when the turn ends before them.
func (t *turn) skip(calls []provider.ToolCall, i int, why error) (lost error) {
	for ; i < len(calls); i++ {
		p := newPending(calls, i)
		p.interrupted(why)
		t.cb.OnToolCall(p.call)
		if err := t.finish(p); lost == nil {
			lost = err
		}
	}
	return lost
}

// guard turns a panic into an error: a tool's bug is the tool's error.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			crashed, stack := r, debug.Stack()
			if of, ok := r.(*panics.Recovered); ok { // a goroutine that it waited for
				crashed, stack = of.Value, of.Stack
			}
			err = &crash{crashed, preview(string(stack), 1500)}
		}
	}()
	return f()
}

// guarded is guard for what returns nothing; the error is a crash.
func guarded(f func()) error {
	_, err := guard(func() (none struct{}, err error) { f(); return none, nil })
	return err
}

// crash is a panic as an error.
type crash struct {
	value any
	where string // the first frames of the stack; more would only fill the context
}

// Error begins with a line that says what happened.
func (c *crash) Error() string { return fmt.Sprintf("this call crashed: %v\n%s", c.value, c.where) }
