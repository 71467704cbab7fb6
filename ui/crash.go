package ui

import (
	"fmt"
	"runtime/debug"
	"time"
)

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
		if front, ok := c.front.(terminalFront); ok {
			front.crashed()
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
