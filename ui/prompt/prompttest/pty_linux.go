package prompttest

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openPTY does without creack/pty, which hands the kernel the address of a variable as a number: where the
// goroutine's stack moves meanwhile, the terminal's number is lost and terminal 0 is opened, which is another test's
// (v1.1.24, cured upstream in pull request 215).
func openPTY() (master, tty *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, tty, nil
}
