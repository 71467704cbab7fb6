//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"artoo/agent"
	"artoo/ui/prompt"
	"artoo/ui/prompt/prompttest"
	"artoo/ui/screen"
)

// The tests of signals, panics and job control need a process of their own: the
// test binary, started again with this variable.
const childVariable = "ARTOO_UI_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "talk":
		os.Exit(childTalk())
	case "shell":
		os.Exit(childShell(true))
	case "background":
		os.Exit(childShell(false))
	case "crash":
		os.Exit(childCrash())
	case "ask":
		os.Exit(childAsk())
	}
	// Children inherit that hangups are ignored, as under nohup, but not where they
	// are watched.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	os.Exit(m.Run())
}

// childTalk holds a conversation on the standard streams. The message decides the
// course of the turn.
func childTalk() int {
	s := &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		switch text {
		case "panic":
			panic("the turn broke")
		case "half":
			cb.OnText("half a row of an answer")
			panic("the answer broke")
		case "hang":
			fmt.Fprintln(os.Stderr, "hanging")
			<-ctx.Done()
			return &agent.Response{}, context.Cause(ctx)
		}
		cb.OnText("answer to " + text + "\n")
		return &agent.Response{}, nil
	}}
	var narrow atomic.Bool
	term, err := New(Options{
		Agent: childAgent(), Program: breakingProgram{}, Models: &testProgram{}, Sender: s, Profile: screen.Rich,
		Screen: screen.New(screen.Options{
			Out: os.Stdout, Err: os.Stderr, OutTTY: true, ErrTTY: true, Conversation: true,
			Profile: screen.Rich, UTF8: true,
		}),
		Options: prompt.Options{Device: prompt.Device{In: os.Stdin, Tty: os.Stderr}, Size: func() (int, int) {
			if narrow.Load() {
				panic("the size broke")
			}
			return 80, 24
		}, Ending: prompt.Ending{Quit: func() {
			fmt.Fprintln(os.Stderr, "quitting")
			fmt.Fprintln(os.Stderr, prompt.DieOfQuit())
		}}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	term.opt.Complete = func(text string, _ int) prompt.Completion {
		if text == "size" {
			narrow.Store(true) // the next drawing
			return prompt.Completion{}
		}
		panic("the completer broke")
	}
	code, err := term.Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	return code
}

// childAgent is the agent of a conversation in a child, where there is no test.
func childAgent() *agent.Agent {
	a, err := agent.New(agent.Options{Model: testModel("demo", "demo"), Sessions: agent.Sessions{Ephemeral: true}})
	if err != nil {
		panic(err)
	}
	return a
}

// childShell is as much of a job-control shell as it takes: it runs one job in
// a group of its own, and when that stops, takes the terminal back and waits
// for a line before it lets the job go on.
func childShell(foreground bool) int {
	signal.Ignore(syscall.SIGTTOU) // so does the job
	job := exec.Command(os.Args[0])
	job.Env = append(os.Environ(), childVariable+"=talk")
	job.Stdin, job.Stdout, job.Stderr = os.Stdin, os.Stdout, os.Stderr
	job.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: foreground}
	if err := job.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 97
	}
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(job.Process.Pid, &status, syscall.WUNTRACED, nil); errors.Is(err, syscall.EINTR) {
			continue
		} else if err != nil || !status.Stopped() {
			fmt.Fprintf(os.Stderr, "exit %d\n", status.ExitStatus())
			return status.ExitStatus()
		}
		if err := unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 96
		}
		fmt.Fprintln(os.Stderr, "stopped")
		if _, err := os.Stdin.Read(make([]byte, 64)); err != nil {
			return 95
		}
		if err := unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, job.Process.Pid); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 94
		}
		if err := syscall.Kill(-job.Process.Pid, syscall.SIGCONT); err != nil {
			return 93
		}
	}
}

