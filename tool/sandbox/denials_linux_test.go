//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"artoo/tool/needs"
	"artoo/tool/sandbox/launcher"
	"artoo/tool/sweep"
)

// hiding makes a sandbox around a project in which .env is denied under two names.
func hiding(t *testing.T) (*Sandbox, string) {
	t.Helper()
	var root string
	s, root := open(t, func(c *Config) {
		c.Denied = func() ([]string, error) {
			return []string{filepath.Join(root, ".env"), filepath.Join(root, "d/link"), filepath.Join(root, "d/keys")}, nil
		}
	})
	write(t, root, ".env", "KEY=1")
	write(t, root, "d/keys/a", "KEY=2")
	write(t, root, "d/open", "open")
	if err := os.Link(filepath.Join(root, ".env"), filepath.Join(root, "d/link")); err != nil {
		t.Fatal(err)
	}
	return s, root
}

func TestDeniedFilesCannotBeRead(t *testing.T) {
	const line = "cat .env d/link d/keys/a; grep -r KEY .; mv .env x; ln .env y; cp .env z; mv d e; cat e/link e/keys/a; cat d/open e/open; mv e d; >> .env; true"
	for name, options := range map[string]Options{"sandbox": {}, "layer": {Layer: true}, "reading": {ReadOnly: true}} {
		t.Run(name, func(t *testing.T) {
			s, root := hiding(t)
			out, _, p := run(t, s, options, line)
			defer p.Discard()
			if strings.Contains(out, "KEY=") {
				t.Errorf("it was read:\n%s", out)
			}
			if !strings.Contains(out, "open") {
				t.Errorf("the file beside it was not read:\n%s", out)
			}
			if data, err := os.ReadFile(filepath.Join(root, ".env")); err != nil || string(data) != "KEY=1" {
				t.Errorf("it holds %q: %v", data, err)
			}
		})
	}
}

func TestDeniedFilesAreGoneFromALayer(t *testing.T) {
	s, root := hiding(t)
	for name, options := range map[string]Options{"layer": {Layer: true}, "reading": {ReadOnly: true}} {
		out, _, p := run(t, s, options, "ls -A . d; stat -c %a d")
		p.Discard()
		info, err := os.Stat(filepath.Join(root, "d"))
		if err != nil {
			t.Fatal(err)
		}
		mode := strconv.FormatInt(int64(info.Mode().Perm()), 8)
		if want := ".:\nd\n\nd:\nopen\n" + mode + "\n"; out != want {
			t.Errorf("%s: it printed %q, not %q", name, out, want)
		}
	}
	out, _, p := run(t, s, Options{Layer: true}, "rm -r d; ls -A")
	changes, err := p.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Discard(false)
	var got []string
	for _, c := range changes.Entries {
		got = append(got, strings.TrimPrefix(c.Path, root)+" "+string(c.Kind))
	}
	if out != "" || !slices.Equal(got, []string{"/d/open deleted"}) {
		t.Errorf("it printed %q and changed %q", out, got)
	}
}

func TestProtectedFilesAreNotWritten(t *testing.T) {
	var root string
	s, root := open(t, func(c *Config) {
		c.Protected = func() ([]string, error) {
			return []string{filepath.Join(root, ".git"), filepath.Join(root, "Makefile"), filepath.Join(root, "none")}, nil
		}
	})
	write(t, root, ".git/config", "1")
	write(t, root, "Makefile", "1")
	out, _, _ := run(t, s, Options{}, "echo 2 > .git/config; echo 2 > .git/hook; echo 2 > Makefile; mv Makefile x; mv .git y; rm -rf .git; cat .git/config Makefile; echo fine > other")
	if !strings.HasSuffix(out, "11") {
		t.Errorf("it printed %q", out)
	}
	for name, want := range map[string]string{".git/config": "1", "Makefile": "1", "other": "fine\n"} {
		if data, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(data) != want {
			t.Errorf("%s holds %q: %v", name, data, err)
		}
	}
}

