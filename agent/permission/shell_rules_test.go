package permission

import (
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/files"
)

// askedInSpiteOfARule are lines that try to get more out of an allow rule.
var askedInSpiteOfARule = []struct{ allow, line string }{
	{"bash(go test:*)", "go test > x"},
	{"bash(go test:*)", "go test 2>x"},
	{"bash(go test:*)", "go test &> x"},
	{"bash(go test:*)", "go test <> x"},
	{"bash(go test:*)", "go test < ../x"},
	{"bash(go test:*)", "go test < .env"},
	{"bash(go test:*)", "go test < $x"},
	{"bash(go test:*)", "go test < /dev/tcp/host/1"},
	{"bash(go test:*)", "GOFLAGS=x go test"},
	{"bash(go test:*)", "X=1; go test"},
	{"bash(go test:*)", "env X=1 go test"},
	{"bash(go test:*)", "env -i go test"},
	{"bash(go test:*)", "export X=1 && go test"},
	{"bash(go test:*)", "go test\nrm x"},
	{"bash(go test:*)", "go test & rm x"},
	{"bash(go test:*)", "go test; rm x"},
	{"bash(go test:*)", "(go test; rm x)"},
	{"bash(go test:*)", "go test | sh"},
	{"bash(go test:*)", "go test $(rm x)"},
	{"bash(go test:*)", "go test <(rm x)"},
	{"bash(go test:*)", "go test `ls`"},
	{"bash(go test:*)", "go test $((x))"},
	{"bash(go test:*)", "go test ${x[1]}"},
	{"bash(go test:*)", "go test ${x:=y}"},
	{"bash(go test:*)", "go test <<EOF\n$(rm x)\nEOF"},
	{"bash(go test:*)", "go test <<EOF\nEO\\\nF\nrm x\nEOF"},
	{"bash(go test:*)", "go () { rm x; }; go test"},
	{"bash(go test:*)", "alias go=rm; go test"},
	{"bash(go test:*)", "for PATH in .; do go test; done"},
	{"bash(go test:*)", "for i in 1; do rm x; done"},
	{"bash(go test:*)", "while rm x; do go test; done"},
	{"bash(go test:*)", "coproc go test"},
	{"bash(go test:*)", "[[ -v x ]] && go test"},
	{"bash(go test:*)", "sh -c 'go test'"},
	{"bash(go test:*)", "timeout 5 dash -c 'go test'"},
	{"bash(timeout:*)", "timeout 5 sh -c 'go test'"},
	{"bash(sh:*)", "sh -c 'go test'"},
	{"bash(sh -c:*)", "sh -c 'go test'"},
	{"bash(go test:*)", "bash -O dotglob -c 'go test'"},
	{"bash(go test:*)", "bash -lc 'go test'"},
	{"bash(bash:*)", "BASH_ENV=x bash -c 'go test'"},
	{"bash(env:*)", "env BASH_ENV=x bash -c 'go test'"},
	{"bash(busybox:*)", "busybox sh -c 'go test'"},
	{"bash(go test:*)", "case x in x) go test;; esac"},
	{"bash(go test:*)", "go $x"},
	{"bash(go test:*)", "go te*t"},
	{"bash(go test:*)", "$x go test"},
	{"bash(go test:*)", "./go test"},
	{"bash(go test:*)", "'go test'"},
	{"bash(go test:*)", "go -C .. test"},
	{"bash(go test:*)", "gotest"},
	{"bash(go test:*)", "xargs -I test go test"},
	{"bash(go test:*)", "xargs -Igo go test"},
	{"bash(go test:*)", "xargs -I{} {} test"},
	{"bash(go test:*)", "sudo go test"},
	{"bash(go test:*)", "sh -c 'go test; rm x'"},
	{"bash(go test:*)", "X=1 sh -c 'go test'"},
	{"bash(go test:*)", "sh -c 'go test' > x"},
	{"bash(go test:*)", "eval 'go test; rm x'"},
	{"bash(go test:*)", "./nice go test"},
	{"bash(go test:*)", "cd x && go test && cat ../../y"},
	{"bash(find:*)", "find . -exec rm {} +"},
	{"bash(xargs:*)", "xargs rm > x"},
	{"bash(git:*)", "git log > .git/config"},
	{"bash(eval:*)", "eval rm x; rm y"},
	{"bash(read:*)", "read PATH"},
	{"bash(source:*)", "source x"},
	{"bash(printf:*)", "printf -v PATH ."},
	{"bash(rm \\*)", "rm x"},
	{"bash(rm \\*)", "rm -f x"},
	{"bash(echo a:\\*)", "echo a:b; rm x"},
	{"bash(make build)", "make build x"},
	{"bash(make build)", "make 'build'x"},
	{"bash(rm a b)", "rm 'a b'"},
	{"bash", "cat a > .git/hooks/pre-commit"},
	{"bash", "echo x >> sub/.GIT/config"},
	{"bash", "rm --r x"},
	{"bash", "sudo rm -rf x"},
	{"bash", "git -c x=y --no-pager reset --har"},
	{"bash", "ls 'unclosed; rm -rf x"},
	{"*", "ls ` > x"},
}

