//go:build !unix

package tool

import (
	"io/fs"
	"os"
)

// keepOwner has nothing to do: a new file inherits from its directory.
func keepOwner(*os.File, fs.FileInfo) {}

// linkCount is 1: other names of a file are not looked for here.
func linkCount(fs.FileInfo) uint64 { return 1 }

// syncDir has nothing to do: directories cannot be synced.
func syncDir(*os.Root, string) error { return nil }
