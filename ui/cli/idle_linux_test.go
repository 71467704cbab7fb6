package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/provider/providertest"
)

// The bounds of a conversation without keys: no byte, and in idleTime at most
// idleWakes voluntary context switches of all its threads together.
const (
	idleTime  = 3 * time.Second
	idleWakes = 3
)

// TestIdleCostsNothing leaves the prompt alone after an answer.
func TestIdleCostsNothing(t *testing.T) {
	t.Parallel()
	m := newModel(t, always(providertest.Chat(providertest.Text("An answer.\n"))))
	k := startTerminal(t, t.TempDir(), m.env(t, "TERM=xterm-256color"), buildProgram(t, moduleDir), "hello")
	k.expect("you: ", k.expect("\x1b[?2004h", k.expect("An answer.", 0)))
	// The runtime gives memory back and parks its threads in the background
	// after a turn: that may take some windows, but has to end.
	var wakes int
	for range 8 {
		before := switches(t, k.cmd.Process.Pid)
		select {
		case piece := <-k.lines:
			t.Fatalf("an idle prompt writes %q", piece)
		case <-time.After(idleTime):
		}
		if wakes = switches(t, k.cmd.Process.Pid) - before; wakes <= idleWakes {
			break
		}
		t.Logf("%d context switches in %v", wakes, idleTime)
	}
	if wakes > idleWakes {
		t.Errorf("an idle prompt woke %d times in %v", wakes, idleTime)
	}
	k.leave()
}

// switches is how often the threads of a process gave up a processor.
func switches(t *testing.T, pid int) int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	sum := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, found := strings.Cut(string(data), "\nvoluntary_ctxt_switches:")
		var n int
		if _, err := fmt.Sscan(rest, &n); err != nil || !found {
			t.Fatalf("%s: %v", file, err)
		}
		sum += n
	}
	return sum
}
