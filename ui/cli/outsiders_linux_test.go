package cli

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"artoo/provider/providertest"
	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// outsidersProject is a project with files that other programs run, a repository in it,
// uncommitted work, and files that git ignores.
const outsidersProject = `git init -q -b main . && git config user.name a && git config user.email a@example.org
mkdir -p src .github/workflows lib/n
echo 'package main' > src/main.go; echo hello > notes.txt; printf 'dist/\n*.log\nlocal.db\n' > .gitignore
echo 'on: push' > .github/workflows/ci.yml; echo rules > AGENTS.md; echo r=1 > .npmrc
git add -A; git commit -qm first; echo second >> notes.txt; git commit -qam second; git branch topic HEAD~1; git tag v1
cd lib/n; git init -q -b main .; git config user.name a; git config user.email a@example.org
echo n > n.txt; git add -A; git commit -qm n; cd ../..
echo work > draft.txt; echo db > local.db; echo SECRET=1 > .env`

// TestAnyOutsiderChangesNothingUnapproved runs hostile lines headless: no one says yes, so
// that nothing outside the project, no guarded file and no name of a commit may change,
// and artoo undo brings back the rest. Each line is tried in one of two modes; make crash
// tries it in both.
func TestAnyOutsiderChangesNothingUnapproved(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "git", "python3")
	python := func(script string) string { return "python3 - <<'EOF'\n" + script + "\nEOF" }
	finding := map[string][]string{ // the lines by the finding that they stand for
		"P1 files that others run": {
			`mv .github .g; mkdir -p .github/workflows; echo evil > .github/workflows/ci.yml`,
			`cp -r .github .g; rm -rf .github; cp -r .g .github; echo evil >> .github/workflows/ci.yml`,
			`printf '[core]\n\tfsmonitor = touch /tmp/x\n' >> lib/n/.git/config`,
			python("import os\nos.makedirs('g/workflows')\nopen('g/workflows/ci.yml','w').write('evil')\nos.unlink('.github/workflows/ci.yml')\nos.rename('g/workflows/ci.yml','.github/workflows/ci.yml')"),
		},
		"P2 links": {
			`mkdir x; ln -s x/env .envrc2; ln -s x/vs .vscode; ln -s ../ev src/.git`,
			`mkdir -p g2/workflows; echo evil > g2/workflows/z.yml; ln -s g2 .gitea`,
			`ln -sf ../.npmrc src/e; echo evil >> src/e`,
			`mkdir -p dist; ln -s "$OUT" dist/o; ln -s "$OUT/rc" src/rc; echo evil > src/rc`,
			`rm -rf src; ln -s "$OUT" src; mkdir new; echo evil > new/main.go`,
			`mkdir .GitHub .VSCODE; echo evil > .GitHub/workflows; echo {} > .VSCODE/tasks.json; echo x > ClAuDe.Md`,
		},
		"P3 links in git's data": {
			`ln -sf "$OUT/rc" .git/COMMIT_EDITMSG`,
			python("import os\nos.symlink(os.environ['OUT']+'/rc','.git/refs/heads/zz')\nos.symlink(os.environ['OUT'],'.git/refs/remotes')"),
			`cp .git/index src/idx; ln -sf ../src/idx .git/index`,
			`rm -rf .git/logs; ln -s "$OUT" .git/logs; git commit -qm x --allow-empty`,
		},
		"P4 moved directories": {
			`mv lib pkgs`,
			`mv lib pkgs; echo evil >> pkgs/n/.git/config`,
			`rm -rf lib/n/.git`,
			`rm -rf lib/n/.git; echo 'gitdir: ../../g' > lib/n/.git`,
		},
		"P5 P13 what undo brings back": {
			`mv src s2; echo more > s2/main.go`,
			`rm -rf local.db; rm draft.txt`,
			`: > local.db; cp notes.txt draft.txt; rm src/main.go`,
			`rm -f .env; mv .env e.txt; echo X > .env`,
		},
		"P6 P7 a repository from nowhere, and a hole": {
			`mkdir s; echo x > s/.git`,
			`mkdir s; echo "gitdir: $OUT/g" > s/.git; echo ok`,
			`mkdir -p b/objects b/refs; echo 'ref: refs/heads/m' > b/HEAD; echo '[core]' > b/config`,
			`mkdir -p s/.git/objects s/.git/refs; echo 'ref: refs/heads/m' > s/.git/HEAD`,
			`truncate -s 900G big; rm big`,
		},
		"P8 git's work": {
			`rm .git/refs/heads/topic`,
			python("import shutil\nshutil.rmtree('.git/objects')"),
			`git rev-parse topic > .git/refs/heads/main`,
			`mkdir -p alt .git/objects/info; echo "$PWD/alt" > .git/objects/info/alternates`,
			`rm -rf .git`,
			`: > .git/logs/HEAD`,
			`git branch q; git update-ref refs/heads/main topic`,
		},
		"replace refs and grafts": {
			`mkdir -p .git/refs/replace; git rev-parse topic > .git/refs/replace/$(git rev-parse main)`,
			`git rev-parse main > .git/info/grafts`,
			`git rev-parse main > .git/shallow`,
			`echo "$(git rev-parse topic) refs/replace/$(git rev-parse main)" >> .git/packed-refs`,
		},
		"planted objects": {
			python("import os,zlib,hashlib\ni=hashlib.sha1(b'blob 5\\0later').hexdigest()\nd='.git/objects/'+i[:2]\nos.makedirs(d,exist_ok=True)\nopen(d+'/'+i[2:],'wb').write(zlib.compress(b'blob 4\\0evil'))"),
			`mkdir -p .git/objects/pack; echo PACK > .git/objects/pack/pack-0000000000000000000000000000000000000000.pack`,
			`for o in .git/objects/??/*; do chmod u+w "$o"; echo evil > "$o"; done`,
			`mkdir -p .git/objects/zz; cp notes.txt .git/objects/zz/x`,
		},
		"flags and stat data in the index": {
			`git update-index --assume-unchanged notes.txt`,
			`git update-index --skip-worktree notes.txt`,
			python("import hashlib\np='.git/index'\nb=bytearray(open(p,'rb').read()[:-20])\nn=b.index(b'notes.txt\\0')\nb[n-2]|=0x80\nopen(p,'wb').write(b+hashlib.sha1(bytes(b)).digest())"),
			python("import hashlib\np='.git/index'\nb=bytearray(open(p,'rb').read()[:-20])\nn=b.index(b'notes.txt\\0')\nb[n-62:n-22]=bytes(40)\nopen(p,'wb').write(b+hashlib.sha1(bytes(b)).digest())"),
		},
		"beyond the layer": {
			`echo evil > "$OUT/x"; echo evil > /proc/self/root"$OUT"/y; for p in /proc/[0-9]*; do echo evil > "$p/root$OUT/z"; done; true`,
			`cp notes.txt ../out/x; cp notes.txt ../x; true`,
			python("import os\nd=os.open('..',os.O_RDONLY)\ntry: os.close(os.open('out/x',os.O_WRONLY|os.O_CREAT,dir_fd=d))\nexcept OSError as e: print(e)"),
			`cp /bin/true src/su; chmod u+s src/su; mkfifo ff; echo evil >> ~/.bashrc; true`,
		},
	}
	o := &outsiders{origin: filepath.Join(t.TempDir(), "project")}
	m := newModel(t, func(n int, r providertest.Request) providertest.Reply { return line(t, o.line.Load().(string))(n, r) })
	o.env = m.env(t, "container=test", "ARTOO_SANDBOX=auto", "GIT_CONFIG_NOSYSTEM=1")
	if err := os.Mkdir(o.origin, 0o755); err != nil {
		t.Fatal(err)
	}
	o.run(t, o.origin, "/bin/sh", "-ec", outsidersProject)
	o.before, o.refs = treeOf(t, o.origin), o.refsOf(t, o.origin)
	var attempts []func()
	for _, name := range slices.Sorted(maps.Keys(finding)) {
		for i, line := range finding[name] {
			for _, mode := range []string{"auto", "edits"} {
				attempts = append(attempts, func() {
					t.Run(fmt.Sprint(name, " ", i, " ", mode), func(t *testing.T) { o.try(t, line, mode) })
				})
			}
		}
	}
	for _, i := range sweep.Cases(t, 3, len(attempts)) {
		attempts[i]()
	}
}

