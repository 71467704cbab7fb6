//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"artoo/ui/prompt"
	"artoo/ui/prompt/prompttest"
	"artoo/ui/screen"
)

// The answer goes to one stream and all the rest to the other.
func TestAnswersAndChromeAreApart(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, nil)
	k.expect("you: ")
	k.enter("why?")
	k.await(k.answer, 0, "answer to why?\n")
	k.expect("you: ")
	k.send("\x04")
	k.ends(0)
	if strings.Contains(k.status.String(), "answer to") {
		t.Errorf("the answer is among the status: %q", k.status)
	}
}

// With stdout in a pipe the editor works on the terminal, and the pipe holds the answer alone.
func TestNoEscapeEntersThePipe(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, nil)
	k.expect(pasteOn + "you: ")
	k.send("a\x1b[D\x1b[C\x01\x05b")
	k.expect("b")
	k.enter("c")
	k.await(k.answer, 0, "answer to abc\n")
	if got := k.answer.String(); strings.Contains(got, "\x1b") || strings.Contains(got, "you: ") {
		t.Errorf("stdout holds %q", got)
	}
}

func termios(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	fd := ttyFd(t, f)
	got, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		t.Fatal(err)
	}
	return *got
}

// In the plain profile the modes stay as they are and no escape is written.
func TestPlainTouchesNothing(t *testing.T) {
	t.Parallel()
	var before unix.Termios
	k := startPTY(t, &sender{}, func(o *Options) {
		o.Profile = screen.Plain
		before = termios(t, o.In.(*os.File))
	})
	k.expect("you: ")
	if diff := cmp.Diff(before, termios(t, k.tty)); diff != "" {
		t.Errorf("the modes changed: %s", diff)
	}
	k.send("first\n")
	k.await(k.answer, 0, "answer to first\n")
	k.expect("you: ")
	k.send("two \\\n")
	k.expect("\\\r\n" + "     ")
	k.send("lines\n")
	k.await(k.answer, 0, "answer to two \nlines\n")
	k.expect("you: ")
	k.send("\x1b[Aarrow\x00\x0f\n")
	k.await(k.answer, 0, "answer to arrow\n")
	k.expect("you: ")
	k.send("\x04")
	k.ends(0)
	if diff := cmp.Diff(before, termios(t, k.tty)); diff != "" {
		t.Errorf("the modes are not as they were: %s", diff)
	}
	shown := strings.ReplaceAll(k.status.String(), "\r\n", "\n")
	shown = strings.ReplaceAll(shown, "^[[Aarrow", "") // the kernel's own echo
	if strings.ContainsAny(shown, "\x1b\r") {
		t.Errorf("the plain terminal got %q", shown)
	}
}

// The Delete key never leaves, and Home and End work as tmux sends them.
func TestDeleteOnAnEmptyLineDoesNothing(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, nil)
	k.expect("you: ")
	k.send("\x1b[3~")
	k.send("\x1b[1~b\x1b[1~a\x1b[4~c") // home and end as tmux sends them
	k.settle()
	k.send("\r")
	k.await(k.answer, 0, "answer to abc\n")
}

// At the prompt too they neither enter the text nor submit it.
func TestUnboundKeysAtThePrompt(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, nil)
	k.expect("you: ")
	k.send("a\x00\x18\x18\x1c\x1eb")
	k.send("\x1b[99;99z\x1bOP\x1b]11;rgb:00/00/00\x07\x1bP1$r\x1b\\\x1b[24;80R\x1b[?62;c")
	k.send("c")
	k.expect("c")
	k.settle()
	if got := k.sender.messages(); got != nil {
		t.Fatalf("sent %q", got)
	}
	k.send("\r")
	k.await(k.answer, 0, "answer to abc\n")
}

// On and off alternate, and off is the last word.
func TestPasteModeIsOnOnlyWhileALineIsRead(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, nil)
	k.expect(pasteOn)
	k.enter("one")
	k.await(k.answer, 0, "answer to one\n")
	k.expect(pasteOn)
	k.send("\x03")
	k.expect("to exit")
	k.expect(pasteOn)
	k.send("\x04")
	k.end()
	k.expect(pasteOff)
	term := prompttest.New(80, 24)
	_, _ = term.Write([]byte(strings.ReplaceAll(k.status.String(), "\r\n", "\n")))
	if term.Err != nil || term.Paste {
		t.Errorf("%v, paste mode %v", term.Err, term.Paste)
	}
}

