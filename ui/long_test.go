//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/briandowns/spinner"
	"golang.org/x/term"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool"
	"artoo/ui/prompt/prompttest"
	"artoo/ui/screen"
)

// hostile is output of a tool that attacks the terminal.
const hostile = "\x1b[2J\x1b[H\x1b[?1049h\x1b]52;c;QUJD\x07\x1b]0;title\x07\x1b[6n\x1b[c\x1bP+q544e\x1b\\\x1b[3A\x1b[S\x9b5A\u202etxt.exe\u2066\x00\b\b\rover\v\f\x7f"

// longTurns is how many turns the long session has.
const longTurns = 96

// TestALongSession holds many turns on a terminal: questions, interrupts,
// pastes, wide text, queued lines, hostile output. Text on the screen stays, and the
// terminal is never asked anything.
func TestALongSession(t *testing.T) {
	raw := longSession(t, false)
	checkSequences(t, raw)
	checkRows(t, raw)
}

// TestALongSessionWithResizes is the same while the terminal changes its
// width: it is not asked for its size or its cursor, and not cleared.
func TestALongSessionWithResizes(t *testing.T) {
	checkSequences(t, longSession(t, true))
}

var (
	anySequence = regexp.MustCompile(`\x1b(?:\[[0-9;:<=>?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]PX^_]|$)`)
	styling     = regexp.MustCompile(`^\x1b\[[0-9;]*m$`)
	inPrompt    = regexp.MustCompile(`^\x1b\[[0-9]*[ACDK]$|^\x1b\[J$`)
	cleared     = strings.Repeat("\n", 24)
)

// checkSequences finds every escape sequence and says which may stand where.
// checkRows has the rules for the editor's own rows.
func checkSequences(t *testing.T, raw string) {
	t.Helper()
	if strings.ContainsAny(raw, "\x00\v\f\x7f") || strings.Contains(raw, "\u202e") {
		t.Error("a control or direction character got through")
	}
	prompting, found := false, map[string]int{}
	for _, at := range anySequence.FindAllStringIndex(raw, -1) {
		sequence := raw[at[0]:at[1]]
		found[sequence]++
		switch {
		case sequence == pasteOn, sequence == pasteOff:
			prompting = sequence == pasteOn
		case styling.MatchString(sequence), sequence == "\x1b[K":
		case prompting && inPrompt.MatchString(sequence):
		case prompting && sequence == "\x1b[H" && strings.HasSuffix(strings.ReplaceAll(raw[:at[0]], "\r", ""), cleared):
		default:
			t.Fatalf("%q outside of the prompt's rows, after %q", sequence, raw[max(at[0]-200, 0):at[0]])
		}
	}
	if found[pasteOn] < longTurns || found["\x1b[H"] == 0 {
		t.Errorf("the session did not do what it should: %v", found)
	}
}

// checkRows plays the session to a terminal and watches how far up the cursor
// goes: never above the row where the prompt began. It returns that terminal.
func checkRows(t *testing.T, raw string) *prompttest.VT {
	t.Helper()
	v := prompttest.New(80, 24)
	raw = strings.ReplaceAll(raw, "\r\n", "\n")
	for i, part := range strings.SplitAfter(raw, pasteOn) {
		part = anySequence.ReplaceAllStringFunc(part, func(s string) string {
			if styling.MatchString(s) {
				return ""
			}
			return s
		})
		base := v.Row + len(v.Scrolled)
		v.Top = base
		before, after, _ := strings.Cut(part, cleared+"\x1b[H")
		_, _ = v.Write([]byte(before))
		if i > 0 && v.Top < base {
			t.Fatalf("prompt %d went up to row %d, but begins in row %d: %q", i, v.Top, base, part)
		}
		if after != "" { // Ctrl-L: a new top
			_, _ = v.Write([]byte(cleared + "\x1b[H"))
			base = v.Row + len(v.Scrolled)
			v.Top = base
			_, _ = v.Write([]byte(after))
			if v.Top < base {
				t.Fatalf("after Ctrl-L prompt %d went up to row %d, but begins in row %d", i, v.Top, base)
			}
		}
	}
	if v.Err != nil {
		t.Error(v.Err)
	}
	return v
}

