package repo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"artoo/tool/environ"
	"artoo/tool/needs"
	"artoo/tool/repo"
	"artoo/tool/sweep"
)

// bench is a repository, and a copy of it that a line changed.
type bench struct {
	t       *testing.T
	top     string // the work tree of the project
	layer   string
	env     []string
	own     environ.Vars
	dir     string
	git     string // the git directory, relative to the top
	common  string
	guarded func(string) bool
	ignored func(string) bool
}

func variables(home string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "HOME=") {
			env = append(env, kv)
		}
	}
	return append(env, "HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_EDITOR=true", "LC_ALL=C")
}

// newBench makes a repository with the lines before, then runs the line on a copy.
func newBench(t *testing.T, before, line string) *bench {
	t.Helper()
	needs.Git(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, top: filepath.Join(root, "project"), layer: filepath.Join(root, "layer"),
		dir: filepath.Join(root, "views"), env: variables(root), git: ".git", common: ".git"}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	rest, isUsual := strings.CutPrefix(before, first)
	b.sh(root, "cp -a "+origin(t, isUsual)+" project")
	if !isUsual {
		rest = before
	}
	b.sh(b.top, rest)
	b.line(line)
	return b
}

// origins are a repository without commits and one with the first, made once: git takes its
// time for each.
var origins struct {
	sync.Mutex
	dir string // "" before they are made
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := os.RemoveAll(origins.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func origin(t *testing.T, withFirst bool) string {
	t.Helper()
	origins.Lock()
	defer origins.Unlock()
	if origins.dir == "" {
		dir, err := os.MkdirTemp("", "artoo-repo-")
		if err != nil {
			t.Fatal(err)
		}
		origins.dir = dir
		b := &bench{t: t, env: variables(dir)}
		b.sh(dir, "mkdir empty; cd empty; git init -q -b main .; git config user.name a; git config user.email a@example.org\n"+
			"cp -a . ../first; cd ../first\n"+first)
	}
	return filepath.Join(origins.dir, map[bool]string{true: "first", false: "empty"}[withFirst])
}

// first is a repository with one commit of two files.
const first = "echo 1 > a; echo 1 > b; git add a b; git commit -qm first\n"

// line runs a line on a copy of the project that has its name meanwhile.
func (b *bench) line(line string) {
	b.t.Helper()
	kept := b.layer + ".kept"
	b.sh(filepath.Dir(b.top), "rm -rf layer; cp -a project layer.kept")
	b.sh(b.top, line)
	if err := errors.Join(os.Rename(b.top, b.layer), os.Rename(kept, b.top)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) sh(dir, lines string) string {
	b.t.Helper()
	cmd := exec.Command("sh", "-ec", lines)
	cmd.Dir, cmd.Env = dir, b.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v: %s", lines, err, out)
	}
	return string(out)
}

// changes are those below .git.
func (b *bench) changes() (list []repo.Change) {
	b.t.Helper()
	was, is := listing(b.t, b.top), listing(b.t, b.layer)
	for path, now := range is {
		if rel := filepath.ToSlash(path); strings.HasPrefix(rel, ".git") && was[path] != now {
			info, err := os.Lstat(filepath.Join(b.layer, path))
			if err != nil {
				b.t.Fatal(err)
			}
			list = append(list, repo.Change{Path: filepath.Join(b.top, path), Mode: info.Mode()})
		}
	}
	for path := range was {
		if _, there := is[path]; !there && strings.HasPrefix(path, ".git") {
			list = append(list, repo.Change{Path: filepath.Join(b.top, path), Gone: true})
		}
	}
	slices.SortFunc(list, func(x, y repo.Change) int { return strings.Compare(x.Path, y.Path) })
	return list
}

// listing lists the files below a directory, by relative path.
func listing(t *testing.T, top string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += target
		}
		rel, err := filepath.Rel(top, path)
		list[rel] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (b *bench) repository() repo.Repository {
	return repo.Repository{WorkTree: b.top, GitDir: filepath.Join(b.top, b.git), Common: filepath.Join(b.top, b.common), Environ: b.env, Own: b.own}
}

func (b *bench) view(changes []repo.Change) *repo.View {
	b.t.Helper()
	view, err := repo.Open(b.t.Context(), b.repository(), b.dir, changes, b.open)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := view.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return view
}

func (b *bench) open(path string) (io.ReadCloser, error) {
	rel, err := filepath.Rel(b.top, path)
	if err != nil {
		return nil, err
	}
	return os.Open(filepath.Join(b.layer, rel))
}

func (b *bench) workTree() layerTree { return layerTree{bench: b} }

// layerTree is the work tree below a directory of the layer. Files of the name hides are hidden.
type layerTree struct {
	*bench
	below, hides string
	left         []string
}

func (l layerTree) Open(path string) (io.ReadCloser, fs.FileMode, error) {
	path = filepath.Join(l.layer, l.below, filepath.FromSlash(path))
	info, err := os.Lstat(path)
	if err != nil {
		return nil, 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return io.NopCloser(strings.NewReader(target)), info.Mode(), err
	}
	f, err := os.Open(path)
	return f, info.Mode(), err
}

func (l layerTree) Guarded(path string) bool { return l.guarded != nil && l.guarded(path) }
func (l layerTree) Ignored(path string) bool { return l.ignored != nil && l.ignored(path) }
func (l layerTree) Hidden(path string) bool  { return filepath.Base(path) == l.hides }
func (l layerTree) Left() []string           { return l.left }

func (l layerTree) Project(path string) (io.ReadCloser, fs.FileMode, error) {
	f, err := os.Open(filepath.Join(l.top, path))
	return f, 0o644, err
}

func (b *bench) effects() (*repo.View, repo.Effects) {
	b.t.Helper()
	view := b.view(b.changes())
	e, err := view.Effects(b.t.Context(), b.workTree())
	if err != nil {
		b.t.Fatal(err)
	}
	return view, e
}

// land moves the files of the work tree as landing does, then replays the judged changes.
func (b *bench) land(view *repo.View) {
	b.t.Helper()
	if err := b.replay(view); err != nil {
		b.t.Fatal(err)
	}
}

// replay takes the files back where Replay refuses.
func (b *bench) replay(view *repo.View) error {
	b.t.Helper()
	kept := b.layer + ".files"
	if err := os.Mkdir(kept, 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.move(b.top, kept)
	if files := b.files(b.layer); len(files) > 0 {
		args := slices.Concat([]string{"-a"}, files, []string{b.top})
		if out, err := exec.Command("cp", args...).CombinedOutput(); err != nil {
			b.t.Fatalf("%v: %s", err, out)
		}
	}
	before := listing(b.t, b.top)
	if err := view.Replay(context.Background()); err != nil {
		replaced := b.layer + ".replaced"
		if err := errors.Join(os.RemoveAll(replaced), os.Mkdir(replaced, 0o755)); err != nil {
			b.t.Fatal(err)
		}
		b.move(b.top, replaced)
		b.move(kept, b.top)
		if err := os.Remove(kept); err != nil {
			b.t.Fatal(err)
		}
		return err
	}
	if err := os.RemoveAll(kept); err != nil {
		b.t.Fatal(err)
	}
	touched := view.Touches()
	for path, now := range listing(b.t, b.top) {
		if before[path] == now || strings.HasPrefix(now, "d") || strings.HasPrefix(path, ".git/objects") {
			continue
		}
		if !slices.Contains(touched, filepath.Join(b.top, path)) {
			b.t.Errorf("Replay changed %s, which Touches does not list", path)
		}
	}
	return nil
}

// files are the paths right below a directory, without .git.
func (b *bench) files(dir string) (paths []string) {
	b.t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// move moves the files of one directory to another.
func (b *bench) move(from, to string) {
	b.t.Helper()
	for _, path := range b.files(from) {
		if err := os.Rename(path, filepath.Join(to, filepath.Base(path))); err != nil {
			b.t.Fatal(err)
		}
	}
}

// state is a repository's state in git's words. Its history follows from its refs and the findings of fsck.
const state = `refs=$(git for-each-ref --format='%(refname) %(objectname)'); echo "$refs"; case $refs in *refs/stash*) git stash list;; esac
	git ls-files -s -v; git status --porcelain=v2; sort .git/config
	cat .git/HEAD .git/MERGE_HEAD .git/MERGE_MSG .git/MERGE_MODE .git/SQUASH_MSG .git/CHERRY_PICK_HEAD .git/REVERT_HEAD 2>/dev/null || true
	git fsck --connectivity-only 2>&1 | grep -v -e dangling -e 'missing tree 4b825dc642' || true`

// same compares the project with the layer, as git sees both.
func (b *bench) same() {
	b.t.Helper()
	project, layer := b.sh(b.top, state), b.sh(b.layer, state)
	if project != layer {
		b.t.Errorf("landing made\n%s\nnot\n%s", project, layer)
	}
}

// words are the kinds and objects of effects, by class.
func words(e repo.Effects) string {
	var parts []string
	for _, class := range []struct {
		name string
		rows []repo.Row
	}{{"forbidden", e.Forbidden}, {"guarded", e.Guarded}, {"loss", e.Loss}, {"content", e.Content}, {"bookkeeping", e.Bookkeeping}} {
		for _, row := range class.rows {
			object := regexp.MustCompile(`\b[0-9a-f]{40,64}\b`).ReplaceAllString(row.Object, "ID")
			name := class.name
			if row.Stops {
				name = "stops"
			}
			parts = append(parts, fmt.Sprintf("%s: %s %s", name, row.Kind, object))
		}
	}
	return strings.Join(parts, "\n")
}

func texts(e repo.Effects) string {
	var b bytes.Buffer
	for _, rows := range [][]repo.Row{e.Forbidden, e.Guarded, e.Loss, e.Content, e.Bookkeeping} {
		for _, row := range rows {
			fmt.Fprintln(&b, row.Text, row.Files, row.Diff)
		}
	}
	return b.String()
}

// TestAnyUsualLine runs the usual lines of git: they are judged by their results, and the real repository then equals the
// layer.
func TestAnyUsualLine(t *testing.T) {
	t.Parallel()
	topic := first + "git switch -qc topic; echo 2 > c; git add c; git commit -qm second; git switch -q main\n"
	lines := []struct{ name, before, line, want string }{
		{"nothing", first, "git status; git log; git diff", ""},
		{"add", first, "echo 2 > a; echo 1 > c; git add a c", "bookkeeping: staged a|bookkeeping: staged c"},
		{"add -A", first, "rm b; echo 1 > c; mkdir d; echo 1 > d/e; git add -A",
			"bookkeeping: staged b|bookkeeping: staged c|bookkeeping: staged d/e"},
		{"add of an executable and a link", first, "chmod +x a; ln -s b l; git add -A", "bookkeeping: staged a|bookkeeping: staged l"},
		{"add of what is then changed", first, "echo 2 > a; git add a; echo 3 > a", "content: staged a"},
		{"commit", first + "echo 2 > a; git add a", "git commit -qm second",
			"content: ref moved refs/heads/main|content: commit refs/heads/main"},
		{"commit -am", first, "echo 2 > a; git commit -qam second",
			"content: ref moved refs/heads/main|content: commit refs/heads/main"},
		{"two commits", first, "echo 2 > a; git commit -qam second; echo 3 > a; git commit -qam third",
			"content: ref moved refs/heads/main|content: commit refs/heads/main|content: commit refs/heads/main"},
		{"the first commit", "", "echo 1 > a; git add a; git commit -qm first",
			"content: ref new refs/heads/main|content: commit refs/heads/main"},
		{"switch -c", first, "git switch -qc topic", "bookkeeping: head HEAD|bookkeeping: ref new refs/heads/topic"},
		{"branch", first, "git branch topic", "bookkeeping: ref new refs/heads/topic"},
		{"branch elsewhere", topic, "git branch other topic", "content: ref new refs/heads/other"},
		{"branch with an ambiguous name", first + "git tag v1", "git branch v1", "content: ref new refs/heads/v1"},
		{"branch like an id", first, "git branch abcdef", "content: ref new refs/heads/abcdef"},
		{"switch -c and commit", first, "git switch -qc topic; echo 2 > a; git commit -qam second",
			"content: head HEAD|content: ref new refs/heads/topic|content: commit refs/heads/topic"},
		{"switch", topic, "git switch -q topic", "content: head HEAD"},
		{"switch --detach", topic, "git switch -q --detach topic", "content: head HEAD"},
		{"tag", first, "git tag v1; git tag -am 'so far' v2", "content: ref new refs/tags/v1|content: ref new refs/tags/v2"},
		{"merge --ff-only", topic, "git merge -q --ff-only topic", "content: ref moved refs/heads/main"},
		{"merge", topic + "echo 3 > a; git commit -qam third", "git merge -q topic -m merged",
			"content: ref moved refs/heads/main|content: commit refs/heads/main"},
		{"restore --staged", first + "echo 2 > a; git add a", "git restore --staged a", "content: staged a"},
		{"restore --staged of a new file", first + "echo 2 > c; git add c", "git restore --staged c", "content: staged c"},
		{"rm --cached", first, "git rm -q --cached a", "content: staged a"},
		{"rm", first, "git rm -q a", "bookkeeping: staged a"},
		{"mv", first, "git mv a c", "bookkeeping: staged a|bookkeeping: staged c"},
		{"stash push", first + "echo 2 > a; echo 2 > b; git add b", "git stash push -q", "content: stash ID"},
		{"stash push twice", first, "echo 2 > a; git stash push -qm one; echo 3 > a; git stash push -qm two",
			"content: stash ID|content: stash ID"},
		{"stash pop", first + "echo 2 > a; git stash push -q", "git stash pop -q", "loss: ref gone refs/stash"},
		{"stash pop of one of two", first + "echo 2 > a; git stash push -q; echo 3 > b; git stash push -q",
			"git stash pop -q", "loss: ref gone refs/stash"},
		{"cherry-pick", topic + "echo 3 > a; git commit -qam third", "git cherry-pick topic >/dev/null", "content: ref moved refs/heads/main|content: commit refs/heads/main"},
		{"packed refs", topic, "git pack-refs --all", ""},
		{"commit with packed refs", topic + "git pack-refs --all", "echo 2 > a; git commit -qam second",
			"content: ref moved refs/heads/main|content: commit refs/heads/main"},
		{"a branch that follows another", first, "git switch -q -c topic --track main",
			"bookkeeping: config branch.topic.merge|bookkeeping: config branch.topic.remote|bookkeeping: head HEAD|bookkeeping: ref new refs/heads/topic"},
		{"a branch that follows a remote one", first + "git remote add o ../o; git update-ref refs/remotes/o/topic HEAD",
			"git switch -qc topic --track o/topic",
			"bookkeeping: config branch.topic.merge|bookkeeping: config branch.topic.remote|bookkeeping: head HEAD|bookkeeping: ref new refs/heads/topic"},
		{"conflict", topic + "echo 3 > c; git add c; git commit -qm third", "git merge topic || true",
			"content: pending MERGE_HEAD|content: staged c|bookkeeping: pending MERGE_MODE|bookkeeping: pending MERGE_MSG"},
		{"a conflict is resolved", topic + "echo 3 > c; git add c; git commit -qm third; git merge topic || true",
			"git checkout -q --ours c; git add c", "content: staged c"},
		{"a merge is ended", topic + "echo 3 > c; git add c; git commit -qm third; git merge topic || true",
			"echo 4 > c; git commit -qam both",
			"content: commit refs/heads/main|content: pending MERGE_HEAD|content: ref moved refs/heads/main|bookkeeping: pending MERGE_MODE|bookkeeping: pending MERGE_MSG"},
		{"a rebase that conflicts is ended", diverged, "git rebase main || true; echo 4 > a; git add a; git rebase --continue",
			"content: commit refs/heads/topic|loss: ref moved refs/heads/topic"},
		{"a rebase is given up", diverged, "git rebase main || true; git rebase --abort", ""},
		{"rebase --autostash", topic, "echo 3 > a; git rebase -q --autostash topic", "content: ref moved refs/heads/main"},
		{"bisect run", topic + "git switch -q topic; for i in 1 2 3; do echo x >> c; git commit -qam c$i; done",
			"git bisect start HEAD HEAD~3; git bisect run sh -c 'test $(wc -l < c) -lt 3'; git bisect reset", ""},
		{"revert", topic + "git switch -q topic", "git revert --no-edit HEAD", "content: ref moved refs/heads/topic|content: commit refs/heads/topic"},
		{"reset --hard of a change", first + "echo 2 > a", "git reset -q --hard", ""},
		{"checkout of a file", first + "echo 2 > a", "git checkout -q -- a", ""},
		{"several cherry-picks", topic, "git switch -q topic; echo 4 > d; git add d; git commit -qm d; git switch -q main; echo 4 > a; git commit -qam a; git cherry-pick topic~1 topic",
			"content: commit refs/heads/main|content: commit refs/heads/main|content: commit refs/heads/main|content: commit refs/heads/topic|content: ref moved refs/heads/main|content: ref moved refs/heads/topic"},
		{"names with odd bytes", first, "printf 1 > 'x\ty\"ü'; git add -A; git branch 'ü\"x'",
			"bookkeeping: ref new refs/heads/ü\"x|bookkeeping: staged x\ty\"ü"},
		{"line ends", first + "git config core.autocrlf true", "printf '1\\r\\n2\\r\\n' > c; git add c 2>/dev/null", "bookkeeping: staged c"},
		{"detached commits", first + "git switch -q --detach", "echo 2 > a; git commit -qam second",
			"content: commit HEAD|content: head HEAD"},
		{"another version of the index", first, "git update-index --index-version 4; echo 2 > a; git add a", "bookkeeping: staged a"},
	}
	for _, n := range sweep.Cases(t, 8, 2*len(lines)) {
		c, format := lines[n/2], []string{"sha1", "sha256"}[n%2]
		t.Run(c.name+" "+format, func(t *testing.T) {
			t.Parallel()
			before := c.before
			if format == "sha256" {
				before = "rm -rf .git; git init -q -b main --object-format=sha256 .\n" +
					"git config user.name a; git config user.email a@example.org\n" + before
			}
			b := newBench(t, before, c.line)
			view, e := b.effects()
			saysWords(t, e, c.want)
			b.land(view)
			b.same()
		})
	}
}

func saysWords(t *testing.T, e repo.Effects, want string) {
	t.Helper()
	got := strings.Split(words(e), "\n")
	wanted := strings.Split(want, "|")
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("judged\n%s\nnot\n%s\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"), texts(e))
	}
}
