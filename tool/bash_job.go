package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// pace is how patient a job is.
type pace struct {
	kill time.Duration // from the request to stop until it is forced
	pipe time.Duration // from the shell's end until what still writes is stopped
	live time.Duration // between two pieces of live output
}

func defaultPace() pace {
	return pace{kill: 2 * time.Second, pipe: 200 * time.Millisecond, live: 50 * time.Millisecond}
}

// reapPause is how long orphans that have ended keep their numbers at most.
const reapPause = time.Second

// job runs one command from beginning to end. It leaves no process of the
// command's session behind.
type job struct {
	cmd    *exec.Cmd
	limit  time.Duration
	pace   pace
	screen io.Writer
	hurry  <-chan struct{} // Env.Kill
}

// cut says who ended a job.
type cut int

const (
	cutNone     cut = iota // it ended by itself
	cutTimeout             // its time was up
	cutCanceled            // the caller's context was done
)

// jobEnd is how a job ended.
type jobEnd struct {
	output string // without escapes
	state  *os.ProcessState
	cut    cut
	limit  time.Duration
	took   time.Duration
	strays int  // background processes that were stopped
	left   int  // those that could not be
	held   bool // a process that could not be found still holds the output
}

// run starts the command and waits for its end. The error says that it could
// not be started.
func (j *job) run(ctx context.Context) (jobEnd, error) {
	if err := ctx.Err(); err != nil {
		return jobEnd{}, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return jobEnd{}, err
	}
	defer r.Close()
	j.cmd.Stdout, j.cmd.Stderr = w, w
	begun := time.Now()
	shell, err := start(j.cmd)
	w.Close()
	if err != nil {
		return jobEnd{}, err
	}
	output := newSpool(maxOutput)
	screen := newLive(j.screen, j.pace.live)
	in := &intake{clean: cleaner{out: output}, screen: screen}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		// Its error is the pipe's end, or that it was closed below.
		_, _ = io.Copy(in, r)
	}()
	end := jobEnd{limit: j.limit}
	end.cut = j.await(ctx, shell)
	if end.cut != cutNone {
		j.stop(shell, end.cut, j.hurry)
	} else {
		waitFor(drained, j.pace.pipe, ctx.Done())
	}
	end.strays, end.left = shell.killAll()
	<-shell.done
	shell.release()
	// A process that made a session of its own may hold the pipe for ever.
	end.held = !waitFor(drained, j.pace.pipe, nil)
	in.close()
	end.took = time.Since(begun)
	end.state = j.cmd.ProcessState
	end.output = output.String()
	return end, nil
}

// intake takes a command's output to the model's copy and to the screen, until
// it is closed.
type intake struct {
	mu     sync.Mutex
	closed bool
	clean  cleaner
	screen *live
}

// Write implements io.Writer.
func (in *intake) Write(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return 0, os.ErrClosed
	}
	in.clean.write(p)
	in.screen.write(p)
	return len(p), nil
}

// close flushes what is held back. Nothing is written afterwards.
func (in *intake) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.clean.flush()
	in.screen.close()
}

// await waits for the shell's end, or for a reason to end it.
func (j *job) await(ctx context.Context, shell *process) cut {
	timer := time.NewTimer(j.limit)
	defer timer.Stop()
	tick := time.NewTicker(reapPause)
	defer tick.Stop()
	for {
		select {
		case <-shell.done:
			return cutNone
		case <-ctx.Done():
			return cutCanceled
		case <-timer.C:
			return cutTimeout
		case <-tick.C:
			reap()
		}
	}
}

// stop asks the command and all it started to end, and gives them time to,
// until hurry is closed.
func (j *job) stop(shell *process, why cut, hurry <-chan struct{}) {
	if why == cutCanceled {
		shell.interrupt()
	} else {
		shell.terminate()
	}
	timer := time.NewTimer(j.pace.kill)
	defer timer.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-hurry:
			return
		case <-tick.C:
			if shell.ended() && len(shell.rest()) == 0 {
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

// process is a started shell and all that came from it.
type process struct {
	cmd    *exec.Cmd
	begun  time.Time
	before int           // the process number given last before it began, 0 when unknown
	done   chan struct{} // closed when the shell itself has ended
	// mark is a variable that the command's processes have in their environment,
	// also those that left its session, unless they wiped it.
	mark     string
	unmarked map[int]bool // processes that were looked at and have it not
	kill     func(pid int, sig syscall.Signal) error
}

// markName begins the name of the variable that marks a command's processes. It is
// not one of ARTOO_*, which an artoo within the command would take for a setting.
const markName = "_ARTOO_CALL_"

// start starts the command in a session of its own. The goroutine that does it
// keeps its thread until the command ends, because on Linux the kernel kills
// the command when the thread that started it is gone.
func start(cmd *exec.Cmd) (*process, error) {
	confine(cmd)
	p := &process{cmd: cmd, begun: time.Now(), before: lastNumber(), done: make(chan struct{}), mark: markName + rand.Text() + "=1", unmarked: map[int]bool{}, kill: kill}
	cmd.Env = append(cmd.Environ(), p.mark)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := adopt(func() (int, error) {
			if err := cmd.Start(); err != nil {
				return 0, err
			}
			return cmd.Process.Pid, nil
		})
		started <- err
		if err == nil {
			// The status is read from cmd.ProcessState.
			_ = cmd.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

// ended says whether the shell itself has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// startError puts into words why a command could not be started.
func startError(err error) error {
	switch {
	case errors.Is(err, syscall.E2BIG):
		return errors.New("the command is too long for the system: write it to a script and run that")
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("no process can be started just now: %w", err)
	}
	return err
}
