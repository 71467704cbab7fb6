package permission

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool"
)

func TestARuleThatCanMatchNothingIsRefusedWithTheNearestOne(t *testing.T) {
	t.Parallel()
	for rule, try := range map[string]string{
		"nosuchtool(x)":                "bash(nosuchtool x)",
		"bahs(ls)":                     "bash(ls)",
		"wirte(docs/**)":               "write(docs/**)",
		"web_fech(go.dev)":             "web_fetch(go.dev)",
		"bash()":                       "bash",
		"bash(:*)":                     "bash",
		"bash(* *)":                    "bash",
		"bash(go test:*":               "bash(go test:*)",
		"bash(go test && rm:*)":        "bash(go test:*)",
		"bash(echo x > *)":             "bash(echo x:*)",
		"bash(docs/**)":                "write(docs/**)",
		"write(go test:*)":             "bash(go test:*)",
		"write(docs/)":                 "write(docs/**)",
		"read([)":                      `read(\[)`,
		"web_fetch(https://go.dev/x)":  "web_fetch(go.dev)",
		"WebFetch(domain:go.dev/path)": "web_fetch(go.dev)",
		"web_search(weather)":          "web_search",
		"random_number(6)":             "random_number",
		"mcp__db__query(x)":            "mcp__db__query",
		"mcp__":                        "mcp__SERVER__TOOL",
		"mcp__db query":                "mcp__SERVER__TOOL",
		"go test ./...":                "bash(go test ./...)",
		"bash go test":                 "bash(go test)",
		"(x)":                          "bash(go test:*)",
		"":                             "bash(go test:*)",
	} {
		r, err := ParseRule(rule)
		var wrong *RuleError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: taken as %s, %v", rule, r, err)
			continue
		}
		if wrong.Try != try {
			t.Errorf("%s: proposes %q, want %q (%v)", rule, wrong.Try, try, err)
		}
		if _, err := ParseRule(wrong.Try); err != nil && !strings.Contains(wrong.Try, "SERVER") {
			t.Errorf("%s: what it proposes is refused too: %v", rule, err)
		}
	}
	for rule, want := range map[string]string{
		"Bash(npm run:*)": "bash(npm run:*)", "Read(./.env)": "read(./.env)",
		"WebFetch(domain:go.dev)": "web_fetch(go.dev)",
		"Edit(src/**)":            "write(src/**)", "MultiEdit": "write", "NotebookEdit(*)": "write", "LS": "read",
		"Glob(**/*.go)": "read(**/*.go)",
		"bash(*)":       "bash", "Bash(*)": "bash", "Write": "write", "READ(x)": "read(x)", "BASH(ls)": "bash(ls)",
		"Bash(touch*)": "bash(touch*)",
		"mcp__db__*":   "mcp__db__*", "mcp__db": "mcp__db", "*": "*", "Task": "task", "grep(x)": "grep(x)",
		"web_fetch([::1]:80)": "web_fetch([::1]:80)",
	} {
		if r, err := ParseRule(rule); err != nil || r.String() != want {
			t.Errorf("%s: %s, %v, want %s", rule, r, err, want)
		}
	}
}

func TestAllowRulesForCommandsCoverWhatTheySayAndNoMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, line string
		covers     bool
	}{
		{"bash(*)", "make all", true},
		{"bash(git push *)", "git push", true},
		{"bash(git push *)", "git push origin main", true},
		{"bash(git push *)", "git pushx", false},
		{"bash(git * main)", "git push main", true},
		{"bash(git * main)", "git push --force-with-lease main", false}, // asked whatever the rule
		{"bash(git * main)", "git merge --no-edit main", true},
		{"bash(git * main)", "git -c alias.x=!rm x main", false},
		{"bash(git * main)", "git -C /elsewhere push main", false},
		{"bash(git *)", "git -c alias.x=!rm x", false},
		{"bash(git *)", "git fetch --all", true},
		{"bash(git:*)", "git -c alias.x=!rm x", false},
		{"bash(make *)", "make -j4 all", true},
		{"bash(npm run *-test)", "npm run unit-test", true},
		{"bash(npm run *-test)", "npm run a/b-test", false},
		{"bash(npm run *-test)", "npm run unit-test extra", false},
		{"bash(touch*)", "touch", true},
		{"bash(touch*)", "touch x", false},
		{"bash(touch x*)", "touch x1", true},
		{"bash(touch x*)", "touch x*", false}, // the shell makes it something else
		{"bash(git commit -m 'a b':*)", "git commit -m 'a b' -q", true},
		{"bash(git commit -m 'a b':*)", "git commit -m a", false},
		{`bash(echo \*.go)`, "echo '*.go' > x", false},
		{"bash(go test:*)", "trap 'rm x' EXIT; go test ./...", false},
		{"bash(make:*)", "make $TARGET", true},
		{"bash(make all)", "make all", true},
		{"bash(make all)", "make", false},
		{"bash(git push --force:*)", "git push --force origin", true}, // its own words name the option
		{"bash(git push:*)", "git push --force origin", false},
		{"bash(rm:*)", "rm -r x", false},
		{"bash(rm -r:*)", "rm -r x", true},
	} {
		p := testPolicy(t, ModeAsk, c.rule, "", "")
		if got := p.Decide("bash", run(c.line)); (got.Verdict == Run) != c.covers {
			t.Errorf("%s: %s: %s (%s)", c.rule, c.line, got.Verdict, got.Reason())
		}
	}
}

