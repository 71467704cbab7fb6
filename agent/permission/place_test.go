package permission

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/sandbox"
)

// confinedPolicy is the policy of a project whose commands can be confined.
func confinedPolicy(t *testing.T, mode Mode, allow ...string) (string, *Policy) {
	t.Helper()
	root, p := harmlessTree(t, mode)
	p.Confinement = Confinement{Sandbox: true, Layer: true, Auto: true}
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
	for _, row := range []struct {
		mode   Mode
		allow  string
		line   string
		effect Effect
		place  Place
	}{
		{ModeAsk, "", "cat a.txt", Allow, PlaceReading},
		{ModeAsk, "", "ps aux", Ask, PlaceHost},
		{ModeAsk, "", "uptime", Allow, PlaceHost},
		{ModeAsk, "", "sed -i s/a/b/ a.txt", Allow, PlaceLayer},
		{ModeAsk, "", "rm -r sub", Allow, PlaceLayer},
		{ModeAsk, "", "git add -A", Allow, PlaceLayer},
		{ModeAsk, "", "python3 -c 'print(1)'", Allow, PlaceLayer},
		{ModeAsk, "", "python3 build.py", Ask, PlaceSandbox},
		{ModeAsk, "", "go test ./...", Ask, PlaceSandbox},
		{ModeAsk, "", "./build.sh", Ask, PlaceSandbox},
		{ModeAsk, "", "sudo rm x", Ask, PlaceHost},
		{ModeAsk, "", "$EDITOR a.txt", Ask, PlaceSandbox},
		{ModeAsk, "", "git commit -m x", Ask, PlaceHost},
		{ModeAsk, "", "curl https://example.com", Ask, PlaceHost},
		{ModeAsk, "", "curl http://localhost:8080/x", Ask, PlaceSandbox},
		{ModeAsk, "", `curl -s -o /dev/null -w "%{http_code}" http://127.0.0.1:8099/`, Ask, PlaceSandbox},
		{ModeAsk, "bash(go test:*)", "go test ./...", Allow, PlaceSandbox},
		{ModeAsk, "bash!(go test:*)", "go test ./...", Allow, PlaceHost},
		{ModeAsk, "bash", "git push", Ask, PlaceHost},
		{ModeAsk, "bash(git push)", "git push", Ask, PlaceHost},
		{ModeAsk, "bash!(git push)", "git push", Allow, PlaceHost},
		{ModeAsk, "bash!(git push)", "git push --force", Ask, PlaceHost},
		{ModePlan, "", "cat a.txt", Allow, PlaceReading},
		{ModePlan, "bash", "sed -i s/a/b/ a.txt", Allow, PlaceLayer},
		{ModePlan, "bash", "go test ./...", Deny, PlaceHost},
		{ModePlan, "bash!", "git push", Deny, PlaceHost},
		{ModeAuto, "", "go test ./...", Allow, PlaceSandbox},
		{ModeAuto, "", "sed -i s/a/b/ a.txt", Allow, PlaceSandbox},
		{ModeAuto, "", "git reset --hard", Ask, PlaceHost},
		{ModeAuto, "", "git add -A", Allow, PlaceLayer},
		{ModeAuto, "", "echo x > .envrc", Ask, PlaceSandbox},
		{ModeAuto, "", "npm ci", Ask, PlaceHost},
		{ModeEdits, "", "sed -i s/a/b/ a.txt", Allow, PlaceLayer},
	} {
		var rules []string
		if row.allow != "" {
			rules = []string{row.allow}
		}
		root, p := confinedPolicy(t, row.mode, rules...)
		if d := decideIn(p, root, row.line); d.Effect != row.effect || d.Effect != Deny && d.Place != row.place {
			t.Errorf("%s, allow %q: %s: %s on %q (%s), expected %s on %q",
				row.mode, row.allow, row.line, d.Effect, d.Place, d.Reason, row.effect, row.place)
		}
	}
}

func TestATrustedProjectsOwnProgramsRunOnALayer(t *testing.T) {
	root, p := confinedPolicy(t, ModeAsk)
	for _, trusted := range []bool{false, true} {
		p.Confinement.Trusted = trusted
		for _, line := range []string{"python3 build.py", "./build.sh", "sh build.sh", "sub/tool a.txt", ". ./build.sh"} {
			if d := decideIn(p, root, line); (d.Effect == Allow && d.Place == PlaceLayer) != trusted {
				t.Errorf("trusted %t: %s: %s in %q", trusted, line, d.Effect, d.Place)
			}
		}
		for _, line := range []string{"go test ./...", "make", "npm run x", "sudo ./build.sh", "git commit -m x", "ps aux"} {
			if d := decideIn(p, root, line); d.Effect != Ask {
				t.Errorf("trusted %t: %s: %s in %q", trusted, line, d.Effect, d.Place)
			}
		}
	}
}

