// Package prompt reads typed lines from a terminal: ReadLine reads a message, Ask the answer to a question,
// Close gives the terminal back. It knows nothing of agents. The line is a RuneBuffer of chzyer/readline,
// which holds the text and the cursor, and inserts. The library's reader and painter are not used: they
// take a pasted line end for Enter and the end of the input for a sent line, stop the parent process at
// Ctrl-Z, count a wide character as one cell, and write the whole line again for every key.
// TestDefectsOfTheBuffer shows why other methods of the buffer are not used: they take characters apart,
// know ASCII words only, cross line ends, or panic.
package prompt

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"
)

// Device is where the user sits.
type Device struct {
	// In is where lines are read; an *os.File where it is a terminal. Nothing else may read it
	// before Close.
	In io.Reader
	// Tty is the terminal's output for children; nil where there is none.
	Tty *os.File
	// Far is the output to the terminal that In reads, where it is at the other end of an ssh connection; else nil.
	Far *Output
}

// Options name the source of lines and the caller's funcs for keys and events. In and Screen
// have to be set.
type Options struct {
	Device
	Screen Screen
	// Size is the terminal's columns and rows, asked before each drawing; nil
	// means 80 and 24. Absurd sizes do no harm.
	Size func() (cols, rows int)
	// Env looks up variables about the terminal; nil knows none.
	Env    func(name string) string
	Plain  bool // lines come as the terminal gives them, and its modes stay as they are
	Spoken bool // a screen reader reads the terminal: nothing is drawn over
	// Lines takes any streams: one line is one message, and a question is answered by the
	// next line that comes after it was shown.
	Lines   bool
	ViKeys  bool   // vi's keys instead of emacs'
	History string // the path of the history file; "" keeps none
	Clock   Clock
	// Complete lists completions for Tab; nil proposes nothing. The prompt's goroutine calls it.
	Complete Completer
	// Queued hears of each line that came before it was wanted, on the prompt's goroutine, and
	// reports whether it dealt with it; nil keeps every line.
	Queued func(q *Queue, l Line) bool
	// Output shows the output of a running command (Ctrl-O), on the prompt's goroutine, and
	// reports whether there is one; nil shows nothing.
	Output func() bool
	// Skip ends a wait that a Ctrl-C ends without ending the turn, on the prompt's goroutine, and
	// reports whether there was one; with nil every Ctrl-C is for the turn.
	Skip func() bool
	Ending
}

// Ending is how the process ends where its caller cannot end it.
type Ending struct {
	// Crash hears of a panic after the terminal was given back, with the value and its trace,
	// on any goroutine, and has to end the program. nil lets the panic end it.
	Crash func(value any, stack []byte)
	// Quit ends the program after a SIGQUIT, on the prompt's goroutine; nil dies of the signal.
	Quit func()
	// Kill kills commands that still run, before Exit. Any goroutine calls it; nil kills nothing.
	Kill func()
	// Exit ends the process with a code when a signal cannot; nil leaves it to hang.
	Exit func(code int)
}

// Screen is the screen around the line: all output goes through it. From Prompt to
// PromptDone or PromptErased the last rows belong to the line. Any goroutine may call it.
type Screen interface {
	// Prompt begins the line, after text, which is safe to show.
	Prompt(text string)
	// PromptDone says that the cursor stands below the finished line.
	PromptDone()
	// PromptErased says that the line's rows were taken away.
	PromptErased()
	// Draw writes bytes as they are.
	Draw(p []byte)
	// Note prints a remark, Trouble one about what failed, Line text from column 0.
	Note(text string)
	Trouble(text string)
	Line(text string)
	// Pause keeps the progress line away until Resume.
	Pause()
	Resume()
}

// Clock is where the timing rules take the time from; nil funcs mean the real one.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// OrReal is the clock with the real one for each nil func.
func (c Clock) OrReal() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	return c
}

// Label is the text in front of a line. It must be safe to show.
type Label struct {
	Text string
	// Looks are the styles of its beginning, one behind the other.
	Looks []Look
	// Indent begins the further rows of it.
	Indent string
	Keys   int // how many bytes at its end are broken into rows only where they must be
}

// Look is the style of the next bytes of a label, as the sequence that begins it.
type Look struct {
	Bytes int
	SGR   string
}

// Question is a question whose answer is one line.
type Question struct {
	Label   Label
	Initial string // text to begin the answer with
	// Again prints the object of the question once more, and gives the label to ask with; nil
	// where nothing stands above.
	Again func() Label
	// IsAnswer reports whether a text that was typed too early would answer the question; it is
	// then dropped. nil keeps it for the next message.
	IsAnswer func(text string) bool
}

// Line is a line of a user or a script.
type Line struct {
	Text string
	// Action is the action of a key; Text is then the text of the line.
	Action Action
	// Literal says that the text begins with something pasted: it is no command.
	Literal bool
	Pasted  []Span // the pasted parts, in order
	// Burst says that a part of it was pasted, or that more came at once behind its
	// Enter: such an answer approves nothing.
	Burst bool
	// Early says that other input came before the question could be read and is no part of this
	// answer: an Enter alone may have been meant for that.
	Early  bool
	Queued bool // it came before it was wanted
	// Now says that the user wants it to reach the model at its next step, before the
	// turn ends.
	Now bool
}

// Whole reports whether the line is a message of its own, and no part of one that takes
// several lines.
func (l Line) Whole() bool {
	if l.Literal {
		return true
	}
	_, _, whole := compose(l.Text)
	return whole && !fenced(l.Text)
}

func block(text string) Line { return Line{Text: text, Literal: true, Pasted: Literal(text).Pasted} }

