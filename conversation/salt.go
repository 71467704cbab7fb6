package conversation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// saltExt ends the name of the file beside a session that its marks are made with.
const saltExt = ".salt"

// saltMax is more bytes than any salt has.
const saltMax = 1 << 10

// Salt is what KeepSalt kept for the session, or for the one it was forked from;
// nil if there is none. No export holds it.
func (s *Session) Salt() ([]byte, error) {
	for _, dir := range s.OutputDirs() {
		path := strings.TrimSuffix(dir, outputExt) + saltExt
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case info.Size() > saltMax:
			return nil, fileError(path, errors.New("is no salt"))
		}
		return os.ReadFile(path)
	}
	return nil, nil
}

// KeepSalt writes the salt beside the session, for its user only.
func (s *Session) KeepSalt(salt []byte) error {
	path := strings.TrimSuffix(s.path, fileExt) + saltExt
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(salt)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
