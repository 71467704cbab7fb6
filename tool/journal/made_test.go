package journal

import (
	"context"
	"testing"
)

// What a command made and nobody has approved is moved away after a kill, as long as it
// is what it was then; what was settled stays.
func TestWhatNobodyApprovedIsQuarantinedAfterAKill(t *testing.T) {
	p := newProject(t, map[string]string{"mine": "1", "hooks/user": "the user's"})
	p.write(".envrc", "use x")
	p.write("hooks/made/a", "a")
	p.write("hooks/made/link", "-> a")
	p.write(".npmrc", "kept")
	p.write(".yarnrc", "as it was made")
	_, err := p.Made(1, "what others run", p.path(".envrc"), "hooks/made", ".yarnrc", "gone", t.TempDir())
	p.ok(err)
	settled, err := p.Made(1, "what others run", ".npmrc")
	p.ok(err)
	p.ok(settled.Drop())
	p.write(".yarnrc", "changed by the user")
	p.reopen()
	want := newProject(t, map[string]string{"mine": "1", "hooks/user": "the user's", ".npmrc": "kept",
		".yarnrc": "changed by the user"})
	if d := difference(p.look(), want.look()); d != "" {
		t.Error(d)
	}
	reports := p.Recovered()
	if len(reports) != 1 || len(reports[0].Done) != 2 || len(reports[0].Left) != 1 || reports[0].Left[0].Path != ".yarnrc" {
		t.Errorf("reported %+v", reports)
	}
	p.quarantines("-rw-r--r-- use x", "drwxr-xr-x", "-rw-r--r-- a", "-> a")
	p.reopen()
	if len(p.Recovered()) != 0 || len(p.Turns()) != 0 {
		t.Errorf("once more: %+v; turns %v", p.Recovered(), p.Turns())
	}
}

// A command that was cut off: what others run and was not there before goes, though
// git ignores it.
func TestWhatOthersRunIsTakenBackThoughItIsIgnored(t *testing.T) {
	p := newProject(t, map[string]string{"a": "1", ".npmrc": "there before"})
	p.cfg.Ignored = func(context.Context) ([]string, error) { return []string{".envrc", ".vscode/", ".npmrc", "out"}, nil }
	p.cfg.Appeared = func(before []string) ([]string, error) {
		if len(before) != 1 || before[0] != p.path(".npmrc") {
			t.Errorf("before there was %q", before)
		}
		return []string{p.path(".envrc"), p.path(".vscode")}, nil
	}
	p.reopen()
	before := p.look()
	s := p.Begin(1, "run")
	_, err := s.Snapshot(t.Context())
	p.ok(err)
	p.ok(s.Others([]string{p.path(".npmrc")}))
	p.write("a", "2")
	p.write(".envrc", "use x")
	p.write(".vscode/tasks.json", "{}")
	p.reopen()
	if d := difference(p.look(), before); d != "" {
		t.Error(d)
	}
	s = p.Begin(1, "run")
	_, err = s.Snapshot(t.Context())
	p.ok(err)
	_, err = s.End()
	p.ok(err)
	p.ok(s.Others([]string{p.path(".npmrc")})) // it is over: nothing is noted
	p.write(".envrc", "the user's")
	p.reopen()
	if p.look()[".envrc"] == "" {
		t.Error("what the user made after the command is gone")
	}
}

// What a command made and the user keeps is taken back by undo, though git ignores it; what
// was moved away first, too.
func TestWhatTheUserKeepsIsTakenBack(t *testing.T) {
	p := newProject(t, map[string]string{"a": "1"})
	p.cfg.Ignored = func(context.Context) ([]string, error) { return []string{"build/"}, nil }
	p.reopen()
	start := p.look()
	p.command(1, func() {
		p.write("build/.vscode/tasks.json", "{}")
		p.write("build/.envrc", "e")
	})
	end := p.look()
	report, err := p.Quarantine(1, "what others run", "build/.envrc")
	p.ok(err)
	p.bringBack(report.Step)
	p.ok(p.Approved(1, "what others run", p.path("build/.envrc"), "build/.vscode", "gone", t.TempDir()))
	p.same(end)
	p.reopen()
	p.undo(1)
	start["build"] = "drwxr-xr-x"
	p.same(start)
	p.redo(1)
	p.same(end)
}
