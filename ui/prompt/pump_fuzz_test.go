package prompt

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// FuzzInputPump types anything, cut into reads anywhere and with pauses, at a
// prompt, during a turn and at a question. Whatever comes: nothing is approved
// except by an Enter at the end of a read and after an answer that was typed, nothing is sent without an
// Enter, no control byte gets into a text, only the frame's own sequences reach
// the terminal, and it ends.
//
// The cuts say how long each read is (low bits), and with the highest bit that
// half a second passes before the next.
func FuzzInputPump(f *testing.F) {
	for _, k := range keyTable {
		f.Add([]byte("y"+k.bytes+"\r"), []byte{1, 2, 0x81}, byte(0))
		f.Add([]byte(k.bytes+"ab"), []byte{1}, byte(3))
	}
	f.Add([]byte("yes\r"), []byte{0x81, 0x81, 0x81, 0x81}, byte(1))
	f.Add([]byte(pasteBegin+"yes\r"+pasteEnd+"\r"), []byte{0x9f, 0x9f}, byte(1))
	f.Add([]byte("\x12go\r\x1b\x1b"), []byte{3, 0x81, 0x81}, byte(2))
	f.Add([]byte("abc\x1bdwp/x\r"), []byte{3, 0x81}, byte(4))
	f.Fuzz(func(t *testing.T, data, cuts []byte, mode byte) {
		if len(data) > 1<<12 {
			return
		}
		hangs := fmt.Sprintf("this does not end: %q, cuts %v, mode %d", data, cuts, mode)
		watchdog := time.AfterFunc(waitLimit, func() { debug.SetTraceback("all"); panic(hangs) })
		defer watchdog.Stop()
		p := startPump(t, mode)
		for len(data) > 0 {
			n, pause := 1, false
			if len(cuts) > 0 {
				n, pause = int(cuts[0]&0x7f)+1, cuts[0]&0x80 != 0
				cuts = cuts[1:]
			}
			n = min(n, len(data))
			p.read(data[:n])
			data = data[n:]
			if pause {
				p.silence(500 * time.Millisecond)
			}
		}
		p.silence(pasteWait)
	})
}

// pump checks the lines that come out of the typed bytes.
type pump struct {
	*bare
	last    bool // the last read ended in an Enter
	entered bool // an Enter was typed since the last line
}

func startPump(t *testing.T, mode byte) *pump {
	p := &pump{bare: newBare(t, []string{"go test ./...", "two\nlines", "yes"}, func(o *Options) {
		o.ViKeys = mode&4 != 0
		if mode&8 != 0 {
			o.Env = environ("TERM=xterm")
		}
	})}
	p.f.opt.Complete = func(text string, cursor int) Completion {
		return Completion{From: 0, To: cursor,
			Candidates: []Candidate{{Text: text[:cursor] + "y"}, {Text: text[:cursor] + "yes"}}}
	}
	switch mode & 3 {
	case 0:
		p.bare.read("")
	case 1:
		p.ask()
	case 2:
		p.f.interrupt = func() {}
	case 3:
		p.bare.read("yes")
	}
	return p
}

func (p *pump) read(data []byte) {
	p.last = endsInEnter(data)
	// the keypad's and modified ones
	p.entered = p.entered || bytes.ContainsAny(data, "\r\n") || bytes.ContainsAny(data, "Mu~")
	p.f.take(chunk{data: bytes.Clone(data), at: p.now})
	p.check()
}

func (p *pump) silence(d time.Duration) {
	p.last = false
	p.bare.silence(d)
	p.check()
}

func endsInEnter(data []byte) bool {
	return len(data) > 0 && strings.ContainsRune("\r\nMu~", rune(data[len(data)-1]))
}

func (p *pump) check() {
	p.Helper()
	if p.term.Err != nil {
		p.Fatal(p.term.Err)
	}
	for _, l := range p.f.Prompt.queue.lines {
		p.checkLine(l)
	}
	p.f.Prompt.queue.lines, p.f.Prompt.queue.bytes = nil, 0
	p.clean(p.f.ed.text())
	if p.f.ed.Pos() < 0 || p.f.ed.Pos() > p.f.ed.Len() {
		p.Fatalf("the cursor is at %d of %d", p.f.ed.Pos(), p.f.ed.Len())
	}
	if p.w == nil {
		return
	}
	r, ok := p.result()
	if !ok {
		return
	}
	if r.err == nil {
		p.checkLine(r.line)
		approving := answers(r.line.Text) && strings.Trim(strings.ToLower(r.line.Text), "yes ") == "" && r.line.Text != ""
		if p.w.question && approving && !r.line.Burst && !p.last {
			p.Fatalf("%q approved without an Enter at the end of a read", r.line.Text)
		}
	}
	if r.line.Action == Send {
		p.entered = false // else the Enter may be among the keys that wait for the line to come back
	}
	next := &request{label: Label{Text: "you: "}, question: !p.w.question, isAnswer: answers}
	if r.line.Action != Send {
		next.initial.Text, next.question = r.line.Text, false
	}
	if p.f.ending == nil {
		p.start(next)
	}
}

func (p *pump) checkLine(l Line) {
	p.Helper()
	p.clean(l.Text)
	if l.Action == Send && !p.entered {
		p.Fatalf("%q was sent without an Enter", l.Text)
	}
}

// clean fails if a text has a character that no key types.
func (p *pump) clean(text string) {
	p.Helper()
	bad := func(r rune) bool {
		return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
	}
	if i := strings.IndexFunc(text, bad); i >= 0 {
		p.Fatalf("%q holds %q", text, text[i:])
	}
}
