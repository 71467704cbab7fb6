//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/term"

	"artoo/provider/providertest"
)

func says(pieces ...string) providertest.Reply {
	return providertest.Anthropic(providertest.Text(pieces...))
}

func calls(name, args string) providertest.Reply {
	return providertest.Anthropic(providertest.Call("c1", name, args))
}

// With stdout a pipe the conversation is on the terminal and the pipe holds the
// answer, nothing else.
func TestAnswerInThePipe(t *testing.T) {
	t.Parallel()
	s := newStage(t, []providertest.Reply{says("well *met*")}).start("tpt")
	s.waits("/help for commands", "you: ")
	s.types("helo\x1b[Dl\r")            // the editor works: it is hello
	s.waits("nothing changed", "you: ") // the answer is read from another stream
	s.types("\x04")
	s.ends(0)
	if got := s.out.text.String(); got != "well *met*\n" {
		t.Errorf("the pipe holds %q", got)
	}
	shown := s.screen.text.String()
	if strings.Contains(shown, "met") || !strings.Contains(shown, "\x1b[?2004h") || !strings.HasSuffix(shown, "\n") ||
		strings.HasSuffix(shown, "\n\r\n") {
		t.Errorf("the terminal holds %q", shown)
	}
	if body := string(s.model.Requests()[0].Body); !strings.Contains(body, `"hello"`) {
		t.Errorf("the model got %s", body)
	}
}

// A conversation whose stderr is a pipe, as in artoo 2>&1 | tee log, names a way to keep a log.
func TestAConversationInAPipeNamesWhatKeepsIt(t *testing.T) {
	t.Parallel()
	for _, fds := range []string{"ttp", "tpp"} {
		s := newStage(t, nil).start(fds)
		s.ends(2)
		if got := s.err.text.String(); !strings.Contains(got, "artoo: stderr: not a terminal") ||
			!strings.Contains(got, "try: artoo | tee log") || !strings.Contains(got, "script log") {
			t.Errorf("%s: stderr holds %q", fds, got)
		}
	}
}

// Something is on the screen before the model has been heard of.
func TestEnterIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	var replies []providertest.Reply
	for range 5 {
		replies = append(replies, says("so it is").Hold(0, open))
	}
	s := newStage(t, replies).start("ttt")
	s.waits("you: ")
	least := time.Hour
	for range replies {
		s.types("hello")
		s.waits("hello")
		began := time.Now()
		s.types("\r")
		s.waits("\n")
		least = min(least, time.Since(began)) // a busy machine can only make it longer
		s.types("\x03")
		s.waits("stopped", "you: ")
	}
	close(open)
	s.types("\x04")
	s.ends(0)
	if least > 100*time.Millisecond {
		t.Errorf("the first byte after Enter came after %v", least)
	}
}

// Each stream is looked at on its own: questions need terminals on 0 and 2, or
// on 2 alone beside a pipe; the progress line needs them on 1 and 2; colour follows
// the stream it goes to.
func TestEachStreamOnItsOwn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fds                string
		talk, asked, moves bool
	}{
		{fds: "ttt", talk: true, asked: true, moves: true},
		{fds: "ttp"},
		{fds: "tpt", asked: true},
		{fds: "tpp"},
		{fds: "ptt", asked: true, moves: true},
		{fds: "ptp"},
		{fds: "ppt", asked: true},
		{fds: "ppp"},
	} {
		t.Run(test.fds, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, []providertest.Reply{
				calls("bash", `{"command":"sleep 1; touch made"}`),
				says("it is **made**"),
			}, "make it").start(test.fds)
			if test.fds[0] == 'p' {
				s.must(s.typed.Close()) // an empty input
				s.typed = s.tty
			}
			code := 6
			if test.asked {
				code = 0
				s.waits("?] (n) ")
				s.answers("y", test.talk)
			}
			if test.talk {
				s.waits("it is ", "you: ")
				s.types("\x04")
			}
			s.ends(code)
			shown, out, errs := s.screen.text.String(), s.out.text.String(), s.err.text.String()
			if _, err := os.Stat(filepath.Join(s.cmd.Dir, "made")); (err == nil) != test.asked {
				t.Errorf("asked is %v", err == nil)
			}
			if strings.Contains(shown, "/help for commands") != test.talk {
				t.Errorf("a conversation is not %v: %q", test.talk, shown)
			}
			if strings.Contains(shown, "\r\x1b[K") != test.moves {
				t.Errorf("moves is not %v: %q", test.moves, shown)
			}
			if strings.ContainsAny(out+errs, "\x1b\r\b\a") {
				t.Errorf("a pipe got %q, %q", out, errs)
			}
			if test.fds[1] == 'p' && out != "it is **made**\n" {
				t.Errorf("stdout is %q", out)
			}
			if colored := sgr.MatchString(shown); colored != strings.Contains(test.fds[1:], "t") {
				t.Errorf("colour on the terminal is %v: %q", colored, shown)
			}
		})
	}
}

