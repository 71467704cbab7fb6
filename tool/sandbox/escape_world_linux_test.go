//go:build amd64 || arm64

package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// world is a project, and the places around it that a confined command must not reach.
type world struct {
	base    string
	tools   string
	whole   bool // nothing of the project may change either
	environ []string
	victim  *exec.Cmd    // a process of the same user
	alive   func() error // whether it is
	reached [5]struct {
		what string
		n    atomic.Int64
	}
	before map[string]string // the files, as they were when last looked at
	told   [5]int64
}

// secret is in all that must not be read.
const secret = "SECRET"

func (w *world) path(name string) string { return filepath.Join(w.base, name) }

// worldFiles are the files: a name that ends in / is a directory, " -> " a link and
// " = " another name of a file.
var worldFiles = []string{
	"project/src/a", "project/src/b", "project/.env SECRET", "project/d/.env SECRET", "project/d/open",
	"project/keys/a SECRET",
	"project/Makefile", "project/.git/HEAD ref: refs/heads/main\n", "project/.git/config [core]\n\tbare = false\n",
	"project/.git/hooks/", "project/.git/objects/", "project/.git/refs/heads/",
	"outside/victim", "outside/secret SECRET", "outside/SECRET-name", "outside/dir/file", "outside/hard",
	"home/.ssh/id_ed25519 SECRET", "home/.netrc SECRET", "home/.bashrc",
	"added/file", "added/.env SECRET", "common/config", "common/hooks/",
	"cache/entry", "own/", "temp/",
	"project/outlink -> ../outside/victim", "project/outdir -> ../outside", "project/envlink -> .env",
	"project/d/link = project/.env", "project/hard = outside/hard",
}

// newWorld makes one. whole says that nothing of the project may change either.
func newWorld(t *testing.T, tools string, whole bool) *world {
	t.Helper()
	base, err := os.MkdirTemp("", "w") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	w := &world{base: base, tools: tools, whole: whole}
	for _, file := range worldFiles {
		name, text, _ := strings.Cut(file, " ")
		if err := w.make(name, text); err != nil {
			t.Fatal(err)
		}
	}
	port := w.listen(t, 0, "tcp", "127.0.0.1:0")
	w.listen(t, 1, "unix", w.path("outside/sock"))
	w.listen(t, 2, "unix", w.path("project/sock"))
	abstract := "artoo-escape-" + filepath.Base(base)
	w.listen(t, 3, "unix", "@"+abstract)
	w.fifo(t, 4, w.path("project/fifo"))
	w.beget(t)
	w.environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.path("home"), "OUT=" + w.path("outside"),
		"BASE=" + base, "PORT=" + port, "ABSTRACT=" + abstract, "VICTIM=" + strconv.Itoa(w.victim.Process.Pid),
		"SHM=" + w.share(t), "QUEUE=" + w.queue(t),
		"TOOL=" + tools + "/escape", "LC_ALL=C", "GORACE=atexit_sleep_ms=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	w.before = w.look(t)
	return w
}

