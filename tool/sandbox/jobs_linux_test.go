//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// talk starts a shell that runs the lines it is given, one at a time. The func gives it one and returns the output.
func talk(t *testing.T, s *Sandbox, options Options) (*Process, func(line string) string) {
	t.Helper()
	in, lines, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.config.Home}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
	p, err := s.Start(cmd, options)
	in.Close()
	out.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		lines.Close()
		if _, err := p.Wait(); err != nil {
			t.Error(err)
		}
		if err := p.Discard(); err != nil {
			t.Error(err)
		}
		said.Close()
	})
	return p, func(line string) string {
		if _, err := io.WriteString(lines, line+"\necho THE END\n"); err != nil {
			t.Fatal(err)
		}
		var text []byte
		buf := make([]byte, 4096)
		for !strings.HasSuffix(string(text), "THE END\n") {
			n, err := said.Read(buf)
			if err != nil {
				t.Fatalf("%v after %q", err, text)
			}
			text = append(text, buf[:n]...)
		}
		return strings.TrimSuffix(string(text), "THE END\n")
	}
}

// guarding makes a sandbox around a project with files that others run and a denied
// one; a pattern is looked up each time.
func guarding(t *testing.T) (*Sandbox, string) {
	t.Helper()
	list := func(root string, patterns ...string) (found []string, err error) {
		for _, pattern := range patterns {
			paths, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil {
				return nil, err
			}
			found = append(found, paths...)
		}
		return found, nil
	}
	s, root := open(t, func(c *Config) {
		c.Protected = func() ([]string, error) { return list(c.Root, ".git", ".github/workflows", "lib/*/.git", "Makefile") }
		c.Denied = func() ([]string, error) { return list(c.Root, ".env", "d/.env", "d/*/.env") }
	})
	for _, name := range []string{".git/config", ".github/workflows/ci.yml", "lib/x/.git/config", "Makefile", "dist/old", "d/open"} {
		write(t, root, name, "1")
	}
	write(t, root, "d/e/.env", secret)
	return s, root
}

func TestFilesThatOthersRunAreNotReplacedWithWhatIsAboveThem(t *testing.T) {
	for name, options := range map[string]Options{"sandbox": {}, "job": {Job: true, Whole: true}} {
		t.Run(name, func(t *testing.T) {
			s, root := guarding(t)
			out, _, _ := run(t, s, options, `mv .github .g; mkdir -p .github/workflows; echo 2 > .github/workflows/ci.yml
				mv lib l; mv lib/x lib/y; rm -rf lib; mkdir -p lib/x/.git; echo 2 > lib/x/.git/config
				mv d n; mv d/e d/n; cat n/e/.env d/n/.env d/e/.env; echo fine > d/new`)
			for _, name := range []string{".github/workflows/ci.yml", "lib/x/.git/config"} {
				if read(root, name) != "1" {
					t.Errorf("%s is %q", name, read(root, name))
				}
			}
			if strings.Contains(out, secret) || read(root, "d/e/.env") != secret || read(root, "d/new") != "fine\n" {
				t.Errorf("it printed %s", out)
			}
		})
	}
}

// An editor saves a file by replacing it: the mount over it goes away.
func TestWhatTheUserReplacedIsProtectedAgain(t *testing.T) {
	s, root := guarding(t)
	p, say := talk(t, s, Options{Job: true, Whole: true})
	for _, name := range []string{"Makefile", "d/e/.env", ".env", "lib/z/.git/config"} {
		write(t, root, name+"~", secret)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(root, name+"~"), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := p.Protect(); err != nil {
			t.Fatal(err)
		}
	}
	say("echo 2 >> Makefile; echo 2 >> lib/z/.git/config; mv lib/z lib/zz")
	if out := say("cat d/e/.env .env"); strings.Contains(out, secret) {
		t.Errorf("it read %q", out)
	}
	for _, name := range []string{"Makefile", "lib/z/.git/config"} {
		if read(root, name) != secret {
			t.Errorf("%s is %q", name, read(root, name))
		}
	}
}