// settled is how long nothing may have been typed before a question of a
// conversation takes an answer, and more.
const settled = 400 * time.Millisecond

// answers answers a question that stands there: a line of a terminal that edits
// lines itself, or keys, once the time has come that they count.
func (s *stage) answers(key string, keys bool) {
	s.Helper()
	<-time.After(settled)
	if !keys {
		s.types(key + "\n")
		return
	}
	s.types(key)
	s.waits(key)
	s.types("\r")
}

// A terminal that only scrolls gets text and line ends, its modes are left alone,
// and lines are read as it edits them.
func TestPlainTerminalsAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{
		{"TERM="}, {"TERM=dumb"}, {"TERM=unknown"},
		{"INSIDE_EMACS=29.4,comint"}, {"INSIDE_EMACS=29.4,eshell"}, {"INSIDE_EMACS=30.1,compile"},
		{"TERM=xterm"}, // the others mean nothing if this one is plain too
	} {
		t.Run(strings.Join(env, " "), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, []providertest.Reply{
				calls("write", `{"path":"made","content":"well **met**\n"}`),
				says("so it is **written**"),
			})
			s.cmd.Env = append(s.cmd.Env, env...)
			rich := env[0] == "TERM=xterm"
			s.start("ttt")
			before := s.modes()
			s.waits("you: ")
			during := s.modes()
			if (during == before) == rich {
				t.Errorf("the modes are changed: %v", during != before)
			}
			enter := "\n"
			if rich {
				enter = "\r"
			}
			s.types("make it" + enter)
			s.waits("?] (n) ")
			s.answers("y", rich)
			s.waits("written", "you: ")
			if s.modes() != during {
				t.Error("the modes changed in the turn")
			}
			s.types("/quit" + enter)
			s.leavesModes(before)
			if plain := strings.ReplaceAll(s.screen.text.String(), "\r\n", "\n"); strings.ContainsAny(plain,
				"\x1b\r\b\a") == !rich {
				t.Errorf("the terminal got %q", plain)
			}
		})
	}
}

// leavesModes waits for a good end and checks that the modes are those of before.
func (s *stage) leavesModes(before term.State) {
	s.Helper()
	select {
	case <-s.exited:
	case <-time.After(waitLimit):
		s.Fatalf("it does not end: %q", s.all.text.String())
	}
	if after := s.modes(); after != before {
		s.Errorf("the modes are left changed: %v, before %v", after, before)
	}
	s.ends(0)
}

// A terminal without a size, or an absurd one, does no harm, and nothing turns
// round and round while it waits.
func TestAbsurdSizesAreSurvived(t *testing.T) {
	t.Parallel()
	start := exec.Command("artoo", "version") // the cost of a start alone
	if err := start.Run(); err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{}, {1, 1}, {20, 5}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			open := make(chan struct{})
			s := newStage(t, []providertest.Reply{says("# Heading\n\nwell met, and a long word: ",
				strings.Repeat("x", 100), "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n").Hold(0, open)})
			s.size = size
			s.start("ttt")
			s.waits("you: ")
			s.types("abc\x1b[D\x1b[D漢x\r")
			time.AfterFunc(2*time.Second, func() { close(open) }) // a busy loop would show by then
			s.waits("xx", "you: ")
			s.types("\x04")
			s.ends(0)
			if spent, most := processor(s.cmd), 2*processor(start)+500*time.Millisecond; spent > most {
				t.Errorf("it takes %v of the processor, over %v", spent, most)
			}
			if body := string(s.model.Requests()[0].Body); !strings.Contains(body, "a漢xbc") {
				t.Errorf("the model got %s", body)
			}
		})
	}
}

// processor is the time of the processor that a program took.
func processor(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
