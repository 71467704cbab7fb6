package journal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sourcegraph/conc/panics"
)

// A crash in a goroutine of the journal's is one of the call that waits for it, and the
// next one finds the journal as it was.
func TestACrashOfAWorkerIsTheCallersCrash(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("d%d/e/f", i)] = fmt.Sprintln(i)
	}
	for _, place := range []string{"the look at a directory", "the keeping of a content", "the question what git ignores"} {
		t.Run(place, func(t *testing.T) {
			p := newProject(t, files)
			planted := true
			crash := func(at string) {
				if planted && place == at {
					panic("planted")
				}
			}
			p.cfg.Denied = func(path string) bool {
				if filepath.Dir(path) == "d7/e" {
					crash("the look at a directory")
				}
				return false
			}
			p.cfg.Ignored = func(context.Context) ([]string, error) {
				crash("the question what git ignores")
				return nil, nil
			}
			p.ok(p.Close())
			j, err := open(p.cfg, func(point string) error {
				if point == "object" {
					crash("the keeping of a content")
				}
				return nil
			})
			p.ok(err)
			p.Journal = j
			s := p.Begin(1, "run")
			crashed := panics.Try(func() { _, err = s.Snapshot(t.Context()) })
			if crashed == nil || fmt.Sprint(crashed.Value.(*panics.Recovered).Value) != "planted" {
				t.Fatalf("%v, and %v", crashed, err)
			}
			planted = false
			p.ended(s)
			before := p.look()
			p.command(2, func() { p.write("d7/e/f", "changed\n") })
			p.undo(1)
			p.same(before)
		})
	}
}

// A tool must not write files that could not be kept, since no undo would bring it back.
func TestNothingIsWrittenWhereTheOldStateCannotBeKept(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"object", "log"} {
		p := newProject(t, map[string]string{"a": "before\n"})
		p.ok(p.Close())
		full := false
		j, err := open(p.cfg, func(point string) error {
			if full && point == kind {
				return syscall.ENOSPC
			}
			return nil
		})
		p.ok(err)
		p.Journal = j
		s := p.Begin(1, "edit")
		full = true
		if lacks, err := s.Before("a"); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("full at a write of kind %s: %v, %v", kind, lacks, err)
		}
		full = false
	}
}

// Files that a command made and the user keeps are undone, though git ignores them; also those that were moved away
// first.
func TestWhatTheUserKeepsIsTakenBack(t *testing.T) {
	t.Parallel()
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
