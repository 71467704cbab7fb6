//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"artoo/agent"
	"artoo/ui/screen"
)

// startLines begins a conversation over pipes.
func startLines(t *testing.T, s *sender, change func(*Options)) *talk {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	k := &talk{T: t, clock: newManual(), sender: s, in: w, answer: newSink(), status: newSink()}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	k.start(r, k.status, func(o *Options) {
		o.Profile, o.Lines = screen.Plain, true
		if change != nil {
			change(o)
		}
	})
	return k
}

func (k *talk) eof() {
	k.Helper()
	if err := k.in.Close(); err != nil {
		k.Fatal(err)
	}
}

func TestLinesOneLineIsOneMessage(t *testing.T) {
	t.Parallel()
	k := startLines(t, &sender{}, nil)
	k.send("one\r\ntwo\n\n  \n\"\"\"\nthree\n/quit\n\"\"\"\nfour \\\nfive\n")
	k.eof()
	k.ends(0)
	k.wasSent("one", "two", "three\n/quit", "four \nfive")
	if shown := k.status.String(); strings.ContainsAny(shown, "\x1b\r") {
		t.Errorf("not plain: %q", shown)
	}
}

// startLinesAsking is a conversation over pipes in which "do it" leads to a question.
func startLinesAsking(t *testing.T) (k *talk, answers chan agent.Answer, errs chan error) {
	t.Helper()
	answers, errs = make(chan agent.Answer, 8), make(chan error, 8)
	ask := asking("rm -r build", answers, errs)
	k = startLines(t, &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		if text == "do it" {
			return ask(ctx, text, cb)
		}
		return &agent.Response{}, nil
	}}, nil)
	return k, answers, errs
}

// All lines are there before the question is: they are messages, and the end
// of the input is no.
func TestLinesWaitingLinesAreNoAnswers(t *testing.T) {
	t.Parallel()
	k, answers, errs := startLinesAsking(t)
	k.send("do it\ny\nyes\n")
	k.eof()
	k.ends(0)
	none(k, answers)
	if err := wanted(k, errs); err != agent.ErrNobody {
		t.Errorf("got %v", err)
	}
	k.wasSent("do it", "y", "yes")
}

// The same without an end: the next line that comes is the answer.
func TestLinesTheNextLineAnswers(t *testing.T) {
	t.Parallel()
	k, answers, _ := startLinesAsking(t)
	k.send("do it\ny\nA\n")
	k.expect("[y,n,a,A,e,p,q,?] (n) ")
	none(k, answers)
	k.send("yes\n")
	k.isAnswer(answers, agent.Answer{Verdict: agent.Yes})
	k.eof()
	k.end()
	k.wasSent("do it", "y", "A")
}

// A line that had begun before the question is not its answer.
func TestLinesHalfALineIsNoAnswer(t *testing.T) {
	t.Parallel()
	k, answers, _ := startLinesAsking(t)
	k.send("do it\nye")
	k.expect("[y,n,a,A,e,p,q,?] (n) ")
	k.send("s\n")
	k.send("n because\n")
	k.isAnswer(answers, agent.Answer{Reason: "because"})
	k.eof()
	k.end()
	k.wasSent("do it", "yes")
}

func TestLinesHalfALineIsNotSent(t *testing.T) {
	t.Parallel()
	k := startLines(t, &sender{}, nil)
	k.send("one\nrm it")
	k.eof()
	k.end()
	k.expect("not sent")
	k.wasSent("one")
}

// A plain terminal: type-ahead is a message, Ctrl-D at a question is no and not
// the end.
func TestPlainTerminalQuestions(t *testing.T) {
	t.Parallel()
	answers, errs := make(chan agent.Answer, 8), make(chan error, 8)
	ready, goOn := make(chan struct{}, 4), make(chan struct{}, 4)
	ask := asking("rm -r build", answers, errs)
	k := startPTY(t, &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		ready <- struct{}{}
		<-goOn
		return ask(ctx, text, cb)
	}}, func(o *Options) { o.Profile = screen.Plain })
	k.expect("you: ")
	k.send("do it\n")
	wanted(k, ready)
	k.send("y\n")
	k.expect("queued: y")
	goOn <- struct{}{}
	k.expect("(n) ")
	none(k, answers)
	k.send("\x04")
	wanted(k, errs)
	k.expect("you: y") // the queued line is sent
	wanted(k, ready)
	goOn <- struct{}{}
	k.expect("(n) ")
	k.answerLine("yes\n")
	k.isAnswer(answers, agent.Answer{Verdict: agent.Yes})
	k.expect("you: ")
	k.send("\x04")
	k.ends(0)
}

