package permission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
	"artoo/tool/environ"
)

// outsidePolicy is the policy of a repository with the remote origin and the tag v1.
func outsidePolicy(t *testing.T, allow ...string) (string, *Policy) {
	t.Helper()
	root, p := confinedPolicy(t, ModeAuto, allow...)
	gitIn(t, root, "remote", "add", "origin", "https://git.example/shop.git")
	gitIn(t, root, "tag", "v1")
	p.Seen = &Seen{}
	return root, p
}

// A written rule for outside holds where the command stands alone, in the project's own repository, with no further option,
// and for git with a remote and refs that are there.
func TestAWrittenRuleForOutsideHoldsForItsCommandAlone(t *testing.T) {
	t.Parallel()
	root, p := outsidePolicy(t, "bash!(git push:*)", "bash!(docker compose up:*)", "bash!(npm ci)")
	for _, bare := range []string{"docs.git", "push", "git"} {
		gitIn(t, root, "init", "-q", "--bare", bare)
	}
	for line, want := range map[string]Verdict{
		"git push": Run, "git push origin v1": Run, "git push origin HEAD": Run, "npm ci": Run, "docker compose up": Run, "docker compose up db": Run,
		"git push --receive-pack='touch x' .": Ask, "git push --force": Ask, "git push evil v1": Ask, "git push origin nobranch": Ask,
		"git push 'ext::sh -c x'": Ask, "git push origin +v1": Ask, "git push origin v1:main": Ask, "git -C sub push": Ask,
		"cd docs.git && git push": Ask, "cd sub && npm ci": Ask, "(cd sub; npm ci)": Ask, "npm ci && ls": Ask, "X=1 npm ci": Ask,
		"npm ci > log": Ask, "npm ci; docker compose up": Ask, "docker compose up --build": Ask, "docker compose up $x": Ask, "docker compose up *": Ask,
		"env npm ci": Ask, "sh -c 'npm ci'": Ask, "npm ci --prefix sub": Ask, "git push & ls": Ask,
		"git push push": Ask, "git push git": Ask, "git push git push": Ask, "npm ci < a.txt": Ask, "npm ci <<< x": Ask, "npm ci <<E\nx\nE": Ask,
		"npm ci < /dev/null": Run, "npm ci 2>&1": Run,
	} {
		if d := decideIn(p, root, line); d.Verdict != want {
			t.Errorf("%s: %s (%s), expected %s", line, d.Verdict, d.Reason(), want)
		}
	}
	sub := tool.Access{Kind: tool.KindRun, Command: "npm ci", Dir: filepath.Join(root, "sub")}
	if d := p.Decide("bash", sub); d.Verdict != Ask {
		t.Errorf("in another directory: %s", d.Verdict)
	}
}

// A * of a written rule stands for no setting of the command, by which it may run anything.
func TestAWrittenRuleForOutsideGivesNoSettings(t *testing.T) {
	t.Parallel()
	root, p := outsidePolicy(t, "bash!(make deploy *)")
	for line, want := range map[string]Place{
		"make deploy eu": PlaceHost, "make deploy SHELL=./x": PlaceLayer, "make deploy 'X:=$(shell x)'": PlaceLayer,
		"make deploy eu 'X += x'": PlaceLayer, "make deploy eu X!=x": PlaceLayer,
	} {
		if d := decideIn(p, root, line); d.Place != want {
			t.Errorf("%s: %v (%s), expected %v", line, d.Place, d.Reason(), want)
		}
	}
}

// The question names the commands that take a line of several outside.
func TestAQuestionNamesTheCommandsThatLeave(t *testing.T) {
	t.Parallel()
	root, p := outsidePolicy(t)
	for line, want := range map[string]string{
		"git push origin v1":       "home): git push needs the network",
		"ls && git push origin v1": "home): git push needs the network",
		"docker ps; docker rm x":   "docker ps needs a service of the machine; docker rm needs a service of the machine",
	} {
		if d := decideIn(p, root, line); !strings.HasSuffix(d.Reason(), want) {
			t.Errorf("%s: %s", line, d.Reason())
		}
	}
}

