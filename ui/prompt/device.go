package prompt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ttyModes is the one thing that changes the terminal's modes. leave may be called at any time,
// from any goroutine, any number of times.
type ttyModes struct {
	fd     int
	change func(*unix.Termios)
	mu     sync.Mutex
	saved  *unix.Termios // the modes it had; nil while nothing is changed
}

func newTTYModes(f *os.File, change func(*unix.Termios)) (*ttyModes, error) {
	fd, err := fdOf(f)
	if err == nil {
		_, err = modesOf(fd)
	}
	return &ttyModes{fd: fd, change: change}, err
}

func modesOf(fd int) (*unix.Termios, error) {
	t, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	return t, nil
}

func setModes(fd int, t *unix.Termios) error {
	if err := unix.IoctlSetTermios(fd, setTermios, t); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}

// enter changes the modes. The old ones are read again each time: a child may have changed them.
// In the background it stops, as whatever reads a terminal does, until it is in the foreground.
func (m *ttyModes) enter() error {
	for !m.foreground() {
		if !stopFor(syscall.SIGTTIN) {
			return errBackground
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.saved != nil {
		return nil
	}
	found, err := modesOf(m.fd)
	if err != nil {
		return err
	}
	m.saved = found
	return m.set()
}

// set changes the modes that were found.
func (m *ttyModes) set() error {
	changed := *m.saved
	m.change(&changed)
	return setModes(m.fd, &changed)
}

// errBackground says that no shell with job control is there to bring artoo back.
var errBackground = errors.New("the terminal is another program's: artoo runs in the background")

// foreground says whether the terminal is ours to change. One that does not control this
// process has no background, and group 0 cannot be seen from within a container.
func (m *ttyModes) foreground() bool {
	group, err := unix.IoctlGetInt(m.fd, unix.TIOCGPGRP)
	return err != nil || group == 0 || group == unix.Getpgrp()
}

// forEditing gives every byte as it comes, without echo and the kernel's own keys.
func forEditing(t *unix.Termios) {
	t.Iflag &^= unix.ICRNL | unix.INLCR | unix.IGNCR | unix.IXON | unix.ISTRIP | unix.BRKINT | unix.PARMRK
	t.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL | unix.ISIG | unix.IEXTEN
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
}

func (m *ttyModes) leave() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.saved
	m.saved = nil
	if found == nil || !m.foreground() { // the program that has the terminal now has set it for itself
		return nil
	}
	if err := setModes(m.fd, found); !IsHangup(err) { // a terminal that is gone needs no modes
		return err
	}
	return nil
}

// again changes the modes once more after the shell has changed them. leave still restores the
// first modes.
func (m *ttyModes) again() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.saved == nil || !m.foreground() {
		return nil
	}
	return m.set()
}

// fdOf gives the descriptor; File.Fd would make the file blocking.
func fdOf(f *os.File) (int, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	err = conn.Control(func(u uintptr) { fd = int(u) })
	return fd, err
}

// fileWaiter waits with select(2): poll(2) does not know terminals on macOS.
type fileWaiter struct {
	fd   int
	r, w *os.File // a pipe that wakes it
	rfd  int
}

func newWaiter(reader io.Reader) (*fileWaiter, error) {
	f, ok := reader.(*os.File)
	if !ok {
		return nil, nil
	}
	fd, err := fdOf(f)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	rfd, err := fdOf(r)
	if err == nil && max(fd, rfd) >= unix.FD_SETSIZE {
		err = fmt.Errorf("input: descriptor %d is too large for select", max(fd, rfd))
	}
	if err != nil {
		return nil, errors.Join(err, r.Close(), w.Close())
	}
	return &fileWaiter{fd: fd, r: r, w: w, rfd: rfd}, nil
}

// wait returns when the file is readable, or wake was called; poll only looks.
func (w *fileWaiter) wait(poll bool) (bool, error) {
	timeout, fds := time.Duration(-1), []int{w.fd, w.rfd}
	if poll {
		timeout, fds = 0, fds[:1]
	}
	set, err := selectRead(timeout, fds...)
	if err == nil && set.IsSet(w.rfd) {
		_, err = w.r.Read(make([]byte, 64))
	}
	if err != nil {
		return false, fmt.Errorf("input: %w", err)
	}
	return set.IsSet(w.fd), nil
}

// selectRead waits until one of the files has input, for timeout at most; a negative one is
// for ever.
func selectRead(timeout time.Duration, fds ...int) (set unix.FdSet, err error) {
	for {
		set.Zero()
		for _, fd := range fds {
			set.Set(fd)
		}
		var limit *unix.Timeval
		if timeout >= 0 {
			t := unix.NsecToTimeval(timeout.Nanoseconds())
			limit = &t
		}
		if _, err = unix.Select(slices.Max(fds)+1, &set, nil, nil, limit); !errors.Is(err, unix.EINTR) {
			return set, err
		}
	}
}

func (w *fileWaiter) wake() {
	// The pipe takes far more wakes than can be waiting; a full one wakes too.
	_, _ = w.w.Write([]byte{0})
}

func (w *fileWaiter) close() error { return errors.Join(w.r.Close(), w.w.Close()) }

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	fd, err := fdOf(f)
	if err != nil {
		return false
	}
	_, err = unix.IoctlGetTermios(fd, getTermios)
	return err == nil
}

// IsHangup reports whether a read failed because the terminal is gone.
func IsHangup(err error) bool { return errors.Is(err, unix.EIO) }

// Foreground reports whether this process may talk to the terminal f: it is its
// controlling terminal, and the process is in the foreground there.
func Foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// inLines reports whether the terminal f gives whole lines: else another program reads its
// keys.
func inLines(f *os.File) bool {
	t, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil && t.Lflag&unix.ICANON != 0
}

func flushInput(f *os.File) error {
	fd, err := fdOf(f)
	if err != nil {
		return err
	}
	return flushQueue(fd, inputQueue)
}

// readable waits until f has input, for timeout at most.
func readable(f *os.File, timeout time.Duration) (bool, error) {
	fd := int(f.Fd())
	set, err := selectRead(timeout, fd)
	return err == nil && set.IsSet(fd), err
}

// terminalQueue returns funcs that drop and count the output that the system holds for a
// terminal; both are nil for other writers. A pseudo terminal of Linux counts nothing, and keeps
// the output that its other end could read already.
func terminalQueue(out io.Writer) (flush func() error, waiting func() int) {
	f, ok := out.(*os.File)
	if !ok || !IsTerminal(f) {
		return nil, nil
	}
	fd, err := fdOf(f)
	if err != nil {
		return nil, nil
	}
	flush = func() error { return flushQueue(fd, outputQueue) }
	waiting = func() int {
		n, _ := unix.IoctlGetInt(fd, unix.TIOCOUTQ) // 0 where the system does not tell
		return n
	}
	return flush, waiting
}
