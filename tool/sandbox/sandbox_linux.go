//go:build amd64 || arm64

package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"artoo/tool/sandbox/launcher"
	"golang.org/x/sys/unix"
)

// patience is how long a launcher may take to be ready.
const patience = 5 * time.Second

// environment is a launcher's: it waits in system calls all the time, and Go looks
// only now and then whether one of those may give its turn to another goroutine.
var environment = []string{"GOMAXPROCS=32"}

// Sandbox is a launcher at work. Its methods may be called from any goroutine.
type Sandbox struct {
	config Config
	facts  Facts
	places places

	running running
	mu      sync.Mutex
	socket  *net.UnixConn
	pid     int           // of the launcher
	ended   chan struct{} // closed when the launcher has
	locks   []*os.File    // of the caches
	doors   []net.Listener
}

// Open starts a launcher. Facts say what it can do, as Probe and Facts.For found.
// ErrUnconfined is returned by Start for what they do not hold.
func Open(ctx context.Context, config Config, facts Facts) (*Sandbox, error) {
	config.Limits = config.Limits.orDefault()
	s := &Sandbox{config: config, facts: facts, ended: make(chan struct{})}
	setup := launcher.Setup{Mechanism: string(facts.Mechanism)}
	if facts.Mechanism != None {
		var err error
		if s.places, err = s.locate(); err != nil {
			s.Close()
			return nil, fmt.Errorf("sandbox: %w", err)
		}
		setup.Steps, setup.Ports = s.places.steps, config.Loopback
		setup.Home, setup.Scratch, setup.Disk = s.places.home, s.places.scratch, s.places.disk
	}
	if err := s.start(ctx, setup); err != nil {
		s.Close()
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return s, nil
}

func (l Limits) orDefault() Limits {
	if l.Processes == 0 {
		l.Processes = 512
	}
	if l.Memory == 0 {
		l.Memory = 2 << 30
	}
	if l.Layer == 0 {
		l.Layer = 1 << 30
	}
	return l
}

// start starts the launcher and waits until it is ready.
func (s *Sandbox) start(ctx context.Context, setup launcher.Setup) error {
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	s.socket = ours
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{launcher.Name}, Env: environment, Dir: "/",
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if s.facts.Mechanism == Namespaces {
		cmd.SysProcAttr = namespaces()
	}
	begun := make(chan error)
	go s.parent(cmd, begun)
	err = <-begun
	theirs.Close()
	if err != nil {
		close(s.ended)
		return err
	}
	deadline := time.Now().Add(patience)
	if until, ok := ctx.Deadline(); ok && until.Before(deadline) {
		deadline = until
	}
	if err := s.socket.SetDeadline(deadline); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.socket.SetDeadline(time.Unix(1, 0)) }) // it may be closed already
	defer stop()
	if _, err := s.socket.Write(setup.Encode()); err != nil {
		return err
	}
	said, files, err := receive(s.socket)
	if err != nil {
		return fmt.Errorf("the launcher ended: %w", err)
	}
	if err := refusal(said); err != nil {
		return err
	}
	s.open(files)
	return s.socket.SetDeadline(time.Time{})
}

// parent starts the launcher and waits for its end. The kernel ends a launcher
// together with the thread that started it: this one stays.
func (s *Sandbox) parent(cmd *exec.Cmd, begun chan<- error) {
	runtime.LockOSThread()
	err := dumpable(cmd.Start)
	if err == nil {
		s.pid = cmd.Process.Pid
	}
	begun <- err
	if err == nil {
		_ = cmd.Wait() // how it ended matters to nobody: what it ran is told by the sockets
		close(s.ended)
	}
	runtime.UnlockOSThread()
}

// dumpable calls start while the process is dumpable: what a process that is not
// has started belongs to root in /proc until it runs its program, and an ordinary
// user could not write its user map. It is as before within a millisecond or two.
func dumpable(start func() error) error {
	was, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || was != 0 {
		return start()
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return err
	}
	return errors.Join(start(), unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}

// namespaces has a process started in namespaces of its own, as the same user.
func namespaces() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Setpgid: true, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		// The last three are overlay's, whose working directory nobody else may enter.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE,
			unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN},
	}
	if os.Geteuid() == 0 {
		// Root works on the files of others: their owners must be known inside.
		if users, groups := ownMap("uid"), ownMap("gid"); users != nil && groups != nil {
			attr.UidMappings, attr.GidMappings = users, groups
			allowed, err := os.ReadFile("/proc/self/setgroups") // what was denied outside stays so
			attr.GidMappingsEnableSetgroups = err == nil && strings.TrimSpace(string(allowed)) == "allow"
		}
		attr.AmbientCaps = nil
	}
	return attr
}

