//go:build amd64 || arm64

package launcher

import (
	"runtime"
	"slices"
	"syscall"
	"unsafe"
)

// What a filter answers.
const (
	retAllow  = 0x7fff0000
	retErrno  = 0x00050000
	retNotify = 0x7fc00000
)

// Where a filter finds things in seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
	offArg1   = 24
	offArg2   = 32
)

// Refused wherever commands are confined, without a word: programs try some of
// them and go on without. clone and ioctl are looked at more closely, socket too.
var refused = []uint32{
	syscall.SYS_ADD_KEY, syscall.SYS_REQUEST_KEY, syscall.SYS_KEYCTL, sysBpf, syscall.SYS_PERF_EVENT_OPEN, sysUserfaultfd,
	sysOpenByHandleAt, sysKcmp, syscall.SYS_ACCT, syscall.SYS_SWAPON, syscall.SYS_REBOOT, syscall.SYS_KEXEC_LOAD,
	syscall.SYS_INIT_MODULE, syscall.SYS_DELETE_MODULE, syscall.SYS_QUOTACTL,
	425, 426, 427, // io_uring_setup, io_uring_enter, io_uring_register
	438, 440, 448, // pidfd_getfd, process_madvise, process_mrelease
}

// Refused and told as denials: no program does it by the way.
var told = []uint32{
	syscall.SYS_PTRACE, sysProcessVMReadv, sysProcessVMWritev, syscall.SYS_UNSHARE, sysSetns,
}

// shared are the calls by which processes of one user meet without a file, refused
// where there is no namespace for them.
var shared = []uint32{
	syscall.SYS_SHMGET, syscall.SYS_SHMAT, syscall.SYS_SHMCTL, syscall.SYS_MSGGET, syscall.SYS_MSGSND, syscall.SYS_MSGRCV,
	syscall.SYS_MSGCTL, syscall.SYS_SEMGET, syscall.SYS_SEMOP, syscall.SYS_SEMTIMEDOP, syscall.SYS_SEMCTL, syscall.SYS_MQ_OPEN,
	syscall.SYS_MQ_UNLINK,
}

// laterAttributes are the attributes whose numbers are the same everywhere: fchmodat2,
// setxattrat, removexattrat, file_setattr.
var laterAttributes = []uint32{452, 463, 466, 469}

// onProcess are calls that change a process, with the place of its number among
// the arguments; zero is the caller itself.
var onProcess = []struct{ number, offset uint32 }{
	{syscall.SYS_SETPRIORITY, offArg1}, {syscall.SYS_IOPRIO_SET, offArg1},
	{syscall.SYS_SCHED_SETAFFINITY, offArg0}, {syscall.SYS_SCHED_SETSCHEDULER, offArg0},
	{syscall.SYS_SCHED_SETPARAM, offArg0}, {sysSchedSetattr, offArg0},
}

// writer is a call that makes an entry in a directory, or changes one.
type writer struct {
	number           uint32
	dir, path, flags int
	old              bool // there has to be one
}

const noDir = -1 // The path of such a writer counts from the working directory.

const (
	sysClone3       = 435
	namespaceFlags  = 0x7e020080 // CLONE_NEW…, the time namespace's included
	tiocsti         = 0x5412
	tioclinux       = 0x541c
	setFlags        = 0x40086602 // FS_IOC_SETFLAGS
	setExtended     = 0x401c5820 // FS_IOC_FSSETXATTR
	filterSetMode   = 1
	flagNewListener = 8
)

// filter is a seccomp filter in the making.
type filter struct {
	code []syscall.SockFilter
	told uint32 // the answer for what is told
}

func (f *filter) load(offset uint32) {
	f.code = append(f.code, syscall.SockFilter{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, K: offset})
}

func (f *filter) answer(value uint32) {
	f.code = append(f.code, syscall.SockFilter{Code: syscall.BPF_RET | syscall.BPF_K, K: value})
}

// jump goes on after skip instructions where the comparison is true, or else
// false.
func (f *filter) jump(how uint16, value uint32, yes, no uint8) {
	f.code = append(f.code, syscall.SockFilter{Code: syscall.BPF_JMP | how | syscall.BPF_K, Jt: yes, Jf: no, K: value})
}

// when gives an answer for one value of what is loaded.
func (f *filter) when(value, answer uint32) {
	f.jump(syscall.BPF_JEQ, value, 0, 1)
	f.answer(answer)
}

// argument begins a look at one argument of a call; the func adds to it, and what
// it leaves open is allowed.
func (f *filter) argument(number, offset uint32, look func()) {
	at := len(f.code)
	f.jump(syscall.BPF_JEQ, number, 0, 0)
	f.load(offset)
	look()
	f.answer(retAllow)
	f.code[at].Jf = uint8(len(f.code) - at - 1)
}

func errno(e syscall.Errno) uint32 { return retErrno | uint32(e) }

// rules are what a command may do besides what no command may.
type rules struct {
	apart   bool   // it has namespaces of its own: processes, networks and System V's memory
	sockets bool   // allows internet and netlink sockets; pairs are always allowed
	unix    bool   // unix sockets with a name
	noExec  bool   // nothing it writes may be executed: the launcher is told what is tried
	still   bool   // it is read-only: no attributes of files are changed, which Landlock does not hold
	opens   uint32 // the launcher is told of writers, and of opens with one of these flags; 0 for none
}

