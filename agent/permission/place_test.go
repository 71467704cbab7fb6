package permission

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/files"
	"artoo/tool/sandbox"
)

// confinedPolicy is the policy of a project whose commands run on layers.
func confinedPolicy(t *testing.T, mode Mode, allow ...string) (string, *Policy) {
	t.Helper()
	root, p := harmlessTree(t, mode)
	p.Confinement = Confinement{Sandbox: true, Layer: true, ByEntry: true}
	for _, text := range allow {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		p.AllowRules = append(p.AllowRules, r)
	}
	p.Bind(nil)
	return root, p
}

func decideIn(p *Policy, root, line string) Decision {
	return p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: line, Dir: root})
}

func TestWhereALineRuns(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		mode    Mode
		allow   string
		line    string
		verdict Verdict
		place   Place
	}{
		{ModeAsk, "", "cat a.txt", Run, PlaceLayer},
		{ModeAsk, "", "ps aux", Run, PlaceLayer},
		{ModeAsk, "", "kill %1", Run, PlaceLayer},
		{ModeAsk, "", "sed -i s/a/b/ a.txt", Run, PlaceLayer},
		{ModeAsk, "", "rm -r sub", Run, PlaceLayer},
		{ModeAsk, "", "git add -A", Run, PlaceLayer},
		{ModeAsk, "", "git commit -m x", Run, PlaceLayer},
		{ModeAsk, "", "git reset --hard", Run, PlaceLayer},
		{ModeAsk, "", "echo x > .envrc", Run, PlaceLayer},
		{ModeAsk, "", "python3 -c 'print(1)'", Run, PlaceLayer},
		{ModeAsk, "", "python3 build.py", Ask, PlaceLayer},
		{ModeAsk, "", "go test ./...", Ask, PlaceLayer},
		{ModeAsk, "", "./build.sh", Ask, PlaceLayer},
		{ModeAsk, "", "$EDITOR a.txt", Ask, PlaceLayer}, {ModeAsk, "", "git -c core.pager=./x log", Ask, PlaceLayer},
		{ModeAsk, "", "sudo rm x", Ask, PlaceHost},
		{ModeAsk, "", "curl https://example.com", Ask, PlaceHost},
		{ModeAsk, "", "curl http://localhost:8080/x", Run, PlaceLayer},
		{ModeAsk, "", `curl -s -o /dev/null -w "%{http_code}" http://127.0.0.1:8099/`, Run, PlaceLayer},
		{ModeAsk, "bash(go test:*)", "go test ./...", Run, PlaceLayer},
		{ModeAsk, "bash!(go test:*)", "go test ./...", Run, PlaceHost},
		{ModeAsk, "bash", "git push", Ask, PlaceHost},
		{ModeAsk, "bash(git push)", "git push", Ask, PlaceHost},
		{ModeAsk, "bash!(git push)", "git push", Run, PlaceHost},
		{ModeAsk, "bash!(git push)", "git push --force", Ask, PlaceHost},
		{ModePlan, "", "cat a.txt", Run, PlaceLayer},
		{ModePlan, "bash", "sed -i s/a/b/ a.txt", Run, PlaceLayer},
		{ModePlan, "bash", "go test ./...", Run, PlaceLayer},
		{ModePlan, "bash!", "git push", Refuse, PlaceHost},
		{ModeAuto, "", "go test ./...", Run, PlaceLayer},
		{ModeAuto, "", "git reset --hard", Run, PlaceLayer},
		{ModeAuto, "", "npm ci", Ask, PlaceHost},
		{ModeAuto, "", "go install ./...", Run, PlaceLayer},
		{ModeAuto, "", "go install example.com/x@latest", Ask, PlaceHost},
		{ModeAuto, "", "npx tsc --noEmit", Ask, PlaceHost},
		{ModeEdits, "", "sed -i s/a/b/ a.txt", Run, PlaceLayer},
	} {
		var rules []string
		if row.allow != "" {
			rules = []string{row.allow}
		}
		root, p := confinedPolicy(t, row.mode, rules...)
		if d := decideIn(p, root, row.line); d.Verdict != row.verdict || d.Verdict != Refuse && d.Place != row.place {
			t.Errorf("%s, allow %q: %s: %s on %q (%s), expected %s on %q",
				row.mode, row.allow, row.line, d.Verdict, d.Place, d.Reason(), row.verdict, row.place)
		}
	}
}

