package ui

import (
	"os"
	"time"
)

const (
	// shellPipeWait is how long the output of what a command left in the
	// background is waited for.
	shellPipeWait = 500 * time.Millisecond
	// shellPipeRest is how many bytes of output are shown after a command's end:
	// more than a pipe holds.
	shellPipeRest = 128 << 10
	// shellHurry is how long after an interrupt the rest of the output has to be
	// shown: a slow terminal has not shown yet what came before.
	shellHurry = 200 * time.Millisecond
)

// copyShell shows what is read from r, until its end. Once the command has exited
// others may still hold the pipe: then no longer than shellPipeWait is spent
// waiting for more. How long the terminal takes to show it does not count.
func (t *Terminal) copyShell(r *os.File, out *shellOutput, exited <-chan struct{}) {
	chunks, stop := make(chan []byte), make(chan struct{})
	defer close(stop)
	go func() {
		defer t.console.guard()
		defer close(chunks)
		for {
			b := make([]byte, 32<<10)
			n, err := r.Read(b)
			if n > 0 {
				select {
				case chunks <- b[:n]:
				case <-stop:
					return
				}
			}
			if err != nil { // the end of the pipe, or ours
				return
			}
		}
	}()
	var late <-chan time.Time
	for left, rest := shellPipeWait, shellPipeRest; rest > 0; {
		asked := time.Now()
		if exited == nil {
			late = time.After(left)
		}
		select {
		case p, ok := <-chunks:
			if !ok {
				return
			}
			if exited == nil {
				left -= time.Since(asked)
				rest -= len(p)
			}
			_, _ = out.Write(p) // cannot fail
		case <-exited:
			exited = nil
		case <-late:
			return
		}
	}
}

// interrupts holds when the last Ctrl-C came. It has room for one.
type interrupts chan time.Time

// add is called by the console's goroutine only.
func (i interrupts) add() {
	select {
	case <-i:
	default:
	}
	i <- time.Now()
}

// awaitShown waits for the end of the output to be shown, once the command has
// exited. After an interrupt a slow terminal is not waited for.
func (t *Terminal) awaitShown(out *shellOutput, copied <-chan struct{}, interrupted interrupts) {
	exited := time.Now()
	for waiting := true; waiting; {
		select {
		case <-copied:
			return
		case at := <-interrupted: // one long before was not what ended it
			waiting = exited.Sub(at) > shellPipeWait
		}
	}
	select {
	case <-copied:
		return
	case <-time.After(shellHurry):
	}
	out.hidden.Store(true)
	t.discard()
	<-copied
}
