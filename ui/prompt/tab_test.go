package prompt

import (
	"fmt"
	"strings"
	"testing"

	"artoo/ui/prompt/prompttest"
)

// proposing completes the word before the cursor from a list.
func proposing(words ...Candidate) Completer {
	return func(text string, cursor int) Completion {
		from := strings.LastIndexAny(text[:cursor], " \n") + 1
		c := Completion{From: from, To: cursor}
		for _, w := range words {
			if strings.HasPrefix(w.Text, text[from:cursor]) {
				c.Candidates = append(c.Candidates, w)
			}
		}
		return c
	}
}

func words(texts ...string) []Candidate {
	var list []Candidate
	for _, text := range texts {
		list = append(list, Candidate{Text: text})
	}
	return list
}

func TestTabCompletes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, keys, want string }{
		{"one", "/he|\t", "/help |"},
		{"within a text", "say /he now|\x1b[D|\x1b[D|\x1b[D|\x1b[D|\t", "say /help | now"},
		{"the common start", "@src/a|\t", "@src/日本|"},
		{"nothing", "zzz|\t", "zzz|"},
		{"behind a collapsed paste", pasteBegin + strings.Repeat("x\n", 20) + "y" + pasteEnd + "| /he|\t",
			string(collapsedBit) + " /help |"},
	} {
		b := newBare(t, nil, nil)
		b.f.opt.Complete = proposing(words("/help ", "@src/日本語", "@src/日本人", "@src/b")...)
		if tt.name == "the common start" {
			b.f.opt.Complete = func(text string, cursor int) Completion {
				return Completion{From: 0, To: cursor, Candidates: words("@src/日本語", "@src/日本人")}
			}
		}
		b.read("")
		b.keys(strings.Split(tt.keys, "|")...)
		if got := b.line(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if tt.name == "nothing" && !strings.HasSuffix(b.wrote(), "\a") {
			t.Error("no beep")
		}
	}
}

// If Tab can add nothing more, the candidates stand above the prompt.
func TestTabLists(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, nil)
	b.f.opt.Complete = proposing(words("@alpha", "@alphabet", "@alps/")...)
	b.read("")
	b.keys("see @a", "\t")
	b.shows("you: see @alp")
	b.keys("\t")
	b.shows("@alpha     @alphabet  @alps/", "you: see @alp")
	b.keys("h", "\t")
	b.shows("you: see @alpha")
	b.keys("b", "\t")
	b.shows("you: see @alphabet")
	b.f.opt.Complete = proposing(Candidate{"/approval ", "the mode"}, Candidate{"/approvals ", "the rules\x1b[31m\nx"})
	b.keys("\x15", "/approval", "\t")
	b.shows("/approval   the mode", "/approvals  the rules^[[31m^Jx", "you: /approval")
	b.unsent()
}

// A long list leaves the prompt on the screen and says how many there are more.
func TestLongListsAreCut(t *testing.T) {
	t.Parallel()
	var many []Candidate
	for i := range 300 {
		many = append(many, Candidate{Text: fmt.Sprintf("@file%03d.go", i)})
	}
	b := newBare(t, nil, nil)
	b.term = prompttest.New(80, 10)
	b.f.canvas.out = writes(b.term)
	b.f.opt.Complete = proposing(many...)
	b.read("")
	b.keys("@file", "\t")
	got := b.wrote() // the screen's output; the prompt went to the terminal
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) > 8 {
		t.Errorf("%d lines", len(lines))
	}
	listed := strings.Count(got, "@file")
	if want := fmt.Sprintf("… %d more", 300-listed); lines[len(lines)-1] != want {
		t.Errorf("the last line is %q, want %q", lines[len(lines)-1], want)
	}
	for _, l := range lines {
		if len([]rune(l)) > 79 {
			t.Errorf("%d cells: %q", len([]rune(l)), l)
		}
	}
}

// Names that no key can type are not put into the line; the others are shown safe.
func TestCandidatesAreSafe(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, nil)
	b.read("")
	for _, name := range []string{"@a\x1b[31m", "@a\nrm -rf", "@a\u009b"} {
		b.f.opt.Complete = func(string, int) Completion { return Completion{From: 0, To: 0, Candidates: words(name)} }
		b.keys("\t")
		if b.line() != "|" {
			t.Fatalf("%q became %q", name, b.line())
		}
	}
	b.f.opt.Complete = func(string, int) Completion {
		return Completion{Candidates: words("\u202eabc", "b\u200bcd")}
	}
	b.wrote()
	b.keys("\t")
	if got := b.wrote(); strings.ContainsAny(got, "\u202e\u200b") || !strings.Contains(got, "<U+202E>abc") {
		t.Errorf("listed as %q", got)
	}
	for _, c := range []Completion{{From: -1, To: 0}, {From: 3, To: 2}, {From: 0, To: 99}, {From: 1, To: 1}} {
		c.Candidates = words("x")
		b.f.opt.Complete = func(string, int) Completion { return c }
		b.keys("日", "\t", "\x15") // 1 is within the character
		if b.line() != "|" {
			t.Errorf("%+v: %q", c, b.line())
		}
	}
}

// Spoken, the rows that are there stay, and the prompt comes again below.
func TestAListOfCandidatesIsSpoken(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, func(o *Options) { o.Spoken = true })
	b.f.opt.Complete = proposing(words("@alpha", "@beta")...)
	b.read("")
	b.keys("@")
	b.wrote()
	b.keys("\t")
	if got := b.wrote(); strings.Contains(got, "\x1b[J") || strings.Contains(got, "\r") {
		t.Errorf("something was drawn over: %q", got)
	}
	b.shows("you: @", "@alpha  @beta", "you: @")
}
