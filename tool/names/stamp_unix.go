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

// linksOf is a regular file and how many names it has; 0 of what is none.
func linksOf(path string) (file ID, count uint64) {
	var st syscall.Stat_t
	if syscall.Lstat(path, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return ID{}, 0
	}
	return ID{uint64(st.Dev), st.Ino}, uint64(st.Nlink)
}

// identityOf is what tells a file from any other, and its owner.
func identityOf(info fs.FileInfo) (dev, inode uint64, owner uint32, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0, false
	}
	return uint64(st.Dev), st.Ino, st.Uid, true
}
