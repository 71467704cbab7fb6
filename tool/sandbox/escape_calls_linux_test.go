//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"artoo/tool/sandbox/launcher"
)

// The test's own program makes calls that sh cannot: "escape calls" makes all calls
// of the table, "escape VERB ARGUMENT" does one thing for a line of it.
func init() {
	if len(os.Args) < 3 || os.Args[1] != "escape" {
		return
	}
	runtime.LockOSThread()
	if os.Args[2] != "calls" {
		if err := escapeVerbs[os.Args[2]](append(os.Args[3:], "")[0]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil || !strings.Contains(string(status), "\nSeccomp:\t2") {
		fmt.Println("not confined: nothing is tried", err)
		os.Exit(1)
	}
	for _, c := range escapeCalls {
		fmt.Printf("%s: %v\n", c.name, c.try())
	}
	os.Exit(0)
}

// errors of calls that were refused as they should be.
var refusals = []error{unix.EPERM, unix.EACCES, unix.EROFS}

// escapeCalls are calls that must fail with one of the refusals or of as. Those that
// would harm the machine have arguments that the kernel looks at only after it has
// checked the caller.
var escapeCalls = []struct {
	name string
	try  func() error
	as   []error
}{
	{"x32's getpid", sys(1<<30 | unix.SYS_GETPID), []error{unix.ENOSYS}},
	{"x32's socket", sys(1<<30|unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0), []error{unix.ENOSYS}},
	{"x32's ptrace", sys(1<<30|521, unix.PTRACE_TRACEME), []error{unix.ENOSYS}},
	{"the 32-bit getpid", thirtyTwoBit, nil},
	{"unshare of files", sys(unix.SYS_UNSHARE, unix.CLONE_NEWNS), nil},
	{"unshare of the time", sys(unix.SYS_UNSHARE, unix.CLONE_NEWTIME), nil},
	{"unshare of control groups", sys(unix.SYS_UNSHARE, unix.CLONE_NEWCGROUP), nil},
	{"clone3 with arguments", clone3, []error{unix.ENOSYS}},
	{"setns to the first process", enterNamespace, []error{unix.ENOENT}},
	{"fsopen", sys(unix.SYS_FSOPEN, text("tmpfs"), 0), nil},
	{"fspick", sys(unix.SYS_FSPICK, at, text("/"), 0), nil},
	{"move_mount", sys(unix.SYS_MOVE_MOUNT, at, text("/proc"), at, text("/tmp"), 0), nil},
	{"a bind over /etc", sys(unix.SYS_MOUNT, text("/tmp"), text("/etc"), 0, unix.MS_BIND, 0), nil},
	{"the root shared", sys(unix.SYS_MOUNT, 0, text("/"), 0, unix.MS_SHARED|unix.MS_REC, 0), nil},
	{"the mask of a denied file taken off", sys(unix.SYS_UMOUNT2, text(".env"), unix.MNT_DETACH),
		[]error{unix.EINVAL, unix.ENOENT}},
	{"a process file system", sys(unix.SYS_MOUNT, text("proc"), text("/tmp"), text("proc"), 0, 0), nil},
	{"a system file system", sys(unix.SYS_MOUNT, text("sysfs"), text("/tmp"), text("sysfs"), 0, 0), nil},
	{"control groups", sys(unix.SYS_MOUNT, text("cgroup2"), text("/tmp"), text("cgroup2"), 0, 0), nil},
	{"process_madvise", sys(unix.SYS_PROCESS_MADVISE, 0, 0, 0, 0, 0), nil},
	{"kcmp", sys(unix.SYS_KCMP, 1, 1, 0, 0, 0), nil},
	{"a pidfd of the first process's files", sys(unix.SYS_PIDFD_GETFD, ^uintptr(0), 0, 0), nil},
	{"io_uring_enter", sys(unix.SYS_IO_URING_ENTER, 0, 0, 0, 0, 0), nil},
	{"io_uring_register", sys(unix.SYS_IO_URING_REGISTER, 0, 0, 0, 0), nil},
	{"kexec_load", sys(unix.SYS_KEXEC_LOAD, 0, 0, 0, ^uintptr(0)), nil},
	{"finit_module", sys(unix.SYS_FINIT_MODULE, ^uintptr(0), 0, ^uintptr(0)), []error{unix.ENOSYS}},
	{"delete_module", sys(unix.SYS_DELETE_MODULE, 0, 0), nil},
	{"quotactl", sys(unix.SYS_QUOTACTL, 0, 0, 0, 0), nil},
	{"acct", sys(unix.SYS_ACCT, text("/tmp/acct")), nil},
	{"syslog", sys(unix.SYS_SYSLOG, 5 /* clear */, 0, 0), nil},
	{"vhangup", sys(unix.SYS_VHANGUP), nil},
	{"swapoff", sys(unix.SYS_SWAPOFF, 0), nil},
	{"the domain's name", sys(unix.SYS_SETDOMAINNAME, 0, 1<<20), []error{unix.EINVAL}},
	{"the clock by clock_settime", sys(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&badTime))),
		[]error{unix.EINVAL}},
	{"the clock by adjtimex", func() error { _, err := unix.Adjtimex(&unix.Timex{Modes: 1 << 15}); return err },
		[]error{unix.EINVAL}},
	{"real-time scheduling of another", otherScheduler, []error{unix.ESRCH}},
	{"fanotify of the mount", sys(unix.SYS_FANOTIFY_INIT, 0x4 /* FAN_CLASS_CONTENT */, 0), nil},
	{"groups", func() error { return unix.Setgroups([]int{27}) }, nil},
	{"the group root's", func() error { return unix.Setresgid(7, 7, 7) }, []error{unix.EINVAL}},
	{"a capability", addCapability, nil},
	{"a netlink route to elsewhere", addRoute, []error{unix.EAFNOSUPPORT}},
	{"an audit socket", bindNetlink(unix.NETLINK_AUDIT), []error{unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT}},
	{"a bluetooth socket", sys(unix.SYS_SOCKET, unix.AF_BLUETOOTH, unix.SOCK_RAW, 1), []error{unix.EAFNOSUPPORT}},
	{"an XDP socket", sys(unix.SYS_SOCKET, unix.AF_XDP, unix.SOCK_RAW, 0), []error{unix.EAFNOSUPPORT}},
	{"a TIPC socket", sys(unix.SYS_SOCKET, unix.AF_TIPC, unix.SOCK_RDM, 0), []error{unix.EAFNOSUPPORT}},
	{"a CAN socket", sys(unix.SYS_SOCKET, unix.AF_CAN, unix.SOCK_RAW, 1), []error{unix.EAFNOSUPPORT}},
	{"a socket of key management", sys(unix.SYS_SOCKET, unix.AF_KEY, unix.SOCK_RAW, 2), []error{unix.EAFNOSUPPORT}},
	{"an MPTCP diagnosis of others", sys(unix.SYS_SOCKET, unix.AF_SMC, unix.SOCK_STREAM, 0), []error{unix.EAFNOSUPPORT}},
	{"a disk made here", func() error { return madeDevice(unix.S_IFBLK, 254, 0) }, nil},
	{"memory made here", func() error { return madeDevice(unix.S_IFCHR, 1, 1) }, nil},
	{"a kernel message device made here", func() error { return madeDevice(unix.S_IFCHR, 1, 11) }, nil},
	{"the first process's program", opened("/proc/1/exe"), []error{unix.ENOENT}},
	{"the first process's files", opened("/proc/1/fd/3"), []error{unix.ENOENT}},
	{"the first process's environment", opened("/proc/1/environ"), []error{unix.ENOENT}},
	{"the kernel's memory", opened("/proc/kcore"), []error{unix.ENOENT}},
	{"mounts that can be written", writableMounts, nil},
	{"settings that can be written", writableSettings, nil},
	{"capabilities that are left", capabilities, nil},
	{"users that are known", users, nil},
}