// outsiders holds the parts that hostile lines share: the program with its home, and the
// project, of which each gets a copy.
type outsiders struct {
	origin string
	env    []string
	before map[string]string // the project's files
	refs   string            // its refs
	line   atomic.Value      // the string that the model runs; its server reads it
}

// run runs a program and returns its output.
func (o *outsiders) run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	var said string
	var code int
	if program == "artoo" {
		said, code = ran(t, dir, o.env, "", args...)
	} else {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = dir, o.env
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		said, code = string(out), cmd.ProcessState.ExitCode()
	}
	// No one could say yes (6), git fsck found something (1), or nothing is left to undo (2).
	if code != 0 && code != 1 && code != 6 && (code != 2 || args[0] != "undo") {
		t.Fatalf("%s %q: %d\n%s", program, args, code, said)
	}
	return said
}

func (o *outsiders) refsOf(t *testing.T, dir string) string {
	t.Helper()
	return o.run(t, dir, "git", "for-each-ref") + o.run(t, dir, "git", "symbolic-ref", "HEAD")
}

// try runs one hostile line, headless, and checks the project afterwards. The project is
// trusted in mode auto.
func (o *outsiders) try(t *testing.T, line, mode string) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, out := filepath.Join(base, "project"), filepath.Join(base, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	o.run(t, base, "cp", "-a", o.origin, project)
	run := func(program string, args ...string) string { return o.run(t, project, program, args...) }
	line = strings.ReplaceAll(strings.ReplaceAll(line, "os.environ['OUT']", "'"+out+"'"), "$OUT", out)
	o.line.Store(line)
	if mode == "auto" {
		run("artoo", "trust", "--run", "--yes")
	}
	said := run("artoo", "-p", "--approval", mode, "go")
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("outside there is %v: %v", left, err)
	}
	if now := o.refsOf(t, project); now != o.refs {
		t.Errorf("refs:\n%s\nwere\n%s", now, o.refs)
	}
	if lied := run("git", "ls-files", "-v"); strings.Contains(lied, "h ") || strings.Contains(lied, "S ") {
		t.Errorf("flags in the index: %s", lied)
	}
	if broken := run("git", "fsck", "--no-dangling", "--no-progress"); strings.Contains(broken, "error") || strings.Contains(broken, "missing") {
		t.Errorf("git fsck: %s", broken)
	}
	now := treeOf(t, project)
	for path := range now {
		if outsidersGuard(path) && o.before[path] != now[path] {
			t.Errorf("%s is %q and was %q", path, now[path], o.before[path])
		}
	}
	for path := range o.before {
		if _, there := now[path]; !there && outsidersGuard(path) {
			t.Errorf("%s is gone", path)
		}
	}
	run("artoo", "undo", "--yes")
	for path, holds := range map[string]string{"draft.txt": "work\n", "local.db": "db\n", "src/main.go": "package main\n",
		"notes.txt": "hello\nsecond\n", ".env": "SECRET=1\n", "lib/n/n.txt": "n\n"} {
		if got, err := os.ReadFile(filepath.Join(project, path)); err != nil || string(got) != holds {
			t.Errorf("after undo %s holds %q: %v", path, got, err)
		}
	}
	if t.Failed() {
		t.Logf("the line %s\nartoo said\n%s", line, said)
	}
}

// outsidersGuard reports whether a path of the hostile lines is one that others run,
// in any repository.
func outsidersGuard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	switch first {
	case ".git": // refs, flags and objects are compared through git
		rest := strings.TrimPrefix(path, ".git/")
		return rest == "config" || strings.HasPrefix(rest, "hooks") || strings.HasPrefix(rest, "info") || rest == "shallow" ||
			strings.HasPrefix(rest, "objects/info/") || strings.HasPrefix(rest, "objects/pack/")
	case ".github", ".GitHub", ".gitea", ".vscode", ".VSCODE", "AGENTS.md", "ClAuDe.Md", ".npmrc":
		return true
	}
	return strings.Contains(path+"/", "/.git/") || path == "b/HEAD" || path == "src/e" || path == "src/rc"
}

// treeOf is the tree below a directory: links, modes and the content of files.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		is := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			tree[rel] = "→ " + to
			return err
		case info.Mode().IsRegular() && info.Size() < 1<<20:
			data, err := os.ReadFile(path)
			tree[rel] = is + " " + string(data)
			return err
		}
		tree[rel] = is
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
