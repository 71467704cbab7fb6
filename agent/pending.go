package agent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/journal"
	"artoo/tool/text"
)

// commandReads reports whether a call runs a command that only reads, unasked, and ends with it.
func (p *pending) commandReads() bool {
	return !p.final && p.tool.Kind == tool.KindRun && p.call.Access.Kind == tool.KindRun && !p.call.Access.Background &&
		p.decision.Verdict == permission.Run && p.reads
}

// commandChanges reports whether a call runs a command that may change something.
func (p *pending) commandChanges() bool {
	return p.tool != nil && p.tool.Kind == tool.KindRun && !p.final && !p.reads
}

// onlyReads reports whether a tool changes nothing, whatever it is called with.
func onlyReads(t *tool.Tool) bool {
	return t != nil && !t.ByLoop() && (t.Kind == tool.KindRead || t.Kind == tool.KindNone)
}

// changesHere reports whether a call may change files, or the basis of decisions over other calls.
func (p *pending) changesHere() bool {
	elsewhere := p.call.Access.Kind == tool.KindServer && (p.call.Access.Reads || !p.call.Access.Local)
	return !p.final && !onlyReads(p.tool) && !isTask(p.tool) && p.tool.Kind != tool.KindNetwork && !elsewhere && !p.commandReads()
}

func newPending(calls []provider.ToolCall, i int) *pending {
	return &pending{wire: calls[i].Name, call: Call{ToolCall: calls[i], Index: i, Of: len(calls), Access: tool.Access{Verb: calls[i].Name}}}
}

func (p *pending) end(r CallResult) {
	p.outcome, p.final = r, true
}

func (p *pending) fail(summary, text string) {
	p.end(CallResult{Status: CallFailed, Summary: summary, Text: text})
}

func (p *pending) crashed(err error) { p.fail(firstLine(err.Error()), err.Error()) }

func (p *pending) interrupted(why error) {
	text := fmt.Sprintf("interrupted: not run, since the turn was stopped (%v)", why)
	p.end(CallResult{Status: CallInterrupted, Summary: "not run", Text: text})
}