// answerLine types a line at a question on a plain terminal after a while, and
// lets the time pass in which more could follow it.
func (k *talk) answerLine(text string) {
	k.Helper()
	k.clock.advance(quiet)
	before := k.term.prompt.Taken()
	k.send(text)
	k.took(before + len(text))
	k.clock.advance(20 * time.Millisecond)
}

// startPlainAsking is a conversation on a plain terminal whose first message leads
// to a question once goOn lets it.
func startPlainAsking(t *testing.T) (k *talk, answers chan agent.Answer, goOn chan struct{}) {
	t.Helper()
	answers, goOn = make(chan agent.Answer, 8), make(chan struct{}, 4)
	ready := make(chan struct{}, 4)
	ask := asking("rm -r build", answers, make(chan error, 8))
	k = startPTY(t, &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		if text != "do it" {
			return &agent.Response{}, nil
		}
		ready <- struct{}{}
		<-goOn
		return ask(ctx, text, cb)
	}}, func(o *Options) { o.Profile = screen.Plain })
	k.expect("you: ")
	k.send("do it\n")
	wanted(k, ready)
	return k, answers, goOn
}

// A terminal that gives whole lines keeps the one that was begun. A yes that was
// begun before the question is none with an Enter after it.
func TestALineBegunBeforeTheQuestionIsForgotten(t *testing.T) {
	t.Parallel()
	k, answers, goOn := startPlainAsking(t)
	k.send("yes")
	k.expect("yes") // the terminal has it, and shows it
	goOn <- struct{}{}
	k.expect("(n) ")
	k.answerLine("\n")
	k.isAnswer(answers, agent.Answer{Verdict: agent.No})
}

// A line that ends in the moment a question appears was not typed for it.
func TestALineThatComesAtOnceIsAMessage(t *testing.T) {
	t.Parallel()
	k, answers, goOn := startPlainAsking(t)
	goOn <- struct{}{}
	k.expect("(n) ")
	k.clock.advance(quiet - 1)
	k.send("y\n")
	k.expect("queued: y")
	k.expect("(n) ")
	none(k, answers)
	k.answerLine("n\n")
	k.isAnswer(answers, agent.Answer{Verdict: agent.No})
}

// A line that others follow at once was pasted.
func TestAPasteOfLinesApprovesNothing(t *testing.T) {
	t.Parallel()
	k, answers, goOn := startPlainAsking(t)
	goOn <- struct{}{}
	k.expect("(n) ")
	k.answerLine("y\nls\n")
	k.expect("queued: ls")
	k.expect("that looked pasted")
	k.expect("(n) ")
	none(k, answers)
	k.answerLine("y\n")
	k.isAnswer(answers, agent.Answer{Verdict: agent.Yes})
}

