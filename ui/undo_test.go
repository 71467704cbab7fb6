package ui

import (
	"strconv"
	"strings"
	"testing"

	"artoo/tool/journal"
)

func TestTheDiffOfASessionIsBoundedAndNamesWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	var changes []journal.Change
	for i := range 12 {
		text := strings.Repeat("a line of file "+strconv.Itoa(i)+"\n", 50_000)
		changes = append(changes, journal.Change{Path: "f" + strconv.Itoa(i),
			After: journal.State{Kind: journal.Link, Target: text, Size: int64(len(text))}})
	}
	got := Undo{Journal: &journal.Journal{}, Root: t.TempDir()}.Diff(changes)
	if len(got) > 2*maxDiff || !strings.Contains(got, "\n+a line of file 0\n") ||
		!strings.Contains(got, "f11: 900000 bytes, was 0 (text left out)\n") ||
		!strings.HasSuffix(got, "\nthe diff leaves out 7 more files: it would be too long\n") {
		t.Errorf("%d bytes, which end in %q", len(got), got[max(0, len(got)-600):])
	}
}

func TestAnUndoNamesACommandByItsFirstLine(t *testing.T) {
	p := journal.Plan{Turns: []int{1}, Steps: []journal.StepInfo{{What: "run cat > x <<E\n\ttab\nE\n"}},
		Restore: []journal.Change{{Path: "x", Before: journal.State{Kind: journal.Link, Target: "y"}}}}
	q := Undo{Journal: &journal.Journal{}, Root: t.TempDir()}.Question(p)
	if len(q.Steps) != 1 || q.Steps[0] != "run cat > x <<E …" {
		t.Errorf("%q", q.Steps)
	}
}
