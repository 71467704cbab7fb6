//go:build !unix

package tool

import (
	"os"
	"testing"
)

// makeFifo leaves a name that leads nowhere: there are no FIFOs here.
func makeFifo(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}
