//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// writable says why this user cannot write to a file or directory.
func writable(path string) error {
	if err := unix.Access(path, unix.W_OK); err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}
