//go:build amd64 || arm64

package launcher

import (
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// job is one command at work.
type job struct {
	*server
	Line
	socket int
	stdio  [3]int

	born     *birth // stays as long as the first process
	keep     *pins
	first    int            // the first process
	exec     int            // its end tells that the command runs
	report   int            // tells how it ended
	listener int            // a descriptor of its filter, or -1
	layer    int            // the directory that holds what it writes of its own, or -1
	name     string         // its directory below Setup.Disk; "" in memory
	rules    int            // a Landlock descriptor for its unix sockets, or -1
	files    int            // its file tree, while it writes the project itself; or -1
	full     map[place]bool // directories in which Landlock allows no new entries
	hearing  sync.WaitGroup
	saying   sync.Mutex // held while a frame is written

	mu      sync.Mutex
	over    chan struct{} // closed when the first process is gone
	ended   bool          // the first process is gone and its number may be another's
	limit   string
	denials map[denial]int
	walled  int // how many of them were said; of watch
}

// line runs one command, from its frame to its exit.
func (s *server) line(socket int, stdio [3]int) {
	defer syscall.Close(socket)
	j := &job{server: s, socket: socket, stdio: stdio, listener: -1, layer: -1, rules: -1, files: -1,
		full: map[place]bool{}, over: make(chan struct{}), denials: map[denial]int{}}
	body, _, err := readFrame(socket)
	if err == nil {
		j.Line, err = decodeLine(body)
	}
	if err == nil {
		err = j.start()
	}
	for _, fd := range stdio {
		syscall.Close(fd)
	}
	if j.listener >= 0 {
		j.hearing.Go(j.hear) // the command's own start is heard too
	}
	if err == nil {
		err = j.started()
	}
	if err != nil {
		j.hearing.Wait()
		j.release()
		_ = writeFrame(socket, Encode([]string{SayFailed, err.Error()})) // artoo may have closed the socket
		return
	}
	var fds []int
	if j.name == "" && j.layer >= 0 {
		fds = []int{j.layer}
	}
	_ = writeFrame(socket, Encode([]string{SayStarted, j.name}), fds...)
	j.attend()
}

// release closes what the job holds open.
func (j *job) release() {
	for _, fd := range []int{j.layer, j.rules, j.files} {
		if fd >= 0 {
			syscall.Close(fd)
		}
	}
}

// start clones the command's first process from a thread that enters what the
// command is confined to, and ends.
func (j *job) start() error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		err := j.enter()
		done <- err
		if err == nil {
			<-j.over // Its clones use thread-local memory of this thread.
		}
	}()
	return <-done
}

