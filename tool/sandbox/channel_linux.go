//go:build amd64 || arm64

package sandbox

import (
	"os"

	"golang.org/x/sys/unix"

	"artoo/tool/sandbox/launcher"
)

// channel is this process's end of a socket to the launcher.
type channel struct{ file *os.File }

// newChannel also returns the other end, to be passed on.
func newChannel() (ours channel, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return channel{}, nil, err
	}
	return channel{os.NewFile(uintptr(fds[0]), "own end")}, os.NewFile(uintptr(fds[1]), "launcher's end"), nil
}

// use calls f with the descriptor, which stays open that long.
func (c channel) use(f func(fd int) error) error {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := raw.Control(func(fd uintptr) { result = f(int(fd)) }); err != nil {
		return err
	}
	return result
}

func (c channel) send(message any, fds ...int) error {
	return c.use(func(fd int) error { return launcher.WriteFrame(fd, message, fds...) })
}

// receive reads an answer, and the files that came with it.
func (c channel) receive() (said launcher.Answer, files []*os.File, err error) {
	err = c.use(func(fd int) error {
		fds, err := launcher.ReadFrame(fd, &said)
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "from the launcher"))
		}
		return err
	})
	return said, files, err
}

// end lets the waiters at both ends go on.
func (c channel) end() error {
	return c.use(func(fd int) error { return unix.Shutdown(fd, unix.SHUT_RDWR) })
}
