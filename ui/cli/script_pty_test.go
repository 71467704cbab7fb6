//go:build unix

package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"artoo/provider/providertest"
	"artoo/ui/prompt/prompttest"
)

// onTerminal is artoo with a model and a home of its own, not started yet.
func onTerminal(t *testing.T, replies []providertest.Reply, args ...string) *exec.Cmd {
	t.Helper()
	server := unlisted(t, replies...)
	cmd := exec.Command("artoo", args...) // TestMain put it into PATH
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"ARTOO_SANDBOX=off",
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm", "LC_ALL=C.UTF-8", "container=test",
		"ARTOO_PROVIDER=anthropic", "ARTOO_MODEL=test-model", "ANTHROPIC_API_KEY=sk-test",
		"ANTHROPIC_BASE_URL=" + server.URL,
	}
	return cmd
}

// watch reads a terminal to its end. Each answer is sent once the text before it
// has appeared.
func watch(t *testing.T, cmd *exec.Cmd, tty *os.File, answers ...[2]string) string {
	t.Helper()
	late := time.AfterFunc(waitLimit, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var seen bytes.Buffer
	at := 0
	buf := make([]byte, 4096)
	for {
		n, err := tty.Read(buf)
		seen.Write(buf[:n])
		for len(answers) > 0 {
			i := strings.Index(seen.String()[at:], answers[0][0])
			if i < 0 {
				break
			}
			at += i + len(answers[0][0])
			if _, err := io.WriteString(tty, answers[0][1]); err != nil {
				t.Fatal(err)
			}
			answers = answers[1:]
		}
		if err != nil { // EIO on Linux, EOF elsewhere: the other side is closed
			break
		}
	}
	if len(answers) > 0 {
		t.Errorf("%q never came; the terminal shows\n%s", answers[0][0], seen.String())
	}
	return seen.String()
}

// On a terminal a prompt opens a conversation, except in CI, which has no user.
func TestWhoIsThere(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		env  string
		args []string
		talk bool
	}{
		{"a prompt", "", []string{"hello"}, true},
		{"CI=0", "CI=0", []string{"hello"}, true},
		{"CI=false", "CI=False", []string{"hello"}, true},
		{"CI=true", "CI=true", []string{"hello"}, false},
		{"CI=1", "CI=1", []string{"hello"}, false},
		{"CI without a prompt", "CI=true", nil, true},
		{"-p", "", []string{"-p", "hello"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := onTerminal(t, []providertest.Reply{providertest.Anthropic(providertest.Text("well met"))}, test.args...)
			cmd.Env = append(cmd.Env, test.env)
			tty, err := prompttest.StartPTY(cmd, 80, 24)
			if err != nil {
				t.Fatal(err)
			}
			defer tty.Close()
			var answers [][2]string
			if test.talk && test.args == nil {
				answers = [][2]string{{"you: ", "hello\r"}}
			}
			if answers = append(answers, [2]string{"well met", ""}); test.talk {
				answers = append(answers, [2]string{"you: ", "\x04"}) // Ctrl-D
			}
			shown := watch(t, cmd, tty, answers...)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v; the terminal shows\n%s", err, shown)
			}
			if got := strings.Contains(shown, "/help for commands"); got != test.talk {
				t.Errorf("a conversation: %v, want %v; the terminal shows\n%s", got, test.talk, shown)
			}
		})
	}
}

// Between pipes a person at the terminal is asked there, unless -p says never.
func TestAskingBesideAPipe(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		args   []string
		answer string
		made   bool
		exit   int
	}{
		{"yes", []string{"make it"}, "y\n", true, 0},
		{"no", []string{"make it"}, "n\n", false, 0},
		{"Enter", []string{"make it"}, "\n", false, 0},
		{"-p", []string{"-p", "make it"}, "", false, 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := onTerminal(t, []providertest.Reply{
				providertest.Anthropic(providertest.Call("c1", "bash", `{"command":"touch made"}`)),
				providertest.Anthropic(providertest.Text("well met")),
			}, test.args...)
			tty, child, err := prompttest.OpenPTY()
			if err != nil {
				t.Fatal(err)
			}
			defer tty.Close()
			var out bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("the log\n"), &out, child
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
			err = cmd.Start()
			child.Close()
			if err != nil {
				t.Fatal(err)
			}
			var answers [][2]string
			if test.answer != "" {
				answers = append(answers, [2]string{"[?] (n) ", test.answer})
			}
			shown := watch(t, cmd, tty, answers...)
			_ = cmd.Wait() // the exit status is looked at below
			if got := cmd.ProcessState.ExitCode(); got != test.exit {
				t.Errorf("exit %d; the terminal shows\n%s", got, shown)
			}
			if _, err := os.Stat(filepath.Join(cmd.Dir, "made")); (err == nil) != test.made {
				t.Errorf("made: %v; the terminal shows\n%s", err == nil, shown)
			}
			if out.String() != "well met\n" {
				t.Errorf("stdout is %q", out.String())
			}
		})
	}
}
