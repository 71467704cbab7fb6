package prompt

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// historyVariable is the history file of a child that only writes one.
const historyVariable = "ARTOO_UI_TEST_HISTORY"

// childVariable has the test binary, started again, write a history.
const childVariable = "ARTOO_PROMPT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(childHistory())
	}
	os.Exit(m.Run())
}

// childLines is how many lines such a child writes.
const childLines = 400

// childHistory adds lines as a conversation does, and trims the file between
// them, far more often than conversations do.
func childHistory() int {
	code := 0
	h := &historyFile{path: os.Getenv(historyVariable), wait: time.Minute, warn: func(text string) {
		fmt.Fprintln(os.Stderr, text)
		code = 1
	}}
	for i := range childLines {
		if i%20 == 0 {
			if err := h.trim(); err != nil {
				h.complain(err)
			}
		}
		h.add(fmt.Sprintf("process %d line %d", os.Getpid(), i))
	}
	return code
}

// Two processes write one history and trim it: each line of both is in it, in
// the order of each.
func TestTwoProcessesLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var old strings.Builder
	for i := range historyEntries {
		fmt.Fprintf(&old, "%q\n", fmt.Sprint("old ", i))
	}
	if err := os.WriteFile(path, []byte(old.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var children []*exec.Cmd
	for range 2 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"=history", historyVariable+"="+path)
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	for _, child := range children {
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	}
	entries := historyAt(t, path).load()
	for _, child := range children {
		next := 0
		for _, e := range entries {
			if e == fmt.Sprintf("process %d line %d", child.Process.Pid, next) {
				next++
			}
		}
		if next != childLines {
			t.Errorf("%d of %d lines of a process are there", next, childLines)
		}
	}
}
