// Package shell runs a shell command and leaves nothing of it behind: the command
// has a session of its own, its output is collected without terminal control, and
// what it started is found and ended with it, also what left its session. It
// knows nothing of tools or models.
package shell

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Waits are how patient a command's end is.
type Waits struct {
	Kill time.Duration // from the request to stop until it is forced
	Pipe time.Duration // from the shell's end until what still writes is stopped
	Live time.Duration // between two pieces of live output
}

// DefaultWaits are those that hold outside of tests.
func DefaultWaits() Waits {
	return Waits{Kill: 2 * time.Second, Pipe: 200 * time.Millisecond, Live: 50 * time.Millisecond}
}

// reapPause is how long orphans that have ended keep their numbers at most.
const reapPause = time.Second

// Command is one command, from beginning to end. It leaves no process of its
// session behind.
type Command struct {
	Cmd   *exec.Cmd     // its streams and SysProcAttr are set by Run
	Start Start         // nil starts it on this machine as it is
	Limit time.Duration // after which it is stopped
	Waits Waits
	Live  io.Writer       // gets the output as it comes, with its escapes
	Kill  <-chan struct{} // closed when a command that is being stopped is to be killed at once; may be nil
}

// Start starts a command whose streams are files in a session of its own. The error
// says that it could not be started.
type Start func(cmd *exec.Cmd) (Started, error)

// Stop says who ended a command.
type Stop int

// The reasons for an end.
const (
	StopNone     Stop = iota // it ended by itself
	StopTimeout              // its time was up
	StopCanceled             // the caller's context was done
)

// Result is how a command ended.
type Result struct {
	Output  string // without escapes
	Exit    Exit
	Stop    Stop
	Limit   time.Duration
	Took    time.Duration
	Stopped int  // background processes that were stopped
	Left    int  // those that could not be
	Held    bool // a process that could not be found still holds the output
}

// Run starts the command and waits for its end. The error says that it could
// not be started.
func (c *Command) Run(ctx context.Context) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return Result{}, err
	}
	defer r.Close()
	c.Cmd.Stdout, c.Cmd.Stderr = w, w
	begun := time.Now()
	begin := c.Start
	if begin == nil {
		begin = StartHere
	}
	shell, err := begin(c.Cmd)
	w.Close()
	if err != nil {
		return Result{}, err
	}
	output := newSpool(maxOutput)
	in := &intake{clean: NewCleaner(output), live: newLive(c.Live, c.Waits.Live)}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		// Its error is the pipe's end, or that it was closed below.
		_, _ = io.Copy(in, r)
	}()
	end := Result{Limit: c.Limit}
	end.Stop = c.await(ctx, shell)
	if end.Stop != StopNone {
		c.stop(shell, end.Stop)
	} else {
		waitFor(drained, c.Waits.Pipe, ctx.Done())
	}
	end.Stopped, end.Left = shell.KillAll()
	<-shell.Done()
	shell.Release()
	// A process that made a session of its own may hold the pipe for ever.
	end.Held = !waitFor(drained, c.Waits.Pipe, nil)
	in.close()
	end.Took = time.Since(begun)
	end.Exit = shell.Exit()
	end.Output = output.String()
	return end, nil
}

// intake takes a command's output to the model's copy and to the screen, until
// it is closed.
type intake struct {
	mu     sync.Mutex
	closed bool
	clean  *Cleaner
	live   *live
}

// Write implements io.Writer.
func (in *intake) Write(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return 0, os.ErrClosed
	}
	_, _ = in.clean.Write(p)
	in.live.write(p)
	return len(p), nil
}

// close flushes what is held back. Nothing is written afterwards.
func (in *intake) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	_ = in.clean.Close()
	in.live.close()
}

// await waits for the shell's end, or for a reason to end it.
func (c *Command) await(ctx context.Context, shell Started) Stop {
	timer := time.NewTimer(c.Limit)
	defer timer.Stop()
	tick := time.NewTicker(reapPause)
	defer tick.Stop()
	for {
		select {
		case <-shell.Done():
			return StopNone
		case <-ctx.Done():
			return StopCanceled
		case <-timer.C:
			return StopTimeout
		case <-tick.C:
			reap()
		}
	}
}

// stop asks the command and all it started to end, and gives them time to,
// until Kill is closed.
func (c *Command) stop(shell Started, why Stop) {
	if why == StopCanceled {
		shell.Signal(syscall.SIGINT) // as Ctrl-C would
	} else {
		shell.Signal(syscall.SIGTERM)
	}
	timer := time.NewTimer(c.Waits.Kill)
	defer timer.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-c.Kill:
			return
		case <-tick.C:
			if !shell.Runs() {
				return
			}
		}
	}
}

// waitFor waits until done is closed, for at most d, or until stop is closed.
// It reports whether done was closed.
func waitFor(done <-chan struct{}, d time.Duration, stop <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-stop:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Find is the path of bash, where there is none of sh, "" where there is
// neither.
func Find() string {
	for _, name := range []string{"bash", "/bin/bash", "sh", "/bin/sh"} {
		if shell, err := exec.LookPath(name); err == nil && filepath.IsAbs(shell) {
			return shell
		}
	}
	return ""
}
