package ui

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"artoo/provider"
	"artoo/tool/shell"
	"artoo/ui/sanitize"
)

// How many bytes of an output the model gets when nothing else is set, and at least.
const (
	shellKeep = 10_000
	leastKept = 16
)

func runRun(ctx context.Context, t *Terminal, arg string) error { return t.shell(ctx, "!"+arg) }

// shell runs the command of a line that begins with "!". Its output goes along with the next
// message, unless there are two. The policy has no say: the user typed it.
func (t *Terminal) shell(ctx context.Context, line string) error {
	command, private := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "!"), "!")
	command = strings.TrimSpace(command)
	if command == "" {
		t.screen.Note("follow ! with a command: !ls shows the model its output, !!ls does not")
		return nil
	}
	out := newShellOutput(t, cmp.Or(t.opt.Agent.Env().ResultMax, shellKeep))
	how, err := t.runShell(ctx, command, out)
	if err != nil {
		t.screen.Trouble("!: " + oneLine(err.Error()))
		if how == "" {
			return nil
		}
	}
	switch {
	case !private:
		t.screen.Note(how + "; its output goes with your next message")
		t.shared = append(t.shared, provider.Text{Text: sharedText(command, t.opt.Agent.Env().Dir, out.kept(), how)})
	case how != exitedWell:
		t.screen.Note(how)
	}
	return nil
}

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

const exitedWell = "exit status 0"

// runShell runs a command line with the user's whole environment, and the terminal for its
// input if there is one. how is "" when it did not begin.
func (t *Terminal) runShell(ctx context.Context, line string, out *shellOutput) (how string, err error) {
	name := cmp.Or(t.children.variable("SHELL"), "/bin/sh")
	pipeline := shell.LastPipeline(line, name)
	command := t.opt.Environ.Command(ctx, name, "-c", pipeline.Ask(line))
	command.Dir, command.Env = t.opt.Agent.Env().Dir, t.children.withPath(t.opt.Environ)
	command.WaitDelay = shellPipeWait
	command.Cancel = func() error { return stopCommand(command, true) }
	keys := make(interrupts, 1)
	run := func() error {
		how, err = t.runShown(command, out, keys)
		if command.ProcessState != nil {
			of, others := shell.OfPipe(out.statuses(pipeline, command.ProcessState.ExitCode()), func(int) string { return "" })
			how += of + others
		}
		return err
	}
	if t.children.hasTerminal() {
		command.Stdin = t.opt.In
		err = t.prompt.Lend(keys.add, run)
		return how, err
	}
	ownSession(command) // no terminal that it could wait for
	err = run()
	return how, err
}

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
	t.prompt.BeginTurn(func() { keys.add(); <-started; stop() }) // first: output can be interrupted
	err = command.Start()
	t.complain(w.Close())
	if err != nil {
		close(over)
		close(started)
		t.prompt.EndTurn(false)
		return "", errors.Join(err, r.Close())
	}
	close(started)
	var exited atomic.Bool
	copied := make(chan struct{})
	go func() {
		defer t.prompt.Guard()
		defer close(copied)
		t.copyShell(r, out, &exited)
	}()
	err = command.Wait()
	close(over)
	exited.Store(true)
	t.complain(r.SetReadDeadline(time.Now().Add(shellPipeWait))) // ends the read that has begun
	t.awaitShown(out, copied, keys)
	t.complain(r.Close())
	if command.ProcessState != nil {
		how = command.ProcessState.String() // "exit status 1" or "signal: killed"
	}
	t.prompt.EndTurn(how == exitedWell)
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		return how, nil // how says it; a process left in the background is no failure
	}
	return how, err
}

// shellStopper ends a command: the first interrupt asks it to, the second and time kill it.
// Called by the prompt's goroutine.
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
		t.screen.Trouble("error: " + err.Error())
	}
}

// shellOpenWait is the silence after which a line that has not ended is shown: it may be a question.
const shellOpenWait = 100 * time.Millisecond

// shellOutput shows a command's output as it comes, and keeps its ends. Safe for concurrent
// use.
type shellOutput struct {
	terminal *Terminal
	draw     func(p []byte)

	mu     sync.Mutex
	clean  *shell.Cleaner
	keep   *shell.Spool
	shown  string // the part of the open line that is on the screen
	inRow  bool   // the cursor stands behind text
	opened bool
	writes int  // counts them, so that a silence can be told
	armed  bool // a silence is being waited for
	ended  chan struct{}

	hidden atomic.Bool // nothing more is shown
}

