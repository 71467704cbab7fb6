package builtin

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"artoo/tool/files"
)

// answer makes the kernel answer a call of this process as a filter says.
func answer(t *testing.T, call, with uint32) {
	t.Helper()
	const number = 0 // where the filter finds the number of the call
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: with},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&filter))); errno != 0 {
		t.Fatal(errno)
	}
}

// A write that does not reach the disk is an error, and the file keeps its content.
func TestAWriteThatDoesNotReachTheDiskFails(t *testing.T) {
	t.Parallel()
	if !inChild(t) {
		return
	}
	w := newFileWorld(t, map[string]string{"f": "old", "one": "old"})
	if err := os.Link(w.path("one"), w.path("two")); err != nil {
		t.Fatal(err)
	}
	answer(t, unix.SYS_FSYNC, unix.SECCOMP_RET_ERRNO|uint32(unix.EIO))
	for _, name := range []string{"f", "one"} {
		if _, err := w.env.Files.WriteFileAtomic(w.path(name), []byte("new"), nil); !errors.Is(err, unix.EIO) || w.content(name) != "old" {
			t.Errorf("%s: %v, content %q", name, err, w.content(name))
		}
	}
	if diff := cmp.Diff([]string{"f", "one", "two"}, w.names(".")); diff != "" {
		t.Error(diff)
	}
}

// The copy that takes the place of a private file is private from the start: the process
// is killed before it gives the copy the file's mode.
func TestACopyOfAPrivateFileIsPrivate(t *testing.T) {
	const place = "ARTOO_TEST_PLACE"
	if dir := os.Getenv(place); dir != "" {
		files, err := files.Open(files.Config{Root: dir})
		if err := errors.Join(err, unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})); err != nil {
			t.Fatal(err)
		}
		unix.Umask(0)
		answer(t, unix.SYS_FCHMOD, unix.SECCOMP_RET_KILL_PROCESS)
		_, err = files.WriteFileAtomic(filepath.Join(dir, "key"), []byte("new"), nil)
		t.Fatal("survived: ", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), place+"="+dir)
	out, err := cmd.CombinedOutput()
	entries, readErr := os.ReadDir(dir)
	if err == nil || readErr != nil || len(entries) != 2 {
		t.Fatalf("%d files, %v, %v\n%s", len(entries), readErr, err, out)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode() != 0o600 || info.Size() != 3 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
}
