package journal

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

func paths(lacks []Lack) (all []string) {
	for _, l := range lacks {
		all = append(all, l.Path)
	}
	return all
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, not %q", what, got, want)
	}
}

func TestWhatTheUserChangedSinceIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "a\n", "b": "b\n", "c": "c\n", "d/x": "x\n"})
	p.command(1, func() {
		p.write("a", "A\n")
		p.write("b", "B\n")
		p.ok(os.Remove(p.path("c")))
		p.write("made/one", "1\n")
		p.ok(os.RemoveAll(p.path("d")))
	})
	p.write("b", "the user's\n")
	p.write("c", "the user's\n")
	p.write("made/theirs", "the user's\n")
	p.write("d", "the user's file\n")
	plan := p.planned(1, false)
	expect(t, "left alone", paths(plan.Left), "b", "c", "d", "d/x", "made")
	report := p.applied(plan)
	if len(report.Left) > 0 {
		t.Errorf("left by Apply: %v", report.Left)
	}
	p.same(map[string]string{".": "drwxr-xr-x", "a": "-rw-r--r-- a\n", "b": "-rw-r--r-- the user's\n",
		"c": "-rw-r--r-- the user's\n", "d": "-rw-r--r-- the user's file\n", "made": "drwxr-xr-x",
		"made/theirs": "-rw-r--r-- the user's\n"})
}

func TestAnEditBetweenTwoStepsStopsAtTheUsers(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n"})
	p.edit(1, "a", "2\n")
	p.write("a", "the user's\n")
	p.edit(2, "a", "3\n")
	plan := p.planned(2, false)
	expect(t, "left alone", paths(plan.Left), "a")
	p.applied(plan)
	if got := p.look()["a"]; !strings.HasSuffix(got, "the user's\n") {
		t.Errorf("a is %q", got)
	}
}

func TestWhatTheUserTookBackThemselvesIsNoConflict(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "b": "1\n"})
	start := p.look()
	p.edit(1, "a", "2\n")
	p.edit(1, "b", "2\n")
	p.write("a", "1\n")
	plan := p.planned(1, false)
	if len(plan.Left) > 0 || len(plan.Restore) != 1 {
		t.Errorf("left %v, restore %v", plan.Left, plan.Restore)
	}
	p.applied(plan)
	p.same(start)
}

func TestAFileThatChangesBetweenPlanAndApplyIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "b": "1\n"})
	p.edit(1, "a", "2\n")
	p.edit(1, "b", "2\n")
	plan := p.planned(1, false)
	p.write("a", "the user's\n")
	report := p.applied(plan)
	expect(t, "left", paths(report.Left), "a")
	if got := p.look(); !strings.HasSuffix(got["a"], "the user's\n") || !strings.HasSuffix(got["b"], " 1\n") {
		t.Errorf("now: %q", got)
	}
}

func TestAPlanIsStaleOnceSomethingElseWasRecorded(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n"})
	p.edit(1, "a", "2\n")
	plan := p.planned(1, false)
	p.edit(2, "a", "3\n")
	if _, err := p.Apply(context.Background(), plan); !errors.Is(err, ErrStale) {
		t.Errorf("the error is %v", err)
	}
}

func TestNothingIsBroughtBackOverANewChange(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n"})
	p.edit(1, "a", "2\n")
	p.undo(1)
	p.edit(2, "b", "new\n")
	if _, err := p.Plan(context.Background(), 1, true); !errors.Is(err, ErrNothing) {
		t.Errorf("the error is %v", err)
	}
}

func TestUndoCountsTurnsThatChangedSomething(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n"})
	p.edit(1, "a", "2\n")
	p.edit(1, "b", "b\n")
	p.command(2, func() {})
	p.edit(3, "c", "c\n")
	plan := p.planned(2, false)
	if !slices.Equal(plan.Turns, []int{3, 1}) || len(plan.Steps) != 3 {
		t.Errorf("turns %v, steps %v", plan.Turns, plan.Steps)
	}
	if got := p.Turns(); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("turns that changed something: %v", got)
	}
}

func TestAMovedHeadIsInThePlan(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n"})
	head, busy := "main 1111", ""
	p.cfg.Head = func() (string, string) { return head, busy }
	p.reopen()
	p.edit(1, "a", "2\n")
	plan := p.planned(1, false)
	if plan.HeadMoved || plan.Busy != "" {
		t.Errorf("plan: %+v", plan)
	}
	head, busy = "main 2222", "rebase"
	p.reopen()
	plan = p.planned(1, false)
	if !plan.HeadMoved || plan.Busy != "rebase" {
		t.Errorf("plan: %+v", plan)
	}
}

func TestAToolsOwnPathsAreNotTakenForTheCommands(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "b": "1\n"})
	start := p.look()
	command := p.Begin(1, "run")
	p.snapshot(command)
	p.write("b", "the command's\n")
	tool := p.Begin(1, "edit a")
	_, err := tool.Before("a")
	p.ok(err)
	p.write("a", "the tool's\n")
	ran := p.ended(command)
	if len(ran.Changes) != 1 || ran.Changes[0].Path != "b" {
		t.Errorf("the command changed %v", ran.Changes)
	}
	p.ended(tool)
	p.undo(1)
	p.same(start)
}

func TestCommandsThatOverlapAreTakenBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "b": "1\n"})
	start := p.look()
	one, two := p.Begin(1, "one"), p.Begin(1, "two")
	p.snapshot(one)
	p.write("a", "2\n")
	p.snapshot(two)
	p.write("a", "3\n")
	p.write("b", "2\n")
	p.ended(one)
	p.write("a", "4\n")
	p.ended(two)
	p.undo(1)
	p.same(start)
}

func TestARenameThatChangesOnlyTheCaseIsTakenBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"README": "r\n", "Dir/x": "x\n"})
	start := p.look()
	s := p.Begin(1, "rename")
	_, err := s.Before("README", "Readme")
	p.ok(err)
	p.ok(os.Rename(p.path("README"), p.path("Readme")))
	p.ended(s)
	p.command(2, func() { p.ok(os.Rename(p.path("Dir"), p.path("dir"))) })
	end := p.look()
	p.undo(2)
	p.same(start)
	p.redo(1)
	p.same(end)
}

func TestADirectoryThatMayNotBeWrittenToIsRestored(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"d/x": "x\n", "d/y": "y\n", "d/sub/z": "z\n", "open/x": "x\n"})
	lock := func(mode os.FileMode) {
		for _, dir := range []string{"d/sub", "d"} {
			p.ok(os.Chmod(p.path(dir), mode))
		}
	}
	p.ok(os.Chmod(p.path("d/sub"), 0o500))
	p.ok(os.Chmod(p.path("d"), 0o555))
	t.Cleanup(func() { lock(0o755) })
	start := p.look()
	p.command(1, func() {
		p.ok(os.Chmod(p.path("d"), 0o755))
		p.ok(os.Chmod(p.path("d/sub"), 0o755))
		p.write("d/x", "X\n")
		p.ok(os.Remove(p.path("d/y")))
		p.ok(os.RemoveAll(p.path("d/sub")))
		p.write("open/x", "X\n")
		p.ok(os.Chmod(p.path("d"), 0o555))
		p.ok(os.Chmod(p.path("open"), 0o500))
	})
	end := p.look()
	p.backAndForth(start, end)
	p.undo(1)
	p.same(start)
}