func newShellOutput(t *Terminal, most int) *shellOutput {
	o := &shellOutput{terminal: t, draw: t.screen.Draw, keep: shell.NewSpool(max(most, leastKept)), ended: make(chan struct{})}
	o.clean = shell.NewCleaner(cleanLines{o})
	return o
}

func (o *shellOutput) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.terminal.screen.Prompt("")
	o.opened = true
}

func (o *shellOutput) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.clean.Close() // cannot fail
	if o.inRow {
		o.draw([]byte("\n"))
	}
	o.opened = false
	close(o.ended)
	o.terminal.screen.PromptDone()
}

func (o *shellOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.clean.Write(p) // cannot fail
	o.writes++
	if !o.armed && o.clean.Open() != "" {
		o.armed = true
		go o.silence(o.terminal.opt.Clock.After(shellOpenWait), o.writes)
	}
	return len(p), nil
}

func (o *shellOutput) silence(timer <-chan time.Time, writes int) {
	defer o.terminal.prompt.Guard()
	for {
		select {
		case <-timer:
		case <-o.ended:
			return
		}
		o.mu.Lock()
		if !o.opened || o.writes == writes {
			break
		}
		writes = o.writes
		timer = o.terminal.opt.Clock.After(shellOpenWait)
		o.mu.Unlock()
	}
	o.armed = false
	if o.opened {
		o.show(o.clean.Open())
	}
	o.mu.Unlock()
}

// show draws a line, or as much of one as there is. A line that changed stands below itself.
func (o *shellOutput) show(text string) {
	if o.hidden.Load() {
		return
	}
	text = o.terminal.screen.Marked(sanitize.Text(text, sanitize.Code))
	rest, same := strings.CutPrefix(text, o.shown)
	if !same {
		rest = "\n" + text
	}
	o.shown = text
	if rest != "" {
		o.draw([]byte(rest))
		o.inRow = !strings.HasSuffix(rest, "\n")
	}
}

// kept is the output for the model. Call it after end.
func (o *shellOutput) kept() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.keep.String()
}

// statuses are those of the line's last pipeline. Call it after end.
func (o *shellOutput) statuses(p shell.Pipeline, code int) []shell.Part {
	o.mu.Lock()
	defer o.mu.Unlock()
	return p.Statuses(o.clean, code)
}

type cleanLines struct{ *shellOutput }

func (l cleanLines) Write(p []byte) (int, error) {
	if l.opened {
		l.show(string(p))
		l.shown = ""
	}
	return l.keep.Write(p)
}

const (
	// shellPipeRest is how many bytes are shown after a command's end: more than a pipe holds.
	shellPipeRest = 128 << 10
	// shellShowWait is how long after an interrupt the rest of the output has to be shown.
	shellShowWait = 200 * time.Millisecond
)

// copyShell shows all it reads from r, until its end. Once the command has exited others may
// still hold the pipe: it waits shellPipeWait for more, without the time the terminal takes.
func (t *Terminal) copyShell(r *os.File, out *shellOutput, exited *atomic.Bool) {
	b := make([]byte, 32<<10)
	for left, rest := shellPipeWait, shellPipeRest; rest > 0; {
		began, over := time.Now(), exited.Load()
		if over {
			t.complain(r.SetReadDeadline(began.Add(left)))
		}
		n, err := r.Read(b)
		if over {
			left -= time.Since(began)
			rest -= n
		}
		_, _ = out.Write(b[:n]) // cannot fail
		if err != nil {         // the end of the pipe, or of the wait
			return
		}
	}
}

type interrupts chan time.Time

// add is called by the console's goroutine only.
func (i interrupts) add() {
	select {
	case <-i:
	default:
	}
	i <- time.Now()
}

// awaitShown waits for the end of the output to be shown, after an interrupt not for a slow
// terminal.
func (t *Terminal) awaitShown(out *shellOutput, copied <-chan struct{}, interrupted interrupts) {
	exited := time.Now()
	for waiting := true; waiting; {
		select {
		case <-copied:
			return
		case at := <-interrupted: // one long before did not end it
			waiting = exited.Sub(at) > shellPipeWait
		}
	}
	select {
	case <-copied:
		return
	case <-time.After(shellShowWait):
	}
	out.hidden.Store(true)
	t.discard()
	<-copied
}
