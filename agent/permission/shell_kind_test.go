package permission

import (
	"strings"
	"testing"
)

// TestALineIsParsedForTheShellThatRunsIt has lines that shells take differently.
func TestALineIsParsedForTheShellThatRunsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shell, line string
		want        Verdict
	}{
		{"bash", "cat a &>/dev/null", Run}, {"bash", "cat &>/dev/null touch a", Run},
		{"sh", "cat &>/dev/null touch a", Ask}, {"dash", "cat &>>/dev/null touch a", Ask},
		{"bash.exe", "ls &>/dev/null", Run}, {"sh", "ls -la | head -5", Run}, {"sh", "cd sub && cat b.go", Run},
		{"sh", "[ -f a ] && echo yes", Run}, {"sh", "cat <<< x", Ask}, {"sh", "[[ a > b ]]", Ask},
		{"sh", "ls |& cat", Ask}, {"sh", "ls **/*.go", Ask}, {"bash", "ls **/*.go", Run},
		{"sh", "for f in a b; do cat $f; done", Ask}, {"sh", "printf '%d' 'x[$(touch y)]'", Ask},
		{"bash", "printf '%d' 'x[$(touch y)]'", Ask}, {"sh", "sh -c 'ls'", Run}, {"sh", "bash -c 'ls'", Ask},
		{"bash", "bash -c 'ls'", Run}, {"bash", "sh -c 'ls'", Ask}, {"zsh", "ls", Ask}, {"fish", "ls", Ask},
		{"nu", "ls", Ask},
	} {
		p := testPolicy(t, ModeAsk, "", "", "")
		p.Shell.Name = c.shell
		lineIs(t, p, c.line, c.want)
	}
}

// TestInAnotherLocaleNoLineIsTakenApart has a line whose quotes mean something
// else where a backslash can be the second byte of a character.
func TestInAnotherLocaleNoLineIsTakenApart(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"echo \"中\\\" ; touch PWN #\"", "ls", "cat a"} {
		p := testPolicy(t, ModeAsk, "bash(echo:*)|bash(ls:*)", "", "")
		p.Shell.Locale = "zh_CN.GBK"
		if got := p.Decide("bash", run(line)); got.Verdict != Ask || !strings.Contains(got.Reason(), "zh_CN.GBK") {
			t.Errorf("%q: %s (%s)", line, got.Verdict, got.Reason())
		}
		p = testPolicy(t, ModePlan, "", "", "")
		p.Shell.Locale = "zh_CN.GBK"
		lineIs(t, p, line, Refuse)
		p = testPolicy(t, ModeAsk, "bash", "", "")
		p.Shell.Locale = "zh_CN.GBK"
		lineIs(t, p, line, Run)
	}
	for line, want := range map[string]Verdict{"grep é a": Run, "grep 中 a": Run, "cat '文件'": Run,
		"ls\u00a0rm": Ask, "ls\u3000-l": Ask, "ls a\u200b": Ask, "ls \xff": Ask, "ls '\x81\\'": Ask} {
		lineIs(t, testPolicy(t, ModeAsk, "", "", ""), line, want)
	}
}

// TestDenyRulesSeeWhatAShellIsGivenToRun has commands that a deny rule must find
// although another shell, or this one later, runs them.
func TestDenyRulesSeeWhatAShellIsGivenToRun(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"trap 'rm q' EXIT", "bash <<< 'rm q'", "bash <<< \"rm q\"", "sh <<EOF\nrm q\nEOF", "zsh -c 'rm q'",
		"dash -c 'ls; rm q'", "env sh -c 'rm q'", "timeout 5 sh -c 'rm q'", "busybox sh -c 'rm q'", "busybox rm q",
		"bash -O dotglob -c 'rm q'", "bash -lc 'rm q'", "BASH_ENV=x bash -c 'rm q'", "alias ls='rm q'",
		"sh -c \"sh -c 'rm q'\"",
	} {
		lineIs(t, testPolicy(t, ModeAsk, "bash", "", "bash(rm:*)"), line, Refuse)
	}
	for _, line := range []string{"hash -p /bin/rm ls; ls q", "echo 'rm q' | sh", "bash < a", "sh <<< \"$x\"",
		"ls 'unclosed; r''m q"} {
		if got := testPolicy(t, ModeAsk, "bash", "", "bash(rm:*)").Decide("bash", run(line)); got.Verdict == Run {
			t.Errorf("%q: %s (%s)", line, got.Verdict, got.Reason())
		}
	}
}

// TestReasonsAreSentences has the sentences that the user reads above a question.
func TestReasonsAreSentences(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"echo x > out.txt":      "its output goes into out.txt",
		"ls | xargs cat":        "another command starts it and adds arguments",
		"find . -exec true \\;": "find -exec can write, run programs or read elsewhere",
		"X=1 ls":                "variables are set for it, which can change its effect",
		"cat \"$x\"":            "the value of \"$x\" is not known before cat runs",
		"sort -o a b":           "sort -o can write, run programs or read elsewhere",
		"cd $x; cat a":          "the value of $x is not known before cd runs",
		"sudo ls":               "it runs with more privileges than yours",
		"cat ../x":              testRoot + "/../x is outside the project " + testRoot + " (--add-dir opens further directories)",
		"cd nowhere; rm -f $x":  "",
	} {
		if got := testPolicy(t, ModeAsk, "", "", "").Decide("bash", run(line)); got.Reason() != want ||
			got.Verdict != Ask {
			t.Errorf("%s: %q, want %q", line, got.Reason(), want)
		}
	}
}
