package conversation

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"artoo/provider"
)

// syncedFile notes the path when the disk has the file.
type syncedFile struct {
	File
	path   string
	synced *[]string
	err    error // the error of syncing a directory
}

func (f syncedFile) Sync() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	*f.synced = append(*f.synced, f.path)
	if info, err := os.Stat(f.path); err != nil || info.IsDir() {
		return errors.Join(err, f.err)
	}
	return nil
}

// The names of a new session and of a new image are on the disk at the end of the turn:
// each directory once, after its entries.
func TestDirectoriesAreSyncedAfterANewFile(t *testing.T) {
	t.Parallel()
	for _, failed := range []error{nil, syscall.EINVAL, syscall.EIO} {
		st := testStore(t)
		var synced []string
		st.OpenFile = func(path string, flags int) (File, error) {
			f, err := os.OpenFile(path, flags, 0o600)
			return syncedFile{File: f, path: path, synced: &synced, err: failed}, err
		}
		s := st.Create(testHeader())
		c := New(Config{}, s)
		turn := func(text string, parts ...provider.Part) (dirs []string) {
			synced = nil
			add(t, c, provider.UserText(text, parts...))
			err := c.Sync()
			if want := errors.Is(failed, syscall.EIO) && slices.Contains(synced, st.Dir); errors.Is(err, syscall.EIO) != want {
				t.Errorf("%v: %v", failed, err)
			}
			at := slices.Index(synced, s.Path())
			for i, path := range synced {
				if path == st.Dir || path == s.OutputDir() {
					dirs = append(dirs, filepath.Base(path))
					if i < at {
						t.Errorf("%s before the session", path)
					}
				}
			}
			return dirs
		}
		if dirs := turn("hi"); !slices.Equal(dirs, []string{filepath.Base(st.Dir)}) {
			t.Errorf("after a new session: %q", dirs)
		}
		if failed == syscall.EIO {
			must(t, s.Close())
			continue
		}
		if dirs := turn("more"); len(dirs) > 0 {
			t.Errorf("after no new file: %q", dirs)
		}
		if dirs := turn("look", picture1()); !slices.Equal(dirs, []string{filepath.Base(st.Dir), filepath.Base(s.OutputDir())}) {
			t.Errorf("after a new image: %q", dirs)
		}
		if dirs := turn("again", picture1()); len(dirs) > 0 {
			t.Errorf("after an image that was there: %q", dirs)
		}
		must(t, s.Close())
	}
}
