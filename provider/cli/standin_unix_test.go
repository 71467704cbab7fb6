//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"artoo/provider"
	"artoo/tool/shell"
)

// standIn is a scripted executable in the place of a tool.
type standIn struct {
	t   *testing.T
	cli *CLI
	// terms are those of the next run.
	terms Terms
	dir   string // holds the input of each run: args.N, stdin.N, env.N
	n     int    // replies asked for
}

// newStandIn puts a shell script in the place of the named provider's tool. The
// script finds the run's number in $N, and its input in $DIR.
func newStandIn(t *testing.T, name, script string) *standIn {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	head := "#!/bin/sh\nDIR=" + dir + `
[ "$1" = --version ] && { cat $DIR/version 2>/dev/null; exit; }
N=$(($(cat $DIR/n 2>/dev/null || echo 0) + 1)); echo $N >$DIR/n
for a; do printf '%s\n' "$a"; done >$DIR/args.$N
env >$DIR/env.$N
cat >$DIR/stdin.$N
`
	program := filepath.Join(bin, dialects[name].program)
	must(t, os.WriteFile(program, []byte(head+script), 0o700))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	s := &standIn{t: t, dir: dir}
	s.terms.Mode = "ask"
	s.cli = &CLI{Name: name, Dir: t.TempDir(), Environ: os.Environ(), Terms: func() Terms { return s.terms },
		Trace: func(string, string) {}, Idle: Silence, Limit: Unlimited, MaxRetry: 2 * time.Minute,
		waits: timeouts{end: 100 * time.Millisecond, interrupt: time.Minute, terminate: time.Minute}}
	t.Cleanup(s.cli.Wait)
	return s
}

// events is the script of a tool that says these lines.
func events(lines ...string) string {
	return "cat <<'END'\n" + strings.Join(lines, "\n") + "\nEND\n"
}

// outcome is the result of a reply.
type outcome struct {
	text, reasoning string
	steps, notices  []string
	retries         []provider.Retry
	refused         []provider.Refused
	heldBack        string // the text on stdout at the end, where a reply is held until it is whole
	done            *provider.Done
	err             *provider.Error
}

func (s *standIn) ask(messages ...provider.Message) outcome {
	s.t.Helper()
	return s.stream(context.Background(),
		provider.Request{Messages: messages, Options: provider.Options{Model: DefaultModel}, SessionID: "one"}, nil)
}

// stream collects a reply; on gets each event and may be nil.
func (s *standIn) stream(ctx context.Context, req provider.Request, on func(provider.Event)) (o outcome) {
	s.t.Helper()
	s.n++
	ended := false
	for e, err := range s.cli.Stream(ctx, req) {
		if ended {
			s.t.Fatalf("%v, %v came after the end", e, err)
		}
		if err != nil {
			ended = true
			if o.err = provider.AsError(err); o.err == nil || o.err.Provider != s.cli.Name {
				s.t.Fatalf("%v is no error of %s", err, s.cli.Name)
			}
			if o.err.Temporary() {
				s.t.Errorf("%v would be sent again", err)
			}
			continue
		}
		switch e := e.(type) {
		case provider.TextDelta:
			o.text += e.Text
			o.heldBack += e.Text
		case provider.Retry:
			o.retries = append(o.retries, e)
			if e.Discard {
				o.heldBack = ""
			}
		case provider.Refused:
			o.refused = append(o.refused, e)
		case provider.ReasoningDelta:
			o.reasoning += e.Text
		case provider.Step:
			o.heldBack = ""
			o.steps = append(o.steps, e.Text)
		case provider.Notice:
			o.notices = append(o.notices, e.Text)
		case provider.Done:
			o.done, ended = &e, true
		}
		if on != nil {
			on(e)
		}
	}
	if !ended {
		s.t.Fatal("the reply has no end")
	}
	return o
}

// given is the nth run's args, stdin or env.
func (s *standIn) given(what string, n int) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, what+"."+strconv.Itoa(n)))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

func (s *standIn) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// pid is the process whose number the script wrote into the named file.
func (s *standIn) pid(name string) int {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid < 2 {
		s.t.Fatalf("%q is no process", data)
	}
	return pid
}

// gone fails the test if the process is there still.
func (s *standIn) gone(name string) {
	s.t.Helper()
	pid := s.pid(name)
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return
	}
	if running(pid) {
		s.t.Errorf("%s, process %d, runs still", name, pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// running separates a process from a zombie whose parent is slow.
func running(pid int) bool {
	all, err := shell.Processes()
	if err != nil {
		return true
	}
	for _, t := range all {
		if t.PID == pid {
			return true
		}
	}
	return false
}

func user(text string) provider.Message { return provider.UserText(text) }

// want compares the outcome of a reply.
func (o outcome) want(t *testing.T, text string) {
	t.Helper()
	if o.err != nil {
		t.Fatalf("it failed: %v", o.err)
	}
	if got := o.done.Message.Text(); got != text {
		t.Errorf("the answer is %q, want %q", got, text)
	}
}

// fails compares how a reply failed.
func (o outcome) fails(t *testing.T, kind provider.ErrorKind, words string) {
	t.Helper()
	if o.err == nil {
		t.Fatalf("it did not fail: %q", o.text)
	}
	if o.err.Kind != kind || !strings.Contains(o.err.Message, words) {
		t.Errorf("it failed with %s %q, want %s %q", o.err.Kind, o.err.Message, kind, words)
	}
}

func (s *standIn) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

// await waits until the script has written the named file.
func (s *standIn) await(name string) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if info, err := os.Stat(filepath.Join(s.dir, name)); err == nil && info.Size() > 0 {
			return
		}
		<-time.After(time.Millisecond)
	}
	s.t.Fatalf("%s does not come", name)
}
