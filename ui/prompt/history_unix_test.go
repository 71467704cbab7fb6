package prompt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// A path of the history that is no regular file, such as /dev/null behind a link, is
// neither changed nor waited for.
func TestWhatIsNoFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, path := filepath.Join(dir, "pipe"), filepath.Join(dir, "history")
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pipe, path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(pipe, 0o644); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	var warned []string
	h := &historyFile{path: path, warn: func(text string) { warned = append(warned, text) }}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.add("one")
		if got := h.load(); got != nil {
			t.Errorf("a pipe holds %q", got)
		}
	}()
	select {
	case <-done:
	case <-time.After(waitLimit):
		t.Fatal("it waits for a pipe")
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the pipe was changed: %v, %v", info.Mode(), err)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "is not a file") {
		t.Errorf("warned %q", warned)
	}
}

// An artoo that was stopped while it had the history does not stop the others.
func TestAHeldHistoryIsNotWaitedForLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	other := flock.New(path + ".lock")
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	var warned []string
	h := &historyFile{path: path, warn: func(text string) { warned = append(warned, text) }}
	done := make(chan struct{})
	go func() { defer close(done); h.add("one") }()
	select {
	case <-done:
	case <-time.After(waitLimit):
		t.Error("it waits for the other")
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
	if len(warned) != 1 || !strings.Contains(warned[0], "another artoo holds") {
		t.Errorf("warned %q", warned)
	}
	h.add("two")
	if diff := strings.TrimSpace(strings.Join(historyAt(t, path).load(), " ")); diff != "two" {
		t.Errorf("the file holds %q", diff)
	}
}
