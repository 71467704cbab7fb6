package ui

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"artoo/provider"
)

// shellKeep is how much of an output the model is shown when nothing else is set,
// in characters.
const shellKeep = 10_000

// runRun is !COMMAND for those used to /run.
func runRun(ctx context.Context, t *Terminal, arg string) error { return t.shell(ctx, "!"+arg) }

// shell runs the command of a line that begins with "!". Its output goes along
// with the next message, unless there are two. The policy has no say: the user
// typed it.
func (t *Terminal) shell(ctx context.Context, text string) error {
	command, private := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(text), "!"), "!")
	command = strings.TrimSpace(command)
	if command == "" {
		t.Note("follow ! with a command: !ls shows the model its output, !!ls does not")
		return nil
	}
	out := newShellOutput(t, cmp.Or(t.opt.Agent.Env().ResultMax, shellKeep))
	how, err := t.runShell(ctx, command, out)
	if err != nil {
		t.Note("!: " + oneLine(err.Error()))
		if how == "" {
			return nil
		}
	}
	switch {
	case !private:
		t.Note(how + "; it will be sent with your next message")
		t.shared = append(t.shared, provider.Text{Text: sharedText(command, t.opt.Agent.Env().Dir, out.kept(), how)})
	case how != exitedWell:
		t.Note(how)
	}
	return nil
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

// runShell runs a command line with the user's whole environment and returns
// how it ended, "" when it did not begin. It has the terminal for its input if
// there is one, and Ctrl-C is for it alone.
func (t *Terminal) runShell(ctx context.Context, line string, out *shellOutput) (how string, err error) {
	command := exec.CommandContext(ctx, t.userShell(), "-c", line)
	command.Dir, command.Env = t.opt.Agent.Env().Dir, t.withPath(t.opt.Environ)
	command.WaitDelay = shellPipeWait
	command.Cancel = func() error { return stopCommand(command, true) }
	keys := make(interrupts, 1)
	run := func() error {
		how, err = t.runShown(command, out, keys)
		return err
	}
	if t.hasTerminal() {
		command.Stdin = t.opt.In
		err = t.prompt.Lend(keys.add, run)
		return how, err
	}
	ownSession(command) // no terminal that it could wait for
	err = run()
	return how, err
}

// runShown runs the command and shows its output.
func (t *Terminal) runShown(command *exec.Cmd, out *shellOutput, keys interrupts) (how string, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	command.Stdout, command.Stderr = w, w
	out.begin()
	defer out.end()
	started, over := make(chan struct{}), make(chan struct{})
	stop := t.shellStopper(command, over)
	t.prompt.BeginTurn(func() { keys.add(); <-started; stop() }) // first: what is shown can be interrupted
	err = command.Start()
	t.complain(w.Close())
	if err != nil {
		close(over)
		close(started)
		t.prompt.EndTurn(false)
		return "", errors.Join(err, r.Close())
	}
	close(started)
	exited, copied := make(chan struct{}), make(chan struct{})
	go func() {
		defer t.prompt.Guard()
		defer close(copied)
		t.copyShell(r, out, exited)
	}()
	err = command.Wait()
	close(over)
	close(exited)
	t.awaitShown(out, copied, keys)
	t.complain(r.Close())
	how = howItEnded(command.ProcessState)
	t.prompt.EndTurn(how == exitedWell)
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		return how, nil // how says it; what stays in the background is no failure
	}
	return how, err
}

// shellStopper ends a command: the first interrupt asks it to, the second kills
// it, and so does time. Called by the console's goroutine.
func (t *Terminal) shellStopper(command *exec.Cmd, over <-chan struct{}) func() {
	asked := false
	return func() {
		select {
		case <-over:
			return
		default:
		}
		kill := asked
		t.complain(stopCommand(command, kill))
		if asked {
			return
		}
		asked = true
		late := t.opt.Clock.After(signalWait)
		go func() {
			defer t.prompt.Guard()
			select {
			case <-over:
			case <-late:
				t.prompt.Post(func() {
					select {
					case <-over:
					default:
						t.complain(stopCommand(command, true))
					}
				})
			}
		}()
	}
}

func (t *Terminal) complain(err error) {
	if err != nil {
		t.Note("error: " + err.Error())
	}
}

// userShell is the user's shell, which takes a command line as sh does.
func (t *Terminal) userShell() string {
	return cmp.Or(t.variable("SHELL"), "/bin/sh")
}

// howItEnded is "exit status 1" or "signal: killed".
func howItEnded(state *os.ProcessState) string {
	if state == nil {
		return ""
	}
	return state.String()
}