func TestGitRunsOnNoLayerWhereItTracksASecret(t *testing.T) {
	root, p := confinedPolicy(t, ModeAsk)
	for _, denied := range [][]string{nil, {filepath.Join(root, ".env")}} {
		p.GitSecrets = func(string) ([]string, error) { return denied, nil }
		for _, line := range []string{"git add -A", "git show HEAD:.env | tr a b", "env git stash"} {
			if d := decideIn(p, root, line); (d.Place == PlaceLayer) != (denied == nil) {
				t.Errorf("%v: %s: %s in %q", denied, line, d.Effect, d.Place)
			}
		}
	}
}

func TestModeAutoAsksAboutGitWhereItTracksASecret(t *testing.T) {
	root, p := confinedPolicy(t, ModeAuto)
	for _, denied := range [][]string{nil, {filepath.Join(root, ".env")}} {
		p.GitSecrets = func(string) ([]string, error) { return denied, nil }
		for line, asked := range map[string]bool{"git show HEAD:.env | tr a b": true, "env git cat-file -p HEAD:.env": true,
			"git status": false, "touch x": false} {
			if d := decideIn(p, root, line); (d.Effect == Ask) != (asked && denied != nil) {
				t.Errorf("%v: %s: %s, %s", denied, line, d.Effect, d.Reason)
			}
		}
	}
}

func TestDenyAndAskRulesSpeakBeforeALayer(t *testing.T) {
	root, p := confinedPolicy(t, ModeAsk)
	for _, text := range []string{"bash(sed:*)", "bash(@read)"} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		p.DenyRules = []Rule{r}
		if d := decideIn(p, root, "sed -i s/a/b/ a.txt"); d.Effect == Allow {
			t.Errorf("deny %s: %s on %s", text, d.Effect, d.Place)
		}
		p.DenyRules, p.AskRules = nil, []Rule{r}
		if d := decideIn(p, root, "sed -i s/a/b/ a.txt"); text == "bash(sed:*)" && d.Effect != Ask {
			t.Errorf("ask %s: %s on %s", text, d.Effect, d.Place)
		}
		p.AskRules = nil
	}
}

func TestAnUnconfinedRunIsAskedWithTheModelsReason(t *testing.T) {
	root, p := confinedPolicy(t, ModeAuto, "bash")
	access := tool.Access{Kind: tool.KindRun, Command: "cat a.txt", Dir: root, Unconfined: "needs the proxy"}
	d := p.Decide("bash", access)
	if d.Effect != Ask || d.Place != PlaceHost || !strings.Contains(d.Reason, "the model says: needs the proxy") ||
		d.Narrow != "bash!(cat a.txt)" {
		t.Errorf("%+v", d)
	}
	if err := p.AllowInSession(d.Narrow, "bash", access); err != nil {
		t.Fatal(err)
	}
	if d := p.Decide("bash", access); d.Effect != Allow || d.Place != PlaceHost {
		t.Errorf("%+v", d)
	}
}

func TestJudge(t *testing.T) {
	root, p := confinedPolicy(t, ModeAsk)
	p.DeniedName = func(path string) bool { return filepath.Base(path) == ".env" }
	p.GitIgnores = func(path string) bool { return strings.Contains(path, "__pycache__") }
	file := func(path string, kind sandbox.Kind, now, before fs.FileMode) sandbox.Change {
		return sandbox.Change{Path: filepath.Join(root, path), Kind: kind, Mode: now, Before: sandbox.Before{Mode: before}}
	}
	pipe := file("pipe", sandbox.Created, fs.ModeNamedPipe|0o644, 0)
	pipe.Special = true
	moved := file("a.txt", sandbox.Modified, 0o644, 0o644)
	moved.Before.Moved = true
	for _, row := range []struct {
		name    string
		changes []sandbox.Change
		effect  Effect
		reason  string
	}{
		{"nothing", nil, Allow, "nothing"},
		{"a cache that git ignores", []sandbox.Change{file("__pycache__/a.pyc", sandbox.Created, 0o644, 0)}, Allow, "nothing"},
		{"a file", []sandbox.Change{file("a.txt", sandbox.Modified, 0o644, 0o644)}, Ask, ""},
		{"a hook", []sandbox.Change{file(".git/hooks/pre-commit", sandbox.Created, 0o755, 0)}, Ask, "asked whatever the mode"},
		{"a secret", []sandbox.Change{file("a.txt", sandbox.Modified, 0o644, 0o644), file(".env", sandbox.Created, 0o600, 0)},
			Deny, "secret"},
		{"a pipe", []sandbox.Change{pipe}, Deny, "never applied"},
		{"what the user changed meanwhile", []sandbox.Change{moved}, Deny, "while the command ran"},
	} {
		j := p.Judge(tool.Access{Command: row.name}, row.changes)
		if j.Effect != row.effect || !strings.Contains(j.Reason, row.reason) {
			t.Errorf("%s: %s (%s)", row.name, j.Effect, j.Reason)
		}
	}
	p.GitSecrets = func(string) ([]string, error) { return []string{filepath.Join(root, ".env")}, nil }
	if j := p.Judge(tool.Access{}, []sandbox.Change{file(".git/index", sandbox.Modified, 0o644, 0o644)}); j.Effect != Deny {
		t.Errorf(".git changed while a secret is tracked: %s (%s)", j.Effect, j.Reason)
	}
}

