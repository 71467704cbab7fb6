// Package shell runs a shell command and leaves nothing of it behind: the command has a session of its own,
// its output is collected without terminal control, and its descendants are found and ended with it, also
// those that left its session. It knows nothing of tools or models.
package shell

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"artoo/tool/environ"
)

// Waits are how patient a command's end is.
type Waits struct {
	Kill time.Duration // the wait between the request to stop and the kill
	Pipe time.Duration // the wait between the shell's end and the end of its writers
	Live time.Duration // between two pieces of live output
}

// DefaultWaits are those used outside tests.
func DefaultWaits() Waits {
	return Waits{Kill: 2 * time.Second, Pipe: 200 * time.Millisecond, Live: 50 * time.Millisecond}
}

// reapPause is how long orphans that have ended keep their numbers at most.
const reapPause = time.Second

// Command is one command, from beginning to end.
type Command struct {
	Cmd   *exec.Cmd     // its streams and SysProcAttr are set by Run
	Start Start         // nil starts it on this machine as it is
	Limit time.Duration // after which it is stopped
	Waits Waits
	Live  io.Writer       // gets the output as it comes, see live; nil shows none
	Kill  <-chan struct{} // closed when a command that is being stopped is to be killed at once; may be nil
	// Late lets a command whose time is up go on for at most LateLimit from its beginning; nil
	// has it stopped.
	Late      *Jobs
	LateLimit time.Duration
	// Pipeline is that of the command line, which is the last argument of Cmd.
	Pipeline Pipeline
}

// Start starts a command whose streams are files in a session of its own.
type Start func(cmd *exec.Cmd) (Started, error)

// Stop is the cause that ended a command.
type Stop int

// The reasons for an end.
const (
	StopNone     Stop = iota // it ended by itself
	StopTimeout              // its time was up
	StopCanceled             // the caller's context was done
	StopAsked                // it ran in the background and was to end
)

// Result is how a command ended.
type Result struct {
	// Output is without escapes; of one in the background it is read from its Job. Much of it has
	// room behind it for remarks.
	Output  []byte
	Exit    Exit
	Pipe    []Part // the commands of the line's last pipeline, nil if not known
	Stop    Stop
	Limit   time.Duration
	Took    time.Duration
	Stopped int  // background processes that were stopped
	Left    int  // those that could not be
	Held    bool // a process that could not be found still holds the output
	// Job is the command where it has not ended, but goes on in the background: of the
	// others Output and Took alone are set then.
	Job *Job
}

// Run starts the command and waits for its end. The error says that it could not be started.
func (c *Command) Run(ctx context.Context) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	output, line := NewSpool(maxOutput), c.line()
	r, err := c.begin(output, c.Live)
	if err != nil {
		return Result{}, err
	}
	stop := r.await(ctx.Done(), c.Limit)
	if stop == StopTimeout && c.Late != nil {
		if so, job := c.Late.take(r, output, line, c.LateLimit-c.Limit); job != nil {
			return Result{Output: so, Job: job, Limit: c.Limit, Took: time.Since(r.begun)}, nil
		}
	}
	end := r.end(stop, ctx.Done())
	end.Limit = c.Limit
	end.Output = output.take()
	return end, nil
}

// line is the command line, for users, until begin.
func (c *Command) line() string { return c.Cmd.Args[len(c.Cmd.Args)-1] }

// running is a command between its beginning and its end, for one goroutine.
type running struct {
	started Started
	waits   Waits
	kill    <-chan struct{}
	pipe    *os.File
	in      *intake
	drained chan struct{} // closed when all of that was read
	begun   time.Time

	pipeline Pipeline
}

// begin starts the command. Its output goes to output and, if it is not nil, to screen.
func (c *Command) begin(output, screen io.Writer) (*running, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	widen(r)
	c.Cmd.Stdout, c.Cmd.Stderr = w, w
	if c.Pipeline.names != nil {
		c.Cmd.Args = append(slices.Clip(c.Cmd.Args[:len(c.Cmd.Args)-1]), c.Pipeline.Ask(c.line()))
	}
	start := c.Start
	if start == nil {
		start = StartHere
	}
	begun := time.Now()
	started, err := start(c.Cmd)
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	run := &running{started: started, waits: c.Waits, kill: c.Kill, pipe: r, begun: begun, pipeline: c.Pipeline,
		in: newIntake(output), drained: make(chan struct{})}
	if screen != nil {
		run.in.show(screen, c.Waits.Live)
	}
	go func() {
		defer close(run.drained)
		run.in.read(r)
	}()
	return run, nil
}

// end ends the rest of a command. Closing cancel ends the wait for its output; it may be nil.
func (r *running) end(why Stop, cancel <-chan struct{}) (end Result) {
	defer r.pipe.Close()
	if why != StopNone {
		r.stop(why)
	} else {
		waitFor(r.drained, r.waits.Pipe, cancel)
	}
	end.Stop = why
	end.Stopped, end.Left = r.started.KillAll()
	<-r.started.Done()
	r.started.Release()
	// A process that made a session of its own may hold the pipe for ever.
	end.Held = !waitFor(r.drained, r.waits.Pipe, nil)
	r.in.close()
	end.Took = time.Since(r.begun)
	end.Exit = r.started.Exit()
	end.Pipe = r.pipeline.Statuses(r.in.clean, end.Exit.Code)
	return end
}

// await waits for the command's end, for cancel or for the limit, 0 for none.
func (r *running) await(cancel <-chan struct{}, limit time.Duration) Stop {
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	tick := time.NewTicker(reapPause)
	defer tick.Stop()
	for {
		select {
		case <-r.started.Done():
			return StopNone
		case <-cancel:
			return StopCanceled
		case <-late:
			return StopTimeout
		case <-tick.C:
			reap()
		}
	}
}

// stop asks the command and all it started to end, and gives them time until kill is closed.
func (r *running) stop(why Stop) {
	if why == StopCanceled {
		r.started.Signal(syscall.SIGINT)
	} else {
		r.started.Signal(syscall.SIGTERM)
	}
	timer := time.NewTimer(r.waits.Kill)
	defer timer.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-r.kill:
			return
		case <-tick.C:
			if !r.started.Runs() {
				return
			}
		}
	}
}

// waitFor waits for done, for d or for stop, and reports whether done was closed.
func waitFor(done <-chan struct{}, d time.Duration, stop <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-stop:
	}
	return isClosed(done)
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Find is the path of bash, else of sh, "" where there is neither. own are artoo's variables.
func Find(own environ.Vars) string {
	for _, name := range []string{"bash", "/bin/bash", "sh", "/bin/sh"} {
		if shell, err := own.LookPath(name); err == nil && filepath.IsAbs(shell) {
			return shell
		}
	}
	return ""
}

// Quote writes words for a POSIX shell, without quotes where none are needed.
func Quote(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		special := strings.IndexFunc(w, func(r rune) bool {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
			return !letter && !strings.ContainsRune("-_./:=,+@%", r) && r < 0x80
		})
		if quoted[i] = w; w == "" || special >= 0 {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
