//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui/screen"

	"artoo/tool/shell"
)

// wholeMessages keeps messages with all their parts, one a line.
type wholeMessages struct {
	mu  sync.Mutex
	got []string
}

func (w *wholeMessages) Send(_ context.Context, m agent.Message, cb agent.Callbacks) (*agent.Response, error) {
	text := m.Text
	for _, p := range m.Attachments {
		text += "\n+ " + p.(provider.Text).Text
	}
	w.mu.Lock()
	w.got = append(w.got, text)
	w.mu.Unlock()
	cb.OnText("ok\n")
	return &agent.Response{Text: "ok"}, nil
}

func (w *wholeMessages) Kill() {}

func (w *wholeMessages) messages() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.got...)
}

// runLines sends lines over pipes, with a shell.
func runLines(t *testing.T, change func(*Options), lines ...string) (shown string, sent []string) {
	t.Helper()
	w := &wholeMessages{}
	shown, _ = say(t, func(o *Options) {
		o.Sender, o.Environ = w, []string{"SHELL=/bin/sh", "PATH=" + os.Getenv("PATH"), "MINE=my own"}
		if change != nil {
			change(o)
		}
	}, lines...)
	return shown, w.messages()
}

// bash knows the statuses of a whole pipeline, whose last command may hide that another one failed.
func TestAFailedPartOfAPipelineIsNamed(t *testing.T) {
	t.Parallel()
	bash := func(o *Options) { o.Environ = []string{"SHELL=" + shell.Find(nil), "PATH=" + os.Getenv("PATH")} }
	shown, sent := runLines(t, bash, "!(exit 3) | cat", "x")
	want := "exit status 0 of cat; (exit 3): 3"
	if !strings.Contains(shown, want+"; its output goes") || len(sent) != 1 || !strings.HasSuffix(sent[0], "["+want+"]") {
		t.Errorf("%s\n%q", shown, sent)
	}
}

func TestShellCommandsGoAlongWithTheNextMessage(t *testing.T) {
	t.Parallel()
	const shared = "\n+ I ran a command myself. It and its output:\n\n$ "
	for _, test := range []struct {
		name   string
		lines  []string
		sent   []string
		wants  []string
		hidden string // must not be shown
	}{
		{"once", []string{"!echo $MINE; exit 3", "why?", "and now?"},
			[]string{"why?" + shared + "echo $MINE; exit 3\nmy own\n[exit status 3]", "and now?"},
			[]string{"\nmy own\n", "exit status 3; its output goes with your next message"}, ""},
		{"kept out", []string{"!!echo secret", "why?"}, []string{"why?"}, []string{"\nsecret\n"}, "exit status"},
		{"kept out and failed", []string{"!!exit 4"}, nil, []string{"exit status 4"}, "goes along"},
		{"both streams, as they come", []string{"!echo one; echo two >&2; echo three", "x"},
			[]string{"x" + shared + "echo one; echo two >&2; echo three\none\ntwo\nthree\n[exit status 0]"},
			[]string{"one\ntwo\nthree\n"}, ""},
		{"several", []string{"!echo 1", "!echo 2", "x"},
			[]string{"x" + shared + "echo 1\n1\n[exit status 0]" + shared + "echo 2\n2\n[exit status 0]"}, nil, ""},
		{"/run", []string{"/run echo 1", "x"}, []string{"x" + shared + "echo 1\n1\n[exit status 0]"},
			[]string{"\n1\n"}, ""},
		{"no input", []string{"!cat; echo end", "x"},
			[]string{"x" + shared + "cat; echo end\nend\n[exit status 0]"}, nil, ""},
		{"no line end", []string{"!printf half", "x"}, []string{"x" + shared + "printf half\nhalf\n[exit status 0]"},
			[]string{"half\n"}, ""},
		{"nothing said", []string{"!true", "x"}, []string{"x" + shared + "true\n[exit status 0]"}, nil, ""},
		{"nothing to run", []string{"!", "!!", "!  ", "x"}, []string{"x"}, []string{"follow ! with a command"}, ""},
		{"a signal", []string{"!kill -9 $$", "x"}, []string{"x" + shared + "kill -9 $$\n[signal: killed]"},
			[]string{"signal: killed"}, ""},
		{"not found", []string{"!nosuchcommand", "x"}, nil, []string{"exit status 127"}, ""},
		{"an exclamation within", []string{"wow!ls"}, []string{"wow!ls"}, nil, ""},
		{"a block is text", []string{`"""`, "!echo run", `"""`}, []string{"!echo run"}, nil, "\nrun"},
		{"left behind with its session", []string{"!echo 1", "/clear", "x"}, []string{"x"}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			shown, sent := runLines(t, nil, test.lines...)
			if test.sent != nil {
				if diff := cmp.Diff(test.sent, sent); diff != "" {
					t.Error(diff)
				}
			}
			for _, want := range test.wants {
				if !strings.Contains(shown, want) {
					t.Errorf("no %q in\n%s", want, shown)
				}
			}
			if test.hidden != "" && strings.Contains(shown, test.hidden) {
				t.Errorf("%q in\n%s", test.hidden, shown)
			}
		})
	}
}

