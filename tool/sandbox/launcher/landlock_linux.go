//go:build amd64 || arm64

package launcher

import (
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock's rights over files. Version 2 has LANDLOCK_ACCESS_FS_REFER, version 3
// LANDLOCK_ACCESS_FS_TRUNCATE.
const (
	mayRefer = unix.LANDLOCK_ACCESS_FS_REFER
	mayCut   = unix.LANDLOCK_ACCESS_FS_TRUNCATE
	reading  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	ofFiles  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | mayCut
	all      = reading | ofFiles | mayRefer | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		makeSocket | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	makeSocket = unix.LANDLOCK_ACCESS_FS_MAKE_SOCK

	scopesSockets = 6 // the version with scopes
)

// landlockVersion is that of the kernel, 0 where there is none.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// newRuleset makes a ruleset that handles rights over files and scopes.
func newRuleset(files, scoped uint64) (*ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: files, Scoped: scoped}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, failed("make a Landlock ruleset", errno)
	}
	return &ruleset{int(fd), files}, nil
}

// socketRules make the ruleset by which unix sockets are made in the command's own temporary directory only, and have
// abstract names for itself alone. Sockets of others in directories that it sees are covered. Landlock refuses to move
// files between directories unless that is allowed.
func socketRules() (int, error) {
	r, err := newRuleset(makeSocket|mayRefer, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET)
	if err != nil {
		return -1, err
	}
	if err = r.allow("/", mayRefer); err == nil {
		err = r.allow(Temp, makeSocket|mayRefer)
	}
	if err != nil {
		unix.Close(r.fd)
		return -1, failed("allow sockets", err)
	}
	return r.fd, nil
}

// devices are the device files that every command writes to.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm"}

// ruleset is a Landlock ruleset in the making.
type ruleset struct {
	fd      int
	handled uint64
}

