//go:build unix

package journal

import (
	"os"
	"path/filepath"
	"testing"
)

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

// What lands in a file with several names is of the one name: no other changes, neither in
// content nor in mode. Undo gives it its other names back.
func TestALandingSeparatesNames(t *testing.T) {
	p, outside := linked(t)
	start, beside := p.look(), lookAt(t, outside)
	layer := p.layer(map[string]string{"one": "changed\n", "two": "2\n", "four": "changed\n"})
	report, err := p.ApplyLayer(t.Context(), 1, "run", []LayerChange{
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

// Undo of what a command did to a file under all its names does not follow it to a name
// outside of the project.
func TestUndoStaysInTheProjectWhereAFileHasAnotherNameOutside(t *testing.T) {
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