func TestShellOutputIsSafeAndBounded(t *testing.T) {
	t.Parallel()
	shown, sent := runLines(t, func(o *Options) { o.Agent.Env().ResultMax = 400 },
		`!printf '\033[31mred\033[0m \033]0;title\007\033]52;c;eA==\007ok\n10%%\r100%%\n\342\200\256\n'`, "x")
	if strings.ContainsAny(shown, "\x1b\r") || !strings.Contains(shown, "red ok\n100%\n<U+202E>\n") {
		t.Errorf("shown %q", shown)
	}
	if !strings.Contains(sent[0], "\nred ok\n100%\n\u202e\n[exit") {
		t.Errorf("sent %q", sent)
	}
	shown, sent = runLines(t, func(o *Options) { o.Agent.Env().ResultMax = 400 },
		"!i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done", "x")
	if !strings.Contains(shown, "line 0\n") || !strings.Contains(shown, "line 250\n") ||
		!strings.Contains(shown, "line 499\n") {
		t.Errorf("not all is shown: %q", shown)
	}
	if s := sent[0]; len(s) > 700 || !strings.Contains(s, "line 0\n") || !strings.Contains(s, "line 499\n") ||
		!strings.Contains(s, " bytes are missing here: ") {
		t.Errorf("sent %q", sent)
	}
}

func TestShellCommandsRunInTheProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, sent := runLines(t, func(o *Options) { o.Agent.Env().Dir = dir }, "!ls -d $PWD; touch here", "x")
	if want := "x\n+ I ran a command myself in " + dir + "."; len(sent) != 1 || !strings.HasPrefix(sent[0], want) {
		t.Errorf("sent %q", sent)
	}
	if _, err := os.Stat(filepath.Join(dir, "here")); err != nil {
		t.Error(err)
	}
	shown, sent := runLines(t, func(o *Options) { o.Environ = []string{"SHELL=/nowhere/sh"} }, "!ls", "x")
	if !strings.Contains(shown, "!: fork/exec /nowhere/sh") || len(sent) != 1 || sent[0] != "x" {
		t.Errorf("sent %q, shown %q", sent, shown)
	}
}

// Without a terminal an interrupt is passed on to all of the command's group,
// and a second one kills processes that ignore it.
func TestShellCommandIsInterrupted(t *testing.T) {
	for _, test := range []struct {
		name, command string
		times         int
		late          bool
	}{
		{"at once", `sh -c 'echo ready; exec sleep 600'; echo never`, 1, false},
		{"the second kills", `trap '' INT; echo ready; while :; do sleep 600; done`, 2, false},
		{"time kills", `trap '' INT; echo ready; while :; do sleep 600; done`, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &wholeMessages{}
			k := startLines(t, &sender{}, func(o *Options) {
				o.Sender, o.Environ = w, []string{"SHELL=/bin/sh", "PATH=" + os.Getenv("PATH")}
			})
			k.send("!" + test.command + "\n")
			k.expect("ready\n")
			for len(k.clock.set) > 0 {
				<-k.clock.set
			}
			for i := range test.times {
				if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					<-k.clock.set // the first was dealt with: its timer runs
				}
			}
			if test.late {
				k.clock.advance(signalWait)
			}
			k.expect("signal: ")
			k.send("x\n")
			k.await(k.answer, 0, "ok")
			k.eof()
			k.ends(0)
			if sent := w.messages(); len(sent) != 1 || strings.Contains(sent[0], "\nnever") {
				t.Errorf("sent %q", sent)
			}
		})
	}
}

// shellPiece is a piece of output of several reads, in lines.
func shellPiece() string { return strings.Repeat("a line of the output\n", 5000) }

func TestASlowTerminalGetsTheOutputOfACommandThatHasExited(t *testing.T) {
	t.Parallel()
	k := startLines(t, &sender{}, nil)
	k.expect("you: ")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out := newShellOutput(k.term, shellKeep)
	slow := sync.OnceFunc(func() { <-time.After(shellPipeWait + 100*time.Millisecond) })
	var shown strings.Builder
	out.draw = func(p []byte) { slow(); shown.Write(p) }
	go func() {
		_, _ = w.WriteString(shellPiece())
		_ = w.Close()
	}()
	var exited atomic.Bool
	exited.Store(true)
	out.begin()
	k.term.copyShell(r, out, &exited)
	out.end()
	if shown.String() != shellPiece() {
		t.Errorf("%d bytes are shown", shown.Len())
	}
	k.eof()
	k.end()
}