// ownMap is the identity on all user or group numbers of this process's namespace;
// nil where they cannot be read.
func ownMap(kind string) []syscall.SysProcIDMap {
	data, err := os.ReadFile("/proc/self/" + kind + "_map")
	if err != nil {
		return nil
	}
	var list []syscall.SysProcIDMap
	for rest := string(data); ; {
		var inside, outside, size int
		if n, err := fmt.Sscan(rest, &inside, &outside, &size); n != 3 || err != nil {
			return list
		}
		list = append(list, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
		_, after, ok := cutLine(rest)
		if !ok {
			return list
		}
		rest = after
	}
}

// Close ends the launcher, and with it every command that still runs.
func (s *Sandbox) Close() error {
	for _, door := range s.doors {
		door.Close()
	}
	if s.socket == nil {
		return nil
	}
	err := s.socket.Close()
	<-s.ended
	for _, lock := range s.locks {
		// Overlay closes its own directory to everybody; the user may want to remove it.
		work := filepath.Join(filepath.Dir(lock.Name()), "work", "work")
		if openErr := os.Chmod(work, 0o700); openErr != nil && !errors.Is(openErr, os.ErrNotExist) {
			err = errors.Join(err, openErr)
		}
		lock.Close()
	}
	return err
}

// looks is how often what is denied is looked for anew while it is moved about.
const looks = 5

// Start runs a command: its Path, which is absolute, Args, Env (nothing of artoo's
// own environment where it is nil), Dir (the project's root where it is empty) and
// streams, each an *os.File or nil. The other fields are not looked at.
//
// The error is ErrBusy for a layer while a command runs that may write, for such a
// command while one runs that needs the files to stay where they are, and where what
// is denied is moved about all the time.
func (s *Sandbox) Start(cmd *exec.Cmd, options Options) (*Process, error) {
	if (options.Layer || options.ReadOnly) && !s.facts.Layer {
		return nil, ErrUnconfined
	}
	var p *Process
	var err error
	for range looks {
		var moved *movedError
		if p, err = s.look(cmd, options); p != nil || err != nil && !errors.As(err, &moved) {
			break
		}
	}
	return p, err
}

// look starts a command, with what is denied as it is now. Without an error and a
// process it found that this has to be looked for once more.
func (s *Sandbox) look(cmd *exec.Cmd, options Options) (*Process, error) {
	beside, leave, err := s.running.enter(options)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	line, err := s.line(cmd, options)
	if err == nil && options.ReadOnly && !s.running.hides(line) {
		leave()
		return nil, nil
	}
	line.Beside = beside
	var p *Process
	if err == nil {
		p, err = s.try(cmd, line)
	}
	if err != nil {
		leave()
		return nil, err
	}
	p.options, p.leave = options, leave
	return p, nil
}

// try has the launcher start a command.
func (s *Sandbox) try(cmd *exec.Cmd, line launcher.Line) (*Process, error) {
	streams, closeNull, err := streamsOf(cmd)
	if err != nil {
		return nil, err
	}
	defer closeNull()
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	fds := []int{int(theirs.Fd())}
	for _, file := range streams {
		fds = append(fds, int(file.Fd()))
	}
	begun := time.Now()
	s.mu.Lock()
	_, _, err = s.socket.WriteMsgUnix(launcher.Encode(), unix.UnixRights(fds...), nil)
	s.mu.Unlock()
	theirs.Close()
	runtime.KeepAlive(streams)
	if err == nil {
		_, err = ours.Write(line.Encode())
	}
	var said [][]string
	if err == nil {
		said, _, err = receive(ours)
	}
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("sandbox: the launcher has ended: %w", err)
	}
	if err := refusal(said); err != nil {
		ours.Close()
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return &Process{socket: ours, onDisk: s.facts.LayerOnDisk, begun: begun, writable: line.Writable, denied: line.Denied}, nil
}

// sandboxed is how many times more processes a command in the sandbox may start than
// one on a layer: builds and servers run there.
const sandboxed = 8

// line says what to run, and how.
func (s *Sandbox) line(cmd *exec.Cmd, options Options) (launcher.Line, error) {
	if cmd.Err != nil {
		return launcher.Line{}, cmd.Err
	}
	dir := cmp.Or(cmd.Dir, s.config.Root)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // a link outside of what is granted is not there inside
	}
	line := launcher.Line{
		Path: cmd.Path, Dir: dir, Args: cmd.Args, Env: cmd.Env,
		Layer: options.Layer, ReadOnly: options.ReadOnly, Exec: options.Exec, Caches: options.Caches,
		Writable: s.places.write, Readable: s.places.granted,
		Processes: int64(s.config.Limits.Processes), Memory: s.config.Limits.Memory, Size: s.config.Limits.Layer,
		Grace: options.Grace.Milliseconds(),
	}
	if s.facts.Mechanism == None {
		return line, nil
	}
	if !options.Layer && !options.ReadOnly {
		line.Processes *= sandboxed
	}
	line.Env = append(slices.Clip(line.Env), s.places.environ...)
	var err error
	if s.config.Denied != nil {
		if line.Denied, err = s.config.Denied(); err != nil {
			return line, fmt.Errorf("sandbox: denied files: %w", err)
		}
	}
	if s.facts.Mechanism == Namespaces {
		open, err := s.places.sockets()
		if err != nil {
			return line, fmt.Errorf("sandbox: sockets of others: %w", err)
		}
		line.Denied = slices.Concat(line.Denied, open)
	}
	if s.config.Protected != nil && !options.Layer && !options.ReadOnly {
		if line.Protected, err = s.config.Protected(); err != nil {
			return line, fmt.Errorf("sandbox: files that others run: %w", err)
		}
	}
	return line, nil
}

