//go:build unix

package tool

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A command that takes no notice of an interrupt is killed at the second one,
// long before its time to end is up; until then it is not.
//
// Red: leave `case <-c.Kill` out of job.stop.
func TestJ1_ASecondInterruptKills(t *testing.T) {
	shell := FindShell()
	if shell == "" {
		t.Fatal("these tests need a shell")
	}
	s := commandShell{path: shell, pace: pace{kill: time.Hour, pipe: 100 * time.Millisecond, live: time.Millisecond}}
	bash := New(Def{Name: "bash", Kind: KindRun}, s.plan, s.run)
	env := treeEnv(t, nil)
	up := filepath.Join(env.Dir, "up")

	kill := make(chan struct{})
	env.Kill = kill
	ctx, interrupt := context.WithCancelCause(t.Context())
	done := make(chan Result, 1)
	go func() {
		r, err := bash.Run(ctx, env, []byte(command("trap '' INT TERM; echo >"+up+"; while :; do sleep 1; done")), io.Discard)
		if err != nil {
			r.Text += err.Error()
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
