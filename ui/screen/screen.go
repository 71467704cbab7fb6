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
//     last exchange of a resumed session. It breaks no row of Chinese, joins the paragraphs of an
//     item and makes an escape byte of "&#27;": such texts are rendered as answers are, and no
//     sequence but the palette's passes (TestWhatGlamourDoesNotKeep).
//   - goldmark reads inline Markdown while an answer streams; text written there is never
//     touched again, which no renderer of whole texts can promise.
package screen

import (
	"io"
	"os"
	"strings"
	"sync"
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

	// Conversation says that Err is read as a dialogue even when it is no terminal.
	Conversation bool
	// Hold keeps a reply back until it is known to be the turn's last: text before tool calls
	// goes to Err. For a run without a conversation whose Out is no terminal.
	Hold    bool
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
	ended    []func() // stop the Spinners of lines that have ended

	lastRun string // id of the call whose start line is the last line
	named   string // id of the call that was named last, where calls are spoken
	tries   int    // how many the first retry of the request named
	paused  bool
	prompt  bool // the prompt is open
	asking  bool
	askedAt time.Time
	waited  time.Duration // sum of the times that questions stood open
}

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
	if lay.opt.Profile == Spoken {
		return heard
	}
	return seen
}

// glyph is a sign, or its substitute where the locale names no UTF-8.
func (lay *layout) glyph(sign, ascii string) string {
	if lay.opt.UTF8 {
		return sign
	}
	return ascii
}

func (lay *layout) same() bool { return lay.opt.OutTTY && lay.opt.ErrTTY }

// seen reports whether an answer on Out may be read between the lines of Err.
func (lay *layout) seen() bool { return lay.opt.ErrTTY && (lay.opt.OutTTY || lay.opt.OutPipe) }

func (lay *layout) moving() bool { return lay.opt.Profile == Rich && lay.same() && !lay.opt.Quiet }

func (lay *layout) width() int { return clampWidth(lay.opt.Width()) }

// do runs f as the only one that touches the transcript.
func (s *Screen) do(f func(t *transcript)) {
	s.mu.Lock()
	defer s.unlock()
	f(&s.transcript)
	s.alarm.set(s.next(), &s.opt, s.wake)
}

// unlock lets others touch the screen, and stops the Spinners of lines that have ended.
func (s *Screen) unlock() {
	ended := s.transcript.ended
	s.transcript.ended = nil
	s.mu.Unlock()
	for _, stop := range ended {
		stop()
	}
}

// read is the result of f for the transcript.
func read[T any](s *Screen, f func(t *transcript) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(&s.transcript)
}
