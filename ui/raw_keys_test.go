//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool"
)

// Esc by itself clears nothing and leads to nothing; two of them put the line
// into the history, from where it comes back.
func TestTwoEscapesClearTheLine(t *testing.T) {
	b := newBare(t, nil, nil)
	b.read("")
	b.keys("some", " text", "\x1b")
	b.shows("you: some text")
	b.keys("s", "\x1b") // another key came between
	b.shows("you: some texts")
	b.silence(leaveWait + 1)
	b.keys("\x1b") // too late for the one before
	b.shows("you: some texts")
	b.keys("\x1b")
	b.shows("you:")
	b.unsent()
	b.keys("\x10")
	b.shows("you: some texts")
	if diff := cmp.Diff([]string{"some texts"}, b.kept); diff != "" {
		t.Error(diff)
	}
	b.keys("\x15", "\x1b\x1b") // both in one read
	if r, _ := b.result(); r.line.action != actRewind {
		t.Errorf("two Esc on an empty line gave %+v", r)
	}
}

// An Esc is only one after 50 ms without more; until then it may be Alt.
func TestAltIsNoEscape(t *testing.T) {
	b := newBare(t, nil, nil)
	b.read("")
	b.keys("one two")
	b.f.take(chunk{data: []byte("\x1b"), at: b.now})
	b.silence(10 * time.Millisecond)
	b.silence(escWait - 11*time.Millisecond)
	b.keys("b")
	if b.line() != "one |two" {
		t.Errorf("Alt-B led to %q", b.line())
	}
	b.keys("\x1b", "b")
	if b.line() != "one b|two" {
		t.Errorf("Esc, then b, led to %q", b.line())
	}
}

// In a turn Esc is Ctrl-C, and the other keys beep.
func TestEscapeStopsATurn(t *testing.T) {
	b := newBare(t, nil, nil)
	stopped := 0
	b.f.interrupt = func() { stopped++ }
	b.keys("typed ahead\x1b[A", "\x1b\x1b[A", "a\x1b[1;5D")
	if stopped != 0 {
		t.Fatal("an arrow key stopped the turn")
	}
	b.wrote()
	b.keys("\x1b[Z", "\x0f", "\x07", "\x18\x05", "\x12", "\t")
	if got := b.wrote(); got != strings.Repeat("\a", 6) {
		t.Errorf("wrote %q", got)
	}
	b.keys("\x1b")
	if stopped != 1 {
		t.Errorf("stopped %d times", stopped)
	}
	b.f.interrupt = nil
	b.keys("\x1b") // nothing runs
	b.read("")
	if b.line() != "atyped ahead|" && !strings.Contains(b.line(), "typed") {
		t.Errorf("what was typed is %q", b.line())
	}
}

// Ctrl-O during a turn shows what the running call wrote, and leaves what is typed.
func TestCtrlOShowsWhatARunningCommandWrote(t *testing.T) {
	b := newBare(t, nil, nil)
	b.f.interrupt = func() {}
	call := agent.Call{ToolCall: provider.ToolCall{ID: "1", Name: "bash"},
		Access: tool.Access{Verb: "run", Object: "make"}, Of: 1}
	b.f.screen.OnToolCall(call)
	b.f.screen.OnToolOutput(call, "compiling\n")
	b.keys("typed", "\x0f")
	if got := b.wrote(); !strings.Contains(got, "output so far") || !strings.Contains(got, "compiling") ||
		strings.Contains(got, "\a") {
		t.Errorf("wrote %q", got)
	}
	b.f.screen.OnToolResult(call, agent.CallResult{Status: agent.CallOK, Summary: "exit 0"})
	b.wrote()
	b.keys("\x0f")
	if got := b.wrote(); got != "\a" {
		t.Errorf("wrote %q when nothing runs", got)
	}
	b.f.interrupt = nil
	b.read("")
	b.shows("you: typed")
}

