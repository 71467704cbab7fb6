//go:build tmux && unix

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"artoo/provider/providertest"
	"artoo/tool/needs"
)

// mux is a tmux server of the test's own with one pane, and artoo's model behind
// it: the pane has the text that a person would see.
type mux struct {
	testing.TB
	socket string
	dir    string // where artoo works
	model  *providertest.Server
}

// pane starts a tmux of that size whose pane runs a shell command, with artoo
// in PATH and the replies behind it. It is gone with the test.
func pane(t testing.TB, cols, rows int, replies []providertest.Reply, command string) *mux {
	t.Helper()
	sockets, err := os.MkdirTemp("", "mux") // a short path: sockets' names have a limit
	if err != nil {
		t.Fatal(err)
	}
	m := &mux{TB: t, socket: filepath.Join(sockets, "s"), dir: filepath.Join(sockets, "work"),
		model: unlisted(t, replies...)}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	cmd := exec.Command("tmux", "-S", m.socket, "-f", os.DevNull, "new-session", "-d", "-s", "t",
		"-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), command)
	cmd.Dir = m.dir
	cmd.Env = append(home(t, "LC_ALL=C.UTF-8", "TERM=xterm-256color", "container=test", "SHELL=/bin/sh",
		"GORACE=atexit_sleep_ms=0", "PS1=shell: ", "HISTFILE="),
		"ARTOO_PROVIDER=anthropic", "ARTOO_MODEL=test-model", "ANTHROPIC_API_KEY=sk-test",
		"ANTHROPIC_BASE_URL="+m.model.URL)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(m.end)
	return m
}

// end stops the server and waits until the programs in the pane are gone too: they
// may still write into their home.
func (m *mux) end() {
	text, err := m.try("display-message", "-p", "-t", "t", "#{pane_pid}")
	if err != nil {
		return // it has ended by itself
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		m.Error(err)
		return
	}
	_, _ = m.try("kill-server")
	m.waitFor("the pane's end", func() bool { return syscall.Kill(pid, 0) != nil })
}

// try is one tmux command.
func (m *mux) try(args ...string) (string, error) {
	var errs bytes.Buffer
	cmd := exec.Command("tmux", append([]string{"-S", m.socket, "-f", os.DevNull}, args...)...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = errors.New(strings.TrimSpace(errs.String()) + ": " + err.Error())
	}
	return string(out), err
}

func (m *mux) run(args ...string) string {
	m.Helper()
	out, err := m.try(args...)
	if err != nil {
		m.Fatalf("tmux %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// types sends text as it is; keys sends keys by tmux's names.
func (m *mux) types(text string) { m.Helper(); m.run("send-keys", "-t", "t", "-l", text) }

func (m *mux) keys(names ...string) {
	m.Helper()
	m.run(append([]string{"send-keys", "-t", "t"}, names...)...)
}

// screen is the text of the pane, without spaces at line ends and empty lines at the
// end; with flags of capture-pane, "-S", "-" for the scrollback too.
func (m *mux) screen(flags ...string) string {
	m.Helper()
	return strings.TrimRight(m.run(append([]string{"capture-pane", "-p", "-t", "t"}, flags...)...), "\n")
}

// format is a tmux format's value.
func (m *mux) format(f string) string {
	m.Helper()
	return strings.TrimSpace(m.run("display-message", "-p", "-t", "t", f))
}

// waitFor looks until it is so, a while at most.
func (m *mux) waitFor(what string, so func() bool) {
	m.Helper()
	late := time.After(waitLimit)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case <-late:
			shown, err := m.try("capture-pane", "-p", "-t", "t")
			m.Fatalf("waited for %s; the pane shows\n%s%v", what, shown, err)
		}
	}
}

// shows waits until the pane, the scrollback included, holds text.
func (m *mux) shows(text string) {
	m.Helper()
	m.waitFor(strconv.Quote(text), func() bool { return strings.Contains(m.screen("-S", "-", "-J"), text) })
}

// prompts waits until the last line of the pane is the prompt with this after it.
func (m *mux) prompts(text string) {
	m.Helper()
	m.waitFor("the prompt", func() bool { return lastLine(m.screen()) == strings.TrimRight("you: "+text, " ") })
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// The cursor stands in the cell where the next character will.
func TestTmuxCursorColumn(t *testing.T) {
	t.Parallel()
	m := pane(t, 80, 24, nil, "artoo")
	m.prompts("")
	texts := []string{
		"abc", "漢字", "漢a字b", "한글", "ひらがな", "カタカナ", "ﾊﾝｶｸ", "全角，句点。", "「引用」", "a漢",
		"漢", "é", "e\u0301", "a\u0300\u0301b", "ñandú", "Ωμέγα", "привет", "שלום", "ไทย", "नम",
		"😀", "a😀b", "😀😀", "漢😀é", "naïve", "→←", "½", "€100", "x\u200bx", "…—",
	}
	for _, text := range texts {
		// Typed marks show where the cursor is: behind the mark, at the end of
		// the line and then before its last character.
		m.types(text + "|")
		m.cursorBehind("|", text)
		m.keys("Left", "Left")
		m.types("<")
		m.cursorBehind("<", text)
		m.keys("C-e", "C-u")
		m.prompts("")
	}
}

// cursorBehind waits until the cursor is in the cell behind the mark.
func (m *mux) cursorBehind(mark, text string) {
	m.Helper()
	m.waitFor(fmt.Sprintf("the cursor behind %s in %q", mark, text), func() bool {
		line := lastLine(m.screen())
		i := strings.Index(line, mark)
		if i < 0 {
			return false
		}
		return m.format("#{cursor_x}") == m.width(line[:i+1])
	})
}

// width is how many cells tmux itself gives a text: it prints it in a window of
// its own.
func (m *mux) width(text string) string {
	m.Helper()
	return m.format("#{w:#{l:" + text + "}}")
}

// A label wider than the pane does not wipe the lines above it.
func TestTmuxWideLabel(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("漢", 40)
	m := pane(t, 30, 10, []providertest.Reply{
		says("one\n\ntwo\n\nthree\n"),
		calls("bash", `{"command":"sleep 2; echo `+label+`"}`),
		says("over"),
	}, "artoo --allow bash")
	m.prompts("")
	m.types("first")
	m.keys("Enter")
	m.shows("three")
	m.prompts("")
	m.types("second")
	m.keys("Enter")
	m.shows("over")
	m.prompts("")
	all := m.screen("-S", "-")
	if strings.Count(all, "run   sleep 2") != 1 {
		t.Errorf("the call stands there more than once:\n%s", all)
	}
	for _, line := range []string{"you: first", "one", "two", "three", "you: second", "over"} {
		if strings.Count("\n"+all+"\n", "\n"+line+"\n") != 1 {
			t.Errorf("%q is not there once:\n%s", line, all)
		}
	}
}

// Ctrl-Z gives the shell its terminal back; fg brings the prompt and the text.
func TestTmuxSuspendAndComeBack(t *testing.T) {
	t.Parallel()
	needs.Program(t, "bash")
	m := pane(t, 80, 24, []providertest.Reply{says("well met")}, "exec bash --norc --noprofile -i")
	m.shows("shell:")
	m.types("stty -a | tr ';' '\\n' | md5sum >before")
	m.keys("Enter")
	m.types("artoo")
	m.keys("Enter")
	m.prompts("")
	m.types("half a mes")
	m.prompts("half a mes")
	m.keys("C-z")
	m.shows("Stopped")
	m.types("stty -a | tr ';' '\\n' | md5sum | diff - before && echo the same modes")
	m.keys("Enter")
	m.waitFor("the modes", func() bool { return strings.Contains("\n"+m.screen(), "\nthe same modes") })
	m.types("fg")
	m.keys("Enter")
	m.prompts("half a mes")
	m.types("sage")
	m.keys("Enter")
	m.shows("well met")
	m.prompts("")
	if body := string(m.model.Requests()[0].Body); !strings.Contains(body, "half a message") {
		t.Errorf("the model got %s", body)
	}
	m.keys("C-d")
	m.waitFor("the shell", func() bool { return lastLine(m.screen()) == "shell:" })
}

// Ctrl-L clears the screen and keeps its text in the scrollback.
func TestTmuxClearKeepsTheScrollback(t *testing.T) {
	t.Parallel()
	m := pane(t, 80, 12, []providertest.Reply{says("an earlier line")}, "artoo")
	m.prompts("")
	m.types("hello")
	m.keys("Enter")
	m.shows("an earlier line")
	m.prompts("")
	m.types("next")
	m.prompts("next")
	m.keys("C-l")
	m.waitFor("a clear screen", func() bool { return strings.TrimLeft(m.screen(), "\n") == "you: next" })
	if all := m.screen("-S", "-"); !strings.Contains(all, "an earlier line") || !strings.Contains(all, "you: hello") {
		t.Errorf("the scrollback is\n%s", all)
	}
}

// Code can be copied as it was written.
func TestTmuxCodeIsItsSource(t *testing.T) {
	t.Parallel()
	code := "func main() {\n        if true {\n                println(\"a   b\")\n        }\n}\n\n// end\n"
	m := pane(t, 60, 30, []providertest.Reply{says("Here it is:\n\n```go\n", code, "```\n\nThat is all.\n")}, "artoo")
	m.prompts("")
	m.types("show it")
	m.keys("Enter")
	m.shows("That is all.")
	m.prompts("")
	if all := m.screen("-S", "-"); !strings.Contains(all, "\ngo\n"+code+"\n") {
		t.Errorf("the code is not what it was:\n%s", all)
	}
}

// A question is the last line, with the cursor behind it.
func TestTmuxTheQuestionIsLast(t *testing.T) {
	t.Parallel()
	m := pane(t, 80, 24, []providertest.Reply{calls("bash", `{"command":"touch made"}`), says("as you like")}, "artoo")
	m.prompts("")
	m.types("make it")
	m.keys("Enter")
	m.shows("touch made")
	m.waitFor("the question at the end",
		func() bool { return strings.HasSuffix(lastLine(m.screen()), "[q]uit [?] (n)") })
	m.waitFor("the cursor behind it", func() bool {
		// each character is a cell, and a space ends it
		return m.format("#{cursor_x}") == strconv.Itoa(len([]rune(lastLine(m.screen())))+1)
	})
	<-time.After(settled)
	m.keys("Enter")
	m.shows("as you like")
	m.prompts("")
	if _, err := os.Stat(filepath.Join(m.dir, "made")); err == nil {
		t.Error("Enter alone ran it")
	}
}

// A window that is made narrower in the middle of an answer changes the blocks
// that come, and nothing is lost or printed twice.
func TestTmuxResizeKeepsTheScreen(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	first := strings.TrimSpace(strings.Repeat("wide ", 15))
	second := strings.TrimSpace(strings.Repeat("slim ", 15))
	reply := says(first+"\n\n", second+"\n")
	reply = reply.Hold(len(reply.Events(3).Body), open) // the head of the stream and the first text
	m := pane(t, 80, 24, []providertest.Reply{reply}, "artoo")
	m.prompts("")
	m.types("go")
	m.keys("Enter")
	m.shows(first)
	m.run("resize-window", "-t", "t", "-x", "40", "-y", "24")
	m.waitFor("the new width", func() bool { return m.format("#{pane_width}") == "40" })
	close(open)
	m.shows("slim")
	m.prompts("")
	all := m.screen("-S", "-", "-J")
	if strings.Count(all, "wide") != 15 || strings.Count(all, "slim") != 15 || strings.Count(all, "you: go") != 1 {
		t.Errorf("words are missing or twice there:\n%s", all)
	}
	for _, line := range strings.Split(all, "\n") {
		if strings.Contains(line, "slim") && len(line) > 40 {
			t.Errorf("%q is wider than the window", line)
		}
	}
}
