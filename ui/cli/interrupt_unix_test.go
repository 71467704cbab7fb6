//go:build unix

package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/term"

	"artoo/provider/providertest"
	"artoo/tool/needs"
	"artoo/ui/prompt/prompttest"
)

// onItsTerminal makes the terminal that is the program's streams its own, with
// it in the foreground.
func onItsTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }

// tree is a command of three processes, one below the other, that take no
// notice of any signal they may ignore. Each leaves its number in a file.
const tree = `trap '' INT TERM HUP; echo $$ >one; sh -c 'echo $$ >two; sh -c "echo \$\$ >three; echo up >started; sleep 300; :" & wait; :'; sleep 300`

// startTree begins a conversation in which tree runs.
func startTree(t *testing.T, wrap ...string) (k *terminal, tty *os.File, before *term.State) {
	t.Helper()
	cmd := onTerminal(t, []providertest.Reply{
		providertest.Anthropic(providertest.Text("Once upon"),
			providertest.Call("c1", "bash", `{"command":`+strconv.Quote(tree)+`}`)),
		providertest.Anthropic(providertest.Text("well met")),
	}, "--allow", "bash")
	if len(wrap) > 0 {
		program, err := exec.LookPath(wrap[0])
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path, cmd.Args = program, append(wrap, cmd.Args...)
	}
	if err := syscall.Mkfifo(filepath.Join(cmd.Dir, "started"), 0o600); err != nil {
		t.Fatal(err)
	}
	k, tty, before = onPTY(t, cmd)
	k.expect("you: ", 0)
	k.type_("go")
	k.expect("go", 0)
	k.type_("\r")
	up := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(filepath.Join(cmd.Dir, "started"))
		up <- err
	}()
	for late := time.After(endless); ; {
		select {
		case piece := <-k.lines:
			k.shown = append(k.shown, piece...)
			continue
		case err := <-up:
			if err != nil {
				t.Fatal(err)
			}
			return k, tty, before
		case <-late:
			t.Fatalf("the command does not begin; the terminal shows\n%s", k.shown)
		}
	}
}

// gone waits until no process of tree runs any more.
func (k *terminal) gone() {
	k.Helper()
	needs.Program(k, "ps")
	for _, name := range []string{"one", "two", "three"} {
		data, err := os.ReadFile(filepath.Join(k.cmd.Dir, name))
		if err != nil {
			k.Fatal(err)
		}
		number := strings.TrimSpace(string(data))
		pid, err := strconv.Atoi(number)
		if err != nil {
			k.Fatal(err)
		}
		for late := time.Now().Add(endless); syscall.Kill(pid, 0) == nil; {
			// Its parent may not have reaped it yet.
			if out, err := exec.Command("ps", "-o", "stat=", "-p", number).Output(); err != nil ||
				strings.HasPrefix(string(out), "Z") {
				break
			}
			if time.Now().After(late) {
				k.Fatalf("process %s still runs", name)
			}
		}
	}
}

// session is the session file's text.
func (k *terminal) session() string {
	k.Helper()
	home := ""
	for _, kv := range k.cmd.Env {
		if dir, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = dir
		}
	}
	files, err := filepath.Glob(filepath.Join(home, ".local", "state", "artoo", "sessions", "*.jsonl"))
	if err != nil || len(files) != 1 {
		k.Fatalf("session files %q, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		k.Fatal(err)
	}
	return string(data)
}

// Ctrl-C at a command that ignores it: the prompt is back within a second, a second
// Ctrl-C ends the remaining processes, and the conversation goes on.
func TestCtrlCEndsToolsThatDoNotListen(t *testing.T) {
	t.Parallel()
	k, tty, before := startTree(t)
	at := len(k.shown)
	began := time.Now()
	k.type_("\x03")
	at = k.expect("stopped", at)
	at = k.expect("you: ", at)
	if took := time.Since(began); took > time.Second {
		t.Errorf("the prompt took %v", took)
	}
	k.type_("\x03")
	at = k.expect("Ctrl-C again", at)
	k.gone()
	at = k.expect("you: ", at)
	k.type_("go on\r")
	at = k.expect("well met", at)
	k.expect("you: ", at)
	k.type_("\x04")
	if code := k.wait(tty, before); code != 0 {
		t.Errorf("exit %d; the terminal shows\n%s", code, k.shown)
	}
	if kept := k.session(); !strings.Contains(kept, "Once upon") || !strings.Contains(kept, "interrupted") {
		t.Errorf("the session holds %s", kept)
	}
}

