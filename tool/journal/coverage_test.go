package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func why(lacks []Lack) map[string]Reason {
	m := map[string]Reason{}
	for _, l := range lacks {
		m[l.Path] = l.Why
	}
	return m
}

func (p *project) snapshot(s *Step) map[string]Reason {
	p.t.Helper()
	c, err := s.Snapshot(context.Background())
	p.ok(err)
	return why(c)
}

func TestWhatIsNotCoveredIsListed(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"small": "s\n", "large": strings.Repeat("x", 5000), ".env": "KEY=1\n",
		"build/out": "o\n",
		".git/HEAD": "ref: refs/heads/main\n", "sub/.git/HEAD": "ref: refs/heads/main\n"})
	p.cfg.MaxFile = 4096
	p.cfg.Denied = func(path string) bool { return filepath.Base(path) == ".env" }
	p.cfg.Ignored = func(context.Context) ([]string, error) {
		return []string{"build/", "later/", "dist.log"}, nil
	}
	p.reopen()
	s := p.Begin(1, "run")
	got := p.snapshot(s)
	for path, want := range map[string]Reason{"large": TooLarge, ".env": IsDenied, "build": IsIgnored} {
		if got[path] != want {
			t.Errorf("%s: %q, not %q", path, got[path], want)
		}
	}
	for _, path := range []string{"small", ".git", ".git/HEAD", "sub/.git"} {
		if got[path] != "" {
			t.Errorf("%s is listed: %s", path, got[path])
		}
	}
	for path, content := range map[string]string{"small": "S\n", "large": "short", ".env": "KEY=2\n",
		"build/out": "O\n",
		"later/one": "1\n", ".git/HEAD": "ref: refs/heads/other\n"} {
		p.write(path, content)
	}
	changed := p.ended(s)
	expect(t, "changed", allPaths(changed.Changes), ".env", "large", "small")
	expect(t, "cannot be undone", paths(changed.Lacks), ".env", "large")
	plan := p.planned(1, false)
	expect(t, "the plan cannot", paths(plan.Cannot), ".env", "large")
	if len(plan.Restore) != 1 || plan.Restore[0].Path != "small" {
		t.Errorf("the plan restores %v", plan.Restore)
	}
	p.reopen() // Contents that were written in the background are all there now.
	for path, what := range lookAt(t, p.cfg.Dir) {
		if strings.Contains(what, "KEY=") {
			t.Errorf("%s holds what is denied", path)
		}
	}
}

func TestTheLimitOfASessionKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": strings.Repeat("a", 3000)})
	p.cfg.MaxSession = 5000
	p.reopen()
	p.edit(1, "a", strings.Repeat("b", 1000))
	s := p.Begin(2, "edit a")
	lacks, err := s.Before("a")
	p.ok(err)
	if len(lacks) > 0 {
		t.Errorf("a is kept already: %v", lacks)
	}
	p.write("a", strings.Repeat("c", 3000))
	p.ended(s)
	s = p.Begin(3, "edit a")
	lacks, err = s.Before("a")
	p.ok(err)
	if why(lacks)["a"] != NoSpace {
		t.Errorf("lacks: %v", lacks)
	}
	p.write("a", "d")
	changed := p.ended(s)
	if why(changed.Lacks)["a"] != NoSpace {
		t.Errorf("cannot be undone: %v", changed.Lacks)
	}
	plan := p.planned(3, false)
	if len(plan.Restore) != 0 || why(plan.Cannot)["a"] != NoSpace {
		t.Errorf("plan: %+v", plan)
	}
	p.write("a", strings.Repeat("c", 3000))
	p.undo(3)
	if got := p.look()["a"]; got != "-rw-r--r-- "+strings.Repeat("a", 3000) {
		t.Errorf("a is %.40q", got)
	}
}

// crowd is of files in directories that a look takes before others, as many as it takes whatever its time.
func crowd() map[string]string {
	files := map[string]string{}
	for i := range always {
		files[fmt.Sprintf("%02d/file", i)] = "1\n"
	}
	return files
}

func TestASmallProjectIsKeptWhateverTheTime(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "b/c": "1\n"})
	p.cfg.Budget = time.Nanosecond
	p.reopen()
	s := p.Begin(1, "run")
	if lacks := p.snapshot(s); len(lacks) > 0 {
		t.Errorf("lacks: %v", lacks)
	}
	p.write("b/c", "2\n")
	p.write("new", "2\n")
	expect(t, "changed", allPaths(p.ended(s).Changes), "b/c", "new")
	p.undo(1)
	p.same(map[string]string{".": "drwxr-xr-x", "a": "-rw-r--r-- 1\n", "b": "drwxr-xr-x", "b/c": "-rw-r--r-- 1\n"})
}

