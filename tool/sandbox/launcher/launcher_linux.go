//go:build amd64 || arm64

package launcher

import (
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

func init() {
	switch startedAs() {
	case Name:
		unix.Exit(serve())
	case OverName:
		over()
		unix.Exit(1)
	}
}

// startedAs is the name the process was started under. Package os may not be initialised yet.
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
	// sharedProc says that commands see the machine's processes: no other proc could be mounted.
	sharedProc bool

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

// firstFree is the least descriptor of the launcher's own: those below are for its children.
const firstFree = 10

// serve starts commands until the socket closes, and returns the exit status.
func serve() int {
	_ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) // an old kernel has no such switch
	s := &server{root: unix.Geteuid() == 0}
	s.known.first = map[int]bool{}
	if err := s.reserve(); err != nil {
		return 1
	}
	_, err := ReadFrame(s.socket, &s.setup)
	var listening []int
	ready := Answer{Say: SayReady}
	if err == nil {
		listening, err = s.prepare()
	}
	if err == nil && s.setup.Mechanism == "namespaces" {
		where, why := s.findRoom()
		if ready.Where = where; why != nil {
			ready.Why = why.Error()
		}
	}
	if err != nil {
		_ = WriteFrame(s.socket, Answer{Say: SayFailed, Why: err.Error()}) // the exit status says as much
		return 1
	}
	if err := WriteFrame(s.socket, ready, listening...); err != nil {
		return 1
	}
	for _, fd := range listening {
		unix.Close(fd)
	}
	for {
		fds, err := ReadFrame(s.socket, &struct{}{})
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

// reserve moves the socket away and occupies the descriptors below firstFree.
func (s *server) reserve() error {
	fd, err := unix.FcntlInt(FD, unix.F_DUPFD_CLOEXEC, firstFree)
	if err != nil {
		return err
	}
	s.socket = fd
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for i := range firstFree {
		if i != null {
			if err := unix.Dup3(null, i, unix.O_CLOEXEC); err != nil {
				return err
			}
		}
	}
	if null >= firstFree {
		return unix.Close(null)
	}
	return nil
}

// prepare makes the things that all commands share, and returns the sockets that listen.
func (s *server) prepare() ([]int, error) {
	if s.setup.Mechanism != "none" {
		// A machine that sends the memory of crashed processes to a program does so whatever the limit, except with
		// this one. Where a limit of 0 binds, it stays.
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
	}
	if s.setup.Mechanism != "namespaces" {
		return nil, failed("become the parent of orphans", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	}
	if !s.setup.Network {
		if err := loopbackUp(); err != nil {
			return nil, failed("start the loopback", err)
		}
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
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// listen opens a port of the loopback.
func listen(port int) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err == nil {
		err = unix.Listen(fd, 64)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
