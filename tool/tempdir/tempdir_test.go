package tempdir

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain is also the process that makes a directory, says its path and is killed.
func TestMain(m *testing.M) {
	if os.Getenv("TEMPDIR_TO_BE_KILLED") == "" {
		os.Exit(m.Run())
	}
	dir, err := Make("")
	if err == nil {
		_, err = os.Stdout.WriteString(dir.Path)
	}
	if err != nil {
		os.Exit(1)
	}
	self, _ := os.FindProcess(os.Getpid()) // never fails for oneself
	_ = self.Kill()
	select {}
}

func there(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// A directory that a killed process left is removed; that of a live one, a link, another's file and another name stay.
func TestOnlyWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	live, err := Make("")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEMPDIR_TO_BE_KILLED=1")
	out, err := cmd.Output()
	left := string(out)
	if err == nil || filepath.Dir(left) != temp || !there(t, left) {
		t.Fatalf("%q, %v", left, err)
	}
	closed := filepath.Join(left, "layers", "work")
	kept := []string{live.Path, filepath.Join(temp, "artoo-123"), filepath.Join(temp, prefix+"file"), filepath.Join(temp, prefix+"link")}
	for _, err := range []error{os.MkdirAll(closed, 0o700), os.WriteFile(filepath.Join(left, "file"), nil, 0o600),
		os.Chmod(closed, 0), os.Mkdir(kept[1], 0o700), os.WriteFile(kept[2], nil, 0o600), os.Symlink(kept[1], kept[3])} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(os.TempDir()); err != nil {
		t.Error(err)
	}
	if there(t, left) {
		t.Error("what a killed process left is there")
	}
	for _, path := range kept {
		if !there(t, path) {
			t.Errorf("%s is gone", path)
		}
	}
	if err := live.Remove(); err != nil || there(t, live.Path) {
		t.Errorf("%v", err)
	}
}

// Others that sweep while a directory is made never take it away from its process.
func TestADirectoryIsNeverSweptFromItsProcess(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	stop, swept := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				swept <- nil
				return
			default:
			}
			if err := Sweep(os.TempDir()); err != nil {
				swept <- err
				return
			}
		}
	}()
	for range 300 {
		dir, err := Make("")
		if err != nil {
			t.Fatal(err)
		}
		if !there(t, dir.Path) {
			t.Error("it was swept")
		}
		if err := dir.Remove(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	if err := <-swept; err != nil {
		t.Error(err)
	}
}
