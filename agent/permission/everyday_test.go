package permission

import (
	"strings"
	"testing"
)

// TestEverydayLinesRunUnaskedUnderARuleForEveryCommand has the lines that an agent runs all day, with variables,
// substitutions and loops.
func TestEverydayLinesRunUnaskedUnderARuleForEveryCommand(t *testing.T) {
	t.Parallel()
	empty := t.TempDir() + "/" // whatever stands in /tmp would be overwritten
	for _, line := range linesOf(t, "everyday.txt") {
		line = strings.ReplaceAll(line, "/tmp/", empty)
		lineIs(t, testPolicy(t, ModeAsk, "bash", "", ""), line, Run)
	}
}

// TestARuleThatNamesTheCommandCoversWhatIsAlwaysAsked has the fixed words that
// spare the question.
func TestARuleThatNamesTheCommandCoversWhatIsAlwaysAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ allow, line string }{
		{"bash(git apply:*)", "git apply x.diff"}, {"bash(git rm -f:*)", "git rm -f a.txt"},
		{"bash(git mv -f:*)", "git mv -f a b"}, {"bash(rm:*)", "xargs rm"},
		{"bash(git checkout-index -f:*)", "git checkout-index -f a"}, {"bash(cp a $(cat to))", "cp a $(cat to)"},
	} {
		lineIs(t, testPolicy(t, ModeAsk, c.allow, "", ""), c.line, Run)
	}
}
