package tool

import (
	"io/fs"
	"os"
	"strings"
)

// openFlags are added when a file is opened for reading. Windows has no named
// pipes in directories that could block.
const openFlags = 0

// badName says what is wrong with one name of a path. Windows would take
// "secret.", "secret " and "secret::$DATA" for "secret".
func badName(name string) string {
	if strings.ContainsRune(name, ':') {
		return "a name with a colon is not allowed"
	}
	if name != ".." && strings.TrimRight(name, ". ") != name {
		return "a name that ends in a dot or blank is not allowed"
	}
	return ""
}

// keepOwner has nothing to do: a new file inherits from its directory.
func keepOwner(*os.File, fs.FileInfo) {}

// linkCount is 1: other names of a file are not looked for here.
func linkCount(fs.FileInfo) uint64 { return 1 }

// syncDir has nothing to do: directories cannot be synced.
func syncDir(*os.Root, string) error { return nil }

// ownedByUser takes every file for the user's own: owners are not looked up
// here.
func ownedByUser(string) bool { return true }
