//go:build unix

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
	"artoo/tool/files"
)

func TestModesAreKept(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0o644, 0o600, 0o755, 0o666, 0o200} {
		w := newFileWorld(t, map[string]string{"f": "x\n"})
		if err := os.Chmod(w.path("f"), mode); err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(w.path("f"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.env.Files.WriteFileAtomic(w.path("f"), []byte("y\n"), nil); err != nil {
			t.Fatalf("%v: %v", mode, err)
		}
		after, err := os.Stat(w.path("f"))
		if err != nil || after.Mode() != before.Mode() {
			t.Errorf("mode %v became %v (%v)", before.Mode(), after.Mode(), err)
		}
		was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
		if was.Uid != is.Uid || was.Gid != is.Gid {
			t.Errorf("owner %d:%d became %d:%d", was.Uid, was.Gid, is.Uid, is.Gid)
		}
	}
}

func TestSetUserIDIsNotKept(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "x\n"})
	if err := os.Chmod(w.path("f"), fs.ModeSetuid|0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := w.env.Files.WriteFileAtomic(w.path("f"), []byte("y\n"), nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(w.path("f")); err != nil || info.Mode() != 0o755 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
}

func TestOwnerIsKept(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "x"})
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 12345, 12346 // only root can give files away
	} else if groups, err := os.Getgroups(); err == nil && len(groups) > 0 {
		gid = groups[len(groups)-1]
	}
	if err := os.Chown(w.path("f"), uid, gid); err != nil {
		uid, gid = os.Getuid(), os.Getgid() // no such user where root is not quite root
	}
	if _, err := w.env.Files.WriteFileAtomic(w.path("f"), []byte("y"), nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(w.path("f"))
	if err != nil {
		t.Fatal(err)
	}
	if is := info.Sys().(*syscall.Stat_t); int(is.Uid) != uid || int(is.Gid) != gid {
		t.Errorf("owner is %d:%d, want %d:%d", is.Uid, is.Gid, uid, gid)
	}
}

func TestNewFilesObeyUmask(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	w := newFileWorld(t, nil)
	if _, err := w.env.Files.WriteFileAtomic(w.path("d/f"), nil, nil); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{"d": 0o750, "d/f": 0o640} {
		if info, err := os.Stat(w.path(path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, want)
		}
	}
}

func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "x\n"})
	if err := os.Chmod(w.path("f"), 0o444); err != nil {
		t.Fatal(err)
	}
	w.ok(Read(), in{"path": "f"})
	w.fails(Write(), in{"path": "f", "content": "y\n"}, "read-only")
	w.fails(Edit(), in{"path": "f", "old_string": "x", "new_string": "y"}, "read-only")
	if w.content("f") != "x\n" {
		t.Error("was written")
	}
}

// Root may write to a read-only directory, others may not; nobody leaves
// anything behind.
func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"d/f": "x\n"})
	if err := os.Chmod(w.path("d"), 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(w.path("d"), 0o755)
	_, err := w.env.Files.WriteFileAtomic(w.path("d/f"), []byte("y\n"), nil)
	want := "y\n"
	if os.Getuid() != 0 {
		want = "x\n"
		if err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("error is %v", err)
		}
	}
	if w.content("d/f") != want {
		t.Errorf("content is %q (%v)", w.content("d/f"), err)
	}
	if diff := cmp.Diff([]string{"f"}, w.names("d")); diff != "" {
		t.Error(diff)
	}
}

