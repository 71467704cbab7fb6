//go:build unix

package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A command that takes no notice of an interrupt is killed at the second one,
// long before its time to end is up; until then it is not.
func TestKillEndsACommandThatTakesNoNotice(t *testing.T) {
	t.Parallel()
	up := filepath.Join(t.TempDir(), "up")
	kill := make(chan struct{})
	c := newCommand(t, "trap '' INT TERM; echo >"+up+"; while :; do sleep 1; done", io.Discard)
	c.Waits.Kill, c.Kill = time.Hour, kill
	ctx, interrupt := context.WithCancelCause(t.Context())
	done := make(chan Result, 1)
	go func() {
		r, err := c.Run(ctx)
		if err != nil {
			r.Output = append(r.Output, err.Error()...)
		}
		done <- r
	}()
	late := time.After(time.Minute)
	for _, err := os.Stat(up); errors.Is(err, os.ErrNotExist); _, err = os.Stat(up) {
		select {
		case r := <-done:
			t.Fatalf("it ended by itself: %+v", r)
		case <-late:
			t.Fatal("it does not begin")
		default:
		}
	}
	interrupt(errors.New("stop"))
	close(kill)
	select {
	case <-done:
	case <-late:
		t.Fatal("it was not killed")
	}
}

// newCommand is a command with less patience than in earnest, that runs in a
// directory of its own.
func newCommand(t *testing.T, line string, live io.Writer) *Command {
	t.Helper()
	path := Find(nil)
	if path == "" {
		t.Fatal("these tests need a shell")
	}
	cmd := exec.Command(path, "-c", line)
	cmd.Dir = t.TempDir()
	return &Command{
		Cmd: cmd, Limit: time.Minute, Live: live,
		Waits: Waits{Kill: 200 * time.Millisecond, Pipe: 100 * time.Millisecond, Live: time.Millisecond},
	}
}
