//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"artoo/agent"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// crashed is the exit status of a child whose Crash was told.
const crashed = 77

// childCrash holds a conversation in which each message is the place where
// something breaks.
func childCrash() int {
	var term *Terminal
	crash := func(value any, stack []byte) {
		where := "elsewhere"
		if bytes.Contains(stack, []byte("crash_test.go")) {
			where = "this test"
		}
		fmt.Fprintf(os.Stderr, "crash: %v, in %s\n", value, where)
		os.Exit(crashed)
	}
	s := &sender{play: func(_ context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		switch text {
		case "turn":
			cb.OnText("half a li")
			panic("in the turn")
		case "question":
			_, err := cb.Ask(context.Background(),
				agent.Question{Covers: func(string) error { panic("at the question") }, Rule: "x"})
			return nil, err
		case "console":
			term.prompt.Queue(func(*prompt.Queue) { panic("in the console") })
		}
		return &agent.Response{}, nil
	}}
	profile := screen.Rich
	if os.Getenv("TERM") == "dumb" {
		profile = screen.Plain
	}
	var seconds atomic.Int64 // a clock so fast that a question takes an answer at once
	now := func() time.Time { return time.Unix(seconds.Add(1), 0) }
	var err error
	term, err = New(Options{
		Agent: childAgent(), Program: breakingProgram{}, Models: &testProgram{}, Sender: s, Profile: profile,
		Screen: newTestScreen(os.Stdout, os.Stderr, profile, nil),
		Options: prompt.Options{Device: prompt.Device{In: os.Stdin, Tty: os.Stderr},
			Clock: prompt.Clock{Now: now}, Ending: prompt.Ending{Crash: crash}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	code, err := term.Run(context.Background())
	fmt.Fprintln(os.Stderr, "ended", code, err)
	return 98
}

// Wherever a conversation breaks, Crash gets the trace of the goroutine that broke,
// on a restored terminal and at the start of a line.
func TestACrashIsToldOnASaneTerminal(t *testing.T) {
	for _, c := range []struct {
		message, value string
		simple         bool
	}{
		{"turn", "in the turn", false}, {"question", "at the question", false}, {"console", "in the console", false},
		{"/config", "in a command", false}, {"turn", "in the turn", true}, {"/config", "in a command", true},
	} {
		t.Run(fmt.Sprint(c.message, c.simple), func(t *testing.T) {
			if c.simple {
				t.Setenv("TERM", "dumb")
			} else {
				t.Setenv("TERM", "xterm")
			}
			k, command := startChild(t, "crash")
			k.expect("you: ")
			k.type_(c.message)
			k.expect(c.message)
			k.type_("\r")
			if c.message == "question" {
				k.expect("(n) ")
				k.type_("a")
				k.expect("a")
				k.type_("\r")
			}
			k.expect("crash: " + c.value + ", in this test")
			if code := exitOf(t, command); code != crashed {
				t.Errorf("exit %d", code)
			}
			if after := termios(t, k.tty); after.Lflag&unix.ICANON == 0 || after.Lflag&unix.ECHO == 0 || after.Oflag&unix.OPOST == 0 {
				t.Errorf("the modes are %+v", after)
			}
			shown := k.status.String()
			if !regexp.MustCompile(`\n(\x1b\[\?2004l)?crash: `).MatchString(shown) {
				t.Errorf("the message does not begin a line: %q", shown)
			}
			if !c.simple && strings.LastIndex(shown, pasteOn) > strings.LastIndex(shown, pasteOff) ||
				c.simple && strings.Contains(shown, "\x1b") {
				t.Errorf("paste mode is left as it should not be: %q", shown)
			}
		})
	}
}
