//go:build amd64 || arm64

package launcher

import (
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

func init() {
	if startedAs() == Name {
		syscall.Exit(serve())
	}
}

// startedAs is the name the process was started under. Package os would know it,
// but may not have been initialised.
func startedAs() string {
	line, err := readFile("/proc/self/cmdline")
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(line, "\x00")
	return name
}

// server is a launcher at work.
type server struct {
	setup  Setup
	socket int
	root   bool // commands run as root
	hidden hidden

	caches []cache
	unix   bool // a command's unix sockets can be held to its own temporary files

	rooms atomic.Int32
	known struct { // commands that run, by their first process
		sync.Mutex
		first map[int]bool
	}
	counters struct {
		sync.Mutex
		unroutable, opened, refused int
	}
}

// firstFree is the least descriptor that the launcher uses itself: those below
// are for what it starts.
const firstFree = 10

// serve starts commands until the socket closes, and returns the exit status of
// the process.
func serve() int {
	syscall.Syscall6(syscall.SYS_PRCTL, 41, 1, 0, 0, 0, 0)
	s := &server{root: syscall.Geteuid() == 0}
	s.known.first = map[int]bool{}
	if err := s.reserve(); err != nil {
		return 1
	}
	body, _, err := readFrame(s.socket)
	if err == nil {
		s.setup, err = decodeSetup(body)
	}
	var listening []int
	ready := []string{SayReady, "", ""}
	if err == nil {
		listening, err = s.prepare()
	}
	if err == nil && s.setup.Mechanism == "namespaces" {
		where, why := s.findRoom()
		if ready[1] = where; why != nil {
			ready[2] = why.Error()
		}
	}
	if err != nil {
		_ = writeFrame(s.socket, Encode([]string{SayFailed, err.Error()})) // the exit status says as much
		return 1
	}
	if err := writeFrame(s.socket, Encode(ready), listening...); err != nil {
		return 1
	}
	for _, fd := range listening {
		syscall.Close(fd)
	}
	for {
		_, fds, err := readFrame(s.socket)
		if err != nil {
			s.end()
			return 0
		}
		if len(fds) != 4 {
			return 1
		}
		go s.line(fds[0], [3]int(fds[1:]))
	}
}

// sharedProc reports whether commands see the processes of the machine: the kernel
// would not let others be mounted.
func (s *server) sharedProc() bool {
	for _, step := range s.setup.Steps {
		if step.Op == OpProc {
			return step.From != ""
		}
	}
	return false
}

// reserve moves the socket away and fills the descriptors below firstFree, so that
// nothing else gets one of them.
func (s *server) reserve() error {
	fd, err := duplicate(FD, firstFree)
	if err != nil {
		return err
	}
	s.socket = fd
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for i := range firstFree {
		if i != null {
			if err := syscall.Dup3(null, i, syscall.O_CLOEXEC); err != nil {
				return err
			}
		}
	}
	if null >= firstFree {
		return syscall.Close(null)
	}
	return nil
}

// duplicate is dup with a least number.
func duplicate(fd, least int) (int, error) {
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, uintptr(least))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}

// prepare makes what all commands share, and returns the sockets that listen.
func (s *server) prepare() ([]int, error) {
	if s.setup.Mechanism != "none" {
		// Where the machine sends what a crashed process held to a program, it does so
		// whatever the limit, except with this one. Where a limit of 0 binds, it stays.
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: 1, Max: 1})
	}
	if s.setup.Mechanism != "namespaces" {
		_, _, errno := syscall.Syscall(syscall.SYS_PRCTL, prSetSubreaper, 1, 0)
		if errno != 0 {
			return nil, failed("become the parent of orphans", errno)
		}
		return nil, nil
	}
	if err := loopbackUp(); err != nil {
		return nil, failed("start the loopback", err)
	}
	if err := s.makeTree(); err != nil {
		return nil, err
	}
	s.counters.unroutable, s.counters.opened, s.counters.refused = network()
	s.unix = landlockVersion() >= scopesSockets
	var listening []int
	for _, port := range s.setup.Ports {
		fd, err := listen(port)
		if err != nil {
			return nil, failed("listen on the loopback", err)
		}
		listening = append(listening, fd)
	}
	return listening, nil
}

// loopbackUp starts the loopback interface of the network namespace.
func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], "lo")
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return errno
	}
	return nil
}

// listen opens a port of the loopback.
func listen(port int) (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err == nil {
		err = syscall.Listen(fd, 64)
	}
	if err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}
