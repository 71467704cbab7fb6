//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// TestMain lets the test's own program play the confined one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "attempts" {
		runtime.LockOSThread()
		for _, a := range attempts {
			fmt.Printf("%s: %v\n", a.name, a.try())
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == "host" {
		os.Exit(host(Mechanism(os.Args[2])))
	}
	if len(os.Args) >= 3 && os.Args[1] == "probe" {
		os.Exit(probeWithin(os.Args[2], strings.Join(os.Args[3:], "")))
	}
	os.Exit(m.Run())
}

// attempts are calls that the kernel must refuse; try returns its error.
var attempts = []struct {
	name string
	try  func() error
}{
	{"a new user namespace", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{"a new mount namespace", func() error { return unix.Unshare(unix.CLONE_NEWNS) }},
	{"clone with a namespace", func() error { return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)) }},
	{"clone with a network namespace", func() error { return call(unix.SYS_CLONE, unix.CLONE_NEWNET|uintptr(unix.SIGCHLD)) }},
	{"clone with a time namespace", func() error { return call(unix.SYS_CLONE, unix.CLONE_NEWTIME|uintptr(unix.SIGCHLD)) }},
	{"clone3", func() error { return call(unix.SYS_CLONE3, 0, 0) }},
	{"setns", func() error { return call(unix.SYS_SETNS, 0, 0) }},
	{"mount", func() error { return unix.Mount("tmpfs", "/tmp", "tmpfs", 0, "") }},
	{"remount the root writable", func() error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	{"remount /usr writable", func() error { return unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	{"umount", func() error { return unix.Unmount("/proc", unix.MNT_DETACH) }},
	{"mount_setattr", func() error {
		return unix.MountSetattr(unix.AT_FDCWD, "/usr", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}},
	{"open_tree", func() error {
		_, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
		return err
	}},
	{"chroot", func() error { return unix.Chroot("/tmp") }},
	{"pivot_root", func() error { return unix.PivotRoot("/tmp", "/tmp") }},
	{"ptrace", func() error { return unix.PtraceAttach(1) }},
	{"process_vm_readv", func() error { return call(unix.SYS_PROCESS_VM_READV, 1, 0, 0, 0, 0, 0) }},
	{"process_vm_writev", func() error { return call(unix.SYS_PROCESS_VM_WRITEV, 1, 0, 0, 0, 0, 0) }},
	{"memory of the first process", func() error {
		f, err := os.OpenFile("/proc/1/mem", os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return err
	}},
	{"files of the first process", func() error {
		_, err := os.ReadDir("/proc/1/root")
		return err
	}},
	{"io_uring_setup", func() error { return call(unix.SYS_IO_URING_SETUP, 1, 0) }},
	{"keyctl", func() error { return call(unix.SYS_KEYCTL, 0, 0) }},
	{"add_key", func() error { return call(unix.SYS_ADD_KEY, 0, 0, 0, 0, 0) }},
	{"request_key", func() error { return call(unix.SYS_REQUEST_KEY, 0, 0, 0, 0) }},
	{"bpf", func() error { return call(unix.SYS_BPF, 0, 0, 0) }},
	{"perf_event_open", func() error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0) }},
	{"userfaultfd", func() error { return call(unix.SYS_USERFAULTFD, 0) }},
	{"open_by_handle_at", func() error { return call(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0) }},
	{"pidfd_getfd", func() error { return call(unix.SYS_PIDFD_GETFD, 0, 0, 0) }},
	{"a call of x32", func() error { return call(0x40000000 | unix.SYS_GETPID) }},
	{"an abstract socket of the machine", func() error {
		name, err := os.ReadFile("abstract")
		if err != nil {
			return nil
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &unix.SockaddrUnix{Name: string(name)})
	}},
	{"TIOCSTI", func() error { return call(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0) }},
	{"TIOCSTI with high bits", func() error { return call(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32, 0) }},
	{"TIOCLINUX", func() error { return call(unix.SYS_IOCTL, 0, unix.TIOCLINUX, 0) }},
	{"the terminal", func() error {
		f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return err
	}},
	{"a packet socket", func() error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	{"a vsock", func() error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
	{"a raw socket", func() error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
	{"an algorithm socket", func() error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) }},
	{"a block device", func() error { return unix.Mknod("device", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0))) }},
	{"a character device", func() error { return unix.Mknod("device", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1))) }},
	{"setuid of another user", func() error { return unix.Setuid(12345) }},
	{"a host name", func() error { return unix.Sethostname([]byte("x")) }},
	{"the clock", func() error { return unix.Settimeofday(&unix.Timeval{}) }},
	{"a kernel module", func() error { return call(unix.SYS_INIT_MODULE, 0, 0, 0) }},
	{"reboot", func() error { return call(unix.SYS_REBOOT, 0, 0, 0, 0) }},
	{"swapon", func() error { return call(unix.SYS_SWAPON, 0, 0) }},
	{"a kernel setting", func() error { return os.WriteFile("/proc/sys/kernel/core_pattern", []byte("core"), 0) }},
	{"sysrq", func() error { return os.WriteFile("/proc/sysrq-trigger", []byte("s"), 0) }},
	{"a file of the system", func() error { return os.WriteFile("/etc/artoo-was-here", nil, 0o644) }},
	{"a file of the kernel's", func() error { return os.WriteFile("/sys/kernel/mm/ksm/run", []byte("0"), 0) }},
	{"a file at the root", func() error { return os.WriteFile("/artoo-was-here", nil, 0o644) }},
	{"the machine's disk", func() error {
		f, err := os.Open("/dev/vda")
		if err == nil {
			f.Close()
		}
		return err
	}},
	{"a raised limit", func() error {
		// Setting it is answered as if it had been; it is not.
		err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
		var now unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_CORE, &now) != nil || now.Max > 1 {
			return err
		}
		if err := unix.Getrlimit(unix.RLIMIT_NPROC, &now); err != nil {
			return err
		}
		return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: now.Max + 1, Max: now.Max + 1})
	}},
}

