//go:build unix

package journal

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// openFlags are for reading only; a FIFO without a writer must not block, and a link must not be followed.
const openFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOFOLLOW

// place is the project's root, held open, and the directories outside that may be
// written to. Its methods take paths relative to the root, with slashes, or absolute
// ones below such a directory, and follow no link in any part of them.
type place struct {
	dir *os.File

	mu    sync.Mutex
	added map[string]*place // A place is nil until something in it is looked for.
}

func openPlace(path string) (*place, error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &place{dir: dir, added: map[string]*place{}}, nil
}

func (p *place) close() error {
	var errs []error
	for _, other := range p.added {
		if other != nil {
			errs = append(errs, other.close())
		}
	}
	return errors.Join(append(errs, p.dir.Close())...)
}

// add makes a directory one that absolute paths may lie in.
func (p *place) add(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.added[dir]; !known {
		p.added[dir] = nil
	}
}

// of returns the place that a path lies in, and the path relative to that: "" for the
// directory itself.
func (p *place) of(path string) (in *place, rel string, err error) {
	if !strings.HasPrefix(path, "/") {
		return p, path, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for dir := path; dir != ""; dir, _ = split(dir) {
		in, known := p.added[dir]
		if known && in == nil {
			if in, err = openPlace(dir); err != nil {
				return nil, "", err
			}
			p.added[dir] = in
		}
		if known {
			return in, strings.TrimPrefix(path[len(dir):], "/"), nil
		}
	}
	return nil, "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// openSteps opens the path name by name.
func (p *place) openSteps(path string, flags int) (int, error) {
	fd, err := uninterrupted(func() (int, error) {
		return unix.Openat(int(p.dir.Fd()), ".", openFlags|unix.O_DIRECTORY, 0)
	})
	if err != nil || path == "" {
		return fd, err
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		mode := openFlags | unix.O_DIRECTORY
		if i == len(names)-1 {
			mode = openFlags | flags
		}
		next, err := uninterrupted(func() (int, error) { return unix.Openat(fd, name, mode, 0) })
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// buffers are for reading directories and files, of which thousands may land at once.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// list returns the entries of the directory, sorted by name.
func (p *place) list(path string) ([]entry, error) {
	dir, err := p.open(path, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	names := make([]string, 0, 64)
	for {
		n, err := uninterrupted(func() (int, error) { return unix.ReadDirent(dir, buf[:]) })
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			break
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
	slices.Sort(names) // rather than the entries, which are five times as large
	entries := make([]entry, 0, len(names))
	for _, name := range names {
		st, err := statAt(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone meanwhile
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: name, stat: st})
	}
	return entries, nil
}

func statAt(dir int, name string) (stat, error) {
	st, _, err := statBlocks(dir, name)
	return st, err
}

// statBlocks also says how many bytes of the disk a file takes.
func statBlocks(dir int, name string) (stat, int64, error) {
	var st unix.Stat_t
	_, err := uninterrupted(func() (int, error) { return 0, unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return statOf(&st), st.Blocks * 512, err
}

// inParent calls f with the open directory that the path lies in.
func (p *place) inParent(path string, f func(dir int, name string) error) error {
	p, path, err := p.of(path)
	if err != nil {
		return err
	}
	parent, name := split(path)
	if parent == "" {
		return f(int(p.dir.Fd()), cmp.Or(name, "."))
	}
	dir, err := p.open(parent, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return f(dir, name)
}

// lstat reads the state of the path. If nothing is there, or a parent is not a directory, the error is fs.ErrNotExist.
func (p *place) lstat(path string) (st stat, err error) {
	err = p.inParent(path, func(dir int, name string) error {
		st, err = statAt(dir, name)
		return err
	})
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		err = fs.ErrNotExist
	}
	return st, err
}

func (p *place) readlink(path string) (target string, err error) {
	err = p.inParent(path, func(dir int, name string) error {
		target, err = readlinkAt(dir, name)
		return err
	})
	return target, err
}

func readlinkAt(dir int, name string) (string, error) {
	buf := make([]byte, 16<<10)
	n, err := uninterrupted(func() (int, error) { return unix.Readlinkat(dir, name, buf) })
	return string(buf[:max(n, 0)]), err
}

// openFile opens a file to be read, and returns its stat.
func (p *place) openFile(path string) (*os.File, stat, error) {
	fd, err := p.open(path, 0)
	if err != nil {
		return nil, stat{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if _, err := uninterrupted(func() (int, error) { return 0, unix.Fstat(fd, &st) }); err != nil {
		return nil, stat{}, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), statOf(&st), nil
}

func uninterrupted(f func() (int, error)) (int, error) {
	for {
		if n, err := f(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func statOf(st *unix.Stat_t) stat {
	bits := uint32(st.Mode)
	mode := fs.FileMode(bits) & fs.ModePerm
	switch bits & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	default:
		mode |= fs.ModeIrregular // a device, FIFO or socket: never read, never restored
	}
	for _, special := range specialBits {
		if bits&special.bit != 0 {
			mode |= special.mode
		}
	}
	return stat{mode: mode, links: uint32(st.Nlink), uid: st.Uid, gid: st.Gid, inode: uint64(st.Ino),
		dev:  uint64(st.Dev),
		size: st.Size, mtime: unix.TimespecToNsec(st.Mtim), ctime: unix.TimespecToNsec(st.Ctim)}
}

// keepOwnerAt gives a restored file the owner that it had, as far as the system lets us: a group must be
// one of ours, and only root may give files away, but in a container not to every number.
func keepOwnerAt(dir int, name string, was State) {
	if os.Geteuid() == 0 {
		_ = unix.Fchownat(dir, name, int(was.UID), int(was.GID), unix.AT_SYMLINK_NOFOLLOW)
	} else if int(was.GID) != os.Getegid() {
		_ = unix.Fchownat(dir, name, -1, int(was.GID), unix.AT_SYMLINK_NOFOLLOW)
	}
}

func createAt(dir int, name string) (*os.File, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// specialBits are those of the kernel's modes that permissions are not.
var specialBits = []struct {
	bit  uint32
	mode fs.FileMode
}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}}

func bits(mode fs.FileMode) (bits uint32) {
	bits = uint32(mode.Perm())
	for _, special := range specialBits {
		if mode&special.mode != 0 {
			bits |= special.bit
		}
	}
	return bits
}

// syncAll syncs whole file systems. It reports whether there is such a call.
func (p *place) syncAll() (done bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done, err = syncAll(p.dir)
	for _, other := range p.added {
		if other != nil && err == nil {
			done, err = syncAll(other.dir)
		}
	}
	return done, err
}

// syncFew is how many files are synced one by one: of more, the whole file system is.
const syncFew = 32

// sync brings the changes at the paths to the disk.
func (p *place) sync(paths []string) error {
	if len(paths) > syncFew {
		if done, err := p.syncAll(); done || err != nil {
			return err
		}
	}
	dirs := map[string]bool{}
	for _, path := range paths {
		dir, _ := split(path)
		dirs[dir] = true
		if err := p.syncPath(path, 0); err != nil {
			return err
		}
	}
	for dir := range dirs {
		if err := p.syncPath(dir, unix.O_DIRECTORY); err != nil {
			return err
		}
	}
	return nil
}

// isOther reports whether an error says that something else than a file or directory, or nothing, is at a path.
func isOther(err error) bool {
	return slices.ContainsFunc([]error{fs.ErrNotExist, unix.ELOOP, unix.ENOTDIR, unix.ENXIO},
		func(other error) bool { return errors.Is(err, other) })
}

// otherNow is an error of reading what was at a path a moment ago: errUnsteady too, where something else is there now,
// as when the user saves the file by a rename. To read what is no link any more is EINVAL.
func otherNow(err error) error {
	if isOther(err) || errors.Is(err, unix.EINVAL) {
		return errors.Join(errUnsteady, err)
	}
	return err
}

// syncPath syncs a file or directory, unless it is gone, a link, or may not be read.
func (p *place) syncPath(path string, flags int) error {
	fd, err := p.open(path, flags)
	if isOther(err) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), path)
	return errors.Join(syncFile(f), f.Close())
}

// syncFile waits until the file is on the disk, where the file system can tell.
func syncFile(f *os.File) error {
	if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// takes is how many bytes of the disk the original at a path takes where it is kept.
func (p *place) takes(path string, now State) (size int64, err error) {
	if now.Size <= maxRead {
		return now.Size, nil
	}
	err = p.inParent(path, func(dir int, name string) error {
		_, size, err = statBlocks(dir, name)
		return err
	})
	return size, err
}

func ignoreUnsupported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

func setTime(dir int, name string, s State) error {
	at := unix.NsecToTimespec(s.Stamp.Mtime)
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
}

// stripAttributes takes extended attributes from a file, directory or link: they may be of the layer that
// it comes from, or make a program of it that may do more. It reports whether none is left.
func stripAttributes(path string) bool {
	size, err := unix.Llistxattr(path, nil)
	if err != nil || size == 0 {
		return size == 0 || errors.Is(err, errors.ErrUnsupported)
	}
	buf := make([]byte, size)
	if size, err = unix.Llistxattr(path, buf); err != nil {
		return false
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(buf[:size]), "\x00"), "\x00") {
		// Every file has this one where there are such labels, and no process can remove it.
		if name != "security.selinux" && unix.Lremovexattr(path, name) != nil {
			return false
		}
	}
	return true
}
