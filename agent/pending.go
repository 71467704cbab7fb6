package agent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/telemetry"
	"artoo/tool"
	"artoo/tool/journal"
	"artoo/tool/shell"
	"artoo/tool/text"
)

// pending is one call on its way to its one result.
type pending struct {
	call    Call
	tool    *tool.Tool
	wire    string // the name by which the model called
	result  provider.ToolResult
	outcome CallResult
	reads   bool       // it changes nothing
	asked   bool       // the user was asked about it
	final   bool       // the outcome is, the call does not run
	edited  string     // how the user changed the input, for the model
	paged   bool       // the tool kept to the limit of a page itself
	apart   bool       // it is no part of the conversation
	todo    []TodoItem // the plan that it set; nil for none

	printed *string // the output alone of a command that has ended; nil for none

	opinion     permission.Opinion // the hooks before the call gave it
	hookContext []string           // the hooks' texts for the model
	halt        error              // A hook denied the call and ends the turn; nil otherwise.
	answeredBy  string             // the hook that answered a question about the call; "" for none

	answered string  // The user answered this to a question of the model; "" for nothing.
	refusal  *string // why it was denied, "" for no reason; nil where it was not

	asks       *prompter // All calls of a reply share it.
	decision   permission.Decision
	mode       permission.Mode  // The decision was made in this mode.
	confined   confine.Confined // the command, once it was started confined
	made       *madeGuarded     // It watches for auto-executed files that the command makes on the project itself; nil elsewhere.
	refused    error            // why it could not be started where it was decided
	live       *liveOutput      // shows its output while it runs
	job        *shell.Job       // the command that it left running in the background; nil for none
	kept       bool             // a step of the journal ends with it
	landed     func()           // has others count their changes again; nil before it counted its own
	ownChanges func()           // marks the changes so far as made by the call; nil for none
	run        *callRun         // its goroutine; nil before it runs

	span *telemetry.Span // nil before it is executed

	stop           error              // the answer to a question about its changes ends the turn
	whole          permission.Verdict // whether a background command may write the whole project; "" before that is asked
	denialNotified bool               // model and user know the paths it may not write
}

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

type repeat struct {
	result   [sha256.Size]byte
	failed   bool
	times    int // It counts equal results in a row.
	last     time.Time
	notified bool // the model was
}

// repeats are a turn's calls by name and input.
type repeats map[string]*repeat

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

// calls prepares, executes and finishes the calls of one turn.
type calls struct {
	session    *session
	cb         *serial
	response   *Response
	keeper     *keeper
	background *backgroundCalls
	own        *turn
	env        *tool.Env // The calls run in it.
	repeats    repeats
	loose      sync.Once // It guards the notice that reading commands run unconfined.
	unchecked  sync.Once // It guards the notice that checks do not run.
}

type callRun struct {
	done    chan ended  // holds the end
	decided atomic.Bool // it came in time, or the turn no longer waits for it
	stop    atomic.Pointer[error]
}

// endTurn has the turn end with an error after the call, unless that is given up. It is called while
// the tool runs, on any goroutine.
func (r *callRun) endTurn(err error) { r.stop.Store(&err) }

type ended struct {
	result tool.Result
	err    error
	took   time.Duration
	// skipped is why it did not run.
	skipped error
}

func (p *pending) denial(reason string, nobody bool) Denial {
	return Denial{Tool: p.tool.Name, Object: p.call.Access.Object, Reason: reason, Nobody: nobody}
}

// prompter asks the questions of one reply, one by one, numbered.
type prompter struct {
	calls      *calls
	number, of int
}

func isTask(t *tool.Tool) bool { return t != nil && t.ByLoop() && t.Name == "task" }

func rowsOf(e permission.Effects) string { return text.UpTo(mostNamed, e.Short()) }

// mostNamed is how many of the changes are named in a line of text.
const mostNamed = 20

// backgroundCalls are calls whose command goes on in the background, or has ended there unseen.
type backgroundCalls struct {
	mu    sync.Mutex
	calls []*pending

	watches   sync.WaitGroup // Watches end with the background commands that they look after.
	abandoned sync.WaitGroup // calls that run, or were given up and are still being killed
}

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