func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// refusedAs are other errors than EPERM and its like, where they say as much.
var refusedAs = map[string][]error{
	"clone3":                            {unix.ENOSYS},
	"a packet socket":                   {unix.EAFNOSUPPORT},
	"a vsock":                           {unix.EAFNOSUPPORT},
	"an algorithm socket":               {unix.EAFNOSUPPORT},
	"the terminal":                      {unix.ENOENT, unix.ENXIO},
	"the machine's disk":                {unix.ENOENT},
	"a file of the kernel's":            {unix.EROFS, unix.ENOENT},
	"a call of x32":                     {unix.ENOSYS},
	"an abstract socket of the machine": {unix.ECONNREFUSED},
	"sysrq":                             {unix.ENOENT},
	"setuid of another user":            {unix.EINVAL},
	"files of the first process":        {unix.EACCES},
	"memory of the first process":       {unix.EACCES},
}

func TestTheKernelRefusesWhatLeadsOut(t *testing.T) {
	for name, options := range map[string]Options{"sandbox": {}, "layer": {Layer: true, Exec: true}, "reading": {ReadOnly: true, Exec: true}} {
		t.Run(name, func(t *testing.T) {
			s, root := open(t, nil)
			program := filepath.Join(root, "attempts")
			copyFile(t, "/proc/self/exe", program)
			abstract := fmt.Sprintf("@artoo-test-%d", os.Getpid())
			listener, err := net.Listen("unix", abstract)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			write(t, root, "abstract", abstract)
			out, exit, p := run(t, s, options, "./attempts attempts")
			defer p.Discard()
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			if len(lines) != len(attempts) || exit.Status != 0 {
				t.Fatalf("it ended with %+v and printed\n%s", exit, out)
			}
			for i, line := range lines {
				what, got, _ := strings.Cut(line, ": ")
				if what != attempts[i].name {
					t.Fatalf("line %d is %q", i, line)
				}
				allowed := append([]error{unix.EPERM, unix.EACCES, unix.EROFS}, refusedAs[what]...)
				if !slices.ContainsFunc(allowed, func(err error) bool { return strings.HasSuffix(got, err.Error()) }) {
					t.Errorf("%s: %s", what, got)
				}
			}
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
}

// TestAnyOrdinaryUserIsConfinedToo runs the tests of this package again as nobody, except
// those of real programs, which would begin with nothing built, and those that do
// the same for themselves.
func TestAnyOrdinaryUserIsConfinedToo(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	list, err := exec.Command("/proc/self/exe", "-test.list", "^Test").Output()
	if err != nil {
		t.Fatal(err)
	}
	others := regexp.MustCompile("RealProgram|OrdinaryUser|Profile|GetsOut|GetOut")
	all := slices.DeleteFunc(strings.Fields(string(list)), others.MatchString)
	var tried []string
	for _, i := range sweep.Cases(t, 8, len(all)) {
		tried = append(tried, all[i])
	}
	asNobody(t, "-test.run", "^("+strings.Join(tried, "|")+")$")
	needs.Namespaces(t)
}

// furtherGroup is another group of the ordinary user's.
const furtherGroup = 64242

// asNobody runs tests of this package again as an ordinary user; where that user runs them already, it does nothing.
func asNobody(t *testing.T, which ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	base, err := os.MkdirTemp("", "artoo-ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	const nobody = 65534
	if err := os.Chown(base, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", which...)
	cmd.Dir = base
	cmd.Env = append(os.Environ(), "TMPDIR="+base, "HOME="+base)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{nobody, furtherGroup}}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
