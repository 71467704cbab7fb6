package ui

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"artoo/provider"
)

const (
	// shellPipeWait is how long the output of what a command left in the
	// background is waited for.
	shellPipeWait = 500 * time.Millisecond
	// shellKeep is how much of an output the model is shown when nothing else
	// is set, in bytes.
	shellKeep = 10_000
)

// runRun is !COMMAND for those used to /run.
func runRun(ctx context.Context, t *Terminal, arg string) error { return t.shell(ctx, "!"+arg) }

// shell runs the command of a line that begins with "!". Its output goes along
// with the next message, unless there are two. The policy has no say: the person
// typed it.
func (t *Terminal) shell(ctx context.Context, text string) error {
	command, private := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(text), "!"), "!")
	command = strings.TrimSpace(command)
	if command == "" {
		t.Note("write a command behind it: !ls shows the model what comes, !!ls does not")
		return nil
	}
	out := newShellOutput(t, firstSet(t.opt.ResultMax, shellKeep))
	how, err := t.runShell(ctx, command, out)
	if err != nil {
		t.Note("!: " + oneLine(err.Error()))
		if how == "" {
			return nil
		}
	}
	switch {
	case !private:
		t.Note(how + "; it goes along with your next message")
		t.shared = append(t.shared, provider.Text{Text: sharedText(command, t.opt.Dir, out.kept(), how)})
	case how != exitedWell:
		t.Note(how)
	}
	return nil
}

func firstSet(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// sharedText is what the model is told of a command.
func sharedText(command, dir, output, how string) string {
	var b strings.Builder
	b.WriteString("I ran a command myself")
	if dir != "" {
		b.WriteString(" in " + dir)
	}
	b.WriteString(". It and its output:\n\n$ " + command + "\n" + output)
	if output != "" && !strings.HasSuffix(output, "\n") {
		b.WriteByte('\n')
	}
	return b.String() + "[" + how + "]"
}

// takeShared is what goes along with the message that is sent now.
func (t *Terminal) takeShared() []provider.Part {
	parts := t.shared
	t.shared = nil
	return parts
}

// exitedWell is the end of a command that did what it should.
const exitedWell = "exit status 0"

// runShell runs a command line with the person's whole environment and returns
// how it ended, "" when it did not begin. It has the terminal for its input if
// there is one, and Ctrl-C is for it alone.
func (t *Terminal) runShell(ctx context.Context, line string, out *shellOutput) (how string, err error) {
	command := exec.CommandContext(ctx, t.userShell(), shellFlag(), line)
	command.Dir, command.Env = t.opt.Dir, t.opt.Environ
	command.Stdout, command.Stderr = out, out
	command.WaitDelay = shellPipeWait
	command.Cancel = func() error { return stopCommand(command, true) }
	run := func() error {
		out.begin()
		defer out.end()
		// The one who interrupts waits until the command runs: it shows
		// something before Start returns.
		started, over := make(chan struct{}), make(chan struct{})
		t.console.beginTurn(t.shellStopper(command, started, over))
		defer t.console.endTurn()
		defer close(over)
		err := command.Start()
		if err != nil {
			return err // and started stays open: there is nothing to stop
		}
		close(started)
		err = command.Wait()
		how = howItEnded(command.ProcessState)
		var exit *exec.ExitError
		if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
			return nil // how says it; what stays in the background is no failure
		}
		return err
	}
	if t.hasTerminal() {
		command.Stdin = t.opt.In
		err = t.console.yield(run)
		return how, err
	}
	ownSession(command) // no terminal that it could wait for
	err = run()
	return how, err
}

// shellStopper ends a command: the first interrupt asks it to, the second kills
// it, and so does time. Called by the console's goroutine, which it does not
// hold up.
func (t *Terminal) shellStopper(command *exec.Cmd, started, over <-chan struct{}) func() {
	asked := make(chan struct{}, 2)
	go func() {
		defer t.console.guard()
		var late <-chan time.Time
		for times := 0; times < 2; times++ {
			select {
			case <-asked:
			case <-late:
			case <-over:
				return
			}
			select {
			case <-started:
			case <-over:
				return
			}
			if err := stopCommand(command, times > 0); err != nil {
				t.Note("error: " + err.Error())
			}
			late = t.opt.Clock.After(signalWait)
		}
	}()
	return func() {
		select {
		case asked <- struct{}{}:
		default: // it is being killed
		}
	}
}

// userShell is the person's shell, which takes a command line as sh does.
func (t *Terminal) userShell() string {
	if runtime.GOOS == "windows" {
		return firstText(getenv(t.opt.Environ, "COMSPEC"), "cmd.exe")
	}
	return firstText(getenv(t.opt.Environ, "SHELL"), "/bin/sh")
}

func shellFlag() string {
	if runtime.GOOS == "windows" {
		return "/c"
	}
	return "-c"
}

func firstText(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

// howItEnded is "exit status 1" or "signal: killed".
func howItEnded(state *os.ProcessState) string {
	if state == nil {
		return ""
	}
	return state.String()
}