// grant confines the thread to the files that the command was granted.
func (j *job) grant() error {
	version := landlockVersion()
	handled, scoped := uint64(all), uint64(0)
	if version < 3 {
		handled &^= mayCut
	}
	if version < 2 {
		handled &^= mayRefer
	}
	if version >= scopesSockets {
		scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	r, err := newRuleset(handled, scoped)
	if err != nil {
		return err
	}
	defer unix.Close(r.fd)
	for _, path := range slices.Concat(j.Readable, j.Writable) {
		if err := r.allow(path, reading); err != nil {
			return failed("grant "+path, err)
		}
	}
	if err := r.allow("/dev", unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
		return failed("grant /dev", err)
	}
	own := slices.Concat(j.setup.Scratch, devices)
	// The memory of others lies there, or even the project: a grant above it would hold for it.
	if shm := "/dev/shm"; j.ReadOnly || slices.ContainsFunc(j.writes(), func(dir string) bool { return inside(dir, shm) }) {
		own = slices.DeleteFunc(own, func(path string) bool { return path == shm })
	}
	for _, path := range own {
		if err := r.allow(path, all); err != nil {
			return failed("grant "+path, err)
		}
	}
	closed := slices.Concat(j.Protected, j.Denied)
	for _, dir := range j.writes() {
		if err := j.allowBut(r, dir, closed); err != nil {
			return failed("grant "+dir, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return failed("give up privileges", err)
	}
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0)
	if errno != 0 {
		return failed("enter Landlock", errno)
	}
	return nil
}

// allow adds a rule for a path and all below it, if it is there.
func (r *ruleset) allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if !isDir(st.Mode) {
		rights &= ofFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// writes are the directories of the project that the command writes itself.
func (j *job) writes() []string {
	switch {
	case j.Layer || j.ReadOnly:
		return nil
	case j.Job:
		return j.Outputs
	}
	return j.Writable
}

// allowBut grants writing to the entries of a directory, except closed ones. A right
// over a directory is one over all that lies in it: one that holds something closed
// is granted entry by entry, and gets no new ones.
func (j *job) allowBut(r *ruleset, dir string, closed []string) error {
	holds := func(path string) bool {
		return slices.ContainsFunc(closed, func(c string) bool { return inside(c, path) })
	}
	if !holds(dir) {
		return r.allow(dir, all)
	}
	entries, err := names(dir)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return err
	}
	j.full[place{uint64(st.Dev), st.Ino}] = true
	for _, name := range entries {
		path := dir + "/" + name
		if slices.Contains(closed, path) {
			continue
		}
		if err := unix.Lstat(path, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
			continue // gone, or a link, whose end has its own rule or none
		}
		if isDir(st.Mode) && holds(path) {
			err = j.allowBut(r, path, closed)
		} else {
			err = r.allow(path, all)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// place is a file or directory, wherever its name is.
type place struct{ dev, inode uint64 }

// restrict covers denied files, except those that an overlay hides, and makes files that
// others run read-only where the command writes the project itself. There each
// directory above one is a mount too: the command can neither move it nor replace it,
// and so no denied name is moved to where another command does not know it.
func (j *job) restrict(denied, protected []string) error {
	denied = slices.DeleteFunc(slices.Clone(denied), func(path string) bool { return j.gone() && j.below(path) >= 0 })
	protected = slices.DeleteFunc(slices.Clone(protected), func(path string) bool { return j.written(path) == "" && !j.Layer })
	for _, path := range slices.Concat(denied, protected) {
		if err := j.holdAbove(path); err != nil {
			return failed("protect the directories above "+path, err)
		}
	}
	for _, path := range protected {
		if err := mountOver(path, protect); err != nil {
			return failed("protect "+path, err)
		}
	}
	for _, path := range denied {
		if err := mountOver(path, mask); err != nil {
			return failed("hide "+path, err)
		}
	}
	return nil
}

// written is the directory above a path that the command writes itself; "" for none.
func (j *job) written(path string) string {
	for _, dir := range j.writes() {
		if inside(path, dir) {
			return dir
		}
	}
	return ""
}

// holdAbove makes each directory between a writable one and a path a mount.
func (j *job) holdAbove(path string) error {
	top := j.written(path)
	if top == "" {
		return nil
	}
	return holdBetween(top, path)
}

// holdBetween has each directory between two be a mount.
func holdBetween(top, path string) error {
	for i := len(top) + 1; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		if err := mountOver(path[:i], hold); err != nil {
			return err
		}
	}
	return nil
}

// mountOver mounts something over a path. A path that is not there, or out of the launcher's reach, needs
// nothing, nor does a link: its target has a path of its own.
func mountOver(path string, mount func(fd int, mode uint32) error) error {
	var err error
	for range saves {
		var fd int
		fd, err = openPath(path)
		if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES {
			return nil
		}
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFLNK {
			err = mount(fd, st.Mode)
		}
		unix.Close(fd)
		if err != unix.ENOENT {
			return err
		}
	}
	return err
}

// saves is how often something is opened again that a user replaces just then.
const saves = 100

// hold mounts a directory over itself.
func hold(fd int, _ uint32) error {
	if mounted, err := isMount(fd); mounted || err != nil {
		return err
	}
	return bindOver(fd, 0, 0)
}

// protect makes an open file read-only.
func protect(fd int, _ uint32) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil || st.Flags&unix.MS_RDONLY != 0 {
		return err
	}
	return bindOver(fd, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, 0)
}

// mask covers an open file with an empty one that no process can open.
func mask(fd int, mode uint32) error {
	void := voidDir + "/file"
	if isDir(mode) {
		void = voidDir + "/dir"
	}
	var there, empty unix.Stat_t
	if err := unix.Fstat(fd, &there); err != nil {
		return err
	}
	if err := unix.Stat(void, &empty); err != nil || there.Dev == empty.Dev {
		return err
	}
	tree, err := openTree(unix.AT_FDCWD, void, 0)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return moveOver(tree, fd)
}

// protectNow covers again: a mount falls when its file is replaced from outside.
func (j *job) protectNow(denied, protected []string) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		done <- func() error {
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return failed("unshare a thread", err)
			}
			if err := unix.Setns(j.files, unix.CLONE_NEWNS); err != nil {
				return failed("enter the command's file tree", err)
			}
			return j.restrict(denied, protected)
		}()
	}()
	return <-done
}
