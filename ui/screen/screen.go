// Package screen is the one door to the terminal. Everything a user sees goes
// through it, in a conversation and without one: answers to the first output,
// all the rest (calls, questions, status) to the second, both sanitised, in a
// scrolling transcript whose finished lines are never touched again. The words are
// the same on every terminal; colour, alignment and one progress line at the
// bottom are all that a rich one has more. There a style replaces a mark: headings
// and inline code lose theirs.
//
// The use of the libraries, and where they end:
//
//   - fatih/color has every style, see palette.go.
//   - spinner drives the progress line. It erases and writes the whole line for each frame,
//     colours the frame and counts its width in bytes, so gate draws only the changes instead
//     (TestASpinnerWritesWholeLines).
//   - glamour renders Markdown that arrives whole, on a rich terminal: plans, summaries, the
//     last exchange of a resumed session. It is taken where its rows have the text of an answer's,
//     and no sequence but the palette's passes.
//   - goldmark reads inline Markdown while an answer streams; text written there is never
//     touched again, which no renderer of whole texts can promise.
package screen

import (
	"encoding/base64"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/briandowns/spinner"
)

// Options describe the outputs and their styles.
type Options struct {
	Out io.Writer // takes answers; never nil
	Err io.Writer // takes all status; never nil
	// ErrFile is the terminal behind Err; without it no Spinner starts where stdout is a pipe.
	ErrFile *os.File
	// OutTTY and ErrTTY tell whether they are terminals, and then the same one. An Out that is
	// no terminal gets the answer's Markdown source, unsanitised: it is data there.
	OutTTY, ErrTTY bool
	// OutPipe says that Out is a pipe, as to tee, which may appear on Err's terminal: blank
	// lines set it apart there.
	OutPipe bool
	// OutColor and ErrColor come from ColorDecision.
	OutColor, ErrColor bool
	Palette            *Palette // how it looks; may be nil
	Profile            Profile
	UTF8               bool       // see UTF8Decision; status is ASCII when it is false
	Width              func() int // cells of a row, see WidthDecision; nil means 80

	// Conversation says that Err is read as a dialogue even when it is not a terminal.
	Conversation bool
	// Hold keeps a reply back until it is known to be the turn's last: text before tool calls
	// goes to Err. For a run without a conversation whose Out is not a terminal.
	Hold    bool
	Signs   Signs
	Links   bool // addresses of the web in answers can be clicked on, with Rich only
	Quiet   bool // nothing but questions and failures on Err
	Verbose bool // show the model's reasoning
	SSH     bool // the progress line changes once a second, not twice
	Status  StatusMode
	Root    string // absolute; paths below it are shown relative to it; may be ""
	Home    string // absolute; shown as ~; may be ""

	// Now and After are the clock: time.Now and time.AfterFunc when nil. After calls f once on
	// any goroutine unless stop was called before.
	Now   func() time.Time
	After func(d time.Duration, f func()) (stop func())
	// Spin starts a Spinner and returns a func that stops it; nil means its Start and Stop.
	Spin func(sp *spinner.Spinner) (stop func())
	// Broken is called once, on its own goroutine, with the first error of writing. May be nil.
	Broken func(error)
}

// Screen shows a transcript. It implements the reporting methods of agent.Callbacks. All
// methods may be called from any goroutine.
type Screen struct {
	opt    Options
	layout *layout

	mu         sync.Mutex // guards the rest
	transcript transcript
	alarm      alarm
}

// transcript is what stands on the terminal, and the work that its last lines show. It is used under the Screen's lock.
type transcript struct {
	opt    *Options
	layout *layout

	outputs  outputs
	last     section
	open     openReply
	reason   strings.Builder // the open line of reasoning
	work     work
	progress progress
	stops    []func() // stop the Spinners of lines that have ended

	lastRun string // id of the call whose start line is the last line
	named   string // id of the call that was named last, where calls are spoken
	tries   int    // how many the first retry of the request named
	paused  bool
	prompt  bool // the prompt is open
	// title and state are the signs that the terminal shows, from the banner on until Leave, while signed.
	title, state string
	signed       bool
	// queued are the rows of queued lines that wait for the end of a line.
	queued string
	questions
}

// questions is what is known of the questions of a transcript.
type questions struct {
	asking  bool
	askedAt time.Time
	// waited is the sum of the times that they stood open.
	waited time.Duration
	// explain reports whether one explains the sandbox in full, and counts it; nil means that each does.
	explain func() bool
	// explained is the last call whose question spoke of the sandbox; known says that the user knew it.
	explained string
	known     bool
}

