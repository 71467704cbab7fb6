//go:build unix

package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// besideAndElsewhere are directories outside a project: beside it, and on another file system
// where there is one.
func (p *project) besideAndElsewhere() map[string]string {
	p.t.Helper()
	dirs := map[string]string{"beside": filepath.Join(filepath.Dir(p.root), "added")}
	p.ok(os.Mkdir(dirs["beside"], 0o755))
	if dir, err := os.MkdirTemp("/dev/shm", "added-"); err == nil {
		p.t.Cleanup(func() { os.RemoveAll(dir) })
		dirs["elsewhere"] = dir
	}
	return dirs
}

// Files that land outside the project belong to the same step: they land with the rest or not at all, keep their times,
// and undo reverts them, also in a later session.
func TestWhatLandsInAnAddedDirectoryIsOfTheStep(t *testing.T) {
	t.Parallel()
	written := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	for where := range newProject(t, nil).besideAndElsewhere() {
		t.Run(where, func(t *testing.T) {
			p := newProject(t, map[string]string{"a": "a\n"})
			dir := p.besideAndElsewhere()[where]
			for path, content := range map[string]string{"old": "old\n", "gone": "gone\n", "d/x": "x\n"} {
				p.ok(write(filepath.Join(dir, path), content))
			}
			look := func() map[string]string {
				all := p.look()
				for path, what := range lookAt(t, dir) {
					all["added:"+path] = what
				}
				return all
			}
			same := func(when string, want map[string]string) {
				t.Helper()
				if d := difference(look(), want); d != "" {
					t.Errorf("%s: %s", when, d)
				}
			}
			start := look()
			p.place.add(dir)
			in := func(path string, after State) layerChange {
				path = filepath.Join(dir, path)
				return layerChange{Path: path, Dir: dir, Before: p.now(path), After: after}
			}
			changes := []layerChange{{Path: "a", Before: p.now("a"), After: file(0o644)}, in("old", file(0o600)),
				in("gone", State{}), in("d/x", State{}), in("d", State{}), in("new", State{Kind: Folder, Mode: 0o700}),
				in("new/f", file(0o755)), in("link", State{Kind: Link, Target: "old"})}
			layer := p.layer(map[string]string{"a": "A\n", filepath.Join(dir, "old"): "OLD\n", filepath.Join(dir, "new/f"): "f\n"})
			p.ok(os.Chtimes(layer.Path(filepath.Join(dir, "old")), written, written))
			p.reopen()
			p.ok(os.WriteFile(filepath.Join(dir, "gone"), []byte("theirs\n"), 0o644))
			if _, err := p.ApplyLayer(t.Context(), 1, "run", changes, layer, Then{}); !errors.Is(err, ErrConflict) {
				t.Errorf("over a change of the user's: %v", err)
			}
			p.ok(os.WriteFile(filepath.Join(dir, "gone"), []byte("gone\n"), 0o644))
			same("after a conflict", start)
			changes[2].Before = p.now(filepath.Join(dir, "gone"))
			report, err := p.ApplyLayer(t.Context(), 1, "run", changes, layer, Then{})
			p.ok(err)
			if len(report.Done) != len(changes) || len(report.Left)+len(report.Cannot) > 0 {
				t.Errorf("landed: %+v", report)
			}
			end := look()
			if end["added:old"] != "-rw------- OLD\n" || end["added:new/f"] != "-rwxr-xr-x f\n" || end["added:gone"] != "" ||
				end["added:link"] != "-> old" || end["a"] != "-rw-r--r-- A\n" {
				t.Errorf("landed: %q", end)
			}
			if info, err := os.Stat(filepath.Join(dir, "old")); err != nil || !info.ModTime().Equal(written) {
				t.Errorf("the time of the new one is %v, %v", info.ModTime(), err)
			}
			p.reopen()
			p.undo(1)
			same("undone", start)
			p.reopen()
			p.redo(1)
			same("redone", end)
		})
	}
}

// A tool's writes in such a directory, and those of a step that follows a landing, are kept: undo reverts them, in a
// session that knows the directory from the journal alone.
func TestWhatIsWrittenInAnAddedDirectoryIsTakenBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "a\n"})
	dir := p.besideAndElsewhere()["beside"]
	p.ok(write(filepath.Join(dir, "refs/main"), "1\n"))
	p.write("link", "-> ../added/refs/main")
	p.cfg.Added = []string{dir}
	p.reopen()
	start, before := p.look(), lookAt(t, dir)
	step := p.Begin(1, "write")
	lacks, err := step.Before(filepath.Join(dir, "new/file"), p.path("link"))
	p.ok(err)
	p.ok(errors.Join(write(filepath.Join(dir, "new/file"), "new\n"), write(filepath.Join(dir, "refs/main"), "2\n")))
	changed := p.ended(step)
	if len(lacks)+len(changed.Lacks) > 0 || len(changed.Changes) != 3 {
		t.Errorf("not kept: %v; changed: %+v", lacks, changed)
	}
	ref := filepath.Join(dir, "refs/main")
	report, err := p.ApplyLayer(t.Context(), 1, "commit", []layerChange{{Path: "a", Before: p.now("a"), After: file(0o644)}},
		p.layer(map[string]string{"a": "A\n"}), Then{Paths: []string{ref, ref + ".lock"},
			Do: func(context.Context) error { return write(ref, "3\n") }})
	p.ok(err)
	if len(report.Cannot) > 0 {
		t.Errorf("cannot be undone: %v", report.Cannot)
	}
	end, after := p.look(), lookAt(t, dir)
	p.cfg.Added = nil
	p.reopen()
	p.undo(1)
	p.same(start)
	if d := difference(lookAt(t, dir), before); d != "" {
		t.Errorf("after undo: %s", d)
	}
	p.redo(1)
	p.same(end)
	if d := difference(lookAt(t, dir), after); d != "" {
		t.Errorf("after redo: %s", d)
	}
}
