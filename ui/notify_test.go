//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// notifier is one whose screen is a sink, in UTF-8.
func notifier(t *testing.T, change func(*NotifyOptions)) (*Notifier, *sink, *manual) {
	t.Helper()
	shown, clock := newSink(), newManual()
	o := NotifyOptions{
		How: "bell", TTY: true, Profile: screen.Rich, Dir: "/home/me/shop",
		Clock:   prompt.Clock{Now: clock.Now, After: clock.After},
		Environ: os.Environ(),
		Env:     func(name string) string { return map[string]string{"LANG": "C.UTF-8", "TERM": "xterm"}[name] },
		Screen:  newTestScreen(shown, shown, screen.Rich, clock.Now),
	}
	change(&o)
	n, err := NewNotifier(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n, shown, clock
}

// Each kind writes its own sequence and nothing else, once for each call; where
// stderr is not a terminal, and when it is off, nothing is written.
func TestEachKindOfNotification(t *testing.T) {
	t.Parallel()
	const question = "artoo: a question waits in shop"
	for _, c := range []struct {
		how     string
		tty     bool
		profile screen.Profile
		want    string
	}{
		{"off", true, screen.Rich, ""},
		{"", true, screen.Rich, ""},
		{"bell", true, screen.Rich, "\a"},
		{"bell", true, screen.Plain, "\a"},
		{"bell", false, screen.Rich, ""},
		{"osc9", true, screen.Rich, "\x1b]9;" + question + "\x1b\\"},
		{"osc777", true, screen.Rich, "\x1b]777;notify;artoo;" + question + "\x1b\\"},
		{"osc99", true, screen.Rich, "\x1b]99;;" + question + "\x1b\\"},
		{"osc9", true, screen.Plain, "\a"},
		{"osc9", false, screen.Rich, ""},
	} {
		n, shown, _ := notifier(t, func(o *NotifyOptions) { o.How, o.TTY, o.Profile = c.how, c.tty, c.profile })
		n.Question()
		n.Done(notifyAfter)
		if diff := cmp.Diff(c.want, shown.String()); diff != "" {
			t.Errorf("%q on a terminal %v, %v: %s", c.how, c.tty, c.profile, diff)
		}
	}
	n, shown, _ := notifier(t, func(o *NotifyOptions) { o.How = "osc9" })
	n.Done(notifyAfter + 1)
	if diff := cmp.Diff("\x1b]9;artoo: the turn has ended in shop\x1b\\", shown.String()); diff != "" {
		t.Error(diff)
	}
}

// A question notifies once, however often it repeats; a turn notifies when it took
// more than ten seconds and was not stopped.
func TestWhenItCalls(t *testing.T) {
	t.Parallel()
	var k *talk
	answers, errs := make(chan agent.Answer, 8), make(chan error, 8)
	ask := asking("rm -r build", answers, errs)
	ready := make(chan struct{}, 1)
	play := func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		switch text {
		case "ask":
			return ask(ctx, text, cb)
		case "hang":
			k.clock.advance(time.Hour)
			ready <- struct{}{}
			<-ctx.Done()
			return &agent.Response{}, context.Cause(ctx)
		case "long":
			k.clock.advance(notifyAfter + time.Millisecond)
		}
		return &agent.Response{}, nil
	}
	n, shown, _ := notifier(t, func(*NotifyOptions) {})
	k = startPTY(t, &sender{play: play}, func(o *Options) { o.Notify = n })
	bells := func() int { return len(shown.String()) }
	for i, c := range []struct {
		what  string
		bells int
	}{{"short", 0}, {"long", 1}, {"hang", 0}, {"ask", 1}} {
		k.expect(pasteOn + "you: ")
		before := bells()
		k.enter(c.what)
		switch c.what {
		case "hang":
			wanted(k, ready)
			k.send("\x03")
		case "ask":
			k.expect("(n) ")
			k.answerWith("?")
			k.expect("Enter alone means no")
			k.expect("(n) ")
			k.clock.advance(quiet)
			k.send("\r")
			wanted(k, answers)
		}
		k.expect(pasteOn)
		k.seen -= len(pasteOn)
		if got := bells() - before; got != c.bells {
			t.Errorf("%d: %s: %d bells, want %d", i, c.what, got, c.bells)
		}
	}
}

// tmux and screen do not pass notifications on: they get a bell, found by the
// environment alone.
func TestMultiplexersGetABell(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"TMUX=/tmp/x,1,0", "STY=1.pts", "TERM=screen-256color", "TERM=tmux-256color",
		"TERM=screen"} {
		name, value, _ := strings.Cut(variable, "=")
		for _, how := range []string{"osc9", "osc777", "osc99"} {
			n, shown, _ := notifier(t, func(o *NotifyOptions) {
				o.How = how
				o.Env = func(asked string) string {
					if asked == name {
						return value
					}
					return ""
				}
			})
			n.Question()
			if shown.String() != "\a" {
				t.Errorf("%s with %s: %q", how, variable, shown)
			}
		}
	}
}

