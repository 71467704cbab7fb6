package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/shell"
)

// left are calls whose command goes on in the background, or has ended there and was
// not looked at yet.
type left struct {
	mu    sync.Mutex
	calls []*pending
}

func (l *left) add(p *pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, p)
}

// confines reports whether the command that runs by this line is confined.
func (l *left) confines(line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return line != "" && slices.ContainsFunc(l.calls, func(p *pending) bool { return p.job.Line == line && p.confined != nil })
}

// ended takes those that have ended.
func (l *left) ended() (calls []*pending) {
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

// hasEnded reports whether one has ended that ended would take.
func (l *left) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.calls, func(p *pending) bool { return !p.job.Runs() })
}

// running are those that go on.
func (l *left) running() []*pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.calls), func(p *pending) bool { return !p.job.Runs() })
}

// BackgroundCommand is a command that goes on after its call.
type BackgroundCommand struct {
	ID, Line string
	Began    time.Time
	Runs     bool
	End      string // how it ended, in words; "" while it runs
}

// Background lists the background commands of the present session, in the order in
// which they began.
func (a *Agent) Background() (list []BackgroundCommand) {
	if a.opt.Env.Jobs == nil {
		return nil
	}
	for _, j := range a.opt.Env.Jobs.List() {
		c := BackgroundCommand{ID: j.ID, Line: a.masked(j.Line), Began: j.Begun, Runs: j.Runs()}
		if !c.Runs {
			c.End = builtin.HowItEnded(j.Result())
		}
		list = append(list, c)
	}
	return list
}

// beginBackground lets commands go on in the background, where the model has the tool
// that watches them.
func (a *Agent) beginBackground() {
	if slices.ContainsFunc(a.opt.Tools, func(t tool.Tool) bool { return t.Name == "shell" }) {
		a.opt.Env.Jobs = &shell.Jobs{Keep: a.keepOutput}
	}
}

// EndBackground ends the background commands of the present session, and says which.
// What is on their layers is discarded, and named: no one is asked any more.
func (a *Agent) EndBackground() { a.endBackground(a.notify) }

func (a *Agent) endBackground(notify func(text string)) (discarded []Denial) {
	if a.opt.Env.Jobs == nil {
		return nil
	}
	var names []string
	for _, j := range a.opt.Env.Jobs.Close() {
		names = append(names, fmt.Sprintf("%s (%s)", j.ID, a.masked(firstLine(j.Line))))
	}
	if len(names) > 0 {
		notify("stopped with the session: background command " + strings.Join(names, ", "))
	}
	a.watches.Wait()
	for _, p := range a.background.ended() {
		if p.made != nil {
			if err := guarded(func() { p.made.move(true) }); err != nil {
				notify(err.Error())
			}
		}
		lost, err := a.discard(p)
		if err != nil {
			notify(err.Error())
		}
		d, text := a.discardOf(p, lost, "the session ended before they were judged", false)
		if d == nil {
			continue
		}
		notify(a.masked(firstLine(p.job.Line)) + ": " + text)
		discarded = append(discarded, *d)
	}
	a.beginBackground()
	return discarded
}

// once reports whether the agent is sent one message alone: in a headless run, and as a
// sub-agent.
func (a *Agent) once() bool {
	w := a.opt.Workspace
	return a.parent != nil || w != nil && w.Headless
}

// endOnce ends the background commands of an agent that is sent one message alone. Those
// lines on a layer that have ended are judged.
func (t *turn) endOnce(ctx context.Context) error {
	if !t.once() {
		return nil
	}
	_, err := t.settleBackground(ctx)
	t.response.Denied = append(t.response.Denied,
		t.endBackground(func(text string) { t.notice(NoticeWarning, text) })...)
	return err
}

