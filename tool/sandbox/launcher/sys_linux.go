//go:build amd64 || arm64

package launcher

import (
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"
)

// problem is an error that names the step at which it happened.
type problem struct {
	what string
	err  error
}

func (p *problem) Error() string { return p.what + ": " + p.err.Error() }

func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return &problem{what, err}
}

// setattr sets flags of a mount, and of those below it.
func setattr(path string, set uint64, below bool) error {
	flags := uint(0)
	if below {
		flags = unix.AT_RECURSIVE
	}
	return mountAttr(unix.AT_FDCWD, path, flags, set, 0)
}

func mountAttr(dir int, path string, flags uint, set, clear uint64) error {
	return unix.MountSetattr(dir, path, flags, &unix.MountAttr{Attr_set: set, Attr_clr: clear})
}

// bindOver mounts an open file over itself, and the mounts below it, with flags set and cleared.
func bindOver(fd int, set, clear uint64) error {
	tree, err := openTree(fd, "", unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := mountAttr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, set, clear); err != nil {
		return err
	}
	return moveOver(tree, fd)
}

// openTree makes a copy of a mount, to be moved over something.
func openTree(dir int, path string, flags uint) (int, error) {
	return unix.OpenTree(dir, path, unix.OPEN_TREE_CLONE|unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLOEXEC|flags)
}

// moveOver mounts a copy over an open file. No path is needed: /proc is another one in
// a command's file tree.
func moveOver(tree, fd int) error {
	return unix.MoveMount(tree, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// openHow opens a path for its place alone, as openat2 resolves it.
func openHow(dir int, path string, resolve uint64) (int, error) {
	return unix.Openat2(dir, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve})
}

// isMount reports whether something is mounted just where a descriptor leads.
func isMount(fd int) (bool, error) {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, 0, &st)
	return st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, err
}

// openPath opens a path for its place alone.
func openPath(path string) (int, error) {
	return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
}

// readLink is the target of a link.
func readLink(path string) (string, error) {
	buf := make([]byte, 4096)
	n, err := unix.Readlink(path, buf)
	return string(buf[:max(n, 0)]), err
}

func isDir(mode uint32) bool { return mode&unix.S_IFMT == unix.S_IFDIR }

// mkdirAll makes a directory and those above it.
func mkdirAll(path string) error {
	err := unix.Mkdir(path, 0o755)
	if err == unix.ENOENT {
		if err := mkdirAll(dirOf(path)); err != nil {
			return err
		}
		err = unix.Mkdir(path, 0o755)
	}
	if err != nil {
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil && isDir(st.Mode) {
			return nil
		}
	}
	return err
}

func dirOf(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/"
	}
	return path[:i]
}

// makePlace makes a directory or an empty file to mount upon.
func makePlace(path string, dir bool) error {
	if dir {
		return mkdirAll(path)
	}
	return makeFile(path, "", 0o644)
}

// makeFile makes a file with a short text where there is none.
func makeFile(path, text string, mode uint32) error {
	if err := mkdirAll(dirOf(path)); err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	if err == unix.EEXIST {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}

// readFile reads a small file, such as those of /proc.
func readFile(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, 16<<10)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// names lists a directory.
func names(path string) ([]string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var list []string
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n == 0 {
			return list, err
		}
		_, _, list = unix.ParseDirent(buf[:n], -1, list)
	}
}

// ReadFrame reads a frame into a message, and the descriptors that came with it. At the end
// of the stream the error is EPIPE.
func ReadFrame(fd int, message any) (fds []int, err error) {
	head := make([]byte, 4)
	oob := make([]byte, unix.CmsgSpace(32*4))
	n, oobn, err := recvmsg(fd, head, oob)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, unix.EPIPE
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, err
	}
	for i := range messages {
		got, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, err
		}
		fds = append(fds, got...)
	}
	if err := readFull(fd, head[n:]); err != nil {
		return fds, err
	}
	size := binary.LittleEndian.Uint32(head)
	if size > maxFrame {
		return fds, errFrame
	}
	body := make([]byte, size)
	if err := readFull(fd, body); err != nil {
		return fds, err
	}
	return fds, Decode(body, message)
}

func recvmsg(fd int, p, oob []byte) (n, oobn int, err error) {
	for {
		n, oobn, _, _, err = unix.Recvmsg(fd, p, oob, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			return n, oobn, err
		}
	}
}

func readFull(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := unix.Read(fd, p)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return unix.EPIPE
		}
		p = p[n:]
	}
	return nil
}

// WriteFrame writes the frame of a message whole, descriptors with its first byte.
func WriteFrame(fd int, message any, fds ...int) error {
	frame := Encode(message)
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	for len(frame) > 0 {
		n, err := unix.SendmsgN(fd, frame, oob, nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		frame, oob = frame[n:], nil
	}
	return nil
}
