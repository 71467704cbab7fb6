package prompt

import (
	"slices"
	"strings"
	"testing"
)

// pastes is text as a terminal gives it when it is pasted.
func pastes(text string) string { return pasteBegin + text + pasteEnd }

// marked is a line with its pasted parts between brackets.
func marked(l Line) string {
	var b strings.Builder
	at := 0
	for _, s := range l.Pasted {
		b.WriteString(l.Text[at:s.From] + "⟦" + l.Text[s.From:s.To] + "⟧")
		at = s.To
	}
	return b.String() + l.Text[at:]
}

// The pasted parts of a line stay known through all edits: so a path in them is
// data, and one that was typed beside them is not.
func TestWhatWasPastedStaysPasted(t *testing.T) {
	t.Parallel()
	const up, down, left, esc = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b"
	x := pastes("@x")
	big := strings.Repeat("a @x\n", 20) + "end"
	for _, tt := range []struct {
		name string
		keys []string
		want string
		cmd  bool // may be a command
	}{
		{"behind typed text", []string{"see ", x, " and @y"}, "see ⟦@x⟧ and @y", true},
		{"at the start", []string{x, " and @y"}, "⟦@x⟧ and @y", false},
		{"typed within", []string{x, left, "y"}, "⟦@⟧y⟦x⟧", false},
		{"typed before", []string{x, "\x01", "@"}, "@⟦@x⟧", true},
		{"behind blanks", []string{" ", x}, " ⟦@x⟧", false},
		{"what stood before it deleted", []string{"a", pastes("/quit"), "\x01\x04"}, "⟦/quit⟧", false},
		{"itself deleted", []string{x, "\x15", "/quit"}, "/quit", true},
		{"equal characters, the first deleted", []string{"@", pastes("@"), "\x01\x04", "x"}, "x⟦@⟧", true},
		{"equal characters, the last deleted", []string{"@", pastes("@"), "\x7f", "x"}, "@x", true},
		{"killed and put back", []string{"a ", x, "\x17", "b ", "\x19"}, "a b ⟦@x⟧", true},
		{"undone", []string{"a ", x, "\x15", "\x1f", "b"}, "a ⟦@x⟧b", true},
		{"transposed", []string{x, "y\x14"}, "⟦@⟧y⟦x⟧", false},
		{"up and down", []string{"a ", x, up, down, "b"}, "a ⟦@x⟧b", true},
		{"cleared and called back", []string{"a ", x, "\x03", up, "b"}, "a ⟦@x⟧b", true},
		{"cleared and found again", []string{"a ", x, "\x03", "\x12a\x1b", "\x05b"}, "a ⟦@x⟧b", true},
		{"big, called back", []string{"a ", pastes(big), "\x03", up, " @y"}, "a ⟦" + big + "⟧ @y", true},
		{"over lines", []string{"a ", x, "\\\r", "@y"}, "a ⟦@x⟧\n@y", true},
		{"big, over lines", []string{"a ", pastes(big), "\\\r", "@y"}, "a ⟦" + big + "⟧\n@y", true},
		{"a backslash that was pasted", []string{"a ", pastes("b\\")}, "a ⟦b\\⟧", true},
		{"in a block", []string{`"""a `, x, `"""`}, "⟦a @x⟧", false},
	} {
		b := newBare(t, []string{"old"}, nil)
		b.read("")
		b.keys(tt.keys...)
		b.keys("\r")
		r, _ := b.result()
		if got := marked(r.line); got != tt.want || r.line.Literal == tt.cmd {
			t.Errorf("%s: %q, pasted %v; want %q", tt.name, got, r.line.Literal, tt.want)
		}
	}
}

// A paste that was called back shows as it did: the text typed beside it can be
// read.
func TestAPasteIsCalledBackAsOne(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, nil)
	b.read("")
	b.keys("look: ", pastes(strings.Repeat("line\n", 20)+"end"), "\\\r", "please", "\x03", "\x1b[A")
	b.shows("you: look: [paste 1: 21 lines]", "     please")
	b.keys("\x15", "\x7f", "\x12", "please")
	b.shows("(search 'please'): look: [paste 1: 21 lines]", "     please")
}

// A paste from another session is called back as one mark and cannot be seen: its
// paths stay text. One of this session is known.
func TestUnseenTextOfOtherSessionsIsData(t *testing.T) {
	t.Parallel()
	long := "@x " + strings.Repeat("word ", 300)
	b := newBare(t, []string{long}, nil)
	b.read("")
	b.keys("\x1b[A", "\r")
	if r, _ := b.result(); marked(r.line) != "⟦"+long+"⟧" || r.line.Literal {
		t.Errorf("got %q", marked(r.line))
	}
	b.read("")
	b.keys("@y "+long, "\x03", "\x1b[A", "\r")
	if r, _ := b.result(); len(r.line.Pasted) != 0 {
		t.Errorf("got %q", marked(r.line))
	}
}

// A queued paste that comes back into the prompt is still a paste: a /quit in it
// ends nothing.
func TestQueuedPastesComeBackAsPastes(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, nil)
	b.f.interrupt = func() {}
	b.keys(pastes("/quit"), "\r", "see ", pastes("@x"), "\r")
	queued := b.f.Prompt.queue.lines
	b.f.interrupt, b.f.Prompt.queue.lines = nil, nil
	for i, typed := range []string{"⟦/quit⟧", "see ⟦@x⟧"} {
		back := Draft{queued[i].Text, queued[i].Pasted}
		b.start(&request{label: Label{Text: "you: "}, initial: back})
		b.keys("\r")
		if r, _ := b.result(); r.line.Literal != (i == 0) || marked(r.line) != typed {
			t.Errorf("got %q, pasted %v", marked(r.line), r.line.Literal)
		}
	}
}

// An answer is one row; one that was cut says so.
func TestAPasteIntoAnAnswerIsOneRow(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{"one\r": "one|", "one\rtwo\r": "one …|", "\r one \r\r": "one|"} {
		b := newBare(t, nil, nil)
		b.ask()
		b.silence(quiet)
		if b.keys(pasteBegin + src + pasteEnd); b.line() != want {
			t.Errorf("%q: %q, want %q", src, b.line(), want)
		}
	}
}

// Tab on a pasted path chooses it.
func TestTabTakesAPastedPath(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, func(o *Options) { o.Complete = proposing(words("@week.go ")...) })
	b.read("")
	b.keys("see ", pastes("a @we"), "\t", "\r")
	if r, _ := b.result(); marked(r.line) != "see ⟦a ⟧@week.go " {
		t.Errorf("got %q", marked(r.line))
	}
}

// With vi's keys too.
func TestViPutsWhatWasPasted(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, func(o *Options) { o.ViKeys = true })
	b.read("")
	b.keys("a ", pastes("@x"), "\x1b", "0d$p", "\r")
	if r, _ := b.result(); marked(r.line) != "a ⟦@x⟧" || !slices.Equal(r.line.Pasted, []Span{{2, 4}}) {
		t.Errorf("got %q", marked(r.line))
	}
}

// A text of /edit that could not be sent comes back as text: a /quit in it ends
// nothing.
func TestWhatTheEditorGivesBackIsNoCommand(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, nil)
	b.start(&request{label: Label{Text: "you: "}, initial: Literal("/quit")})
	b.keys("\r")
	if r, _ := b.result(); r.line.Text != "/quit" || !r.line.Literal {
		t.Errorf("got %+v", r.line)
	}
}
