package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// project is a directory for a test, and the journal of it.
type project struct {
	t    *testing.T
	root string
	cfg  Config
	*Journal
}

// unhurried is a budget that a look also keeps on a busy machine: undo leaves files that it had no time for.
const unhurried = time.Minute

// tempDir is t.TempDir for directories that their owner may not write, which another user than root cannot remove.
func tempDir(t *testing.T) (string, error) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	t.Cleanup(func() {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o700)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
	return dir, err
}

func newProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	dir, err := tempDir(t)
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, root: filepath.Join(dir, "project")}
	p.cfg = Config{Dir: filepath.Join(dir, "state", "s1"), Root: p.root, Budget: unhurried}
	if err := os.Mkdir(p.root, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, content := range files {
		p.write(path, content)
	}
	p.reopen()
	t.Cleanup(func() { p.Close() })
	return p
}

func (p *project) reopen() {
	p.t.Helper()
	if p.Journal != nil {
		p.shut()
	}
	j, err := Open(p.cfg)
	p.ok(err)
	p.Journal = j
}

func (p *project) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) planned(n int, redo bool) Plan {
	p.t.Helper()
	plan, err := p.Plan(p.t.Context(), n, redo)
	p.ok(err)
	return plan
}

func (p *project) applied(plan Plan) Report {
	p.t.Helper()
	report, err := p.Apply(p.t.Context(), plan)
	p.ok(err)
	return report
}

func (p *project) ended(s *Step) Changed {
	p.t.Helper()
	changed, err := s.End()
	p.ok(err)
	return changed
}

func (p *project) path(rel string) string { return filepath.Join(p.root, rel) }

// write writes a file with its directories; a name that ends in a slash is an
// empty directory, a content that begins with "-> " a link.
func (p *project) write(rel, content string) {
	p.t.Helper()
	if strings.HasSuffix(rel, "/") {
		p.ok(os.MkdirAll(p.path(rel), 0o755))
		return
	}
	p.ok(os.MkdirAll(filepath.Dir(p.path(rel)), 0o755))
	if target, ok := strings.CutPrefix(content, "-> "); ok {
		p.ok(os.Symlink(target, p.path(rel)))
		return
	}
	p.ok(os.WriteFile(p.path(rel), []byte(content), 0o644))
}

// look returns every path with its kind, mode and content. Inodes show which
// paths are one file.
func (p *project) look() map[string]string { return lookAt(p.t, p.root) }

func lookAt(t *testing.T, root string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Size() > maxRead:
			what += fmt.Sprintf(" %d bytes", info.Size())
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += " " + string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what = "-> " + target
		}
		seen[rel] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// same fails the test where the project is not as it was.
func (p *project) same(want map[string]string) {
	p.t.Helper()
	got := p.look()
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			p.t.Errorf("%q is %.60q, not %.60q", path, got[path], want[path])
		}
	}
	for path, what := range got {
		if _, ok := want[path]; !ok {
			p.t.Errorf("%q is %.60q, and was not there", path, what)
		}
	}
}

// command is a step of a shell command that runs f.
func (p *project) command(turn int, f func()) Changed {
	p.t.Helper()
	s := p.Begin(turn, "run")
	p.snapshot(s)
	f()
	return p.ended(s)
}

// edit is a step of a tool that writes a file.
func (p *project) edit(turn int, rel, content string) Changed {
	p.t.Helper()
	s := p.Begin(turn, "edit "+rel)
	lacks, err := s.Before(p.path(rel))
	p.ok(err)
	if len(lacks) > 0 {
		p.t.Fatalf("%s is not kept: %v", rel, lacks)
	}
	p.ok(os.MkdirAll(filepath.Dir(p.path(rel)), 0o755))
	p.ok(os.WriteFile(p.path(rel), []byte(content), 0o644))
	return p.ended(s)
}

func (p *project) undo(n int) Report { p.t.Helper(); return p.takeBack(n, false) }
func (p *project) redo(n int) Report { p.t.Helper(); return p.takeBack(n, true) }

// backAndForth undoes and redoes the last turn, twice.
func (p *project) backAndForth(start, end map[string]string) {
	p.t.Helper()
	for range 2 {
		p.undo(1)
		p.same(start)
		p.redo(1)
		p.same(end)
	}
}

// shut closes the journal, to be opened again.
func (p *project) shut() {
	p.t.Helper()
	p.ok(p.Close())
	p.Journal = nil
}

func (p *project) takeBack(n int, redo bool) Report {
	p.t.Helper()
	return p.applied(p.planned(n, redo))
}

func TestAnEditIsTakenBackAndBroughtBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.txt": "one\n"})
	start := p.look()
	p.edit(1, "a.txt", "two\n")
	p.edit(2, "new/deep/b.txt", "b\n")
	end := p.look()
	p.undo(1)
	if _, err := os.Lstat(p.path("new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directories that the tool made are still there: %v", err)
	}
	p.undo(1)
	p.same(start)
	if _, err := p.Plan(context.Background(), 1, false); !errors.Is(err, ErrNothing) {
		t.Errorf("a third undo: %v", err)
	}
	p.redo(2)
	p.same(end)
	p.undo(2)
	p.same(start)
	p.reopen()
	p.redo(1)
	p.same(end)
}

func TestAnythingACommandDoesIsTakenBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"a.txt": "a\n", "gone.txt": "gone\n", "dir/x": "x\n", "dir/sub/y": "y\n", "link": "-> a.txt",
		"dangling": "-> nowhere",
		"run.sh":   "#!/bin/sh\n", "empty/": "", "old/name.go": strings.Repeat("package p\n",
			9), "becomes/dir": "d\n", "file": "f\n",
		"bytes-\xff\xfe%41": "odd\n", "Case.txt": "case\n", "100%": "%\n",
	})
	p.ok(os.Link(p.path("a.txt"), p.path("hard")))
	start := p.look()
	changed := p.command(1, func() {
		p.write("a.txt", "b\n")
		p.ok(os.Remove(p.path("gone.txt")))
		p.ok(os.RemoveAll(p.path("dir")))
		p.ok(os.Remove(p.path("link")))
		p.write("link", "-> gone.txt")
		p.ok(os.Remove(p.path("dangling")))
		p.ok(os.Chmod(p.path("run.sh"), 0o755))
		p.ok(os.Remove(p.path("empty")))
		p.ok(os.Rename(p.path("old"), p.path("new")))
		p.ok(os.RemoveAll(p.path("becomes")))
		p.write("becomes", "a file\n")
		p.ok(os.Remove(p.path("file")))
		p.write("file/inside", "x\n")
		p.ok(os.Remove(p.path("bytes-\xff\xfe%41")))
		p.write("made-\xf0", "m\n")
		p.ok(os.Rename(p.path("Case.txt"), p.path("case.TXT")))
		p.write("for a moment", "x")
		p.ok(os.Remove(p.path("for a moment")))
		p.ok(os.Chmod(p.path("100%"), 0o600))
		p.ok(os.Link(p.path("run.sh"), p.path("also.sh")))
	})
	if len(changed.Lacks) > 0 {
		t.Errorf("not covered: %v", changed.Lacks)
	}
	for _, c := range changed.Changes {
		if c.Path == "new/name.go" && c.From != "old/name.go" {
			t.Errorf("new/name.go was %q", c.From)
		}
		if c.Path == "for a moment" {
			t.Errorf("a file that came and went is a change: %v", c)
		}
	}
	end := p.look()
	p.reopen()
	if report := p.undo(1); len(report.Left) > 0 || len(report.Cannot) > 0 {
		t.Errorf("left: %v, cannot: %v", report.Left, report.Cannot)
	}
	p.same(start)
	p.oneFile("a.txt", "hard")
	p.redo(1)
	p.same(end)
	p.oneFile("run.sh", "also.sh")
	p.undo(1)
	p.same(start)
	p.oneFile("a.txt", "hard")
}

// oneFile fails the test unless both are names of one file.
func (p *project) oneFile(a, b string) {
	p.t.Helper()
	one, err := os.Stat(p.path(a))
	p.ok(err)
	two, err := os.Stat(p.path(b))
	p.ok(err)
	if !os.SameFile(one, two) {
		p.t.Errorf("%s and %s are two files", a, b)
	}
}

// An inode that is used again is no rename, nor is one empty file in the place of another.
func TestAnInodeThatIsUsedAgainIsNoRename(t *testing.T) {
	t.Parallel()
	file := func(hash string, size int64, inode uint64) State {
		return State{Kind: File, Size: size, Hash: hash, Stamp: Stamp{Inode: inode}}
	}
	old, empty := file("1111", 6, 7), file("0000", 0, 7)
	for _, c := range []struct {
		was, now State
		from     string
	}{
		{old, file("2222", 2, 7), ""}, {old, file("1111", 6, 7), "old"}, {old, file("1111", 6, 8), "old"},
		{old, file("", 9, 7), "old"}, {empty, file("0000", 0, 7), "old"}, {empty, file("0000", 0, 8), ""},
	} {
		changes := []Change{{Path: "new", After: c.now}, {Path: "old", Before: c.was}}
		if findRenames(changes); changes[0].From != c.from {
			t.Errorf("%+v was %q", c.now, changes[0].From)
		}
	}
}

// A file system gives the inode of a directory that was removed to the next new file:
// that one was not renamed.
func TestAFileIsNeverARenamedDirectory(t *testing.T) {
	t.Parallel()
	file := func(hash string) State { return State{Kind: File, Hash: hash, Size: 1, Stamp: Stamp{Inode: 5}} }
	folder := State{Kind: Folder, Stamp: Stamp{Inode: 5}}
	for _, c := range []struct {
		gone, came State
		from       string
	}{
		{folder, file("a"), ""}, {file("a"), folder, ""}, {folder, file(""), ""}, {file(""), folder, ""},
		{folder, folder, "d"}, {file("a"), file("a"), "d"}, {file("a"), file(""), "d"}, {file("a"), file("b"), ""},
	} {
		changes := []Change{{Path: "c.txt", After: c.came}, {Path: "d", Before: c.gone}}
		findRenames(changes)
		if changes[0].From != c.from {
			t.Errorf("%+v became %+v: from %q, want %q", c.gone, c.came, changes[0].From, c.from)
		}
	}
}
