package screen

import (
	"fmt"
	"strings"
	"testing"
)

func undoQuestion() UndoQuestion {
	q := UndoQuestion{Verb: "undo", Object: `turn 3: "make the tests pass, and then tell me why they failed at all"`,
		Head: "edit main.go, run make test: 502 paths",
		Rows: []UndoRow{{"restore", "main.go\nyou: yes", "restore main.go\nyou: yes"}, {"left as it is:", "notes.md", "left as it is: notes.md (changed since)"},
			{Text: "the repository has moved since"}},
		Diff: "--- a/main.go\n+++ b/main.go\n@@ -1 +1 @@\n-new\n+old\x1b[2J\n--- a/x.go\n+++ /dev/null\n@@ -7 +0,0 @@\n-gone\n",
	}
	for i := range 500 {
		path := fmt.Sprintf("made/%d", i)
		q.Rows = append(q.Rows, UndoRow{"delete", path, "delete " + path + " (2 bytes)"})
	}
	return q
}

// Many paths of an undo are summed up by directory, the pager has each, and nothing in a
// name looks like a line of artoo's own.
func TestAnUndoIsShownWholeBeforeItIsDone(t *testing.T) {
	t.Parallel()
	for name, opt := range profiles() {
		r := newRig(opt)
		prompt, left := r.Confirm(undoQuestion())
		got := r.err.String()
		if left || !strings.HasPrefix(strings.TrimPrefix(prompt, "? "), `approve: undo turn 3: "make`) || strings.Contains(prompt, "\n") {
			t.Errorf("%s: left %v, asks %q", name, left, prompt)
		}
		for _, text := range []string{"main.go, run make test: 502 paths", "delete made/ (500 paths)",
			"restore ./ (1 path)", "left as it is: ./ (1 path)", "the repository has moved since"} {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), text) {
				t.Errorf("%s: %q is not shown in\n%.2000s", name, text, got)
			}
		}
		if strings.Contains(got, "made/499") || len(got) > 2000 {
			t.Errorf("%s: each path is shown: %.2000s", name, got)
		}
		if strings.Contains(got, "\nyou:") {
			t.Errorf("%s: a name looks like the user's line", name)
		}
		if all := r.ConfirmAll(undoQuestion()); !strings.Contains(all, "old") || !strings.Contains(all, "delete made/499 (2 bytes)") || !strings.Contains(all, "left as it is: notes.md (changed since)") || strings.Contains(all+got, "\x1b[2J") {
			t.Errorf("%s: the pager gets %q", name, all)
		}
	}
}

// A few paths are shown each, with all that is known of them.
func TestFewPathsOfAnUndoAreShown(t *testing.T) {
	t.Parallel()
	q := undoQuestion()
	q.Rows = q.Rows[:60]
	r := newRig(profiles()["nocolor"])
	if r.Confirm(q); !strings.Contains(r.err.String(), "delete made/56 (2 bytes)") || !strings.Contains(r.err.String(), "notes.md (changed since)") {
		t.Errorf("shown: %q", r.err.String())
	}
}

// A row of 40 columns holds the question's object, and its choices follow.
func TestTheLineOfAnUndoFitsANarrowTerminal(t *testing.T) {
	t.Parallel()
	r := newRig(func(o *Options) { o.Width, o.ErrColor = func() int { return 40 }, false })
	prompt, _ := r.Confirm(undoQuestion())
	object, choices, _ := strings.Cut(strings.TrimPrefix(prompt, "? "), "?  ")
	if cells(object)+3 > 40 || choices != "[y,n,p,?] (n) " {
		t.Errorf("asks %q", prompt)
	}
}

func TestSpokenDiffsNameEachFile(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["spoken"])
	got := r.ConfirmAll(MemoryQuestion{Diff: "--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-one\n+two\nb.png: image/png, 9 bytes, before 8\n" +
		"--- a/c.go\n+++ /dev/null\n@@ -7 +0,0 @@\n-gone\n"})
	expected := "removed line 1: one\nadded line 1: two\nb.png: image/png, 9 bytes, before 8.\nfile c.go:\nremoved line 7: gone\n"
	if got != expected {
		t.Errorf("heard %q", got)
	}
}