// A rule for git's commands covers no option that names a program.
func TestARuleForGitCoversNoOptionThatNamesAProgram(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, ModeAsk, "bash(git:*)", "", "")
	for _, text := range []string{"git grep -n TODO", "git clone . copy", "git init copy", "git push . main"} {
		lineIs(t, p, text, Run)
	}
	for _, text := range []string{"git grep -O./x TODO", "git grep -lO ./x TODO",
		"git grep --open-files-in-pager=./x TODO", "git difftool -yx ./x", "git difftool --extcmd ./x",
		"git clone -u ./x . copy", "git clone --template=hooks . copy",
		"git clone -c core.hooksPath=x . copy", "git init --template hooks copy", "git ls-remote --upload-pack=./x .",
		"git fetch --upload-pack ./x . main", "git push --receive-pack=./x . main", "git push --exec=./x . main",
		"git archive --remote=. --exec=./x HEAD", "git send-email --sendmail-cmd=./x 1.patch"} {
		lineIs(t, p, text, Ask)
	}
}

func TestDenyRulesMatchWhatCouldBeMeant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, line string
		want       Verdict
	}{
		{"Bash(touch:*)", "touch PWN", Refuse},
		{"bash(*)", "touch PWN", Refuse},
		{"bash(touch*)", "touch PWN", Refuse},
		{"bash(touch *)", "touch", Refuse},
		{"bash(*touch*)", "sudo touch PWN", Refuse},
		{"bash(rm:*)", "/bin/rm q", Refuse},
		{"bash(rm:*)", "RM q", Refuse},
		{"bash(rm:*)", `trap "rm q" EXIT`, Refuse},
		{"bash(rm:*)", `trap -- 'rm q' EXIT`, Refuse},
		{"bash(rm:*)", `bash <<< "rm q"`, Refuse},
		{"bash(rm:*)", "bash <<E\nrm q\nE", Refuse},
		{"bash(rm:*)", "cat <<E\nrm q\nE", Run},
		{"bash(rm:*)", "hash -p /bin/rm ls; ls q", Refuse},
		{"bash(rm:*)", "alias x='rm q'; x", Refuse},
		{"bash(rm:*)", "echo 'rm q' | sh", Refuse},
		{"bash(rm:*)", "cat x | sh", Ask},
		{"bash(rm:*)", "bash -s < x", Ask},
		{"bash(rm:*)", "x=rm; $x -rf q", Refuse},
		{"bash(rm:*)", "env sh -c 'rm q'", Refuse},
		{"bash(git push --force:*)", "git push origin main --force", Refuse},
		{"bash(git push -f:*)", "git -C sub push origin -qf", Refuse},
		{"bash(rm -rf:*)", "rm q -f -r", Refuse},
		{"bash(rm -rf:*)", "rm q", Run},
		{"bash(git * main)", "git -c x=y push --all main", Refuse},
		{"bash(curl *://evil.example/*)", "curl -s https://evil.example/a/b", Refuse},
		{"bash(git push:*)", "echo git push", Run},
	} {
		p := testPolicy(t, ModeAsk, "bash", "", c.rule)
		lineIs(t, p, c.line, c.want)
	}
}

