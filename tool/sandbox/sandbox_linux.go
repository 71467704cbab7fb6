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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"artoo/tool/sandbox/launcher"
	"artoo/tool/tempdir"
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

	where  string       // layers lie: launcher.OnDisk, launcher.InMemory, "" for nowhere
	why    string       // nowhere
	room   *tempdir.Dir // the writes of commands lie there, on disk; nil with Landlock or nothing
	kept   string       // the directory of the project's kept caches, or ""
	shown  string       // the directory of files that are seen in place of the project's, or ""
	mu     sync.Mutex
	socket channel
	pid    int
	ended  chan struct{} // closed when the launcher has
	locks  []*os.File
	caches []string // artoo's own side of each, as the launcher numbers them

	ownCaches []string   // all of those
	merging   sync.Mutex // held while caches are written
	doors     []net.Listener
	served    int // the port of Config.Served, 0 for none
	commands  sync.WaitGroup
}

// Open starts a launcher. Facts are its abilities, as Probe and Facts.For found. Start returns ErrUnconfined for a
// place beyond them.
func Open(ctx context.Context, config Config, facts Facts) (*Sandbox, error) {
	config.Limits = config.Limits.orDefault()
	s := &Sandbox{config: config, facts: facts, ended: make(chan struct{})}
	setup := launcher.Setup{Mechanism: string(facts.Mechanism), Network: config.Network}
	if facts.Mechanism != None {
		var err error
		if s.places, err = s.locate(); err != nil {
			s.Close()
			return nil, fmt.Errorf("sandbox: %w", err)
		}
		setup.Steps, setup.Ports = s.places.steps, config.Loopback
		if config.Served != nil {
			setup.Ports = append(slices.Clip(setup.Ports), 0) // any free one
		}
		setup.Home, setup.Scratch, setup.Kept, setup.Shown = s.places.home, s.places.scratch, s.kept, s.shown
		if s.room != nil && !config.inMemory {
			setup.Disk = s.room.Path
		}
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
	if l.Entries == 0 {
		l.Entries = 200_000
	}
	return l
}

// start starts the launcher and waits until it is ready.
func (s *Sandbox) start(ctx context.Context, setup launcher.Setup) error {
	ours, theirs, err := newChannel()
	if err != nil {
		return err
	}
	s.socket = ours
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{launcher.Name}, Env: environment, Dir: "/",
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if s.facts.Mechanism == Namespaces {
		cmd.SysProcAttr = namespaces(s.config.Network)
	}
	begun := make(chan error)
	go s.parent(cmd, begun)
	err = <-begun
	theirs.Close()
	if err != nil {
		close(s.ended)
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = s.socket.end() }) // it may be closed already
	defer stop()
	if err := s.socket.send(setup); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	said, files, err := s.socket.receive()
	if err != nil {
		return fmt.Errorf("the launcher ended: %w", cmp.Or(ctx.Err(), err))
	}
	if said.Say != launcher.SayReady {
		return errors.New(said.Why)
	}
	s.where, s.why = said.Where, said.Why
	s.open(files)
	return nil
}

// parent starts the launcher and waits for it on one thread: the kernel ends both together.
func (s *Sandbox) parent(cmd *exec.Cmd, begun chan<- error) {
	runtime.LockOSThread()
	err := dumpable(cmd.Start)
	if err == nil {
		s.pid = cmd.Process.Pid
	}
	begun <- err
	if err == nil {
		_ = cmd.Wait() // Its end is not needed: the sockets report the ends of its commands.
		close(s.ended)
	}
	runtime.UnlockOSThread()
}

// dumpable calls start while the process is dumpable: the children of a process that is not belong to root in /proc
// until they run their program, and an ordinary user could not write its user map. It is as before within a millisecond
// or two.
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
// network leaves it that of the machine.
func namespaces(network bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Setpgid: true, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		// The last three are overlay's, whose working directory no one else may enter.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE,
			unix.CAP_SYS_CHROOT, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN},
	}
	if network {
		attr.Cloneflags &^= unix.CLONE_NEWNET
	}
	if os.Geteuid() == 0 {
		// Root works on the files of others: their owners must be known inside.
		if users, groups := ownMap("uid"), ownMap("gid"); users != nil && groups != nil {
			attr.UidMappings, attr.GidMappings = users, groups
			allowed, err := os.ReadFile("/proc/self/setgroups") // A denial outside stays in force.
			attr.GidMappingsEnableSetgroups = err == nil && strings.TrimSpace(string(allowed)) == "allow"
		}
		attr.AmbientCaps = nil
	}
	return attr
}

