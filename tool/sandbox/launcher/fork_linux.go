//go:build amd64 || arm64

package launcher

//lint:file-ignore U1000 fork.s calls live, and the kernel reads all of a call

import (
	"syscall"
	"unsafe"
)

// call is one system call, with all that it needs prepared.
type call struct{ number, a, b, c, d, e, f uintptr }

// birth is all that the first process of a command and the command itself do between being cloned and running a
// program. Both share the launcher's memory, as after vfork: copying it took longer than all the rest. They are neither
// threads of Go's nor may they allocate, grow a stack or meet the scheduler. So their work is a list of calls, made
// before, and code that only makes them, on stacks of their own. All of it has to stay until the first process has been
// waited for.
type birth struct {
	first   []call  // The first process makes these.
	command []call  // The command makes these; the last one is execve.
	after   []call  // The first process makes these once the command runs.
	live    uintptr // where live begins
	stacks  [2][4096]uintptr
}

// Descriptors of the first process.
const (
	reportFD = 3 // reports how the command ended
	execFD   = 4 // names the call that failed, and ends when the command runs
	rulesFD  = 5 // Landlock's rules for the command
)

// The kinds of a report: three words, the second and third as named.
const (
	reportSetup   = 1 + iota // the first process failed: which call, error number
	reportCommand            // the command failed: which call, error number
	reportStatus             // the command ended: status, 0
)

// The roles of cloned processes.
const (
	roleFirst = iota
	roleCommand
)

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

// cloneOn is clone, with the child on a stack that grows down from an address.
// There it calls live, by its address: by its name the compiler would put a function
// between them, which informs the race detector's runtime of the call. The error is a
// negative number.
//
//go:noescape
func cloneOn(flags, stack uintptr, b *birth, role, live uintptr) (pid uintptr)

// clone makes a process in a role.
//
//go:nosplit
//go:norace
func (b *birth) clone(role, flags uintptr) (pid uintptr, errno syscall.Errno) {
	stack := &b.stacks[role]
	top := uintptr(unsafe.Pointer(stack)) + unsafe.Sizeof(*stack)
	pid = cloneOn(syscall.CLONE_VM|uintptr(syscall.SIGCHLD)|flags, top&^15, b, role, b.live)
	if pid > ^uintptr(4095) {
		return 0, syscall.Errno(-pid)
	}
	return pid, 0
}

// fork starts the first process. All signals are blocked in it.
//
//go:norace
func (b *birth) fork() (pid int, err error) {
	first := live
	b.live = **(**uintptr)(unsafe.Pointer(&first)) // a func is the address of where it begins
	beforeFork()
	child, errno := b.clone(roleFirst, 0)
	afterFork()
	if errno != 0 {
		return 0, errno
	}
	return int(child), nil
}

// live is the life of a cloned process. It does not return.
//
//go:nosplit
//go:norace
func live(b *birth, role uintptr) {
	if role == roleCommand {
		i, errno := makeCalls(b.command)
		tell(execFD, reportCommand, i, uintptr(errno))
		exit(127)
	}
	if i, errno := makeCalls(b.first); errno != 0 {
		tell(execFD, reportSetup, i, uintptr(errno))
		exit(1)
	}
	child, errno := b.clone(roleCommand, syscall.CLONE_VFORK)
	if errno != 0 {
		tell(execFD, reportSetup, uintptr(len(b.first)), uintptr(errno))
		exit(1)
	}
	makeCalls(b.after)
	var status uint32
	for {
		// Until nothing is left: orphans of the command become this process's.
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

// pins holds the memory that the calls of a birth point to, until they are made.
type pins []any

func (p *pins) text(s string) uintptr {
	b, err := syscall.BytePtrFromString(s)
	if err != nil {
		b = new(byte) // a string with a NUL names nothing
	}
	*p = append(*p, b)
	return uintptr(unsafe.Pointer(b))
}

func (p *pins) texts(list []string) uintptr {
	pointers := make([]uintptr, 0, len(list)+1)
	for _, s := range list {
		pointers = append(pointers, p.text(s))
	}
	pointers = append(pointers, 0)
	*p = append(*p, pointers)
	return uintptr(unsafe.Pointer(&pointers[0]))
}

func pin[T any](p *pins, value T) uintptr {
	b := &value
	*p = append(*p, b)
	return uintptr(unsafe.Pointer(b))
}