// A key that wants something done takes the line away as it is, and the line
// comes back: collapsed paste, cursor, and that it began with a paste.
func TestAKeyTakesTheLineAndGivesItBack(t *testing.T) {
	big := strings.Repeat("0123456789\n", 300) + "end"
	for _, tt := range []struct {
		keys string
		want action
	}{{"\x1b[Z", actMode}, {"\x0f", actOutput}, {"\x07", actEdit}, {"\x18\x05", actEdit}} {
		b := newBare(t, nil, nil)
		b.read("")
		b.keys(pasteBegin+big+pasteEnd, " more", "\x1b[D")
		b.shows("you: [paste 1: 301 lines] more")
		b.keys(tt.keys)
		r, ok := b.result()
		if !ok || r.err != nil {
			t.Fatalf("%q: %+v, %v", tt.keys, r, ok)
		}
		if diff := cmp.Diff(tt.want, r.line.action); diff != "" {
			t.Errorf("%q: %s", tt.keys, diff)
		}
		if r.line.text != big+" more" || !r.line.pasted {
			t.Errorf("%q: %d bytes, pasted %v", tt.keys, len(r.line.text), r.line.pasted)
		}
		if got := b.term.screen(); len(got) > 0 {
			t.Errorf("%q left %q", tt.keys, got)
		}
		b.keys("X", "\r") // typed meanwhile
		b.unsent2()
		b.read(r.line.text)
		if got := b.sent(); got != big+" morXe" {
			t.Errorf("%q: then %d bytes were sent, ending %q", tt.keys, len(got), got[len(got)-8:])
		}
		if b.bytes.Len() > 1500 {
			t.Errorf("%q: the paste was written out: %d bytes", tt.keys, b.bytes.Len())
		}
		b.read("edited") // nothing is left of it
		b.shows("you: edited")
	}
}

// unsent2 is unsent while no line is wanted.
func (b *bare) unsent2() {
	b.Helper()
	if len(b.f.queue) > 0 {
		b.Fatalf("queued: %+v", b.f.queue)
	}
}

// What the editor made of the text takes its place, collapsed if it is big.
func TestEditedTextTakesTheLinesPlace(t *testing.T) {
	b := newBare(t, nil, nil)
	b.read("")
	b.keys("draft", "\x07")
	big := strings.Repeat("line\n", 40) + "end"
	b.read(big)
	b.shows("you: [paste 1: 41 lines]")
	b.keys("\r")
	if got := b.sent(); got != big {
		t.Errorf("sent %d bytes", len(got))
	}
}

// A pasted /quit stays text also after the line was away.
func TestPastedStartSurvivesAnAction(t *testing.T) {
	b := newBare(t, nil, nil)
	b.read("")
	b.keys(pasteBegin+"/quit"+pasteEnd, "\x1b[Z")
	b.read("/quit")
	b.keys("\r")
	if r, _ := b.result(); r.line.text != "/quit" || !r.line.pasted {
		t.Errorf("got %+v", r.line)
	}
}

// At a question the keys that take a line away, search or complete do nothing,
// nor can anything of the message be called into the answer.
func TestOtherKeysAtAQuestion(t *testing.T) {
	b := newBare(t, []string{"yes"}, nil)
	b.f.complete = func(string, int) completion { return completion{candidates: []candidate{{text: "yes"}}} }
	b.read("")
	b.keys("yes", "\x15")
	b.f.finish(result{})
	b.ask()
	b.silence(quiet)
	for _, k := range []string{"\x1b[Z", "\x0f", "\x07", "\x18\x05", "\x12", "\x13", "\t", "\x1b", "\x1b", "\x1b\x1b",
		"\x1b[A", "\x10", "\x1f", "\x18\x15"} {
		b.wrote()
		b.keys(k)
		if got := b.wrote(); !strings.Contains(got, "\a") {
			t.Errorf("%q did not beep: %q", k, got)
		}
		if b.line() != "|" {
			t.Fatalf("%q put %q into the answer", k, b.line())
		}
		b.unsent()
	}
}

// The bytes that used to be dropped are keys now; none of them is text.
func TestChordsNeverBecomeText(t *testing.T) {
	for _, second := range []string{"a", "\r", "\n", "\x18", "\x1b[A", "\x04", "\x00", "é", "\x1b[3~"} {
		b := newBare(t, []string{"old"}, nil)
		b.read("")
		b.keys("x", "\x18", second, "y")
		if b.line() != "xy|" {
			t.Errorf("Ctrl-X %q: %q", second, b.line())
		}
		b.unsent()
	}
	b := newBare(t, nil, nil)
	b.read("")
	b.keys("abc", "\x05", "d") // Ctrl-E alone is the end of the line
	b.keys("\x18", "\x03")     // Ctrl-C always gets through
	b.shows("you:")
	b.keys("\x10")
	if b.line() != "abcd|" {
		t.Errorf("there is %q", b.line())
	}
}

