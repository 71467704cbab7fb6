package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// die leaves the journal as a killed process does: the files are closed, and
// nothing else is done.
func (p *project) die() {
	p.t.Helper()
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.touching != nil {
		p.touching.Stop()
	}
	p.ok(p.files.close())
	p.Journal = nil
}

func TestTheNextArtooTakesBackWhatWasCutOff(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"b": "1\n"})
	start := p.look()
	state := t.TempDir()
	for _, id := range []string{"one", "three", "two"} {
		p.cfg.Dir = Dir(state, p.root, id)
		p.reopen()
		p.edit(1, "file of "+id, id+"\n")
		if id == "two" {
			s := p.Begin(2, "run")
			p.snapshot(s)
			p.write("b", "half done\n")
			p.die()
		}
	}
	sessions, err := Sessions(state, p.root)
	p.ok(err)
	got := map[string]Session{}
	for _, s := range sessions {
		got[s.ID] = s
		if len(s.Turns) != 1 || s.Turns[0].Paths != 1 || s.Turns[0].Steps[0].What != "edit file of "+s.ID {
			t.Errorf("the turns of %s: %+v", s.ID, s.Turns)
		}
	}
	if sessions[0].ID != "two" || got["three"].Unfinished || got["two"].InUse || !got["two"].Unfinished ||
		got["one"].Unfinished {
		t.Errorf("sessions: %+v", sessions)
	}
	reports, err := Recover(state, Config{Root: p.root})
	p.ok(err)
	if len(reports) != 1 || len(reports[0].Done) != 1 || reports[0].Done[0].Path != "b" {
		t.Errorf("recovered: %+v", reports)
	}
	if reports, err = Recover(state, Config{Root: p.root}); err != nil || len(reports) > 0 {
		t.Errorf("a second time: %+v, %v", reports, err)
	}
	for _, id := range []string{"two", "three", "one"} {
		p.cfg.Dir = Dir(state, p.root, id)
		p.reopen()
		p.undo(1)
	}
	if sessions, err = Sessions(state, p.root); err != nil || sessions[0].ID != "one" || !sessions[0].InUse ||
		sessions[1].InUse {
		t.Errorf("while one is open: %+v, %v", sessions, err)
	}
	p.same(start)
	if none, err := Sessions(state, filepath.Dir(p.root)); err != nil || len(none) > 0 {
		t.Errorf("of another project: %v, %v", none, err)
	}
}

// A coding CLI works for long, and the user beside it: a kill takes nothing away.
func TestARunThatWasCutOffStaysUntilItIsUndone(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"})
	start := p.look()
	s := p.BeginRun(1, "claude-cli")
	p.snapshot(s)
	p.write("a", "done\n")
	p.write("new", "done\n")
	p.ok(os.Rename(p.path("b"), p.path("moved")))
	done := p.look()
	p.die()
	p.reopen()
	p.same(done)
	recovered := p.Recovered()
	if len(recovered) != 1 || !recovered[0].Kept || len(recovered[0].Left)+len(recovered[0].Cannot) > 0 {
		t.Errorf("recovered: %+v", recovered)
	}
	p.reopen()
	if again := p.Recovered(); len(again) > 0 {
		t.Errorf("a second time: %+v", again)
	}
	p.undo(1)
	p.same(start)
	p.redo(1)
	p.same(done)
}

func TestWhatTheUserDidAfterAKillIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"})
	s := p.Begin(1, "run")
	p.snapshot(s)
	p.write("a", "cut off\n")
	p.die()
	// The user goes on an hour later: the log is that old.
	old := time.Now().Add(-time.Hour)
	p.ok(os.Chtimes(filepath.Join(p.cfg.Dir, logName), old, old))
	p.write("b", "the user's\n")
	p.reopen()
	recovered := p.Recovered()
	if len(recovered) != 1 {
		t.Fatalf("recovered: %+v", recovered)
	}
	expect(t, "left alone", paths(recovered[0].Left), "a", "b") // both are younger than the log
	if got := p.look()["b"]; got != "-rw-r--r-- the user's\n" {
		t.Errorf("b is %q", got)
	}
}

func TestTheLogIsTouchedWhileAStepIsOpen(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n"})
	s := p.Begin(1, "run")
	p.snapshot(s)
	log := filepath.Join(p.cfg.Dir, logName)
	old := time.Now().Add(-time.Hour)
	p.ok(os.Chtimes(log, old, old))
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		info, err := os.Stat(log)
		p.ok(err)
		if info.ModTime().After(old) {
			tick.Stop()
			break
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("there was none for a minute")
		}
	}
	p.ended(s)
}

func TestTheDiffOfATurnIsKept(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n"})
	p.edit(1, "a", "2\n")
	p.edit(1, "a", "3\n")
	p.edit(2, "a", "4\n")
	p.edit(2, "b", "new\n")
	p.write("a", "the user's\n")
	check := func(changes []Change, want ...string) {
		t.Helper()
		var got []string
		for _, c := range changes {
			before, err := p.Content(c.Path, c.Before)
			p.ok(err)
			after, err := p.Content(c.Path, c.After)
			p.ok(err)
			got = append(got, c.Path+": "+string(before)+string(after))
		}
		expect(t, "diff", got, want...)
	}
	check(p.Diff(1), "a: 1\n3\n")
	check(p.Diff(2), "a: 3\n4\n", "b: new\n")
	check(p.Diff(), "a: 1\n4\n", "b: new\n")
	p.undo(1)
	check(p.Diff(), "a: 1\n3\n")
}

