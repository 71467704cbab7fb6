//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// echoMode is whether a terminal shows what is typed. Lines, Ctrl-C and Ctrl-Z
// stay the kernel's, and so does the newline at the end.
type echoMode struct {
	fd    int
	found unix.Termios
}

// hideEcho stops a terminal from showing what is typed.
func hideEcho(in *os.File) (*echoMode, error) {
	fd, err := fdOf(in)
	if err != nil {
		return nil, err
	}
	found, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	e := &echoMode{fd: fd, found: *found}
	return e, e.hide()
}

func (e *echoMode) hide() error {
	hidden := e.found
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG | unix.ECHONL
	hidden.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(e.fd, setTermios, &hidden); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}

func (e *echoMode) restore() error {
	if err := unix.IoctlSetTermios(e.fd, setTermios, &e.found); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}

// dieOf ends the program as the signal does by itself. It returns only when the
// signal cannot be sent.
func dieOf(s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok {
		return nil
	}
	signal.Reset(s)
	if err := syscall.Kill(syscall.Getpid(), number); err != nil {
		return err
	}
	select {}
}
