//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"artoo/agent"
	"artoo/ui/screen"
)

// between has f called in place of a turn, to test code that runs between prompts.
func between(t *testing.T, change func(*Options), f func(ctx context.Context, k *talk)) *talk {
	t.Helper()
	var k *talk
	ran := make(chan struct{})
	k = startPTY(t, &sender{play: func(ctx context.Context, _ string, _ agent.Callbacks) (*agent.Response, error) {
		defer close(ran)
		f(ctx, k)
		return &agent.Response{}, nil
	}}, func(o *Options) {
		o.Environ = []string{"PATH=" + os.Getenv("PATH")}
		if change != nil {
			change(o)
		}
	})
	k.expect("you: ")
	if k.term.opt.Profile == screen.Plain {
		k.send("now\n")
	} else {
		k.enter("now")
	}
	wanted(k, ran)
	k.expect("you: ")
	return k
}

// Which pager there is: ARTOO_PAGER, then PAGER, then less; cat or an empty one
// is none, as is any where fd 1 is not a terminal, on a simple one, and for a
// screen reader.
func TestWhatDecidesThePager(t *testing.T) {
	t.Parallel()
	k := between(t, nil, func(context.Context, *talk) {})
	for _, c := range []struct {
		name    string
		setting string
		environ []string
		profile screen.Profile
		piped   bool
		lines   bool
		want    string
	}{
		{"nothing set", "", nil, screen.Rich, false, false, "less"},
		{"PAGER", "", []string{"PAGER=more -d"}, screen.Rich, false, false, "more -d"},
		{"the setting wins", "most", []string{"PAGER=more"}, screen.Rich, false, false, "most"},
		{"cat", "cat", []string{"PAGER=more"}, screen.Rich, false, false, ""},
		{"PAGER=cat", "", []string{"PAGER=cat"}, screen.Rich, false, false, ""},
		{"PAGER empty", "", []string{"PAGER="}, screen.Rich, false, false, ""},
		{"blank", " ", []string{"PAGER=more"}, screen.Rich, false, false, ""},
		{"the answer goes elsewhere", "", nil, screen.Rich, true, false, ""},
		{"simple terminal", "most", nil, screen.Plain, false, false, ""},
		{"screen reader", "most", nil, screen.Spoken, false, false, ""},
		{"--interactive", "most", nil, screen.Rich, false, true, ""},
	} {
		opt := k.term.opt
		opt.Pager, opt.Environ, opt.Profile, opt.Piped, opt.Lines = c.setting, c.environ, c.profile, c.piped, c.lines
		got := ""
		if argv := (&children{opt: &opt}).pager(); argv != nil {
			got = argv[len(argv)-1]
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if diff := cmp.Diff([]string{"A=b", "LESS=FRX", "LV=-c"}, pagerEnviron([]string{"A=b"})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"LESS=", "LV=x"}, pagerEnviron([]string{"LESS=", "LV=x"})); diff != "" {
		t.Error(diff)
	}
}

// A pager that is left early is no error; one that fails leaves the text on the
// screen and says why.
func TestLeavingThePagerEarly(t *testing.T) {
	t.Parallel()
	// Twice what a pipe holds, and no more: what failed is printed on a slow terminal.
	text := strings.Repeat("a line of many\n", 10_000)
	for pager, c := range map[string]struct {
		fails, printed bool
	}{
		"head -1":         {},
		"true":            {},
		"kill -INT $$ #":  {},
		"kill -PIPE $$ #": {},
		"sh -c 'exit 3'":  {true, true},
		"no-such-pager":   {true, true},
	} {
		var err error
		k := between(t, func(o *Options) { o.Pager = pager }, func(_ context.Context, k *talk) {
			err = k.term.children.page(text)
		})
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", pager, err)
		}
		if printed := strings.Count(k.status.String(), "a line of many") >= 10_000; printed != c.printed {
			t.Errorf("%s: printed: %v, want %v", pager, printed, c.printed)
		}
	}
}

