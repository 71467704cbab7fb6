//go:build unix

package prompttest_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"artoo/ui/prompt/prompttest"
)

// Both ends are one terminal's, also where the collector moves the stacks of those that open them.
func TestBothEndsAreOneTerminals(t *testing.T) {
	t.Parallel()
	other, otherTTY, err := prompttest.OpenPTY() // A lost number would be that of this one.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = other.Close(), otherTTY.Close() }()
	over, collected := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(collected)
		for {
			select {
			case <-over:
				return
			default:
				runtime.GC()
			}
		}
	}()
	defer func() { close(over); <-collected }()
	for i := range 1000 {
		failed := make(chan error, 1)
		go func() {
			grow(100)
			failed <- echoes()
		}()
		select {
		case err := <-failed:
			if err != nil {
				t.Fatalf("terminal %d: %v", i, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("terminal %d: what is typed on it does not come", i)
		}
	}
}

// grow leaves a stack larger than its goroutine needs, which the collector shrinks.
func grow(calls int) int {
	var room [256]byte
	if calls == 0 {
		return 0
	}
	return int(room[calls]) + grow(calls-1)
}

// echoes opens a terminal and reads what is typed on it.
func echoes() error {
	master, tty, err := prompttest.OpenPTY()
	if err != nil {
		return err
	}
	defer func() { _, _ = master.Close(), tty.Close() }()
	if _, err := master.WriteString("x\n"); err != nil {
		return err
	}
	buf := make([]byte, 8)
	if n, err := tty.Read(buf); err != nil || string(buf[:n]) != "x\n" {
		return fmt.Errorf("%q, %v", buf[:n], err)
	}
	return nil
}