// Ctrl-_ takes changes back one by one; a run of typing is one of them.
func TestEditsAreUndone(t *testing.T) {
	b := newBare(t, []string{"from history"}, nil)
	b.read("")
	b.keys("one", " two", "\x17", "\x1b[D", "X", "Y", pasteBegin+"/p q"+pasteEnd)
	states := []string{"oneXY/p q| ", "oneXY| ", "one| ", "one two|", "|"}
	for i, want := range states {
		if got := b.line(); got != want {
			t.Fatalf("after %d undos: %q, want %q", i, got, want)
		}
		b.keys("\x1f")
	}
	b.wrote()
	b.keys("\x1f")
	if got := b.wrote(); got != "\a" {
		t.Errorf("nothing to undo wrote %q", got)
	}
	b.keys("half", "\x10", "\x18\x15")
	if b.line() != "half|" {
		t.Errorf("after a recall: %q", b.line())
	}
}

// Paste mode is off while artoo is stopped, while a child has the terminal and
// while a question or a turn goes on, and on whenever a line is read.
func TestPasteModeIsOffMeanwhile(t *testing.T) {
	b := newBare(t, nil, nil)
	b.read("")
	stops := 0
	b.f.stop = func() bool {
		if stops++; b.term.paste {
			t.Error("stopped with paste mode on")
		}
		return true
	}
	b.keys("text", "\x1a")
	if !b.term.paste || stops != 1 || !strings.HasSuffix(b.line(), "text|") {
		t.Errorf("after %d stops: paste mode %v, %q", stops, b.term.paste, b.line())
	}
	if err := b.f.release(); err != nil || b.term.paste {
		t.Errorf("a child gets the terminal with paste mode %v, %v", b.term.paste, err)
	}
	if b.f.reclaim() == nil || !b.term.paste { // there is no terminal whose modes could change
		t.Error("paste mode is off after the child")
	}
	for _, keys := range []string{"\x1b[Z", "\r", "\x03"} {
		if b.keys(keys); b.term.paste && keys != "\x03" {
			t.Errorf("%q left paste mode on", keys)
		}
		b.result()
		b.read("text")
		if !b.term.paste || b.term.err != nil {
			t.Errorf("after %q: paste mode %v, %v", keys, b.term.paste, b.term.err)
		}
	}
}

// Cancelled prompts are remembered, answers never, repeats once.
func TestAnswersAreNotRemembered(t *testing.T) {
	b := newBare(t, nil, nil)
	for _, text := range []string{"one", "one", " with a space", "two"} {
		b.read("")
		b.keys(text, "\r")
		b.sent()
	}
	b.ask()
	b.silence(quiet)
	b.keys("n because", "\r")
	b.sent()
	b.read("")
	b.keys("cancelled", "\x03")
	for _, want := range []string{"cancelled", "two", "one", "one"} {
		b.keys("\x10")
		if got := b.line(); got != want+"|" {
			t.Errorf("called back %q, want %q", got, want)
		}
	}
	if diff := cmp.Diff([]string{"one", "one", "two", "cancelled"}, b.kept); diff != "" { // the file takes repeats itself
		t.Error(diff)
	}
}

// A Ctrl-C right behind Enter stops the turn that has not begun yet: what is
// attached is read first.
func TestCtrlCWhileFilesAreRead(t *testing.T) {
	causes := make(chan error, 1)
	var k *talk
	k = startPTY(t, &sender{play: func(ctx context.Context, _ string, _ agent.Callbacks) (*agent.Response, error) {
		select {
		case <-ctx.Done():
		case <-time.After(waitLimit):
		}
		causes <- context.Cause(ctx)
		return &agent.Response{}, context.Cause(ctx)
	}}, func(o *Options) {
		*o.Agent.Env() = *reaching(t, map[string]string{"a.go": "package a\n"}).env
		o.Agent.Env().PageMax = func() int { // which reading a file asks for
			k.send("\x03")
			k.settle()
			return 0
		}
	})
	k.expect("you: ")
	k.enter("go @a.go")
	if err := wanted(k, causes); err != errInterrupted {
		t.Errorf("the turn was ended by %v", err)
	}
	k.expect("you: ")
}
