package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// open opens the path to be read, in one call where the kernel has it (Linux
// 5.6; a container may not let it pass).
func (p *place) open(path string, flags int) (int, error) {
	p, path, err := p.of(path)
	if err != nil {
		return -1, err
	}
	how := unix.OpenHow{Flags: uint64(openFlags | flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	fd, err := uninterrupted(func() (int, error) { return unix.Openat2(int(p.dir.Fd()), cmp.Or(path, "."), &how) })
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EAGAIN) {
		return p.openSteps(path, flags)
	}
	return fd, err
}

// exchange exchanges the files of two names, in one step.
func exchange(dirA int, a string, dirB int, b string) error {
	return unix.Renameat2(dirA, a, dirB, b, unix.RENAME_EXCHANGE)
}

// renameNew is a rename that replaces nothing: where the name is taken the error is
// fs.ErrExist.
func renameNew(fromDir int, from string, toDir int, to string) error {
	return unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
}

// takeLease has the kernel report when an open file is opened for writing. While the lease
// lasts such an open waits. The error is EAGAIN where the file is open for writing now;
// any other one means that no lease is available.
func takeLease(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	return err
}

// leaseHolds reports whether no process tried to write since the lease was taken.
func leaseHolds(fd int) bool {
	kind, err := unix.FcntlInt(uintptr(fd), unix.F_GETLEASE, 0)
	return err == nil && kind == unix.F_RDLCK
}

func syncAll(dir *os.File) (bool, error) { return true, unix.Syncfs(int(dir.Fd())) }

// chmodAt changes the mode of a name in an open directory. It follows no link.
func chmodAt(dir int, name string, mode fs.FileMode) error {
	err := unix.Fchmodat(dir, name, bits(mode), unix.AT_SYMLINK_NOFOLLOW)
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	// The kernel is older than 6.6.
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), bits(mode)) // A link is an error there.
}