func TestATimeoutChangesNoDecision(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAsk)
	plan := func(input string) tool.Access {
		bash := builtin.Bash(builtin.BashOptions{Path: "/bin/bash", Confined: true, Ask: true})
		files, err := files.Open(files.Config{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		access, err := bash.Plan(t.Context(), &tool.Env{Dir: root, Files: files}, []byte(input))
		if err != nil {
			t.Fatal(err)
		}
		return access
	}
	for _, line := range []string{"git add -A", "touch x", "cat a.txt"} {
		short := p.Decide("bash", plan(`{"command":"`+line+`"}`))
		long := p.Decide("bash", plan(`{"command":"`+line+`","timeout":600}`))
		if short.Verdict != long.Verdict || short.Place != long.Place || long.Verdict != Run {
			t.Errorf("%s: %s in %q, with a timeout %s in %q", line, short.Verdict, short.Place, long.Verdict, long.Place)
		}
	}
}

func TestProgramsOfATrustedProjectRunUnasked(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAsk)
	for _, trusted := range []bool{false, true} {
		p.TrustsPrograms = trusted
		for _, line := range []string{"python3 build.py", "./build.sh", "sh build.sh", "sub/tool a.txt", ". ./build.sh",
			"go test ./...", "make", "npm run x"} {
			d := decideIn(p, root, line)
			if (d.Verdict == Run) != trusted || d.Place != PlaceLayer || len(d.Own) == 0 || !trusted && !d.Has(OwnPrograms) {
				t.Errorf("trusted %t: %s: %s in %q, own %q", trusted, line, d.Verdict, d.Place, d.Own)
			}
		}
		for _, line := range []string{"sudo ./build.sh", "npm ci"} {
			if d := decideIn(p, root, line); d.Verdict != Ask || d.Place != PlaceHost || len(d.Needs) == 0 {
				t.Errorf("trusted %t: %s: %s in %q", trusted, line, d.Verdict, d.Place)
			}
		}
	}
}

func TestAnInstalledProgramNeedsNoNetwork(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAuto)
	bin := filepath.Join(root, "node_modules", ".bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "tsc"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "vitest")
	if err := errors.Join(os.WriteFile(elsewhere, nil, 0o755), os.Symlink(elsewhere, filepath.Join(bin, "vitest"))); err != nil {
		t.Fatal(err)
	}
	for line, place := range map[string]Place{"npx tsc --noEmit": PlaceLayer, "npx --no-install tsc": PlaceLayer,
		"npx vitest": PlaceHost, "npm exec tsc": PlaceLayer, "npm exec -- tsc -v": PlaceLayer, "npx eslint .": PlaceHost, "npx tsc@5": PlaceHost} {
		if d := decideIn(p, root, line); d.Place != place {
			t.Errorf("%s: in %q (%s)", line, d.Place, d.Reason())
		}
	}
}

func TestAReasonIsSaidOnce(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAuto)
	if d := decideIn(p, root, "npm ci; npm ci"); len(d.Reasons) != 2 || strings.Contains(d.Reason(), ";") {
		t.Errorf("%d reasons: %s", len(d.Reasons), d.Reason())
	}
}

func TestASignedCommitLeaves(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAuto)
	if d := decideIn(p, root, "git commit -S -m x"); d.Place != PlaceHost || !strings.Contains(d.Reason(), "gpg") {
		t.Errorf("%+v", d)
	}
	gitIn(t, root, "config", "commit.gpgsign", "true")
	gitIn(t, root, "config", "gpg.format", "ssh")
	if d := decideIn(p, root, "git commit -m x"); d.Place != PlaceHost || !strings.Contains(d.Reason(), "ssh-keygen") {
		t.Errorf("%+v", d)
	}
	if d := decideIn(p, root, "git commit --no-gpg-sign -m x"); d.Place != PlaceLayer {
		t.Errorf("%+v", d)
	}
}

