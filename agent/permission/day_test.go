package permission

import (
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool"
)

// dayPolicy is the policy of a project that holds what the lines of testdata/day.txt
// work on. What is installed on this machine does not matter.
func dayPolicy(t *testing.T, mode Mode, trusts bool) *Policy {
	t.Helper()
	root, p := harmlessTree(t, mode)
	for _, name := range []string{"Makefile", "scripts/gen.py", "node_modules/.bin/tsc"} {
		putFile(t, filepath.Join(root, filepath.FromSlash(name)), "x\n")
	}
	p.Confinement = Confinement{Sandbox: true, Layer: true, Auto: true}
	p.TrustsPrograms, p.Program = trusts, nil
	return p
}

// TestADayAsksLittleBeforehand counts the questions before the lines of a day's work.
// All that a line's own programs cause is one question, since the answers a and A
// speak of every own program of the project.
func TestADayAsksLittleBeforehand(t *testing.T) {
	lines := linesOf(t, "day.txt")
	if len(lines) != 40 {
		t.Fatalf("a day has %d lines, not 40", len(lines))
	}
	for _, row := range []struct {
		mode   Mode
		trusts bool
		most   int
	}{
		{ModeAsk, true, 8}, {ModeEdits, true, 8}, {ModeAuto, true, 8},
		{ModeAsk, false, 9}, {ModeEdits, false, 9}, {ModeAuto, false, 9},
	} {
		p := dayPolicy(t, row.mode, row.trusts)
		var asked []string
		own := 0
		for _, line := range lines {
			d := p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: line, Dir: p.Root})
			switch {
			case d.Verdict == Refuse:
				t.Errorf("%s: %s is refused: %s", row.mode, line, d.Reason())
			case d.Verdict == Ask && d.Place == PlaceLayer && d.Has(OwnPrograms):
				own++
			case d.Verdict == Ask:
				asked = append(asked, line+"   ("+d.Reason()+")")
			}
		}
		questions := len(asked) + min(own, 1)
		t.Logf("%s, trusted %v: %d questions, %d lines run own programs; the others:\n%s",
			row.mode, row.trusts, questions, own, strings.Join(asked, "\n"))
		if questions > row.most {
			t.Errorf("%s, trusted %v: %d questions, more than %d", row.mode, row.trusts, questions, row.most)
		}
		if row.trusts && own > 0 {
			t.Errorf("%s: %d lines ask about own programs that are trusted", row.mode, own)
		}
	}
}
