//go:build amd64 || arm64

package launcher

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where a filter finds things in seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
	offArg1   = 24
	offArg2   = 32
)

// refused are the calls that fail in every sandbox without a report: programs try some of
// them and continue without. The filter looks more closely at clone, ioctl and socket.
var refused = []uint32{
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_BPF, unix.SYS_USERFAULTFD,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_KCMP, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_REBOOT, unix.SYS_KEXEC_LOAD,
	unix.SYS_INIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_QUOTACTL,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
}

// reported are refused too, and reported as denials: no program makes them in passing.
var reported = []uint32{
	unix.SYS_PTRACE, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_UNSHARE, unix.SYS_SETNS,
}

// shared are the calls by which processes of one user meet without a file.
var shared = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV,
	unix.SYS_MSGCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN,
	unix.SYS_MQ_UNLINK,
}

// attributes are the calls that change modes, owners, times and extended attributes.
var attributes = append([]uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR,
	unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}, oldAttributes...)

// onProcess are calls that change a process: which argument is its number, 0 for the caller.
var onProcess = []struct{ number, offset uint32 }{
	{unix.SYS_SETPRIORITY, offArg1}, {unix.SYS_IOPRIO_SET, offArg1},
	{unix.SYS_SCHED_SETAFFINITY, offArg0}, {unix.SYS_SCHED_SETSCHEDULER, offArg0},
	{unix.SYS_SCHED_SETPARAM, offArg0}, {unix.SYS_SCHED_SETATTR, offArg0},
}

// writer is a call that makes an entry in a directory, or changes one: which arguments are
// the directory, the path, and the flags that have to say so, 0 for none.
type writer struct {
	number           uint32
	dir, path, flags int
	old              bool // there has to be one
}

const noDir = -1 // The path of such a writer counts from the working directory.

var writers = append([]writer{
	{unix.SYS_OPENAT, 0, 1, 2, false}, {unix.SYS_MKDIRAT, 0, 1, 0, false}, {unix.SYS_MKNODAT, 0, 1, 0, false},
	{unix.SYS_RENAMEAT, 2, 3, 0, false}, {unix.SYS_RENAMEAT2, 2, 3, 0, false}, {unix.SYS_LINKAT, 2, 3, 0, false},
	{unix.SYS_SYMLINKAT, 1, 2, 0, false}, {unix.SYS_UNLINKAT, 0, 1, 0, true}, {unix.SYS_TRUNCATE, noDir, 0, 0, true},
}, oldWriters...)

const (
	namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME
	setExtended = 0x401c5820 // FS_IOC_FSSETXATTR
)

// filter is a seccomp filter in the making.
type filter struct {
	code   []unix.SockFilter
	report uint32 // the answer to a call that is reported
}

func (f *filter) load(offset uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *filter) answer(value uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value})
}

// jump goes on after skip instructions where the comparison is true, or else
// false.
func (f *filter) jump(how uint16, value uint32, yes, no uint8) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, Jt: yes, Jf: no, K: value})
}

// when gives an answer for one value of the loaded word.
func (f *filter) when(value, answer uint32) {
	f.jump(unix.BPF_JEQ, value, 0, 1)
	f.answer(answer)
}

// argument begins a look at one argument of a call; the func adds to it, and values that it leaves open are allowed.
func (f *filter) argument(number, offset uint32, look func()) {
	at := len(f.code)
	f.jump(unix.BPF_JEQ, number, 0, 0)
	f.load(offset)
	look()
	f.answer(unix.SECCOMP_RET_ALLOW)
	f.code[at].Jf = uint8(len(f.code) - at - 1)
}