func TestTheLoopbackIsTheSessionsOwn(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "from the machine\n") // the other side may be gone
			conn.Close()
		}
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	line := "exec 3<>/dev/tcp/127.0.0.1/" + strconv.Itoa(port) + " && cat <&3"
	s, _ := open(t, nil)
	out, exit := bash(t, s, Options{}, line)
	named := slices.ContainsFunc(exit.Denials, func(d Denial) bool { return d.Kind == DenialLoopback && d.N == 1 })
	if exit.Status == 0 || !named {
		t.Errorf("it ended with %+v and printed %q", exit, out)
	}
	if _, exit := bash(t, s, Options{}, "true"); len(exit.Denials) > 0 {
		t.Errorf("another command met %+v", exit.Denials)
	}
	s, _ = open(t, func(c *Config) { c.Loopback = []int{port} })
	if out, exit := bash(t, s, Options{}, line); exit.Status != 0 || out != "from the machine\n" {
		t.Errorf("it ended with %+v and printed %q", exit, out)
	}
}

func TestSocketsOfTheMachineAreOutOfReach(t *testing.T) {
	t.Setenv("TMPDIR", "/tmp") // a socket's path has to be short
	for name, options := range map[string]Options{"sandbox": {}, "layer": {Layer: true}} {
		s, root := open(t, nil)
		listener, err := net.Listen("unix", filepath.Join(root, "a socket"))
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		out, _, p := run(t, s, options, "test -S 'a socket' && echo there")
		p.Discard()
		if out != "" {
			t.Errorf("%s: it printed %q", name, out)
		}
	}
}

// A socket is found in whatever is shown of the machine, the system's directories too.
func TestSocketsAreFoundInAllThatIsShown(t *testing.T) {
	t.Setenv("TMPDIR", "/tmp") // a socket's path has to be short
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, op := range []string{launcher.OpRead, launcher.OpWrite} {
		p := places{steps: []launcher.Step{{Op: op, From: dir, To: dir}}}
		if found, err := p.sockets(); err != nil || !slices.Equal(found, []string{filepath.Join(dir, "s")}) {
			t.Errorf("%s: found %q, %v", op, found, err)
		}
	}
	p := places{steps: []launcher.Step{{Op: launcher.OpWrite, From: dir + "/own", To: dir}}}
	if found, err := p.sockets(); err != nil || len(found) > 0 {
		t.Errorf("found %q, %v, where something else is shown", found, err)
	}
}

func bash(t *testing.T, s *Sandbox, options Options, line string) (string, Exit) {
	t.Helper()
	out, exit, p := run(t, s, options, "exec bash -c '"+line+"'")
	p.Discard()
	return out, exit
}

func TestADenialOfTheNetworkIsNamed(t *testing.T) {
	for name, options := range map[string]Options{"sandbox": {}, "layer": {Layer: true}} {
		s, _ := open(t, nil)
		out, exit := bash(t, s, options, "exec 3<>/dev/tcp/192.0.2.7/80")
		if exit.Status == 0 || len(exit.Denials) != 1 || exit.Denials[0].Kind != "network" {
			t.Errorf("%s: it ended with %+v and printed %q", name, exit, out)
		}
		if out, exit := bash(t, s, options, "ls -la; id"); len(exit.Denials) != 0 {
			t.Errorf("%s: denials where there are none: %+v, %q", name, exit, out)
		}
	}
}

func TestALayerEndsAtItsLimits(t *testing.T) {
	for name, memory := range map[string]bool{"memory": true, "disk": false} {
		t.Run(name, func(t *testing.T) { layerEnds(t, memory) })
	}
}

func layerEnds(t *testing.T, memory bool) {
	limits := Limits{Processes: 30, Memory: 150 << 20, Layer: 8 << 20, Entries: 300}
	for _, c := range []struct{ line, limit string }{
		{"head -c 20000000 /dev/zero > big; exit 1", "8 MB of layer"},
		{"truncate -s 900G big", "8 MB in one file"},
		{"head -c 5000000 /dev/zero > a; head -c 5000000 /dev/zero > b; sleep 60", "8 MB of layer"},
		{"head -c 5000000 /dev/zero > $TMPDIR/a; head -c 5000000 /dev/zero > $TMPDIR/b; sleep 60", "8 MB of layer"},
		{"i=0; while :; do mkdir c$i; : > c$i/f$i; i=$((i+1)); done", "300 files"},
		{"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32; do sleep 60 & done; wait", "30 processes"},
		{"(head -c 170000000 /dev/zero; sleep 60) | tail -c 170000000", "150 MB of memory in a process"},
	} {
		s, root := open(t, func(config *Config) { config.Limits, config.inMemory = limits, memory })
		out, exit, p := run(t, s, Options{Layer: true}, c.line)
		p.Discard()
		if exit.Limit != c.limit || exit.Status == 0 {
			t.Errorf("%s: it ended with %+v and printed %.200q", c.line, exit, out)
		}
		if entries, err := os.ReadDir(root); err != nil || len(entries) != 0 {
			t.Errorf("%s: the project holds %v: %v", c.line, entries, err)
		}
	}
}