// startChild runs the test binary in a session of its own on a new terminal.
func startChild(t *testing.T, what string) (*talk, *exec.Cmd) {
	t.Helper()
	master, slave, err := prompttest.OpenPTY()
	if err != nil {
		t.Fatal(err)
	}
	k := &talk{T: t, in: master, tty: nil, status: newSink()}
	k.stopReading = readAll(t, master, k.status)
	k.before = termios(t, slave)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childVariable+"="+what)
	command.Stdin, command.Stdout, command.Stderr = slave, slave, slave
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	k.tty = slave
	t.Cleanup(func() {
		_ = command.Process.Kill()
		k.stopReading()
		_, _ = master.Close(), slave.Close()
	})
	return k, command
}

// type_ types into a child, which is not watched.
func (k *talk) type_(keys string) {
	k.Helper()
	if _, err := io.WriteString(k.in, keys); err != nil {
		k.Fatal(err)
	}
}

func exitOf(t *testing.T, command *exec.Cmd) int {
	t.Helper()
	late := time.AfterFunc(waitLimit, func() { _ = command.Process.Kill() }) // then the test sees a kill, and fails
	defer late.Stop()
	var exit *exec.ExitError
	if err := command.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode()
}

// TERM and HUP end the conversation with the terminal as it was found.
func TestSignalsGiveTheTerminalBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		signal syscall.Signal
		turn   bool
		code   int
	}{{syscall.SIGTERM, false, 143}, {syscall.SIGHUP, false, 129}, {syscall.SIGTERM, true, 143}} {
		t.Run(fmt.Sprint(tt.signal, tt.turn), func(t *testing.T) {
			t.Parallel()
			k, command := startChild(t, "talk")
			before := k.before
			k.expect(pasteOn + "you: ")
			if during := termios(t, k.tty); during == before {
				t.Fatal("the modes did not change")
			}
			if tt.turn {
				k.type_("hang")
				k.expect("hang")
				k.type_("\r")
				k.expect("hanging")
				k.type_("later\r")
				k.expect("queued: later")
			} else {
				k.type_("half a line")
				k.expect("half a line")
			}
			if err := command.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			if code := exitOf(t, command); code != tt.code {
				t.Errorf("exit %d, want %d", code, tt.code)
			}
			if after := termios(t, k.tty); after != before {
				t.Errorf("the modes are %+v, were %+v", after, before)
			}
			if !tt.turn {
				k.expect(pasteOff)
				return
			}
			k.expect("not sent: later") // there is no next prompt to give it back to
		})
	}
}

// Wherever it breaks: in a turn, in the middle of an answer's row, in the
// goroutine that reads keys, while drawing, in a command. The terminal is as it
// was, and the message begins a row.
func TestAPanicGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ typed, end, message string }{
		{"panic", "\r", "the turn broke"}, {"half", "\r", "the answer broke"}, {"tab", "\t", "the completer broke"},
		{"size", "\t", "the size broke"}, {"/config", "\r", "in a command"},
	} {
		t.Run(tt.typed, func(t *testing.T) {
			t.Parallel()
			k, command := startChild(t, "talk")
			k.expect(pasteOn + "you: ")
			k.type_(tt.typed)
			k.expect(tt.typed)
			k.type_(tt.end)
			if code := exitOf(t, command); code != 2 {
				t.Errorf("exit %d", code)
			}
			k.expect("panic: ")
			begin := k.status.String()[:k.seen-len("panic: ")]
			if !strings.HasSuffix(begin, "\n") {
				t.Errorf("the message does not begin a row: %q", begin)
			}
			if strings.LastIndex(begin, pasteOn) > strings.LastIndex(begin, pasteOff) {
				t.Errorf("paste mode is on: %q", begin)
			}
			k.expect(tt.message)
			if after := termios(t, k.tty); after != k.before {
				t.Errorf("the modes are %+v, were %+v", after, k.before)
			}
		})
	}
}