func errno(e syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// rules are a command's own rules besides those for all commands.
type rules struct {
	apart   bool   // it has namespaces of its own: processes, networks and System V's memory
	sockets bool   // allows internet and netlink sockets; pairs are always allowed
	unix    bool   // unix sockets with a name
	noExec  bool   // nothing it writes may be executed: the launcher hears of each attempt
	still   bool   // it is read-only: no attributes of files are changed, which Landlock does not hold
	opens   uint32 // the launcher hears of writers, and of opens with one of these flags; 0 for none
}

// Opens that may write.
const (
	opensNew = unix.O_CREAT
	opensOld = unix.O_WRONLY | unix.O_RDWR | unix.O_TRUNC
)

// newFilter makes the filter of commands. With notify, a reported call waits for the
// launcher's answer.
func newFilter(r rules, notify bool) []unix.SockFilter {
	f := &filter{report: errno(unix.EPERM)}
	if notify {
		f.report = unix.SECCOMP_RET_USER_NOTIF
	}
	f.load(offArch)
	f.jump(unix.BPF_JEQ, auditArch, 1, 0)
	f.answer(errno(unix.EPERM))
	f.load(offNumber)
	if x32Bit != 0 {
		f.jump(unix.BPF_JGE, x32Bit, 0, 1)
		f.answer(errno(unix.EPERM))
	}
	for _, number := range refused {
		f.when(number, errno(unix.EPERM))
	}
	for _, number := range reported {
		f.when(number, f.report)
	}
	f.when(unix.SYS_CLONE3, errno(unix.ENOSYS)) // its flags are out of a filter's sight; libraries turn to clone
	if r.noExec {
		f.when(unix.SYS_MEMFD_CREATE, errno(unix.ENOSYS)) // a file that can be executed wherever noexec is
		if notify {
			f.when(unix.SYS_EXECVE, unix.SECCOMP_RET_USER_NOTIF)
			f.when(unix.SYS_EXECVEAT, unix.SECCOMP_RET_USER_NOTIF)
		}
	}
	if r.opens != 0 && notify {
		for _, w := range writers {
			f.argument(w.number, uint32(offArg0+8*w.flags), func() {
				if w.flags != 0 {
					f.jump(unix.BPF_JSET, r.opens, 0, 1)
				}
				f.answer(unix.SECCOMP_RET_USER_NOTIF)
			})
		}
	}
	if r.still {
		for _, number := range attributes {
			f.when(number, f.report)
		}
	}
	f.argument(unix.SYS_CLONE, offArg0, func() {
		f.jump(unix.BPF_JSET, namespaceFlags, 0, 1)
		f.answer(f.report)
	})
	f.argument(unix.SYS_IOCTL, offArg1, func() {
		f.when(unix.TIOCSTI, errno(unix.EPERM))
		f.when(unix.TIOCLINUX, errno(unix.EPERM))
		if r.still {
			f.when(unix.FS_IOC_SETFLAGS, f.report)
			f.when(setExtended, f.report)
		}
	})
	f.limits(r)
	if !r.apart {
		f.others()
	}
	f.sockets(r)
	f.answer(unix.SECCOMP_RET_ALLOW)
	return f.code
}

// others keeps a command from other processes of its user, which no namespace hides.
func (f *filter) others() {
	for _, number := range shared {
		f.when(number, errno(unix.EPERM))
	}
	for _, c := range onProcess {
		f.argument(c.number, c.offset, func() {
			f.jump(unix.BPF_JEQ, 0, 1, 0)
			f.answer(errno(unix.EPERM))
		})
	}
}

// limits has a command believe that it sets the limit of the core dump of a process
// that crashed: careful programs do, and the launcher's limit keeps more from going
// out. Others they may lower, but not another process's where there is no namespace.
func (f *filter) limits(r rules) {
	f.argument(unix.SYS_SETRLIMIT, offArg0, func() { f.when(unix.RLIMIT_CORE, errno(0)) })
	f.argument(unix.SYS_PRLIMIT64, offArg0, func() {
		if !r.apart {
			f.jump(unix.BPF_JEQ, 0, 1, 0)
			f.answer(errno(unix.EPERM))
		}
		f.load(offArg1)
		f.jump(unix.BPF_JEQ, unix.RLIMIT_CORE, 0, 5)
		f.load(offArg2) // where the new limit is; without one it is only read
		f.jump(unix.BPF_JEQ, 0, 0, 2)
		f.load(offArg2 + 4)
		f.jump(unix.BPF_JEQ, 0, 1, 0)
		f.answer(errno(0))
	})
}

func (f *filter) sockets(r rules) {
	f.argument(unix.SYS_SOCKET, offArg0, func() {
		if !r.unix {
			f.when(unix.AF_UNIX, errno(unix.EPERM)) // the C library tries it whenever it looks up a name
		}
		for _, family := range []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK} {
			if r.sockets {
				f.when(family, unix.SECCOMP_RET_ALLOW)
			} else {
				f.when(family, f.report)
			}
		}
		f.answer(errno(unix.EAFNOSUPPORT))
	})
}

// confine puts the calling thread, and all that it starts, under the filter. It
// returns the descriptor that the reports arrive on, -1 for none.
func confine(r rules) (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, failed("give up privileges", err)
	}
	install := func(notify bool, flags uintptr) (uintptr, syscall.Errno) {
		code := newFilter(r, notify)
		program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
		n, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
		runtime.KeepAlive(code)
		return n, e
	}
	n, e := install(true, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if e == 0 {
		return int(n), nil
	}
	// The kernel is old, or a listener already confines this process.
	if _, e = install(false, 0); e != 0 {
		return -1, failed("filter system calls", e)
	}
	return -1, nil
}