// A bomb of processes ends the command, not the machine, also for root, which the kernel's limit does not bind.
func TestACommandInTheSandboxEndsAtItsProcesses(t *testing.T) {
	s, _ := open(t, func(config *Config) { config.Limits = Limits{Processes: 20} })
	line := "i=0; while [ $i -lt 400 ]; do sleep 600 & i=$((i+1)); done; wait"
	if out, exit, _ := run(t, s, Options{}, line); exit.Limit != "160 processes" || exit.Status == 0 {
		t.Errorf("it ended with %+v and printed %.200q", exit, out)
	}
}

// The kernel sends the memory of a crashed process to a program outside, if so configured, unless the limit of that is
// 1.
func TestNoCommandChangesWhatIsKeptOfACrash(t *testing.T) {
	for mechanism, facts := range factsOf {
		if mechanism == None {
			continue
		}
		t.Run(string(mechanism), func(t *testing.T) {
			s, _ := openWith(t, facts, nil)
			for _, options := range []Options{{}, {Layer: true}, {ReadOnly: true}} {
				if (options.Layer || options.ReadOnly) && !facts.Layer {
					continue
				}
				line := "ulimit -c 0; ulimit -c unlimited; ulimit -n 100; grep -e core -e open /proc/self/limits | tr -s ' '"
				out, _, p := run(t, s, options, line)
				p.Discard()
				if !strings.Contains(out, "core file size 1 1 bytes") || !strings.Contains(out, "open files 100 100 files") {
					t.Errorf("%s, %+v: %s", mechanism, options, out)
				}
			}
		})
	}
}

func TestLandlockGrantsTheProjectAlone(t *testing.T) {
	var root string
	s, root := openWith(t, Facts{Mechanism: Landlock}, func(c *Config) {
		c.Protected = func() ([]string, error) { return []string{filepath.Join(root, ".git")}, nil }
	})
	outside := filepath.Join(filepath.Dir(root), "outside")
	for _, name := range []string{".git/config", "file", "d/e"} {
		write(t, root, name, "1")
	}
	write(t, filepath.Dir(root), "outside", "KEY")
	out, _, _ := run(t, s, Options{}, "cat "+outside+"; echo 2 > "+outside+"; rm "+outside+"; echo 2 > .git/config; rm .git/config;"+
		"echo 2 > file; echo 2 > d/new; echo 2 > \"$TMPDIR/x\" && echo temp; cat .git/config; kill -0 1 && echo signal")
	for _, bad := range []string{"KEY", "signal\n"} {
		if strings.Contains(out, bad) {
			t.Errorf("it printed\n%s", out)
		}
	}
	if !strings.Contains(out, "temp\n") {
		t.Errorf("it has no temporary directory:\n%s", out)
	}
	for name, want := range map[string]string{".git/config": "1", "file": "2\n", "d/new": "2\n", "../outside": "KEY"} {
		if data, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(data) != want {
			t.Errorf("%s holds %q: %v", name, data, err)
		}
	}
}

