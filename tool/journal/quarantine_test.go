package journal

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"artoo/tool/needs"
)

// quarantinedNow lists the quarantine, kinds and contents, in no order.
func (p *project) quarantinedNow() (all []string) {
	p.t.Helper()
	dir := filepath.Join(p.cfg.Dir, quarantineName)
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	for path, what := range lookAt(p.t, dir) {
		if strings.Contains(path, "/") {
			all = append(all, what)
		}
	}
	return all
}

// quarantines fails the test unless the quarantine holds this, and no more.
func (p *project) quarantines(want ...string) {
	p.t.Helper()
	got := p.quarantinedNow()
	slices.Sort(got)
	slices.Sort(want)
	expect(p.t, "in quarantine", got, want...)
}

// renamed is a project whose directory d a command renames to d2; ignored files, denied ones, large ones and a
// repository lie in it.
func renamed(t *testing.T) (p *project, start map[string]string) {
	p = newProject(t, map[string]string{"d/x": "x\n", "d/.env": "KEY=1\n", "d/big": strings.Repeat("big\n", 2000),
		"d/lib/.git/HEAD": "unpushed\n", "d/lib/a": "a\n", "d/out/o": "o\n", "d/empty/": ""})
	p.cfg.MaxFile = 4096
	p.cfg.Denied = func(path string) bool { return filepath.Base(path) == ".env" }
	p.cfg.Ignored = func(context.Context) ([]string, error) { return []string{"d/out/", "d2/out/"}, nil }
	p.reopen()
	return p, p.look()
}

// P5: undo brings back the only copy of files that the journal cannot keep.
func TestARenamedDirectoryIsRenamedBack(t *testing.T) {
	t.Parallel()
	p, start := renamed(t)
	p.command(1, func() { p.ok(os.Rename(p.path("d"), p.path("d2"))) })
	end := p.look()
	p.backAndForth(start, end)
	p.quarantines()
	p.undo(1)
	p.same(start)
}

func TestARenameIsTakenBackWithWhatWasChangedThen(t *testing.T) {
	t.Parallel()
	p, start := renamed(t)
	p.command(1, func() {
		p.ok(os.Rename(p.path("d"), p.path("d2")))
		p.write("d2/x", "changed\n")
		p.write("d2/made", "made\n")
		p.ok(os.Remove(p.path("d2/lib/a")))
		p.ok(os.Rename(p.path("d2/big"), p.path("d2/bigger")))
	})
	end := p.look()
	p.backAndForth(start, end)
}

// Where the user has gone on in the new directory, files go back one by one, and those that are not artoo's stay.
func TestTheUsersFilesInARenamedDirectoryStay(t *testing.T) {
	t.Parallel()
	p, _ := renamed(t)
	p.command(1, func() { p.ok(os.Rename(p.path("d"), p.path("d2"))) })
	p.write("d2/theirs", "theirs\n")
	p.write("d2/x", "theirs\n")
	plan := p.planned(1, false)
	left := paths(plan.Left)
	if !slices.Contains(left, "d2") || !slices.Contains(left, "d2/x") {
		t.Errorf("left %v", left)
	}
	p.applied(plan)
	got := p.look()
	for path, want := range map[string]string{"d/.env": "KEY=1\n", "d/big": strings.Repeat("big\n", 2000),
		"d/lib/a": "a\n", "d2/theirs": "theirs\n", "d2/x": "theirs\n", "d/lib/.git/HEAD": "unpushed\n", "d2/out/o": "o\n"} {
		if got[path] != "-rw-r--r-- "+want {
			t.Errorf("%s is %q", path, got[path])
		}
	}
}

// New files that cannot be kept are not deleted either.
func TestWhatIsNotKeptStaysAndIsListed(t *testing.T) {
	t.Parallel()
	p, _ := renamed(t)
	p.command(1, func() {
		p.write("new/.env", "KEY=2\n")
		p.write("new/big", strings.Repeat("new\n", 2000))
		p.write("new/small", "s\n")
	})
	plan := p.planned(1, false)
	got := why(plan.Left)
	if got["new/.env"] != IsDenied || got["new/big"] != TooLarge || got["new"] != NotEmpty {
		t.Errorf("left %v", plan.Left)
	}
	p.applied(plan)
	now := p.look()
	if now["new/.env"] == "" || now["new/big"] == "" || now["new/small"] != "" {
		t.Errorf("now %v", now)
	}
	p.quarantines("-rw-r--r-- s\n")
}

// Undo touches the file that artoo left, not another one that holds the same.
func TestAnotherFileOfTheSameContentIsTheUsers(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n"})
	p.edit(1, "a", "2\n")
	p.edit(1, "new", "n\n")
	for _, path := range []string{"a", "new"} {
		data, err := os.ReadFile(p.path(path))
		p.ok(err)
		p.ok(os.WriteFile(p.path("theirs"), data, 0o644))
		p.ok(os.Rename(p.path("theirs"), p.path(path)))
	}
	plan := p.planned(1, false)
	expect(t, "left", paths(plan.Left), "a", "new")
	if len(plan.Restore) > 0 {
		t.Errorf("restored would be %v", plan.Restore)
	}
}

// bringBack undoes one step.
func (p *project) bringBack(step int) {
	p.t.Helper()
	plan, err := p.PlanStep(p.t.Context(), step)
	p.ok(err)
	_, err = p.Apply(p.t.Context(), plan)
	p.ok(err)
}

