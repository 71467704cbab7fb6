package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	"artoo/agent"
	"artoo/tool"
)

// TestThePolicyInARealProject puts the policy and the files together, as main
// does.
func TestThePolicyInARealProject(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(base, "p")
	write(t, "x", base, "outside")
	write(t, "x", root, "a.go")
	write(t, "x", root, "sub", "b.go")
	write(t, "x", root, "web", ".env")
	write(t, "x", root, "web", "index.html")
	write(t, "x", root, "dash", "--output=x")
	write(t, "[core]\n\tbare = false\n", root, ".git", "config")
	write(t, "ref: refs/heads/main\n", root, ".git", "HEAD")
	write(t, "x", root, ".git", "objects", "x")
	write(t, "", root, ".git", "refs", "x.lock")
	link(t, base, root, "out")
	link(t, filepath.Join("..", "web"), root, "sub", "web")
	files, err := tool.OpenFiles(tool.FilesConfig{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	find := tool.Repository
	policy := &agent.Policy{
		Mode: agent.ModeAsk, Root: root, Reach: files.Reach,
		GitRuns: func(dir string) error {
			p, err := find(dir)
			if err != nil {
				return err
			}
			return p.GitRuns()
		},
		GitSecrets: func(dir string) ([]string, error) {
			p, err := find(dir)
			if err != nil {
				return nil, err
			}
			return new(tool.Histories).Secrets(p, os.Environ())
		},
	}
	check := func(want map[string]agent.Effect) {
		t.Helper()
		for line, effect := range want {
			access := tool.Access{Kind: tool.KindRun, Command: line, Dir: root}
			if d := policy.Decide("bash", access); d.Effect != effect {
				t.Errorf("%s: %s (%s), want %s", line, d.Effect, d.Reason, effect)
			}
		}
	}
	check(map[string]agent.Effect{
		"cat a.go": agent.Allow, "ls": agent.Allow, "cat *.go": agent.Allow, "ls sub/*": agent.Allow, "grep -rn x sub/b.go": agent.Allow, "cat web/*": agent.Allow,
		"cat web/.env": agent.Ask, "cat web/.*": agent.Ask, "cat web/.[!a]nv": agent.Ask, "cat sub/web/.env": agent.Ask, "cd sub/web && cat .env": agent.Ask,
		"cat out/outside": agent.Ask, "cat o*/outside": agent.Ask, "cd out && ls": agent.Ask, "ls *": agent.Ask, "head -n .* a.go": agent.Allow,
		"grep -r x": agent.Ask, "grep -r x sub": agent.Ask, "rg x": agent.Ask, "rg x a.go": agent.Allow,
		"head -n web/.e* a.go": agent.Ask, "cd dash && sort *": agent.Ask, "cd dash && git diff *": agent.Ask, "cd sub && cat *.go ../a.go": agent.Allow,
		"cd sub/web && cat ../index.html": agent.Allow, "cd sub/web && cat ../../outside": agent.Ask,
		"git status": agent.Allow, "git diff": agent.Allow, "git show HEAD": agent.Allow, "git log -p": agent.Allow,
	})
	write(t, string(indexOf("a.go", "web/.env")), root, ".git", "index")
	check(map[string]agent.Effect{"git status": agent.Allow, "git log --oneline": agent.Allow, "git diff --stat": agent.Allow,
		"git diff": agent.Ask, "git show HEAD": agent.Ask, "git log -p": agent.Ask, "git status -v": agent.Ask})
	write(t, "[core]\n\tfsmonitor = ./x\n", root, ".git", "config")
	check(map[string]agent.Effect{"git status": agent.Ask, "cd sub && git log": agent.Ask, "git -C sub log": agent.Ask, "cat a.go": agent.Allow})
	if err := os.Remove(filepath.Join(root, ".git", "config")); err != nil {
		t.Fatal(err)
	}
	write(t, "ref: x", root, "sub", "HEAD")
	check(map[string]agent.Effect{"git status": agent.Allow, "cd sub && git log": agent.Ask})
}

// indexOf makes git's index, version 2, with these names.
func indexOf(names ...string) []byte {
	data := append([]byte("DIRC"), 0, 0, 0, 2, 0, 0, 0, byte(len(names)))
	for _, name := range names {
		entry := make([]byte, 62)
		entry[26], entry[27], entry[61] = 0o100644>>8, 0o100644&0xff, byte(len(name))
		entry = append(entry, name...)
		data = append(data, append(entry, make([]byte, 8-len(entry)%8)...)...)
	}
	return append(data, make([]byte, 20)...)
}
