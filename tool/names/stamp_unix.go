//go:build linux || darwin

package names

import (
	"io/fs"
	"syscall"
	"time"
)

// stampOf is when a directory's entries changed last, by the time that programs
// cannot set, and its inode.
func stampOf(info fs.FileInfo) (time.Time, uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime(), 0
	}
	return ctime(st), st.Ino
}