// Action is the action of a key other than sending a line. The caller carries it out and reads on, with the
// text as it was. During a turn and at a question these keys only beep; see Options.Output.
type Action uint8

const (
	Send       Action = iota // Enter: the line is a message
	Compose                  // Ctrl-G, Ctrl-X Ctrl-E: compose the text in the editor
	NextMode                 // Shift-Tab: the next approval mode
	LastOutput               // Ctrl-O: the last tool's whole output
	Rewind                   // Esc Esc on an empty line: take something back
)

// Span is a part of a text: the bytes from From to before To.
type Span struct{ From, To int }

// Draft is text for a line to begin with.
type Draft struct {
	Text   string
	Pasted []Span // the pasted parts, in order
}

// Literal is a draft that is taken as pasted, from its start to its end.
func Literal(text string) Draft { return Draft{text, []Span{{0, len(text)}}} }

func (d Draft) join(below Draft) Draft {
	switch {
	case d.Text == "":
		return below
	case below.Text == "":
		return d
	}
	at := len(d.Text) + 1
	joined := Draft{d.Text + "\n" + below.Text, slices.Clone(d.Pasted)}
	for _, s := range below.Pasted {
		joined.Pasted = append(joined.Pasted, Span{s.From + at, s.To + at})
	}
	return joined
}

// ErrInterrupted is Ctrl-C where a line was waited for.
var ErrInterrupted = errors.New("interrupted")

// SignalError ends a conversation.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return "killed by signal: " + e.Signal.String() }

// IsSignal reports whether err is a SignalError.
func IsSignal(err error) bool {
	_, is := errors.AsType[*SignalError](err)
	return is
}

// Open starts reading. Where the terminal's modes cannot be changed lines are not edited, and a
// note says so.
func Open(o Options) (*Prompt, error) {
	o.Clock, o.Size = o.Clock.OrReal(), saneSize(o.Size)
	if o.Quit == nil {
		o.Quit = func() { o.Screen.Trouble("error: " + DieOfQuit().Error()) }
	}
	in, err := startInput(o.Device, o.Clock.Now)
	if err != nil {
		return nil, err
	}
	signals, unwatch := watchSignals()
	p := &Prompt{
		opt: o, in: in, screen: o.Screen, signals: signals,
		calls: make(chan func()), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	p.queue.prompt = p
	file, isFile := o.In.(*os.File)
	tty := isFile && IsTerminal(file)
	p.typed = tty && !o.Lines
	lines := &plainReader{Prompt: p, tty: tty}
	if tty {
		lines.forget = func() error { return flushInput(file) }
	}
	p.reader = lines
	if p.typed && !o.Plain {
		if err := p.openKeyboard(file, in); err != nil {
			p.screen.Note("no line editing: " + err.Error())
		}
	}
	go p.run()
	unguard := p.watchdog()
	p.unwatch = func() { unwatch(); unguard() }
	return p, nil
}

func (p *Prompt) openKeyboard(file *os.File, in *input) error {
	modes, err := newTTYModes(file, forEditing)
	if err != nil {
		return err
	}
	history := &historyFile{path: p.opt.History, warn: p.screen.Note}
	old := history.load()
	if err := modes.enter(); err != nil {
		return err
	}
	p.modes = modes
	in.pace.listen()
	p.keys = newKeyboard(p, newEditor(old), history.add)
	p.reader = p.keys
	return nil
}

// Close ends reading and gives the terminal back.
func (p *Prompt) Close() error {
	p.unwatch()
	close(p.quit)
	<-p.ended
	// The pump goes first: a read that begins as the modes change back would
	// wait for a whole line.
	err := p.in.stop()
	if p.keys != nil {
		err = errors.Join(err, p.keys.close())
	}
	return err
}

// Edits reports whether lines are edited, and not taken as the terminal gives them.
func (p *Prompt) Edits() bool { return p.modes != nil }

// Typed reports whether a user types the lines.
func (p *Prompt) Typed() bool { return p.typed }

// ReadLine waits for the next message, queued or typed. It returns io.EOF when there will be
// none, ErrInterrupted for a Ctrl-C on an empty line, a *SignalError, or the cause of ctx.
func (p *Prompt) ReadLine(ctx context.Context, label Label, initial Draft) (Line, error) {
	l, err := p.wait(ctx, &request{label: label, initial: initial})
	if err != nil || p.Edits() || l.Literal { // an editor sends whole messages
		return l, err
	}
	for text := l.Text; ; {
		message, rest, whole := compose(text)
		if whole {
			if l.Text = message; fenced(text) {
				queued := l.Queued
				l = block(message)
				l.Queued = queued
			}
			return l, nil
		}
		next, err := p.wait(ctx, &request{label: Label{Text: indent(label.Text)}})
		if err != nil {
			return Line{}, err // half a message is not sent
		}
		text = rest + next.Text
	}
}

// Ask waits for the answer to a question. Lines that came before it was shown are never
// taken. The errors are those of ReadLine.
func (p *Prompt) Ask(ctx context.Context, q Question) (Line, error) {
	return p.wait(ctx, &request{label: q.Label, initial: Draft{Text: q.Initial}, question: true, again: q.Again, isAnswer: q.IsAnswer})
}

// saneSize bounds the size that a terminal reports.
func saneSize(size func() (cols, rows int)) func() (int, int) {
	return func() (cols, rows int) {
		if size != nil {
			cols, rows = size()
		}
		if cols <= 0 {
			cols = 80
		}
		if rows <= 0 {
			rows = 24
		}
		return max(cols, 10), max(rows, 2)
	}
}
