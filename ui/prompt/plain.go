package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// followWait is how long after a line more has to come for it to be part of a paste.
const followWait = 20 * time.Millisecond

// plainReader takes lines as they come: from a pipe, or from a terminal that can do no more. It
// writes no escape and changes no mode.
type plainReader struct {
	*Prompt
	tty bool // the input is a terminal, which echoes typed text
	// forget throws away the line that was begun at the terminal; nil where none is kept.
	forget func() error

	partial []byte
	old     bool          // partial began before the question was shown
	mark    chan struct{} // being waited for, before a question may be shown
	asleep  bool          // the terminal's input ended at a time when that means nothing
	open    bool          // a prompt stands at the end of the screen
	shownAt time.Time     // when the question was
	early   bool          // a line came before that could be read
	coming  *gathered     // typed lines that more may follow; nil without any
}

// gathered is an answer, or a message whose lines come one by one, at once: a paste.
type gathered struct {
	answer bool
	burst  bool // a line followed the answer at once
	lines  []string
	short  bool          // a line of it was cut by the terminal
	more   chan struct{} // being waited for, to know whether another line follows
}

func (g *gathered) line() Line {
	if len(g.lines) == 1 {
		return Line{Text: g.lines[0]}
	}
	return block(strings.Join(g.lines, "\n"))
}

func (f *plainReader) begin(w *request) {
	switch {
	case w.question:
		f.early = false
		// Lines in the input now were sent before the question could be read: they
		// are read first, as messages.
		f.mark = make(chan struct{})
		if !f.in.flush(f.mark) {
			f.mark = nil
			f.show()
		}
	case f.asleep:
		f.in.flush(make(chan struct{}))
		f.show()
	default:
		f.show()
	}
	f.asleep = false
}

func (f *plainReader) show() {
	if f.want.question && f.forget != nil {
		// The text in the line now was typed for a message; the Enter after it
		// must not turn it into an answer.
		if err := f.forget(); err != nil {
			f.complain(err)
		}
	}
	f.old = len(f.partial) > 0
	f.open = true
	f.shownAt = f.opt.Clock.Now()
	f.screen.Prompt(f.want.label.Text)
}

func (f *plainReader) end() {
	f.mark = nil
	if f.coming != nil && f.coming.answer {
		f.coming = nil
	}
	f.close(false)
}

// close ends the prompt's row, with a line break unless a terminal echoed one.
func (f *plainReader) close(echoed bool) {
	if !f.open {
		return
	}
	f.open = false
	if !echoed {
		f.screen.Draw([]byte("\n"))
	}
	f.screen.PromptDone()
}

func (f *plainReader) take(c chunk) {
	switch {
	case c.mark != nil:
		switch {
		case c.mark == f.mark:
			f.mark = nil
			f.show()
		case f.coming != nil && c.mark == f.coming.more:
			f.gathered()
		}
	case c.err != nil:
		f.finished(c.err)
	default:
		f.partial = append(f.partial, c.data...)
		f.split(c.at)
	}
}

func (f *plainReader) split(at time.Time) {
	for {
		i := bytes.IndexByte(f.partial, '\n')
		if i < 0 {
			return
		}
		text := cleanLine(bytes.TrimSuffix(f.partial[:i], []byte("\r")))
		f.partial = append([]byte(nil), f.partial[i+1:]...)
		old := f.old
		f.old = false
		switch {
		case f.coming != nil && f.coming.answer:
			f.coming.burst = true
			f.enqueue(Line{Text: text})
			continue
		case f.want == nil || f.mark != nil || old && f.want.question:
			f.early = f.early || f.want != nil
			if f.typed {
				f.collect(text)
			} else {
				f.enqueue(Line{Text: text})
			}
			continue
		case f.want.question && f.typed:
			f.answered(text, at)
			continue
		case f.typed:
			f.close(f.tty)
			f.collect(text)
			continue
		}
		f.close(f.tty)
		f.finish(result{line: Line{Text: text}})
	}
}

// collect takes a line, and waits a moment for those that were pasted with it.
func (f *plainReader) collect(text string) {
	if f.coming == nil {
		f.coming = &gathered{}
	}
	g := f.coming
	g.lines = append(g.lines, text)
	g.short = g.short || len(text) >= lineLimit()
	g.more = nil
	n := len(g.lines)
	f.later(time.After(followWait), func() { f.last(g, n) }) // how long a terminal takes does not depend on a test's clock
}