// The text is bounded and holds nothing that ends or begins a sequence,
// whatever the directory is called and whatever the locale.
func TestTheTextIsSafe(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{
		"/a/" + strings.Repeat("long", 100), "/a/" + strings.Repeat("日本", 200), "/a/x\x1b]0;title\ay", "/a/x\x9c\x07y",
		"/a/a\nb", "/a/x;y", "/a/\u202egpj", "/", "", "/a/grö\u00dfe", "/a/\u0085\u009c",
	} {
		for _, locale := range []string{"C.UTF-8", "C"} {
			n, shown, _ := notifier(t, func(o *NotifyOptions) {
				o.How, o.Dir = "osc777", dir
				o.Env = func(name string) string { return map[string]string{"LANG": locale}[name] }
			})
			n.Question()
			text, begins := strings.CutPrefix(shown.String(), "\x1b]777;notify;artoo;artoo: a question waits in ")
			text, ends := strings.CutSuffix(text, "\x1b\\")
			if !begins || !ends || strings.ContainsAny(text, "\x1b\a\n\r;") || !utf8.ValidString(text) ||
				strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
				t.Errorf("%q in %s: %q", dir, locale, shown)
			}
			if all := n.text("artoo: a question waits in "); utf8.RuneCountInString(all) > 180 {
				t.Errorf("%q: %d characters", dir, utf8.RuneCountInString(all))
			}
			if locale == "C" && len(text) != utf8.RuneCountInString(text) {
				t.Errorf("%q in %s: %q is not ASCII", dir, locale, text)
			}
		}
	}
}

// A command gets the text as one argument that no shell reads, an empty input,
// a group of its own, and a terminal it cannot write to.
func TestACommandRunsWithoutAShell(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	program := script(t, `echo noise; echo noise >&2
{ for a in "$@"; do printf '%s\n' "[$a]"; done; cat; ps -o pgid= -p $$ || cut -d ' ' -f 5 /proc/$$/stat; } >`+out+`.part && mv `+out+`.part `+out)
	n, shown, _ := notifier(t, func(o *NotifyOptions) {
		o.How = program + ` -t "two words" 'a;b' c\ d`
		o.Dir = "/home/me/$(touch hit);`x`"
	})
	n.Question()
	var data []byte
	for deadline := time.Now().Add(waitLimit); len(data) == 0; {
		data, _ = os.ReadFile(out)
		if time.Now().After(deadline) {
			t.Fatal("the command did not run")
		}
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	want := []string{"[-t]", "[two words]", "[a;b]", "[c d]", "[artoo: a question waits in $(touch hit);`x`]"}
	if len(lines) != 6 || cmp.Diff(want, lines[:5]) != "" {
		t.Fatalf("it got %q", lines)
	}
	if group, err := strconv.Atoi(strings.TrimSpace(lines[5])); err != nil || group == syscall.Getpgrp() {
		t.Errorf("its group is %q, ours %d", lines[5], syscall.Getpgrp())
	}
	if shown.String() != "" {
		t.Errorf("the terminal shows %q", shown)
	}
}

// A command that does not end is killed after five seconds with its children; its
// failure is reported once.
func TestACommandHasFiveSeconds(t *testing.T) {
	t.Parallel()
	alive := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	program := script(t, `trap '' TERM INT; sleep 1000 >`+alive+` & wait`)
	n, _, clock := notifier(t, func(o *NotifyOptions) { o.How = program })
	n.Question()
	held, err := os.Open(alive) // returns when the command's child has it open
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	clock.advance(notifyLimit - 1)
	if err := n.Trouble(); err != nil {
		t.Errorf("too early: %v", err)
	}
	clock.advance(1)
	if _, err := held.Read(make([]byte, 1)); err == nil { // EOF: the child is gone
		t.Error("the child wrote")
	}
	var trouble error
	for deadline := time.Now().Add(waitLimit); trouble == nil; trouble = n.Trouble() {
		if time.Now().After(deadline) {
			t.Fatal("nothing is told")
		}
	}
	if !strings.Contains(trouble.Error(), "stopped after 5s") {
		t.Errorf("told: %v", trouble)
	}
	n.fail(errTest)
	if err := n.Trouble(); err != nil {
		t.Errorf("told again: %v", err)
	}
}

// A command that cannot be run is reported once, in a warning, and stops nothing.
func TestAnErrorIsToldOnce(t *testing.T) {
	t.Parallel()
	n, err := NewNotifier(NotifyOptions{How: "/nowhere/notify", TTY: true})
	if err != nil {
		t.Fatal(err)
	}
	answers, errs := make(chan agent.Answer, 8), make(chan error, 8)
	k := startPTY(t, &sender{play: asking("rm -r build", answers, errs)}, func(o *Options) { o.Notify = n })
	for range 3 {
		k.expect(pasteOn + "you: ")
		k.enter("do it")
		k.expect("(n) ")
		k.answerWith("n")
		wanted(k, answers)
	}
	k.expect(pasteOn + "you: ")
	if told := strings.Count(k.status.String(), "! notify: "); told != 1 {
		t.Errorf("told %d times: %q", told, k.status)
	}
}

func TestNotifyCommandLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"notify-send": {"notify-send"}, " a  b\tc ": {"a", "b", "c"}, `a "b c" 'd e'`: {"a", "b c", "d e"},
		`a ''`: {"a", ""},
		`a\ b`: {"a b"}, `"a\"b"`: {`a"b`}, `'a\'`: {`a\`}, `"a\n"`: {`a\n`}, `a"b"c`: {"abc"},
		`a$HOME;b`: {"a$HOME;b"}, `a\`: {`a\`},
	} {
		got, err := splitWords(line)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", line, err, diff)
		}
	}
	for _, line := range []string{`a "b`, `a 'b`, " ", `""`, `'' a`} {
		if words, err := splitWords(line); err == nil {
			t.Errorf("%q: %q, want an error", line, words)
		}
	}
}
