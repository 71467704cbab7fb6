//go:build amd64 || arm64

package launcher

import (
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
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
	exec     int            // its end shows that the command runs
	report   int            // reports how it ended
	listener int            // a descriptor of its filter, or -1
	layer    int            // the directory that holds its layer, or -1
	name     string         // its directory below Setup.Disk; "" in memory
	rules    int            // a Landlock descriptor for its unix sockets, or -1
	files    int            // its file tree, while it writes the project itself; or -1
	full     map[place]bool // directories in which Landlock allows no new entries
	hearing  sync.WaitGroup
	saying   sync.Mutex // held while a frame is written

	mu       sync.Mutex
	over     chan struct{} // closed when the first process is gone
	ended    bool          // the first process is gone and its number may be another's
	limit    string
	denials  map[Denial]int // The keys say no number.
	reported int            // how many of them were sent; of watch
}

// line runs one command, from its frame to its exit.
func (s *server) line(socket int, stdio [3]int) {
	defer unix.Close(socket)
	j := &job{server: s, socket: socket, stdio: stdio, listener: -1, layer: -1, rules: -1, files: -1,
		full: map[place]bool{}, over: make(chan struct{}), denials: map[Denial]int{}}
	_, err := ReadFrame(socket, &j.Line)
	if err == nil {
		err = j.start()
	}
	for _, fd := range stdio {
		unix.Close(fd)
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
		j.say(Answer{Say: SayFailed, Why: err.Error()})
		return
	}
	var fds []int
	if j.name == "" && j.layer >= 0 {
		fds = []int{j.layer}
	}
	j.say(Answer{Say: SayStarted, Where: j.name}, fds...)
	j.attend()
}

// release closes the job's descriptors.
func (j *job) release() {
	for _, fd := range []int{j.layer, j.rules, j.files} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// start clones the first process from a thread that confines itself, and ends.
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
	if err := unix.Pipe2(pipes[:2], unix.O_CLOEXEC); err != nil {
		return err
	}
	if err := unix.Pipe2(pipes[2:], unix.O_CLOEXEC); err != nil {
		return err
	}
	j.exec, j.report = pipes[0], pipes[2]
	defer unix.Close(pipes[1])
	defer unix.Close(pipes[3])
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
		if err = unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return failed("make a mount namespace", err)
		}
		if err = j.tree(); err != nil {
			return err
		}
		if err = unix.Unshare(unix.CLONE_NEWPID); err != nil {
			return failed("make a PID namespace", err)
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
			if j.files, err = unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
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
		b.first = append(b.first, call{number: unix.SYS_DUP3, a: uintptr(from), b: uintptr(fd)})
	}
	b.first = append(b.first,
		call{number: unix.SYS_DUP3, a: uintptr(report), b: reportFD, c: unix.O_CLOEXEC},
		call{number: unix.SYS_DUP3, a: uintptr(exec), b: execFD, c: unix.O_CLOEXEC})
	rules := uintptr(execFD)
	if j.rules >= 0 {
		rules = rulesFD
		b.first = append(b.first, call{number: unix.SYS_DUP3, a: uintptr(j.rules), b: rulesFD, c: unix.O_CLOEXEC})
	}
	b.first = append(b.first, call{number: unix.SYS_CLOSE_RANGE, a: rules + 1, b: ^uintptr(0) >> 32})
	if j.setup.Mechanism == "namespaces" {
		b.first = append(b.first, j.ownProc(keep)...)
	} else {
		b.first = append(b.first, call{number: unix.SYS_PRCTL, a: unix.PR_SET_CHILD_SUBREAPER, b: 1})
	}
	b.after = []call{{number: unix.SYS_CLOSE_RANGE, a: 0, b: 2}, {number: unix.SYS_CLOSE_RANGE, a: execFD, b: rules}}
	b.command = append(b.command, call{number: unix.SYS_SETSID})
	if j.setup.Mechanism == "namespaces" || j.setup.Mechanism == "landlock" && j.root {
		b.command = append(b.command, j.dropCaps(keep)...)
	}
	if j.setup.Mechanism != "none" {
		b.command = append(b.command, j.bounds(keep)...)
	}
	if j.rules >= 0 { // the first process mounts, which they would refuse
		b.command = append(b.command, call{number: unix.SYS_LANDLOCK_RESTRICT_SELF, a: rulesFD})
	}
	empty := pin(keep, [2]uint64{})
	b.command = append(b.command,
		call{number: unix.SYS_RT_SIGPROCMASK, a: unix.SIG_SETMASK, b: empty, d: 8},
		call{number: unix.SYS_CHDIR, a: keep.text(j.Dir)},
		call{number: unix.SYS_EXECVE, a: keep.text(j.Path), b: keep.texts(j.Args), c: keep.texts(j.Env)})
	return b, keep
}