// ownMap is the identity on this namespace's user or group numbers; nil where they cannot be read.
func ownMap(kind string) []syscall.SysProcIDMap {
	data, err := os.ReadFile("/proc/self/" + kind + "_map")
	if err != nil {
		return nil
	}
	var list []syscall.SysProcIDMap
	fields := strings.Fields(string(data))
	for ; len(fields) >= 3; fields = fields[3:] {
		inside, err := strconv.Atoi(fields[0])
		size, sizeErr := strconv.Atoi(fields[2])
		if err == nil && sizeErr == nil {
			list = append(list, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
		}
	}
	return list
}

// Close ends the launcher, and with it every command that still runs.
func (s *Sandbox) Close() error {
	for _, door := range s.doors {
		door.Close()
	}
	if s.socket.file == nil {
		return nil
	}
	err := s.socket.file.Close()
	<-s.ended
	s.commands.Wait()
	for _, lock := range s.locks {
		lock.Close()
	}
	if s.room != nil {
		err = errors.Join(err, s.room.Remove())
	}
	return err
}

// Start runs a command: its Path, which is absolute, Args, Env (nothing of artoo's
// own environment where it is nil), Dir (the project's root where it is empty) and
// streams, each an *os.File or nil. The other fields are not looked at. With
// namespaces TMPDIR names a directory of the command's own.
func (s *Sandbox) Start(cmd *exec.Cmd, options Options) (*Process, error) {
	switch {
	case s.facts.Mechanism == None && (options.Layer || options.ReadOnly || options.Job), options.Layer && !s.facts.Layer:
		return nil, ErrUnconfined
	case options.Layer && s.where == "":
		return nil, fmt.Errorf("%w: no layer can be made: %s", ErrUnconfined, s.why)
	}
	line, err := s.line(cmd, options)
	if err != nil {
		return nil, err
	}
	streams, closeNull, err := streamsOf(cmd)
	if err != nil {
		return nil, err
	}
	defer closeNull()
	ours, theirs, err := newChannel()
	if err != nil {
		return nil, err
	}
	fds := []int{int(theirs.Fd())}
	for _, file := range streams {
		fds = append(fds, int(file.Fd()))
	}
	p := &Process{sandbox: s, socket: ours, begun: time.Now(), line: line, done: make(chan struct{}), answers: make(chan error)}
	s.mu.Lock()
	err = s.socket.send(struct{}{}, fds...)
	s.mu.Unlock()
	theirs.Close()
	runtime.KeepAlive(streams)
	if err == nil {
		err = ours.send(line)
	}
	var said launcher.Answer
	var files []*os.File
	if err == nil {
		said, files, err = ours.receive()
	}
	if err != nil {
		ours.file.Close()
		return nil, fmt.Errorf("sandbox: the launcher has ended: %w", err)
	}
	if said.Say != launcher.SayStarted {
		ours.file.Close()
		return nil, errors.New("sandbox: " + said.Why)
	}
	if len(files) == 1 {
		p.memory = files[0]
		p.room = "/proc/self/fd/" + strconv.Itoa(int(p.memory.Fd()))
	} else if said.Where != "" {
		p.room = filepath.Join(s.room.Path, said.Where)
	}
	s.commands.Go(p.attend)
	if s.writes(options) {
		s.commands.Go(p.guard)
	}
	return p, nil
}

// writes reports whether a command sees the project itself, where mounts fall with their files.
func (s *Sandbox) writes(options Options) bool {
	return s.facts.Mechanism == Namespaces && !options.Layer && !options.ReadOnly
}

// built is how many times more processes a command of the project may start.
const built = 8

// line is the command to run, with its options.
func (s *Sandbox) line(cmd *exec.Cmd, options Options) (launcher.Line, error) {
	if cmd.Err != nil {
		return launcher.Line{}, cmd.Err
	}
	dir := cmp.Or(cmd.Dir, s.config.Root)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // A link outside the granted paths does not exist inside.
	}
	line := launcher.Line{
		Path: cmd.Path, Dir: dir, Args: cmd.Args, Env: cmd.Env,
		Layer: options.Layer, ReadOnly: options.ReadOnly, Job: options.Job && !options.Whole, Exec: options.Exec,
		Overlay: s.facts.Layer && s.where != "", Writable: s.places.write, Outputs: options.Outputs, Readable: s.places.granted,
		Processes: int64(s.config.Limits.Processes), Memory: s.config.Limits.Memory, Entries: s.config.Limits.Entries,
		Grace: options.Grace.Milliseconds(), Files: s.inHome(options.Files),
	}
	if options.Layer || options.ReadOnly {
		line.Writable = s.places.layered
	}
	line.Kept, line.Shown = make([]string, len(line.Writable)), make([]string, len(line.Writable))
	if s.facts.Mechanism == None {
		return line, nil
	}
	if options.Exec || !options.Layer && !options.ReadOnly {
		line.Processes *= built
	}
	line.Size, line.Free = s.config.Limits.sizes(s.room, s.where)
	for _, variable := range s.places.environ {
		name, _, _ := strings.Cut(variable, "=")
		line.Env = append(slices.DeleteFunc(slices.Clone(line.Env), func(v string) bool {
			return strings.HasPrefix(v, name+"=")
		}), variable)
	}
	line.Env = withoutLeaks(line.Env)
	var err error
	if options.Layer {
		if line.Kept, err = s.keptFor(line.Writable); err != nil {
			return line, fmt.Errorf("sandbox: kept caches: %w", err)
		}
	}
	if line.Denied, line.Protected, err = s.closed(options); err == nil && line.Overlay && (options.Layer || options.ReadOnly) {
		line.Shown, err = s.shownTo(line)
	}
	return line, err
}

