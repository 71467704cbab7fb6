//go:build amd64 || arm64

package launcher

import (
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

// What package syscall has no name for. The numbers above 424 are the same on
// every architecture.
const (
	sysOpenTree       = 428
	sysMoveMount      = 429
	sysMountSetattr   = 442
	sysCloseRange     = 436
	sysOpenat2        = 437
	sysLandlockCreate = 444
	sysLandlockAdd    = 445
	sysLandlockSelf   = 446

	atCwd       = -100
	atRecursive = 0x8000
	atEmptyPath = 0x1000
	cloneTree   = 0x1
	moveByFiles = 0x4 | 0x40
	oPath       = 0x200000

	attrReadOnly = 0x1
	attrNoSuid   = 0x2
	attrNoDev    = 0x4
	attrNoExec   = 0x8

	prSetNoNewPrivs   = 38
	prCapAmbient      = 47
	prSetSubreaper    = 36
	closeRangeCloexec = 4
	rlimitNproc       = 6
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
	flags := 0
	if below {
		flags = atRecursive
	}
	return mountAttr(path, flags, set, 0)
}

// clearReadOnly makes a mount writable again.
func clearReadOnly(path string) error { return mountAttr(path, 0, 0, attrReadOnly) }

func mountAttr(path string, flags int, set, clear uint64) error {
	return mountAttrAt(atCwd, path, flags, set, clear)
}

func mountAttrAt(dir int, path string, flags int, set, clear uint64) error {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	attr := struct{ set, clear, propagation, userns uint64 }{set: set, clear: clear}
	_, _, errno := syscall.Syscall6(sysMountSetattr, uintptr(dir), uintptr(unsafe.Pointer(name)), uintptr(flags),
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	runtime.KeepAlive(name)
	if errno != 0 {
		return errno
	}
	return nil
}

// bindOver mounts what is open over itself, and what is mounted below it, with flags
// set and cleared.
func bindOver(fd int, set, clear uint64) error {
	tree, err := openTree(fd, "", atRecursive)
	if err != nil {
		return err
	}
	defer syscall.Close(tree)
	if err := mountAttrAt(tree, "", atEmptyPath|atRecursive, set, clear); err != nil {
		return err
	}
	return moveOver(tree, fd)
}

// openTree makes a copy of a mount, to be moved over something.
func openTree(dir int, path string, flags uintptr) (int, error) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	tree, _, errno := syscall.Syscall(sysOpenTree, uintptr(dir), uintptr(unsafe.Pointer(name)),
		cloneTree|atEmptyPath|syscall.O_CLOEXEC|flags)
	runtime.KeepAlive(name)
	if errno != 0 {
		return -1, errno
	}
	return int(tree), nil
}

// moveOver mounts a copy over what is open. No path is needed: /proc is another one in
// a command's file tree.
func moveOver(tree, fd int) error {
	var empty byte
	_, _, errno := syscall.Syscall6(sysMoveMount, uintptr(tree), uintptr(unsafe.Pointer(&empty)), uintptr(fd),
		uintptr(unsafe.Pointer(&empty)), moveByFiles, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// openNoLinks opens a path for its place alone, if no link is on the way.
func openNoLinks(path string) (int, error) {
	return openHow(atCwd, path, 0x04 /* RESOLVE_NO_SYMLINKS */)
}

// openHow opens a path for its place alone, as openat2 resolves it.
func openHow(dir int, path string, resolve uint64) (int, error) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	how := [3]uint64{oPath | syscall.O_CLOEXEC, 0, resolve}
	fd, _, errno := syscall.Syscall6(sysOpenat2, uintptr(dir), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	runtime.KeepAlive(name)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// statx is as much of the kernel's structure as is needed.
type statx struct {
	mask, blocksize uint32
	attributes      uint64
	_               [240]byte
}

const mountRoot = 0x2000

// isMount reports whether something is mounted just where a descriptor leads.
func isMount(fd int) (bool, error) {
	var empty byte
	var st statx
	_, _, errno := syscall.Syscall6(sysStatx, uintptr(fd), uintptr(unsafe.Pointer(&empty)), atEmptyPath, 0,
		uintptr(unsafe.Pointer(&st)), 0)
	if errno != 0 {
		return false, errno
	}
	return st.attributes&mountRoot != 0, nil
}

// openPath opens a path for its place alone.
func openPath(path string) (int, error) {
	return syscall.Openat(atCwd, path, oPath|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
}

// readLink is what a link says.
func readLink(path string) (string, error) {
	buf := make([]byte, 4096)
	n, err := syscall.Readlink(path, buf)
	return string(buf[:max(n, 0)]), err
}

func isDir(mode uint32) bool { return mode&syscall.S_IFMT == syscall.S_IFDIR }

// mkdirAll makes a directory and those above it.
func mkdirAll(path string) error {
	err := syscall.Mkdir(path, 0o755)
	if err == syscall.ENOENT {
		if err := mkdirAll(dirOf(path)); err != nil {
			return err
		}
		err = syscall.Mkdir(path, 0o755)
	}
	if err != nil {
		var st syscall.Stat_t
		if syscall.Stat(path, &st) == nil && isDir(st.Mode) {
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
	return makeFile(path, 0o644)
}

// makeFile makes an empty file where there is none.
func makeFile(path string, mode uint32) error {
	if err := mkdirAll(dirOf(path)); err != nil {
		return err
	}
	fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_EXCL|syscall.O_WRONLY|syscall.O_CLOEXEC, mode)
	if err == syscall.EEXIST {
		return nil
	}
	if err != nil {
		return err
	}
	return syscall.Close(fd)
}

func writeFile(path, data string) error {
	fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_WRONLY|syscall.O_TRUNC|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	for data != "" {
		n, err := syscall.Write(fd, []byte(data))
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// readFile reads a small file, such as those of /proc.
func readFile(path string) (string, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer syscall.Close(fd)
	buf := make([]byte, 16<<10)
	n, err := syscall.Read(fd, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// names lists a directory.
func names(path string) ([]string, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	var list []string
	buf := make([]byte, 16<<10)
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if err != nil || n == 0 {
			return list, err
		}
		_, _, list = syscall.ParseDirent(buf[:n], -1, list)
	}
}

// readFrame reads a frame and the descriptors that came with it. At the end of
// the stream the error is EPIPE.
func readFrame(fd int) (body []byte, fds []int, err error) {
	head := make([]byte, 4)
	oob := make([]byte, syscall.CmsgSpace(16*4))
	n, oobn, _, _, err := recvmsg(fd, head, oob)
	if err != nil {
		return nil, nil, err
	}
	if n == 0 {
		return nil, nil, syscall.EPIPE
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, nil, err
	}
	for i := range messages {
		got, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, nil, err
		}
		fds = append(fds, got...)
	}
	if err := readFull(fd, head[n:]); err != nil {
		return nil, fds, err
	}
	size, err := Length(head)
	if err != nil {
		return nil, fds, err
	}
	body = make([]byte, size)
	return body, fds, readFull(fd, body)
}

func recvmsg(fd int, p, oob []byte) (n, oobn, flags int, from syscall.Sockaddr, err error) {
	for {
		n, oobn, flags, from, err = syscall.Recvmsg(fd, p, oob, syscall.MSG_CMSG_CLOEXEC)
		if err != syscall.EINTR {
			return n, oobn, flags, from, err
		}
	}
}

func readFull(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := syscall.Read(fd, p)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return syscall.EPIPE
		}
		p = p[n:]
	}
	return nil
}

// writeFrame writes a frame whole, descriptors with its first byte.
func writeFrame(fd int, frame []byte, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = syscall.UnixRights(fds...)
	}
	for len(frame) > 0 {
		n, err := syscall.SendmsgN(fd, frame, oob, nil, syscall.MSG_NOSIGNAL)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		frame, oob = frame[n:], nil
	}
	return nil
}