func TestWhatACommandCannotSeeIsKnown(t *testing.T) {
	for mechanism, facts := range factsOf {
		if mechanism == None {
			continue
		}
		var base, root string
		s, root := openWith(t, facts, func(c *Config) {
			base = filepath.Dir(c.Root)
			for _, name := range []string{"home/.myrc", "home/tools/bin/x", "home/cache/a", "granted/a", "outside/a", "bin/x"} {
				write(t, base, name, "1")
			}
			c.Read, c.Toolchains = []string{filepath.Join(base, "granted")}, []string{filepath.Join(base, "home/tools")}
			c.Caches = []Cache{{Path: filepath.Join(base, "home/cache"), Own: filepath.Join(base, "own")}}
			c.Denied = func() ([]string, error) {
				return []string{filepath.Join(c.Root, ".env"), filepath.Join(c.Root, "keys")}, nil
			}
		})
		write(t, root, ".env", "1")
		write(t, root, "keys/a", "1")
		write(t, root, "a", "1")
		if err := os.Symlink("/bin/true", filepath.Join(base, "bin/link")); err != nil {
			t.Fatal(err)
		}
		_, _, p := run(t, s, Options{ReadOnly: true}, "true")
		hides := facts.HidesFiles
		for name, want := range map[string]bool{
			"home": false, "home/.myrc": true, "home/none": false, "home/tools/bin/x": false, "home/cache/a": mechanism == Landlock,
			"granted/a": false, "outside": true, "outside/a": true, "bin/x": true, "bin/link": true, "project": false, "project/a": false,
			"project/.env": hides, "project/keys/a": hides, "/": false, "/bin/sh": false, "/usr": false, "/proc/self/status": false,
			"/dev/null": false,
		} {
			if !filepath.IsAbs(name) {
				name = filepath.Join(base, name)
			}
			if got := p.Hides(name); got != want {
				t.Errorf("%s: %s hidden: %t", mechanism, name, got)
			}
		}
		p.Discard()
	}
}

// A read-only command changes nothing, and each attempt at it is known.
func TestAReadOnlyCommandChangesNothingAndAnyAttemptIsNamed(t *testing.T) {
	needs.Program(t, "perl")
	outside := exec.Command("sleep", "60")
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = outside.Process.Kill(), outside.Wait() }() // it is killed
	for _, mechanism := range []Mechanism{Namespaces, Landlock} {
		t.Run(string(mechanism), func(t *testing.T) {
			facts := factsOf[mechanism]
			facts.Layer = false
			s, root := openWith(t, facts, nil)
			state := func() string {
				out, err := exec.Command("sh", "-c", `cd "$0" && find . -printf '%p %m %T@ %s\n' | sort && cat f d/g`, root).CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return string(out)
			}
			write(t, root, "f", "1\n")
			write(t, root, "d/g", "1\n")
			before := state()
			for _, line := range sweep.Of(t, 8, []string{"echo 2 > f", "echo 2 >> d/g", "mkdir n", "touch n", "chmod 777 f",
				"touch -d 2001-01-01 f", "chmod -R 700 d", "rm f", "rm -r d", "mv f n", "ln f n", "ln -s f n",
				"truncate -s 0 f", "sed -i s/1/2/ f", "cp f n", "cd d; echo 2 > ../n",
				"perl -e 'chmod 0777, \"f\"; utime 1, 1, \"f\"; exit 0'", "perl -e 'open(my $f, \"<\", \"f\"); chmod 0777, $f; exit 0'",
				"echo x | tee n; true", "sort -o f f || true", "mknod n p"}) {
				out, exit, p := run(t, s, Options{ReadOnly: true}, line)
				if p.Discard() != nil || !slices.ContainsFunc(exit.Denials, func(d Denial) bool { return d.Kind == DenialWrite }) {
					t.Errorf("%s: %s: %+v, %q", mechanism, line, exit, out)
				}
				if now := state(); now != before {
					t.Fatalf("%s: %s: the project was\n%s\nand is\n%s", mechanism, line, before, now)
				}
			}
			for _, line := range []string{"cat f d/g | sort | uniq -c", "awk '{ print }' f", "echo x > $TMPDIR/x && cat $TMPDIR/x", "echo x > /dev/null",
				"grep 7 f", "find . -name g | xargs cat", "perl -e 'print 1'", fmt.Sprintf("kill %d", outside.Process.Pid)} {
				out, exit, p := run(t, s, Options{ReadOnly: true}, line)
				if p.Discard() != nil || len(exit.Denials) != 0 {
					t.Errorf("%s: %s: %+v, %q", mechanism, line, exit, out)
				}
			}
			if err := outside.Process.Signal(syscall.Signal(0)); err != nil {
				t.Fatalf("%s: another process was ended: %v", mechanism, err)
			}
		})
	}
}