// sizes are how much a command may write, and how much of the disk stays free.
func (l Limits) sizes(room *tempdir.Dir, where string) (layer, free int64) {
	const gb = 1 << 30
	layer, free = gb, 2*gb
	var st unix.Statfs_t
	if room != nil && unix.Statfs(room.Path, &st) == nil {
		if where == launcher.OnDisk {
			layer = max(8*gb, int64(st.Bavail)*st.Bsize/4/gb*gb)
		}
		free = min(free, int64(st.Blocks)*st.Bsize/20>>20<<20)
	}
	return cmp.Or(l.Layer, layer), cmp.Or(l.Free, free)
}

// closed are the paths denied now and, for a command on the project itself, protected.
func (s *Sandbox) closed(options Options) (denied, protected []string, err error) {
	if s.config.Denied != nil {
		if denied, err = s.config.Denied(); err != nil {
			return nil, nil, fmt.Errorf("sandbox: denied files: %w", err)
		}
	}
	if s.facts.Mechanism == Namespaces {
		open, err := s.places.sockets()
		if err != nil {
			return nil, nil, fmt.Errorf("sandbox: sockets of others: %w", err)
		}
		denied = slices.Concat(denied, open, s.places.own)
	}
	if !options.ReadOnly {
		protected = s.config.Fixed
	}
	if s.config.Protected != nil && !options.Layer && !options.ReadOnly {
		found, err := s.config.Protected()
		if err != nil {
			return nil, nil, fmt.Errorf("sandbox: files that others run: %w", err)
		}
		protected = slices.Concat(protected, found)
	}
	return denied, protected, nil
}

// streamsOf are a command's three streams. The func closes the files in place of nil ones.
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

// Hides reports whether an absolute path of the machine is out of sight of all commands.
func (s *Sandbox) Hides(path string) bool { return s.hides(path, nil) }

func (s *Sandbox) hides(path string, denied []string) bool {
	real, err := filepath.EvalSymlinks(path)
	dir, dirErr := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && dirErr == nil && (s.hidesReal(real, denied) || s.hidesReal(filepath.Join(dir, filepath.Base(path)), denied))
}

// hidesReal is hides for a path whose directories are no links.
func (s *Sandbox) hidesReal(path string, denied []string) bool {
	switch s.facts.Mechanism {
	case None:
		return false
	case Landlock:
		return !slices.ContainsFunc(slices.Concat(s.places.granted, s.places.scratch, s.places.write, []string{"/dev"}),
			func(dir string) bool { return within(path, []string{dir}) || within(dir, []string{path}) })
	}
	at := launcher.Step{}
	for _, step := range s.places.steps {
		if within(step.To, []string{path}) {
			return false // something is mounted there, or below
		}
		if within(path, []string{step.To}) && len(step.To) > len(at.To) {
			at = step
		}
	}
	return at.Op != launcher.OpProc && at.From != at.To || within(path, denied)
}

// Gone is closed when the launcher has ended, and with it all its commands.
func (s *Sandbox) Gone() <-chan struct{} { return s.ended }