func TestHooksAreOwnPrograms(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAsk)
	hook := filepath.Join(root, ".git", "hooks", "pre-commit")
	putFile(t, hook, "#!/bin/sh\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	if d := decideIn(p, root, "git commit -m x"); d.Verdict != Ask || !strings.Contains(d.Reason(), "pre-commit") {
		t.Errorf("%+v", d)
	}
	if d := decideIn(p, root, "git status"); d.Verdict != Run {
		t.Errorf("%+v", d)
	}
}

func TestABackgroundCommandIsAskedUnlessTrusted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		mode    Mode
		trusted bool
		verdict Verdict
	}{{ModeAsk, true, Ask}, {ModeEdits, false, Ask}, {ModeEdits, true, Run}, {ModeAuto, false, Run}, {ModeAuto, true, Run},
		{ModePlan, true, Refuse}} {
		root, p := confinedPolicy(t, row.mode)
		p.TrustsPrograms = row.trusted
		job := tool.Access{Kind: tool.KindRun, Command: "npm run dev", Dir: root, Background: true}
		if d := p.Decide("bash", job); d.Verdict != row.verdict || d.Verdict != Refuse && d.Place != PlaceBackground {
			t.Errorf("%+v: %s in %q", row, d.Verdict, d.Place)
		}
		typed := tool.Access{Kind: tool.KindRun, Command: "rs", To: "npm run dev", Dir: root, ToConfined: true}
		if d := p.Decide("shell", typed); d.Verdict != row.verdict {
			t.Errorf("%+v: what is typed to it: %s", row, d.Verdict)
		}
	}
}

func TestDenyAndAskRulesSpeakBeforeALayer(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAsk)
	for _, text := range []string{"bash(sed:*)"} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		p.DenyRules = []Rule{r}
		if d := decideIn(p, root, "sed -i s/a/b/ a.txt"); d.Verdict == Run {
			t.Errorf("deny %s: %s on %s", text, d.Verdict, d.Place)
		}
		p.DenyRules, p.AskRules = nil, []Rule{r}
		if d := decideIn(p, root, "sed -i s/a/b/ a.txt"); d.Verdict != Ask {
			t.Errorf("ask %s: %s on %s", text, d.Verdict, d.Place)
		}
		p.AskRules = nil
	}
}

// Plan mode asks nothing: a line that a rule would ask about is refused, wherever it would run.
func TestPlanModeRefusesWhatARuleAsksAbout(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModePlan)
	for rule, want := range map[string]Verdict{"bash(sort:*)": Run, "bash(sed:*)": Refuse} {
		p.AskRules = ruled(t, rule)
		if d := decideIn(p, root, "sed -i s/a/b/ a.txt"); d.Verdict != want {
			t.Errorf("ask %s: %s in %q (%s)", rule, d.Verdict, d.Place, d.Reason())
		}
	}
}

// Plan mode refuses what leaves the sandbox or goes on, also where it only reads.
func TestPlanModeRefusesWhatLeavesOrGoesOn(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModePlan, "bash!")
	for name, access := range map[string]tool.Access{"unconfined": {Unconfined: "needs it"}, "in the background": {Background: true}} {
		access.Kind, access.Command, access.Dir = tool.KindRun, "cat a.txt", root
		if d := p.Decide("bash", access); d.Verdict != Refuse {
			t.Errorf("%s: %s on %q", name, d.Verdict, d.Place)
		}
	}
}

func TestAnUnconfinedRunIsAskedWithTheModelsReason(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAuto, "bash")
	access := tool.Access{Kind: tool.KindRun, Command: "cat a.txt", Dir: root, Unconfined: "needs the proxy"}
	d := p.Decide("bash", access)
	if d.Verdict != Ask || d.Place != PlaceHost || !strings.Contains(d.Reason(), "the model says: needs the proxy") ||
		d.Narrow != "bash!(cat a.txt)" {
		t.Errorf("%+v", d)
	}
	if err := p.AllowInSession(d.Narrow, "bash", access); err != nil {
		t.Fatal(err)
	}
	if d := p.Decide("bash", access); d.Verdict != Run || d.Place != PlaceHost {
		t.Errorf("%+v", d)
	}
}

// judged is a change below root.
func judged(root, path string, kind sandbox.Kind, now, before fs.FileMode) sandbox.Change {
	c := sandbox.Change{Path: filepath.Join(root, path), Kind: kind, Mode: now, Before: sandbox.Before{Mode: before}}
	if before != 0 {
		c.Before.Inode = 1
	}
	return c
}

