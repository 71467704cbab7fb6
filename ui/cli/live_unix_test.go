//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"artoo/provider/providertest"
)

// A command writes, waits and writes on: its output stands below it while it waits.
func TestTheLastLinesOfARunningCommandStandInTheTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	m := newModel(t, func(n int, _ providertest.Request) providertest.Reply {
		if n == 0 {
			return providertest.Chat(providertest.Call("c", "bash",
				`{"command":"echo the first line; printf '10%%\\r20%% '; cat fifo; echo the last line"}`))
		}
		return providertest.Chat(providertest.Text("All is done.\n"))
	})
	k := startTerminal(t, dir, m.env(t, "TERM=xterm-256color", "ARTOO_SANDBOX=off"), buildProgram(t, moduleDir),
		"--allow", "bash", "go")
	at := k.expect("\n        the first line\r\n", 0)
	at = k.expect("  20%", at) // in the line that changes
	if err := os.WriteFile(fifo, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	at = k.expect("exit 0 in", at)
	k.expect("you: ", k.expect("\x1b[?2004h", k.expect("All is done.", at)))
	k.leave()
}

// A call that waits for a command in the background shows that command's output, too.
func TestTheLastLinesOfACommandThatIsWaitedForStandInTheTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	m := newModel(t, func(n int, _ providertest.Request) providertest.Reply {
		switch n {
		case 0:
			return providertest.Chat(providertest.Call("c", "bash", `{"command":"cat fifo; echo the first line; `+
				`printf '10%%\\r20%% '; cat fifo; echo the last line","background":true}`))
		case 1:
			return providertest.Chat(providertest.Call("d", "shell", `{"action":"wait"}`))
		}
		return providertest.Chat(providertest.Text("All is done.\n"))
	})
	k := startTerminal(t, dir, m.env(t, "TERM=xterm-256color", "ARTOO_SANDBOX=off"), buildProgram(t, moduleDir),
		"--allow", "bash", "go")
	write := func() {
		if err := os.WriteFile(fifo, []byte("\n"), 0); err != nil {
			t.Fatal(err)
		}
	}
	at := k.expect("in the background as 1", 0)
	write()
	at = k.expect("\n        the first line\r\n", at)
	at = k.expect("  20%", at) // in the line that changes
	write()
	at = k.expect("exit 0 in", at)
	k.expect("you: ", k.expect("\x1b[?2004h", k.expect("All is done.", at)))
	k.leave()
}
