package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"artoo/provider/providertest"
)

// configure writes the user's configuration into the home of an environment.
func configure(t testing.TB, env []string, text string) {
	t.Helper()
	for _, kv := range env {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			dir := filepath.Join(home, ".config", "artoo")
			if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// sleepers are so many servers that say in a file that they were started, and then sleep.
func sleepers(n int, file string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[mcp.s%d]\ncommand = [\"sh\", \"-c\", \"echo started >> %s; sleep 60\"]\nabout = \"issues, pull requests\"\n", i, file)
	}
	return b.String()
}

// Servers that are not used cost no process, and the same bytes in each session.
func TestServersThatAreNotUsedStartNothing(t *testing.T) {
	var bodies [][]byte
	m := newModel(t, func(_ int, r providertest.Request) providertest.Reply {
		bodies = append(bodies, r.Body)
		return providertest.Chat(providertest.Text("Done."))
	})
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	env := m.env(t)
	configure(t, env, sleepers(20, started))
	for range 2 {
		cmd := exec.Command(buildProgram(t, moduleDir), "-p", "hello")
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
	}
	if len(bodies) != 2 || !bytes.Equal(bodies[0], bodies[1]) || !bytes.Contains(bodies[0], []byte("and 10 more")) {
		t.Errorf("%d requests, or they differ:\n%s", len(bodies), bytes.Join(bodies, []byte("\n")))
	}
	if _, err := os.Stat(started); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a server was started: %v", err)
	}
}

// BenchmarkExtensionsThatAreNotUsed compares a start with extensions configured to one without, which take
// turns: the time to the first request, all CPU time of such a run, and the time to the prompt in a terminal.
// Each ratio is the median of the pairs.
func BenchmarkExtensionsThatAreNotUsed(b *testing.B) {
	m := newModel(b, always(providertest.Chat(providertest.Text("Done."))))
	s := &suite{artoo: buildProgram(b, moduleDir), dir: b.TempDir()}
	for _, c := range []struct {
		name  string
		write func(b *testing.B, env []string)
	}{
		{"20 sleeping servers", func(b *testing.B, env []string) {
			configure(b, env, sleepers(20, filepath.Join(s.dir, "started")))
		}},
		{"10 servers, 5 hooks, 30 skills, 40 commands", s.extensions},
	} {
		b.Run(c.name, func(b *testing.B) {
			envs := [2][]string{m.env(b, "TERM=xterm-256color"), m.env(b, "TERM=xterm-256color")}
			c.write(b, envs[1])
			var cpu [2]time.Duration
			first := func(i int) func() time.Duration {
				return func() time.Duration {
					cmd := exec.Command(s.artoo, "-p", "hello")
					cmd.Dir, cmd.Env = s.dir, envs[i]
					begun := time.Now()
					if out, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("%v:\n%s", err, out)
					}
					cpu[i] = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
					return m.asked.Load().Sub(begun)
				}
			}
			used := func(i int) func() time.Duration { return func() time.Duration { return cpu[i] } }
			prompt := func(i int) func() time.Duration {
				return func() time.Duration {
					begun := time.Now()
					k := startTerminal(b, s.dir, envs[i], s.artoo)
					k.expect("you: ", 0)
					took := time.Since(begun)
					k.leave()
					return took
				}
			}
			for b.Loop() {
				t := repeat(startRuns, first(0), first(1), used(0), used(1), prompt(0), prompt(1))
				for i, name := range []string{"request", "cpu", "prompt"} {
					b.ReportMetric(pairRatio(t[2*i+1], t[2*i]), name+"-ratio")
					b.ReportMetric(millis(t[2*i+1].median), name+"-ms")
				}
			}
		})
	}
}

