package permission

import "testing"

// TestAWriteInWhatOthersRunIsAskedHoweverItIsSpelled has lines that a rule for
// every command does not cover, though no word names the file it writes.
func TestAWriteInWhatOthersRunIsAskedHoweverItIsSpelled(t *testing.T) {
	for _, line := range linesOf(t, "hidden_writes.txt") {
		for _, allow := range []string{"bash", "bash(git:*)|bash(cp:*)|bash(tee:*)|bash(sed:*)|bash(awk:*)|bash(find:*)"} {
			if got := testPolicy(t, ModeAsk, allow, "", "").Decide("bash", run(line)); got.Effect != Ask {
				t.Errorf("allow %s: %q: %s (%s)", allow, line, got.Effect, got.Reason)
			}
		}
	}
}

// TestEverydayLinesRunUnaskedUnderARuleForEveryCommand has what an agent runs
// all day, with variables, substitutions and loops.
func TestEverydayLinesRunUnaskedUnderARuleForEveryCommand(t *testing.T) {
	for _, line := range linesOf(t, "everyday.txt") {
		if got := testPolicy(t, ModeAsk, "bash", "", "").Decide("bash", run(line)); got.Effect != Allow {
			t.Errorf("%q: %s (%s)", line, got.Effect, got.Reason)
		}
	}
}

// TestAPatchInTheLineRunsUnaskedUnlessItNamesWhatOthersRun reads the patch that
// a here-document holds.
func TestAPatchInTheLineRunsUnaskedUnlessItNamesWhatOthersRun(t *testing.T) {
	for _, c := range []struct {
		file string
		want Effect
	}{
		{"main.go", Allow}, {".envrc", Ask}, {".github/workflows/ci.yml", Ask}, {"AGENTS.md", Ask}, {"sub/.vscode/x", Ask},
	} {
		for _, apply := range []string{"git apply", "patch -p1"} {
			line := apply + " <<'EOF'\n--- a/" + c.file + "\n+++ b/" + c.file + "\n@@ -1 +1 @@\n-a\n+b\nEOF"
			if got := testPolicy(t, ModeAsk, "bash", "", "").Decide("bash", run(line)); got.Effect != c.want {
				t.Errorf("%q: %s (%s)", line, got.Effect, got.Reason)
			}
		}
	}
}

// TestARuleThatNamesTheCommandCoversWhatIsAlwaysAsked has the fixed words that
// spare the question.
func TestARuleThatNamesTheCommandCoversWhatIsAlwaysAsked(t *testing.T) {
	for _, c := range []struct{ allow, line string }{
		{"bash(git apply:*)", "git apply x.diff"}, {"bash(git rm -f:*)", "git rm -f a.txt"},
		{"bash(git mv -f:*)", "git mv -f a b"}, {"bash(rm:*)", "xargs rm"},
		{"bash(git checkout-index -f:*)", "git checkout-index -f a"}, {"bash(cp a $(cat to))", "cp a $(cat to)"},
	} {
		if got := testPolicy(t, ModeAsk, c.allow, "", "").Decide("bash", run(c.line)); got.Effect != Allow {
			t.Errorf("allow %s: %q: %s (%s)", c.allow, c.line, got.Effect, got.Reason)
		}
	}
}
