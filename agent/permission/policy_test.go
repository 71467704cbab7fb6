package permission

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/needs/testlog"
)

// testRoot is the project of testPolicy, "/p" in the tests' paths: secrets lie in
// its directory sub, and it has files that no commit has.
var testRoot, testFiles = "", (*files.Files)(nil)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "permission")
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		for _, name := range []string{"sub/.env", "old.txt", "sub/old.txt"} {
			path := filepath.Join(dir, "p", name)
			err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("X=1\n"), 0o644))
		}
		testRoot = filepath.Join(dir, "p")
		var open error
		testFiles, open = files.Open(files.Config{Root: testRoot})
		if err = errors.Join(err, open); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		defer testFiles.Close()
		return testlog.Run(m)
	}())
}

// inTestRoot is a text with testRoot in place of /p.
func inTestRoot(text string) string {
	for _, before := range []string{"/", " ", "("} {
		text = strings.ReplaceAll(text, before+"/p/", before+testRoot+"/")
	}
	if rest, ok := strings.CutPrefix(text, "/p/"); ok {
		return testRoot + "/" + rest
	}
	return text
}

// ParseRules reads several; all mistakes are in the error.
func ParseRules(list []string) ([]Rule, error) {
	var rules []Rule
	var errs []error
	for _, s := range list {
		r, err := ParseRule(s)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		rules = append(rules, r)
	}
	return rules, errors.Join(errs...)
}

