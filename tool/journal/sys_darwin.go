package journal

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func (p *place) open(path string, flags int) (int, error) {
	p, path, err := p.of(path)
	if err != nil {
		return -1, err
	}
	return p.openSteps(path, flags)
}

// exchange exchanges the files of two names, in one step.
func exchange(dirA int, a string, dirB int, b string) error {
	return unix.RenameatxNp(dirA, a, dirB, b, unix.RENAME_SWAP)
}

// renameNew is a rename that replaces nothing: where the name is taken the error is
// fs.ErrExist.
func renameNew(fromDir int, from string, toDir int, to string) error {
	return unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_EXCL)
}

// takeLease has nothing to ask for: there are no leases here.
func takeLease(int) error { return unix.ENOTSUP }

func leaseHolds(int) bool { return true }

func syncAll(*os.File) (bool, error) { return false, nil }

// chmodAt changes the mode of a name in an open directory. It follows no link.
func chmodAt(dir int, name string, mode fs.FileMode) error {
	return unix.Fchmodat(dir, name, bits(mode), unix.AT_SYMLINK_NOFOLLOW)
}
