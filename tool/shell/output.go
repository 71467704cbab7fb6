package shell

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"
)

// toText puts U+FFFD in place of each byte that is not UTF-8.
func toText(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	return string([]rune(string(p)))
}

// readSize is how much of a command's output is read at a time, in bytes.
const readSize = 256 << 10

// intake takes a command's output to where it is kept and to the screen, until it is closed.
type intake struct {
	mu     sync.Mutex
	closed bool
	clean  *Cleaner
	to     io.Writer // keeps it
	live   *live     // nil shows nothing
	record *record   // nil except in the background
}

// newIntake keeps output in to.
func newIntake(to io.Writer) *intake {
	in := &intake{to: to}
	in.clean = NewCleaner(cleaned{in})
	return in
}

// cleaned takes the output of an intake's Cleaner.
type cleaned struct{ *intake }

// Write implements io.Writer.
func (c cleaned) Write(p []byte) (int, error) {
	if c.live != nil {
		c.live.add(p)
	}
	return c.to.Write(p)
}

// read takes all that comes out of a pipe. Closing the pipe ends it.
func (in *intake) read(pipe io.Reader) {
	// The error is the pipe's end. The structs hide methods that would read less at a time.
	_, _ = io.CopyBuffer(struct{ io.Writer }{in}, struct{ io.Reader }{pipe}, make([]byte, readSize))
}

// Write implements io.Writer.
func (in *intake) Write(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return 0, os.ErrClosed
	}
	_, _ = in.clean.Write(p)
	if in.live != nil {
		in.live.came()
	}
	if in.record != nil {
		in.record.see(in.clean.Open())
	}
	return len(p), nil
}

// show has output from now on shown on a screen, in pieces that are at least a pause apart, until the returned func is
// called; of a command in the background first the output not read yet. If it is shown already, or the command has
// ended, show does nothing.
func (in *intake) show(screen io.Writer, pause time.Duration) (end func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed || in.live != nil {
		return func() {}
	}
	l := &live{screen: screen, pause: pause, in: in}
	in.live = l
	if in.record != nil {
		l.add([]byte(in.record.peek()))
		l.came()
	}
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.live == l {
			in.hide()
		}
	}
}

// hide shows the rest, and nothing any more.
func (in *intake) hide() {
	if in.live != nil {
		in.live.end()
		in.live = nil
	}
}

// tell shows a record the line that has not ended.
func (in *intake) tell(r *record) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.record = r
	r.see(in.clean.Open())
}

// handOver sends output to a record, with the output so far, and returns that.
func (in *intake) handOver(output *Spool, to *record) []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	so := output.take()
	_, _ = to.Write(so)
	_ = to.read() // the caller reads it
	in.hide()
	in.to, in.record = to, to
	open := in.clean.Open()
	to.see(open)
	_ = to.read()
	return append(so, open...)
}

// close flushes output that is held back. Nothing is written afterwards.
func (in *intake) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	_ = in.clean.Close()
	in.hide()
}

// toValid is text itself where it is UTF-8.
func toValid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return bytes.ToValidUTF8(text, []byte("\ufffd"))
}
