package ui

import (
	"bytes"
	"errors"
	"io"
)

// lineFront takes lines as they come: from a pipe, from an editor's shell
// buffer, or from a terminal that can do no more. It writes no escape and
// changes no mode.
type lineFront struct {
	*console
	tty bool // the input is a terminal, which echoes what is typed

	partial []byte
	old     bool          // partial began before the question was shown
	mark    chan struct{} // being waited for, before a question may be shown
	asleep  bool          // the terminal's input ended at a time when that means nothing
	open    bool          // a prompt stands at the end of the screen
}

func (f *lineFront) begin(w *want) {
	switch {
	case w.question:
		// What is there already was sent before the question could be read: it
		// is read first, as messages.
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

func (f *lineFront) show() {
	f.old = len(f.partial) > 0
	f.open = true
	f.screen.Prompt(f.want.prompt)
}

func (f *lineFront) end() {
	f.mark = nil
	f.close(false)
}

// close ends the prompt's row, with a line break unless a terminal echoed one.
func (f *lineFront) close(echoed bool) {
	if !f.open {
		return
	}
	f.open = false
	if !echoed {
		f.screen.Draw([]byte("\n"))
	}
	f.screen.PromptDone()
}

func (f *lineFront) take(c chunk) {
	switch {
	case c.mark != nil:
		if f.mark == c.mark {
			f.mark = nil
			f.show()
		}
	case c.err != nil:
		f.finished(c.err)
	default:
		f.partial = append(f.partial, c.data...)
		f.split()
	}
}

func (f *lineFront) split() {
	for {
		i := bytes.IndexByte(f.partial, '\n')
		if i < 0 {
			return
		}
		text := cleanLine(bytes.TrimSuffix(f.partial[:i], []byte("\r")))
		f.partial = append([]byte(nil), f.partial[i+1:]...)
		old := f.old
		f.old = false
		if f.want == nil || f.mark != nil || old && f.want.question {
			f.enqueue(line{text: text})
			continue
		}
		f.close(f.tty)
		f.finish(result{line: line{text: text}})
	}
}

// finished is the end of the input, or a Ctrl-D on a terminal.
func (f *lineFront) finished(err error) {
	if !errors.Is(err, io.EOF) {
		f.complain(err)
	}
	if len(f.partial) > 0 {
		if !f.tty {
			f.close(false)
			f.screen.Note("the last line has no end and was not sent")
		}
		f.partial = nil
	}
	if f.tty && (f.want == nil || f.mark != nil) {
		f.asleep = true // nobody waits for a line: not the end
		if f.mark != nil {
			f.mark = nil
			f.show()
			f.in.flush(make(chan struct{}))
		}
		return
	}
	if f.tty && f.want != nil && f.want.question {
		f.asleep = true
		f.console.finish(result{err: io.EOF}) // no to this question, not the end of the conversation
		return
	}
	f.hungUp(io.EOF)
}

// cleanLine drops what is no text: control bytes but the tab, and whole escape
// sequences, which the arrow keys of a simple terminal leave in its lines.
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