func (w *world) make(name, text string) error {
	path := w.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if target, ok := strings.CutPrefix(text, "-> "); ok {
		return os.Symlink(target, path)
	}
	if target, ok := strings.CutPrefix(text, "= "); ok {
		return os.Link(w.path(target), path)
	}
	if strings.HasSuffix(name, "/") {
		return os.MkdirAll(path, 0o755)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// listen counts connections.
func (w *world) listen(t *testing.T, i int, network, address string) (port string) {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	w.reached[i].what = network + " " + address
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			w.reached[i].n.Add(1)
			conn.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port
}

// fifo counts writes to one.
func (w *world) fifo(t *testing.T, i int, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	w.reached[i].what = "the FIFO of the project"
	go func() {
		buffer := make([]byte, 100)
		for {
			n, err := file.Read(buffer)
			if err != nil {
				return
			}
			w.reached[i].n.Add(int64(n))
		}
	}()
}

// beget starts the victim: it waits, and holds files open.
func (w *world) beget(t *testing.T) {
	t.Helper()
	read, err := os.Open(w.path("outside/secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	written, err := os.OpenFile(w.path("outside/victim"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	w.victim = exec.Command("cat")
	w.victim.Dir, w.victim.Env = w.path("outside"), []string{"TOKEN=" + secret}
	w.victim.ExtraFiles = []*os.File{read, written}
	said, err := w.victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, answer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	w.victim.Stdout = answer
	if err := w.victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.victim.Process.Kill() // an attempt may have done so
		_ = w.victim.Wait()
		answers.Close()
	})
	w.alive = func() error {
		if _, err := said.Write([]byte("?")); err != nil {
			return err
		}
		if err := answers.SetReadDeadline(time.Now().Add(3 * time.Second)); err != nil {
			return err
		}
		_, err := answers.Read(make([]byte, 1))
		return err
	}
}

// share makes memory that processes of the same user share, by its number.
func (w *world) share(t *testing.T) string {
	t.Helper()
	id, err := unix.SysvShmGet(0, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil {
			t.Error(err)
		}
	})
	return strconv.Itoa(id)
}

// queue makes a queue of messages, by its name.
func (w *world) queue(t *testing.T) string {
	t.Helper()
	name := "artoo-escape-" + strings.ReplaceAll(strings.Trim(w.base, "/"), "/", "-")
	small := [8]int{1: 1, 2: 1} // one message of one byte: a user may have few large ones
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, text(name), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600,
		uintptr(unsafe.Pointer(&small)), 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	t.Cleanup(func() {
		unix.Close(int(fd))
		if _, _, errno := unix.Syscall(unix.SYS_MQ_UNLINK, text(name), 0, 0); errno != 0 {
			t.Error(errno)
		}
	})
	return name
}

// open starts a sandbox as a session has it.
func (w *world) open(t *testing.T, facts Facts) *Sandbox {
	t.Helper()
	w.environ = append(w.environ, "MECHANISM="+string(facts.Mechanism))
	config := Config{Root: w.path("project"), Read: []string{w.path("added")}, Common: w.path("common"),
		Home: w.path("home"), Toolchains: []string{w.tools}, Temp: w.path("temp"), Denied: w.denied,
		Protected: func() ([]string, error) {
			return []string{w.path("project/.git"), w.path("project/Makefile"), w.path("project/hard")}, nil
		},
		Caches: []Cache{{Path: w.path("cache"), Own: w.path("own"), Env: "CACHE"}},
	}
	s, err := Open(t.Context(), config, facts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// denied finds the paths denied now: by name, their other names, and links that lead out.
func (w *world) denied() (list []string, err error) {
	env, err := os.Stat(w.path("project/.env"))
	if err != nil {
		return nil, err
	}
	for _, root := range []string{"project", "added"} {
		err = filepath.WalkDir(w.path(root), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it is gone
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			name := d.Name()
			leads := d.Type()&(fs.ModeNamedPipe|fs.ModeSocket) != 0
			if (name == ".env" || name == "keys" || os.SameFile(info, env) || leads) && d.Type()&fs.ModeSymlink == 0 {
				list = append(list, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ways are those by which something got out since last asked.
func (w *world) ways(t *testing.T, out string) (list []string) {
	t.Helper()
	for _, sign := range []string{secret, "GOT OUT"} {
		if strings.Contains(out, sign) {
			list = append(list, "it printed "+sign)
		}
	}
	now := w.look(t)
	for path, state := range now {
		if before, ok := w.before[path]; before != state {
			list = append(list, fmt.Sprintf("%s was %q (%v) and is %q", path, before, ok, state))
		}
	}
	for path := range w.before {
		if _, ok := now[path]; !ok {
			list = append(list, path+" is gone")
		}
	}
	w.before = now
	for i := range w.reached {
		if n := w.reached[i].n.Load(); n != w.told[i] {
			list, w.told[i] = append(list, w.reached[i].what+" was reached"), n
		}
	}
	return list
}

// waysInTime are the ways of an attempt that gets out: the listener may hear of it after the attempt ends.
func (w *world) waysInTime(t *testing.T, out string) (list []string) {
	t.Helper()
	late := time.Now().Add(5 * time.Second)
	list = w.ways(t, out)
	for again := time.Tick(20 * time.Millisecond); len(list) == 0 && time.Now().Before(late); <-again {
		list = w.ways(t, out)
	}
	return list
}

// guarded lists the paths that must not change. In the project these are denied files and those that others run, or all
// of it where nothing may be written.
var guarded = []string{"outside", "home", "added", "common", "cache", "project/.git", "project/Makefile",
	"project/.env", "project/d/.env", "project/d/link", "project/keys"}

// look describes the files, and the victim.
func (w *world) look(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{"the process " + strconv.Itoa(w.victim.Process.Pid): w.describeVictim()}
	roots := guarded
	if w.whole {
		roots = append([]string{"project"}, roots...)
	}
	for _, root := range roots {
		_ = filepath.WalkDir(w.path(root), func(path string, d fs.DirEntry, err error) error {
			if err == nil {
				files[path] = describe(path)
			}
			return nil
		})
	}
	return files
}

// describe gives all properties of a file that can be changed.
func describe(path string) string {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("mode %o, %d:%d, %d names, changed %d.%09d",
		st.Mode, st.Uid, st.Gid, st.Nlink, st.Ctim.Sec, st.Ctim.Nsec)
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		data, err := os.ReadFile(path)
		text += fmt.Sprintf(", content %.4x %v", sha256.Sum256(data), err)
	}
	return text
}

// describeVictim reports the possible effects on a process.
func (w *world) describeVictim() string {
	pid := w.victim.Process.Pid
	dir := "/proc/" + strconv.Itoa(pid) + "/"
	var text []string
	for _, name := range []string{"comm", "oom_score_adj", "limits", "coredump_filter", "timerslack_ns"} {
		data, err := os.ReadFile(dir + name)
		text = append(text, fmt.Sprintf("%.4x %v", sha256.Sum256(data), err))
	}
	if stat, err := os.ReadFile(dir + "stat"); err == nil {
		fields := strings.Fields(string(stat))
		text = append(text, fields[17], fields[18], fields[40]) // priority, nice, policy
	}
	var set unix.CPUSet
	err := unix.SchedGetaffinity(pid, &set)
	priority, _, _ := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(pid), 0)
	return strings.Join(append(text, fmt.Sprint(set.Count(), err, priority, w.alive())), " ")
}

// tools is a directory that holds this program as "escape".
func tools(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(dir, "escape"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
