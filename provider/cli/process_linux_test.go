package cli

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"artoo/provider"
)

// While a process is between two programs its environment cannot be read: one
// without any, which gets one a moment later, stands for it here. Its parent is
// gone already.
func TestNothingOutlivesTheRunBetweenTwoPrograms(t *testing.T) {
	s := newStandIn(t, CodexName, `(setsid env -i /bin/sh -c "echo \$\$ >$DIR/stray; sleep 0.05; exec sleep 100" >/dev/null 2>&1 &)
while ! [ -s $DIR/stray ]; do sleep 0.01; done
`+events(codexBegin, codexText("Hello."), codexEnd(1, 0, 1)))
	s.ask(user("hi")).want(t, "Hello.")
	s.gone("stray")
}

// A child of another session and without the run's mark is found by its parent. The tool
// stays until the last event was read.
func TestNothingOutlivesTheRunWithoutItsMark(t *testing.T) {
	s := newStandIn(t, CodexName, `setsid env -i sleep 100 >/dev/null 2>&1 & echo $! >$DIR/stray
while [ "$(cat /proc/$!/comm)" != sleep ]; do sleep 0.01; done
`+events(codexBegin, codexText("Hello."), codexEnd(1, 0, 1))+`for i in 1 2 3 4 5; do
while ! [ -e $DIR/turn.$i ]; do sleep 0.01; done
echo "said more"
done
`)
	s.cli.waits.end = 20 * time.Second
	turns := 0
	s.cli.Trace = func(event, text string) {
		if strings.Contains(text, "turn.completed") || text == "said more" {
			turns++
			s.write("turn."+strconv.Itoa(turns), "")
		}
	}
	s.ask(user("hi")).want(t, "Hello.")
	s.gone("stray")
}

// Processes that artoo itself starts meanwhile, in its own session, are neither ended nor waited for.
func TestProcessesOfOthersAreLeftAlone(t *testing.T) {
	s := newStandIn(t, CodexName, events(codexBegin, codexText("Hello."), codexEnd(1, 0, 1)))
	var other *exec.Cmd
	began := time.Now()
	s.stream(t.Context(), provider.Request{Messages: []provider.Message{user("hi")}}, func(e provider.Event) {
		if _, ok := e.(provider.TextDelta); ok {
			other = exec.Command("sleep", "100")
			other.Env, other.SysProcAttr = []string{}, &syscall.SysProcAttr{Setpgid: true}
			must(t, other.Start())
		}
	}).want(t, "Hello.")
	if took := time.Since(began); took > 10*time.Second { // less than two on an idle machine
		t.Errorf("it took %s", took)
	}
	if !running(other.Process.Pid) {
		t.Error("it was killed")
	}
	if err := errors.Join(other.Process.Kill(), other.Wait()); err == nil || err.Error() != "signal: killed" {
		t.Error(err)
	}
}

// A tool that is given no environment does not get artoo's own, which holds keys.
func TestArtoosEnvironmentReachesNoTool(t *testing.T) {
	s := newStandIn(t, CodexName, events(codexBegin, codexText("Hello."), codexEnd(1, 0, 1)))
	t.Setenv("ARTOO_TEST_KEY", "secret")
	s.cli.Environ = nil
	s.ask(user("hi")).want(t, "Hello.")
	if env := s.given("env", 1); strings.Contains(env, "secret") {
		t.Error(env)
	}
}