// scriptProject is a project with a script, another one of the same name
// elsewhere, and a policy that works in it.
func scriptProject(t *testing.T, rules ...string) (p *Policy, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.sh", "evil/x.sh", "tools/gen.py", "evil/tools/gen.py"} {
		put(t, filepath.Join(dir, name), "echo "+name)
	}
	if err := os.Symlink("evil/x.sh", filepath.Join(dir, "linked.sh")); err != nil {
		t.Fatal(err)
	}
	list, err := ParseRules(rules)
	if err != nil {
		t.Fatal(err)
	}
	p = &Policy{Mode: ModeAsk, Root: dir, AllowRules: list}
	p.Bind(nil)
	return p, dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestARuleForAScriptIsForThatFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, cwd, line string
		covers          bool
	}{
		{"bash(./x.sh)", "", "./x.sh", true},
		{"bash(./x.sh:*)", "", "./x.sh -v", true},
		{"bash(./x.sh)", "evil", "./x.sh", false},
		{"bash(./x.sh)", "", "cd evil && ./x.sh", false},
		{"bash(./x.sh)", "evil", "../x.sh", true},
		{"bash(./x.sh)", "", "evil/../x.sh", true},
		{"bash(./x.sh)", "", "./linked.sh", false},
		{"bash(sh x.sh)", "", "sh x.sh", true},
		{"bash(sh x.sh)", "evil", "sh x.sh", false},
		{"bash(sh x.sh:*)", "", "cd evil; sh x.sh -v", false},
		{"bash(python tools/gen.py:*)", "", "python tools/gen.py --all", true},
		{"bash(python tools/gen.py:*)", "evil", "python tools/gen.py --all", false},
		{"bash(python tools/gen.py:*)", "", "cd $X && python tools/gen.py --all", false},
		{"bash(./tools/*)", "", "./tools/gen.py", true},
		{"bash(./tools/*)", "", "./tools/../evil/x.sh", false},
		{"bash(git checkout feature/x)", "evil", "git checkout feature/x", true},
	} {
		p, dir := scriptProject(t, c.rule)
		access := tool.Access{Kind: tool.KindRun, Command: c.line, Dir: filepath.Join(dir, c.cwd)}
		if got := p.Decide("bash", access); (got.Verdict == Run) != c.covers {
			t.Errorf("%s: in %q %s: %s (%s)", c.rule, c.cwd, c.line, got.Verdict, got.Reason())
		}
	}
}

func TestAScriptThatChangedIsAskedOnceMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, line string }{
		{"bash(./x.sh)", "./x.sh"},
		{"bash(./x.sh:*)", "./x.sh -v"},
		{"bash(sh x.sh)", "timeout 5 sh x.sh"},
		{"bash(sh x.sh && ls)", "sh x.sh && ls"},
	} {
		p, dir := scriptProject(t, c.rule)
		access := tool.Access{Kind: tool.KindRun, Command: c.line, Dir: dir}
		if got := p.Decide("bash", access); got.Verdict != Run {
			t.Errorf("%s: %s: %s (%s)", c.rule, c.line, got.Verdict, got.Reason())
		}
		put(t, filepath.Join(dir, "x.sh"), "rm -rf /")
		got := p.Decide("bash", access)
		if got.Verdict != Ask || !strings.Contains(got.Reason(), "x.sh") || !strings.Contains(got.Reason(), "changed") {
			t.Errorf("%s: %s after a change: %s (%s)", c.rule, c.line, got.Verdict, got.Reason())
		}
		if err := p.AllowInSession(c.rule, "bash", access); err != nil {
			t.Errorf("%s: the changed script cannot be allowed: %v", c.rule, err)
		}
		if got := p.Decide("bash", access); got.Verdict != Run {
			t.Errorf("%s: %s after another yes: %s (%s)", c.rule, c.line, got.Verdict, got.Reason())
		}
		put(t, filepath.Join(dir, "x.sh"), "rm -rf ~")
		if got := p.Decide("bash", access); got.Verdict != Ask {
			t.Errorf("%s: %s after a second change: %s (%s)", c.rule, c.line, got.Verdict, got.Reason())
		}
	}
}

func TestAScriptApprovedForGoodIsTheOneOfThen(t *testing.T) {
	t.Parallel()
	p, dir := scriptProject(t, "bash(./x.sh)")
	access := tool.Access{Kind: tool.KindRun, Command: "./x.sh", Dir: dir}
	then := &Approval{Dir: dir,
		Scripts: map[string]string{filepath.Join(dir, "x.sh"): contentOf(filepath.Join(dir, "x.sh"))}}
	put(t, filepath.Join(dir, "x.sh"), "changed between two runs")
	p.Bind(func(string) *Approval { return then })
	if got := p.Decide("bash", access); got.Verdict != Ask {
		t.Errorf("changed between two runs: %s (%s)", got.Verdict, got.Reason())
	}
	p.Bind(func(string) *Approval { return nil })
	if got := p.Decide("bash", access); got.Verdict != Run {
		t.Errorf("a rule written by hand: %s (%s)", got.Verdict, got.Reason())
	}
}