func TestEffectsDecide(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAsk)
	change := func(path string, kind sandbox.Kind, now, before fs.FileMode) []sandbox.Change {
		return []sandbox.Change{judged(root, path, kind, now, before)}
	}
	pipe := change("pipe", sandbox.Created, fs.ModeNamedPipe|0o644, 0)
	pipe[0].Special = true
	link := func(path, to string) []sandbox.Change {
		c := change(path, sandbox.Created, fs.ModeSymlink|0o777, 0)
		c[0].Target = to
		return c
	}
	facts := Facts{
		Ignored: func(paths []string) map[string]bool {
			found := map[string]bool{}
			for _, path := range paths {
				rel, _ := filepath.Rel(root, path)
				found[path] = strings.HasPrefix(rel, "dist") || strings.HasPrefix(rel, "local.db") ||
					strings.HasPrefix(rel, "node_modules")
			}
			return found
		},
		Kept: func(size int64) bool { return size < 1000 },
	}
	huge := change("huge", sandbox.Deleted, 0o644, 0o644)
	huge[0].Before.Size = 1 << 30
	for _, dir := range []string{"refs", "objects", "HEAD"} {
		if err := os.MkdirAll(filepath.Join(root, "bare.git", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(root), filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	branch := GitRow{Class: Bookkeeping, Text: "a branch"}
	git := map[string][]GitRow{
		"a removed repository":    {{Class: Loss, Text: "n/.git", Files: change("n/.git", sandbox.Deleted, fs.ModeDir|0o755, fs.ModeDir|0o755)}},
		"removed objects":         {branch, {Class: Loss, Text: "objects", Left: true}},
		"a hook that is left out": {branch, {Class: Guarded, Text: "hooks", Left: true}},
	}
	const all = "ask edits auto"
	for _, row := range []struct {
		name    string
		changes []sandbox.Change
		builds  bool
		asks    string // the modes that ask, of ask, edits and auto
	}{
		{"nothing", nil, false, ""},
		{"a file", change("a.txt", sandbox.Modified, 0o644, 0o644), false, "ask"},
		{"build output", change("dist/x.js", sandbox.Created, 0o644, 0), true, ""},
		{"the same of another line", change("dist/x.js", sandbox.Created, 0o644, 0), false, "ask"},
		{"installed packages", change("node_modules/x/dist/i.js", sandbox.Created, 0o644, 0), true, "ask"},
		{"a link among build output", link("dist/l", "x.js"), true, "ask"},
		{"a deleted file of git's", change("a.txt", sandbox.Deleted, 0o644, 0o644), false, "ask"},
		{"a deleted database that git ignores", change("local.db", sandbox.Deleted, 0o644, 0o644), false, "ask"},
		{"deleted packages with auto-executed files", change("node_modules/x/.travis.yml", sandbox.Deleted, 0o644, 0o644), false, "ask"},
		{"a deleted workflow", change(".github/workflows/ci.yml", sandbox.Deleted, 0o644, 0o644), false, "ask"},
		{"a deleted bare repository", change("bare.git/refs/heads/x", sandbox.Deleted, 0o644, 0o644), false, all},
		{"what the journal cannot hold", huge, false, all},
		{"a hook", change(".git/hooks/pre-commit", sandbox.Created, 0o755, 0), false, all},
		{"a workflow in a new place", change("sub/.github/workflows/ci.yml", sandbox.Created, 0o644, 0), false, all},
		{"a link with such a name", link(".exrc", "x/rc"), false, all},
		{"a link to such a file", link("x", ".github/workflows"), false, all},
		{"a link that leads out", link("x", "/etc"), false, all},
		{"a link to what is above the home", link("x", "/"), false, all},
		{"a link to a system program", link(".venv/bin/python3", "/usr/bin/env"), false, "ask"},
		{"a link to what may be made", link("x", root+"-beside"), false, all},
		{"a link up from a new directory", link("new/dir/x", "../../a.txt"), false, "ask"},
		{"a link out of a new directory", link("new/dir/x", "../../../a.txt"), false, all},
		{"a link through a link that leads out", link("x", "out/rc"), false, all},
		{"a link up through a directory", link("x", "sub/new/../../../rc"), false, all},
		{"a link up through a directory of the project", link("x", "sub/new/../../a.txt"), false, "ask"},
		{"links that lead out together", append(link("up", "sub/.."), link("x", "up/../beside")...), false, all},
		{"links that lead to a workflow together", slices.Concat(link("here", "."), link("gh", "here/.github"),
			link("wf", "gh/workflows")), false, all},
		{"a link to the directory of workflows", link("x", ".github"), false, all},
		{"a link by way of the process", link("x", "/proc/self/cwd"), false, all},
		{"a circle of links", append(link("a", "b"), link("b", "a")...), false, "ask"},
		{"a removed repository", nil, false, all},
		{"removed objects", nil, false, all},
		{"a hook that is left out", nil, false, ""},
	} {
		for _, mode := range []Mode{ModeAsk, ModeEdits, ModeAuto, ModePlan} {
			p.Mode = mode
			want := Run
			switch {
			case mode == ModePlan && row.changes != nil:
				want = Refuse
			case strings.Contains(row.asks, string(mode)):
				want = Ask
			}
			facts.Git = git[row.name]
			if facts.Git != nil && mode == ModePlan {
				want = Refuse
			}
			j := p.Judge(t.Context(), Decision{Builds: row.builds, Narrow: "bash(x)"}, row.changes, facts)
			if covered := j.Class <= Content && want == Ask; (j.Rule != "") != covered {
				t.Errorf("%s, mode %s: the rule is %q", row.name, mode, j.Rule)
			}
			if j.Verdict != want {
				t.Errorf("%s, mode %s: %s (%s), class %d", row.name, mode, j.Verdict, j.Reason(), j.Class)
			}
		}
	}
	p.Mode, facts.Git = ModeAuto, nil
	j := p.Judge(t.Context(), Decision{}, append(pipe, change(".env", sandbox.Created, 0o600, 0)...), facts)
	if j.Verdict != Refuse || len(j.Effects.By[Never]) != 2 || len(j.Effects.Apply) != 0 {
		t.Errorf("forbidden alone: %s, %+v", j.Verdict, j.Effects)
	}
	j = p.Judge(t.Context(), Decision{}, append(pipe, change("a.txt", sandbox.Modified, 0o644, 0o644)...), facts)
	if j.Verdict != Run || len(j.Effects.By[Never]) != 1 || len(j.Effects.Apply) != 1 {
		t.Errorf("forbidden beside content: %s, %+v", j.Verdict, j.Effects)
	}
	j = p.Judge(t.Context(), Decision{Covers: Content}, change("a.txt", sandbox.Modified, 0o644, 0o644), facts)
	if p.Mode = ModeAsk; j.Verdict != Run {
		t.Errorf("a rule for the line covers its content: %s", j.Verdict)
	}
	for _, mode := range []Mode{ModeAsk, ModeAuto} {
		p.Mode, facts.Git = mode, []GitRow{branch, {Class: Guarded, Text: "a rebase", Left: true, Stops: true}}
		if j = p.Judge(t.Context(), Decision{}, nil, facts); j.Verdict != Refuse || j.Reasons[0] != (Reason{Code: NotReplayed, Object: "a rebase"}) {
			t.Errorf("what git cannot make again: %s (%s)", j.Verdict, j.Reason())
		}
	}
	facts.Git = nil
	ended, end := context.WithCancel(t.Context())
	end()
	if j = p.Judge(ended, Decision{}, change("a.txt", sandbox.Modified, 0o644, 0o644), facts); j.Verdict != Refuse ||
		j.Reasons[0] != (Reason{Code: TookTooLong, Object: "entries: 1"}) || len(j.Effects.Apply) > 0 {
		t.Errorf("without time: %s (%s)", j.Verdict, j.Reason())
	}
	link2 := link(".git/COMMIT_EDITMSG", "/home/u/.bashrc")
	if j := p.Judge(t.Context(), Decision{}, link2, facts); len(j.Effects.Apply) != 0 || j.Verdict != Refuse {
		t.Errorf("a link among git's data: %s, %+v", j.Verdict, j.Effects)
	}
}

func TestCaches(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"__pycache__/x.pyc": true, "web/.next/cache": true, "node_modules/.vite/deps/x.js": true, "web/node_modules/.vite-temp": true,
		"node_modules/.vitest": true, "target/debug/deps/x.o": true,
		"dist/.vite/manifest.json": false, ".next/server": false, "node_modules/vite": false, "deps/x.o": false,
	} {
		if got := IsCache(path); got != want {
			t.Errorf("%s: a cache: %t", path, got)
		}
	}
}

// Ignored files are build output only where only the project describes their content.
func TestOnlyTheProjectMakesOutput(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAsk)
	beside := filepath.Join(t.TempDir(), "x")
	for _, file := range []string{beside, filepath.Join(root, "x.mk")} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for line, builds := range map[string]bool{
		"make": true, "make -f x.mk": true, "cd " + root + " && make | tail -3": true, "/usr/bin/make": true, "npm test < /dev/null": true,
		"make -f " + beside: false, "make -f" + beside: false, "make --file=" + beside: false, "node < " + beside: false,
		"cat " + beside + " | make": false, "go test > out/x": false, "cd " + filepath.Dir(beside) + " && make": false,
		"X=1 make": false, `make -f "$X"`: false, beside: false,
	} {
		d := decideIn(p, root, line)
		if d.Place != PlaceLayer || d.Builds != builds {
			t.Errorf("%s: %t, %+v", line, d.Builds, d)
		}
	}
}

