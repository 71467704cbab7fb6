package prompt

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	getTermios  = unix.TCGETS
	setTermios  = unix.TCSETS
	inputQueue  = unix.TCIFLUSH
	outputQueue = unix.TCOFLUSH
)

// flushQueue throws away the bytes in one of a terminal's queues.
func flushQueue(fd, queue int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, queue) }

// Pseudo terminals have these major numbers (Linux, Documentation/admin-guide/devices.txt).
const ptyMajor, ptyMajors = 136, 8

// throttleWorks is how long a byte may take through a pseudo terminal of its own.
const throttleWorks = 2 * time.Second

// edges is the readWatcher of a pseudo terminal. Linux wakes a writer that waits for one when its
// other end has read all but throttleLeft bytes, and when a write ends: an edge of epoll(7).
type edges struct{ epoll int }

// newReadWatcher gives the readWatcher of a pseudo terminal; nil for all else.
func newReadWatcher(out io.Writer) readWatcher {
	f, ok := out.(*os.File)
	if !ok {
		return nil
	}
	fd, err := fdOf(f)
	if err != nil {
		return nil
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return nil
	}
	if major := unix.Major(uint64(st.Rdev)); major < ptyMajor || major >= ptyMajor+ptyMajors {
		return nil
	}
	e, err := watchEdges(fd)
	if err != nil {
		return nil
	}
	return e
}

func watchEdges(fd int) (*edges, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	event := unix.EpollEvent{Events: unix.EPOLLOUT | unix.EPOLLET, Fd: int32(fd)}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		_ = unix.Close(epoll)
		return nil, err
	}
	e := &edges{epoll}
	e.drained(0) // the first edge says that it can be written to
	return e, nil
}

// drained implements readWatcher. Where waiting fails the next write finds the error.
func (e *edges) drained(wait time.Duration) bool {
	end := time.Now().Add(wait)
	for {
		var got [1]unix.EpollEvent
		n, err := unix.EpollWait(e.epoll, got[:], int((max(0, wait) + time.Millisecond - 1).Milliseconds()))
		if err != unix.EINTR {
			return n > 0 || err != nil
		}
		wait = time.Until(end)
	}
}

// works implements readWatcher with a byte on a pseudo terminal of its own.
func (e *edges) works() bool {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	master, err := unix.Open("/dev/ptmx", flags, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(master) }()
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil || unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0) != nil {
		return false
	}
	slave, err := unix.Open(fmt.Sprintf("/dev/pts/%d", n), flags, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(slave) }()
	own, err := watchEdges(slave)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(own.epoll) }()
	if _, err := unix.Write(slave, []byte("x")); err != nil {
		return false
	}
	own.drained(0) // the write's own
	if own.drained(0) {
		return false // it always says so
	}
	came := []unix.PollFd{{Fd: int32(master), Events: unix.POLLIN}}
	if ready, err := unix.Poll(came, int(throttleWorks.Milliseconds())); ready != 1 || err != nil {
		return false
	}
	if _, err := unix.Read(master, make([]byte, 1)); err != nil {
		return false
	}
	return own.drained(0)
}