func TestAnInterruptDoesNotWaitForASlowTerminalToShowTheOutputOfACommand(t *testing.T) {
	t.Parallel()
	discarded := make(chan struct{})
	k := startLines(t, &sender{},
		func(o *Options) { o.Discard = func() (bool, error) { close(discarded); return true, nil } })
	k.expect("you: ")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out := newShellOutput(k.term, shellKeep)
	draws := 0
	out.draw = func([]byte) { <-discarded; draws++ }
	go func() {
		_, _ = w.WriteString(shellPiece())
		_ = w.Close()
	}()
	var exited atomic.Bool
	exited.Store(true)
	copied, interrupted := make(chan struct{}), make(interrupts, 1)
	interrupted.add()
	out.begin()
	go func() { defer close(copied); k.term.copyShell(r, out, &exited) }()
	k.term.awaitShown(out, copied, interrupted)
	out.end()
	if draws != 1 { // the one that was held up, of which Discard throws away the rest
		t.Errorf("%d pieces are shown", draws)
	}
	if got := out.kept(); !strings.HasSuffix(got, "a line of the output\n") {
		t.Errorf("kept %q", got)
	}
	k.eof()
	k.end()
}

// A process left in the background does not delay the prompt.
func TestShellCommandInTheBackground(t *testing.T) {
	t.Parallel()
	shown, _ := runLines(t, nil, "!sleep 600 & echo began $!")
	if !strings.Contains(shown, "exit status 0; its output goes") {
		t.Errorf("shown %q", shown)
	}
	var pid int
	if _, err := fmt.Sscan(shown[strings.LastIndex(shown, "began ")+len("began "):], &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// On a terminal the command has it for its input, in the modes it was found in,
// and they come back.
func TestShellCommandHasTheTerminal(t *testing.T) {
	t.Parallel()
	for _, profile := range []screen.Profile{screen.Rich, screen.Plain} {
		w := &wholeMessages{}
		k := startPTY(t, &sender{}, func(o *Options) {
			o.Sender, o.Profile, o.Environ = w, profile, []string{"SHELL=/bin/sh", "PATH=" + os.Getenv("PATH")}
		})
		k.expect("you: ")
		edit := termios(t, k.tty)
		k.send("!stty -a | grep -q ' icanon' && printf 'your name? '; read name; echo hello $name")
		k.settleOn(profile)
		k.send(map[screen.Profile]string{screen.Rich: "\r", screen.Plain: "\n"}[profile])
		k.waited(shellOpenWait) // a question without a line end is shown after a silence
		k.expect("your name? ")
		k.send("ann\n")
		k.expect("hello ann")
		k.expect("exit status 0")
		k.expect("you: ")
		if profile == screen.Rich {
			if diff := cmp.Diff(edit, termios(t, k.tty)); diff != "" {
				t.Errorf("the modes are not back: %s", diff)
			}
			k.enter("so?")
			k.expect(pasteOn + "you: ")
			if sent := w.messages(); len(sent) != 1 || !strings.Contains(sent[0], "your name? hello ann\n[exit status 0]") {
				t.Errorf("sent %q", sent)
			}
		}
	}
}

// settleOn waits for an editor to have taken the keys; the kernel's needs no
// wait.
func (k *talk) settleOn(profile screen.Profile) {
	k.Helper()
	if profile == screen.Rich {
		k.settle()
	}
}

// waited moves the clock on once somebody waits for it.
func (k *talk) waited(d time.Duration) {
	k.Helper()
	wanted(k, k.clock.set)
	k.clock.advance(d)
}

// A line that was pasted, or stands in a block, is no command.
func TestCommandsCountOnlyWhereTheyAreTyped(t *testing.T) {
	t.Parallel()
	w := &wholeMessages{}
	k := startPTY(t, &sender{}, func(o *Options) {
		o.Sender, o.Environ = w, []string{"SHELL=/bin/sh", "PATH=" + os.Getenv("PATH")}
	})
	k.expect("you: ")
	answered := 0
	for _, text := range []string{"x\n/quit", "/quit", "!touch made", "quit", "!!ls"} {
		k.send(pasteBegin + text + pasteEnd)
		k.settle()
		k.send("\r")
		answered = k.await(k.answer, answered, "ok")
		k.expect(pasteOn + "you: ")
	}
	for _, text := range []string{"/quit", "!ls", "exit"} { // a block is text too
		for _, part := range []string{`"""`, "\r", text, "\r", `"""`, "\r"} {
			k.send(part)
			k.settle()
		}
		answered = k.await(k.answer, answered, "ok")
		k.expect(pasteOn + "you: ")
	}
	if diff := cmp.Diff([]string{"x\n/quit", "/quit", "!touch made", "quit", "!!ls", "/quit", "!ls", "exit"},
		w.messages()); diff != "" {
		t.Error(diff)
	}
	k.enter("/quit")
	k.end()
}
