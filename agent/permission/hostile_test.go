package permission

import (
	"path/filepath"
	"testing"

	"artoo/tool"
)

// hostileTree is a harmless tree with things that lines of testdata/hostile.txt would use: names that are formats and
// options, a secret, a program.
func hostileTree(t *testing.T) (string, *Policy) {
	t.Helper()
	root, p := harmlessTree(t, ModeAsk)
	for name, text := range map[string]string{
		"u/a.txt": "a\n", "u/b.txt": "b\n", ".gh/config": "[core]\nfsmonitor = ./x\n", "d/%n": "", "d/PATH": "",
		"d/-n": "", "x": "touch PWN\n",
		".env": "SECRET=1\n", "v/-o": "", "sub/x": "x\n",
	} {
		putFile(t, filepath.Join(root, name), text)
	}
	putFile(t, filepath.Join(root, "d/0/ls"), "#!/bin/sh\ntouch PWN\n")
	return root, p
}

// TestHostileLinesAreAsked has lines with forbidden writes, runs or reads, for a user whose shell is bash and for one
// who has sh only.
func TestHostileLinesAreAsked(t *testing.T) {
	t.Parallel()
	root, p := hostileTree(t)
	lines := append(linesOf(t, "hostile.txt"), "cat <<EOF | sh\ntouch PWN\nEOF", "sed -n '1{p;w x\n}' a.txt",
		"sed -n '1a\\\nx' a.txt",
		"for f in a.txt\ndo touch \"$f.x\"\ndone", "echo \"中\\\" ; touch PWN #\" \xff")
	if len(lines) < 150 {
		t.Errorf("only %d lines", len(lines))
	}
	for _, shell := range []string{"bash", "sh"} {
		p.Shell.Name = shell
		for _, line := range lines {
			access := tool.Access{Kind: tool.KindRun, Command: line, Dir: root}
			if d := p.Decide("bash", access); d.Verdict != Ask {
				t.Errorf("%s: %s: %s (%s)", shell, line, d.Verdict, d.Reason())
			}
		}
	}
}

// TestWhatAUserWouldExpectIsReading has more lines that must raise no question, in
// the strictest mode.
func TestWhatAUserWouldExpectIsReading(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModePlan)
	putFile(t, filepath.Join(root, "scripts", "x y.sh"), "echo\n")
	for _, line := range linesOf(t, "expected.txt") {
		access := tool.Access{Kind: tool.KindRun, Command: line, Dir: root}
		if d := p.Decide("bash", access); d.Verdict != Run {
			t.Errorf("%s: %s (%s)", line, d.Verdict, d.Reason())
		}
	}
}
