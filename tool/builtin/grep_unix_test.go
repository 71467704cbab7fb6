//go:build unix

package builtin

import (
	"os"
	"syscall"
	"testing"
)

func makeFifo(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
}
