//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"artoo/agent"
	"artoo/tool/mcp"
	"artoo/ui/prompt"
)

// Ctrl-C stops the turn, and the prompt is back within a second.
func TestCtrlCStopsTheTurn(t *testing.T) {
	partial := make(chan struct{})
	k := startPTY(t, &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		cb.OnText("three words so")
		close(partial)
		<-ctx.Done()
		return &agent.Response{Text: "three words so"}, context.Cause(ctx)
	}}, nil)
	k.expect("you: ")
	k.enter("tell me")
	wanted(k, partial)
	began := time.Now()
	k.send("\x03")
	k.expect("stopped after 3 words")
	k.expect(pasteOn + "you: ")
	if took := time.Since(began); took > time.Second {
		t.Errorf("the prompt took %v", took)
	}
	k.send("\x04")
	k.end()
}

// While a server starts the first Ctrl-C is for that start alone.
func TestCtrlCSkipsTheStartOfAServer(t *testing.T) {
	t.Parallel()
	starting, release, goesOn := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once sync.Once
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		once.Do(func() { close(starting) })
		<-release
	}))
	var server mcp.Info
	server.Name, server.URL = "s", silent.URL
	var config mcp.Config
	config.Servers = append(config.Servers, server.Server)
	m := mcp.New(config)
	t.Cleanup(func() {
		close(release)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		silent.Close()
	})
	k := startPTY(t, &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		if _, err := m.List(ctx, "s"); err == nil || ctx.Err() != nil {
			t.Errorf("the list: %v, the turn: %v", err, ctx.Err())
		}
		cb.OnText("goes on here")
		close(goesOn)
		<-ctx.Done()
		return &agent.Response{Text: "goes on here"}, context.Cause(ctx)
	}}, func(opt *Options) { opt.Agent.Env().MCP = m })
	k.expect("you: ")
	k.enter("use it")
	wanted(k, starting)
	k.send("\x03")
	wanted(k, goesOn)
	k.send("\x03")
	k.expect("stopped after 3 words")
	k.expect(pasteOn + "you: ")
	k.send("\x04")
	k.end()
}

// A turn that does not listen cannot keep the user.
func TestATurnThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	k := startPTY(t, &sender{play: func(context.Context, string, agent.Callbacks) (*agent.Response, error) {
		close(started)
		<-release
		return nil, errTest
	}}, nil)
	t.Cleanup(func() { close(release) })
	k.expect("you: ")
	k.enter("hang")
	wanted(k, started)
	before := termios(t, k.tty)
	k.send("\x03")
	k.settle()
	k.send("\x03")
	k.expect("stopping")
	k.clock.advance(2 * time.Second)
	k.send("\x03")
	k.ends(130)
	if before == termios(t, k.tty) {
		t.Error("the terminal's modes were not given back")
	}
}

// Esc by itself is Ctrl-C in a turn.
func TestEscapeInAConversation(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 1)
	k := startPTY(t, &sender{play: func(ctx context.Context, _ string, _ agent.Callbacks) (*agent.Response, error) {
		began <- struct{}{}
		<-ctx.Done()
		return &agent.Response{}, context.Cause(ctx)
	}}, nil)
	k.expect("you: ")
	k.enter("tell me")
	wanted(k, began)
	k.send("\x1b")
	k.settle()
	k.clock.advance(50 * time.Millisecond)
	k.expect("stopped")
	k.expect(pasteOn + "you: ")
}

// A key that interrupts the prompt brings its text back afterwards, with any text
// typed right after the key.
func TestShiftTabInAConversation(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, nil)
	k.expect("you: ")
	k.send("draft")
	k.expect("draft")
	k.send("\x1b[Z ends here")
	k.expect(pasteOn + "you [edits]: draft")
	k.expect("ends here")
	k.send("\r")
	k.await(k.answer, 0, "answer to draft ends here\n")
}

// Ctrl-C clears a line, then says how to leave, then leaves, if it comes within two seconds.
func TestCtrlCAtThePrompt(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, nil)
	k.expect("you: ")
	k.send("some text")
	k.expect("some text")
	k.send("\x03")
	k.expect("^C")
	k.expect("you: ")
	k.send("\x03")
	k.expect("Ctrl-C again or Ctrl-D to exit")
	k.expect("you: ")
	k.clock.advance(2*time.Second + time.Millisecond)
	k.send("\x03")
	k.expect("Ctrl-C again or Ctrl-D to exit")
	k.expect("you: ")
	k.clock.advance(time.Second)
	k.send("\x10") // the cleared line can be called back
	k.expect("some text")
	k.send("\x03")
	k.expect("you: ")
	k.send("\x03")
	k.ends(130)
	k.wasSent()
}

