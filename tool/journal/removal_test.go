package journal

import (
	"context"
	"testing"
)

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