// staying is a program that ends at once and leaves one behind which holds its
// input and never reads it. That one is killed with the test.
func staying(t *testing.T) string {
	t.Helper()
	pid := filepath.Join(t.TempDir(), "pid")
	t.Cleanup(func() {
		text, err := os.ReadFile(pid)
		if err != nil {
			t.Error(err)
			return
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || unix.Kill(n, unix.SIGKILL) != nil {
			t.Errorf("nothing stayed: %q, %v", text, err)
		}
	})
	return script(t, fmt.Sprintf(`exec 3<&0; sleep 60 <&3 >/dev/null 2>&1 3<&- & echo $! >%s`, pid))
}

// Processes that a pager or a clipboard's tool leaves behind do not delay the
// conversation, however much of the text they did not read.
func TestWhatAChildLeavesBehindIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a line of many\n", 100_000)
	var err error
	between(t, func(o *Options) { o.Pager = staying(t) }, func(_ context.Context, k *talk) { err = k.term.children.page(text) })
	if err != nil {
		t.Error(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- runClipboard(t.Context(), []string{staying(t)}, []string{"PATH=" + os.Getenv("PATH")}, text)
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(waitLimit):
		t.Error("the clipboard's tool is waited for")
	}
}

// A child gets the terminal's modes as artoo found them, without bracketed paste;
// Ctrl-C and Ctrl-\ are its own; the prompt works after it, and a terminal left raw
// is usable when artoo ends.
func TestAChildHasTheTerminalToItself(t *testing.T) {
	for _, how := range []string{"stty raw -echo", "stty -icrnl", "true"} {
		var before unix.Termios
		k := between(t, func(o *Options) {
			before = termios(t, o.In.(*os.File))
			o.Environ = append(o.Environ, "EDITOR="+script(t, fmt.Sprintf(
				`stty -a | tr ' ' '\n' | grep -qx -e -icanon && echo not as found; echo child begins; kill -INT %d; kill -QUIT %d; echo edited >"$1"; %s`, os.Getpid(), os.Getpid(), how)))
		}, func(ctx context.Context, k *talk) {
			if text, err := k.term.children.editText(ctx, "old", ".txt"); err != nil || text != "edited" {
				t.Errorf("%s: %q, %v", how, text, err)
			}
		})
		all := k.status.String()
		at := strings.Index(all, "child begins")
		if at < 0 || strings.Contains(all, "not as found") ||
			strings.LastIndex(all[:at], pasteOff) < strings.LastIndex(all[:at], pasteOn) {
			t.Errorf("%s: the child found the terminal in artoo's modes: %q", how, all)
		}
		if on, off := strings.Count(all, pasteOn), strings.Count(all, pasteOff); on != off+1 {
			t.Errorf("%s: paste mode was turned on %d times and off %d times", how, on, off)
		}
		k.send("works")
		k.expect("works")
		k.send("\x15\x04")
		k.end()
		if diff := cmp.Diff(before, termios(t, k.tty)); diff != "" {
			t.Errorf("%s: the modes are not as they were: %s", how, diff)
		}
	}
}

// Of a composed message only the text that the editor wrote is to be sent.
func TestOnlyWhatWasSavedIsSent(t *testing.T) {
	t.Parallel()
	writes := func(text string) string { return script(t, `printf '`+text+`' >"$1"`) }
	for name, c := range map[string]struct {
		environ []string
		profile screen.Profile
		text    string
		saved   bool
		err     string
	}{
		"not saved": {[]string{"EDITOR=true"}, screen.Rich, "draft", false, ""},
		"failed": {[]string{"EDITOR=false"}, screen.Rich, "",
			false, "false: exit status 1; VISUAL or EDITOR names another"},
		"saved as it was": {[]string{"EDITOR=touch"}, screen.Rich, "draft", true, ""},
		"written":         {[]string{"EDITOR=" + writes(`a\nb\n`)}, screen.Rich, "a\nb", true, ""},
		"VISUAL first":    {[]string{"EDITOR=false", "VISUAL=" + writes(`seen\n`)}, screen.Rich, "seen", true, ""},
		"with arguments": {[]string{"EDITOR=" + script(t, `test "$1" = -x && echo ok >"$2"`) + " -x"}, screen.Rich,
			"ok", true, ""},
		"empty": {[]string{"EDITOR=" + writes(``)}, screen.Rich, "", true, ""},
		"blank": {[]string{"EDITOR=" + writes(` \n\n`)}, screen.Rich, " \n", true, ""},
		"written, then fails": {[]string{"EDITOR=" + script(t, `echo new >"$1"; exit 1`)}, screen.Rich, "", false,
			"exit status 1"},
		"put in its place": {[]string{"EDITOR=" + script(t, `echo new >"$1.new"; mv "$1.new" "$1"`)}, screen.Rich,
			"new", true, ""},
		"Windows lines":   {[]string{"EDITOR=" + writes(`a\r\nb\r\n`)}, screen.Rich, "a\nb", true, ""},
		"simple terminal": {[]string{"EDITOR=" + writes(`ed\n`), "VISUAL=false"}, screen.Plain, "ed", true, ""},
		"simple, none":    {[]string{"VISUAL=false"}, screen.Plain, "", false, "set EDITOR"},
	} {
		t.Run(name, func(t *testing.T) {
			between(t, func(o *Options) {
				o.Profile = c.profile
				o.Environ = append(o.Environ, c.environ...)
			}, func(ctx context.Context, k *talk) {
				text, saved, err := k.term.children.composeText(ctx, "draft")
				if text != c.text || saved != c.saved || (err != nil) != (c.err != "") ||
					err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("%q, %v, %v", text, saved, err)
				}
			})
		})
	}
}

// Without an editor of the user's own it is vi.
func TestViWhereNoneIsSet(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "vi"), []byte("#!/bin/sh\necho by vi >\"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	between(t, func(o *Options) { o.Environ = []string{"PATH=" + bin + ":" + os.Getenv("PATH")} },
		func(ctx context.Context, k *talk) {
			if text, saved, err := k.term.children.composeText(ctx, ""); text != "by vi" || !saved || err != nil {
				t.Errorf("%q, %v, %v", text, saved, err)
			}
		})
}