// extensions configures the extensions of a busy user: servers whose catalogues are kept, hooks, skills
// and commands.
func (s *suite) extensions(b *testing.B, env []string) {
	var text strings.Builder
	server := buildProgram(b, serverDir)
	for i := range 10 {
		fmt.Fprintf(&text, "[mcp.server-%d]\ncommand = [%q, \"many\"]\nabout = \"issues, pull requests\"\n", i, server)
	}
	for i := range 5 {
		fmt.Fprintf(&text, "[[hooks]]\non = \"before_tool\"\nmatch = \"bash(git push:*)|write\"\ncommand = [\"guard-%d\"]\n", i)
	}
	configure(b, env, text.String())
	for i := range 10 {
		s.run(b, env, s.artoo, "mcp", "tools", fmt.Sprint("server-", i))
	}
	home := ""
	for _, kv := range env {
		if at, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = at
		}
	}
	write := func(name, text string) {
		path := filepath.Join(home, ".agents", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 30 {
		write(fmt.Sprintf("skills/skill-%d/SKILL.md", i), fmt.Sprintf("---\nname: skill-%d\ndescription: %s\n---\n%s", i,
			strings.Repeat("Fills forms and reads them. ", 8), strings.Repeat("Open the file first.\n", 300)))
	}
	for i := range 40 {
		write(fmt.Sprintf("commands/command-%d.md", i), "---\ndescription: Reviews the changes\nargument-hint: \"[file]\"\n---\nReview $1.\n")
	}
}

// Whatever is configured, the first request keeps its limit.
func TestTheFirstRequestIsSmallWithServersAndCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sizes := make(chan int, 1)
	m := newModel(t, func(_ int, r providertest.Request) providertest.Reply {
		sizes <- len(r.Body)
		return providertest.Chat(providertest.Text("Done."))
	})
	env := m.env(t)
	var text strings.Builder
	for i := range 13 {
		fmt.Fprintf(&text, "[mcp.a-server-%d]\ncommand = [%q, \"many\"]\nabout = %q\n", i, buildProgram(t, serverDir), strings.Repeat("issues, \"requests\" – ", 9))
	}
	configure(t, env, text.String())
	run := func(places string, args ...string) string {
		out, code := ran(t, dir, append(slices.Clone(env), "ARTOO_SKILL_DIRS="+places), "", args...)
		if code != 0 {
			t.Fatalf("%q: %d:\n%s", args, code, out)
		}
		return out
	}
	for i := range 13 {
		if out := run("", "mcp", "tools", fmt.Sprint("a-server-", i)); strings.Count(out, "a_tool_with_a_name_") != 16 { // a slow start has a line of its own
			t.Fatalf("tools:\n%s", out)
		}
	}
	for _, c := range []struct{ skills, most int }{{0, 10_240}, {60, 12_000}} {
		places := writeSkills(t, c.skills, 40)
		if err := os.MkdirAll(filepath.Join(places, "commands"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			text := "---\ndescription: " + strings.Repeat("Reviews \"changes\". ", 10) + "\n---\nText.\n"
			if err := os.WriteFile(filepath.Join(places, "commands", fmt.Sprintf("more-%d.md", i)), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run(places, "-p", "why does the test fail?")
		size := <-sizes
		if size > c.most {
			t.Errorf("with %d skills the first request is %d bytes, the limit is %d", c.skills, size, c.most)
		}
		t.Logf("%d skills, 40 agents: %d bytes of %d", c.skills, size, c.most)
	}
}

// held is a FIFO that a server and all that it starts hold open, so that its end is the end of them all.
type held struct {
	path    string
	file    *os.File
	program string // the server's
}

func newHeld(t *testing.T) held {
	t.Helper()
	h := held{path: filepath.Join(t.TempDir(), "held"), program: buildProgram(t, serverDir)}
	if err := syscall.Mkfifo(h.path, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if h.file, err = os.OpenFile(h.path, os.O_RDWR|syscall.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.file.Close() })
	return h
}

// server is the command of a server that leaves a process of its own session behind, which nothing waits for.
func (h held) server(kind string) string {
	return fmt.Sprintf(`["sh", "-c", "exec 9>%s; (setsid sh -c 'echo left >&9; exec sleep 600' &); exec %s %s"]`, h.path, h.program, kind)
}

// awaitStart waits until the process is there that is left behind. From then on the others alone hold the FIFO.
func (h *held) awaitStart(t *testing.T) {
	t.Helper()
	line := make([]byte, 5)
	if err := h.file.SetReadDeadline(time.Now().Add(endless)); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(h.file, line); err != nil {
		t.Errorf("the server left nothing behind: %v", err)
	}
	file, err := os.OpenFile(h.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Error(err)
		return
	}
	h.file.Close()
	h.file = file
}

// gone checks that nothing is left within a second.
func (h *held) gone(t *testing.T, after string) {
	t.Helper()
	begun := time.Now()
	if err := h.file.SetReadDeadline(begun.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	defer func() { t.Logf("%s: gone after %s", after, time.Since(begun)) }()
	if rest, err := io.ReadAll(h.file); err != nil {
		t.Errorf("%s: something of the server lives on: %v, after %q", after, err, rest)
	}
}

// outputOf runs a command, which another goroutine gets once it has started.
func outputOf(cmd *exec.Cmd, started chan<- *os.Process) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	started <- cmd.Process
	err := cmd.Wait()
	return out.Bytes(), err
}

// Nothing of a server outlives artoo, however that ends, and however the server hides it, with the sandbox and without.
func TestNothingOfAServerOutlivesArtoo(t *testing.T) {
	t.Parallel()
	artoo := buildProgram(t, moduleDir)
	for i := range 4 {
		kill, sandbox := i%2 == 1, []string{"auto", "off"}[i/2]
		h := newHeld(t)
		started := make(chan *os.Process, 1)
		m := newModel(t, func(n int, _ providertest.Request) providertest.Reply {
			if n == 0 {
				return providertest.Chat(providertest.Call("c", "mcp_find", `{"server":"s"}`))
			}
			h.awaitStart(t)
			if kill {
				if err := (<-started).Kill(); err != nil {
					t.Error(err)
				}
			}
			return providertest.Chat(providertest.Text("Done."))
		})
		env := m.env(t, "ARTOO_SANDBOX="+sandbox)
		configure(t, env, "[mcp.s]\ncommand = "+h.server("modern")+"\n")
		cmd := exec.Command(artoo, "-p", "find it")
		cmd.Dir, cmd.Env = t.TempDir(), env
		out, err := outputOf(cmd, started)
		if (err != nil) != kill {
			t.Errorf("%v:\n%s", err, out)
		}
		h.gone(t, fmt.Sprintf("sandbox %s, killed %t", sandbox, kill))
	}
	for _, sandbox := range []string{"auto", "off"} {
		h := newHeld(t)
		env := home(t, "ARTOO_SANDBOX="+sandbox)
		configure(t, env, "[mcp.s]\ncommand = "+h.server("modern")+"\n")
		cmd := exec.Command(artoo, "mcp", "call", "s", "hang")
		cmd.Dir, cmd.Env = t.TempDir(), env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		h.awaitStart(t)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		h.gone(t, "artoo mcp call, sandbox "+sandbox+", killed")
	}
}

// Nothing of a command outlives an artoo that is killed, however the command hides it, with the sandbox off, too.
func TestNothingOfACommandOutlivesAKilledArtoo(t *testing.T) {
	t.Parallel()
	artoo := buildProgram(t, moduleDir)
	for _, line := range []string{"exec 9>%[1]s; (setsid sh -c 'echo left >&9; exec sleep 600' &); sleep 600", "exec 9>%[1]s; echo left >&9; exec sleep 600"} {
		h := newHeld(t)
		input, err := json.Marshal(map[string]string{"command": fmt.Sprintf(line, h.path)})
		if err != nil {
			t.Fatal(err)
		}
		m := newModel(t, func(int, providertest.Request) providertest.Reply {
			return providertest.Chat(providertest.Call("a", "bash", string(input)))
		})
		cmd := exec.Command(artoo, "-p", "--approval", "auto", "--allow", "bash", "go")
		cmd.Dir, cmd.Env = t.TempDir(), m.env(t, "ARTOO_SANDBOX=off")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		h.awaitStart(t)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		h.gone(t, line)
	}
}

// A session goes on whatever its servers send, and takes at most 96 MB for it.
func TestHostileServersEndNoSession(t *testing.T) {
	t.Parallel()
	peak := func(kinds ...string) int64 {
		peaks := make(chan int64, 1)
		started := make(chan *os.Process, 1)
		steps := []providertest.Item{}
		for i, kind := range kinds {
			steps = append(steps, providertest.Call(fmt.Sprint("f", i), "mcp_find", fmt.Sprintf(`{"server":%q}`, kind)),
				providertest.Call(fmt.Sprint("c", i), "mcp_call", fmt.Sprintf(`{"tool":"mcp__%s__echo","arguments":{"text":"hello"}}`, kind)))
		}
		m := newModel(t, func(n int, _ providertest.Request) providertest.Reply {
			if n < len(steps) {
				return providertest.Chat(steps[n])
			}
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", (<-started).Pid))
			_, after, ok := strings.Cut(string(status), "VmHWM:")
			var most int64
			if _, scanErr := fmt.Sscan(after, &most); err != nil || !ok || scanErr != nil {
				t.Errorf("no peak: %v, %v", err, scanErr)
			}
			peaks <- most
			return providertest.Chat(providertest.Text("still here"))
		})
		env := m.env(t, "GOGC=100")
		var text strings.Builder
		args := []string{"-p", "try them"}
		for _, kind := range kinds {
			fmt.Fprintf(&text, "[mcp.%s]\ncommand = [%q, %q]\ntimeout = \"2s\"\n", kind, buildProgram(t, serverDir), kind)
			args = append(args, "--allow", "mcp__"+kind)
		}
		configure(t, env, text.String())
		cmd := exec.Command(buildProgram(t, moduleDir), args...)
		cmd.Dir, cmd.Env = t.TempDir(), env
		out, err := outputOf(cmd, started)
		if err != nil || !strings.Contains(string(out), "still here") {
			t.Fatalf("%v:\n%s", err, out)
		}
		most := <-peaks
		t.Logf("%v: %d KB\n%s", kinds, most, out)
		return most << 10
	}
	calm := peak("modern")
	hostile := peak("line", "endless", "heavy", "banner", "silent", "trickle", "bomb", "hostile", "huge", "dead", "swapped", "flood")
	if hostile-calm > 96<<20 {
		t.Errorf("the peak grew from %d to %d MB", calm>>20, hostile>>20)
	}
}
