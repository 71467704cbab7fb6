package ui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"
)

// yield runs f while the terminal is as it was found and nothing reads it: a
// pager or an editor has it.
func (c *console) yield(f func() error) error {
	var resume func()
	var err error
	reader, isTerminal := c.reader.(terminalReader)
	c.do(func() {
		c.yielded = true
		resume = c.in.pause()
		if isTerminal {
			err = reader.release()
		}
	})
	if resume == nil {
		return io.EOF
	}
	if err == nil {
		err = f()
	}
	c.do(func() {
		if isTerminal {
			err = errors.Join(err, reader.reclaim())
		}
		c.yielded, c.returned = false, time.Now()
		resume()
	})
	return err
}

// lateSignals is how long after a child's end a signal of the keyboard is still
// taken for the child's. The kernel and the runtime may hand it to us after the
// child has died of it; a user who means artoo is not as quick as this.
const lateSignals = 200 * time.Millisecond

// childs reports whether a signal of the keyboard is for the child, not for us.
func (c *console) childs() bool {
	return c.yielded || time.Since(c.returned) < lateSignals
}

func (c *console) signal(s os.Signal) {
	reader, isTerminal := c.reader.(terminalReader)
	switch {
	case isResize(s):
		if isTerminal && !c.yielded {
			reader.resized()
		}
	case isContinue(s):
		if isTerminal && !c.yielded {
			c.complain(c.modes.again())
			reader.continued()
		}
	case (isInterrupt(s) || isQuit(s)) && c.childs():
		if isInterrupt(s) && c.overheard != nil {
			c.overheard()
		}
	case isInterrupt(s):
		c.interrupted()
	case isQuit(s):
		c.dump()
	default:
		c.end(&signalError{s})
	}
}

// end stops the turn and takes no line any more. A signal is a better reason than
// any before.
func (c *console) end(why error) {
	if c.interrupt != nil {
		c.interrupt()
	}
	if isSignal(why) && !isSignal(c.ending) {
		c.ending = nil
	}
	c.hungUp(why)
}

// dump ends the program as SIGQUIT does, but with a sane terminal.
func (c *console) dump() {
	if reader, ok := c.reader.(terminalReader); ok {
		reader.crashed()
	}
	if c.modes != nil {
		c.complain(c.modes.leave())
	}
	c.quitted()
}

func (c *console) complain(err error) {
	if err != nil {
		c.screen.Note("error: " + err.Error())
	}
}

// close ends the console's goroutines and gives the terminal back.
func (c *console) close() error {
	close(c.quit)
	<-c.ended
	// The pump goes first: a read that begins as the modes change back would
	// wait for a whole line.
	err := c.in.stop()
	if f, ok := c.reader.(io.Closer); ok {
		err = errors.Join(err, f.Close())
	}
	return err
}

// waiter waits until a file can be read without blocking.
type waiter interface {
	// wait returns when the file is readable, or when wake was called; poll
	// only looks.
	wait(poll bool) (readable bool, err error)
	wake()
	close() error
}

type request struct {
	flush  chan struct{} // deliver what is there, then this mark
	pause  chan struct{} // closed once the reader is out of the way
	resume chan struct{}
}

// stop ends the pump. Where the reader cannot be waited for, its goroutine ends
// with the next read.
func (in *input) stop() error {
	var err error
	in.once.Do(func() {
		close(in.quit)
		if in.waiter != nil {
			in.waiter.wake()
			<-in.ended
			err = in.waiter.close()
		}
	})
	return err
}

// pause makes the pump let go of the input until resume is called. It returns
// at once where the reader cannot be waited for. Chunks that were on their way
// are kept in held. Called by the goroutine that takes the chunks.
func (in *input) pause() (resume func()) {
	if in.waiter == nil {
		return func() {}
	}
	r := request{pause: make(chan struct{}), resume: make(chan struct{})}
	in.ask(r)
	for {
		select {
		case c := <-in.chunks:
			in.held = append(in.held, c)
		case <-r.pause:
			return func() { close(r.resume) }
		case <-in.ended:
			return func() {}
		}
	}
}

// flush has everything delivered that is there to be read now, and then mark.
// It reports false where that cannot be known. Called by the goroutine that
// takes the chunks.
func (in *input) flush(mark chan struct{}) bool {
	if in.waiter == nil {
		return false
	}
	return in.ask(request{flush: mark})
}

func (in *input) ask(r request) bool {
	for {
		select {
		case <-in.ended:
			return false
		default:
		}
		select {
		case in.requests <- r:
			in.waiter.wake()
			return true
		case c := <-in.chunks:
			in.held = append(in.held, c)
		case <-in.ended:
			return false
		}
	}
}

// serve grants all requests that wait: one wake may stand for several. ok is
// false when the pump has to end.
func (in *input) serve() (granted, ok bool) {
	for {
		select {
		case r := <-in.requests:
			in.grant(r)
			granted = true
		case <-in.quit:
			return granted, false
		default:
			return granted, true
		}
	}
}

// rest waits after the end of the input. The end of a terminal's input may be a
// Ctrl-D that came at a time when it means nothing: a request to flush makes
// the pump read again. It reports false when the pump has to end.
func (in *input) rest() bool {
	for {
		select {
		case <-in.quit:
			return false
		case r := <-in.requests:
			in.grant(r)
			if r.flush != nil {
				return true
			}
		}
	}
}

func (in *input) grant(r request) {
	if r.pause != nil {
		close(r.pause)
		select {
		case <-r.resume:
		case <-in.quit:
		}
		return
	}
	for more := true; more; {
		readable, err := in.waiter.wait(true)
		more = err == nil && readable && in.read()
	}
	in.deliver(chunk{mark: r.flush})
}

// crashWait is how long a crash waits for a terminal that does not take what is
// written to it.
const crashWait = time.Second

// guard is deferred by every goroutine of this package: after a panic it leaves
// the terminal as it was found and the cursor at the start of a line, and then
// tells Options.Crash.
func (c *console) guard() {
	value := recover()
	if value == nil {
		return
	}
	stack := debug.Stack()
	var err error
	if c.modes != nil {
		err = c.modes.leave()
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		// It may have been the screen that broke: then there is no more to say.
		defer func() { _ = recover() }()
		if reader, ok := c.reader.(terminalReader); ok {
			reader.crashed()
		} else {
			c.screen.Draw([]byte("\n"))
		}
		c.complain(err)
	}()
	select {
	case <-told:
	case <-time.After(crashWait):
	}
	if c.crash != nil {
		c.crash(value, stack)
	}
	panic(fmt.Sprint(value, "\n", string(stack)))
}