// P4: files moved out of the project can be brought back unchanged.
func TestWhatIsQuarantinedCanBeBroughtBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"clone/.git/HEAD": "unpushed\n", "clone/a": "a\n", ".envrc": "use x\n",
		"link": "-> clone", "stays": "s\n"})
	start := p.look()
	outside := filepath.Join(t.TempDir(), "outside")
	p.ok(os.WriteFile(outside, nil, 0o600))
	report, err := p.Quarantine(1, "what others run", "clone", p.path("clone/.git"), p.path(".envrc"), "link", "gone",
		outside, "../x", ".")
	p.ok(err)
	if len(report.Done) != 3 || len(report.Left) != 3 || report.Left[0].Why != Outside {
		t.Errorf("%+v", report)
	}
	end := map[string]string{".": "drwxr-xr-x", "stays": "-rw-r--r-- s\n"}
	p.same(end)
	p.quarantines("drwxr-xr-x", "drwxr-xr-x", "-rw-r--r-- unpushed\n", "-rw-r--r-- a\n", "-rw-r--r-- use x\n", "-> clone")
	p.reopen()
	if plan, err := p.Plan(t.Context(), 1, false); !errors.Is(err, ErrNothing) {
		t.Errorf("undo of the turn: %+v, %v", plan, err)
	}
	for range 2 {
		p.bringBack(report.Step)
		p.same(start)
		p.quarantines()
		p.redo(1)
		p.same(end)
	}
	p.write("clone", "theirs\n")
	plan, err := p.PlanStep(t.Context(), report.Step)
	p.ok(err)
	expect(t, "left", paths(plan.Left), "clone")
	p.applied(plan)
	if got := p.look(); got["clone"] != "-rw-r--r-- theirs\n" || got[".envrc"] == "" {
		t.Errorf("now %v", got)
	}
}

// A copy of a session can bring back files that the first one moved out.
func TestACopyHoldsWhatIsInQuarantine(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "old\n", "b": "gone\n"})
	start := p.look()
	_, err := p.apply(map[string]string{"a": "new\n"}, layerChange{Path: "a", Before: p.now("a"), After: file(0o644)},
		layerChange{Path: "b", Before: p.now("b")})
	p.ok(err)
	from := p.cfg.Dir
	p.shut()
	p.cfg.Dir = filepath.Join(filepath.Dir(from), "s2")
	p.ok(Copy(from, p.cfg.Dir))
	p.reopen()
	p.undo(1)
	p.same(start)
}

// onAnotherFileSystem makes a directory on a file system that is not the one of temporary
// files; "" where there is none.
func onAnotherFileSystem(t *testing.T) string {
	t.Helper()
	device := func(path string) uint64 {
		var st syscall.Stat_t
		if err := syscall.Stat(path, &st); err != nil {
			return 0
		}
		return uint64(st.Dev)
	}
	here := device(t.TempDir())
	for _, dir := range []string{"/dev/shm", "/var/tmp"} {
		if there := device(dir); there == 0 || there == here {
			continue
		}
		if state, err := os.MkdirTemp(dir, "artoo-test-*"); err == nil {
			t.Cleanup(func() { os.RemoveAll(state) })
			return state
		}
	}
	return ""
}

// Where the journal lies on another file system, the quarantine lies in git's directory
// or beside the project.
func TestTheQuarantineIsOnTheProjectsFileSystem(t *testing.T) {
	t.Parallel()
	state := onAnotherFileSystem(t)
	needs.True(t, "a second file system", state != "")
	for _, git := range []bool{true, false} {
		p := newProject(t, map[string]string{"a": "old\n", "gone": "gone\n"})
		if git {
			p.write(".git/HEAD", "ref: refs/heads/main\n")
		}
		p.cfg.Dir = filepath.Join(state, "s1")
		if !git {
			p.cfg.Dir = filepath.Join(state, "s2")
		}
		p.reopen()
		_, err := p.apply(map[string]string{"a": "new\n"}, layerChange{Path: "a", Before: p.now("a"), After: file(0o644)},
			layerChange{Path: "gone", Before: p.now("gone")})
		p.ok(err)
		where := filepath.Join(filepath.Dir(p.root), ".project.artoo", "s2")
		if git {
			where = p.path(".git/artoo/s1")
		}
		if held := lookAt(t, where); len(held) != 4 || held["."] != "drwx------" {
			t.Errorf("in %s lies %v", where, held)
		}
		p.reopen()
		p.undo(1)
		got := p.look()
		maps.DeleteFunc(got, func(path, _ string) bool { return strings.HasPrefix(path, ".git") })
		if d := difference(got, map[string]string{".": "drwxr-xr-x", "a": "-rw-r--r-- old\n", "gone": "-rw-r--r-- gone\n"}); d != "" {
			t.Error(d)
		}
	}
}

// Files moved away without the user's yes outlive a session that is not kept.
func TestAJournalThatHoldsWhatMayBeTheUsersStays(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{".envrc": "use x\n"})
	start, state := p.look(), t.TempDir()
	p.shut()
	p.cfg.Dir = Dir(state, p.root, Ephemeral+"1")
	p.reopen()
	report, err := p.Quarantine(1, "what others run", ".envrc")
	p.ok(err)
	p.ok(p.Close())
	p.ok(Remove(p.cfg.Dir))
	sessions, err := Sessions(state, p.root)
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%v, %v", sessions, err)
	}
	p.Journal = nil
	p.reopen()
	p.bringBack(report.Step)
	p.same(start)
	p.ok(p.Close())
	p.ok(Remove(p.cfg.Dir))
	if _, err := os.Stat(p.cfg.Dir); !os.IsNotExist(err) {
		t.Errorf("its journal is still there: %v", err)
	}
	p.Journal = nil
	p.reopen()
}