// enter confines the thread and starts the first process.
func (j *job) enter() error {
	var pipes [4]int
	if err := syscall.Pipe2(pipes[:2], syscall.O_CLOEXEC); err != nil {
		return err
	}
	if err := syscall.Pipe2(pipes[2:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	j.exec, j.report = pipes[0], pipes[2]
	defer syscall.Close(pipes[1])
	defer syscall.Close(pipes[3])
	if err := j.confine(); err != nil {
		return err
	}
	j.born, j.keep = j.birth(pipes[1], pipes[3])
	return failed("start a process", j.fork())
}

// fork starts the first process, and has it known as a command's.
func (j *job) fork() error {
	j.known.Lock()
	defer j.known.Unlock()
	var err error
	if j.first, err = j.born.fork(); err == nil {
		j.known.first[j.first] = true
	}
	return err
}

// confine confines the thread.
func (j *job) confine() error {
	var err error
	switch j.setup.Mechanism {
	case "namespaces":
		if err = syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
			return failed("take a file tree of its own", err)
		}
		if err = j.tree(); err != nil {
			return err
		}
		if err = syscall.Unshare(syscall.CLONE_NEWPID); err != nil {
			return failed("take process numbers of its own", err)
		}
		r := rules{apart: true, sockets: !j.ReadOnly, unix: !j.ReadOnly && j.unix, noExec: j.bounded(), still: j.ReadOnly}
		if r.unix {
			if j.rules, err = socketRules(); err != nil {
				return err
			}
		}
		if j.ReadOnly {
			r.opens = opensNew | opensOld
		}
		if len(j.writes()) > 0 || j.Job {
			r.opens = opensNew | opensOld
			if j.files, err = syscall.Open("/proc/thread-self/ns/mnt", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err != nil {
				return failed("keep the file tree", err)
			}
		}
		j.listener, err = confine(r)
	case "landlock":
		if err = j.grant(); err == nil {
			r := rules{sockets: !j.ReadOnly, still: j.ReadOnly}
			switch {
			case j.ReadOnly:
				r.opens = opensNew | opensOld
			case len(j.full) > 0:
				r.opens = opensNew
			}
			j.listener, err = confine(r)
		}
	}
	return err
}

// birth prepares the calls of the first process and the command.
func (j *job) birth(exec, report int) (*birth, *pins) {
	keep := &pins{}
	b := &birth{}
	for fd, from := range []int{j.stdio[0], j.stdio[1], j.stdio[2]} {
		b.first = append(b.first, call{number: sysDup3, a: uintptr(from), b: uintptr(fd)})
	}
	b.first = append(b.first,
		call{number: sysDup3, a: uintptr(report), b: reportFD, c: syscall.O_CLOEXEC},
		call{number: sysDup3, a: uintptr(exec), b: execFD, c: syscall.O_CLOEXEC})
	rules := uintptr(execFD)
	if j.rules >= 0 {
		rules = rulesFD
		b.first = append(b.first, call{number: sysDup3, a: uintptr(j.rules), b: rulesFD, c: syscall.O_CLOEXEC})
	}
	b.first = append(b.first, call{number: sysCloseRange, a: rules + 1, b: ^uintptr(0) >> 32})
	if j.setup.Mechanism == "namespaces" {
		b.first = append(b.first, j.ownProc(keep)...)
	} else {
		b.first = append(b.first, call{number: syscall.SYS_PRCTL, a: prSetSubreaper, b: 1})
	}
	b.after = []call{{number: sysCloseRange, a: 0, b: 2}, {number: sysCloseRange, a: execFD, b: rules}}
	b.command = append(b.command, call{number: syscall.SYS_SETSID})
	if j.setup.Mechanism == "namespaces" || j.setup.Mechanism == "landlock" && j.root {
		b.command = append(b.command, j.dropCaps(keep)...)
	}
	if j.setup.Mechanism != "none" {
		b.command = append(b.command, j.bounds(keep)...)
	}
	if j.rules >= 0 { // the first process mounts, which they would refuse
		b.command = append(b.command, call{number: sysLandlockSelf, a: rulesFD})
	}
	empty := pin(keep, [2]uint64{})
	b.command = append(b.command,
		call{number: syscall.SYS_RT_SIGPROCMASK, a: 2 /* SIG_SETMASK */, b: empty, d: 8},
		call{number: syscall.SYS_CHDIR, a: keep.text(j.Dir)},
		call{number: syscall.SYS_EXECVE, a: keep.text(j.Path), b: keep.texts(j.Args), c: keep.texts(j.Env)})
	return b, keep
}

// ownProc mounts the processes of the namespace, its settings read-only. Root could
// write to much else of it.
func (j *job) ownProc(keep *pins) []call {
	if j.sharedProc() {
		return nil
	}
	flags := uintptr(syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC)
	if j.root {
		flags |= syscall.MS_RDONLY
	}
	name, settings := keep.text("proc"), keep.text("/proc/sys")
	attr := pin(keep, [4]uint64{attrReadOnly})
	return []call{
		{number: syscall.SYS_MOUNT, a: name, b: keep.text("/proc"), c: name, d: flags},
		{number: syscall.SYS_MOUNT, a: settings, b: settings, d: syscall.MS_BIND},
		{number: sysMountSetattr, a: ^uintptr(99), b: settings, d: attr, e: 32},
	}
}

// Capabilities by number.
const (
	capChown    = 0
	capOverride = 1
	capOwner    = 3
	capSetID    = 4
)

const (
	secureNoRoot = 1<<0 | 1<<1 | 1<<2 | 1<<3 // SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP, both locked
	ambientRaise = 2
	ambientClear = 4
)

// rootKeeps are the capabilities that root is left: those over the files that
// were granted, whatever their owners.
const rootKeeps = 1<<capChown | 1<<capOverride | 1<<capOwner | 1<<capSetID

// dropCaps gives up what the launcher may do in its namespaces. A program gives
// nothing back: setuid counts for nothing, and root is only a name.
func (j *job) dropCaps(keep *pins) []call {
	var kept uint32
	if j.root && j.setup.Mechanism == "namespaces" {
		kept = rootKeeps // Landlock does not look at changed owners and modes
	}
	header := pin(keep, [2]uint32{0x20080522, 0})
	sets := pin(keep, [6]uint32{kept, kept, kept})
	calls := []call{
		{number: syscall.SYS_PRCTL, a: syscall.PR_SET_SECUREBITS, b: secureNoRoot},
		{number: syscall.SYS_PRCTL, a: prCapAmbient, b: ambientClear},
		{number: syscall.SYS_CAPSET, a: header, b: sets},
	}
	for n := range 32 {
		if kept&(1<<n) != 0 {
			calls = append(calls, call{number: syscall.SYS_PRCTL, a: prCapAmbient, b: ambientRaise, c: uintptr(n)})
		}
	}
	return calls
}

// bounds sets the limits of resources.
func (j *job) bounds(keep *pins) []call {
	limit := func(what int, n int64) call {
		value := pin(keep, [2]uint64{uint64(n), uint64(n)})
		return call{number: sysPrlimit64, b: uintptr(what), c: value}
	}
	processes := j.Processes + tasks()
	var own syscall.Rlimit
	if syscall.Getrlimit(rlimitNproc, &own) == nil && own.Max < uint64(processes) {
		processes = int64(own.Max)
	}
	calls := []call{limit(rlimitNproc, processes)}
	if j.bounded() {
		// What a process may reserve is twice what it may use: watch sees the difference,
		// and can tell why it ended.
		calls = append(calls, limit(syscall.RLIMIT_DATA, 2*j.Memory))
	}
	if j.layer >= 0 { // Room reserved for a file counts nothing until it is filled.
		calls = append(calls, limit(syscall.RLIMIT_FSIZE, j.Size))
	}
	return calls
}

// started waits until the command runs, or has failed to.
func (j *job) started() error {
	var words [3]uint32
	n, err := readRecord(j.exec, &words)
	syscall.Close(j.exec)
	if err != nil || n == 0 {
		return err
	}
	j.settleDead()
	syscall.Close(j.report)
	return failed(j.failure(words), syscall.Errno(words[2]))
}

// failure names the call that failed.
func (j *job) failure(words [3]uint32) string {
	if words[0] == reportCommand {
		if int(words[1]) < len(j.born.command) {
			switch j.born.command[words[1]].number {
			case syscall.SYS_EXECVE:
				return "exec " + j.Path
			case syscall.SYS_CHDIR:
				return "chdir " + j.Dir
			}
		}
		return "confine the command, step " + strconv.Itoa(int(words[1]))
	}
	return "start the command's first process, step " + strconv.Itoa(int(words[1]))
}

// readRecord reads a report; n is 0 at the end.
func readRecord(fd int, words *[3]uint32) (n int, err error) {
	for {
		r, _, e := syscall.Syscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(words)), unsafe.Sizeof(*words))
		if e == syscall.EINTR {
			continue
		}
		if e != 0 {
			return 0, e
		}
		return int(r), nil
	}
}

