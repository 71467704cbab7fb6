package screen

import (
	"fmt"
	"strings"
	"testing"
)

func undoQuestion() UndoQuestion {
	q := UndoQuestion{Verb: "undo", Object: `turn 3: "make the tests pass, and then tell me why they failed at all"`,
		Head: "edit main.go, run make test: 502 paths",
		Rest: []string{"restore main.go\nyou: yes", "stays as it is: notes.md (changed since)"},
		Diff: "--- a/main.go\n+++ b/main.go\n@@ -1 +1 @@\n-new\n+old\x1b[2J\n--- a/x.go\n+++ /dev/null\n@@ -7 +0,0 @@\n-gone\n",
	}
	for i := range 500 {
		q.First = append(q.First, fmt.Sprintf("delete made/%d (2 bytes)", i))
	}
	return q
}

// Whatever an undo deletes is named, however much it is, and nothing in a name looks
// like a line of artoo's own.
func TestAnUndoIsShownWholeBeforeItIsDone(t *testing.T) {
	for name, opt := range profiles() {
		r := newRig(opt)
		prompt, left := r.Undo(undoQuestion())
		got := r.err.String()
		if left || !strings.HasPrefix(prompt, `approve: undo turn 3: "make`) || strings.Contains(prompt, "\n") {
			t.Errorf("%s: left %v, asks %q", name, left, prompt)
		}
		for _, text := range []string{"main.go, run make test: 502 paths", "delete made/0", "delete made/499",
			"restore main.go", "stays as it is: notes.md"} {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), text) {
				t.Errorf("%s: %q is not shown in\n%.2000s", name, text, got)
			}
		}
		if strings.Contains(got, "\nyou:") {
			t.Errorf("%s: a name looks like the user's line", name)
		}
		if all := r.UndoAll(undoQuestion()); !strings.Contains(all, "old") || strings.Contains(all+got, "\x1b[2J") {
			t.Errorf("%s: the pager gets %q", name, all)
		}
	}
}

func TestManyRestoredFilesAreLeftToThePager(t *testing.T) {
	q := undoQuestion()
	for i := range 500 {
		q.Rest = append(q.Rest, fmt.Sprintf("restore kept/%d", i))
	}
	r := newRig(profiles()["nocolor"])
	if _, left := r.Undo(q); !left || strings.Contains(r.err.String(), "restore kept/300") {
		t.Errorf("left %v", left)
	}
	if all := r.UndoAll(q); !strings.Contains(all, "restore kept/300") {
		t.Error("the pager does not get all of it")
	}
}

// A row of 40 columns holds the question's object, and its choices follow.
func TestTheLineOfAnUndoFitsANarrowTerminal(t *testing.T) {
	r := newRig(func(o *Options) { o.Width, o.ErrColor = func() int { return 40 }, false })
	prompt, _ := r.Undo(undoQuestion())
	object, choices, _ := strings.Cut(prompt, "? ")
	if cells(object)+1 > 40 || choices != undoChoices {
		t.Errorf("asks %q", prompt)
	}
}

func TestSpokenDiffsNameEachFile(t *testing.T) {
	r := newRig(profiles()["spoken"])
	got := r.ChangesAll("--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-one\n+two\nb.png: image/png, 9 bytes, before 8\n" +
		"--- a/c.go\n+++ /dev/null\n@@ -7 +0,0 @@\n-gone\n")
	expected := "removed line 1: one\nadded line 1: two\nb.png: image/png, 9 bytes, before 8.\nfile c.go:\nremoved line 7: gone\n"
	if got != expected {
		t.Errorf("heard %q", got)
	}
}
