//go:build amd64 || arm64

package launcher

import (
	"syscall"
	"unsafe"
)

// call is one system call, with all that it needs prepared.
type call struct{ number, a, b, c, d, e, f uintptr }

// birth is all that the first process of a command and the command itself do
// between being cloned and running a program. A process cloned from one with
// several threads may neither allocate nor grow its stack, nor meet Go's
// scheduler: so it is a list of calls, made before, and code that only makes them.
type birth struct {
	first   []call // of the first process
	command []call // of the command; the last one is execve
	after   []call // of the first process, once the command runs
}

// Descriptors of the first process.
const (
	reportFD = 3 // tells how the command ended
	execFD   = 4 // tells what failed, and by its end that the command runs
)

// What a report says: three words, the second and third as named.
const (
	reportSetup   = 1 + iota // the first process failed: which call, error number
	reportCommand            // the command failed: which call, error number
	reportStatus             // the command ended: status, 0
)

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

// fork clones this process, and has the child do what b says. All signals are
// blocked in it.
//
//go:noinline
//go:norace
func (b *birth) fork() (pid int, err error) {
	beforeFork()
	child, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && child == 0 {
		b.live()
	}
	afterFork()
	if errno != 0 {
		return 0, errno
	}
	return int(child), nil
}

// live is the life of a command's first process. It does not return.
//
//go:nosplit
//go:norace
func (b *birth) live() {
	if i, errno := makeCalls(b.first); errno != 0 {
		tell(execFD, reportSetup, i, uintptr(errno))
		exit(1)
	}
	child, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		tell(execFD, reportSetup, uintptr(len(b.first)), uintptr(errno))
		exit(1)
	}
	if child == 0 {
		i, errno := makeCalls(b.command)
		tell(execFD, reportCommand, i, uintptr(errno))
		exit(127)
	}
	makeCalls(b.after)
	var status uint32
	for {
		// Until nothing is left: what the command leaves behind becomes this process's.
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&status)),
			0x40000000 /* __WALL */, 0, 0, 0)
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			exit(0)
		case pid == child:
			tell(reportFD, reportStatus, uintptr(status), 0)
		}
	}
}

//go:nosplit
//go:norace
func makeCalls(calls []call) (uintptr, syscall.Errno) {
	for i := range calls {
		c := &calls[i]
		_, _, errno := syscall.RawSyscall6(c.number, c.a, c.b, c.c, c.d, c.e, c.f)
		if errno != 0 {
			return uintptr(i), errno
		}
	}
	return 0, 0
}

//go:nosplit
//go:norace
func tell(fd, what, value, more uintptr) {
	words := [3]uint32{uint32(what), uint32(value), uint32(more)}
	syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&words)), unsafe.Sizeof(words))
}

//go:nosplit
//go:norace
func exit(status uintptr) {
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, status, 0, 0)
	}
}