func outcomeOf(ctx context.Context, r tool.Result, err error, took time.Duration) CallResult {
	out := CallResult{Status: CallOK, Text: r.Text, Summary: r.Summary, Duration: took.Seconds()}
	switch {
	case ctx.Err() != nil && (err != nil || r.IsError):
		out.Status, out.Summary = CallInterrupted, "interrupted"
		out.Text = strings.TrimSpace("interrupted: the turn was stopped while this ran\n" + r.Text)
	case err != nil:
		out.Status, out.Text = CallFailed, err.Error()
		out.Summary = firstLine(err.Error())
	case r.IsError:
		out.Status = CallFailed
		said := r.Text
		if r.Printed != nil { // The summary says how the command ended.
			said = *r.Printed
		}
		if tail := lastLines(said, 5); tail != r.Summary {
			out.Tail = tail
		}
	}
	return out
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// effect is that of a call, for when the call is no longer sent; nil for none.
func (p *pending) effect(s *session) *provider.Effect {
	if decided := p.decided(s); decided != "" {
		return &provider.Effect{Decided: decided}
	}
	if p.final {
		return nil
	}
	a := p.call.Access
	switch {
	case a.Kind == tool.KindRun && a.Command != "" && a.To == "":
		end, _, _ := strings.Cut(p.outcome.Summary, " in ") // how long it took is no longer of use
		return &provider.Effect{Command: s.masked(a.Command), End: end}
	case a.Kind == tool.KindWrite && p.outcome.Status == CallOK && len(a.Paths) > 0:
		return &provider.Effect{Files: s.namesOf(a.Paths)}
	}
	return nil
}

// decided is the user's decision on a call, "" for none.
func (p *pending) decided(s *session) string {
	switch {
	case p.outcome.Status == CallDenied && p.refusal != nil:
		return s.masked(firstLine(p.call.Access.Object)) + " was refused" + because(firstLine(*p.refusal))
	case p.outcome.Status != CallOK:
		return ""
	}
	return s.masked(p.answered)
}

// How often one call may have one result. A failing call that is repeated gets a remark for the
// model first, and ends the turn then. Another one gets the remark once.
const (
	tellRepeats = 3
	stopRepeats = 6
	tellSame    = 5
)

// A call that takes so long, or is made again after so long, waits for something.
const (
	waitsItself  = time.Second
	waitsBetween = 20 * time.Second
)

func (p *pending) key() string { return p.call.Name + "\x00" + string(p.call.Input) + p.call.Raw }

// sumOf is the checksum of a text, which is not copied for it: it may be very long.
func sumOf(text string) (sum [sha256.Size]byte) {
	h := sha256.New()
	// Write of a hash cannot fail. The wrapper hides WriteTo, which would copy the text.
	_, _ = io.Copy(h, struct{ io.Reader }{strings.NewReader(text)})
	h.Sum(sum[:0])
	return sum
}

// count counts a call that ended, and returns the note for the model. A change by another
// call, or another result, starts the count again.
func (r repeats) count(p *pending) string {
	if p.outcome.Status == CallInterrupted {
		return ""
	}
	key, failed, result := p.key(), p.outcome.Status != CallOK, sumOf(p.outcome.Text)
	if !failed && !p.reads {
		for other := range r {
			if other != key {
				delete(r, other)
			}
		}
	}
	this := r[key]
	if this == nil || this.failed != failed || this.result != result {
		this = &repeat{result: result, failed: failed}
		r[key] = this
	}
	this.times++
	waits := p.outcome.Duration >= waitsItself.Seconds() || this.times > 1 && time.Since(this.last) >= waitsBetween
	this.last = time.Now()
	switch {
	case !failed && this.times >= tellSame && !this.notified:
		this.notified = true
		return fmt.Sprintf(
			"This very call has now given the same result %d times. It says nothing new until something changes.",
			this.times)
	case failed && waits && this.times >= tellRepeats:
		n := this.times
		this.times = tellRepeats - 1 // it may be waiting for something: that ends by itself
		if this.notified {
			return ""
		}
		this.notified = true
		return fmt.Sprintf("This very call has now failed %d times with the same result. "+
			"If you are waiting for something, look whether it can still come.", n)
	case failed && this.times >= tellRepeats:
		return fmt.Sprintf("This very call has now failed %d times with the same result. "+
			"Do something else, or say what is in the way; to wait for something, put a sleep before the call.", this.times)
	}
	return ""
}

func (r repeats) over(batch []*pending) error {
	for _, p := range batch {
		if this := r[p.key()]; this != nil && this.failed && this.times >= stopRepeats {
			return capFailure(
				fmt.Sprintf("the model made the same call of %s %d times in a row, and it failed in the same way each time",
					p.call.Name, stopRepeats), "another message that says what to do instead")
		}
	}
	return nil
}

// readsAlone reports whether a call's command runs read-only because it only reads. Another one
// is tried so.
func (p *pending) readsAlone() bool {
	return p.decision.Place == permission.PlaceReadOnly && !p.decision.Has(permission.TriedFirst)
}

// policy has the call decided. The error is a crash.
func (c *calls) policy(p *pending) (err error) {
	p.decision, err = guard(func() (permission.Decision, error) {
		return c.session.opt.Policy.Decide(p.tool.Name, p.call.Access).Heeding(p.opinion, c.session.opt.Policy.Mode), nil
	})
	if rule := p.decision.Narrow; c.session.masked(rule) != rule { // It would be shown, and kept in a file.
		p.decision.Narrow, p.decision.Suggested = "", ""
	}
	p.mode = c.session.opt.Policy.Mode
	p.reads = onlyReads(p.tool) || p.readsOnServer() || p.readsAlone() || p.decision.Has(permission.ReadsOnly)
	return err
}

func (c *calls) plan(ctx context.Context, p *pending) {
	fits := true
	access, err := guard(func() (tool.Access, error) {
		if err := p.tool.Check(p.call.Input); err != nil {
			fits = false
			return tool.Access{}, err
		}
		p.call.Input = p.tool.Repair(p.call.Input) // Hooks, questions and events name properties as the tool does.
		return p.tool.Plan(ctx, c.session.opt.Env, p.call.Input)
	})
	if access.Verb != "" {
		p.call.Access = access
		p.call.Access.Diff = c.session.maskedDiff(access.Diff)
	}
	switch {
	case !fits:
		p.fail("broken input", err.Error())
	case err != nil:
		p.fail(firstLine(err.Error()), err.Error())
		return
	}
	p.call.Access.ToConfined = c.background.confines(access.To)
	if err := c.policy(p); err != nil {
		p.fail(firstLine(err.Error()), err.Error())
	}
}

// readsOnServer reports whether a call is one of a server's tool that the user lists as reading.
func (p *pending) readsOnServer() bool {
	return p.call.Access.Kind == tool.KindServer && p.call.Access.Reads
}

func (p *pending) denial(reason string, nobody bool) Denial {
	return Denial{Tool: p.tool.Name, Object: p.call.Access.Object, Reason: reason, Nobody: nobody}
}

func isTask(t *tool.Tool) bool { return t != nil && t.ByLoop() && t.Name == "task" }

func rowsOf(e permission.Effects) string { return text.UpTo(mostNamed, e.Short()) }

func (l *backgroundCalls) add(p *pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, p)
}

func (l *backgroundCalls) confines(line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return line != "" && slices.ContainsFunc(l.calls, func(p *pending) bool { return p.job.Line == line && p.confined != nil })
}

// ended removes those that have ended.
func (l *backgroundCalls) ended() (calls []*pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = slices.DeleteFunc(l.calls, func(p *pending) bool {
		if !p.job.Runs() {
			calls = append(calls, p)
			return true
		}
		return false
	})
	return calls
}

func (l *backgroundCalls) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.calls, func(p *pending) bool { return !p.job.Runs() })
}

func (l *backgroundCalls) running() []*pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.calls), func(p *pending) bool { return !p.job.Runs() })
}

// keepIn has the files that these commands make moved into another journal; see madeGuarded.
func (l *backgroundCalls) keepIn(j *journal.Journal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.calls {
		if p.made != nil {
			p.made.keepIn(j)
		}
	}
}

// protectRunning protects the files that a landing replaced from background commands.
func (b *backgroundCalls) protectRunning(cb *serial) {
	for _, p := range b.running() {
		if p.confined == nil {
			continue
		}
		if err := p.confined.Protect(); err != nil {
			cb.notice(NoticeWarning, "background command "+p.job.ID+" may write files that programs run automatically: "+err.Error())
		}
	}
}
