package prompt

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Esc by itself clears nothing and leads to nothing; two of them put the line
// into the history, from where it comes back.
func TestTwoEscapesClearTheLine(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, nil)
	b.read("")
	b.keys("some", " text", "\x1b")
	b.shows("you: some text")
	b.keys("s", "\x1b") // another key came between
	b.shows("you: some texts")
	b.silence(twiceWait + 1)
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
	if r, _ := b.result(); r.line.Action != Rewind {
		t.Errorf("two Esc on an empty line gave %+v", r)
	}
}

// An Esc is only one after 50 ms without more; until then it may be Alt.
func TestAltIsNoEscape(t *testing.T) {
	t.Parallel()
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

// Ctrl-V and Ctrl-Q take the next key as its character, Ctrl-] goes to one.
func TestAKeyIsTakenAsItsCharacter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ keys, want string }{
		{"a\x16\tb", "a\tb|"},
		{"a\x11\rb", "a\nb|"},
		{"abcabc\x01\x1dc", "ab|cabc"},
		{"abcabc\x01\x1dc\x1dc", "abcab|c"},
		{"abcabc\x1b\x1da", "abc|abc"},
		{"abc\x01\x1dxy", "y|abc"},
		{"abc\x01\x1d\x05d", "abcd|"},
	} {
		b := newBare(t, nil, nil)
		b.read("")
		b.keys(tt.keys)
		if b.line() != tt.want {
			t.Errorf("%q: %q, want %q", tt.keys, b.line(), tt.want)
		}
	}
}

// In a turn Esc is Ctrl-C, and the other keys beep.
func TestEscapeStopsATurn(t *testing.T) {
	t.Parallel()
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

// Ctrl-O during a turn shows the output of the running call, and keeps the typed text.
func TestCtrlOShowsWhatARunningCommandWrote(t *testing.T) {
	t.Parallel()
	runs := true
	b := newBare(t, nil, func(o *Options) { o.Output = func() bool { return runs } })
	b.f.interrupt = func() {}
	b.keys("typed", "\x0f")
	if got := b.wrote(); got != "" {
		t.Errorf("wrote %q", got)
	}
	runs = false
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
	t.Parallel()
	big := strings.Repeat("0123456789\n", 300) + "end"
	for _, tt := range []struct {
		keys string
		want Action
	}{{"\x1b[Z", NextMode}, {"\x0f", LastOutput}, {"\x07", Compose}, {"\x18\x05", Compose}} {
		b := newBare(t, nil, nil)
		b.read("")
		b.keys(pasteBegin+big+pasteEnd, " more", "\x1b[D")
		b.shows("you: [paste 1: 301 lines] more")
		b.keys(tt.keys)
		r, ok := b.result()
		if !ok || r.err != nil {
			t.Fatalf("%q: %+v, %v", tt.keys, r, ok)
		}
		if diff := cmp.Diff(tt.want, r.line.Action); diff != "" {
			t.Errorf("%q: %s", tt.keys, diff)
		}
		if r.line.Text != big+" more" || !r.line.Literal {
			t.Errorf("%q: %d bytes, pasted %v", tt.keys, len(r.line.Text), r.line.Literal)
		}
		if got := b.term.Screen(); len(got) > 0 {
			t.Errorf("%q left %q", tt.keys, got)
		}
		b.keys("X", "\r") // typed meanwhile
		b.unsent2()
		b.read(r.line.Text)
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
	if len(b.f.Prompt.queue.lines) > 0 {
		b.Fatalf("queued: %+v", b.f.Prompt.queue.lines)
	}
}

// The editor's version of the text takes its place, collapsed if it is big.
func TestEditedTextTakesTheLinesPlace(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	b := newBare(t, nil, nil)
	b.read("")
	b.keys(pasteBegin+"/quit"+pasteEnd, "\x1b[Z")
	b.read("/quit")
	b.keys("\r")
	if r, _ := b.result(); r.line.Text != "/quit" || !r.line.Literal {
		t.Errorf("got %+v", r.line)
	}
}

// At a question the keys that take a line away, search or complete do nothing,
// nor can anything of the message be called into the answer.
func TestOtherKeysAtAQuestion(t *testing.T) {
	t.Parallel()
	b := newBare(t, []string{"yes"}, nil)
	b.f.opt.Complete = func(string, int) Completion { return Completion{Candidates: []Candidate{{Text: "yes"}}} }
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	b := newBare(t, nil, nil)
	b.read("")
	stops := 0
	b.f.stop = func() bool {
		if stops++; b.term.Paste {
			t.Error("stopped with paste mode on")
		}
		return true
	}
	b.keys("text", "\x1a")
	if !b.term.Paste || stops != 1 || !strings.HasSuffix(b.line(), "text|") {
		t.Errorf("after %d stops: paste mode %v, %q", stops, b.term.Paste, b.line())
	}
	if err := b.f.release(); err != nil || b.term.Paste {
		t.Errorf("a child gets the terminal with paste mode %v, %v", b.term.Paste, err)
	}
	if b.f.reclaim() == nil || !b.term.Paste { // there is no terminal whose modes could change
		t.Error("paste mode is off after the child")
	}
	for _, keys := range []string{"\x1b[Z", "\r", "\x03"} {
		if b.keys(keys); b.term.Paste && keys != "\x03" {
			t.Errorf("%q left paste mode on", keys)
		}
		b.result()
		b.read("text")
		if !b.term.Paste || b.term.Err != nil {
			t.Errorf("after %q: paste mode %v, %v", keys, b.term.Paste, b.term.Err)
		}
	}
}

// Cancelled prompts are remembered, answers never, repeats once.
func TestAnswersAreNotRemembered(t *testing.T) {
	t.Parallel()
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

// The timer of an Esc may be late when the next key comes: it is still no Alt-key.
func TestAKeyAfterALateTimerIsWhole(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, nil)
	b.read("")
	b.f.take(chunk{data: []byte("one\x1b"), at: b.now})
	b.now = b.now.Add(escWait)
	b.f.take(chunk{data: []byte("y"), at: b.now})
	if got := b.line(); got != "oney|" {
		t.Errorf("the line is %q", got)
	}
}