// A lasting yes is for what was shown, and no more.
func TestALastingYesToALineHoldsForTheSameChangesOnly(t *testing.T) {
	root, p := confinedPolicy(t, ModeAsk)
	at := func(path string, kind sandbox.Kind, mode fs.FileMode) sandbox.Change {
		return sandbox.Change{Path: filepath.Join(root, path), Kind: kind, Mode: mode, Before: sandbox.Before{Mode: 0o644}}
	}
	access := tool.Access{Command: "gofmt -w .", Dir: root}
	p.KeepForLine(access, []sandbox.Change{at("a.go", sandbox.Modified, 0o644)})
	for _, row := range []struct {
		access  tool.Access
		changes []sandbox.Change
		effect  Effect
	}{
		{access, []sandbox.Change{at("a.go", sandbox.Modified, 0o644)}, Allow},
		{access, []sandbox.Change{at("a.go", sandbox.Created, 0o644)}, Allow},
		{access, []sandbox.Change{at("a.go", sandbox.Modified, 0o755)}, Ask},
		{access, []sandbox.Change{at("a.go", sandbox.Deleted, 0o644)}, Ask},
		{access, []sandbox.Change{at("a.go", sandbox.Modified, 0o644), at("b.go", sandbox.Modified, 0o644)}, Ask},
		{tool.Access{Command: "gofmt -w .", Dir: filepath.Join(root, "sub")},
			[]sandbox.Change{at("a.go", sandbox.Modified, 0o644)}, Ask},
	} {
		if j := p.Judge(row.access, row.changes); j.Effect != row.effect {
			t.Errorf("%v in %s: %s (%s)", row.changes, row.access.Dir, j.Effect, j.Reason)
		}
	}
	p.ForgetSession()
	if j := p.Judge(access, []sandbox.Change{at("a.go", sandbox.Modified, 0o644)}); j.Effect != Ask {
		t.Error("another session knows what was approved in this one")
	}
}

// What can be taken back need not be asked beforehand, but for git's own ways to
// lose work and what others run.
func TestUndoTakesThePlaceOfAsking(t *testing.T) {
	for _, row := range []struct {
		mode   Mode
		allow  string
		line   string
		effect Effect
		asked  string // what has to be saved, relative to the project
	}{
		{ModeAuto, "", "rm -r sub", Allow, "sub"},
		{ModeAuto, "", "rm -r $x", Ask, "."},
		{ModeAuto, "", "find sub -name '*.go' -delete", Allow, "sub"},
		{ModeAuto, "", "shred a.txt b.txt", Allow, "a.txt b.txt"},
		{ModeAuto, "", "rm -r lost", Ask, "lost"},
		{ModeAuto, "", "git clean -fd", Ask, ""},
		{ModeAuto, "", "rm -r .git", Ask, ""},
		{ModeAsk, "bash", "rm -r sub", Allow, "sub"},
		{ModeAsk, "bash(rm:*)", "rm -r sub", Ask, ""},
	} {
		var rules []string
		if row.allow != "" {
			rules = []string{row.allow}
		}
		root, p := confinedPolicy(t, row.mode, rules...)
		p.Confinement.Layer = false
		asked := ""
		p.Unsaved = func(paths []string) string {
			var names []string
			for _, path := range paths {
				rel, err := filepath.Rel(root, path)
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, rel)
			}
			asked = strings.Join(names, " ")
			if strings.Contains(asked, "lost") || asked == "." {
				return asked
			}
			return ""
		}
		if d := decideIn(p, root, row.line); d.Effect != row.effect || asked != row.asked {
			t.Errorf("%s, allow %q: %s: %s (%s), asked for %q, expected %s and %q",
				row.mode, row.allow, row.line, d.Effect, d.Reason, asked, row.effect, row.asked)
		}
	}
}

func TestAnExplanationSaysWhereALineRunsAndWhy(t *testing.T) {
	root, p := confinedPolicy(t, ModeAsk, "bash!(git push)")
	for _, row := range []struct{ line, place, why string }{
		{"cat a.txt", "read-only", ""},
		{"touch x", "layer", ""},
		{"go test ./...", "sandbox", "go runs what the project brings"},
		{"python3 build.py", "sandbox", "python3 runs a program that is not in its words"},
		{"git push", "host", ""},
	} {
		e := p.Explain("bash", tool.Access{Kind: tool.KindRun, Command: row.line, Dir: root})
		if e.Place != row.place || e.OffLayer != row.why {
			t.Errorf("%s: in %q (%s), expected %q (%s)", row.line, e.Place, e.OffLayer, row.place, row.why)
		}
	}
	p.Confinement = Confinement{}
	if e := p.Explain("bash", tool.Access{Kind: tool.KindRun, Command: "touch x", Dir: root}); e.Place != "" {
		t.Errorf("where nothing confines it runs in %q", e.Place)
	}
}
