package permission

import (
	"strings"
	"testing"
)

// TestALineIsParsedForTheShellThatRunsIt has lines that shells take differently.
func TestALineIsParsedForTheShellThatRunsIt(t *testing.T) {
	for _, c := range []struct {
		shell, line string
		want        Effect
	}{
		{"bash", "cat a &>/dev/null", Allow}, {"bash", "cat &>/dev/null touch a", Allow},
		{"sh", "cat &>/dev/null touch a", Ask}, {"dash", "cat &>>/dev/null touch a", Ask},
		{"bash.exe", "ls &>/dev/null", Allow}, {"sh", "ls -la | head -5", Allow}, {"sh", "cd sub && cat b.go", Allow},
		{"sh", "[ -f a ] && echo yes", Allow}, {"sh", "cat <<< x", Ask}, {"sh", "[[ a > b ]]", Ask},
		{"sh", "[[ -f a ]]", Ask}, {"sh", "ls |& cat", Ask}, {"sh", "ls **/*.go", Ask}, {"bash", "ls **/*.go", Allow},
		{"sh", "for f in a b; do cat $f; done", Allow}, {"sh", "printf '%d' 'x[$(touch y)]'", Ask},
		{"bash", "printf '%d' 'x[$(touch y)]'", Ask}, {"sh", "sh -c 'ls'", Allow}, {"sh", "bash -c 'ls'", Ask},
		{"bash", "bash -c 'ls'", Allow}, {"bash", "sh -c 'ls'", Ask}, {"zsh", "ls", Ask}, {"fish", "ls", Ask},
		{"nu", "ls", Ask},
	} {
		p := testPolicy(t, ModeAsk, "", "", "")
		p.Shell.Name = c.shell
		if got := p.Decide("bash", run(c.line)); got.Effect != c.want {
			t.Errorf("%s -c %q: %s (%s), want %s", c.shell, c.line, got.Effect, got.Reason, c.want)
		}
	}
}

// TestInAnotherLocaleNoLineIsTakenApart has a line whose quotes mean something
// else where a backslash can be the second byte of a character.
func TestInAnotherLocaleNoLineIsTakenApart(t *testing.T) {
	for _, line := range []string{"echo \"中\\\" ; touch PWN #\"", "ls", "cat a"} {
		p := testPolicy(t, ModeAsk, "bash(echo:*)|bash(ls:*)", "", "")
		p.Shell.Locale = "zh_CN.GBK"
		if got := p.Decide("bash", run(line)); got.Effect != Ask || !strings.Contains(got.Reason, "zh_CN.GBK") {
			t.Errorf("%q: %s (%s)", line, got.Effect, got.Reason)
		}
		p = testPolicy(t, ModePlan, "", "", "")
		p.Shell.Locale = "zh_CN.GBK"
		if got := p.Decide("bash", run(line)); got.Effect != Deny {
			t.Errorf("plan: %q: %s (%s)", line, got.Effect, got.Reason)
		}
		p = testPolicy(t, ModeAsk, "bash", "", "")
		p.Shell.Locale = "zh_CN.GBK"
		if got := p.Decide("bash", run(line)); got.Effect != Allow {
			t.Errorf("allow bash: %q: %s (%s)", line, got.Effect, got.Reason)
		}
	}
	for line, want := range map[string]Effect{"grep é a": Allow, "grep 中 a": Allow, "cat '文件'": Allow,
		"ls\u00a0rm": Ask, "ls\u3000-l": Ask, "ls a\u200b": Ask, "ls \xff": Ask, "ls '\x81\\'": Ask} {
		if got := testPolicy(t, ModeAsk, "", "", "").Decide("bash", run(line)); got.Effect != want {
			t.Errorf("%q: %s (%s), want %s", line, got.Effect, got.Reason, want)
		}
	}
}

// TestDenyRulesSeeWhatAShellIsGivenToRun has commands that a deny rule must find
// although another shell, or this one later, runs them.
func TestDenyRulesSeeWhatAShellIsGivenToRun(t *testing.T) {
	for _, line := range []string{
		"trap 'rm q' EXIT", "bash <<< 'rm q'", "bash <<< \"rm q\"", "sh <<EOF\nrm q\nEOF", "zsh -c 'rm q'",
		"dash -c 'ls; rm q'", "env sh -c 'rm q'", "timeout 5 sh -c 'rm q'", "busybox sh -c 'rm q'", "busybox rm q",
		"bash -O dotglob -c 'rm q'", "bash -lc 'rm q'", "BASH_ENV=x bash -c 'rm q'", "alias ls='rm q'",
		"sh -c \"sh -c 'rm q'\"",
	} {
		if got := testPolicy(t, ModeAsk, "bash", "", "bash(rm:*)").Decide("bash", run(line)); got.Effect != Deny {
			t.Errorf("%q: %s (%s)", line, got.Effect, got.Reason)
		}
	}
	for _, line := range []string{"hash -p /bin/rm ls; ls q", "echo 'rm q' | sh", "bash < a", "sh <<< \"$x\"",
		"ls 'unclosed; r''m q"} {
		if got := testPolicy(t, ModeAsk, "bash", "", "bash(rm:*)").Decide("bash", run(line)); got.Effect == Allow {
			t.Errorf("%q: %s (%s)", line, got.Effect, got.Reason)
		}
	}
}

// TestReasonsAreSentences has what the user reads above a question.
func TestReasonsAreSentences(t *testing.T) {
	for line, want := range map[string]string{
		"echo x > out.txt":      "echo writes its output into a file, out.txt",
		"ls | xargs cat":        "cat is started by another command (xargs), which gives it further arguments",
		"find . -exec true \\;": "find -exec is not known to do nothing but look",
		"X=1 ls":                "variables are set for ls, which can change what it does",
		"cat \"$x\"":            "the value of \"$x\" is not known before cat runs",
		"sort -o a b":           "the option -o of sort is not one that is known to do nothing but read",
		"cd $x; cat a":          "the value of $x is not known before cd runs",
		"sudo ls":               "ls runs with more rights than yours",
		"cat ../x":              "../x is outside the project",
		"cd nowhere; rm -f $x":  "",
	} {
		if got := testPolicy(t, ModeAsk, "", "", "").Decide("bash", run(line)); got.Reason != want || got.Effect != Ask {
			t.Errorf("%s: %q, want %q", line, got.Reason, want)
		}
	}
}