// streamsOf are a command's three streams. The func closes what was opened for
// those that are nil.
func streamsOf(cmd *exec.Cmd) (streams []*os.File, closeNull func(), err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, stream := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		file, ok := stream.(*os.File)
		if stream == nil {
			file, ok = null, true
		}
		if !ok {
			null.Close()
			return nil, nil, errors.New("sandbox: a command's streams are files")
		}
		streams = append(streams, file)
	}
	return streams, func() { null.Close() }, nil
}

// socketPair makes two ends of a stream: one for this process, one to pass on.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "launcher's end")
	mine := os.NewFile(uintptr(fds[0]), "own end")
	defer mine.Close()
	conn, err := net.FileConn(mine)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}

// receive reads a frame, and the files that came with it.
func receive(conn *net.UnixConn) ([][]string, []*os.File, error) {
	head := make([]byte, 4)
	oob := make([]byte, unix.CmsgSpace(4*32))
	var files []*os.File
	for got := 0; got < len(head); {
		n, oobn, _, _, err := conn.ReadMsgUnix(head[got:], oob)
		if err != nil {
			return nil, files, err
		}
		got += n
		more, err := filesOf(oob[:oobn])
		files = append(files, more...)
		if err != nil {
			return nil, files, err
		}
	}
	size, err := launcher.Length(head)
	if err != nil {
		return nil, files, err
	}
	body := make([]byte, size)
	if err := readFull(conn, body); err != nil {
		return nil, files, err
	}
	lists, err := launcher.Decode(body)
	if err == nil && (len(lists) == 0 || len(lists[0]) == 0) {
		err = errors.New("an empty answer")
	}
	return lists, files, err
}

func filesOf(oob []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "from the launcher"))
		}
	}
	return files, nil
}

// refusal is the error that the launcher told.
func refusal(said [][]string) error {
	if said[0][0] == launcher.SayFailed && len(said[0]) == 2 {
		return errors.New(said[0][1])
	}
	if said[0][0] == launcher.SayMoved && len(said[0]) == 2 {
		return &movedError{said[0][1]}
	}
	if !slices.Contains([]string{launcher.SayReady, launcher.SayStarted}, said[0][0]) {
		return errors.New("an unknown answer of the launcher")
	}
	return nil
}