// ownProc mounts the namespace's processes, its settings read-only: root could write to them.
func (j *job) ownProc(keep *pins) []call {
	if j.sharedProc {
		return nil
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if j.root {
		flags |= unix.MS_RDONLY
	}
	name, settings := keep.text("proc"), keep.text("/proc/sys")
	attr := pin(keep, [4]uint64{unix.MOUNT_ATTR_RDONLY})
	return []call{
		{number: unix.SYS_MOUNT, a: name, b: keep.text("/proc"), c: name, d: flags},
		{number: unix.SYS_MOUNT, a: settings, b: settings, d: unix.MS_BIND},
		{number: unix.SYS_MOUNT_SETATTR, a: ^uintptr(99), b: settings, d: attr, e: 32},
	}
}

const secureNoRoot = 1<<0 | 1<<1 | 1<<2 | 1<<3 // SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP, both locked

// rootKeeps are the capabilities that root is left: those over files, whatever their owners.
const rootKeeps = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID

// dropCaps gives up the launcher's rights in its namespaces. A program gives
// nothing back: setuid counts for nothing, and root is only a name.
func (j *job) dropCaps(keep *pins) []call {
	var kept uint32
	if j.root && j.setup.Mechanism == "namespaces" {
		kept = rootKeeps // Landlock does not look at changed owners and modes
	}
	header := pin(keep, unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3})
	sets := pin(keep, [2]unix.CapUserData{{Effective: kept, Permitted: kept, Inheritable: kept}})
	calls := []call{
		{number: unix.SYS_PRCTL, a: unix.PR_SET_SECUREBITS, b: secureNoRoot},
		{number: unix.SYS_PRCTL, a: unix.PR_CAP_AMBIENT, b: unix.PR_CAP_AMBIENT_CLEAR_ALL},
		{number: unix.SYS_CAPSET, a: header, b: sets},
	}
	for n := range 32 {
		if kept&(1<<n) != 0 {
			calls = append(calls, call{number: unix.SYS_PRCTL, a: unix.PR_CAP_AMBIENT, b: unix.PR_CAP_AMBIENT_RAISE, c: uintptr(n)})
		}
	}
	return calls
}

// bounds sets the limits of resources.
func (j *job) bounds(keep *pins) []call {
	limit := func(what int, n int64) call {
		value := pin(keep, [2]uint64{uint64(n), uint64(n)})
		return call{number: unix.SYS_PRLIMIT64, b: uintptr(what), c: value}
	}
	processes := j.Processes + tasks()
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &own) == nil && own.Max < uint64(processes) {
		processes = int64(own.Max)
	}
	calls := []call{limit(unix.RLIMIT_NPROC, processes)}
	if j.bounded() {
		// A process may reserve twice the memory that it may use: watch sees the difference,
		// and can report why it ended.
		calls = append(calls, limit(unix.RLIMIT_DATA, 2*j.Memory))
	}
	if j.layer >= 0 { // Room reserved for a file counts nothing until it is filled.
		calls = append(calls, limit(unix.RLIMIT_FSIZE, j.Size))
	}
	return calls
}

// started waits until the command runs, or has failed to.
func (j *job) started() error {
	var words [3]uint32
	n, err := readRecord(j.exec, &words)
	unix.Close(j.exec)
	if err != nil || n == 0 {
		return err
	}
	j.reapFirst()
	unix.Close(j.report)
	return failed(j.failure(words), syscall.Errno(words[2]))
}

// failure names the call that failed.
func (j *job) failure(words [3]uint32) string {
	if words[0] == reportCommand {
		if int(words[1]) < len(j.born.command) {
			switch j.born.command[words[1]].number {
			case unix.SYS_EXECVE:
				return "exec " + j.Path
			case unix.SYS_CHDIR:
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
		r, _, e := unix.Syscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(words)), unsafe.Sizeof(*words))
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return 0, e
		}
		return int(r), nil
	}
}

// attend waits for the end of the command and of its descendants.
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
		j.denied(Denial{Kind: DenialWrite}) // no one received the paths it tried
	}
	j.lastLook(unix.WaitStatus(status))
	j.say(Answer{Say: SayExit, Status: int(status), Stopped: stopped, Limit: j.limit, Denials: j.listDenials()})
	_ = unix.Shutdown(j.socket, unix.SHUT_RD) // obey's read returns
	obeying.Wait()
	j.release()
}

// say sends an answer. artoo may have closed the socket.
func (j *job) say(answer Answer, fds ...int) {
	j.saying.Lock()
	defer j.saying.Unlock()
	_ = WriteFrame(j.socket, answer, fds...)
}

// await waits for the first process. Processes that the command leaves behind have Grace to end.
func (j *job) await() (status uint32, stopped int) {
	status = uint32(unix.SIGKILL) // the status if the first process was killed and could not report
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
	unix.Close(j.report)
	j.reapFirst()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
	return status, stopped
}

// reapFirst reaps the first process, and ends its descendants where no namespace does.
func (j *job) reapFirst() {
	waitFor(j.first)
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
func waitFor(pid int) {
	for err := error(unix.EINTR); err == unix.EINTR; {
		_, err = unix.Wait4(pid, nil, 0, nil)
	}
}

// obey carries out orders of the other side, until it goes away: then the command ends.
func (j *job) obey() {
	for {
		var order Order
		_, err := ReadFrame(j.socket, &order)
		switch {
		case err == nil && !order.Protect:
			j.signal(syscall.Signal(order.Signal))
		case err == nil && j.files >= 0:
			answer := Answer{Say: SayProtected}
			if err := j.protectNow(order.Denied, order.Protected); err != nil {
				answer.Why = err.Error()
			}
			j.say(answer)
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
	if number == unix.SIGKILL {
		j.killAll()
		return
	}
	for _, pid := range j.members() {
		_ = unix.Kill(pid, number) // it may have ended
	}
}
