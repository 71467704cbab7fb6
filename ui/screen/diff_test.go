package screen

import (
	"fmt"
	"strings"
	"testing"

	"artoo/tool/diff"

	"github.com/google/go-cmp/cmp"
)

// tillDiff has changed words, two hunks, a long line, wide characters and a line without an end.
const tillDiff = `--- a/till.go
+++ b/till.go
@@ -15,4 +15,4 @@ func Total(items []Item) int {
 	for _, it := range items { /* all of "them" */
-		sum += it.Cents
+		sum += it.Cents * it.Count
 	}
 	return sum
@@ -140,3 +140,5 @@
 func Name() string {
-	return "the old name of the till"
+	// Name is what people say; this comment is long enough to be folded where a row has eighty columns or less.
+	s := "名前は世界で一番長い名前なので八十桁の画面では次の行に続く長さの名前"
+	return "the new name of the till"
 }
\ No newline at end of file
`

// manyFiles has a file that is new, one that is gone and one of which no lines are shown.
func manyFiles() string {
	var b strings.Builder
	b.WriteString("--- /dev/null\n+++ \"b/na\\303\\257ve.sh\"\n@@ -0,0 +1,40 @@\n")
	for i := range 40 {
		fmt.Fprintf(&b, "+echo \"line %d\" # said\n", i+1)
	}
	b.WriteString("--- a/old/draft.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-old words\n-\n" +
		"--- /dev/null\n+++ b/empty\nlogo.png: new, image/png, 312 bytes\n" +
		"--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n" +
		"-Cart holds what a customer wants to buy.\n-\n+Basket holds what a customer wants to buy.\n+\n")
	return b.String()
}

func TestDiffsAreShownAsPeopleReadThem(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, c := range []struct {
		width int
		deep  bool
	}{{40, false}, {80, false}, {80, true}, {200, false}} {
		r := newRig(func(o *Options) { o.Palette = NewPalette(nil, nil, c.deep) })
		r.opt.Width = wide(c.width)
		e := editCall("1")
		e.Access.Object, e.Access.Diff = "till.go", tillDiff
		r.typed(r.Question(ask(e, 1, 1)), "y")
		q := changesQuestion()
		q.Diff = manyFiles()
		r.typed(r.Question(q), "y")
		for row := range strings.SplitSeq(sgr.ReplaceAllString(r.err.String(), ""), "\n") {
			if strings.ContainsAny(row, "⋮↪") && cells(row) >= c.width {
				t.Errorf("%d columns: %d cells: %q", c.width, cells(row), row)
			}
		}
		shown := strings.ReplaceAll(r.err.String(), "\x1b", "␛")
		fmt.Fprintf(&all, "==> %d columns, 256 colours %t <==\n%s\n", c.width, c.deep, shown)
	}
	golden(t, "diff.golden", all.String())
}

// What goes to the pager, and what /diff shows, can be given to git apply.
func TestOnlyQuestionsHaveTheNumbersOfLines(t *testing.T) {
	t.Parallel()
	for name, change := range profiles() {
		r := newRig(change)
		e := editCall("1")
		e.Access.Diff = tillDiff
		question := ask(e, 1, 1)
		all := r.QuestionAll(question)
		r.Changes(tillDiff, 100)
		shown := sgr.ReplaceAllString(r.err.String(), "")
		if r.opt.Profile == Spoken {
			continue
		}
		if !strings.Contains(all, tillDiff) {
			t.Errorf("%s: the pager gets %q", name, all)
		}
		if !strings.Contains(folded.ReplaceAllString(shown, ""), r.layout.ascii(tillDiff)) && r.opt.ErrTTY {
			t.Errorf("%s: /diff shows %q", name, shown)
		}
		r.err.Reset()
		r.Question(question)
		shown = sgr.ReplaceAllString(r.err.String(), "")
		numbers, unified := strings.Contains(shown, "     15   \tfor _"), strings.Contains(shown, "\n@@ -15")
		if rich := r.opt.Profile == Rich; numbers != rich || unified == rich {
			t.Errorf("%s: the question shows %q", name, shown)
		}
	}
}