func sys(number uintptr, args ...uintptr) func() error {
	return func() error {
		var a [6]uintptr
		copy(a[:], args)
		if r, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
			return errno
		} else if number == unix.SYS_SOCKET {
			unix.Close(int(r))
		}
		return nil
	}
}

const at = ^uintptr(99) // AT_FDCWD

// kept are the strings that calls point to: they must stay.
var kept struct {
	sync.Mutex
	texts []*byte
}

func text(s string) uintptr {
	b, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	kept.Lock()
	kept.texts = append(kept.texts, b)
	kept.Unlock()
	return uintptr(unsafe.Pointer(b))
}

var badTime = unix.Timespec{Nsec: 2e9}

func clone3() error {
	arguments := [11]uint64{unix.CLONE_NEWUSER, 0, 0, 0, uint64(unix.SIGCHLD)}
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&arguments)), unsafe.Sizeof(arguments), 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		unix.Exit(0)
	}
	return nil
}

func enterNamespace() error {
	file, err := os.Open("/proc/1/ns/mnt")
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Setns(int(file.Fd()), unix.CLONE_NEWNS)
}

func otherScheduler() error {
	return unix.SchedSetAttr(victimPid(), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 3}, 0)
}

func victimPid() int {
	pid, err := strconv.Atoi(os.Getenv("VICTIM"))
	if err != nil {
		panic(err)
	}
	return pid
}

