//go:build unix

package cli

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/term"

	"artoo/ui/prompt/prompttest"
)

// A crash prints two lines, the error and the place of the trace, on a sane terminal.
// The trace is a file for the user alone, without keys and prompts.
func TestACrashLeavesATrace(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"turn", "main", "runtime"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath("broken") // TestMain put it into PATH
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, where)
			home := t.TempDir()
			cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "LANG=C.UTF-8", "NO_COLOR=1"}
			k, tty, before := onPTY(t, cmd)
			if where == "turn" {
				k.expect("you: ", 0)
				k.type_("my secret plan")
				k.expect("plan", 0)
				k.type_("\r")
			}
			k.expect(".txt", 0)
			if code := k.wait(tty, before); code != 1 {
				t.Errorf("exit %d", code)
			}
			shown := strings.NewReplacer("\r\n    ", " ", "\r\n", "\n").Replace(string(k.shown)) // a long path is wrapped
			lines := regexp.MustCompile(
				`✗ artoo: crashed: (.+)\n  try: report it with the trace in (/.+)\n$`).FindStringSubmatch("\n" + shown)
			if lines == nil {
				t.Fatalf("the terminal shows %q", shown)
			}
			if filepath.Dir(lines[2]) != filepath.Join(home, ".local", "state", "artoo") {
				t.Errorf("the trace is in %s", lines[2])
			}
			info, err := os.Stat(lines[2])
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode() != fs.FileMode(0o600) {
				t.Errorf("the trace's mode is %v", info.Mode())
			}
			data, err := os.ReadFile(lines[2])
			if err != nil {
				t.Fatal(err)
			}
			if trace := string(data); !strings.Contains(trace, "broken_test.go") || !strings.Contains(trace, lines[1]) {
				t.Errorf("the trace is %s", trace)
			}
			for _, text := range []string{string(data), lines[1]} {
				for _, secret := range []string{"sk-ant", "abcdef", "secret plan", "refused"} {
					if strings.Contains(text, secret) {
						t.Errorf("it holds %q: %s", secret, text)
					}
				}
			}
			if where == "runtime" && !strings.Contains(lines[1], "slice bounds out of range") {
				t.Errorf("it says %q", lines[1])
			}
		})
	}
}

// Ctrl-\ in a turn prints two lines and keeps the trace of all goroutines, and artoo
// dies of the signal, as a shell expects.
func TestQuitLeavesATrace(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("broken")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "quit")
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "LANG=C.UTF-8", "NO_COLOR=1"}
	k, tty, before := onPTY(t, cmd)
	k.expect("you: ", 0)
	k.type_("wait")
	k.expect("wait", 0)
	k.type_("\r")
	k.expect("half a", 0)
	k.type_("\x1c")
	k.expect(".txt", 0)
	k.wait(tty, before)
	if died := cmd.ProcessState.Sys().(syscall.WaitStatus); died.Signal() != syscall.SIGQUIT {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	shown := strings.NewReplacer("\r\n    ", " ", "\r\n", "\n").Replace(string(k.shown)) // a long path is wrapped
	lines := regexp.MustCompile(`\n✗ artoo: stopped: quit signal \(Ctrl-\\\)\n` +
		`  try: artoo -c to continue; if it hung, report it with the trace in (/.+)\n$`).FindStringSubmatch(shown)
	if lines == nil {
		t.Fatalf("the terminal shows %q", shown)
	}
	data, err := os.ReadFile(lines[1])
	if err != nil {
		t.Fatal(err)
	}
	if trace := string(data); !strings.Contains(trace, "breaking.Send") || strings.Count(trace, "\ngoroutine ") < 3 {
		t.Errorf("the trace is %s", trace)
	}
}

// onPTY starts a program on a terminal of its own. tty is the program's end: it
// keeps the terminal's modes until wait; before are those the program found.
func onPTY(t *testing.T, cmd *exec.Cmd) (k *terminal, tty *os.File, before *term.State) {
	t.Helper()
	master, tty, err := prompttest.OpenPTY()
	if err != nil {
		t.Fatal(err)
	}
	if err := prompttest.ResizePTY(master, 80, 24); err != nil {
		t.Fatal(err)
	}
	if before, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = onItsTerminal()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k = &terminal{TB: t, cmd: cmd, tty: master, lines: make(chan []byte, 1)}
	go func() {
		defer close(k.lines)
		buf := make([]byte, 64<<10)
		for {
			n, err := master.Read(buf)
			if n > 0 {
				k.lines <- append([]byte(nil), buf[:n]...)
			}
			if err != nil { // EIO on Linux, EOF elsewhere: the other end was closed
				return
			}
		}
	}()
	return k, tty, before
}

// type_ types keys.
func (k *terminal) type_(keys string) {
	k.Helper()
	if _, err := k.tty.WriteString(keys); err != nil {
		k.Fatal(err)
	}
}

// wait waits for the end of the program, which must leave the terminal's modes
// as they were before, and returns its exit status.
func (k *terminal) wait(tty *os.File, before *term.State) int {
	k.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = k.cmd.Wait() // the status is looked at below
	}()
	for running := true; running; {
		select {
		case piece := <-k.lines: // it must be able to write
			k.shown = append(k.shown, piece...)
		case <-ended:
			running = false
		}
	}
	after, err := term.GetState(int(tty.Fd()))
	if err != nil {
		k.Fatal(err)
	}
	if *after != *before {
		k.Errorf("the terminal's modes are %+v, were %+v", after, before)
	}
	if err := tty.Close(); err != nil {
		k.Fatal(err)
	}
	k.drain()
	if err := k.tty.Close(); err != nil {
		k.Fatal(err)
	}
	return k.cmd.ProcessState.ExitCode()
}
