package project

import (
	"os"
	"strconv"
	"syscall"
)

// ownedByUser reports whether the file belongs to who runs artoo; for root, as
// for git, also to who called sudo.
func ownedByUser(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	user := os.Geteuid()
	if user == 0 {
		if id, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32); err == nil && uint32(id) == stat.Uid {
			return true
		}
	}
	return uint64(stat.Uid) == uint64(user)
}