func addCapability() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Permitted |= 1 << unix.CAP_SYS_ADMIN
	data[0].Effective |= 1 << unix.CAP_SYS_ADMIN
	return unix.Capset(&header, &data[0])
}

func bindNetlink(protocol int) func() error {
	return func() error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, protocol)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1})
	}
}

// addRoute asks for another interface, as a way out would need one.
func addRoute() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(0)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

func madeDevice(kind uint32, major, minor uint32) error {
	const name = "/tmp/device"
	if err := unix.Mknod(name, kind|0o600, int(unix.Mkdev(major, minor))); err != nil {
		return err
	}
	return opened(name)()
}

func opened(path string) func() error {
	return func() error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = file.Read(make([]byte, 1))
		return err
	}
}

// clean is the error of an audit that found nothing: it counts as refused.
var clean = unix.EPERM

// writableMounts looks for mounts that no command should find.
func writableMounts() error {
	if os.Getenv("MECHANISM") != string(Namespaces) {
		return clean // they are the machine's
	}
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	base := os.Getenv("BASE")
	expected := []string{base + "/project", base + "/home", base + "/cache", base + "/common", "/tmp", "/var/tmp", "/dev/shm", "/dev/pts",
		"/proc", "/dev", launcher.Temp}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		options := strings.Split(fields[5], ",")
		device := strings.HasPrefix(fields[4], "/dev/") && !slices.Contains(expected, fields[4])
		root := fields[4] == "/" || !slices.Contains(options, "rw") || strings.Contains(fields[3], "/"+filepath.Base(base)+"/temp/tmp/") ||
			strings.HasPrefix(fields[4], base+"/project/")
		if !device && !root && !slices.Contains(expected, fields[4]) ||
			!slices.Contains(options, "nosuid") || !device && fields[4] != "/dev/pts" && !slices.Contains(options, "nodev") {
			return errors.New(strings.TrimSpace(line))
		}
	}
	return clean
}

// writableSettings opens the kernel's settings to write, and writes nothing. Directories
// side by side hold the same settings of many things, such as those of each event that can be
// traced: it opens each setting once.
func writableSettings() error {
	var open []string
	tried := map[[2]string]bool{}
	for _, root := range []string{"/proc/sys", "/sys/kernel", "/sys/fs", "/sys/power", "/sys/module"} {
		_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return nil // It is not there, or cannot be listed.
			}
			setting := [2]string{filepath.Dir(filepath.Dir(path)), d.Name()}
			if d.Type().IsRegular() && !tried[setting] {
				tried[setting] = true
				fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
				if err == nil {
					unix.Close(fd)
				}
				if err == nil && d.Name() != "ns_last_pid" {
					open = append(open, path)
				}
			}
			return nil
		})
	}
	if len(open) > 0 {
		return fmt.Errorf("%d, such as %s", len(open), open[0])
	}
	return clean
}

// capabilities are none, or root's over files.
func capabilities() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		switch name {
		case "CapEff", "CapPrm", "CapInh", "CapAmb":
			held, err := strconv.ParseUint(value, 16, 64)
			if err != nil || held&^(1<<unix.CAP_CHOWN|1<<unix.CAP_DAC_OVERRIDE|1<<unix.CAP_FOWNER|1<<unix.CAP_FSETID) != 0 ||
				held != 0 && os.Geteuid() != 0 {
				return fmt.Errorf("%s %s %v", name, value, err)
			}
		case "NoNewPrivs":
			if value != "1" {
				return errors.New(line)
			}
		}
	}
	return clean
}