// inChild is whether this is the child in which the test runs again. There its system
// may be broken, which would hit the testing package's own files too.
func inChild(t *testing.T) bool {
	t.Helper()
	const child = "ARTOO_TEST_CHILD"
	if os.Getenv(child) != "" {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), child+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// A full disk, played by a limit on the size of files.
func TestFullDisk(t *testing.T) {
	if !inChild(t) {
		return
	}
	w := newFileWorld(t, map[string]string{"f": "old", "one": "old too"})
	if err := os.Link(w.path("one"), w.path("two")); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = 4096
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "d/e/new", "one"} {
		if _, err := w.env.Files.WriteFileAtomic(w.path(name), make([]byte, 10000), nil); !errors.Is(err, syscall.EFBIG) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff([]string{"f", "one", "two"}, w.names(".")); diff != "" || w.content("f") != "old" || w.content("two") != "old too" {
		t.Errorf("%s, contents %q, %.20q", diff, w.content("f"), w.content("two"))
	}
}

func TestSpecialFiles(t *testing.T) {
	w := newFileWorld(t, map[string]string{"f": "x"})
	if err := syscall.Mkfifo(w.path("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(w.root) // a socket's path must be short
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	w.link("pipe", "link")
	for path, kind := range map[string]string{"pipe": "named pipe", "link": "named pipe", "socket": "socket"} {
		w.fails(Read(), in{"path": path}, kind)
		w.fails(Write(), in{"path": path, "content": "x"}, kind)
		w.fails(Edit(), in{"path": path, "old_string": "x", "new_string": "y"}, kind)
	}
	text := w.ok(Ls(), in{}).Text
	for _, line := range []string{"  pipe  pipe\n", "  socket  socket\n", "  link  link -> pipe\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("ls does not show %q:\n%s", line, text)
		}
	}
	// A pipe that takes the place of a file after it was judged blocks no caller,
	// not even in the moment between the last look and the opening.
	place, err := w.env.Files.Resolve("f", false)
	if err != nil {
		t.Fatal(err)
	}
	named, err := os.Lstat(place.Abs)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.path("pipe"), w.path("f")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := place.Open(); err == nil || !strings.Contains(err.Error(), "named pipe") {
		t.Errorf("opened a pipe: %v", err)
	}
	if _, _, err := place.OpenSame(named); err == nil {
		t.Error("opened a pipe at the last moment")
	}
}

func TestDevicesAreNotRead(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, nil, func(cfg *files.Config) { cfg.ReadDirs = []string{"/dev"} })
	w.fails(Read(), in{"path": "/dev/zero"}, "device")
}

// The loop shows a change, asks, and then runs it: a file that has changed meanwhile must not be overwritten.
func TestChangeBetweenPlanAndRun(t *testing.T) {
	t.Parallel()
	for name, swap := range map[string]func(w *fileWorld){
		"content": func(w *fileWorld) { w.put(w.path("f"), "x\nother\n") },
		"link inside": func(w *fileWorld) {
			os.Remove(w.path("f"))
			w.link("g", "f")
		},
		"link out": func(w *fileWorld) {
			os.Remove(w.path("f"))
			w.link("../outside/secret.txt", "f")
		},
		"absolute link out": func(w *fileWorld) {
			os.Remove(w.path("f"))
			w.link(filepath.Join(w.outside, "secret.txt"), "f")
		},
		"link to a secret": func(w *fileWorld) {
			os.Remove(w.path("f"))
			w.link(".env", "f")
		},
		"gone":      func(w *fileWorld) { os.Remove(w.path("f")) },
		"directory": func(w *fileWorld) { os.Remove(w.path("f")); w.mkdir(w.path("f")) },
	} {
		for _, call := range []struct {
			tool  tool.Tool
			input string
		}{
			{Write(), `{"path":"f","content":"new\n"}`},
			{Edit(), `{"path":"f","old_string":"x","new_string":"new"}`},
		} {
			w := newFileWorld(t, map[string]string{"f": "x\n", "g": "x\n", ".env": "x\n"})
			w.put(filepath.Join(w.outside, "secret.txt"), "x\n")
			w.ok(Read(), in{"path": "f"})
			w.ok(Read(), in{"path": "g"})
			access, err := call.tool.Plan(context.Background(), w.env, json.RawMessage(call.input))
			if err != nil || access.Diff == "" {
				t.Fatalf("%+v %v", access, err)
			}
			swap(w)
			if _, err := call.tool.Run(context.Background(), w.env, json.RawMessage(call.input), io.Discard); err == nil {
				t.Errorf("%s, %s: was run", name, call.tool.Name)
			}
			for _, path := range []string{w.path("g"), w.path(".env"), filepath.Join(w.outside, "secret.txt")} {
				if data, err := os.ReadFile(path); err != nil || string(data) != "x\n" {
					t.Errorf("%s, %s: %s is now %q (%v)", name, call.tool.Name, path, data, err)
				}
			}
		}
	}
}