// No line end within a paste, nor one glued to it, submits.
func TestPasteWaitsForEnter(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, nil)
	k.expect("you: ")
	k.send(pasteBegin + "a\rb\r\nc\x1b[31m\n" + pasteEnd + " x\n")
	k.expect("x")
	k.settle()
	if got := k.sender.messages(); got != nil {
		t.Fatalf("sent %q before Enter", got)
	}
	k.send("y")
	k.expect("y")
	k.send("\r")
	k.await(k.answer, 0, "answer to a\nb\nc[31m x\ny\n")
}

// A megabyte is shown as a label and sent whole.
func TestBigPasteCostsLittle(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, nil)
	k.expect("you: ")
	big := strings.Repeat("0123456789abcdef\n", 1<<16) // 1 MB
	before := len(k.status.String())
	go func() { // more than the kernel takes at once
		if _, err := io.WriteString(k.in, pasteBegin+big+pasteEnd); err != nil {
			t.Error(err)
		}
	}()
	k.expect("[paste 1: 65536 lines]")
	if n := len(k.status.String()) - before; n > 200 {
		t.Errorf("the paste echoed %d bytes", n)
	}
	k.send("\r")
	deadline := time.After(waitLimit)
	for len(k.sender.messages()) == 0 {
		_, changed := k.answer.read()
		select {
		case <-changed:
		case <-deadline:
			t.Fatal("nothing was sent")
		}
	}
	if got := k.sender.messages()[0]; got != strings.TrimSuffix(big, "\n") {
		t.Errorf("%d of %d bytes were sent", len(got), len(big)-1)
	}
}

// All ways to write a newline, typed key by key.
func TestALineMayHaveSeveralLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, keys, want string }{
		{"backslash", "a\\|\r|b", "a\nb"},
		{"ctrl-j", "a\nb", "a\nb"},
		{"alt-enter", "a\x1b\rb", "a\nb"},
		{"block", "\"\"\"|\r|a|\r|/quit|\r|\"\"\"", "a\n/quit"},
		{"two backslashes are text", "a\\\\", `a\\`},
	} {
		k := startPTY(t, &sender{}, nil)
		k.expect("you: ")
		for part := range strings.SplitSeq(tt.keys, "|") {
			k.send(part)
			k.settle()
		}
		k.send("\r")
		k.await(k.answer, 0, "answer to "+tt.want+"\n")
	}
}

// A pasted /quit is sent, not obeyed.
func TestPastedCommandsAreText(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, nil)
	k.expect("you: ")
	k.send(pasteBegin + "/quit" + pasteEnd)
	k.expect("/quit")
	k.send("\r")
	k.await(k.answer, 0, "answer to /quit\n")
}

// A prompt that nobody types at writes nothing, and has set no timer that would
// wake the process up.
func TestAnIdlePromptIsIdle(t *testing.T) {
	t.Parallel()
	for _, profile := range []screen.Profile{screen.Rich, screen.Plain, screen.Spoken} {
		k := startPTY(t, &sender{}, func(o *Options) { o.Profile = profile })
		k.expect("you: ")
		k.send("some text")
		k.expect("some text") // drawn, or echoed by the terminal
		before := k.status.String()
		k.clock.mu.Lock()
		timers := len(k.clock.timers)
		k.clock.mu.Unlock()
		k.clock.advance(time.Minute)
		k.term.prompt.Queue(func(*prompt.Queue) {})
		k.term.prompt.Queue(func(*prompt.Queue) {})
		if got := k.status.String(); got != before {
			t.Errorf("%v: an idle minute wrote %q", profile, got[len(before):])
		}
		if timers != 0 {
			t.Errorf("%v: %d timers are set", profile, timers)
		}
	}
}

func TestSizesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{}, {1, 1}, {20, 5}} {
		k := startPTY(t, &sender{}, func(o *Options) {
			o.Size = func() (int, int) { return size[0], size[1] }
		})
		if err := prompttest.ResizePTY(k.in, size[0], size[1]); err != nil {
			t.Fatal(err)
		}
		k.expect("you: ")
		k.typeBlind("ab\x1b[D\x1b[Dc日本")
		k.await(k.answer, 0, "answer to c日本ab\n")
		k.expect(pasteOn + "you: ")
		k.send("\x04")
		if o := k.end(); o.code != 0 {
			t.Errorf("%v: ended with %+v", size, o)
		}
	}
}
