//go:build amd64 || arm64

package launcher

import (
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification and answer are the kernel's structures for a call that a filter stopped.
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	pointer    uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	value int64
	error int32
	flags uint32
}

// hear counts the calls that the filter refused, and answers them.
func (j *job) hear() {
	defer unix.Close(j.listener)
	for {
		poll := []unix.PollFd{{Fd: int32(j.listener), Events: unix.POLLIN}}
		_, err := unix.Poll(poll, -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil || poll[0].Revents&unix.POLLIN == 0 {
			return // all that were filtered have ended
		}
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(j.listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		if errno != 0 {
			continue // it was killed meanwhile
		}
		a := answer{id: n.id, error: -int32(unix.EPERM)}
		if d, refused := j.judge(n); refused {
			j.denied(d)
		} else {
			a.error, a.flags = 0, unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE // the kernel decides
			if d.Kind != "" {
				j.denied(d)
			}
		}
		// The process that asked may have been killed meanwhile.
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(j.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
	}
}

// judge returns the denial that a call meets, and whether the filter refuses it, or the kernel will.
func (j *job) judge(n notification) (d Denial, refused bool) {
	switch uint32(n.number) {
	case unix.SYS_EXECVE:
		return j.judgeExec(n, noDir, 0), false
	case unix.SYS_EXECVEAT:
		return j.judgeExec(n, 0, 1), false
	}
	for _, w := range writers {
		switch {
		case uint32(n.number) != w.number:
		case j.ReadOnly || j.setup.Mechanism == "namespaces":
			return j.judgeWrite(n, w), false
		default:
			return j.judgeEntry(n, w), false
		}
	}
	return Denial{Kind: kindOf(n)}, true
}

// judgeExec notices a program that lies where nothing may be executed.
func (j *job) judgeExec(n notification, dir, arg int) (d Denial) {
	path, ok := j.pathOf(n, dir, arg)
	if !ok {
		return d
	}
	fd, err := openOf(n, path)
	if err != nil {
		return d
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	var mount unix.Statfs_t
	if unix.Fstat(fd, &st) != nil || unix.Fstatfs(fd, &mount) != nil ||
		st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o111 == 0 || mount.Flags&unix.MS_NOEXEC == 0 {
		return d
	}
	return Denial{Kind: DenialExec, Path: path}
}

// openOf opens a path for its place alone, as the process sees it that made a call.
func openOf(n notification, path string) (int, error) {
	root, err := unix.Open("/proc/"+strconv.Itoa(int(n.pid))+"/root", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	return openHow(root, path, unix.RESOLVE_IN_ROOT)
}

// judgeWrite notices the files that a command changes in the project where that is mounted
// read-only: the kernel refuses it. A program that makes a file that is there, or removes one that is
// not, gets another answer, and misses nothing.
func (j *job) judgeWrite(n notification, w writer) (d Denial) {
	path, ok := j.pathOf(n, w.dir, w.path)
	if !ok {
		return d
	}
	flags := uint64(opensNew)
	switch {
	case w.flags != 0:
		flags = n.args[w.flags]
	case w.old:
		flags = opensOld
	}
	name := ""
	fd, err := openOf(n, path)
	switch there := err == nil; {
	case there && flags&opensOld == 0:
		unix.Close(fd)
		return d
	case !there && flags&opensNew == 0:
		return d
	case there && w.flags != 0: // the target of a link is written
	case there:
		unix.Close(fd)
		fallthrough
	default:
		name = path[len(dirOf(path)):]
		fd, err = openOf(n, dirOf(path))
	}
	if err != nil {
		return d
	}
	defer unix.Close(fd)
	var mount unix.Statfs_t
	real, err := readLink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil || unix.Fstatfs(fd, &mount) != nil || j.setup.Mechanism == "namespaces" && mount.Flags&unix.MS_RDONLY == 0 {
		return d
	}
	if real += name; j.below(real) < 0 {
		return d
	}
	if slices.ContainsFunc(j.Protected, func(p string) bool { return inside(real, p) }) {
		return Denial{Kind: DenialGuarded, Path: real}
	}
	return Denial{Kind: DenialWrite, Path: real}
}

// judgeEntry notices a new name in a directory where Landlock allows none.
func (j *job) judgeEntry(n notification, w writer) (d Denial) {
	path, ok := j.pathOf(n, w.dir, w.path)
	if !ok || w.old {
		return d
	}
	var st unix.Stat_t
	if unix.Lstat(path, &st) != unix.ENOENT || unix.Stat(dirOf(path), &st) != nil ||
		!j.full[place{uint64(st.Dev), st.Ino}] {
		return d
	}
	return Denial{Kind: DenialEntry, Path: path}
}

// pathOf is the path among the arguments of a call, made absolute.
func (j *job) pathOf(n notification, dir, arg int) (path string, ok bool) {
	if j.setup.Mechanism == "namespaces" && j.sharedProc {
		return "", false // its numbers are other ones
	}
	proc := "/proc/" + strconv.Itoa(int(n.pid))
	path, ok = textOf(proc+"/mem", n.args[arg])
	for len(path) > 1 && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	if !ok || path == "" || path[0] == '/' {
		return path, ok && path != ""
	}
	from := proc + "/cwd"
	if dir != noDir && int32(n.args[dir]) != unix.AT_FDCWD {
		from = proc + "/fd/" + strconv.Itoa(int(int32(n.args[dir])))
	}
	at, err := readLink(from)
	if err != nil || at == "" || at[0] != '/' {
		return "", false
	}
	for len(path) > 1 && path[:2] == "./" {
		path = strings.TrimLeft(path[2:], "/")
	}
	return at + "/" + path, path != ""
}

// textOf reads a string of a process's memory.
func textOf(memory string, at uint64) (string, bool) {
	fd, err := unix.Open(memory, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	const page = 4096
	var text []byte
	buf := make([]byte, page)
	for len(text) <= page { // the longest path, over two pages
		n, err := unix.Pread(fd, buf[:page-at%page], int64(at))
		if err != nil || n == 0 {
			return "", false
		}
		for i, c := range buf[:n] {
			if c == 0 {
				return string(append(text, buf[:i]...)), true
			}
		}
		text, at = append(text, buf[:n]...), at+uint64(n)
	}
	return "", false
}

func kindOf(n notification) string {
	switch n.number {
	case unix.SYS_SOCKET:
		switch n.args[0] {
		case unix.AF_INET, unix.AF_INET6:
			return DenialNetwork
		}
		return DenialSocket
	case unix.SYS_PTRACE, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV:
		return DenialTrace
	}
	if n.number == unix.SYS_IOCTL || slices.Contains(attributes, uint32(n.number)) {
		return DenialWrite
	}
	return DenialNamespace
}

func (j *job) denied(d Denial) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, there := j.denials[d]; !there && len(j.denials) >= maxDenials {
		d.Path = ""
	}
	j.denials[d]++
}
