//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"artoo/tool/needs"
)

// open makes a sandbox around a new project.
func open(t testing.TB, change func(*Config)) (*Sandbox, string) {
	t.Helper()
	return openWith(t, namespaceFacts, change)
}

var namespaceFacts = Facts{Mechanism: Namespaces, Layer: true, Network: true, HidesFiles: true, HidesProcess: true}

// openWith makes one of another mechanism.
func openWith(t testing.TB, facts Facts, change func(*Config)) (*Sandbox, string) {
	t.Helper()
	needsMechanism(t, facts.Mechanism)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(base, "project")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	config := Config{Root: root, Home: filepath.Join(base, "home"), Temp: filepath.Join(base, "temp")}
	if change != nil {
		change(&config)
	}
	s, err := Open(t.Context(), config, facts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, root
}

// needsMechanism skips the test where the machine has no such mechanism.
func needsMechanism(t testing.TB, mechanism Mechanism) {
	t.Helper()
	switch mechanism {
	case Namespaces:
		needs.Namespaces(t)
	case Landlock:
		needs.True(t, string(Landlock), landlockVersion() > 0)
	}
}

// landlockVersion is the one that the kernel has, at most 0 where it has none.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// run runs a line of sh, and returns its output and how it ended.
func run(t testing.TB, s *Sandbox, options Options, line string) (string, Exit, *Process) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.config.Home}
	cmd.Stdout, cmd.Stderr = w, w
	p, err := s.Start(cmd, options)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return string(out), exit, p
}

// write writes a file of the project.
func write(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestProbeConfinesACommand(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "probe.json")
	facts := Probe(t.Context(), cache)
	if facts.Mechanism != Namespaces && len(facts.Missing) == 0 {
		t.Errorf("nothing is said of what is missing: %+v", facts)
	}
	if again := Probe(t.Context(), cache); !reflect.DeepEqual(again, facts) {
		t.Errorf("kept: %+v\nfound: %+v", again, facts)
	}
}

func TestACommandSeesItsProjectAndNothingElse(t *testing.T) {
	s, root := open(t, nil)
	out, exit, _ := run(t, s, Options{}, "pwd; echo hi > f; ls -A ~; ls -A /tmp/secret; ps ax | wc -l; exit 3")
	if want := root + "\n"; !strings.HasPrefix(out, want) || exit.Status.ExitStatus() != 3 {
		t.Errorf("it printed %q and ended with %+v", out, exit)
	}
	if data, err := os.ReadFile(filepath.Join(root, "f")); err != nil || string(data) != "hi\n" {
		t.Errorf("the file holds %q: %v", data, err)
	}
}

