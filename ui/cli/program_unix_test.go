//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"artoo/provider/providertest"
	"artoo/tool/git/gittest"
	"artoo/tool/needs"
	"artoo/ui/prompt/prompttest"
)

// endless is how long these tests wait for an event that takes a moment.
const endless = time.Minute

// model is a loopback server that answers every request for a reply with the one
// that next chooses, and lists no models.
type model struct {
	URL   string
	asked atomic.Pointer[time.Time] // when the first byte of the last request came
}

func newModel(t testing.TB, next func(n int, r providertest.Request) providertest.Reply) *model {
	t.Helper()
	m := &model{}
	mux := http.NewServeMux()
	mux.Handle("/", &providertest.Handler{Next: next})
	mux.Handle("/v1/models", http.NotFoundHandler())
	srv := httptest.NewUnstartedServer(mux)
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateActive {
			now := time.Now()
			m.asked.Store(&now)
		}
	}
	srv.Start()
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	m.URL = srv.URL
	return m
}

// always plays one reply to everybody.
func always(reply providertest.Reply) func(int, providertest.Request) providertest.Reply {
	return func(int, providertest.Request) providertest.Reply { return reply }
}

// env is an environment in which artoo talks to the model.
func (m *model) env(t testing.TB, with ...string) []string { return m.at(home(t, with...)) }

// at is an environment with the address of the model: artoo looks for a sandbox once in
// a home, so the cases of a test share one.
func (m *model) at(env []string) []string {
	return append([]string{"ARTOO_BASE_URL=" + m.URL + "/v1", "ARTOO_MODEL=test-model"}, env...)
}

// line makes the replies of a model that calls bash with these lines, and then is content.
func line(t testing.TB, lines ...string) func(int, providertest.Request) providertest.Reply {
	return func(_ int, r providertest.Request) providertest.Reply {
		if lastMessage(t, r.Body).Role != "user" {
			return providertest.Chat(providertest.Text("well done"))
		}
		var calls []providertest.Item
		for i, line := range lines {
			input, err := json.Marshal(map[string]string{"command": line})
			if err != nil {
				t.Error(err)
			}
			calls = append(calls, providertest.Call(fmt.Sprint("c", i), "bash", string(input)))
		}
		return providertest.Chat(calls...)
	}
}

// projectFrom makes a project by a shell line.
func projectFrom(t testing.TB, line string) (dir string) {
	t.Helper()
	if strings.Contains(line, "git ") {
		needs.Git(t)
	}
	dir = t.TempDir()
	gittest.Repo(t, dir)
	cmd := exec.Command("/bin/sh", "-ec", line)
	cmd.Dir, cmd.Env = dir, home(t, "GIT_CONFIG_NOSYSTEM=1")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return dir
}

// copied is a copy of a project, with its times: to make it again would take many runs of git.
func copied(t testing.TB, project string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "project")
	if said, err := exec.Command("cp", "-a", project, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return dir
}

// terminal is a program in a pseudo-terminal of 80x24.
type terminal struct {
	testing.TB
	cmd   *exec.Cmd
	tty   *os.File
	lines chan []byte // pieces of output, until the program has closed its end
	shown []byte
}

func startTerminal(t testing.TB, dir string, env []string, program string, args ...string) *terminal {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, env
	tty, err := prompttest.StartPTY(cmd, 80, 24)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan []byte, 1)
	go func() {
		defer close(lines)
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buf)
			if n > 0 {
				lines <- bytes.Clone(buf[:n])
			}
			if err != nil { // EIO on Linux, EOF elsewhere: the other end was closed
				return
			}
		}
	}()
	return &terminal{TB: t, cmd: cmd, tty: tty, lines: lines}
}

// expect reads until the terminal has shown text after offset from, and says
// where it ends.
func (k *terminal) expect(text string, from int) int {
	k.Helper()
	late := time.After(endless)
	for {
		if i := strings.Index(string(k.shown[from:]), text); i >= 0 {
			return from + i + len(text)
		}
		from = max(from, len(k.shown)-len(text))
		select {
		case piece, ok := <-k.lines:
			if !ok {
				k.Fatalf("the program ended before it showed %q:\n%s", text, k.shown)
			}
			k.shown = append(k.shown, piece...)
		case <-late:
			k.end()
			k.Fatalf("waited for %q; the terminal shows:\n%s", text, k.shown)
		}
	}
}

// leave types Ctrl-D and waits for the end of the program.
func (k *terminal) leave() {
	k.Helper()
	if _, err := k.tty.WriteString("\x04"); err != nil {
		k.Fatal(err)
	}
	k.drain()
	if err := k.cmd.Wait(); err != nil {
		k.Fatalf("%v:\n%s", err, k.shown)
	}
	_ = k.tty.Close()
}

// drain reads until the program has closed the terminal.
func (k *terminal) drain() {
	k.Helper()
	late := time.After(endless)
	for {
		select {
		case piece, ok := <-k.lines:
			if !ok {
				return
			}
			k.shown = append(k.shown, piece...)
		case <-late:
			k.end()
			k.Fatalf("the program does not end; the terminal shows:\n%s", k.shown)
		}
	}
}

// end kills a program that does not exit as it should.
func (k *terminal) end() {
	_ = k.cmd.Process.Kill() // it may be dead already
	_ = k.cmd.Wait()
}
