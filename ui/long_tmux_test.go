//go:build tmux && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package ui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTmuxALongSessionReadsBack plays the long session to tmux: its scrollback has
// the session's plain text.
func TestTmuxALongSessionReadsBack(t *testing.T) {
	raw := longSession(t, false)
	want := trimmedRows(checkRows(t, raw).Joined())
	dir := t.TempDir()
	config, bytes := filepath.Join(dir, "tmux.conf"), filepath.Join(dir, "session")
	for name, text := range map[string]string{config: "set -g history-limit 100000\nset -g status off\n", bytes: raw} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tmux := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("tmux", append([]string{"-u", "-S", filepath.Join(dir, "socket"), "-f", config},
			args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %s: %v: %s", args, err, out)
		}
		return string(out)
	}
	// A terminal's driver has already converted the session's line breaks.
	tmux("new-session", "-d", "-x", "80", "-y", "24",
		fmt.Sprintf("stty -opost; cat %s; printf '\\r\\nplayed'; exec cat", bytes))
	defer tmux("kill-server")
	deadline := time.Now().Add(waitLimit)
	for !strings.Contains(tmux("capture-pane", "-p"), "played") {
		if time.Now().After(deadline) {
			t.Fatalf("tmux shows %q", tmux("capture-pane", "-p"))
		}
	}
	got := trimmedRows(tmux("capture-pane", "-p", "-S", "-", "-J"))
	got = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(got, "\n"), "played"), "\n")
	if got != want {
		a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("row %d of %d and %d: the session's text is %q, tmux has %q", i, len(a), len(b), a[i], b[i])
			}
		}
		t.Fatalf("%d rows are %d in tmux", len(a), len(b))
	}
}

func trimmedRows(text string) string {
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " ")
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}