// users are this one alone, except for root.
func users() error {
	data, err := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(data))
	confined := os.Getenv("MECHANISM") == string(Namespaces) && os.Geteuid() != 0
	if err != nil || confined && (len(fields) != 3 || fields[2] != "1" || fields[0] != fields[1]) {
		return fmt.Errorf("%q %v", data, err)
	}
	return clean
}

// tryCalls makes the calls in a place.
func (w *world) tryCalls(t *testing.T, s *Sandbox, options Options, mechanism string) {
	t.Helper()
	var p *Process
	out := w.capture(t, w.tools+"/escape", []string{"escape", "calls"}, func(cmd *exec.Cmd) (func() error, error) {
		var err error
		if p, err = s.Start(cmd, options); err != nil {
			return nil, err
		}
		return func() error { _, err := p.Wait(); return err }, nil
	})
	defer p.Discard()
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(escapeCalls) {
		t.Fatalf("it printed %s", out)
	}
	for i, c := range escapeCalls {
		said, ok := strings.CutPrefix(lines[i], c.name+": ")
		refused := slices.ContainsFunc(slices.Concat(refusals, c.as), func(err error) bool {
			return strings.HasSuffix(said, err.Error())
		})
		if !ok || !refused {
			t.Errorf("%s: %s", c.name, lines[i])
		}
	}
	for _, way := range w.ways(t, "") {
		t.Error(way)
	}
}

// escapeVerbs are the verbs by which lines of the table use this program. The error is how
// the attempt failed.
var escapeVerbs = map[string]func(argument string) error{
	"tcp":  func(address string) error { return dial("tcp", address) },
	"udp":  func(address string) error { return dial("udp", address) },
	"unix": func(address string) error { return dial("unix", address) },
	"prlimit": func(string) error {
		return unix.Prlimit(victimPid(), unix.RLIMIT_CORE, &unix.Rlimit{Cur: 0, Max: 0}, nil)
	},
	"affinity": func(string) error {
		var set unix.CPUSet
		set.Set(0)
		return unix.SchedSetaffinity(victimPid(), &set)
	},
	"shm": func(id string) error {
		number, err := strconv.Atoi(id)
		if err != nil {
			return err
		}
		memory, err := unix.SysvShmAttach(number, 0, 0)
		if err != nil {
			return err
		}
		fmt.Printf("%s GOT OUT\n", memory[:6])
		return nil
	},
	"queue": func(name string) error {
		fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, text(name), unix.O_RDWR, 0, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		fmt.Println("GOT OUT", fd)
		return nil
	},
	"xattr": func(path string) error { return unix.Setxattr(path, "user.escape", []byte("1"), 0) },
	"trace": func(string) error { return unix.PtraceAttach(victimPid()) },
	"pidfd": func(string) error {
		fd, err := unix.PidfdOpen(victimPid(), 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, syscall.SIGSTOP, nil, 0)
	},
	"peek": func(string) error {
		file, err := os.Open(fmt.Sprintf("/proc/%d/mem", victimPid()))
		if err == nil {
			file.Close()
			fmt.Println("GOT OUT")
		}
		return err
	},
	"handle": func(path string) error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
		if err != nil {
			return err
		}
		root, err := unix.Open(".", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		fd, err := unix.OpenByHandleAt(root, handle, unix.O_RDONLY)
		if err != nil {
			return err
		}
		_, err = fmt.Println("GOT OUT", fd)
		return err
	},
	"signals": func(string) error {
		for number := range 65 {
			if number != int(syscall.SIGKILL) {
				_ = syscall.Kill(1, syscall.Signal(number)) // the first process is blocked from all
			}
		}
		return nil
	},
	// "swap" exchanges two names, for as long as the line beside it takes for its tries: each
	// exchange waits for an answer where writes are judged.
	"swap": func(argument string) error {
		a, b, _ := strings.Cut(argument, ":")
		for n, end := 0, time.Now().Add(60*time.Millisecond); n < 3000 && time.Now().Before(end); n++ {
			_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) // the next one may do
		}
		return nil
	},
}

func dial(network, address string) error {
	conn, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte("x"))
	return err
}