// coveredByARule are lines that look alike and are covered.
var coveredByARule = []struct{ allow, line string }{
	{"bash(go test:*)", "go test ./... 2>&1 | tail -20"},
	{"bash(go test:*)", "cd sub && go test -run X ."},
	{"bash(go test:*)", "go test $x"},
	{"bash(go test:*)", "go test \"${x:-./...}\" < a"},
	{"bash(go test:*)", "for i in 1 2 3; do go test; done"},
	{"bash(go test:*)", "while ! go test; do true; done"},
	{"bash(go test:*)", "if go test; then echo ok; fi"},
	{"bash(go test:*)", "time nice -n 5 go test"},
	{"bash(go test:*)", "/usr/bin/env go test"},
	{"bash(go test:*)", "timeout --signal=KILL 5 go test"},
	{"bash(go test:*)", "bash -euo pipefail -c 'go test'"},
	{"bash(go test:*)", "eval 'go test'"},
	{"bash(go test:*)", "go list | xargs go test"},
	{"bash(go test:*)", "go test <<EOF\n$x\nEOF"},
	{"bash(go test:*)|bash(go vet:*)", "go vet && go test"},
	{"bash(go test *)", "go test x"},
	{"bash(go:*)", "go list | xargs go test"},
	{"bash(sudo apt:*)", "sudo apt install x"},
	{"bash(sudo:*)", "sudo -n apt install x"},
	{"bash(make build)", "ls && make build"},
	{"bash(rm \\*)", "rm *"},
	{"bash(echo x \\\\*)", "echo x \\*"},
	{"bash", "X=1 go test > out; [[ -f out ]] && cat out"},
	{"bash", "printf -v x a"},
	{"bash", "ls 'unclosed"},
	{"bash", "sh -c 'go test'"},
	{"bash(sh -c 'go test')", "sh -c 'go test'"},
	{"bash(go test:*)", "[[ -f x ]] && go test"},
	{"bash(go test:*)", "go test ./...; echo $?"},
	{"*", "rm x"},
}

func TestRulesAllowNoMoreThanTheySay(t *testing.T) {
	t.Parallel()
	for _, c := range askedInSpiteOfARule {
		p := testPolicy(t, ModeAsk, c.allow, "", "")
		lineIs(t, p, c.line, Ask)
	}
	for _, c := range coveredByARule {
		p := testPolicy(t, ModeAsk, c.allow, "", "")
		if strings.HasPrefix(c.line, "go list") {
			p.AllowRules = append(p.AllowRules, Rule{Tool: "bash", Arg: "go list:*", HasArg: true})
		}
		lineIs(t, p, c.line, Run)
	}
}

