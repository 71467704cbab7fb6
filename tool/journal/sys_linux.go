package journal

import (
	"errors"

	"golang.org/x/sys/unix"
)

// open opens the path to be read, in one call where the kernel has it (Linux
// 5.6; a container may not let it pass).
func (p *place) open(path string, flags int) (int, error) {
	how := unix.OpenHow{Flags: uint64(openFlags | flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	name := path
	if name == "" {
		name = "."
	}
	fd, err := uninterrupted(func() (int, error) { return unix.Openat2(int(p.dir.Fd()), name, &how) })
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EAGAIN) {
		return p.openSteps(path, flags)
	}
	return fd, err
}