func TestASnapshotWithoutTimeListsWhatItDidNotKeep(t *testing.T) {
	t.Parallel()
	files := crowd()
	for _, name := range []string{"a", "b/c", "b/d/e", "f/g"} {
		files[name] = "content of " + name
	}
	p := newProject(t, files)
	p.cfg.Budget = time.Nanosecond
	p.reopen()
	s := p.Begin(1, "run")
	if got := p.snapshot(s); got["b/"] != NoTime || got["f/"] != NoTime {
		t.Errorf("lacks: %v", got)
	}
	p.write("a", "changed")
	p.ended(s)
	p.cfg.Budget = time.Minute
	p.reopen()
	changed := p.command(2, func() { p.write("b/c", "changed") })
	if len(changed.Lacks) > 0 || len(changed.Changes) != 1 {
		t.Errorf("changed: %+v", changed)
	}
}

func TestAChangeWithinTheSameTickIsSeen(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n"})
	for i := range 50 {
		info, err := os.Stat(p.path("a"))
		p.ok(err)
		want := []byte{byte('0' + i%10), '\n'}
		changed := p.command(i, func() {
			p.ok(os.WriteFile(p.path("a"), want, 0o644))
			p.ok(os.Chtimes(p.path("a"), info.ModTime(), info.ModTime()))
		})
		if string(want) != "1\n" && i > 0 && len(changed.Changes) != 1 {
			t.Fatalf("write %d was not seen", i)
		}
	}
}

func TestPathsOutsideOfTheProjectAreNotKept(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"in": "in\n", "out": "-> ../outside", "dir/real": "r\n", "alias": "-> dir",
		"to": "-> in"})
	p.ok(os.WriteFile(filepath.Join(filepath.Dir(p.root), "outside"), []byte("o\n"), 0o644))
	s := p.Begin(1, "edit")
	for path, want := range map[string]string{"../outside": string(Outside), "out": string(Outside),
		"/etc/hostname": string(Outside),
		"alias/real":    "", "to": "", "alias/new/file": ""} {
		lacks, err := s.Before(path)
		p.ok(err)
		got := ""
		if len(lacks) > 0 {
			got = string(lacks[0].Why)
		}
		if got != want {
			t.Errorf("%s: %v", path, lacks)
		}
	}
	p.write("alias/real", "changed\n")
	changed := p.ended(s)
	var all []string
	for _, c := range changed.Changes {
		all = append(all, c.Path)
	}
	if !slices.Contains(all, "dir/real") {
		t.Errorf("changed: %v", all)
	}
}

func TestWhatThereWasNoTimeToLookAtIsKeptAsItWasBefore(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*project, *Step){
		"undo": func(p *project, s *Step) {
			changed := p.ended(s)
			expect(p.t, "changed", allPaths(changed.Changes), "a", "d/b")
			p.undo(1)
		},
		"recovery": func(p *project, _ *Step) {
			p.die()
			p.reopen()
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := crowd()
			for _, path := range []string{"a", "d/b", "d/c", "d/gone", "d/theirs"} {
				files[path] = "1\n"
			}
			p := newProject(t, files)
			p.command(1, func() {})
			p.write("d/theirs", "the user's\n")
			p.ok(os.Remove(p.path("d/gone")))
			p.Journal.cfg.Budget = time.Nanosecond
			waitFor(t, p.path("d"), 2*clockSlack)
			s := p.Begin(2, "run")
			if got := p.snapshot(s); got["d/"] != Older {
				t.Errorf("lacks: %v", got)
			}
			want := p.look()
			p.write("a", "2\n")
			p.write("d/b", "2\n")
			end(p, s)
			p.same(want)
		})
	}
}

// waitFor waits until the file system's clock is so much later than the change of the file at the path.
func waitFor(t *testing.T, path string, age time.Duration) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "now")
	for {
		if err := os.WriteFile(other, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		was, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		is, err := os.Stat(other)
		if err != nil {
			t.Fatal(err)
		}
		if is.ModTime().Sub(was.ModTime()) > age {
			return
		}
	}
}