// QUIT ends artoo by that signal, on a sane terminal, and prints no dump.
func TestQuitGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"key in a turn", "signal at the prompt"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			k, command := startChild(t, "talk")
			k.expect(pasteOn + "you: ")
			if where == "signal at the prompt" {
				k.type_("half a line\x1c") // at the prompt the key means nothing
				k.expect("half a line")
				if err := command.Process.Signal(syscall.SIGQUIT); err != nil {
					t.Fatal(err)
				}
			} else {
				k.type_("hang")
				k.expect("hang")
				k.type_("\r")
				k.expect("hanging")
				k.type_("\x1c")
			}
			k.expect("quitting\r\n")
			exitOf(t, command)
			if died := command.ProcessState.Sys().(syscall.WaitStatus); died.Signal() != syscall.SIGQUIT {
				t.Errorf("it ended with %v", command.ProcessState)
			}
			shown := k.status.String()
			if !strings.Contains(shown, "\nquitting") || strings.LastIndex(shown, pasteOn) > strings.LastIndex(shown, pasteOff) {
				t.Errorf("the terminal shows %q", shown)
			}
			if after := termios(t, k.tty); after != k.before {
				t.Errorf("the modes are %+v, were %+v", after, k.before)
			}
		})
	}
}

// Started in the background artoo stops before it changes anything, even where
// the kernel would let it, and begins when it is brought to the foreground.
func TestInTheBackgroundNothingIsTouched(t *testing.T) {
	t.Parallel()
	k, command := startChild(t, "background")
	k.expect("stopped")
	if got := termios(t, k.tty); got != k.before {
		t.Errorf("the modes are %+v, were %+v", got, k.before)
	}
	if shown := k.status.String(); strings.Contains(shown, pasteOn) {
		t.Errorf("it wrote %q", shown)
	}
	k.type_("fg\n")
	k.expect(pasteOn + "you: ")
	if got := termios(t, k.tty); got == k.before {
		t.Error("in the foreground the modes did not change")
	}
	k.type_("one")
	k.expect("one")
	k.type_("\r")
	k.expect("answer to one")
	k.expect(pasteOn + "you: ")
	k.type_("\x04")
	if code := exitOf(t, command); code != 0 {
		t.Errorf("exit %d", code)
	}
	if got := termios(t, k.tty); got != k.before {
		t.Errorf("at the end the modes are %+v, were %+v", got, k.before)
	}
}

// Ctrl-Z at the prompt and in a turn gives the terminal back as it was; with fg prompt, text and modes are there again.
func TestSuspendAndComeBack(t *testing.T) {
	t.Parallel()
	k, command := startChild(t, "shell")
	before := k.before
	for _, where := range []string{"prompt", "turn"} {
		k.expect(pasteOn + "you: ")
		if where == "turn" {
			k.type_("hang")
			k.expect("hang")
			k.type_("\r")
			k.expect("hanging")
		} else {
			k.type_("some text")
			k.expect("some text")
		}
		k.type_("\x1a")
		k.expect("stopped")
		if got := termios(t, k.tty); got != before {
			t.Errorf("%s: stopped with the modes %+v, were %+v; %q", where, got, before, k.status)
		}
		k.type_("fg\n")
		if where == "prompt" {
			k.expect(pasteOn + "you: some text")
			k.type_("\x03")
			continue
		}
		// Nothing shows that it goes on but the modes; a key before that is
		// the shell's.
		for deadline := time.Now().Add(waitLimit); termios(t, k.tty) == before; {
			if time.Now().After(deadline) {
				t.Fatal("it does not go on")
			}
		}
		k.type_("\x03")
		k.expect("stopped\r\n")
		k.expect(pasteOn + "you: ")
	}
	k.type_("\x04")
	if code := exitOf(t, command); code != 0 {
		t.Errorf("exit %d", code)
	}
	if got := termios(t, k.tty); got != before {
		t.Errorf("the modes are %+v, were %+v", got, before)
	}
}

// Without a shell above it a stopped artoo would never go on: it beeps instead.
func TestNoJobControlBeeps(t *testing.T) {
	t.Parallel()
	k, command := startChild(t, "talk")
	k.expect(pasteOn + "you: ")
	k.type_("text")
	k.expect("text")
	k.type_("\x1a")
	k.expect("you: text")
	k.expect("\a")
	k.type_("!\x15\x04")
	if code := exitOf(t, command); code != 0 {
		t.Errorf("exit %d", code)
	}
}