func testPolicy(t *testing.T, mode Mode, allow, ask, deny string) *Policy {
	t.Helper()
	rules := func(s string) []Rule {
		if s == "" {
			return nil
		}
		list, err := ParseRules(strings.Split(inTestRoot(s), "|"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	return &Policy{Mode: mode, Root: testRoot, World: World{Files: testFiles}, AllowRules: rules(allow), AskRules: rules(ask),
		DenyRules: rules(deny)}
}

func run(command string) tool.Access {
	command = inTestRoot(command)
	return tool.Access{Kind: tool.KindRun, Command: command, Dir: testRoot, Object: command}
}

// lineIs decides a line and expects a verdict.
func lineIs(t *testing.T, p *Policy, line string, want Verdict) {
	t.Helper()
	if got := p.Decide("bash", run(line)); got.Verdict != want {
		t.Errorf("%s, %+v, allow %v, ask %v, deny %v: %.80q: %s (%s), want %s", p.Mode, p.Confinement, p.AllowRules, p.AskRules,
			p.DenyRules, line, got.Verdict, got.Reason(), want)
	}
}

// shellLines are lines with the decisions on them under some rules.
var shellLines = []struct {
	mode             Mode
	allow, ask, deny string
	command          string
	want             Verdict
}{
	// Reading commands pass in every mode.
	{ModeAsk, "", "", "", "ls -la && cat a.go | head -5", Run},
	{ModePlan, "", "", "", "git status && git diff HEAD~1", Run},
	{ModeAsk, "", "", "", "cd sub && grep -n x *.go | sort -u | wc -l", Run},
	{ModeAsk, "", "", "", "find . -name '*.go'", Run},
	{ModeAsk, "", "", "", "rg TODO src 2>/dev/null", Run},
	{ModeAsk, "", "", "", "echo done", Run},
	{ModeAsk, "", "", "web_fetch", "cat a.go", Run},
	{ModeAsk, "", "", "read", "cat a.go", Refuse},
	// Lines that write, execute or leave the project are asked.
	{ModeAsk, "", "", "", "cat a > b", Ask},
	{ModeAsk, "", "", "", "cat .env", Ask},
	{ModeAsk, "", "", "", "cat ../secret", Ask},
	{ModeAsk, "", "", "", "cd .. && cat secret", Ask},
	{ModeAsk, "", "", "", "cd \"$X\" && cat a", Ask},
	{ModeAsk, "", "", "", "cat /etc/passwd", Ask},
	{ModeAsk, "", "", "", "cat ~/.ssh/id_rsa", Ask},
	{ModeAsk, "", "", "", "cat < /etc/passwd", Ask},
	{ModeAsk, "", "", "", "cat $(rm -rf x)", Ask},
	{ModeAsk, "", "", "", "cat {a,/etc/passwd}", Ask},
	{ModeAsk, "", "", "", "grep -f/etc/passwd a", Ask},
	{ModeAsk, "", "", "", "grep --file=/etc/passwd a", Ask},
	{ModeAsk, "", "", "", "echo $SECRET", Ask},
	{ModeAsk, "", "", "", "find . -delete", Ask},
	{ModeAsk, "", "", "", "find . -exec rm {} +", Ask},
	{ModeAsk, "", "", "", "sort -o a b", Ask},
	{ModeAsk, "", "", "", "sort --out=a b", Ask},
	{ModeAsk, "", "", "", "sort -uoa b", Ask},
	{ModeAsk, "", "", "", "uniq a b", Ask},
	{ModeAsk, "", "", "", "rg --pre=./x y", Ask},
	{ModeAsk, "", "", "", "git -c core.pager=x log", Ask},
	{ModeAsk, "", "", "", "git diff --output=x", Ask},
	{ModeAsk, "", "", "", "git log --ext-diff", Ask},
	{ModeAsk, "", "", "", "git diff --no-index /etc/passwd a", Ask},
	{ModeAsk, "", "", "", "GIT_PAGER=x git log", Ask},
	{ModeAsk, "", "", "", "PATH=. ls", Ask},
	{ModeAsk, "", "", "", "ls() { rm x; }; ls", Ask},
	{ModeAsk, "", "", "", "xargs cat < list", Ask},
	{ModeAsk, "", "", "", "sudo cat a", Ask},
	{ModeAsk, "", "", "", "ls; ./x", Ask},
	{ModeAsk, "", "", "", "ls & rm x", Ask},
	{ModeAsk, "", "", "", "ls 'unclosed", Ask},
	{ModePlan, "", "", "", "go test ./...", Refuse},
	{ModePlan, "bash(go test:*)", "", "", "go test ./...", Refuse},
	{ModeEdits, "", "", "", "go test ./...", Ask},
	{ModeAuto, "", "", "", "go test ./...", Ask},
	// Rules.
	{ModeAsk, "bash(go test:*)", "", "", "go test ./...", Run},
	{ModeAsk, "bash(go test:*)", "", "", "go test ./... && git status", Run},
	{ModeAsk, "bash(go test:*)", "", "", "go test ./... && rm x", Ask},
	{ModeAsk, "bash(go test:*)", "", "", "go test ./... > log", Ask},
	{ModeAsk, "bash(go test:*)", "", "", "go testify", Ask},
	{ModeAsk, "bash(go test:*)", "", "", "GOFLAGS=-exec=./x go test", Ask},
	{ModeAsk, "bash(go test:*)", "", "", "timeout 5 go test ./...", Run},
	{ModeAsk, "bash(go test:*)", "", "", "bash -c 'go test ./...'", Run},
	{ModeAsk, "bash(go test:*)", "", "", "bash -c 'go test ./...; rm x'", Ask},
	{ModeAsk, "bash(apt:*)", "", "", "sudo apt install x", Ask},
	{ModeAsk, "bash(go test ./...)", "", "", "go test ./...", Run},
	{ModeAsk, "bash(go test ./...)", "", "", "go test ./... -v", Ask},
	{ModeAsk, "bash", "", "", "anything at all", Run},
	{ModeAsk, "bash", "bash(git push:*)", "", "git push", Ask},
	{ModeAsk, "bash", "", "bash(rm:*)", "ls && sudo /bin/rm x", Refuse},
	{ModeAsk, "bash", "", "bash(rm:*)", "find . -exec rm {} +", Refuse},
	{ModeAsk, "bash", "", "bash(rm:*)", "echo $(rm x)", Refuse},
	{ModeAsk, "bash", "", "bash(rm:*)", "sh -c 'rm x'", Refuse},
	{ModeAsk, "bash", "", "bash(rm:*)", "ls | xargs -n 1 rm", Refuse},
	// Commands that throw work away are asked unless named exactly.
	{ModeAsk, "bash", "", "", "git reset --hard HEAD~1", Ask},
	{ModeAsk, "bash(git:*)", "", "", "git push -f", Ask},
	{ModeAsk, "bash(git:*)", "", "", "git -C sub clean -fdx", Ask},
	{ModeAsk, "bash(git reset --hard HEAD~1)", "", "", "git reset --hard HEAD~1", Run},
	{ModeAsk, "bash", "", "", "rm -fr build", Ask},
	{ModeAsk, "bash", "", "", "rm one", Run},
}

func TestShellLinesAreTakenApart(t *testing.T) {
	t.Parallel()
	for _, c := range shellLines {
		p := testPolicy(t, c.mode, c.allow, c.ask, c.deny)
		lineIs(t, p, c.command, c.want)
	}
}

func write(path string) tool.Access { return tool.Access{Kind: tool.KindWrite, Paths: []string{path}} }

func ofServer(name string) tool.Access { return tool.Access{Kind: tool.KindServer, Server: name} }

func host(name string) tool.Access {
	return tool.Access{Kind: tool.KindNetwork, Object: "http://" + name + "/x", Host: name}
}

var (
	read   = tool.Access{Kind: tool.KindRead, Paths: []string{"/p/a.go"}}
	secret = tool.Access{Kind: tool.KindRead, Paths: []string{"/p/.env"}, Denied: true, Why: "holds secrets"}
)

// callsOnFiles are calls of tools other than bash, with the decisions on them under
// some rules.
var callsOnFiles = []struct {
	mode             Mode
	allow, ask, deny string
	name             string
	access           tool.Access
	want             Verdict
}{
	{ModeAsk, "", "", "", "read", read, Run},
	{ModePlan, "", "", "", "read", read, Run},
	{ModeAsk, "", "", "read(*.go)", "read", read, Refuse},
	{ModeAsk, "", "", "read(*.go)", "grep", read, Refuse},
	{ModeAsk, "", "read", "", "read", read, Ask},
	{ModeAsk, "read", "", "", "read", secret, Refuse},
	{ModeAsk, "", "", "", "write", write("/p/a.go"), Ask},
	{ModeEdits, "", "", "", "write", write("/p/a.go"), Run},
	{ModeAuto, "", "", "", "edit", write("/p/a.go"), Run},
	{ModePlan, "write", "", "", "write", write("/p/a.go"), Refuse},
	{ModeAsk, "write(docs/**)", "", "", "edit", write("/p/docs/x/y.md"), Run},
	{ModeAsk, "write(docs/**)", "", "", "write", write("/p/src/a.go"), Ask},
	{ModeAsk, "edit(docs/**)", "", "", "write", write("/p/docs/a.md"), Ask},
	{ModeEdits, "", "", "write(*.lock)", "write", write("/p/x.lock"), Refuse},
	{ModeEdits, "", "", "", "write", write("/p/.git/hooks/pre-commit"), Ask},
	{ModeEdits, "write", "", "", "write", write("/p/sub/.GIT/config"), Ask},
	{ModeEdits, "write(.git/info/exclude)", "", "", "write", write("/p/.git/info/exclude"), Run},
	{ModeEdits, "", "", "", "write", write("/p/.husky/pre-commit"), Ask},
	{ModeAuto, "", "", "", "edit", write("/p/.vscode/tasks.json"), Ask},
	{ModeEdits, "", "", "", "write", write("/p/pkg/.GitHub/workflows/ci.yml"), Ask},
	{ModeEdits, "", "", "", "write", write("/p/.npmrc"), Ask},
	{ModeEdits, "", "", "", "write", write("/p/.artoo/config.toml"), Ask},
	{ModeEdits, "", "", "", "write", write("/p/.claude/settings.json"), Ask},
	{ModeEdits, "", "", "", "write", write("/p/.mcp.json"), Ask},
	{ModeEdits, "", "", "", "edit", write("/p/docs/AGENTS.md"), Ask},
	{ModeAsk, "write", "", "", "edit", write("/p/AGENTS.md"), Ask},
	{ModeAsk, "write(**)", "", "", "edit", write("/p/.envrc"), Ask},
	{ModeAsk, "write(AGENTS.md)", "", "", "edit", write("/p/AGENTS.md"), Run},
	{ModeAsk, "write(.github/workflows/**)", "", "", "write", write("/p/.github/workflows/ci.yml"), Run},
	{ModeAsk, "write(.github/**)", "", "", "write", write("/p/.github/workflows/ci.yml"), Ask},
	{ModeAsk, "write(.vscode/**)", "", "", "write", write("/p/.vscode/.npmrc"), Ask},
	{ModeAsk, "write(.git/**)", "", "", "write", write("/p/.git/config"), Ask},
	{ModePlan, "", "", "", "random_number", tool.Access{Kind: tool.KindNone}, Run},
	{ModeAsk, "web_fetch(go.dev)", "", "", "web_fetch", host("go.dev"), Run},
	{ModeAsk, "WebFetch(domain:go.dev)", "", "", "web_fetch", host("GO.dev."), Run},
	{ModeAsk, "web_fetch(go.dev)", "", "", "web_fetch", host("pkg.go.dev"), Ask},
	{ModeAsk, "web_fetch(*.go.dev)", "", "", "web_fetch", host("pkg.go.dev"), Run},
	{ModeAsk, "web_fetch(*.go.dev)", "", "", "web_fetch", host("evilgo.dev"), Ask},
	{ModeAsk, "web_fetch", "", "web_fetch(go.dev)", "web_fetch", host("pkg.go.dev"), Refuse},
	{ModePlan, "web_fetch", "", "", "web_fetch", host("go.dev"), Refuse},
	{ModePlan, "edit", "", "", "edit", write("/p/a.go"), Refuse},
	{ModeAsk, "write(*)", "", "", "edit", write("/p/deep/a.go"), Run},
	{ModeAsk, "Edit(docs/**)", "", "", "write", write("/p/docs/a.md"), Run},
	{ModeEdits, "", "", "edit(go.mod)", "write", write("/p/go.mod"), Refuse},
	{ModeEdits, "", "", "NotebookEdit(go.mod)", "edit", write("/p/sub/go.mod"), Refuse},
	{ModeEdits, "", "", "write(vendor)", "edit", write("/p/vendor/x/a.go"), Refuse},
	{ModeEdits, "", "edit", "", "write", write("/p/a.go"), Ask},
	{ModeAsk, "", "", "Read(./a.go)", "grep", read, Refuse},
	{ModeAsk, "", "", "read(/a.go)", "read", read, Refuse},
	{ModeAsk, "", "", "read(//p/*.go)", "read", read, Refuse},
	{ModeAsk, "write(//p/docs/*)", "", "", "write", write("/p/docs/a.md"), Run},
	{ModeAsk, "write(/docs/*)", "", "", "write", write("/p/docs/a.md"), Ask},
	{ModeAsk, "mcp__db", "", "", "mcp__db__query", ofServer("db"), Run},
	{ModeAsk, "mcp__db", "", "", "mcp__dbx__query", ofServer("dbx"), Ask},
	{ModeAsk, "web_fetch(go.dev)", "", "", "web_fetch", host("evilgo.dev"), Ask},
	{ModeAsk, "mcp__db__*", "", "", "mcp__db__query", ofServer("db"), Run},
}

func TestFilesAndModes(t *testing.T) {
	t.Parallel()
	for _, c := range callsOnFiles {
		p := testPolicy(t, c.mode, c.allow, c.ask, c.deny)
		for i, path := range c.access.Paths {
			c.access.Paths[i] = inTestRoot(path)
		}
		if got := p.Decide(c.name, c.access); got.Verdict != c.want {
			t.Errorf("%s, allow %q ask %q deny %q: %s %v: got %s (%s), want %s",
				c.mode, c.allow, c.ask, c.deny, c.name, c.access.Paths, got.Verdict, got.Reason(), c.want)
		}
	}
	noProject := testPolicy(t, ModeAsk, "", "", "")
	noProject.NoProject = "this is the home directory"
	lineIs(t, noProject, "ls", Ask)
	noProject.Mode = ModeEdits
	var refused *ModeError
	if err := noProject.CheckMode(); !errors.As(err, &refused) || refused.ErrorKind() != "usage" {
		t.Errorf("mode edits without a project: %v", err)
	}
}

func TestTheNarrowRuleAllowsTheCall(t *testing.T) {
	t.Parallel()
	calls := []struct {
		name   string
		access tool.Access
	}{
		{"bash", run("go test ./...")},
		{"bash", run("cat a > b; X=1 make && git reset --hard")},
		{"bash", run("echo 'unclosed")},
		{"write", tool.Access{Kind: tool.KindWrite, Paths: []string{testRoot + "/a[1].go"}}},
		{"edit", tool.Access{Kind: tool.KindWrite, Paths: []string{testRoot + "/.git/config"}}},
		{"write", tool.Access{Kind: tool.KindWrite, Paths: []string{"/elsewhere/a"}}},
		{"web_fetch", host("go.dev:443")}, {"web_fetch", host("localhost:8080")}, {"web_fetch", host("[2606:4700::1]:443")},
	}
	for _, c := range calls {
		p := testPolicy(t, ModeAsk, "", "", "")
		d := p.Decide(c.name, c.access)
		for _, rule := range []string{d.Narrow, d.Suggested} {
			if err := p.AllowInSession(rule, c.name, c.access); err != nil {
				t.Errorf("%s %v: rule %q: %v", c.name, c.access, rule, err)
			}
		}
		if err := p.AllowInSession("bash(nothing like it)", c.name, c.access); err == nil && len(p.SessionRules()) == 0 {
			t.Errorf("a rule that allows something else was taken")
		}
	}
	p := testPolicy(t, ModeAsk, "", "bash(make:*)", "")
	if err := p.AllowInSession("bash(make:*)", "bash", run("make x")); err != nil {
		t.Errorf("a session rule does not beat an ask rule: %v", err)
	}
	lineIs(t, p, "make y", Run)
}