// After Ctrl-Z and fg the shell has written below the prompt.
func TestAPlainPromptStandsAgainAfterAStop(t *testing.T) {
	k := startPTY(t, &sender{}, func(o *Options) { o.Profile = screen.Plain })
	k.expect("you: ")
	if err := syscall.Kill(os.Getpid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	k.expect("you: ")
	k.send("\x04")
	k.ends(0)
}

func TestPlainTerminalCtrlDInATurn(t *testing.T) {
	t.Parallel()
	ready, goOn := make(chan struct{}, 4), make(chan struct{}, 4)
	k := startPTY(t, &sender{play: func(context.Context, string, agent.Callbacks) (*agent.Response, error) {
		ready <- struct{}{}
		<-goOn
		return &agent.Response{}, nil
	}}, func(o *Options) { o.Profile = screen.Plain })
	k.expect("you: ")
	k.send("one\n")
	wanted(k, ready)
	k.send("\x04")
	k.settle()
	k.send("two\n")
	goOn <- struct{}{}
	wanted(k, ready)
	goOn <- struct{}{}
	k.expect("you: ")
	k.wasSent("one", "two")
}

// A line that a script wrote before it could have seen the question is no answer,
// even if it is still in the pipe at that moment.
func TestLinesWhatIsInThePipeIsNoAnswer(t *testing.T) {
	t.Parallel()
	answers, errs := make(chan agent.Answer, 1), make(chan error, 1)
	ask := asking("rm -r build", answers, errs)
	var k *talk
	var over atomic.Bool
	k = startLines(t, &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		if over.Load() {
			return &agent.Response{}, nil
		}
		if _, err := io.WriteString(k.in, "y\n"); err != nil {
			t.Error(err)
		}
		return ask(ctx, text, cb)
	}}, nil)
	k.send("begin\n")
	for range 30 {
		k.expect("(n) ")
		k.send("n no\n")
		if diff := cmp.Diff(agent.Answer{Reason: "no"}, wanted(k, answers)); diff != "" {
			t.Fatal(diff)
		}
	}
	k.expect("(n) ")
	over.Store(true)
	k.eof()
	if err := wanted(k, errs); err != agent.ErrNobody {
		t.Errorf("got %v", err)
	}
	k.end()
}

// Lines as Windows programs write them lose their carriage return, and none is
// ever written.
func TestInputMayHaveCarriageReturns(t *testing.T) {
	t.Parallel()
	k := startLines(t, &sender{}, nil)
	k.send("one\r\n\"\"\"\r\ntwo\r\nthree\r\n\"\"\"\r\nfo\rur\r\n")
	k.eof()
	k.end()
	k.wasSent("one", "two\nthree", "fo\nur")
	if both := k.status.String() + k.answer.String(); strings.Contains(both, "\r") {
		t.Errorf("wrote %q", both)
	}
}

// A shell buffer of Emacs is a terminal that neither echoes nor changes the output.
// Here a person has a whole conversation with a question in it. Each prompt is there
// before anything is typed.
func TestAConversationInComint(t *testing.T) {
	t.Parallel()
	answers, errs := make(chan agent.Answer, 1), make(chan error, 1)
	ask := asking("make", answers, errs)
	k := startPTY(t, &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		if text == "build" {
			return ask(ctx, text, cb)
		}
		cb.OnText("answer to " + text + "\n")
		return &agent.Response{}, nil
	}}, func(o *Options) {
		o.Profile, o.Environ = screen.Plain, []string{"TERM=dumb", "INSIDE_EMACS=29.4,comint"}
		fd := ttyFd(t, o.Tty)
		raw := termios(t, o.Tty)
		raw.Lflag &^= unix.ECHO
		raw.Oflag &^= unix.OPOST
		if err := unix.IoctlSetTermios(fd, setTermios, &raw); err != nil {
			t.Fatal(err)
		}
	})
	before := termios(t, k.tty)
	k.expect("you: ")
	k.send("one\n")
	k.await(k.answer, 0, "answer to one\n")
	k.expect("you: ")
	k.send("build\n")
	k.expect("[y,n,a,A,e,p,q,?] (n) ")
	k.answerLine("n not now\n")
	k.isAnswer(answers, agent.Answer{Reason: "not now"})
	k.expect("you: ")
	k.send("/help\n")
	k.expect("/quit")
	k.expect("you: ")
	k.send("two\n")
	k.await(k.answer, 0, "answer to two\n")
	k.expect("you: ")
	if got := termios(t, k.tty); got != before {
		t.Errorf("the modes changed: %+v, were %+v", got, before)
	}
	k.send("\x04")
	k.ends(0)
	if shown := k.status.String(); strings.ContainsAny(shown, "\x1b\r\x07") {
		t.Errorf("comint got %q", shown)
	}
}