func TestAJobWritesItsOutputsOnly(t *testing.T) {
	s, root := guarding(t)
	if err := os.Symlink("..", filepath.Join(root, "dist", "up")); err != nil {
		t.Fatal(err)
	}
	p, say := talk(t, s, Options{Job: true, Outputs: []string{filepath.Join(root, "dist")}})
	out := say("echo 2 > dist/new; echo 2 > Makefile; echo 2 > d/new; echo 2 > dist/up/d/new; rm -r dist; echo 2 > /tmp/shared; cat d/e/.env")
	if read(root, "dist/new") != "" && read(root, "dist/new") != "2\n" || read(root, "Makefile") != "1" || read(root, "d/new") != "" ||
		strings.Contains(out, secret) {
		t.Errorf("it printed %s", out)
	}
	if out := say("echo 3 > dist/again; cat dist/again"); out != "3\n" || read(root, "dist/again") != "3\n" {
		t.Errorf("to its output it wrote %q", out)
	}
	write(t, root, "edited", "by the user")
	if out := say("cat edited"); out != "by the user" {
		t.Errorf("it sees %q of what the user wrote", out)
	}
	if err := p.Protect(); err != nil {
		t.Error(err)
	}
	// Other commands run beside it, and share /tmp.
	layered, _, q := run(t, s, Options{Layer: true}, "cat /tmp/shared dist/again; echo 4 > dist/again; rm -r d")
	if layered != "2\n3\n" || read(root, "dist/again") != "3\n" || q.Discard() != nil {
		t.Errorf("on a layer beside it %q was read", layered)
	}
	for _, path := range []string{filepath.Join(root, "dist", "up", "d"), filepath.Join(root, ".git"), filepath.Dir(root)} {
		if p, err := s.Start(exec.Command("/bin/true"), Options{Job: true, Outputs: []string{path}}); err == nil {
			t.Errorf("%s is an output", path)
			if _, err := p.Wait(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The next line sees files that one left in /tmp; no other sees its own temporary files.
func TestTemporaryFilesAreSharedOrOnesOwn(t *testing.T) {
	s, _ := open(t, nil)
	for name, options := range map[string]Options{"layer": {Layer: true}, "job": {Job: true}, "whole": {Job: true, Whole: true}} {
		t.Run(name, func(t *testing.T) {
			_, say := talk(t, s, options)
			if out := say("echo 1 > /tmp/a; echo 2 > /dev/shm/b; echo 3 > /var/tmp/c; echo 4 > $TMPDIR/d; ls $TMPDIR"); out != "d\n" {
				t.Fatalf("it printed %q", out)
			}
			for _, other := range []Options{{Layer: true}, {ReadOnly: true}, {Job: true}} {
				out, _, p := run(t, s, other, "cat /tmp/a /dev/shm/b /var/tmp/c; ls -A $TMPDIR; echo 5 > $TMPDIR/e && cat $TMPDIR/e")
				if out != "1\n2\n3\n5\n" || p.Discard() != nil {
					t.Errorf("%+v: %q", other, out)
				}
			}
			if out := say("ls $TMPDIR; rm /tmp/a"); out != "d\n" {
				t.Errorf("then it printed %q", out)
			}
		})
	}
}

// Unix sockets lead from one line to another only by pairs, which have no names.
func TestUnixSocketsAreACommandsOwn(t *testing.T) {
	const program = "python3"
	needs.Program(t, program)
	t.Setenv("TMPDIR", "/tmp") // a socket's path has to be short
	s, root := open(t, nil)
	listener, err := net.Listen("unix", filepath.Join(root, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	script := `
import os, socket
def tried(what, f):
    try: f(); print(what, end=" ")
    except OSError: pass
def bound(at):
    s = socket.socket(socket.AF_UNIX); s.bind(at); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect(at)
tried("pair", lambda: socket.socketpair())
tried("own", lambda: bound(os.environ["TMPDIR"] + "/s"))
tried("abstract", lambda: bound("\0artoo"))
tried("tmp", lambda: bound("/tmp/s"))
tried("project", lambda: bound("made"))
tried("users", lambda: socket.socket(socket.AF_UNIX).connect("s"))
tried("other", lambda: socket.socket(socket.AF_UNIX).connect("\0other"))
tried("moved", lambda: (os.makedirs("/tmp/x"), os.makedirs("/tmp/y/z"), os.rename("/tmp/y/z", "/tmp/x/z")))
os.system("rm -rf /tmp/x /tmp/y")
`
	write(t, root, "s.py", script)
	_, say := talk(t, s, Options{Job: true, Whole: true})
	say(program + ` -c 'import os, socket
s = socket.socket(socket.AF_UNIX); s.bind("\0other"); s.listen()
if os.fork() == 0:
    os.close(1); os.close(2); s.accept()' </dev/null`)
	for name, options := range map[string]Options{"layer": {Layer: true}, "trusted": {Layer: true, Exec: true}, "job": {Job: true}} {
		out, _, p := run(t, s, options, program+" s.py")
		if out != "pair own abstract moved " || p.Discard() != nil {
			t.Errorf("%s: %q", name, out)
		}
	}
	if out, _, p := run(t, s, Options{ReadOnly: true}, program+" s.py"); !strings.HasPrefix(out, "pair ") ||
		strings.Contains(out, "own") || p.Discard() != nil {
		t.Errorf("reading: %q", out)
	}
}

func TestAServerOfALineIsReachedByIt(t *testing.T) {
	needs.Programs(t, "python3", "curl")
	s, root := open(t, nil)
	write(t, root, "page", "served")
	for port, options := range []Options{{Layer: true}, {Layer: true, Exec: true}, {Job: true}} {
		at := strconv.Itoa(8000 + port)
		out, exit, p := run(t, s, options, "python3 -m http.server -b 127.0.0.1 "+at+" >/dev/null 2>&1 & PID=$!; "+
			"until curl -s http://127.0.0.1:"+at+"/page || ! kill -0 $PID; do :; done; kill $PID; wait $PID 2>/dev/null")
		if !strings.HasPrefix(out, "served") || len(exit.Denials) != 0 || p.Discard() != nil {
			t.Errorf("%+v: %q, %+v", options, out, exit)
		}
	}
}

func denialsMet(exit Exit) (list []string) {
	for _, d := range exit.Denials {
		list = append(list, d.Kind+" "+strings.Join(d.Paths, " "))
	}
	return list
}

func TestWhatIsLostOfTheHomeIsNamed(t *testing.T) {
	for name, options := range map[string]Options{"layer": {Layer: true}, "reading": {ReadOnly: true}, "job": {Job: true}} {
		s, _ := open(t, func(c *Config) { c.Read = []string{filepath.Join(c.Home, "granted", "file")} })
		for _, row := range []struct {
			line string
			want []string
		}{
			{"cat ~/.myrc; false", nil},
			{"mkdir -p ~/.cache/x; echo 1 > ~/.cache/x/y; echo 1 > ~/gone; rm ~/gone; false", nil},
			{"echo x > ~/.newrc && mkdir ~/d && echo y > ~/d/e", []string{"home " + s.config.Home + "/.newrc " + s.config.Home + "/d/e"}},
			{"mkdir ~/.cargo; : > ~/.cargo/.package-cache; echo x > ~/.cargo/.global-cache", nil},
			{"ls -A ~", nil},
		} {
			out, exit, p := run(t, s, options, row.line)
			if got := denialsMet(exit); !slices.Equal(got, row.want) || p.Discard() != nil {
				t.Errorf("%s, %s: %q, %q", name, row.line, got, out)
			}
		}
	}
}

// A job learns from the kernel that it may not write; the project's rules name the remedy: all of the project, or
// nothing where others run the file it wrote.
func TestWhatAJobMayNotWriteIsNamed(t *testing.T) {
	s, root := guarding(t)
	write(t, root, "src/a.ts", "1")
	for _, row := range []struct {
		line string
		want []string
	}{
		{"mkdir -p src dist/x; echo 1 > dist/x/y; cat src/a.ts Makefile; test -w src; rm -f none src/none; echo 1 > /tmp/z; echo 1 > ~/z", []string{"home " + s.config.Home + "/z"}},
		{"echo 2 > src/a.ts; exit 1", []string{"write " + root + "/src/a.ts"}},
		{"cd src; (: >> ../new); mkdir ./b; mv a.ts b.ts; ln -s a.ts l; true", []string{"write " + root + "/new " + root + "/src/b " +
			root + "/src/b.ts " + root + "/src/l"}},
		{"rm src/a.ts; rm -r dist/x; ln -s ../src dist/s; echo 2 > dist/s/new", []string{"write " + root + "/src/a.ts " + root + "/src/new"}},
		{"echo 2 > .git/config; echo 2 >> Makefile", []string{"guarded " + root + "/.git/config " + root + "/Makefile"}},
	} {
		options := Options{Job: true, Exec: true, Outputs: []string{filepath.Join(root, "dist")}}
		out, exit, p := run(t, s, options, row.line)
		if got := denialsMet(exit); !slices.Equal(got, row.want) || p.Discard() != nil {
			t.Errorf("%s: %q, %q", row.line, got, out)
		}
	}
	if out, exit, _ := run(t, s, Options{Job: true, Whole: true}, "echo 2 > src/a.ts; echo 2 > src/new"); exit.Denials != nil {
		t.Errorf("with the whole project: %q, %+v", out, exit)
	}
	if out, exit, _ := run(t, s, Options{Job: true, Whole: true}, "echo 2 > Makefile"); len(exit.Denials) != 1 || exit.Denials[0].Kind != DenialGuarded {
		t.Errorf("with the whole project, of a guarded file: %q, %+v", out, exit)
	}
}

// The denials of a running command are known before it ends.
func TestAJobThatGoesOnSaysWhatItMayNotWrite(t *testing.T) {
	t.Parallel()
	s, root := guarding(t)
	p, say := talk(t, s, Options{Job: true})
	say("echo 1 > d/new")
	late := time.Now().Add(20 * time.Second)
	for again := time.Tick(20 * time.Millisecond); len(p.Denials()) == 0; <-again {
		if time.Now().After(late) {
			t.Fatal("nothing is said")
		}
	}
	if got := denialsMet(Exit{Denials: p.Denials()}); !slices.Equal(got, []string{"write " + root + "/d/new"}) {
		t.Errorf("%q", got)
	}
}

func TestAProgramThatMayNotRunOnALayerIsNamed(t *testing.T) {
	s, root := open(t, nil)
	write(t, root, "bin/tool", "#!/bin/sh\necho ran\n")
	if err := os.Chmod(filepath.Join(root, "bin/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, root, "plain", "text")
	for _, row := range []struct {
		line string
		want []string
	}{
		{"./bin/tool; (cd bin && ./tool); true", []string{"exec " + root + "/bin/tool"}},
		{"ln -s $PWD/bin/tool l; env ./l", []string{"exec " + root + "/./l"}},
		{"PATH=$PWD/bin:$PATH; tool || true", []string{"exec " + root + "/bin/tool"}},
		{"cp /bin/true $TMPDIR/t; $TMPDIR/t", []string{"exec /run/tmp/t"}},
		{"./plain; ./none; exit 126", nil},
		{"ls; cat plain; env true", nil},
	} {
		out, exit, p := run(t, s, Options{Layer: true}, row.line)
		got := denialsMet(exit)
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], "/./", "/")
		}
		for i := range row.want {
			row.want[i] = strings.ReplaceAll(row.want[i], "/./", "/")
		}
		if !slices.Equal(got, row.want) || p.Discard() != nil {
			t.Errorf("%s: %q, %q", row.line, got, out)
		}
	}
	if out, exit, p := run(t, s, Options{Layer: true, Exec: true}, "./bin/tool"); out != "ran\n" || exit.Denials != nil || p.Discard() != nil {
		t.Errorf("%q, %+v", out, exit)
	}
}

func TestLandlockNamesWhereNothingNewIsAllowed(t *testing.T) {
	var root string
	s, root := openWith(t, Facts{Mechanism: Landlock}, func(c *Config) {
		c.Protected = func() ([]string, error) { return []string{filepath.Join(root, ".git")}, nil }
	})
	write(t, root, ".git/config", "1")
	write(t, root, "d/old", "1")
	for _, row := range []struct {
		line string
		want []string
	}{
		{"mkdir dist", []string{"entry " + root + "/dist"}},
		{"cd d; echo 1 > ../new; mv old ../moved; ln -s old l", []string{"entry " + root + "/d/../moved " + root + "/d/../new"}},
		{"mkdir d/e; echo 2 > d/new; echo 2 > d/old; cat none", nil},
	} {
		out, exit, _ := run(t, s, Options{}, row.line)
		if got := denialsMet(exit); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, %q", row.line, got, out)
		}
	}
	out, exit, _ := run(t, s, Options{ReadOnly: true}, "echo 3 > d/old; cat d/old")
	if !strings.HasSuffix(out, "2\n") || !slices.Equal(denialsMet(exit), []string{"write " + root + "/d/old"}) {
		t.Errorf("reading: %q, %+v", out, exit)
	}
}

// A linked worktree's git directory is written on a layer, and read by jobs.
func TestALayerCoversAGitDirectoryOutside(t *testing.T) {
	var common string
	s, root := open(t, func(c *Config) {
		common = filepath.Join(filepath.Dir(c.Root), "main", ".git")
		c.Common = common
		write(t, common, "HEAD", "1")
	})
	line := "echo 2 > " + common + "/HEAD; echo 2 > here; cat " + common + "/HEAD"
	out, _, p := run(t, s, Options{Layer: true}, line)
	changes, err := p.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Discard(false)
	var paths []string
	for _, c := range changes.Entries {
		paths = append(paths, c.Path)
		if at := changes.Path(c.Path); read(at) != "2\n" {
			t.Errorf("%s at %s is %q", c.Path, at, read(at))
		}
	}
	if out != "2\n" || read(common, "HEAD") != "1" || !slices.Equal(paths, []string{common + "/HEAD", root + "/here"}) {
		t.Errorf("%q, changed %q", out, paths)
	}
	if out, _, _ := run(t, s, Options{Job: true, Whole: true}, line); !strings.HasSuffix(out, "1") || read(common, "HEAD") != "1" {
		t.Errorf("a job printed %q", out)
	}
}

// Enough of the disk stays free, whatever fills it.
func TestACommandEndsBeforeTheDiskIsFull(t *testing.T) {
	s, _ := open(t, func(c *Config) { c.Limits.Free = 1 << 50 })
	line := "head -c 100000000 /dev/zero > big; sync big; while :; do :; done"
	out, exit, p := run(t, s, Options{Layer: true}, line)
	if exit.Limit != "1048576 GB of free space" || p.Discard() != nil {
		t.Errorf("%+v, %q", exit, out)
	}
}

// Where no layer can be made over a project, a reading line still reads only, and sees
// nothing that is denied.
func TestReadingNeedsNoLayer(t *testing.T) {
	facts := namespaceFacts
	facts.Layer = false
	var root string
	s, root := openWith(t, facts, func(c *Config) {
		c.Denied = func() ([]string, error) { return []string{filepath.Join(root, ".env")}, nil }
	})
	write(t, root, ".env", secret)
	write(t, root, "a", "text")
	for _, options := range []Options{{ReadOnly: true}, {Job: true}} {
		out, _, p := run(t, s, options, "cat .env a; echo 2 > a; echo 2 > new; rm a")
		if strings.Contains(out, secret) || !strings.Contains(out, "text") || read(root, "a") != "text" || p.Discard() != nil {
			t.Errorf("%+v: %q", options, out)
		}
	}
}

// The user keeps saving a file that a job must not write.
func TestAJobIsGuardedWhileTheUserSaves(t *testing.T) {
	s, root := guarding(t)
	stop := make(chan struct{})
	stopped := make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			save := filepath.Join(root, "Makefile~")
			if err := errors.Join(os.WriteFile(save, []byte("user"), 0o644), os.Rename(save, filepath.Join(root, "Makefile"))); err != nil {
				stopped <- err
				return
			}
		}
	}()
	p, say := talk(t, s, Options{Job: true, Whole: true})
	for range 200 {
		if err := p.Protect(); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if err := p.Protect(); err != nil {
		t.Error(err)
	}
	say("echo job > Makefile; mv Makefile x")
	if got := read(root, "Makefile"); got != "user" {
		t.Errorf("it is %q", got)
	}
}

// Twenty times a job tries, or two hundred times, while the user saves and artoo lands: one
// that may write its results only, and, whenever artoo has looked, one that may write the
// whole project.
func TestNoAttemptOfAnyJobReachesWhatOthersRun(t *testing.T) {
	tries := 6
	if sweep.Whole(t) {
		tries = 200
	}
	const attempts = `echo job > Makefile; echo job >> .git/config; mv .github g; rm -rf .github; mv lib l; mv lib/x lib/y; mv Makefile m; mv d n
		rm -f Makefile; ln -sf d/open Makefile; mkdir -p .github/workflows; echo job > .github/workflows/ci.yml; echo job > .git/hook
		echo job > n/x; ln -f d/open .git/HEAD; cp d/open .git/config; cp d/open lib/x/.git/config; cat d/e/.env n/e/.env`
	kept := []string{"Makefile", ".git/config", ".github/workflows/ci.yml", "lib/x/.git/config"}
	save := func(t *testing.T, root string, i int) {
		t.Helper()
		name := filepath.Join(root, kept[i%len(kept)])
		write(t, root, "save~", "user")
		if i%2 == 0 {
			if err := os.Rename(filepath.Join(root, "save~"), name); err != nil {
				t.Error(err)
			}
		} else if err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(root, "save~"), unix.AT_FDCWD, name, unix.RENAME_EXCHANGE); err != nil {
			t.Error(err)
		}
	}
	check := func(t *testing.T, root, out string) {
		t.Helper()
		for _, name := range kept {
			if got := read(root, name); got != "user" && got != "1" {
				t.Errorf("%s is %q", name, got)
			}
		}
		if _, err := os.Lstat(filepath.Join(root, ".git/hook")); err == nil || strings.Contains(out, secret) {
			t.Errorf("it made a hook, or printed %s", out)
		}
	}
	t.Run("results", func(t *testing.T) {
		s, root := guarding(t)
		p, say := talk(t, s, Options{Job: true, Exec: true, Outputs: []string{filepath.Join(root, "dist")}})
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				save(t, root, i)
				if err := p.Protect(); err != nil {
					t.Error(err)
				}
			}
		}()
		out := say(fmt.Sprintf("i=0; while [ $i -lt %d ]; do i=$((i+1)); %s; done 2>/dev/null", tries, attempts))
		close(stop)
		<-stopped
		check(t, root, out)
	})
	t.Run("whole", func(t *testing.T) {
		s, root := guarding(t)
		p, say := talk(t, s, Options{Job: true, Whole: true, Exec: true})
		for i := range tries {
			save(t, root, i)
			if err := p.Protect(); err != nil {
				t.Fatal(err)
			}
			check(t, root, say("{ "+attempts+"; } 2>/dev/null"))
		}
	})
}

// Files in a cache of the project count for no limit of entries.
func TestEntriesOfCachesAreNotBounded(t *testing.T) {
	s, _ := open(t, func(c *Config) {
		c.Limits.Entries, c.IsCache = 50, func(rel string) bool { return rel == "target" }
	})
	line := "mkdir target; for i in 1 2 3 4 5 6 7 8 9; do mkdir target/$i; touch target/$i/{1,2,3,4,5,6,7,8,9}; done; sleep 0.5; echo end"
	out, exit, p := run(t, s, Options{Layer: true}, "bash -c '"+line+"'")
	if exit.Limit != "" || !strings.HasSuffix(out, "end\n") || p.Discard() != nil {
		t.Errorf("%+v, %q", exit, out)
	}
}

func TestAJobIsGuardedAgainByItself(t *testing.T) {
	t.Parallel()
	s, root := guarding(t)
	_, say := talk(t, s, Options{Job: true})
	write(t, root, ".env", secret)
	late := time.Now().Add(20 * time.Second)
	for again := time.Tick(50 * time.Millisecond); strings.Contains(say("cat .env"), secret); <-again {
		if time.Now().After(late) {
			t.Fatal("a denied file that appeared is still read")
		}
	}
}
