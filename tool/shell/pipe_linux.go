package shell

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen makes a pipe as large as what is read of it at a time, so that a command that
// says much and its reader wait for each other less often. Where the user has too many of
// them it stays as it is.
func widen(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, readSize) })
	}
}