// Ctrl-D deletes within a line, does nothing in a turn, and leaves on an empty line.
func TestCtrlDLeaves(t *testing.T) {
	t.Parallel()
	inTurn, goOn := make(chan struct{}), make(chan struct{})
	k := startPTY(t, &sender{play: func(_ context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		close(inTurn)
		<-goOn
		cb.OnText("done\n")
		return &agent.Response{Text: "done"}, nil
	}}, nil)
	k.expect("you: ")
	k.send("abc\x01\x04") // deletes
	k.expect("bc")
	k.settle()
	k.send("\r")
	wanted(k, inTurn)
	k.send("\x04")
	k.settle()
	close(goOn)
	k.await(k.answer, 0, "done\n")
	k.expect(pasteOn + "you: ")
	if got := k.sender.messages(); len(got) != 1 || got[0] != "bc" {
		t.Errorf("sent %q", got)
	}
	k.send("\x04")
	k.ends(0)
}

// A terminal that goes away ends the conversation, and its unfinished line is not sent.
func TestHangUpSendsNoHalfLine(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, nil)
	k.expect("you: ")
	k.send("rm it")
	k.expect("rm it")
	k.stopReading()
	if err := k.in.Close(); err != nil {
		t.Fatal(err)
	}
	k.ends(0)
	k.wasSent()
}

// Text typed in a turn is shown only once entered, in one line; that line is sent next, the rest stands at the prompt.
func TestTypingDuringATurn(t *testing.T) {
	t.Parallel()
	inTurn, goOn := make(chan struct{}, 2), make(chan struct{})
	k := startPTY(t, &sender{play: func(_ context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		inTurn <- struct{}{}
		<-goOn
		cb.OnText("answer to " + text + "\n")
		return &agent.Response{}, nil
	}}, nil)
	k.expect("you: ")
	k.enter("one")
	wanted(k, inTurn)
	from := len(k.status.String())
	k.send("twx\x7fo") // edited unseen
	k.settle()
	k.send("\r")
	k.expect("queued: two")
	k.send("half")
	k.settle()
	if shown := k.status.String()[from:]; strings.Contains(shown, "half") {
		t.Errorf("typed text mixes with the turn: %q", shown)
	}
	goOn <- struct{}{}
	k.expect("you: two")
	wanted(k, inTurn)
	goOn <- struct{}{}
	k.expect(pasteOn + "you: half")
	k.wasSent("one", "two")
	if n := strings.Count(k.status.String(), "queued: two"); n != 1 {
		t.Errorf("queued was said %d times", n)
	}
	if got := strings.Fields(k.answer.String()); strings.Join(got, " ") != "answer to one answer to two" {
		t.Errorf("stdout holds %q", got)
	}
}

// After a turn that did not end well, the queued lines stand at the prompt, not sent.
func TestQueuedLinesComeBackAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"interrupt", "error"} {
		inTurn := make(chan struct{}, 2)
		fail := make(chan struct{})
		k := startPTY(t, &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
			inTurn <- struct{}{}
			select {
			case <-ctx.Done():
				return &agent.Response{}, context.Cause(ctx)
			case <-fail:
				return &agent.Response{}, errTest
			}
		}}, nil)
		k.expect("you: ")
		k.enter("one")
		wanted(k, inTurn)
		k.typeBlind("two")
		k.expect("queued: two")
		for _, more := range []string{"/help keys", "!!echo ran"} {
			k.typeBlind(more)
			k.expect("queued: " + more)
		}
		if how == "error" {
			close(fail)
			k.expect("it broke")
		} else {
			k.send("\x03")
			k.expect("stopped")
		}
		k.expect("3 queued lines come back one by one")
		k.expect(pasteOn + "you: two")
		k.settle()
		if got := k.sender.messages(); len(got) != 1 {
			t.Errorf("%s: sent %q", how, got)
		}
		// Each comes back by itself, in order, with its meaning.
		k.send("\x15\r")
		k.expect(pasteOn + "you: /help keys")
		k.send("\r")
		k.expect("Shift-Tab")
		k.expect(pasteOn + "you: !!echo ran")
		k.send("\r")
		k.expect("ran\r\n")
		k.expect(pasteOn + "you: ")
		k.send("\x04")
		k.end()
		if got := k.sender.messages(); len(got) != 1 {
			t.Errorf("%s: sent %q", how, got)
		}
	}
}

