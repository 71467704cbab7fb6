//go:build amd64 || arm64

package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"artoo/tool/names"
	"artoo/tool/sandbox/launcher"
	"artoo/tool/tempdir"
)

// cacheSteps show the caches.
func (s *Sandbox) cacheSteps(p *places) error {
	for _, cache := range s.config.Caches {
		own, err := s.ownCache(cache)
		if err != nil {
			return fmt.Errorf("cache %s: %w", cache.Path, err)
		}
		path := names.Real(cache.Path)
		if within(path, p.write) || slices.ContainsFunc(p.read, func(dir string) bool { return within(dir, []string{path}) }) {
			continue // the project has it
		}
		if s.facts.Layer {
			p.add(launcher.OpCache, path, path, own)
		} else {
			p.add(launcher.OpWrite, filepath.Join(own, "upper"), path, "")
		}
	}
	return nil
}

// ownCache makes artoo's own side of a cache.
func (s *Sandbox) ownCache(cache Cache) (string, error) {
	own, err := s.claim(cache.Own)
	if err != nil {
		return "", err
	}
	s.ownCaches = append(s.ownCaches, own)
	return own, os.MkdirAll(filepath.Join(own, "upper"), 0o700)
}

// claimRoom makes the session's directory for layers, and removes those of ended sessions.
func (s *Sandbox) claimRoom() (err error) {
	layers := s.config.Layers
	if layers == "" {
		layers = filepath.Join(s.config.Temp, "layers")
	}
	if s.room, err = makeRoom(layers); err != nil {
		return err
	}
	s.shown = filepath.Join(s.room.Path, "shown")
	return os.Mkdir(s.shown, 0o700)
}

// makeRoom makes a session's directory in one for layers, which it makes when missing.
func makeRoom(layers string) (*tempdir.Dir, error) {
	if err := os.MkdirAll(layers, 0o700); err != nil {
		return nil, err
	}
	layers, err := filepath.EvalSymlinks(layers)
	if err != nil {
		return nil, err
	}
	if err := tempdir.Sweep(layers); err != nil {
		return nil, err
	}
	room, err := tempdir.Make(layers)
	if err == nil {
		spread(room.Path)
	}
	return room, err
}

// topDir is FS_TOPDIR_FL of linux/fs.h.
const topDir = 0x20000

// spread has ext4 put each directory that is made in dir into a part of the disk that
// holds few. In one where thousands of files were deleted in the last minutes, which ext4
// passes over one by one, it takes milliseconds to make each directory of a layer.
// Other file systems do not know the flag and need none.
func spread(dir string) {
	file, err := os.Open(dir)
	if err != nil {
		return
	}
	defer file.Close()
	if flags, err := unix.IoctlGetInt(int(file.Fd()), unix.FS_IOC_GETFLAGS); err == nil {
		_ = unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags|topDir)
	}
}

// lock opens a file and locks it. It does not wait.
func lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// claim makes a directory of artoo's own and has it for this session. While another
// has it, it is an empty one of this session's.
func (s *Sandbox) claim(dir string) (string, error) {
	for try := 0; ; try++ {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		own, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", err
		}
		file, err := lock(filepath.Join(own, "lock"))
		if err == nil {
			s.locks = append(s.locks, file)
			return own, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || try > 0 {
			return "", err
		}
		dir = filepath.Join(s.config.Temp, "cache-"+strconv.Itoa(len(s.locks)))
	}
}

// isCache reports whether a path below a writable directory is a cache's.
func (s *Sandbox) isCache(rel string) bool { return s.config.IsCache != nil && s.config.IsCache(rel) }

// keptName is the name of the kept cache of a writable directory.
func keptName(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:8])
}

// keptFor are the names of the kept caches of each of the roots, "" for none. The
// directories above caches get the mode and times of the project's, and go where
// those have gone: in a layer kept caches lie over the project.
func (s *Sandbox) keptFor(roots []string) ([]string, error) {
	list := make([]string, len(roots))
	if s.kept == "" || s.config.IsCache == nil {
		return list, nil
	}
	s.merging.Lock()
	defer s.merging.Unlock()
	for i, root := range roots {
		name := keptName(root)
		there, err := s.refresh(filepath.Join(s.kept, name), root, "")
		if err != nil {
			return nil, err
		}
		if there {
			list[i] = name
		}
	}
	return list, nil
}

// refresh makes a kept directory above caches like the project's. It reports whether it holds any.
func (s *Sandbox) refresh(kept, original, rel string) (there bool, err error) {
	entries, err := os.ReadDir(kept)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var st, now unix.Stat_t
	if err := unix.Lstat(original, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false, tempdir.RemoveAll(kept)
	}
	for _, entry := range entries {
		below := filepath.Join(rel, entry.Name())
		inner := s.isCache(below)
		if !inner {
			if inner, err = s.refresh(filepath.Join(kept, entry.Name()), filepath.Join(original, entry.Name()), below); err != nil {
				return false, err
			}
		}
		there = there || inner
	}
	if err := unix.Lstat(kept, &now); err != nil {
		return false, err
	}
	if now.Mode&0o7777 != st.Mode&0o7777 {
		if err := unix.Fchmodat(unix.AT_FDCWD, kept, st.Mode&0o7777|0o700, 0); err != nil {
			return false, err
		}
	}
	if now.Mtim != st.Mtim {
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, kept, []unix.Timespec{st.Atim, st.Mtim}, 0); err != nil {
			return false, err
		}
	}
	return there, nil
}

// shownTo makes a directory for each layer of a command with the files that are seen in place of the project's, and names
// it; "" for none. The directories above such a file cover the project's, so they get the same mode and times.
func (s *Sandbox) shownTo(line launcher.Line) ([]string, error) {
	dirs := make([]string, len(line.Writable))
	if s.config.Shown == nil {
		return dirs, nil
	}
	files, err := s.config.Shown(s.shown, line.Denied, line.Writable)
	if err != nil {
		return nil, fmt.Errorf("sandbox: files that are seen in place of others: %w", err)
	}
	above := map[string]string{} // directories, and those that they are like
	for path, from := range files {
		at := slices.IndexFunc(line.Writable, func(dir string) bool { return within(path, []string{dir}) })
		if at < 0 {
			continue
		}
		if dirs[at] == "" {
			dir, err := os.MkdirTemp(s.shown, "line-")
			if err != nil {
				return nil, err
			}
			dirs[at] = filepath.Base(dir)
		}
		root := line.Writable[at]
		to := filepath.Join(s.shown, dirs[at], path[len(root):])
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return nil, err
		}
		if err := os.Link(from, to); err != nil {
			return nil, err
		}
		for path != root {
			path, to = filepath.Dir(path), filepath.Dir(to)
			above[to] = path
		}
	}
	for dir, original := range above {
		if err := liken(dir, original); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// liken gives a directory the owner, the mode and the times of another, which may have gone.
func liken(dir, original string) error {
	var st unix.Stat_t
	if unix.Stat(original, &st) != nil {
		return nil
	}
	_ = unix.Lchown(dir, int(st.Uid), int(st.Gid)) // only root may, and only for others would it matter
	return errors.Join(unix.Chmod(dir, st.Mode&0o7777|0o700), unix.UtimesNano(dir, []unix.Timespec{st.Atim, st.Mtim}))
}

// unshow removes what shownTo made.
func (s *Sandbox) unshow(dirs []string) (err error) {
	for _, name := range dirs {
		if name != "" {
			err = errors.Join(err, tempdir.RemoveAll(filepath.Join(s.shown, name)))
		}
	}
	return err
}
