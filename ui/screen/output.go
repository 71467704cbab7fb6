package screen

import (
	"encoding/base64"
	"io"
	"sync/atomic"
	"time"
)

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
// the text is too long, or Err is no terminal.
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
