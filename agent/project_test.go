package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/needs"
)

// TestThePolicyInARealProject puts the policy and the files together, as main
// does.
func TestThePolicyInARealProject(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
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
	files, err := files.Open(files.Config{Root: root})
	must(t, err)
	defer files.Close()
	policy := &permission.Policy{Mode: permission.ModeAsk, Root: root,
		World: permission.World{Files: files, Environ: os.Environ()}}
	check := func(want map[string]permission.Verdict) {
		t.Helper()
		for line, effect := range want {
			access := tool.Access{Kind: tool.KindRun, Command: line, Dir: root}
			if d := policy.Decide("bash", access); d.Verdict != effect {
				t.Errorf("%s: %s (%s), want %s", line, d.Verdict, d.Reason(), effect)
			}
		}
	}
	check(map[string]permission.Verdict{
		"cat a.go": permission.Run, "ls": permission.Run, "cat *.go": permission.Run,
		"ls sub/*": permission.Run, "grep -rn x sub/b.go": permission.Run, "cat web/*": permission.Run,
		"cat web/.env": permission.Ask, "cat web/.*": permission.Ask, "cat web/.[!a]nv": permission.Ask,
		"cat sub/web/.env": permission.Ask, "cd sub/web && cat .env": permission.Ask,
		"cat out/outside": permission.Ask, "cat o*/outside": permission.Ask, "cd out && ls": permission.Ask,
		"ls *": permission.Ask, "head -n .* a.go": permission.Run,
		"grep -r x": permission.Ask, "grep -r x sub": permission.Ask, "rg x": permission.Ask, "rg x a.go": permission.Run,
		"head -n web/.e* a.go": permission.Ask, "cd dash && sort *": permission.Ask,
		"cd dash && git diff *": permission.Ask, "cd sub && cat *.go ../a.go": permission.Run,
		"cd sub/web && cat ../index.html": permission.Run, "cd sub/web && cat ../../outside": permission.Ask,
	})
	needs.Git(t)
	check(map[string]permission.Verdict{"git status": permission.Run, "git diff": permission.Run, "git show HEAD": permission.Run,
		"git log -p": permission.Run})
	write(t, string(indexOf("a.go", "web/.env")), root, ".git", "index")
	check(map[string]permission.Verdict{"git status": permission.Run, "git diff": permission.Ask, "git diff --stat": permission.Run, "git log -p": permission.Run})
	write(t, "[core]\n\tfsmonitor = ./x\n", root, ".git", "config")
	check(map[string]permission.Verdict{"git status": permission.Ask, "cd sub && git log": permission.Ask,
		"git -C sub log": permission.Ask, "cat a.go": permission.Run})
	must(t, os.Remove(filepath.Join(root, ".git", "config")))
	write(t, "ref: x", root, "sub", "HEAD")
	check(map[string]permission.Verdict{"git status": permission.Run, "cd sub && git log": permission.Ask})
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
