package agent

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"artoo/agent/permission"
	"artoo/tool/names"
	"artoo/tool/repo"
	"artoo/tool/sandbox"
)

// openHidden opens a hidden file of the project, and notes what it is before the landing.
func (g *gitEffects) openHidden(path string) (io.ReadCloser, fs.FileMode, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, 0, err
	}
	var st unix.Stat_t
	info, err := f.Stat()
	if err = cmp.Or(err, unix.Fstat(int(f.Fd()), &st)); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	g.before[path] = sandbox.Before{Mode: info.Mode(), Size: info.Size(), Inode: st.Ino, Changed: time.Unix(st.Ctim.Unix())}
	return f, info.Mode(), nil
}

// bring notes what git makes of hidden files in the work tree at top, with a row for each that it changes.
func (g *gitEffects) bring(top string, found map[string]repo.Version, hidden, guarded func(path string) bool, shown func(paths []string) []string) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		version, path := found[name], filepath.Join(top, filepath.FromSlash(name))
		if g.hidden[path] = version; version.Stays {
			continue
		}
		before := g.before[path]
		change := sandbox.Change{Path: path, Dir: top, Kind: sandbox.Modified, Mode: version.Mode, Before: before}
		class, does := permission.Content, "git would write another version of it"
		switch {
		case version.File == "":
			change.Kind, change.Mode, does = sandbox.Deleted, before.Mode, "git deletes it"
		case !before.Exists():
			change.Kind = sandbox.Created
		default: // A file for its owner alone stays so.
			change.Mode = before.Mode&^0o111 | version.Mode&0o111&(before.Mode>>2)
		}
		if info, err := os.Stat(version.File); err == nil {
			change.Size = info.Size()
		}
		if change.Kind != sandbox.Deleted && guarded(path) {
			class = permission.Guarded
		}
		changes, name := append(g.hiddenAbove(top, path, hidden), change), shown([]string{path})[0]
		g.rows = append(g.rows, permission.GitRow{Class: class,
			Text: name + ", which is hidden here: " + does, Object: name, Files: changes})
	}
}

// hiddenAbove makes the hidden directories above a hidden file that are missing.
func (g *gitEffects) hiddenAbove(top, path string, hidden func(path string) bool) (made []sandbox.Change) {
	for dir := filepath.Dir(path); dir != top && hidden(dir); dir = filepath.Dir(dir) {
		if _, known := g.hidden[dir]; known {
			continue
		}
		g.hidden[dir] = repo.Version{Stays: true}
		if !names.Exists(dir) {
			g.hidden[dir] = repo.Version{Mode: fs.ModeDir}
			made = slices.Insert(made, 0, sandbox.Change{Path: dir, Dir: top, Kind: sandbox.Created, Mode: fs.ModeDir | 0o755})
		}
	}
	return made
}

// open opens the new content of a path: git's version of a hidden file, else the one on the layer.
func (e layerEffects) open(path string) (*os.File, error) {
	if version, known := e.git.hidden[path]; known {
		return os.Open(version.File)
	}
	return e.changes.Open(path)
}

// Open is open, with a crash as an error, so that the journal reverts the step it began.
func (e layerEffects) Open(path string) (*os.File, error) {
	return guard(func() (*os.File, error) { return e.open(path) })
}

// Path implements journal.Layer.
func (e layerEffects) Path(path string) string {
	if _, known := e.git.hidden[path]; known {
		return ""
	}
	return e.changes.Path(path)
}

// stays are the paths that stay since the line could not see them, and of which git has no other version.
func (e layerEffects) stays() []string {
	return slices.DeleteFunc(slices.Clone(e.changes.Stays()), func(path string) bool { _, known := e.git.hidden[path]; return known })
}

// showBrought lets the journal hold the hidden files that git changes.
func (s *session) showBrought(g gitEffects) {
	w := s.opt.Workspace
	if w == nil || w.unseen == nil {
		return
	}
	for path, version := range g.hidden {
		if !version.Stays {
			w.unseen.brought.Store(path, true)
		}
	}
}

// brought names the hidden files that git changed.
func (s *session) brought(g gitEffects) (said []string) {
	for _, path := range slices.Sorted(maps.Keys(g.hidden)) {
		version := g.hidden[path]
		switch {
		case version.Stays, version.Mode.IsDir():
		case version.File == "":
			said = append(said, "git deleted "+s.namesOf([]string{path})[0])
		default:
			said = append(said, "git changed "+s.namesOf([]string{path})[0])
		}
	}
	return said
}