// A home that is reached through a link holds artoo's caches, and the link leads
// nowhere once the file tree is the command's own.
func TestCachesAndTemporaryFilesMayBeBehindALink(t *testing.T) {
	s, _ := open(t, func(c *Config) {
		real, link := filepath.Join(filepath.Dir(c.Root), "real"), filepath.Join(filepath.Dir(c.Root), "link")
		for _, err := range []error{os.MkdirAll(filepath.Join(real, "temp"), 0o700), os.Symlink(real, link)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		c.Temp = filepath.Join(link, "temp")
		c.Caches = []Cache{{Path: filepath.Join(c.Home, "cache"), Own: filepath.Join(link, "own")}}
	})
	if out, exit, _ := run(t, s, Options{}, "echo kept > ~/cache/a && echo new > /tmp/b && cat ~/cache/a /tmp/b"); out != "kept\nnew\n" {
		t.Errorf("it printed %q and ended with %+v", out, exit)
	}
}

// HOME names the home as the user wrote it: itself a link, or behind one.
func TestAHomeMayBeBehindALink(t *testing.T) {
	for _, home := range []string{"link", "to/home"} {
		s, _ := open(t, func(c *Config) {
			base := filepath.Dir(c.Root)
			for _, err := range []error{os.MkdirAll(filepath.Join(base, "real", "home"), 0o700),
				os.Symlink(filepath.Join(base, "real", "home"), filepath.Join(base, "link")),
				os.Symlink("real", filepath.Join(base, "to"))} {
				if err != nil {
					t.Fatal(err)
				}
			}
			c.Home = filepath.Join(base, home)
			c.Caches = []Cache{{Path: filepath.Join(c.Home, "new", "cache"), Own: filepath.Join(base, "own")}}
		})
		out, exit, _ := run(t, s, Options{}, "echo mine > ~/a && cd ~ && cat a && touch new/cache/b && ls -A . new")
		if out != "mine\n.:\na\nnew\n\nnew:\ncache\n" {
			t.Errorf("%s: it printed %q and ended with %+v", home, out, exit)
		}
	}
}

// Denied names are gone wherever a command runs, from the first command on.
func TestDeniedNamesAreGoneInEveryPlace(t *testing.T) {
	for _, options := range []Options{{}, {Layer: true}, {ReadOnly: true}} {
		s, root := open(t, func(c *Config) {
			c.Denied = func() ([]string, error) { return []string{filepath.Join(c.Root, "sub", ".env")}, nil }
		})
		write(t, root, "sub/.env", "secret")
		write(t, root, "sub/a", "text")
		for range 2 {
			out, exit, _ := run(t, s, options, "cat sub/.env sub/a 2>/dev/null; ls -A sub")
			if strings.Contains(out, "secret") || !strings.Contains(out, "text") || exit.Status != 0 {
				t.Errorf("%+v: %q, exit %v", options, out, exit)
			}
		}
	}
}

// A hidden directory hides all in it, in whatever order the two are named.
func TestADeniedNameMayBeInADeniedDirectory(t *testing.T) {
	for _, options := range []Options{{}, {Layer: true}, {ReadOnly: true}} {
		s, root := open(t, func(c *Config) {
			c.Denied = func() (denied []string, err error) {
				for _, name := range []string{"own/sub/x", "own/y", "own", "own/z"} {
					denied = append(denied, filepath.Join(c.Root, name))
				}
				return denied, nil
			}
		})
		for _, name := range []string{"own/sub/x", "own/y", "own/z", "own/other"} {
			write(t, root, name, "secret")
		}
		out, exit, _ := run(t, s, options, "cat own/* own/sub/x 2>/dev/null; echo done")
		if out != "done\n" || exit.Status != 0 {
			t.Errorf("%+v: %q, exit %v", options, out, exit)
		}
	}
}

// A file is seen with other content, its directory looks as ever, and what a line writes there is compared with the project's.
func TestAFileIsShownInPlaceOfAnother(t *testing.T) {
	for name, memory := range map[string]bool{"memory": true, "disk": false} {
		s, root := open(t, func(c *Config) {
			c.inMemory = memory
			c.Shown = func(dir string, _, layered []string) (map[string]string, error) {
				write(t, dir, "copy", "shown")
				return map[string]string{filepath.Join(layered[0], "d", "a"): filepath.Join(dir, "copy")}, nil
			}
		})
		write(t, root, "d/a", "real")
		write(t, root, "d/b", "other")
		for _, options := range []Options{{Layer: true}, {ReadOnly: true}} {
			out, _, p := run(t, s, options, "cat d/a d/b; stat -c ' %a %Y' d")
			real, _, _ := run(t, s, Options{}, "cat d/a d/b; stat -c ' %a %Y' d")
			if want := strings.Replace(real, "real", "shown", 1); out != want {
				t.Errorf("%s, %+v: %q, want %q", name, options, out, want)
			}
			if p.Wrote(t.Context()) {
				t.Errorf("%s, %+v: it counts as changed", name, options)
			}
		}
		_, _, p := run(t, s, Options{Layer: true}, "printf real >d/a; printf new >d/b")
		changes, err := p.Changes(t.Context())
		if err != nil || len(changes.Entries) != 1 || filepath.Base(changes.Entries[0].Path) != "b" {
			t.Errorf("%s: %+v, %v", name, changes, err)
		}
		if left, err := filepath.Glob(filepath.Join(s.shown, "line-*")); err != nil || len(left) != 0 {
			t.Errorf("%s: left: %q, %v", name, left, err)
		}
	}
}

func TestALayerTellsWhatALineDid(t *testing.T) {
	for name, memory := range map[string]bool{"memory": true, "disk": false} {
		t.Run(name, func(t *testing.T) { layerTells(t, memory) })
	}
}

func layerTells(t *testing.T, memory bool) {
	s, root := open(t, func(c *Config) { c.inMemory = memory })
	for _, name := range []string{"a", "d/e/f", "d/g", "m", "same"} {
		write(t, root, name, "1")
	}
	line := "echo x > a; rm -r d; mkdir d; echo new > d/g; chmod +x m; touch same; mv same b; mv b same; ln -s a l;" +
		"mkfifo ff; mkdir -p n/o; echo y > n/o/p; chmod 0 n/o/p n/o"
	out, exit, p := run(t, s, Options{Layer: true}, line)
	if out != "" || exit.Status != 0 {
		t.Fatalf("it printed %q and ended with %+v", out, exit)
	}
	changes, err := p.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes.Entries {
		rel, err := filepath.Rel(root, c.Path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %v %d %s", rel, c.Kind, c.Mode, c.Size, c.Target)))
		if c.Special != (rel == "ff") {
			t.Errorf("%s: special is %v", rel, c.Special)
		}
	}
	want := []string{
		"a modified -rw-r--r-- 2", "d/e deleted drwxr-xr-x 0", "d/e/f deleted -rw-r--r-- 0", "d/g modified -rw-r--r-- 4",
		"ff created prw-r--r-- 0", "l created Lrwxrwxrwx 0 a", "m mode -rwxr-xr-x 1", "n created drwxr-xr-x 0",
		"n/o created d--------- 0", "n/o/p created ---------- 2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if data, err := os.ReadFile(filepath.Join(root, "a")); err != nil || string(data) != "1" {
		t.Errorf("the project's file holds %q: %v", data, err)
	}
	if err := changes.Discard(false); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(s.config.Temp, "layers", "*", "[0-9]*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left on disk: %q, %v", left, err)
	}
}

// artoo makes itself not dumpable, so that commands do not read its keys.
func TestAProcessThatIsNotDumpableConfines(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
			t.Error(err)
		}
	})
	s, _ := open(t, nil)
	if out, exit, _ := run(t, s, Options{Layer: true}, "echo here"); out != "here\n" || exit.Status != 0 {
		t.Errorf("%q, exit %v", out, exit)
	}
	if now, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || now != 0 {
		t.Errorf("dumpable is %d afterwards, %v", now, err)
	}
}

// LeakSanitizer would have to trace its program. Other options, and a wish of the user's for leaks, stay.
func TestLeaksAreNotLookedFor(t *testing.T) {
	got := withoutLeaks([]string{"A=1", "ASAN_OPTIONS=verbosity=1:detect_leaks=1", "LSAN_OPTIONS="})
	want := []string{"A=1", "ASAN_OPTIONS=detect_leaks=0:verbosity=1:detect_leaks=1", "LSAN_OPTIONS=detect_leaks=0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	s, _ := open(t, nil)
	if out, _, _ := run(t, s, Options{}, `echo "$ASAN_OPTIONS $LSAN_OPTIONS"`); out != "detect_leaks=0 detect_leaks=0\n" {
		t.Error(out)
	}
}
