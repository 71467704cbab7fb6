//go:build amd64 || arm64

package launcher

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// entry is a name in a directory, wherever that directory is by now. What is mounted
// over one stays there: in its own file tree a command can neither move nor replace
// it. But it can move the directories above, also while the next command's file tree
// is made.
type entry struct {
	dev, inode uint64 // of the directory
	name       string
}

// hold is what is mounted over an entry.
type hold struct {
	path   string
	masked bool // else it is read-only
}

// moved is the error that what was to be hidden or protected is not where it was
// looked for.
type moved struct{ path string }

func (m *moved) Error() string { return m.path + " was moved meanwhile" }

// restrict covers denied files, but for those that a layer has gone, and makes what
// others run read-only. What commands that run and may write cannot touch is kept
// from this one too.
func (j *job) restrict() error {
	j.restricted = map[entry]hold{}
	denied, protected := j.Denied, j.Protected
	if j.Beside || !j.ReadOnly && !j.Layer {
		denied, protected = j.ofWriters()
	}
	for _, path := range protected {
		if err := j.mountOver(hold{path, false}); err != nil {
			return failed("protect "+path, err)
		}
	}
	for _, path := range denied {
		if j.gone() && j.below(path) >= 0 {
			continue
		}
		if err := j.mountOver(hold{path, true}); err != nil {
			return failed("hide "+path, err)
		}
	}
	return j.join()
}

// gone reports whether denied names are gone, not covered.
func (j *job) gone() bool { return j.Layer || j.ReadOnly && !j.Beside }

// ofWriters are the denied and protected paths of this command and of those that run
// and may write.
func (j *job) ofWriters() (denied, protected []string) {
	denied, protected = slices.Clone(j.Denied), slices.Clone(j.Protected)
	j.writers.Lock()
	for w := range j.writers.jobs {
		denied = append(denied, w.Denied...)
		if !j.ReadOnly {
			protected = append(protected, w.Protected...)
		}
	}
	j.writers.Unlock()
	slices.Sort(denied)
	slices.Sort(protected)
	return slices.Compact(denied), slices.Compact(protected)
}

// mountOver opens an entry by its path, notes it, and mounts over it what is to hold it. What
// is not there needs nothing, nor does what the launcher itself cannot reach, nor a
// link: what it leads to has a path of its own.
func (j *job) mountOver(h hold) error {
	path := h.path
	dir, err := openDir(dirOf(path))
	if err == syscall.ENOENT || err == syscall.ENOTDIR || err == syscall.EACCES {
		return nil
	}
	if err != nil {
		return err
	}
	defer syscall.Close(dir)
	name := baseOf(path)
	fd, err := openPathAt(dir, name)
	if err == syscall.ENOENT || err == syscall.EACCES {
		return nil
	}
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var above, st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil || isLink(st.Mode) {
		return err
	}
	if err := syscall.Fstat(dir, &above); err != nil {
		return err
	}
	if j.below(dirOf(path)) >= 0 { // else nobody can move it
		j.restricted[entry{uint64(above.Dev), above.Ino, name}] = h
	}
	if h.masked {
		return mask(fd, st.Mode)
	}
	return bindReadOnly(fd)
}

// mask covers what is open with something empty that nobody can open.
func mask(fd int, mode uint32) error {
	void := voidDir + "/file"
	if isDir(mode) {
		void = voidDir + "/dir"
	}
	return syscall.Mount(void, "/proc/self/fd/"+strconv.Itoa(fd), "", syscall.MS_BIND, "")
}

// join looks that what commands which run cannot touch is kept from this one too,
// wherever they moved it. Then it counts as one of them.
func (j *job) join() error {
	j.writers.Lock()
	defer j.writers.Unlock()
	if j.gone() {
		return nil
	}
	for w := range j.writers.jobs {
		for e, h := range w.restricted {
			_, held := j.restricted[e]
			if !held && (h.masked || !j.ReadOnly) && !e.removed(h.path) {
				return &moved{h.path}
			}
		}
	}
	if !j.ReadOnly {
		j.writers.jobs[j] = true
	}
	return nil
}

// leave has a command no longer count as one that may write.
func (j *job) leave() {
	j.writers.Lock()
	defer j.writers.Unlock()
	delete(j.writers.jobs, j)
}

// removed reports whether an entry is gone from its directory, or a link by now, the
// directory being where it was. No command can have done that.
func (e entry) removed(path string) bool {
	dir, err := openDir(dirOf(path))
	if err != nil {
		return false
	}
	defer syscall.Close(dir)
	var above, st syscall.Stat_t
	if syscall.Fstat(dir, &above) != nil || uint64(above.Dev) != e.dev || above.Ino != e.inode {
		return false
	}
	fd, err := openPathAt(dir, e.name)
	if err != nil {
		return err == syscall.ENOENT
	}
	defer syscall.Close(fd)
	return syscall.Fstat(fd, &st) == nil && isLink(st.Mode)
}

func isLink(mode uint32) bool { return mode&syscall.S_IFMT == syscall.S_IFLNK }

func openDir(path string) (int, error) {
	return syscall.Open(path, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
}

func baseOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
