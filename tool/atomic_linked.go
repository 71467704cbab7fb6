package tool

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// rewrite writes data into the file itself, which other names lead to as well.
func (t target) rewrite(data []byte, expect *State) error {
	file, err := t.grant.root.OpenFile(t.rel, os.O_RDWR|openFlags, 0)
	if err != nil {
		return t.errorf(err, "")
	}
	defer file.Close()
	if err := t.unchanged(expect); err != nil {
		return err
	}
	before, err := io.ReadAll(io.LimitReader(file, maxEdit+1))
	if err != nil {
		return t.errorf(err, "")
	}
	if len(before) > maxEdit {
		return t.errorf(errTooLarge, "has other names, and ")
	}
	if err := overwrite(file, data); err != nil {
		if back := overwrite(file, before); back != nil {
			return t.errorf(errors.Join(err, back), "may be broken: the old content could not be put back: ")
		}
		return t.errorf(err, "")
	}
	return nil
}

// overwrite makes data the whole content of a file.
func overwrite(file *os.File, data []byte) error {
	if _, err := file.WriteAt(data, 0); err != nil {
		return err
	}
	if err := file.Truncate(int64(len(data))); err != nil {
		return err
	}
	if err := file.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