// longSession returns the bytes for a terminal of 80x24 in the long session.
func longSession(t *testing.T, resizes bool) string {
	t.Helper()
	master, slave, err := prompttest.OpenPTY()
	if err != nil {
		t.Fatal(err)
	}
	l := &longTalk{rng: rand.New(rand.NewPCG(7, 7)), going: make(chan struct{}), goOn: make(chan struct{}),
		answered: make(chan agent.Answer, 4), measured: make(chan struct{}, 1)}
	l.talk = &talk{T: t, clock: newManual(), sender: &sender{play: l.play}, in: master, tty: slave, answer: newSink(),
		status: newSink()}
	l.stopReading = readAll(t, master, l.status)
	t.Cleanup(func() {
		l.stopReading()
		_ = slave.Close()
		_ = master.Close()
	})
	l.resize(80)
	l.start(slave, slave, func(o *Options) {
		o.Tty, o.Size = slave, l.promptSize
		o.Screen = screen.New(screen.Options{
			Out: slave, Err: slave, OutTTY: true, ErrTTY: true, OutColor: true, ErrColor: true,
			Conversation: true, UTF8: true,
			Width: func() int { cols, _ := l.terminalSize(); return cols }, Now: l.clock.Now, After: l.after,
			Spin: func(sp *spinner.Spinner) func() { sp.WriterFile = slave; sp.Start(); return sp.Stop },
		})
	})
	l.expect(pasteOn + cyanOn + "you: ")
	for i := range longTurns {
		l.turn(i)
		if resizes && i%3 == 0 {
			l.send(strings.Repeat("resized 漢字 ", 12))
			l.settle()
			l.resize(30 + l.rng.IntN(90))
			l.send("\x15") // and the line goes
			l.settle()
		}
	}
	l.send("\x04")
	if o := l.end(); o.code != 0 || o.err != nil {
		t.Errorf("the session ends with %d, %v", o.code, o.err)
	}
	l.stopReading()
	return l.status.String()
}

// longTalk plays both sides of the long session.
type longTalk struct {
	*talk
	rng      *rand.Rand
	going    chan struct{} // a turn got to where it waits
	goOn     chan struct{}
	answered chan agent.Answer
	measured chan struct{} // the prompt asked for the terminal's size
}

// promptSize is terminalSize for the prompt, which asks for it whenever it draws.
func (l *longTalk) promptSize() (cols, rows int) {
	defer func() {
		select {
		case l.measured <- struct{}{}:
		default:
		}
	}()
	return l.terminalSize()
}

func (l *longTalk) terminalSize() (cols, rows int) {
	cols, rows, err := term.GetSize(int(l.tty.Fd()))
	if err != nil {
		return 80, 24
	}
	return cols, rows
}

// resize changes the terminal's width. If a prompt stands, it returns after the prompt was
// drawn again: a later signal would meet the next question, and unsettle it.
func (l *longTalk) resize(cols int) {
	l.Helper()
	select {
	case <-l.measured:
	default:
	}
	if err := prompttest.ResizePTY(l.in, cols, 24); err != nil {
		l.Fatal(err)
	}
	if l.term != nil { // the test is not in the terminal's group: no signal comes by itself
		if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			l.Fatal(err)
		}
		select {
		case <-l.measured:
		case <-time.After(waitLimit):
			l.Fatal("the prompt does not notice the new size")
		}
		l.settle()
	}
}

// after is the screen's timer on the test's clock.
func (l *longTalk) after(d time.Duration, f func()) (stop func()) {
	due, stopped := l.clock.After(d), make(chan struct{})
	go func() {
		select {
		case <-due:
			f()
		case <-stopped:
		}
	}()
	return func() { close(stopped) }
}

// drain keeps the clock's record of timers from filling up.
func (l *longTalk) drain() {
	for {
		select {
		case <-l.clock.set:
		default:
			return
		}
	}
}