// ExplainBy has f decide which questions explain the sandbox in full. It is called once for each.
func (s *Screen) ExplainBy(f func() bool) { s.do(func(t *transcript) { t.explain = f }) }

// layout makes rows of texts: it knows the outputs, and nothing of the turn.
type layout struct{ opt *Options }

// section is the last block on the terminal; it decides about blank lines.
type section int

const (
	nothing section = iota
	banner
	promptLine
	status
	answer
	// block are the rows that belong to a call, on a rich terminal.
	block
)

// New makes a Screen. It writes nothing yet.
func New(opt Options) *Screen {
	if opt.Width == nil {
		opt.Width = func() int { return 80 }
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.After == nil {
		opt.After = func(d time.Duration, f func()) func() {
			t := time.AfterFunc(d, f)
			return func() { t.Stop() }
		}
	}
	if opt.Spin == nil {
		opt.Spin = func(sp *spinner.Spinner) func() { sp.Start(); return sp.Stop }
	}
	s := &Screen{opt: opt}
	s.layout = &layout{&s.opt}
	s.transcript = transcript{opt: &s.opt, layout: s.layout, outputs: outputs{out: opt.Out, err: opt.Err, broken: opt.Broken}}
	return s
}

// words are those of a transcript that is seen, or of one that is heard.
func (lay *layout) words(seen, heard string) string {
	return either(lay.opt.Profile == Spoken, heard, seen)
}

// glyph is a sign, or its substitute where the locale names no UTF-8.
func (lay *layout) glyph(sign, ascii string) string { return either(lay.opt.UTF8, sign, ascii) }

func (lay *layout) same() bool { return lay.opt.OutTTY && lay.opt.ErrTTY }

// seen reports whether an answer on Out may be read between the lines of Err.
func (lay *layout) seen() bool { return lay.opt.ErrTTY && (lay.opt.OutTTY || lay.opt.OutPipe) }

func (lay *layout) moving() bool { return lay.opt.Profile == Rich && lay.same() && !lay.opt.Quiet }

func (lay *layout) width() int { return clampWidth(lay.opt.Width()) }

// proseWidth is the most cells that a row of prose takes, on however wide a terminal: longer rows are hard to read.
const proseWidth = 100

func (lay *layout) proseWidth() int { return min(lay.width(), proseWidth) }

// do runs f as the only one that touches the transcript.
func (s *Screen) do(f func(t *transcript)) {
	s.mu.Lock()
	defer s.unlock()
	f(&s.transcript)
	s.transcript.signal()
	s.alarm.set(s.next(), &s.opt, s.wake)
}

// unlock lets others touch the screen, and stops the Spinners of lines that have ended.
func (s *Screen) unlock() {
	stops := s.transcript.stops
	s.transcript.stops = nil
	s.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// read is the result of f for the transcript.
func read[T any](s *Screen, f func(t *transcript) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(&s.transcript)
}

// outputs is the only place that writes. Text of an answer waits here for a moment on a
// terminal.
type outputs struct {
	out, err       io.Writer
	broken         func(error)
	outBad, errBad error       // the first write that failed; nothing more is written
	pending        []byte      // answer text that waits to be written to out
	void           atomic.Bool // pending must not be written; set on any goroutine
	flushed        time.Time
}

// interval is the least time between two writes of new answer text.
const interval = 50 * time.Millisecond

func (k *outputs) flush(now time.Time) {
	if k.void.Swap(false) {
		k.pending = k.pending[:0]
	}
	if len(k.pending) == 0 {
		return
	}
	k.write(k.out, &k.outBad, k.pending)
	k.pending = k.pending[:0]
	k.flushed = now
}

// writeErr writes to err, behind everything that waits.
func (k *outputs) writeErr(now time.Time, s string) {
	k.flush(now)
	k.write(k.err, &k.errBad, []byte(s))
}

func (k *outputs) write(w io.Writer, bad *error, p []byte) {
	if *bad != nil || len(p) == 0 {
		return
	}
	if _, err := w.Write(p); err != nil {
		if *bad = err; k.broken != nil {
			go k.broken(err)
			k.broken = nil
		}
	}
}

// DropPending throws away the text of an answer that waits to be written to a terminal. It does
// not block, even while the terminal holds the screen up.
func (s *Screen) DropPending() {
	if s.opt.OutTTY {
		s.transcript.outputs.void.Store(true)
	}
}

// Err is the first error of writing to Out, nil as long as all went well. Text that
// waits on a terminal is not written yet: call Err after Finish to be sure.
func (s *Screen) Err() error { return read(s, func(t *transcript) error { return t.outputs.outBad }) }

// ErrStatus is the first error of writing to Err, nil as long as all went well.
func (s *Screen) ErrStatus() error {
	return read(s, func(t *transcript) error { return t.outputs.errBad })
}

// Alert sends safe bytes to Err that neither show nor move anything, such as BEL.
func (s *Screen) Alert(text string) {
	s.do(func(t *transcript) { t.outputs.writeErr(s.opt.Now(), text) })
}

// MaxClipboard is the longest text that Clipboard takes, in bytes; terminals are known to read
// that much.
const MaxClipboard = 74_994 / 4 * 3

// Clipboard asks the terminal to put text into the clipboard of its machine (OSC 52). Call it
// only where the user at the terminal asked for it. It reports false, and sends nothing, when
// the text is too long, or Err is not a terminal.
func (s *Screen) Clipboard(text string) bool {
	if !s.opt.ErrTTY || len(text) > MaxClipboard {
		return false
	}
	s.do(func(t *transcript) {
		t.hideProgress()
		t.outputs.writeErr(s.opt.Now(), "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(text))+"\a")
	})
	return true
}

// Profile is how much a terminal can do. Words and their order are the same in
// Rich and Plain; Spoken says them in sentences with labels.
type Profile int

const (
	// Plain is for anything that only scrolls: no colour, no repainting.
	Plain Profile = iota
	// Rich is for terminals that understand cursor and colour sequences.
	Rich
	// Spoken is for screen readers: labelled lines, no glyphs, no repainting.
	Spoken
)

// String is the word of the --ui option.
func (p Profile) String() string {
	switch p {
	case Rich:
		return "rich"
	case Spoken:
		return "spoken"
	}
	return "plain"
}

// ColorDecision says whether one output is coloured. flag is the resolved --color: always,
// never, or anything else for auto; tty says that the output is a terminal of the rich profile.
// In order: the flag, NO_COLOR (not empty), CLICOLOR_FORCE or FORCE_COLOR, a terminal without
// colours, CLICOLOR=0, tty.
func ColorDecision(flag string, env func(string) string, tty bool) bool {
	switch flag {
	case "always":
		return true
	case "never":
		return false
	}
	if env("NO_COLOR") != "" {
		return false
	}
	for _, name := range []string{"CLICOLOR_FORCE", "FORCE_COLOR"} {
		if v := env(name); v != "" && v != "0" {
			return true
		}
	}
	if whyPlain(env) != "" || env("CLICOLOR") == "0" {
		return false
	}
	return tty
}

// ProfileDecision chooses the profile and says why when it is not Rich, such as "TERM=dumb".
// flag is the resolved --ui: rich, plain, spoken, or anything else for auto; tty tells whether
// stderr is a terminal.
func ProfileDecision(flag string, env func(string) string, tty bool) (p Profile, why string) {
	switch flag {
	case "rich":
		return Rich, ""
	case "plain":
		return Plain, "asked for"
	case "spoken":
		return Spoken, "asked for"
	}
	switch v := env("ACCESSIBLE"); strings.ToLower(v) {
	case "", "0", "false", "no", "off":
	default:
		return Spoken, "ACCESSIBLE=" + v
	}
	if !tty {
		return Plain, "no terminal"
	}
	if why := whyPlain(env); why != "" {
		return Plain, why
	}
	return Rich, ""
}

// whyPlain names the variable that rules out escape sequences, or "".
func whyPlain(env func(string) string) string {
	emacs := env("INSIDE_EMACS")
	for _, mode := range []string{"comint", "eshell", "compile"} {
		if strings.Contains(emacs, mode) {
			return "INSIDE_EMACS=" + emacs
		}
	}
	switch term := env("TERM"); term {
	case "":
		return "TERM is not set"
	case "dumb", "unknown":
		return "TERM=" + term
	}
	return ""
}

// UTF8Decision says whether the locale names UTF-8: the first of LC_ALL,
// LC_CTYPE and LANG that is not empty decides.
func UTF8Decision(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

func clampWidth(w int) int {
	if w <= 0 {
		return 80
	}
	return min(max(w, 10), 1000)
}

// WidthDecision is the width of a terminal in cells: a positive COLUMNS, else the
// result of size, else 80; never less than 10 nor more than 1000. size may be nil and returns 0
// when it does not know.
func WidthDecision(env func(string) string, size func() int) int {
	if n, err := strconv.ParseUint(env("COLUMNS"), 10, 20); err == nil && n > 0 {
		return clampWidth(int(n))
	}
	if size == nil {
		return 80
	}
	return clampWidth(size())
}