// TestAlwaysThisVeryLine allows a line for the session, as the user may answer,
// and tries another one that would fit if its end were taken for a pattern.
func TestAlwaysThisVeryLine(t *testing.T) {
	t.Parallel()
	for line, other := range map[string]string{
		"rm *": "rm x", "make a:*": "make a b", `rm \*`: `rm *`, `rm \\*`: `rm \*`, "make": "make x",
		"make x > out": "make x", "make # x": "make",
		"rm 'a b'": "rm a b", "rm a b": "rm 'a b'", "find . -delete -name *": "find . -delete -name x",
	} {
		p := testPolicy(t, ModeAsk, "", "", "")
		d := p.Decide("bash", run(line))
		if err := p.AllowInSession(d.Narrow, "bash", run(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		lineIs(t, p, other, Ask)
	}
}

// TestDenyAndAskSeeThrough tries to get past deny and ask rules with everything
// else allowed.
func TestDenyAndAskSeeThrough(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, line string }{
		{"bash(rm:*)", "rm x"}, {"bash(rm:*)", "/bin/rm x"}, {"bash(rm:*)", "../../bin/rm x"}, {"bash(rm:*)", "\\rm x"},
		{"bash(rm:*)", "'r'm x"}, {"bash(rm:*)", "RM x"}, {"bash(rm:*)", "ls; rm x"}, {"bash(rm:*)", "ls | rm x"},
		{"bash(rm:*)", "(rm x)"}, {"bash(rm:*)", "{ rm x; }"}, {"bash(rm:*)", "! rm x"}, {"bash(rm:*)", "time rm x"},
		{"bash(rm:*)", "coproc rm x"}, {"bash(rm:*)", "f() { rm x; }"}, {"bash(rm:*)", "if rm x; then ls; fi"},
		{"bash(rm:*)", "while rm x; do ls; done"}, {"bash(rm:*)", "for x in $(rm x); do ls; done"},
		{"bash(rm:*)", "case $(rm x) in a) ls;; esac"}, {"bash(rm:*)", "case a in a) rm x;; esac"},
		{"bash(rm:*)", "[[ $(rm x) ]]"}, {"bash(rm:*)", "echo $(rm x)"}, {"bash(rm:*)", "echo `rm x`"},
		{"bash(rm:*)", "echo \"$(rm x)\""}, {"bash(rm:*)", "cat <(rm x)"}, {"bash(rm:*)", "cat <<EOF\n$(rm x)\nEOF"},
		{"bash(rm:*)", "x=$(rm x)"}, {"bash(rm:*)", "ls > $(rm x)"}, {"bash(rm:*)", "((x[$(rm x)]))"},
		{"bash(rm:*)", "sudo rm x"}, {"bash(rm:*)", "sudo -u me rm x"}, {"bash(rm:*)", "env X=1 rm x"},
		{"bash(rm:*)", "timeout -k 5 10 rm x"}, {"bash(rm:*)", "timeout --kill-after 5 10 rm x"},
		{"bash(rm:*)", "nice nohup rm x"}, {"bash(rm:*)", "xargs rm"}, {"bash(rm:*)", "xargs -n1 -P 4 rm"},
		{"bash(rm:*)", "xargs -I{} rm {}"}, {"bash(rm:*)", "sh -c 'rm x'"},
		{"bash(rm:*)", "bash -o pipefail -ec 'ls; rm x'"}, {"bash(rm:*)", "eval rm x"}, {"bash(rm:*)", "eval 'r''m x'"},
		{"bash(rm:*)", "find . -exec rm {} +"}, {"bash(rm:*)", "find . -execdir sh -c 'rm x' \\;"},
		{"bash(rm:*)", "command rm x"}, {"bash(rm:*)", "builtin command rm x"}, {"bash(rm:*)", "exec rm x"},
		{"bash(rm:*)", "busybox rm x"}, {"bash(rm:*)", "./nice rm x"}, {"bash(rm:*)", "stdbuf -oL rm x"},
		{"bash(rm:*)", "sudo sh -c 'sudo rm x'"}, {"bash(sudo:*)", "sudo ls"}, {"bash(sudo:*)", "ls && sudo -n ls"},
		{"bash(env:*)", "env ls"}, {"bash(sh:*)", "sh -c ls"}, {"bash(eval:*)", "eval ls"},
		{"bash(xargs:*)", "ls | xargs echo"}, {"bash(bash -c:*)", "bash -c ls"}, {"bash(git push:*)", "git push"},
		{"bash(git push:*)", "git -C sub push"}, {"bash(git push:*)", "git -c a=b --no-pager push x"},
		{"bash(git push:*)", "/usr/bin/git --git-dir x push"}, {"bash(npm publish:*)", "npm --silent publish"},
		{"bash(git push)", "git push"}, {"bash(rm x)", "ls; rm x"}, {"bash(ls && pwd)", "ls && pwd"}, {"*", "ls"},
		{"bash", "ls"}, {"bash(cat:*)", "cat a"}, {"bash(git diff:*)", "git diff"},
	} {
		lineIs(t, testPolicy(t, ModeAsk, "bash", "", c.rule), c.line, Refuse)
		lineIs(t, testPolicy(t, ModeAsk, "bash", c.rule, ""), c.line, Ask)
	}
	// Lines whose commands cannot be known are asked, even under a rule for all.
	for _, line := range []string{"$x y", "r$x y", "r? x", "eval \"$x\"", "sh -c \"$x\"", "env -S 'rm x'",
		"timeout --new 5 rm x", "flock l rm x", "xargs $x",
		"git $x", "echo push | xargs git", "parallel rm", "bash -ic 'rm x'", "find . -exec {} x +"} {
		p := testPolicy(t, ModeAsk, "bash", "", "bash(rm:*)|bash(git push:*)")
		if d := p.Decide("bash", run(line)); d.Verdict == Run {
			t.Errorf("%s: %s (%s)", line, d.Verdict, d.Reason())
		}
		p = testPolicy(t, ModeAsk, "bash", "bash(rm:*)|bash(git push:*)", "")
		lineIs(t, p, line, Ask)
		p = testPolicy(t, ModeAsk, "bash", "", "")
		lineIs(t, p, line, Run)
	}
	for _, c := range []struct{ rule, line string }{
		{"bash(rm:*)", "rmdir x"}, {"bash(rm:*)", "grep rm x"}, {"bash(rm:*)", "echo 'rm x'"},
		{"bash(git push:*)", "git log push"}, {"bash(rm x)", "rm x y"}, {"bash(rm:*)", "git rm x"},
		{"bash(git push)", "git push x"}, {"write(docs/**)", "rm x"},
		{"bash(git push:*)", "sh ~/next.sh"}, {"bash(git push:*)", "bash -e ~/next.sh a"},
	} {
		lineIs(t, testPolicy(t, ModeAsk, "bash", "", c.rule), c.line, Run)
	}
}

// Rules for read are about files: one that denies hides them, so that no line reads them unasked, and one that asks is for
// artoo's tools. Without files a rule for read denies what reads.
func TestReadRulesAndCommands(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	hidden, err := files.Open(files.Config{Root: root, Hide: []files.Pattern{{Glob: "secret/**"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hidden.Close() })
	for line, want := range map[string]Verdict{"cat secret/a": Ask, "cat sub/../secret/a": Ask,
		"cd secret && cat a": Ask, "wc -l < secret/a": Ask, "cat a": Run, "ls": Run} {
		p := testPolicy(t, ModeAsk, "", "", "")
		p.Root, p.Dir, p.World.Files = hidden.Root(), hidden.Root(), hidden
		if d := p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: line, Dir: p.Root}); d.Verdict != want {
			t.Errorf("%s: %s", line, d.Verdict)
		}
	}
	p := testPolicy(t, ModeAsk, "", "", "read")
	lineIs(t, p, "cat a", Refuse)
	lineIs(t, testPolicy(t, ModeAsk, "", "read(a)", ""), "cat a", Run)
}

func TestAskRulesForReadingCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ask, session, line string
		want               Verdict
	}{
		{"bash(cat:*)", "", "cat a", Ask},
		{"bash(cat:*)", "", "ls && cat a", Ask},
		{"bash(cat:*)", "", "ls", Run},
		{"bash", "", "ls", Ask},
		{"bash(cat:*)", "bash(cat:*)", "cat b", Run},
		{"bash(cat:*)", "bash(cat:*)", "cat ../b", Run},
		{"bash(cat:*)", "bash(ls:*)", "cat b", Ask},
		{"bash", "bash(cat:*)", "cat b", Run},
		{"bash", "bash(cat:*)", "cat b; ls", Ask},
	} {
		p := testPolicy(t, ModeAsk, "", c.ask, "")
		if c.session != "" {
			r, err := ParseRule(c.session)
			if err != nil {
				t.Fatal(err)
			}
			p.session = []Rule{r}
		}
		lineIs(t, p, c.line, c.want)
	}
}