// settleBackground looks at the background commands that have ended: what they made
// for others to run is asked about. One that goes on may have met a wall. It returns what
// the model is to be told, "" for nothing; the error ends the turn.
func (t *turn) settleBackground(ctx context.Context) (said string, err error) {
	if ctx.Err() != nil {
		return "", nil
	}
	for _, p := range t.background.ended() {
		how := builtin.HowItEnded(p.job.Result())
		told := !p.job.Tell()
		if !told {
			said += fmt.Sprintf("[background command %s has ended: %s: %s]\n", p.job.ID, how, firstLine(p.job.Line))
		}
		job, result := p.job, tool.Result{}
		result.IsError = p.decision.Place == permission.PlaceBackground && builtin.Failed(job.Result())
		p.asks = &asker{turn: t}
		err = cmp.Or(err, t.settle(ctx, p, &result))
		said += result.Text
		if !told || result.Summary != "" {
			t.notice(NoticeInfo, fmt.Sprintf("background command %s has ended: %s%s", job.ID, how, result.Summary))
		}
		if p.job != nil && p.job != job {
			t.background.add(p)
		}
	}
	for _, p := range t.background.running() {
		if p.confined == nil || err != nil {
			continue
		}
		var result tool.Result
		p.asks = &asker{turn: t}
		err = t.offerWhole(ctx, p, &result)
		said += result.Text
	}
	return t.masked(said), err
}

// protectRunning has background commands held from files that were replaced.
func (t *turn) protectRunning() {
	for _, p := range t.background.running() {
		if p.confined == nil {
			continue
		}
		if err := p.confined.Protect(); err != nil {
			t.notice(NoticeWarning, "background command "+p.job.ID+" may write files that programs run automatically: "+err.Error())
		}
	}
}

// takeBackground notes what a call left in the background; its result tells
// which commands have ended meanwhile.
func (t *turn) takeBackground(ctx context.Context, p *pending) {
	if p.job != nil {
		t.background.add(p)
	}
	if p.outcome.Status == CallOK && p.call.Access.Kind == tool.KindWrite {
		t.approved.add(p.call.Access.Paths...)
	}
	said, err := t.settleBackground(ctx)
	p.stop = cmp.Or(p.stop, err)
	if said != "" {
		p.outcome.Text = strings.TrimRight(p.outcome.Text, "\n") + "\n" + said
	}
}

// noteBackground has the model told, with the user's message, of commands that ended
// since the last turn.
func (t *turn) noteBackground(ctx context.Context) error {
	said, err := t.settleBackground(ctx)
	if said != "" {
		t.unsent = append(t.unsent, provider.Text{Note: provider.NoteBackground,
			Text: "(In the background: " + strings.TrimSuffix(said, "\n") + ")"})
	}
	return err
}

// HasEnded reports whether a background command has ended that was not looked at yet.
func (a *Agent) HasEnded() bool { return a.background.hasEnded() }

// Settle judges the background commands that have ended between two turns. The model
// learns of it with the user's next message. The error is as of Send.
func (a *Agent) Settle(ctx context.Context, cb Callbacks) error {
	t, ctx := a.begin(ctx, cb)
	defer t.end()
	return t.noteBackground(ctx)
}

// stillRunning tells the user, when a turn was stopped, what it does not end.
func (t *turn) stillRunning() {
	n := 0
	for _, c := range t.Background() {
		if c.Runs {
			n++
		}
	}
	if n > 0 && !t.once() {
		t.notice(NoticeInfo, count(n, "background command")+" still running; /status lists them")
	}
}

// keepOutput opens the file for the output of a background command.
func (a *Agent) keepOutput(id string) (io.WriteCloser, string, error) {
	dir := a.OutputDir()
	if dir == "" {
		return nil, "", nil
	}
	name := filepath.Join(dir, "background-"+id+"-"+rand.Text()[:6]+".txt")
	return &maskedFile{name: name, mask: a.masked}, name, nil
}

// maskedFile is a file that is made when the first text comes, and holds marks in
// place of keys.
type maskedFile struct {
	name string
	mask func(string) string
	file *os.File
	held string // what may be the beginning of a key
}

// Write implements io.Writer.
func (f *maskedFile) Write(p []byte) (int, error) {
	text := f.held + string(p)
	cut := maskable(text)
	f.held = text[cut:]
	return len(p), f.write(text[:cut])
}

func (f *maskedFile) write(text string) (err error) {
	if text == "" {
		return nil
	}
	if f.file == nil {
		if f.file, err = os.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
	}
	_, err = f.file.WriteString(f.mask(text))
	return err
}

// Close implements io.Closer.
func (f *maskedFile) Close() error {
	err := f.write(f.held)
	if f.file == nil {
		return err
	}
	return f.file.Close()
}