// TERM and HUP end a conversation within three seconds: the command is killed with
// its children, its output is kept, the terminal is restored.
func TestSignalsEndTheTurnAndItsTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			t.Parallel()
			k, tty, before := startTree(t)
			began := time.Now()
			if err := k.cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			code := k.wait(tty, before)
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
			if code != c.code {
				t.Errorf("exit %d, want %d; the terminal shows\n%s", code, c.code, k.shown)
			}
			k.gone()
			if kept := k.session(); !strings.Contains(kept, "Once upon") || !strings.Contains(kept, "interrupted") {
				t.Errorf("the session holds %s", kept)
			}
		})
	}
}

// A HUP that is ignored from the start, as under nohup, stays ignored.
func TestAnIgnoredHangupStaysIgnored(t *testing.T) {
	t.Parallel()
	k, tty, before := startTree(t, "sh", "-c", `trap '' HUP; shift; exec artoo "$@"`, "sh")
	if err := k.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	at := len(k.shown)
	k.type_("\x03")
	at = k.expect("stopped", at)
	at = k.expect("you: ", at)
	k.type_("go on\r")
	k.expect("you: ", k.expect("well met", at))
	k.type_("\x04")
	if code := k.wait(tty, before); code != 0 {
		t.Errorf("exit %d; the terminal shows\n%s", code, k.shown)
	}
}

// Beside a pipe whose other end still runs, Ctrl-C at a question stops the run
// as it stops any program; nothing was allowed.
func TestCtrlCAtAQuestionBesideAPipe(t *testing.T) {
	t.Parallel()
	cmd := onTerminal(t, []providertest.Reply{
		providertest.Anthropic(providertest.Call("c1", "bash", `{"command":"touch made"}`)),
		providertest.Anthropic(providertest.Text("well met")),
	}, "--stdin", "never", "make it")
	tty, child, err := prompttest.OpenPTY()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	producer, err := cmd.StdinPipe() // never closed before the end
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, child
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	err = cmd.Start()
	child.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(producer, "more to come\n"); err != nil {
		t.Fatal(err)
	}
	shown := watch(t, cmd, tty, [2]string{"[?] (n) ", "\x03"})
	_ = cmd.Wait() // how it ended is looked at below
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() ||
		status.Signal() != syscall.SIGINT {
		t.Errorf("ended with %v; the terminal shows\n%s", cmd.ProcessState, shown)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "made")); err == nil {
		t.Errorf("it ran; the terminal shows\n%s", shown)
	}
}

// A terminal that is closed during a tool ends the conversation as a hang-up does,
// whatever is noticed first: the signal, or that nothing can be read or written.
func TestClosingTheTerminalDuringAToolIsAHangup(t *testing.T) {
	t.Parallel()
	k, tty, _ := startTree(t)
	if err := errors.Join(k.tty.Close(), tty.Close()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- k.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(endless):
		t.Fatal("it goes on without a terminal")
	}
	if code := k.cmd.ProcessState.ExitCode(); code != 129 {
		t.Errorf("exit %d, want 129", code)
	}
	k.gone()
	if kept := k.session(); !strings.Contains(kept, "Once upon") || !strings.Contains(kept, "interrupted") {
		t.Errorf("the session holds %s", kept)
	}
}

// The first answer that cannot be written is said at once and ends the
// conversation.
func TestALostAnswerEndsTheConversation(t *testing.T) {
	t.Parallel()
	_, err := os.Stat("/dev/full")
	needs.Thing(t, "/dev/full", err)
	cmd := onTerminal(t, []providertest.Reply{providertest.Anthropic(providertest.Text("An answer."))})
	cmd.Args = append([]string{"sh", "-c", `exec "$0" "$@" >/dev/full`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = needs.Program(t, "sh")
	k, tty, before := onPTY(t, cmd)
	k.expect("you: ", 0)
	k.type_("go\r")
	k.expect(" stdout: write /dev/stdout: no space left on device", 0)
	if code := k.wait(tty, before); code != 1 {
		t.Errorf("exit %d, want 1; the terminal shows\n%s", code, k.shown)
	}
}