func TestWithoutAProjectNothingIsFree(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, ModeAsk, "bash(go test:*)", "", "")
	p.NoProject = "this is the home directory"
	for line, want := range map[string]Verdict{"ls": Ask, "go test": Run, "ls && go test": Ask, "cd x && go test": Ask} {
		lineIs(t, p, line, want)
	}
}

// A deny rule for a command of git covers the plumbing that does its work, and aliases that the line defines.
func TestADenyRuleCoversPlumbingAndAliasesOfGit(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAuto)
	for _, text := range []string{"bash(git push:*)", "bash(rm:*)"} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		p.DenyRules = append(p.DenyRules, r)
	}
	for _, text := range []string{"git send-pack origin", "git -C sub http-push x", "git-send-pack origin",
		"/usr/lib/git-core/git-push origin", "git -c alias.p=push p",
		"git -c Alias.p='push origin' p", "git config alias.p push; git p", "git config alias.x '!rm a.txt' && git x",
		"git -c core.pager='rm a.txt' log", "git filter-branch --tree-filter 'rm a.txt'", "git submodule foreach 'git push'",
		"git submodule foreach 'cd x; rm a.txt'", "git bisect run rm a.txt",
		"git rebase --exec='git push' main", "git rebase -x 'rm a.txt' main",
		"git subtree push --prefix=lib origin main", "git for-each-repo --config=a push",
		"alias g=git; g push", "bash <<< 'git push'", "zsh -c 'git send-pack origin'"} {
		if d := decideIn(p, root, text); d.Verdict != Refuse {
			t.Errorf("%s: %s (%s)", text, d.Verdict, d.Reason())
		}
	}
	for _, text := range []string{"git stash push", "git config alias.co checkout", "git log --grep=push"} {
		if d := decideIn(p, root, text); d.Verdict != Run {
			t.Errorf("%s: %s (%s)", text, d.Verdict, d.Reason())
		}
	}
}
