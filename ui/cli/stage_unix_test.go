//go:build unix

package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/term"

	"artoo/provider/providertest"
	"artoo/ui/prompt/prompttest"
)

// stage is artoo with its three streams, each of them the one terminal or a
// pipe, and everything that comes out of them.
type stage struct {
	testing.TB
	cmd   *exec.Cmd
	model *providertest.Server
	size  [2]int // columns and rows
	raw   bool   // the terminal is raw from the start: no echo, newlines as they are

	tty      *os.File // where one types; nil when no stream is a terminal
	slave    *os.File // the terminal as artoo has it
	typed    io.WriteCloser
	all      *transcript // of all outputs, for waiting
	screen   *stream     // the terminal's
	out, err *stream     // the pipes'

	exited  chan struct{}
	waitErr error
	drained chan struct{} // closed once the terminal is read to its end
	once    sync.Once
}

// newStage is artoo with a model that plays the replies in order, in an empty
// directory. It is not started, so that cmd, size and raw can be changed.
func newStage(t testing.TB, replies []providertest.Reply, args ...string) *stage {
	t.Helper()
	return newStageOf(t, providertest.Script(replies...), args...)
}

func newStageOf(t testing.TB, model *providertest.Handler, args ...string) *stage {
	t.Helper()
	model.NoList = true
	s := &stage{TB: t, model: providertest.Serve(t, model), size: [2]int{80, 24}}
	s.cmd = exec.Command("artoo", args...) // TestMain put it into PATH
	s.cmd.Dir = t.TempDir()
	s.cmd.Env = append(home(t, "LC_ALL=C.UTF-8", "TERM=xterm", "container=test", "GORACE=atexit_sleep_ms=0"),
		"ARTOO_SANDBOX=off", "ARTOO_PROVIDER=anthropic", "ARTOO_MODEL=test-model", "ANTHROPIC_API_KEY=sk-test",
		"ANTHROPIC_BASE_URL="+s.model.URL)
	return s
}

// start starts it with the streams 0, 1 and 2 as the letters of fds say: t for
// the terminal, p for a pipe, n for nothing (/dev/null).
func (s *stage) start(fds string) *stage {
	s.Helper()
	s.all = &transcript{grew: make(chan struct{}, 1)}
	s.screen, s.out, s.err = &stream{t: s.all}, &stream{t: s.all}, &stream{t: s.all}
	s.drained, s.exited = make(chan struct{}), make(chan struct{})
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if at := strings.IndexByte(fds, 't'); at >= 0 {
		s.openTerminal()
		s.cmd.SysProcAttr.Setctty, s.cmd.SysProcAttr.Ctty = true, at
	} else {
		close(s.drained)
	}
	switch fds[0] {
	case 't':
		s.cmd.Stdin = s.slave
	case 'p':
		in, err := s.cmd.StdinPipe()
		s.must(err)
		s.typed = in
	}
	for i, o := range []struct {
		to   *io.Writer
		pipe *stream
	}{{&s.cmd.Stdout, s.out}, {&s.cmd.Stderr, s.err}} {
		switch fds[i+1] {
		case 't':
			*o.to = s.slave
		case 'p':
			*o.to = o.pipe
		}
	}
	s.must(s.cmd.Start())
	go func() { s.waitErr = s.cmd.Wait(); close(s.exited) }()
	s.Cleanup(func() { _ = s.cmd.Process.Kill(); s.finish() })
	return s
}

func (s *stage) openTerminal() {
	s.Helper()
	var err error
	s.tty, s.slave, err = prompttest.OpenPTY()
	s.must(err)
	s.must(prompttest.ResizePTY(s.tty, s.size[0], s.size[1]))
	if s.raw {
		_, err := term.MakeRaw(int(s.slave.Fd()))
		s.must(err)
	}
	s.typed = s.tty
	go func() {
		defer close(s.drained)
		_, _ = io.Copy(s.screen, s.tty) // EIO on Linux, EOF elsewhere: the other end is closed
	}()
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// modes are the terminal's, to be compared.
func (s *stage) modes() term.State {
	s.Helper()
	state, err := term.GetState(int(s.slave.Fd()))
	s.must(err)
	return *state
}

// waits waits until each text has come, one after the other.
func (s *stage) waits(texts ...string) {
	s.Helper()
	for _, text := range texts {
		s.must(s.all.wait(text))
	}
}

// types sends keys, or bytes into the pipe.
func (s *stage) types(text string) {
	s.Helper()
	_, err := io.WriteString(s.typed, text)
	s.must(err)
}

// finish waits for the end and closes the terminal.
func (s *stage) finish() {
	select {
	case <-s.exited:
	case <-time.After(waitLimit):
		_ = s.cmd.Process.Kill()
		<-s.exited
		s.Errorf("it did not end; so far it wrote\n%s", s.all.text.String())
	}
	s.once.Do(func() {
		if s.slave != nil {
			_ = s.slave.Close()
			<-s.drained
			_ = s.tty.Close()
		}
	})
}

// ends waits for the end, which must be with this exit code, and checks that the
// terminal got no sequence of query.
func (s *stage) ends(code int) *stage {
	s.Helper()
	s.finish()
	var exit *exec.ExitError
	if s.waitErr != nil && !errors.As(s.waitErr, &exit) {
		s.Fatal(s.waitErr)
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.Errorf("it ended with %v, want %d; it wrote\n%s", s.cmd.ProcessState, code, s.all.text.String())
	}
	if q := query.FindString(s.screen.text.String()); q != "" {
		s.Errorf("it asks the terminal, or takes it over: %q", q)
	}
	return s
}

// query are the sequences that make a terminal answer, and those that hide its
// cursor, change its screen or hold its output back.
var query = regexp.MustCompile(
	`\x1b(\[[0-9;]*n|\[[>=]?[0-9]*c|\[\??[0-9;]*\$p|\[\?(2026|1049|1047|47|25)[hl]|\][0-9;]*;\?|Z|P\+q)`)

// sgr is a change of colour or weight.
var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)
