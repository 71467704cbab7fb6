package permission

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/needs"
	facts "artoo/tool/project"
)

// harmlessTree makes a small project with a history, as testdata/harmless.txt
// speaks of it, and the policy that artoo has in it.
func harmlessTree(t *testing.T, mode Mode) (string, *Policy) {
	t.Helper()
	needs.Git(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a.txt": "hello\nworld\n", "b.txt": "hello\nWorld\n", "sub/b.go": "package sub\n",
		"main.go": "package main\nfunc main(){}\n",
		"go.mod":  "module x\ngo 1.22\n", "README.md": "# hi\n", "package.json": "{\"name\":\"x\"}\n", "dir/.keep": "",
	} {
		putFile(t, filepath.Join(root, name), text)
	}
	gitIn(t, root, "init", "-q", "-b", "master", ".")
	gitIn(t, root, "add", "-A")
	gitIn(t, root, "commit", "-q", "-m", "init")
	putFile(t, filepath.Join(root, "a.txt"), "hello\nworld\nmore\n")
	return root, realPolicy(t, root, mode)
}

// realPolicy is the policy of the program for a project, without rules.
func realPolicy(t *testing.T, root string, mode Mode) *Policy {
	t.Helper()
	files, err := files.Open(files.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	project, err := facts.Find(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Policy{Mode: mode, Root: root, World: World{Files: files, Guard: NewGuard(project),
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8"}}}
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func gitIn(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd := exec.Command(needs.Git(t), append([]string{"-C", root, "-c", "user.email=a@b", "-c", "user.name=a"},
		args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// linesOf are the lines of a file of testdata.
func linesOf(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n"), "\n")
}

// TestFewHarmlessLinesAreAsked bounds how often the user is bothered for nothing.
func TestFewHarmlessLinesAreAsked(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModeAsk)
	var asked []string
	lines := linesOf(t, "harmless.txt")
	for _, line := range lines {
		access := tool.Access{Kind: tool.KindRun, Command: strings.ReplaceAll(line, "@TREE@", root), Dir: root}
		if d := p.Decide("bash", access); d.Verdict != Run {
			asked = append(asked, line+"   ("+strings.ReplaceAll(d.Reason(), root, "@TREE@")+")")
		}
	}
	t.Logf("%d of %d lines are asked:\n%s", len(asked), len(lines), strings.Join(asked, "\n"))
	if len(asked)*100 > 20*len(lines) {
		t.Errorf("%d of %d harmless lines are asked, more than 20 %%", len(asked), len(lines))
	}
}

// TestHardlyAHarmlessLineIsAskedWhereThereAreLayers also has lines that coding agents
// send.
func TestHardlyAHarmlessLineIsAskedWhereThereAreLayers(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModeAsk)
	p.Confinement = Confinement{Sandbox: true, Layer: true, ByEntry: true}
	p.World.Environ = nil // Programs installed here do not matter.
	for _, row := range []struct {
		name        string
		least, most int
	}{{"harmless.txt", 131, 2}, {"harmless_agents.txt", 136, 2}} {
		var asked []string
		lines := linesOf(t, row.name)
		for _, line := range lines {
			line = strings.NewReplacer("@TREE@", root, "␤", "\n").Replace(line)
			if d := p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: line, Dir: root}); d.Verdict != Run {
				asked = append(asked, line+"   ("+strings.ReplaceAll(d.Reason(), root, "@TREE@")+")")
			}
		}
		t.Logf("%s: %d of %d lines are asked:\n%s", row.name, len(asked), len(lines), strings.Join(asked, "\n"))
		if len(lines) < row.least || len(asked) > row.most {
			t.Errorf("%s: %d of %d harmless lines are asked, more than %d", row.name, len(asked), len(lines), row.most)
		}
	}
}

// TestATextInTheLineIsNoProgramOfTheProject has interpreters that are given their
// program as a here-document, as with -c, beside those that are given a file as well.
func TestATextInTheLineIsNoProgramOfTheProject(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModeAsk)
	p.Confinement, p.World.Environ = Confinement{Sandbox: true, Layer: true, ByEntry: true}, nil
	for line, want := range map[string]Verdict{
		"python3 - <<'E'\nprint(1)\nE":            Run,
		"python3 <<'E'\nprint(1)\nE":              Run,
		"python3 -u - a.txt <<'E'\nprint(1)\nE":   Run,
		"node <<'E'\nconsole.log(1)\nE":           Run,
		"python3 build.py <<'E'\nprint(1)\nE":     Ask,
		"python3 -m build <<'E'\nprint(1)\nE":     Ask,
		"node -r ./build.js - <<'E'\nprint(1)\nE": Ask,
		"python3 - <<'E' < build.py\nprint(1)\nE": Ask,
		"python3 - <<E\n$(cat build.py)\nE":       Ask,
		"bash <<'E'\n./build.sh\nE":               Ask,
		"cat build.py | python3 -":                Ask,
		"python3 -":                               Ask,
	} {
		if d := decideIn(p, root, line); d.Verdict != want {
			t.Errorf("%s: %s (%s), expected %s", line, d.Verdict, d.Reason(), want)
		}
	}
}
