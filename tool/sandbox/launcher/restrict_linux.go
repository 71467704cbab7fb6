//go:build amd64 || arm64

package launcher

import (
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// restrict covers denied files, except those that an overlay has gone, and makes what
// others run read-only where the command writes the project itself. There each
// directory above one is a mount too: the command can neither move it nor replace it,
// and so no denied name is moved to where another command does not know it.
func (j *job) restrict(denied, protected []string) error {
	denied = slices.DeleteFunc(slices.Clone(denied), func(path string) bool { return j.gone() && j.below(path) >= 0 })
	protected = slices.DeleteFunc(slices.Clone(protected), func(path string) bool { return j.written(path) == "" })
	for _, path := range slices.Concat(denied, protected) {
		if err := j.holdAbove(path); err != nil {
			return failed("hold what is above "+path, err)
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

// written is the directory that the command writes itself and that a path lies below;
// "" for none.
func (j *job) written(path string) string {
	for _, dir := range j.writes() {
		if inside(path, dir) {
			return dir
		}
	}
	return ""
}

// holdAbove has each directory between what the command writes and a path be a mount.
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

// mountOver opens a path and has something mounted over it. What is not there needs
// nothing, nor does what the launcher itself cannot reach, nor a link: what it leads to
// has a path of its own.
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

// protect makes what is open read-only.
func protect(fd int, _ uint32) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil || st.Flags&unix.MS_RDONLY != 0 {
		return err
	}
	return bindOver(fd, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, 0)
}

// mask covers what is open with something empty that nobody can open.
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

// protectNow covers in the command's file tree what is denied and protected by now. A
// mount falls when its file is replaced from outside.
func (j *job) protectNow(denied, protected []string) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		done <- func() error {
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return failed("take a thread apart", err)
			}
			if err := unix.Setns(j.files, unix.CLONE_NEWNS); err != nil {
				return failed("enter the command's file tree", err)
			}
			return j.restrict(denied, protected)
		}()
	}()
	return <-done
}