// A content that is not kept is that of the project's file, as long as it is the one of then.
func TestAContentThatIsNotKeptIsTheFilesIfItIsTheSame(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	p.cfg.MaxSession = 3
	p.cfg.Denied = func(path string) bool { return path == "denied" }
	p.reopen()
	made := p.command(1, func() { p.write("a", "artoo's\n"); p.write("denied", "key\n") })
	if len(made.Changes) != 2 {
		t.Fatalf("made: %+v", made)
	}
	is, denied := made.Changes[0].After, made.Changes[1].After
	if data, err := p.Content("a", is); err != nil || string(data) != "artoo's\n" {
		t.Errorf("as it was: %q, %v", data, err)
	}
	if data, err := p.Content("denied", denied); err == nil {
		t.Errorf("a denied file: %q", data)
	}
	p.write("a", "user's.\n")
	if data, err := p.Content("a", is); err == nil {
		t.Errorf("another content of the same size: %q", data)
	}
}

// The unfinished step of a session that is not kept is undone, and then its journal is gone; that of a running one
// stays.
func TestAnEphemeralJournalIsGoneOnceItsStepIsTakenBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"b": "1\n"})
	start, state := p.look(), t.TempDir()
	p.cfg.Dir = Dir(state, p.root, Ephemeral+"1")
	p.reopen()
	s := p.Begin(1, "edit b")
	_, err := s.Before("b")
	p.ok(err)
	p.write("b", "half done\n")
	p.die()
	over := Dir(state, p.root, Ephemeral+"2")
	p.cfg.Dir = over
	p.reopen()
	p.edit(1, "c", "c\n")
	p.ok(os.Remove(p.path("c")))
	sessions, err := Sessions(state, p.root)
	if err != nil || len(sessions) != 0 {
		t.Errorf("listed are %v, %v", sessions, err)
	}
	reports, err := Recover(state, Config{Root: p.root})
	if err != nil || len(reports) != 1 {
		t.Errorf("%v, %v", reports, err)
	}
	if d := difference(p.look(), start); d != "" {
		t.Error(d)
	}
	if _, err := os.Stat(filepath.Join(over, logName)); err != nil {
		t.Errorf("the journal of a running artoo is gone: %v", err)
	}
	p.die()
	if _, err := Recover(state, Config{Root: p.root}); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(over)); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	p.reopen()
}

// Two artoos in one project: each treats the other's later changes of a file as the user's.
func TestUndoLeavesAloneWhatAnotherArtooChanged(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"both": "1\n", "mine": "1\n"})
	other, err := Open(Config{Dir: filepath.Join(t.TempDir(), "s2"), Root: p.root})
	p.ok(err)
	defer other.Close()
	p.edit(1, "both", "2\n")
	p.edit(1, "mine", "2\n")
	s := other.Begin(1, "edit both")
	_, err = s.Before("both")
	p.ok(err)
	p.write("both", "3\n")
	p.ended(s)
	plan := p.planned(1, false)
	if len(plan.Restore) != 1 || plan.Restore[0].Path != "mine" || len(plan.Left) != 1 ||
		plan.Left[0].Path != "both" || plan.Left[0].Why != ChangedSince {
		t.Errorf("restored would be %v, left %v", plan.Restore, plan.Left)
	}
	if plan, err = other.Plan(context.Background(), 1, false); err != nil || len(plan.Restore) != 1 || len(plan.Left) != 0 {
		t.Errorf("the other would restore %v, leave %v, %v", plan.Restore, plan.Left, err)
	}
	_, err = other.Apply(context.Background(), plan)
	p.ok(err)
	// The file then has the same content, but is another file.
	if plan, err = p.Plan(context.Background(), 1, false); err != nil || len(plan.Restore) != 1 || len(plan.Left) != 1 {
		t.Errorf("then restored would be %v, left %v, %v", plan.Restore, plan.Left, err)
	}
}

// A session that is a copy of another can undo earlier changes, and its later ones are its own.
func TestACopyTakesBackWhatItsSourceChanged(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	start := p.look()
	p.edit(1, "a", "new\n")
	from, to := p.cfg.Dir, p.cfg.Dir+"2"
	if err := Copy(from, to); !errors.Is(err, ErrInUse) {
		t.Errorf("a journal in use was copied: %v", err)
	}
	p.ok(errors.Join(p.Close(), Copy(from, to), Copy(from+"3", from+"4")))
	p.Journal = nil
	p.cfg.Dir = to
	p.reopen()
	p.undo(1)
	p.same(start)
	p.cfg.Dir = from
	p.reopen()
	if turns := p.Turns(); len(turns) != 1 {
		t.Errorf("the source knows of turns %v", turns)
	}
}
