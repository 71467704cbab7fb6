package tempdir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A path in it is longer than a system call takes, and only root may look into its last directory.
func TestAClosedDirectoryIsRemovedHoweverDeepItLies(t *testing.T) {
	t.Parallel()
	temp, removed := t.TempDir(), make(chan error)
	go func() {
		runtime.LockOSThread() // The thread loses what root may do beyond other users, and ends with this goroutine.
		var none [2]unix.CapUserData
		err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
		at, failed := os.OpenRoot(temp)
		err = errors.Join(err, failed)
		for name := "dir"; err == nil && len(at.Name()) < 5000; name = strings.Repeat("d", 200) {
			if err = at.Mkdir(name, 0o700); err == nil {
				at, err = at.OpenRoot(name)
			}
		}
		if err == nil {
			err = errors.Join(at.Mkdir("closed", 0o700), at.WriteFile("closed/file", nil, 0o600), at.Chmod("closed", 0), RemoveAll(filepath.Join(temp, "dir")))
		}
		removed <- err
	}()
	if err := <-removed; err != nil || there(t, filepath.Join(temp, "dir")) {
		t.Errorf("it stays: %v", err)
	}
}
