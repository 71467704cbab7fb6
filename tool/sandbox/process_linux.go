//go:build amd64 || arm64

package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"artoo/tool/sandbox/launcher"
)

// Process is a command that runs. Any goroutine may call its methods, also after the end.
type Process struct {
	sandbox *Sandbox
	socket  channel
	begun   time.Time
	line    launcher.Line
	room    string // the directory of its layer, or ""
	memory  *os.File
	done    chan struct{} // closed at the end
	exit    Exit          // once done is closed
	err     error

	asking  sync.Mutex // held while the launcher is asked something
	answers chan error
	crowded bool       // there are too many entries: of attend
	mu      sync.Mutex // guards the rest
	failed  error      // why the guard gave up
	met     []Denial
}

// Wait waits until the command and all it started have ended. The error says that
// the launcher went away, and the command with it.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

// attend hears the launcher until the command's end. Caches are kept of one without changes.
func (p *Process) attend() {
	defer close(p.done)
	defer p.socket.file.Close()
	p.exit, p.err = p.hear()
	p.err = errors.Join(p.err, p.sandbox.unshow(p.line.Shown))
	if p.err != nil {
		<-p.sandbox.ended // nothing writes any more
	}
	if p.crowded {
		p.exit.Limit = strconv.FormatInt(p.line.Entries, 10) + " files"
	}
	if p.line.Layer {
		return
	}
	var err error
	if p.room != "" && !p.line.ReadOnly && (p.err == nil || p.memory == nil) {
		err = p.sandbox.keepUsers(p.room)
	}
	err = errors.Join(err, p.Discard())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, p.failed, err)
}

// hear reads frames until the one that reports the end.
func (p *Process) hear() (Exit, error) {
	for {
		said, _, err := p.socket.receive()
		if err != nil {
			return Exit{}, fmt.Errorf("sandbox: the launcher has ended: %w", err)
		}
		switch said.Say {
		case launcher.SayEntries:
			if !p.crowded && p.entries() > p.line.Entries {
				p.crowded = true
				if err := p.Kill(); err != nil {
					return Exit{}, fmt.Errorf("sandbox: the launcher has ended: %w", err)
				}
			}
		case launcher.SayProtected:
			var err error
			if said.Why != "" {
				err = errors.New("sandbox: " + said.Why)
			}
			p.answers <- err
		case launcher.SayDenials:
			p.mu.Lock()
			p.met = denialsOf(said.Denials)
			p.mu.Unlock()
		case launcher.SayExit:
			return Exit{Status: syscall.WaitStatus(said.Status), Stopped: said.Stopped, Limit: said.Limit,
				Denials: denialsOf(said.Denials)}, nil
		default:
			return Exit{}, fmt.Errorf("sandbox: an unknown answer of the launcher: %q", said.Say)
		}
	}
}

// Denials lists the denials that the command has met, also while it runs.
func (p *Process) Denials() []Denial {
	select {
	case <-p.done:
		return p.exit.Denials
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

// Hides reports whether an absolute path of the machine was out of the command's sight.
func (p *Process) Hides(path string) bool { return p.sandbox.hides(path, p.line.Denied) }

// denialsOf gathers denials by their kind.
func denialsOf(all []launcher.Denial) (list []Denial) {
	for _, one := range all {
		at := slices.IndexFunc(list, func(d Denial) bool { return d.Kind == one.Kind })
		if at < 0 {
			at = len(list)
			list = append(list, Denial{Kind: one.Kind})
		}
		d := &list[at]
		d.N += one.N
		if one.Path != "" && len(d.Paths) < maxPaths {
			d.Paths = append(d.Paths, one.Path)
		}
	}
	slices.SortStableFunc(list, func(a, b Denial) int { return cmp.Compare(a.Kind, b.Kind) })
	for i := range list {
		d := &list[i]
		slices.Sort(d.Paths)
		d.What = denialNames[d.Kind]
		if len(d.Paths) > 0 {
			d.What += ": " + strings.Join(d.Paths[:min(len(d.Paths), 3)], ", ")
		}
	}
	return list
}

// LeaksOff describes for the model what withoutLeaks does; "" where nothing does it.
const LeaksOff = "leaks are not checked here (detect_leaks=0)"

// withoutLeaks turns off LeakSanitizer, which would have to trace its program and ends it otherwise. What the variables
// say comes later, so it counts.
func withoutLeaks(env []string) []string {
	env = slices.Clone(env)
	for _, name := range []string{"ASAN_OPTIONS=", "LSAN_OPTIONS="} {
		off := name + "detect_leaks=0"
		at := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, name) })
		switch {
		case at < 0:
			env = append(env, off)
		case env[at] == name:
			env[at] = off
		default:
			env[at] = off + ":" + env[at][len(name):]
		}
	}
	return env
}

// maxPaths is how many paths a denial names.
const maxPaths = 10

// denialNames describes each kind of denial.
var denialNames = map[string]string{
	DenialNetwork:   "there is no network except its own loopback",
	DenialLoopback:  "the loopback here is the session's own; [permissions] loopback = [PORT] admits a port of this machine",
	DenialSocket:    "no sockets",
	DenialNamespace: "no new namespaces",
	DenialTrace: "no access to other processes: gdb, strace, perf, rr and LeakSanitizer need a run " +
		"outside the sandbox, which a rule such as bash!(gdb:*) allows",
	DenialHome:    "the home directory is empty here; files written to it are lost",
	DenialExec:    "files of the project, or written here, cannot be executed",
	DenialEntry:   "no new entries beside .git: only existing directories can be written",
	DenialWrite:   "the project is read-only for a background command",
	DenialGuarded: "files that programs run automatically are read-only",
}

// Protect covers the files denied and protected by now, for a command that sees the
// project itself: a mount over a file falls when that is replaced from
// outside. It is called after each landing; every two seconds it happens by itself.
func (p *Process) Protect() error {
	if p.line.Layer || p.line.ReadOnly || p.sandbox.facts.Mechanism != Namespaces {
		return nil
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	denied, protected, err := p.sandbox.closed(Options{})
	if err != nil {
		return err
	}
	if err := p.socket.send(launcher.Order{Protect: true, Denied: denied, Protected: protected}); err != nil {
		<-p.done // the socket is closed at the end
		return nil
	}
	select {
	case err := <-p.answers:
		return err
	case <-p.done:
		return nil
	}
}

// protectEvery is how often a command is protected again. A long look waits ten times its time.
const protectEvery = 2 * time.Second

// guard calls Protect until the command ends. Where that fails the command is ended.
func (p *Process) guard() {
	timer := time.NewTimer(protectEvery)
	defer timer.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-timer.C:
		}
		begun := time.Now()
		if err := p.Protect(); err != nil {
			p.mu.Lock()
			p.failed = err
			p.mu.Unlock()
			_ = p.Kill() // it may have ended meanwhile
			return
		}
		timer.Reset(max(protectEvery, 10*time.Since(begun)))
	}
}

// Signal sends a signal to the command and all it started.
func (p *Process) Signal(signal syscall.Signal) error {
	return p.socket.send(launcher.Order{Signal: int(signal)})
}

// Kill ends the command and all it started at once.
func (p *Process) Kill() error { return p.Signal(syscall.SIGKILL) }
