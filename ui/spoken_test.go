//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"artoo/agent"
	"artoo/ui/screen"
)

// In the spoken profile the question is a sentence that ends with the meaning of
// Enter; the answers are the same.
func TestQuestionsAreSpoken(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]agent.Verdict{"\r": agent.No, "yes": agent.Yes, "a": agent.YesForSession} {
		answers, errs := make(chan agent.Answer, 8), make(chan error, 8)
		k := startPTY(t, &sender{play: asking("rm -r build", answers, errs)},
			func(o *Options) { o.Profile = screen.Spoken })
		k.expect("you: ")
		k.enter("do it")
		k.expect("approve: run \"rm -r build\"?")
		k.expect("means no. ")
		k.clock.advance(quiet)
		if text := strings.TrimSuffix(keys, "\r"); text != "" {
			k.send(text)
			k.expect(text)
		}
		k.send("\r")
		if a := wanted(k, answers); a.Verdict != want {
			t.Errorf("%q means %q, want %q", keys, a.Verdict, want)
		}
	}
}

// A signal that ends artoo ends the editor with it: it would go on with a
// terminal that is the shell's again.
func TestASignalEndsTheEditorToo(t *testing.T) {
	editor := script(t, fmt.Sprintf("kill -TERM %d; exec sleep 300", os.Getpid()))
	returned := make(chan error, 1)
	var before unix.Termios
	var k *talk
	k = startPTY(t, &sender{play: func(ctx context.Context, _ string, _ agent.Callbacks) (*agent.Response, error) {
		_, _, err := k.term.children.composeText(ctx, "draft")
		returned <- err
		return &agent.Response{}, context.Cause(ctx)
	}}, func(o *Options) {
		o.Environ = []string{"PATH=" + os.Getenv("PATH"), "EDITOR=" + editor}
		before = termios(t, o.Tty)
	})
	k.expect("you: ")
	k.enter("now")
	if err := wanted(k, returned); err == nil || !strings.Contains(err.Error(), syscall.SIGTERM.String()) {
		t.Errorf("the editor ended with %v", err)
	}
	if o := k.end(); o.code != 128+int(syscall.SIGTERM) {
		t.Errorf("ended with %+v", o)
	}
	if before.Lflag != termios(t, k.tty).Lflag {
		t.Error("the terminal is not as it was")
	}
}
