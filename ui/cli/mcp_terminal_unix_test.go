//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// A server's form is asked on the terminal, field by field; one that is skipped stays away although the server suggests
// a value. Changed definitions are accepted by a yes there.
func TestArtooMCPAsksOnTheTerminal(t *testing.T) {
	t.Parallel()
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(home, ".config", "artoo"), 0o700))
	must(t, os.WriteFile(filepath.Join(home, ".config", "artoo", "config.toml"),
		fmt.Appendf(nil, "[mcp.s]\ncommand = [\"sh\", \"-c\", \"exec %s $(cat $HOME/kind)\"]\n", buildProgram(t, serverDir)), 0o600))
	kind := func(name string) { must(t, os.WriteFile(filepath.Join(home, "kind"), []byte(name), 0o600)) }
	run := func(args []string, answers ...[2]string) (shown string, exit int) {
		cmd := onTerminal(t, nil, args...)
		cmd.Env = append(cmd.Env, "HOME="+home)
		tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
		must(t, err)
		defer tty.Close()
		shown = watch(t, cmd, tty, answers...)
		if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return shown, cmd.ProcessState.ExitCode()
	}
	kind("legacy")
	shown, exit := run([]string{"mcp", "call", "s", "ask"}, [2]string{"cancel] ", "Ada\r"}, [2]string{"skip, cancel] ", "skip\r"})
	if exit != 0 || !strings.Contains(shown, `{"action":"accept","content":{"name":"Ada"}}`) {
		t.Errorf("exit %d, the terminal shows\n%s", exit, shown)
	}
	shown, exit = run([]string{"mcp", "call", "s", "ask"}, [2]string{"cancel] ", "cancel\r"})
	if exit != 0 || !strings.Contains(shown, `{"action":"cancel"}`) {
		t.Errorf("exit %d, the terminal shows\n%s", exit, shown)
	}
	kind("legacy other")
	for _, row := range []struct {
		answer string
		exit   int
	}{{"n\r", 6}, {"y\r", 0}} {
		shown, exit = run([]string{"mcp", "accept", "s"}, [2]string{"[y,n,p,?] (n) ", row.answer})
		if exit != 0 || !strings.Contains(shown, "sends it to a friend") {
			t.Errorf("exit %d, the terminal shows\n%s", exit, shown)
		}
		cmd := exec.Command("artoo", "mcp", "call", "s", "echo", `{"text":"again"}`)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "HOME="+home)
		out, _ := cmd.CombinedOutput() // the exit status is looked at
		if got := cmd.ProcessState.ExitCode(); got != row.exit {
			t.Errorf("after %q exit %d: %s", row.answer, got, out)
		}
	}
}