// Changes that the journal can undo need no question beforehand on a machine without
// layers, except for git's own ways to lose work and guarded files.
func TestTheJournalTakesThePlaceOfAsking(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		allow   string
		line    string
		verdict Verdict
		keep    string // the files to keep, relative to the project
	}{
		{"bash", "rm -r sub", Ask, "sub"},
		{"bash", "rm -r $x", Ask, "."},
		{"bash", "shred a.txt b.txt", Ask, "a.txt b.txt"},
		{"bash", "git clean -fd", Ask, ""},
		{"bash", "rm -r .git", Ask, ""},
		{"", "rm -r sub", Ask, ""},
	} {
		var rules []string
		if row.allow != "" {
			rules = []string{row.allow}
		}
		root, p := confinedPolicy(t, ModeAsk, rules...)
		p.Confinement.Layer = false
		d := decideIn(p, root, row.line)
		var keep []string
		for _, path := range d.Keep {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			keep = append(keep, rel)
		}
		if d.Verdict != row.verdict || strings.Join(keep, " ") != row.keep {
			t.Errorf("%s, allow %q: %s (%s), keep %q", row.line, row.allow, d.Verdict, d.Reason(), keep)
		}
	}
}

func TestAnExplanationSaysWhereALineRuns(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAsk, "bash!(git push)")
	for line, place := range map[string]string{"cat a.txt": "layer", "touch x": "layer", "go test ./...": "layer",
		"git push": "host"} {
		if e := p.Explain("bash", tool.Access{Kind: tool.KindRun, Command: line, Dir: root}); e.Place != place {
			t.Errorf("%s: in %q, expected %q", line, e.Place, place)
		}
	}
	p.Confinement = Confinement{}
	if e := p.Explain("bash", tool.Access{Kind: tool.KindRun, Command: "touch x", Dir: root}); e.Place != "host" {
		t.Errorf("where nothing confines it runs in %q", e.Place)
	}
}

// BenchmarkJudge takes the effects of a build with 20,000 files of output.
func BenchmarkJudge(b *testing.B) {
	root := b.TempDir()
	p := &Policy{Mode: ModeAsk, Root: root}
	var changes []sandbox.Change
	for i := range 20_000 {
		changes = append(changes, judged(root, fmt.Sprintf("dist/chunk-%d/part/file-%d.js", i%100, i), sandbox.Created, 0o644, 0))
	}
	facts := Facts{Ignored: func(paths []string) map[string]bool {
		found := map[string]bool{}
		for _, path := range paths {
			found[path] = true
		}
		return found
	}}
	for b.Loop() {
		if j := p.Judge(b.Context(), Decision{Builds: true}, changes, facts); j.Class != Output {
			b.Fatal(j.Class)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(changes)), "us/entry")
}