// A command typed at a prompt to which a queued line came back runs by itself; the line comes back after it.
func TestACommandIsNotJoinedToAQueuedLine(t *testing.T) {
	t.Parallel()
	inTurn := make(chan struct{}, 2)
	k := startPTY(t, &sender{play: func(ctx context.Context, _ string, _ agent.Callbacks) (*agent.Response, error) {
		inTurn <- struct{}{}
		<-ctx.Done()
		return &agent.Response{}, context.Cause(ctx)
	}}, nil)
	k.expect("you: ")
	k.enter("one")
	wanted(k, inTurn)
	k.typeBlind("two")
	k.expect("queued: two")
	k.send("\x03")
	k.expect(pasteOn + "you: two")
	k.settle()
	k.send("/help keys\r")
	k.expect("Shift-Tab")
	k.expect(pasteOn + "you: two")
	k.send("\x15\x04")
	k.end()
	k.wasSent("one")
}

// A line that was queued keeps its meaning: a command stays one, and pasted text
// stays text.
func TestQueuedCommandsKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	inTurn, goOn := make(chan struct{}, 4), make(chan struct{})
	k := startPTY(t, &sender{play: func(context.Context, string, agent.Callbacks) (*agent.Response, error) {
		inTurn <- struct{}{}
		<-goOn
		return &agent.Response{}, nil
	}}, nil)
	k.expect("you: ")
	k.enter("one")
	wanted(k, inTurn)
	k.typeBlind(pasteBegin + "/quit" + pasteEnd)
	k.expect("queued: /quit")
	k.typeBlind("/help keys")
	k.expect("queued: /help keys")
	k.typeBlind("/quit")
	k.expect("queued: /quit")
	goOn <- struct{}{}
	wanted(k, inTurn)
	goOn <- struct{}{}
	k.expect("Ctrl-C")
	k.ends(0)
	k.wasSent("one", "/quit")
}

// A Ctrl-C that comes after Enter, but before the turn has begun, stops it all
// the same; one that comes before Enter does not.
func TestCtrlCBeforeTheTurnBegins(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		commanded, goOn := make(chan struct{}), make(chan struct{})
		stopped := make(chan bool, 1)
		k := startPTY(t, &sender{play: func(ctx context.Context, _ string, _ agent.Callbacks) (*agent.Response, error) {
			stopped <- ctx.Err() != nil
			return &agent.Response{}, context.Cause(ctx)
		}}, func(o *Options) {
			o.Program = waitingProgram{o.Program, commanded, goOn}
		})
		k.expect("you: ")
		k.enter("/config") // while it runs, no line is wanted and no turn is under way
		wanted(k, commanded)
		if !early {
			k.send("\x03")
			k.settle()
		}
		k.typeBlind("next")
		k.expect("queued: next")
		if early {
			k.send("\x03")
			k.settle()
		}
		goOn <- struct{}{}
		if got := wanted(k, stopped); got != early {
			t.Errorf("a Ctrl-C after Enter: %v, the turn was stopped: %v", early, got)
		}
		k.expect(pasteOn + "you: ")
	}
}

// A Ctrl-C right after Enter stops the turn that has not begun yet: attached files
// are read first.
func TestCtrlCWhileFilesAreRead(t *testing.T) {
	t.Parallel()
	causes := make(chan error, 1)
	var k *talk
	k = startPTY(t, &sender{play: func(ctx context.Context, _ string, _ agent.Callbacks) (*agent.Response, error) {
		select {
		case <-ctx.Done():
		case <-time.After(waitLimit):
		}
		causes <- context.Cause(ctx)
		return &agent.Response{}, context.Cause(ctx)
	}}, func(o *Options) {
		*o.Agent.Env() = *reaching(t, map[string]string{"a.go": "package a\n"}).env
		o.Agent.Env().PageMax = func() int { // which reading a file asks for
			k.send("\x03")
			k.settle()
			return 0
		}
	})
	k.expect("you: ")
	k.enter("go @a.go")
	if err := wanted(k, causes); err != prompt.ErrInterrupted {
		t.Errorf("the turn was ended by %v", err)
	}
	k.expect("you: ")
}
