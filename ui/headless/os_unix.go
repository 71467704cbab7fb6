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

// withoutReader are the files whose reader has gone: the kernel says so without a
// write.
func withoutReader(files []*os.File) []*os.File {
	var gone []*os.File
	for _, f := range files {
		ask := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
		if n, err := unix.Poll(ask, 0); err == nil && n > 0 && ask[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			gone = append(gone, f)
		}
	}
	return gone
}

// awaitInput waits until something can be read from a file, or its end has come.
func awaitInput(f *os.File) { _ = readable(f, -1) }

// holdsInput reports whether a pipe or socket holds a byte that nothing has read, and takes
// it: the ends of some look as if there were one.
func holdsInput(f *os.File) bool {
	if !readable(f, 0) {
		return false
	}
	n, err := f.Read(make([]byte, 1))
	return err == nil && n > 0
}

// readable reports whether a read would find something, or an end that looks so. It waits
// for timeout milliseconds, or as long as it takes with -1. A pipe that does not block stays
// as it is: other programs share it. A file that is closed, or a wait that fails, has nothing.
func readable(f *os.File, timeout int) (ready bool) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	_ = conn.Control(func(fd uintptr) { // it fails for a closed file
		ask := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for err = unix.EINTR; err == unix.EINTR; {
			_, err = unix.Poll(ask, timeout)
		}
		ready = ask[0].Revents&unix.POLLIN != 0
	})
	return ready
}
