//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/tool/mcp/mcptest"
	"artoo/ui/prompt/prompttest"
)

// A server's form is asked on the terminal, field by field; one that is skipped stays away although the server suggests
// a value. Changed definitions are accepted by a yes there.
func TestArtooMCPAsksOnTheTerminal(t *testing.T) {
	t.Parallel()
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(home, ".config", "artoo"), 0o700))
	must(t, os.WriteFile(filepath.Join(home, ".config", "artoo", "config.toml"),
		fmt.Appendf(nil, "[mcp.s]\ncommand = [\"sh\", \"-c\", \"exec %s $(cat $HOME/kind)\"]\n", buildProgram(t, serverDir)), 0o600))
	kind := func(name string) { must(t, os.WriteFile(filepath.Join(home, "kind"), []byte(name), 0o600)) }
	run := func(args []string, answers ...[2]string) (shown string, exit int) {
		cmd := onTerminal(t, nil, args...)
		cmd.Env = append(cmd.Env, "HOME="+home)
		tty, err := prompttest.StartPTY(cmd, 80, 24)
		must(t, err)
		defer tty.Close()
		shown = watch(t, cmd, tty, answers...)
		if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return shown, cmd.ProcessState.ExitCode()
	}
	kind("legacy")
	shown, exit := run([]string{"mcp", "call", "s", "ask"}, [2]string{"cancel] ", "Ada\r"}, [2]string{"skip, cancel] ", "skip\r"})
	if exit != 0 || !strings.Contains(shown, `{"action":"accept","content":{"name":"Ada"}}`) {
		t.Errorf("exit %d, the terminal shows\n%s", exit, shown)
	}
	shown, exit = run([]string{"mcp", "call", "s", "ask"}, [2]string{"cancel] ", "cancel\r"})
	if exit != 0 || !strings.Contains(shown, `{"action":"cancel"}`) {
		t.Errorf("exit %d, the terminal shows\n%s", exit, shown)
	}
	kind("legacy other")
	for _, row := range []struct {
		answer string
		exit   int
	}{{"n\r", 6}, {"y\r", 0}} {
		shown, exit = run([]string{"mcp", "accept", "s"}, [2]string{"[p]age [?] (n) ", row.answer})
		if exit != 0 || !strings.Contains(shown, "sends it to a friend") {
			t.Errorf("exit %d, the terminal shows\n%s", exit, shown)
		}
		cmd := exec.Command("artoo", "mcp", "call", "s", "echo", `{"text":"again"}`)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "HOME="+home)
		out, _ := cmd.CombinedOutput() // the exit status is looked at
		if got := cmd.ProcessState.ExitCode(); got != row.exit {
			t.Errorf("after %q exit %d: %s", row.answer, got, out)
		}
	}
}

// Over SSH the address is pasted, even if no port can be had for the browser's answer. Another text, and the address of
// another login, change nothing. On a narrow terminal no word is broken.
func TestALoginByAPastedAddress(t *testing.T) {
	t.Parallel()
	w := mcptest.NewWeb("oauth")
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	w.SetURL(server.URL)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cmd := onTerminal(t, nil, "mcp", "login", "s")
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".config", "artoo"), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := fmt.Appendf(nil, "[mcp.s]\nurl = %q\ncallback_port = %d\n", server.URL+"/mcp", taken.Addr().(*net.TCPAddr).Port)
	if err := os.WriteFile(filepath.Join(home, ".config", "artoo", "config.toml"), settings, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "HOME="+home, "SSH_CONNECTION=10.0.0.1 22 10.0.0.2 22", "DISPLAY=:0")
	tty, err := prompttest.StartPTY(cmd, 40, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	late := time.AfterFunc(waitLimit, func() { _ = cmd.Process.Kill() }) // reading fails then
	defer late.Stop()
	var shown strings.Builder
	reader := bufio.NewReader(tty)
	line := func(with string) string {
		for {
			row, err := reader.ReadString('\n')
			if shown.WriteString(row); err != nil {
				t.Fatalf("%q never came; the terminal shows\n%s", with, shown.String())
			}
			if row = strings.TrimSpace(row); strings.Contains(row, with) {
				return row
			}
			if len(sgr.ReplaceAllString(row, "")) > 40 && strings.Contains(row, " ") {
				t.Errorf("a line is too long: %q", row)
			}
		}
	}
	paste := func(text string) {
		if _, err := io.WriteString(tty, text+"\r"); err != nil {
			t.Fatal(err)
		}
	}
	address := line("/authorize?")
	line("?code=")
	paste("hello")
	line("that is not the address of this")
	line("?code=")
	paste(taken.Addr().String() + "/callback?code=1&state=other")
	line("that is not the address of this")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	paste(resp.Header.Get("Location"))
	line("logged in to s")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v; the terminal shows\n%s", err, shown.String())
	}
}