// attend waits for the command's end, and for what is left of it.
func (j *job) attend() {
	var obeying, watching sync.WaitGroup
	stop := make(chan struct{})
	obeying.Go(j.obey)
	if j.setup.Mechanism == "namespaces" {
		watching.Go(func() { j.watch(stop) })
	}
	status, stopped := j.await()
	close(stop)
	watching.Wait()
	j.hearing.Wait()
	j.addCounted()
	if j.ReadOnly && j.listener < 0 && status != 0 {
		j.denied(denial{wall: WallWrite}) // no one heard what it tried
	}
	j.lastLook(syscall.WaitStatus(status))
	facts := []string{SayExit, strconv.Itoa(int(status)), strconv.Itoa(stopped), j.limit}
	j.say(Encode(facts, j.triples()))
	_ = syscall.Shutdown(j.socket, syscall.SHUT_RD) // obey's read returns
	obeying.Wait()
	j.release()
}

// say sends a frame. artoo may have closed the socket.
func (j *job) say(frame []byte) {
	j.saying.Lock()
	defer j.saying.Unlock()
	_ = writeFrame(j.socket, frame)
}

// await waits for the first process. What the command leaves behind has Grace to
// end by itself.
func (j *job) await() (status uint32, stopped int) {
	status = uint32(syscall.SIGKILL) // where the first process was killed and could not tell
	var words [3]uint32
	if n, err := readRecord(j.report, &words); err == nil && n > 0 {
		status = words[1]
		if status != 0 && j.setup.Mechanism == "namespaces" {
			// A shell that is refused a process ends at once, before watch has looked.
			members := j.members()
			j.mu.Lock()
			j.crowded(len(members))
			j.mu.Unlock()
		}
		timer := time.AfterFunc(time.Duration(j.Grace)*time.Millisecond, func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			if !j.ended {
				stopped = len(j.members())
				j.killAll()
			}
		})
		defer timer.Stop()
		_, _ = readRecord(j.report, &words) // the end: the first process has gone
	}
	syscall.Close(j.report)
	j.settleDead()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
	return status, stopped
}