func (l *longTalk) turn(i int) {
	l.Helper()
	l.drain()
	switch i % 8 {
	case 0:
		l.enter(fmt.Sprintf("markdown %d", i))
	case 1:
		l.enter(fmt.Sprintf("ask %d", i))
		l.expect("(n) ")
		l.clock.advance(quiet)
		answer := []string{"y", "n because", "a", "nonsense", "?"}[l.rng.IntN(5)]
		l.send(answer)
		l.settle()
		l.send("\r")
		if answer == "nonsense" || answer == "?" {
			l.expect("(n) ")
			l.clock.advance(quiet)
			l.send("\r")
		}
		select {
		case <-l.answered:
		case <-time.After(waitLimit):
			l.Fatalf("%q was not taken for an answer", answer)
		}
	case 2:
		l.enter(fmt.Sprintf("stop %d", i))
		<-l.going
		l.send("\x03")
		l.expect("stopped")
	case 3:
		l.send(pasteBegin + strings.Repeat(fmt.Sprintf("pasted %d 日本語\r", i), 1+l.rng.IntN(30)) + pasteEnd)
		l.settle()
		l.send("\r")
	case 4:
		l.enter(fmt.Sprintf("tool %d", i))
	case 5:
		l.enter(fmt.Sprintf("wait %d", i))
		<-l.going
		l.clock.advance(700 * time.Millisecond) // the progress line is shown
		queued := fmt.Sprintf("queued %d", i)
		l.send(queued)
		l.settle()
		l.send("\r")
		l.expect("queued: " + queued)
		l.goOn <- struct{}{}
		l.expect(pasteOn) // never for the queued one: it needs no prompt
		return
	case 6:
		l.send(strings.Repeat("wrapped 漢字かな 👍 ", 9))
		for range 40 {
			l.send([]string{"\x1b[D", "\x01", "\x05", "\x7f", "x", "語", "\x1b[1;5D", "\x0b", "\x19", "\x0a",
				"\x1b[A", "\x17"}[l.rng.IntN(12)])
		}
		l.settle()
		l.send("\x05end")
		l.settle()
		l.send("\r")
	case 7:
		l.send("clear me\x0c")
		l.settle()
		l.send("\x03") // clears the line
		l.expect("^C")
		l.enter(fmt.Sprintf("after %d", i))
	}
	l.expect(pasteOn + cyanOn + "you: ")
}

// play is the model's and the tools' side.
func (l *longTalk) play(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
	cb.OnThinking()
	cb.OnThinkingDone()
	word, rest, _ := strings.Cut(text, " ")
	if _, err := strconv.Atoi(rest); err != nil {
		word = "" // something called back from the history and edited
	}
	switch word {
	case "ask":
		call := longCall("make all # "+hostile, tool.KindRun)
		answer, err := cb.Ask(ctx, agent.Question{Kind: agent.QuestionApproval, Call: call, Dir: "/src",
			Rule: "bash(make all)", Suggested: "bash(make:*)", Number: 1, Of: 1})
		if err != nil {
			return nil, err
		}
		cb.OnToolCall(call)
		cb.OnToolResult(call, agent.CallResult{Text: "ok", Summary: "exit 0 in 1.0s", Status: agent.CallOK})
		l.answered <- answer
	case "stop":
		cb.OnText("A text that is **cut off in the middle of 日本")
		l.going <- struct{}{}
		<-ctx.Done()
		return &agent.Response{Text: "A text that is"}, context.Cause(ctx)
	case "tool":
		call := longCall("cat "+hostile, tool.KindRun)
		cb.OnToolCall(call)
		cb.OnToolOutput(call, hostile)
		cb.OnToolResult(call, agent.CallResult{Text: hostile, Summary: "exit 1 " + hostile,
			Tail: strings.Repeat(hostile+"\n", 7), Status: agent.CallFailed})
		cb.OnNotice(agent.Notice{Kind: agent.NoticeWarning, Text: "odd: " + hostile})
		cb.OnText("It failed: `" + hostile + "`.\n")
	case "wait":
		call := longCall("sleep 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字", tool.KindRun)
		cb.OnToolCall(call)
		l.going <- struct{}{}
		select {
		case <-l.goOn:
		case <-ctx.Done():
		}
		cb.OnToolResult(call, agent.CallResult{Text: "ok", Summary: "exit 0 in 0.7s", Status: agent.CallOK})
		cb.OnText("Waited.\n")
	default:
		for _, piece := range strings.SplitAfter(longAnswer, "a") {
			cb.OnText(piece)
		}
	}
	return &agent.Response{}, nil
}

func longCall(command string, kind tool.Kind) agent.Call {
	return agent.Call{
		ToolCall: provider.ToolCall{ID: "1", Name: "bash", Input: []byte(`{}`)},
		Access:   tool.Access{Kind: kind, Command: command, Dir: "/src", Verb: "run", Object: command}, Of: 1,
	}
}

const longAnswer = "# Überschrift 見出し\n\nA paragraph with **bold**, `code`, a [link](https://example.org/a), " +
	"wide text 日本語のテキストはここで折り返されますので幅を正しく数えなければなりません and more words to wrap it well.\n\n" +
	"1. first\n2. second 👍 with an emoji\n   - nested\n\n```go\nfunc main() { println(\"漢字\") }\n```\n\n" +
	"| a | b |\n|---|---|\n| 1 | 二 |\n| a cell that is so long that the table does not fit any more, since it has far too many words in it | 2 |\n\n" +
	"> quoted " + hostile + "\n\nEnd.\n"