// last ends the input unless more than n lines came, once all that is there is read.
func (f *plainReader) last(g *gathered, n int) {
	if f.coming != g || len(g.lines) != n {
		return
	}
	g.more = make(chan struct{})
	if !f.in.flush(g.more) {
		f.gathered()
	}
}

// gathered hands over the input, or queues it. A message that the terminal has cut is not sent.
func (f *plainReader) gathered() {
	g := f.coming
	f.coming = nil
	wanted := f.want != nil && !f.want.question
	switch {
	case g.answer:
		f.Prompt.finish(result{line: Line{Text: g.lines[0], Burst: g.burst, Early: f.early}})
	case g.short:
		f.screen.Trouble(fmt.Sprintf("this terminal cuts a line at %d bytes, so nothing of it was sent; "+
			`write several lines between """ and """, or name a file that holds it as @FILE`, lineLimit()))
		if wanted {
			f.show()
		}
	case wanted:
		f.close(f.tty)
		f.finish(result{line: g.line()})
	default:
		f.enqueue(g.line())
	}
}

// lineLimit is how many bytes of a line a terminal gives that hands over whole lines, without
// the line's end: 4,096 on Linux, the MAX_CANON of 1,024 on others.
func lineLimit() int {
	if runtime.GOOS == "linux" {
		return 4095
	}
	return 1023
}

// answered takes the line that the user typed at a question, unless it came before the question
// could be read.
func (f *plainReader) answered(text string, at time.Time) {
	f.close(f.tty)
	if at.Sub(f.shownAt) < quiet {
		if f.early = true; strings.TrimSpace(text) != "" {
			f.enqueue(Line{Text: text})
		}
		f.show()
		return
	}
	if f.coming != nil {
		f.gathered()
	}
	f.coming = &gathered{answer: true}
	f.collect(text)
}

func (f *plainReader) finished(err error) {
	if IsHangup(err) {
		f.Prompt.end(&SignalError{hangup})
		return
	}
	if !errors.Is(err, io.EOF) {
		f.complain(err)
	}
	if f.coming != nil && !f.coming.answer {
		f.gathered()
	}
	if len(f.partial) > 0 {
		if !f.tty {
			f.close(false)
			f.screen.Trouble("the last line has no end and was not sent")
		}
		f.partial = nil
	}
	if f.tty && (f.want == nil || f.mark != nil) {
		f.asleep = true // no line is wanted: this is not the end
		if f.mark != nil {
			f.mark = nil
			f.show()
			f.in.flush(make(chan struct{}))
		}
		return
	}
	if f.tty && f.want != nil && f.want.question {
		f.asleep = true
		f.Prompt.finish(result{err: io.EOF}) // no to this question, not the end of the conversation
		return
	}
	f.hungUp(io.EOF)
}

// cleanLine drops control bytes and whole escape sequences, such as those of arrow keys.
func cleanLine(raw []byte) string {
	var text []byte
	d := decoder{rest: raw}
	for len(d.rest) > 0 {
		n := 1
		if d.rest[0] != 0x1b {
			text = append(text, d.rest[0])
		} else if n = d.stepEscape(true); n == 0 {
			break
		}
		d.rest = d.rest[n:]
	}
	return cleanPaste(text)
}

const fence = `"""`

// compose says whether text is a whole message, and which. A fence goes on until one ends a
// line, a backslash with the next line; rest is then the text so far.
func compose(text string) (message, rest string, whole bool) {
	if inner, ok := strings.CutPrefix(strings.TrimLeft(text, " \t"), fence); ok {
		body, closed := strings.CutSuffix(strings.TrimRight(inner, " \t\n"), fence)
		if !closed {
			return "", text + "\n", false
		}
		return strings.TrimSuffix(strings.TrimPrefix(body, "\n"), "\n"), "", true
	}
	slashes := len(text) - len(strings.TrimRight(text, `\`))
	if slashes%2 == 1 {
		return "", text[:len(text)-1] + "\n", false
	}
	return text, "", true
}

func fenced(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " \t"), fence) }