// settleDead takes the status of the first process, and ends what it left behind where no
// namespace does.
func (j *job) settleDead() {
	_, _ = waitFor(j.first)
	close(j.over)
	runtime.KeepAlive(j.born)
	runtime.KeepAlive(j.keep)
	j.known.Lock()
	defer j.known.Unlock()
	delete(j.known.first, j.first)
	if j.setup.Mechanism != "namespaces" {
		j.killStrays()
	}
}

// waitFor is wait4, as often as it takes.
func waitFor(pid int) (int, error) {
	for {
		got, err := syscall.Wait4(pid, nil, 0, nil)
		if err != syscall.EINTR {
			return got, err
		}
	}
}

// obey does what the other side says, until it goes away: then the command ends.
func (j *job) obey() {
	for {
		body, _, err := readFrame(j.socket)
		if err != nil {
			j.end("")
			return
		}
		lists, err := Decode(body)
		switch {
		case err == nil && len(lists) == 1 && len(lists[0]) == 2 && lists[0][0] == SaySignal:
			if number, err := strconv.Atoi(lists[0][1]); err == nil {
				j.signal(syscall.Signal(number))
			}
		case err == nil && len(lists) == 3 && len(lists[0]) == 1 && lists[0][0] == SayProtect && j.files >= 0:
			why := ""
			if err := j.protectNow(lists[1], lists[2]); err != nil {
				why = err.Error()
			}
			j.say(Encode([]string{SayProtected, why}))
		default:
			j.end("")
			return
		}
	}
}

// end kills the command with all it started, because of a limit if one is named.
func (j *job) end(limit string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return
	}
	if j.limit == "" {
		j.limit = limit
	}
	j.killAll()
}

// signal sends a signal to all processes of the command.
func (j *job) signal(number syscall.Signal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return
	}
	if number == syscall.SIGKILL {
		j.killAll()
		return
	}
	for _, pid := range j.members() {
		_ = syscall.Kill(pid, number) // it may have ended
	}
}