// A line of a hunk that looks like the name of a file is none, also where a key of several lines was masked.
func TestNoLineOfAHunkNamesAFile(t *testing.T) {
	t.Parallel()
	const forged = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n--- a/harmless\n+++ b/harmless\n@@ -9 +9 @@\n-a\n+b\n"
	for _, c := range []struct {
		diff string
		want []diffKind
	}{
		{forged, []diffKind{fileLine, fileLine, fragLine, sameLine, removedLine, addedLine, fragLine, removedLine,
			addedLine}},
		{"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n same\n-[masked]\n--- a/y\n+++ b/y\n@@ -9 +9 @@\n-a\n+b\n",
			[]diffKind{fileLine, fileLine, fragLine, sameLine, removedLine, fileLine, fileLine, fragLine, removedLine,
				addedLine}},
		{"x.png: new\n+stray\n@@@ -1 -1 +1 @@@\n++both\n", []diffKind{noteLine, addedLine, fragLine, addedLine}},
	} {
		var got []diffKind
		for _, d := range parseDiff(strings.Split(strings.TrimSuffix(c.diff, "\n"), "\n")) {
			got = append(got, d.kind)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q: %s", c.diff, d)
		}
	}
	r := newRig(profiles()["nocolor"])
	r.Unasked(TryQuestion{Diff: forged}, "")
	got := r.err.String()
	if strings.Contains(got, "        harmless") || !strings.Contains(got, "      2 - -- a/harmless\n") {
		t.Errorf("%q", got)
	}
}

// The middle of a whole file is left out, and said to be; y counts after the pager where that has been so for diffs.
func TestTheMiddleOfAWholeFileIsLeftOut(t *testing.T) {
	t.Parallel()
	whole := func(n int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "--- /dev/null\n+++ b/x\n@@ -0,0 +1,%d @@\n", n)
		for i := range n {
			fmt.Fprintf(&b, "+line %d\n", i+1)
		}
		return b.String()
	}
	for n, want := range map[int]struct {
		more   string
		unseen bool
	}{
		20:  {},
		21:  {"     12 + line 12\n      ⋮   5 more lines\n     18 + line 18\n", false},
		380: {"364 more lines\n", false},
		500: {"484 more lines\n", true},
	} {
		r := newRig(profiles()["nocolor"])
		e := editCall("1")
		e.Access.Diff = whole(n)
		q := ask(e, 1, 1)
		r.Question(q)
		got := r.err.String()
		if r.Unseen(q) != want.unseen || strings.Contains(got, "y counts after that") != want.unseen ||
			!strings.Contains(got, want.more) || strings.Contains(got, "more") != (want.more != "") {
			t.Errorf("%d lines, unseen %v: %s", n, r.Unseen(q), got)
		}
	}
	r := newRig(profiles()["nocolor"])
	q := changesQuestion()
	if q.Diff = whole(70); !r.Unseen(q) {
		t.Error("a command's new file of 70 lines counts as seen")
	}
}

// Words are marked where a line is much the same, and nowhere else.
func TestChangedWordsAreMarked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ was, is, marked string }{
		{"a old b\n", "a new b\n", "old|new"},
		{"one two three\n", "one deux trois three\n", "two|deux trois"},
		{"gone entirely\n", "what came instead\n", ""},
		{"f(x)\n", "f(x)\n// f is new\n", ""},
		{"keep x\nkeep y\n", "keep z\nkeep y\nkeep w\n", "x|z"},
	} {
		removed, added := diff.Words(c.was, c.is)
		var got []string
		for i, text := range []string{c.was, c.is} {
			at := 0
			for l := range strings.Lines(text) {
				for _, s := range within(strings.TrimSuffix(l, "\n"), at, [][]diff.Span{removed, added}[i]) {
					got = append(got, l[s.Start:s.End])
				}
				at += len(l)
			}
		}
		if marked := strings.Join(got, "|"); marked != c.marked {
			t.Errorf("%q to %q: %q is marked", c.was, c.is, marked)
		}
	}
}