// A look at the project records only changes, however large a directory is.
func TestTheLogGrowsByWhatChanged(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	for i := range 1000 {
		p.write(fmt.Sprintf("a file with a rather long name, so that there is something to write %02d", i), "x\n")
	}
	p.command(1, func() {})
	size := func() int64 {
		info, err := os.Stat(filepath.Join(p.cfg.Dir, logName))
		p.ok(err)
		return info.Size()
	}
	waitFor(t, p.root, 2*freshFor(1))
	p.command(1, func() {})
	before := size()
	for i := range 10 {
		p.command(1, func() { p.write("a", fmt.Sprint(i)) })
	}
	p.reopen()
	p.command(2, func() { p.write("a", "b") })
	if grown := size() - before; grown > before/10 {
		t.Errorf("%d bytes, and %d more", before, grown)
	}
	p.undo(2)
	if got := p.look(); got["a"] != "" {
		t.Errorf("a is %q", got["a"])
	}
}

// linked is a project in which one, two and three are names of files that have another
// name each in a directory outside, and four has one in the project.
func linked(t *testing.T) (p *project, outside string) {
	p = newProject(t, map[string]string{"one": "1\n", "two": "2\n", "three": "3\n", "four": "4\n"})
	outside = filepath.Join(filepath.Dir(p.root), "outside")
	p.ok(os.Mkdir(outside, 0o755))
	for _, name := range []string{"one", "two", "three"} {
		p.ok(os.Link(p.path(name), filepath.Join(outside, name)))
	}
	p.ok(os.Link(p.path("four"), p.path("other")))
	return p, outside
}

// A landing in a file with several names changes one name: the others keep content and mode. Undo gives it its other
// names back.
func TestALandingSeparatesNames(t *testing.T) {
	t.Parallel()
	p, outside := linked(t)
	start, beside := p.look(), lookAt(t, outside)
	layer := p.layer(map[string]string{"one": "changed\n", "two": "2\n", "four": "changed\n"})
	report, err := p.ApplyLayer(t.Context(), 1, "run", []layerChange{
		{Path: "one", Before: p.now("one"), After: file(0o644)},
		{Path: "two", Before: p.now("two"), After: file(0o666)},
		{Path: "three", Before: p.now("three")},
		{Path: "four", Before: p.now("four"), After: file(0o644)}}, layer, Then{})
	p.ok(err)
	if len(report.Done) != 4 || len(report.Left)+len(report.Cannot) > 0 {
		t.Errorf("landed: %+v", report)
	}
	end := map[string]string{".": start["."], "one": "-rw-r--r-- changed\n", "two": "-rw-rw-rw- 2\n",
		"four": "-rw-r--r-- changed\n", "other": "-rw-r--r-- 4\n"}
	unchanged := func(when string) {
		t.Helper()
		if d := difference(lookAt(t, outside), beside); d != "" {
			t.Errorf("outside the project %s: %s", when, d)
		}
	}
	p.same(end)
	unchanged("after the landing")
	p.ok(os.WriteFile(filepath.Join(outside, "two"), []byte("theirs\n"), 0o600))
	beside["two"] = "-rw-r--r-- theirs\n"
	p.ok(os.Chmod(filepath.Join(outside, "one"), 0o600))
	beside["one"] = "-rw------- 1\n"
	if yours, err := p.Late(); len(yours) > 0 || err != nil {
		t.Errorf("saved under another name: %q, %v", yours, err)
	}
	p.reopen()
	p.undo(1)
	p.same(start)
	unchanged("after undo")
	p.oneFile("four", "other")
	p.redo(1)
	p.same(end)
	unchanged("after redo")
}

// Undo of a command's change to a file under all its names does not follow it to a name outside the project.
func TestUndoStaysInTheProjectWhereAFileHasAnotherNameOutside(t *testing.T) {
	t.Parallel()
	p, outside := linked(t)
	p.ok(os.Link(p.path("one"), p.path("uno")))
	start := p.look()
	p.command(1, func() {
		p.write("one", "changed\n")
		p.ok(os.Chmod(p.path("two"), 0o666))
		p.edit(1, "four", "changed\n")
	})
	beside := lookAt(t, outside)
	p.undo(1)
	p.same(start)
	p.oneFile("one", "uno")
	p.oneFile("four", "other")
	if d := difference(lookAt(t, outside), beside); d != "" {
		t.Errorf("outside the project: %s", d)
	}
}
