package journal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs a test again as an ordinary user, where root runs it.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	base, err := os.MkdirTemp("/var/tmp", "artoo-ordinary-") // make keeps the files of tests where only its user can go
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	const nobody = 65534
	if err := os.Chown(base, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Dir = base
	cmd.Env = append(os.Environ(), "TMPDIR="+base)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}

// opened opens the closed paths of a project, and returns their modes.
func (p *project) opened() map[string]string {
	modes := map[string]string{}
	p.ok(filepath.WalkDir(p.root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o700 == 0o500 && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		if err == nil && info.Mode().Perm()&0o400 == 0 {
			modes[strings.TrimPrefix(path, p.root+"/")] = info.Mode().String()
			return os.Chmod(path, 0o700)
		}
		return err
	}))
	return modes
}

// Paths that a line closes to their owner are undone, and redone, with the rest.
func TestWhatIsClosedToItsOwnerIsTakenBack(t *testing.T) {
	t.Parallel()
	asNobody(t)
	large := strings.Repeat("large\n", 400_000)
	p := newProject(t, map[string]string{"a": "a\n", "notes": "n\n", "new": "old\n", "src/x": "x\n", "src/sub/y": "y\n", "large": large})
	start := p.look()
	layer := p.layer(map[string]string{"a": "A\n", "notes": "n\n", "new": "new\n", "nd/f": "f\n", "src/sub/y": "Y\n", "large": large})
	closed := func(kind Kind) State { return State{Kind: kind} }
	_, err := p.ApplyLayer(t.Context(), 1, "run", []layerChange{{Path: "a", Before: p.now("a"), After: file(0o644)},
		{Path: "notes", Before: p.now("notes"), After: closed(File)}, {Path: "new", Before: p.now("new"), After: closed(File)},
		{Path: "large", Before: p.now("large"), After: closed(File)},
		{Path: "nd", After: closed(Folder)}, {Path: "nd/f", After: closed(File)},
		{Path: "src", Before: p.now("src"), After: closed(Folder)},
		{Path: "src/sub", Before: p.now("src/sub"), After: State{Kind: Folder, Mode: 0o500}},
		{Path: "src/sub/y", Before: p.now("src/sub/y"), After: file(0o644)}}, layer, Then{})
	p.ok(err)
	t.Cleanup(func() { p.opened() })
	for range 2 {
		p.reopen()
		plan := p.planned(1, false)
		if len(plan.Left)+len(plan.Cannot) > 0 {
			t.Errorf("left: %v, cannot: %v", plan.Left, plan.Cannot)
		}
		p.applied(plan)
		p.same(start)
		p.reopen()
		p.redo(1)
	}
	modes := p.opened()
	want := map[string]string{"notes": "----------", "new": "----------", "nd": "d---------", "nd/f": "----------",
		"src": "d---------", "large": "----------"}
	if d := difference(modes, want); d != "" {
		t.Error(d)
	}
	end := p.look()
	if end["new"] != "-rwx------ new\n" || end["nd/f"] != "-rwx------ f\n" || end["src/sub/y"] != "-rw-r--r-- Y\n" {
		t.Errorf("brought back: %.300q", end)
	}
}

// Paths that a command on the project itself closes are undone, too.
func TestWhatACommandClosesIsTakenBack(t *testing.T) {
	t.Parallel()
	asNobody(t)
	p := newProject(t, map[string]string{"a": "a\n", "notes": "n\n", "src/x": "x\n"})
	start := p.look()
	p.command(1, func() {
		p.write("a", "A\n")
		p.ok(os.Chmod(p.path("notes"), 0))
		p.ok(os.Chmod(p.path("src"), 0))
	})
	t.Cleanup(func() { p.opened() })
	p.undo(1)
	p.same(start)
}
