//go:build unix

package headless

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// errBadDescriptor is what reading a descriptor that was closed at start gives.
const errBadDescriptor = syscall.EBADF

// signalName is a signal as the manual calls it.
func signalName(s os.Signal) string {
	if number, ok := s.(syscall.Signal); ok {
		return unix.SignalName(number)
	}
	return s.String()
}

// unread are the files whose reader has gone: the kernel says so without a
// write.
func unread(files []*os.File) []*os.File {
	var gone []*os.File
	for _, f := range files {
		ask := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
		if n, err := unix.Poll(ask, 0); err == nil && n > 0 && ask[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			gone = append(gone, f)
		}
	}
	return gone
}
