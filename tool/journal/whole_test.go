//go:build unix

package journal

import (
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// installed is a layer with a new directory, and the changes that name all in it.
func (p *project) installed() (upper, []layerChange) {
	p.t.Helper()
	dir := p.layer(map[string]string{"new/f": "f\n", "new/sub/g": "g\n", "new/sub/deep/h": "h\n"})
	p.ok(os.Symlink("f", dir.Path("new/link")))
	folder := func(mode os.FileMode) State { return State{Kind: Folder, Mode: mode} }
	var changes []layerChange
	for _, one := range []struct {
		path  string
		after State
	}{{"new", folder(0o755)}, {"new/f", file(0o755)}, {"new/link", State{Kind: Link, Target: "f"}},
		{"new/sub", folder(0o555)}, {"new/sub/deep", folder(0o700)}, {"new/sub/deep/h", file(0o400)},
		{"new/sub/g", file(0o644)}} {
		changes = append(changes, layerChange{Path: one.path, Output: "new", After: one.after})
	}
	return dir, changes
}

// whole is such a directory in the project.
func whole() map[string]string {
	return map[string]string{".": "drwxr-xr-x", "new": "drwxr-xr-x", "new/f": "-rwxr-xr-x f\n",
		"new/link": "-> f", "new/sub": "dr-xr-xr-x", "new/sub/g": "-rw-r--r-- g\n",
		"new/sub/deep": "drwx------", "new/sub/deep/h": "-r-------- h\n"}
}

// inodeOf is the inode of a file, directory or link.
func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	st, err := lstatPath(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.inode
}

// A directory that the project lacks comes out of the layer by one rename, without the layer's attributes. The journal
// names all that it holds, so that undo takes back each file by itself.
func TestANewDirectoryLandsWhole(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	start := p.look()
	dir, changes := p.installed()
	for _, path := range []string{"new", "new/sub"} {
		if err := unix.Setxattr(dir.Path(path), "user.artoo", []byte("x"), 0); err != nil {
			t.Log("without attributes: ", err)
		}
	}
	inodes := map[string]uint64{}
	for _, c := range changes {
		inodes[c.Path] = inodeOf(t, dir.Path(c.Path))
	}
	report, err := p.ApplyLayer(t.Context(), 1, "run", changes, dir, Then{})
	p.ok(err)
	if len(report.Done) != len(changes) || len(report.Left)+len(report.Cannot) > 0 {
		t.Errorf("applied: %+v", report)
	}
	p.same(whole())
	for path, inode := range inodes {
		if inodeOf(t, p.path(path)) != inode {
			t.Errorf("%s is another one than the layer's", path)
		}
		if n, err := unix.Llistxattr(p.path(path), nil); err == nil && n > 0 {
			t.Errorf("%s has attributes", path)
		}
	}
	if used := p.quarantine.used(); used != 0 {
		t.Errorf("the quarantine counts %d bytes", used)
	}
	p.undo(1)
	p.same(start)
	p.redo(1)
	p.same(whole())
	p.write("new/sub/deep/mine", "mine\n")
	p.undo(1)
	p.same(map[string]string{".": "drwxr-xr-x", "new": "drwxr-xr-x", "new/sub": "dr-xr-xr-x",
		"new/sub/deep": "drwx------", "new/sub/deep/mine": "-rw-r--r-- mine\n"})
}

// A directory that holds more than lands, or what cannot be renamed, is not renamed itself; those beside it are.
func TestADirectoryWithMoreThanLandsIsNotRenamed(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]func(p *project, dir upper, changes *[]layerChange){
		"a hidden file": func(p *project, dir upper, _ *[]layerChange) {
			p.ok(write(dir.Path("new/sub/.env"), "key\n"))
		},
		"a hidden link": func(p *project, dir upper, _ *[]layerChange) {
			p.ok(os.Symlink("/etc", dir.Path("new/sub/etc")))
		},
		"a directory": func(p *project, dir upper, _ *[]layerChange) {
			p.ok(write(dir.Path("new/sub/cache/x"), "x\n"))
		},
		"another name of a file": func(p *project, dir upper, _ *[]layerChange) {
			p.ok(os.Link(dir.Path("new/sub/g"), dir.Path("elsewhere")))
		},
		"a pipe, of which the journal knows": func(p *project, dir upper, changes *[]layerChange) {
			p.ok(unix.Mkfifo(dir.Path("new/sub/pipe"), 0o600))
			*changes = append(*changes, layerChange{Path: "new/sub/pipe", After: State{Kind: Special}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, nil)
			start := p.look()
			dir, changes := p.installed()
			more(p, dir, &changes)
			made, deep := inodeOf(t, dir.Path("new")), inodeOf(t, dir.Path("new/sub/deep"))
			_, err := p.ApplyLayer(t.Context(), 1, "run", changes, dir, Then{})
			p.ok(err)
			p.same(whole())
			if inodeOf(t, p.path("new")) == made {
				t.Error("the layer's directory is in the project")
			}
			if inodeOf(t, p.path("new/sub/deep")) != deep {
				t.Error("the directory beside it is not the layer's")
			}
			p.undo(1)
			p.same(start)
		})
	}
}

// What appears in the project while a layer lands stays, and so does what its user adds to a directory that came.
func TestADirectoryThatAppearedMeanwhileStays(t *testing.T) {
	t.Parallel()
	for point := 1; ; point++ {
		p := newProject(t, nil)
		p.ok(p.ready())
		dir, changes := p.installed()
		n, added := 0, ""
		p.Journal.at = func(string) error {
			if n++; n != point {
				return nil
			}
			for _, path := range []string{"new/sub/deep/mine", "new/mine"} {
				if f, err := os.OpenFile(p.path(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
					added = path
					return f.Close()
				}
			}
			added = "new/f"
			return write(p.path("new/f"), "mine\n")
		}
		do := func(context.Context) error { return p.Journal.at("do") }
		_, err := p.ApplyLayer(t.Context(), 1, "run", changes, dir, Then{Do: do})
		if n < point {
			break
		}
		p.Journal.at = func(string) error { return nil }
		mine, readErr := os.ReadFile(p.path(added))
		if readErr != nil || added == "new/f" && string(mine) != "mine\n" {
			t.Errorf("at point %d: %s holds %q: %v, %v", point, added, mine, readErr, err)
		}
		if added == "new/f" && !errors.Is(err, ErrConflict) || added != "new/f" && err != nil {
			t.Errorf("at point %d, with %s: %v", point, added, err)
		}
	}
}