// Opens that may write.
const (
	opensNew = syscall.O_CREAT
	opensOld = syscall.O_WRONLY | syscall.O_RDWR | syscall.O_TRUNC
)

// newFilter makes the filter of commands. With notify, what is told waits for the
// launcher's answer.
func newFilter(r rules, notify bool) []syscall.SockFilter {
	f := &filter{told: errno(syscall.EPERM)}
	if notify {
		f.told = retNotify
	}
	f.load(offArch)
	f.jump(syscall.BPF_JEQ, auditArch, 1, 0)
	f.answer(errno(syscall.EPERM))
	f.load(offNumber)
	if x32Bit != 0 {
		f.jump(syscall.BPF_JGE, x32Bit, 0, 1)
		f.answer(errno(syscall.EPERM))
	}
	for _, number := range refused {
		f.when(number, errno(syscall.EPERM))
	}
	for _, number := range told {
		f.when(number, f.told)
	}
	f.when(sysClone3, errno(syscall.ENOSYS)) // its flags are out of a filter's sight; libraries turn to clone
	if r.noExec {
		f.when(sysMemfdCreate, errno(syscall.ENOSYS)) // a file that can be executed wherever noexec is
		if notify {
			f.when(syscall.SYS_EXECVE, retNotify)
			f.when(sysExecveat, retNotify)
		}
	}
	if r.opens != 0 && notify {
		for _, w := range writers {
			f.argument(w.number, uint32(offArg0+8*w.flags), func() {
				if w.flags != 0 {
					f.jump(syscall.BPF_JSET, r.opens, 0, 1)
				}
				f.answer(retNotify)
			})
		}
	}
	if r.still {
		for _, number := range slices.Concat(attributes, laterAttributes) {
			f.when(number, f.told)
		}
	}
	f.argument(syscall.SYS_CLONE, offArg0, func() {
		f.jump(syscall.BPF_JSET, namespaceFlags, 0, 1)
		f.answer(f.told)
	})
	f.argument(syscall.SYS_IOCTL, offArg1, func() {
		f.when(tiocsti, errno(syscall.EPERM))
		f.when(tioclinux, errno(syscall.EPERM))
		if r.still {
			f.when(setFlags, f.told)
			f.when(setExtended, f.told)
		}
	})
	f.limits(r)
	if !r.apart {
		f.others()
	}
	f.sockets(r)
	f.answer(retAllow)
	return f.code
}

// others keeps a command from other processes of its user, which no namespace hides.
func (f *filter) others() {
	for _, number := range shared {
		f.when(number, errno(syscall.EPERM))
	}
	for _, c := range onProcess {
		f.argument(c.number, c.offset, func() {
			f.jump(syscall.BPF_JEQ, 0, 1, 0)
			f.answer(errno(syscall.EPERM))
		})
	}
}

// limits has a command believe that it sets the limit of what is kept of a process
// that crashed: careful programs do, and the launcher's limit keeps more from going
// out. Others they may lower, but not another process's where there is no namespace.
func (f *filter) limits(r rules) {
	f.argument(syscall.SYS_SETRLIMIT, offArg0, func() { f.when(syscall.RLIMIT_CORE, errno(0)) })
	f.argument(sysPrlimit64, offArg0, func() {
		if !r.apart {
			f.jump(syscall.BPF_JEQ, 0, 1, 0)
			f.answer(errno(syscall.EPERM))
		}
		f.load(offArg1)
		f.jump(syscall.BPF_JEQ, syscall.RLIMIT_CORE, 0, 5)
		f.load(offArg2) // where the new limit is; without one it is only read
		f.jump(syscall.BPF_JEQ, 0, 0, 2)
		f.load(offArg2 + 4)
		f.jump(syscall.BPF_JEQ, 0, 1, 0)
		f.answer(errno(0))
	})
}

func (f *filter) sockets(r rules) {
	f.argument(syscall.SYS_SOCKET, offArg0, func() {
		if !r.unix {
			f.when(syscall.AF_UNIX, errno(syscall.EPERM)) // the C library tries it whenever it looks up a name
		}
		for _, family := range []uint32{syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6, syscall.AF_NETLINK} {
			if r.sockets {
				f.when(family, retAllow)
			} else {
				f.when(family, f.told)
			}
		}
		f.answer(errno(syscall.EAFNOSUPPORT))
	})
}

// confine puts the calling thread, and all that it starts, under the filter. It
// returns where what is told can be heard, -1 when it cannot.
func confine(r rules) (listener int, err error) {
	if _, _, e := syscall.Syscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); e != 0 {
		return -1, failed("give up privileges", e)
	}
	install := func(notify bool, flags uintptr) (uintptr, syscall.Errno) {
		code := newFilter(r, notify)
		program := syscall.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
		n, _, e := syscall.Syscall(sysSeccomp, filterSetMode, flags, uintptr(unsafe.Pointer(&program)))
		runtime.KeepAlive(code)
		return n, e
	}
	n, e := install(true, flagNewListener)
	if e == 0 {
		return int(n), nil
	}
	// An old kernel, or somebody listens already to whom this process is confined.
	if _, e = install(false, 0); e != 0 {
		return -1, failed("filter system calls", e)
	}
	return -1, nil
}