// A rule for an open line asks once after files were changed.
func TestARuleForAnOpenLineAsksOnceAfterAChange(t *testing.T) {
	t.Parallel()
	root, p := outsidePolicy(t, "bash!(make deploy)", "bash!(git push:*)")
	is := func(line string, want Verdict) {
		t.Helper()
		if d := decideIn(p, root, line); d.Verdict != want {
			t.Errorf("%s: %s (%s)", line, d.Verdict, d.Reason())
		}
	}
	is("make deploy", Run)
	p.Seen.Change()
	is("git push", Run)
	is("make deploy", Ask)
	d := decideIn(p, root, "make deploy")
	if d.Narrow != "" || !d.Has(FilesChanged) {
		t.Errorf("%+v", d)
	}
	p.Yes(d)
	is("make deploy", Run)
	p.ForSubAgent().Seen.Change()
	is("make deploy", Ask)
	p.Seen = &Seen{Earlier: true} // another session
	is("make deploy", Ask)
	p.AllowRules[0].Origin = "--allow"
	is("make deploy", Run)
}

// A lasting yes is for a closed line alone, its directory, and the files that it obeys as they are now.
func TestALastingYesForOutsideIsBoundToWhatTheLineObeys(t *testing.T) {
	t.Parallel()
	root, p := outsidePolicy(t)
	push := tool.Access{Kind: tool.KindRun, Command: "git push origin v1", Dir: root}
	for _, open := range []string{"npm ci", "docker compose up", "git push --receive-pack=x origin", "git push https://x.example/y", "ssh -o ProxyCommand=x host", "ssh host", "ssh host uptime",
		"curl https://x.example", "gh api /user", "gh alias set x y", "git push origin v1 && make", "git -c x=y push",
		"cat a.txt | ssh host sh", "ssh host sh < a.txt", "ssh host sh <<E\nx\nE", "gh issue view 1 | ssh host sh"} {
		d := decideIn(p, root, open)
		if d.Verdict != Ask || d.Narrow != "" {
			t.Errorf("%s: %s, offers %q", open, d.Verdict, d.Narrow)
		}
		if err := p.AllowInSession("bash!("+open+")", "bash", tool.Access{Kind: tool.KindRun, Command: open, Dir: root}); err == nil {
			t.Errorf("%s: a rule is taken", open)
		}
	}
	hook := filepath.Join(root, ".git", "hooks", "pre-push")
	putFile(t, hook, "#!/bin/sh\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	if d := decideIn(p, root, "gh pr create --fill"); d.Narrow != "" {
		t.Errorf("gh beside a hook offers %q", d.Narrow)
	}
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	for _, closed := range []string{"git push", "git push -u origin HEAD", "git pull --ff-only", "gh pr view 12"} {
		if d := decideIn(p, root, closed); d.Narrow != "bash!("+closed+")" {
			t.Errorf("%s offers %q (%s)", closed, d.Narrow, d.Reason())
		}
	}
	if err := p.AllowInSession("bash!(git push:*)", "bash", push); err == nil {
		t.Error("a prefix is taken at the question")
	}
	if err := p.AllowInSession(p.Decide("bash", push).Narrow, "bash", push); err != nil {
		t.Fatal(err)
	}
	p.Seen.Change()
	if d := p.Decide("bash", push); d.Verdict != Run {
		t.Errorf("a second time: %s (%s)", d.Verdict, d.Reason())
	}
	for _, change := range []string{".gitattributes", "sub/.gitattributes", ".git/config", ".git/hooks/pre-push"} {
		path := filepath.Join(root, change)
		before, _ := os.ReadFile(path)
		putFile(t, path, string(before)+"\n# changed\n")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if d := p.Decide("bash", push); d.Verdict != Ask {
			t.Errorf("after a change of %s: %s", change, d.Verdict)
		}
		if err := os.WriteFile(path, before, 0o644); err != nil {
			t.Fatal(err)
		}
		if before == nil {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A saved yes holds in later sessions, in its directory alone, until a file appears that the line would obey.
func TestASavedYesForOutsideEndsWithAFileThatTheLineObeys(t *testing.T) {
	t.Parallel()
	root, p := outsidePolicy(t)
	tracked := &p.Files.Tracked
	tracked.Environ = environ.Vars{"HOME=" + filepath.Join(root, "home")}
	push := tool.Access{Kind: tool.KindRun, Command: "git push origin v1", Dir: root}
	rule := Rule{Tool: "bash", Arg: push.Command, HasArg: true, Outside: true}
	if err := p.AllowInSession(rule.String(), "bash", push); err != nil {
		t.Fatal(err)
	}
	saved := p.Approved(rule.String())
	later := *p
	later.session, later.AllowRules = nil, []Rule{rule}
	later.Bind(func(string) *Approval { return saved })
	is := func(after string, want Verdict) {
		t.Helper()
		for _, p := range []*Policy{p, &later} {
			if d := p.Decide("bash", push); d.Verdict != want {
				t.Errorf("%s: %s (%s)", after, d.Verdict, d.Reason())
			}
		}
	}
	is("at first", Run)
	for _, name := range []string{".git/hooks/pre-push", "sub/deep/.gitattributes", "home/.gitconfig",
		"home/.config/git/config"} {
		path := filepath.Join(root, name)
		putFile(t, path, "# new\n")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		is(name, Ask)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		is("without "+name, Run)
	}
	push.Dir = filepath.Join(root, "sub")
	is("in another directory", Ask)
}

// TestOutsideDoc keeps docs/outside.md in line with the table.
func TestOutsideDoc(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "outside.md")
	var b strings.Builder
	b.WriteString(outsideHead)
	for _, row := range closedCommands {
		words := ""
		if row.refs {
			words = "; its words: a configured remote, then branches, tags or HEAD"
		}
		commands := strings.ReplaceAll(strings.ReplaceAll(row.subcommands, " ", "`, `"+row.program+" "), "/", " ")
		b.WriteString("- `" + row.program + " " + commands + "` with `" + strings.Join(strings.Fields(row.options), " ") + "`" + words + "\n")
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("go test ./agent/permission -update rewrites it:\n%s", diff)
	}
}

const outsideHead = `<!-- Made by TestOutsideDoc from the table of agent/permission. -->
# Commands outside the sandbox

A command that needs your keys, your home directory, the network or another program's service runs outside the sandbox, with your rights, and so does
the rest of its line. artoo asks first. ` + "`artoo rules explain 'LINE'`" + ` says what a line needs.

## How long an answer lasts

| line | answers |
|---|---|
| closed: every command and option is listed below, or only [reads](reading.md) | ` + "`y`; `a` and `A` for exactly this line, in this directory" + ` |
| open: anything else (` + "`make`, `npm`, `docker`, `ssh`, `curl`" + `, scripts) | ` + "`y`" + ` |

A closed line obeys only these files: git's configuration with what it includes, attributes in every directory except
those of installed packages, and the files of ` + "`gh` and `ssh`" + ` in your home. A lasting answer ends when one of them changes or
appears, or the line is no longer closed. git counts as closed while it would run neither hooks nor programs of the
repository's configuration.

## Rules

    artoo --allow 'bash!(git push:*)'

A rule ` + "`bash!(…)`" + ` that you write applies

- if the command is the whole line and reads no file or text by redirection, in the project's root or where you started artoo; for git, in the project's
  own repository;
- without further options: its ` + "`:*` and `*`" + ` match no word that begins with ` + "`-`" + ` or has a ` + "`=`" + `, and in git's commands only configured remotes and refs of the project;
- to an open line until artoo or its commands change a file, in this session or an earlier one that is kept. From then on artoo asks once in each
  session, and each time while a background command runs. Changes by a command outside to files that git ignores do not count. A rule given by a flag
  applies again in each run.

A rule that is the whole line, ` + "`bash!(cd deploy && make push)`" + `, covers exactly this line. Commands that throw work away (` + "`git push --force`" + `) ask unless
the rule names the option.

## Closed commands

`

// Of a repository that cannot be looked at it is not known whether it runs programs: nothing says that it does, and no
// command there counts as one that only reads.
func TestARepositoryThatCannotBeLookedAtIsUnknown(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAsk)
	elsewhere := t.TempDir()
	gitIn(t, elsewhere, "init", "-q")
	putFile(t, filepath.Join(root, "broken", ".git"), "nonsense\n")
	for _, dir := range []string{"broken", elsewhere} {
		if d := decideIn(p, root, "cd "+dir+" && git commit -m x"); len(d.Own) > 0 {
			t.Errorf("%s: a commit runs %s", dir, d.Own)
		}
		if d := decideIn(p, root, "cd "+dir+" && git status"); d.Reads {
			t.Errorf("%s: %+v", dir, d)
		}
	}
}
