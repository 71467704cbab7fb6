//go:build unix

package conversation

import (
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// sessionFile is a file that is read at places. An os.File asks the kernel six things more
// before the first byte is read, which counts where ten thousand sessions are listed.
type sessionFile int

// openRead opens a file for reading. Errors are *fs.PathError, as those of os.Open.
func openRead(path string) (sessionFile, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err == nil {
			return sessionFile(fd), nil
		}
		if err != unix.EINTR {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// ReadAt implements io.ReaderAt.
func (f sessionFile) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		got, err := unix.Pread(int(f), p[n:], at+int64(n))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, err
		case got == 0:
			return n, io.EOF
		default:
			n += got
		}
	}
	return n, nil
}

// Close implements io.Closer.
func (f sessionFile) Close() error { return unix.Close(int(f)) }
