//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
)

// Only an explicit yes approves; after any other text the question repeats.
func TestSixtyAnswersToAQuestion(t *testing.T) {
	t.Parallel()
	type reply struct {
		a agent.Answer
		m meaning
	}
	decide := func(v agent.Verdict) reply {
		if v == agent.Yes || v == agent.YesForSession || v == agent.YesForever {
			return reply{agent.Answer{Verdict: v}, grants}
		}
		return reply{agent.Answer{Verdict: v}, declines}
	}
	for text, want := range map[string]reply{
		"": decide(agent.No), "  ": decide(agent.No), "n": decide(agent.No), "no": decide(agent.No), "NO": decide(agent.No),
		"y": decide(agent.Yes), "yes": decide(agent.Yes), "Yes": decide(agent.Yes), " y ": decide(agent.Yes),
		"a": decide(agent.YesForSession), "always": decide(agent.YesForSession),
		"A": decide(agent.YesForever), "forever": decide(agent.YesForever),
		"q": decide(agent.StopTurn), "quit": decide(agent.StopTurn),
		"n use apt":         {agent.Answer{Reason: "use apt"}, declines},
		"no use apt":        {agent.Answer{Reason: "use apt"}, declines},
		"a bash(go test:*)": {agent.Answer{Verdict: agent.YesForSession, Rule: "bash(go test:*)"}, grants},
		"A write(docs/**)":  {agent.Answer{Verdict: agent.YesForever, Rule: "write(docs/**)"}, grants},
		"e":                 {m: edits},
		"edit":              {m: edits},
		"p":                 {m: pages},
		"page":              {m: pages},
		"?":                 {m: helps},
		"help":              {m: helps},
	} {
		if a, m := parseAnswer(text); !cmp.Equal(a, want.a) || m != want.m {
			t.Errorf("%q: %+v, %v, want %+v", text, a, m, want)
		}
	}
	// Anything else asks again.
	for _, text := range []string{
		"1", "2", "Y", "N", "yy", "yay", "ye", "ok", "okay", "sure", "yes please", "y!", "yes.", "y y", "Q",
		"E", "P", "s", "d", "aa", "AA", "j", "t", "true", "/yes", "'y'", "y;", "у" /* Cyrillic */, "ｙ", "yеs", "\ty\tx",
		"go", "do it", "allow", "approve", "run", "-y", "--yes", "e x", "p x", "q x", "? x", "quit now", "[y]",
		"y,n", "0", "+", "*", ".", "\\y", "oui", "da", "si", "ja", "はい", "👍",
	} {
		if a, m := parseAnswer(text); m != unclear || a.Verdict != agent.No {
			t.Errorf("%q was understood as %+v, %v", text, a, m)
		}
	}
}

// The question is the last line, and Enter alone is no.
func TestTheQuestionIsTheLastLine(t *testing.T) {
	t.Parallel()
	k, answers, _ := startAsking(t, nil)
	rows := strings.Split(strings.TrimRight(strings.ReplaceAll(k.status.String(), "\r\n", "\n"), "\n"), "\n")
	if last := rows[len(rows)-1]; !strings.HasSuffix(last, "  [y]es [n]o [a]lways [e]dit [p]age [q]uit [?] (n) ") {
		t.Errorf("the last line is %q", last)
	}
	if !strings.Contains(k.status.String(), "rm -r build") {
		t.Error("the command is not shown")
	}
	k.clock.advance(quiet)
	k.send("\x10\x1b[A") // messages are not to be had as answers
	k.settle()
	k.send("\r") // an empty line is no
	if a := wanted(k, answers); a.Verdict != agent.No {
		t.Errorf("Enter alone means %q", a.Verdict)
	}
}

// Keys and words that are no answer ask again, with the list of those there are.
func TestOnlyAYesApproves(t *testing.T) {
	t.Parallel()
	k, answers, _ := startAsking(t, nil)
	k.clock.advance(quiet)
	for _, keys := range []string{"1", "\t", "\x1b[A", "\x1b[Z", "yay", "ok", " "} {
		k.send(keys)
		k.settle()
		if strings.TrimSpace(keys) == "" || keys[0] == 0x1b {
			k.send("x") // such a key leaves no text, and an empty line is an answer
			k.settle()
		}
		k.send("\r")
		k.expect("please answer")
		k.expect("(n) ")
		k.clock.advance(quiet)
		none(k, answers)
	}
	k.send("yes")
	k.expect("yes")
	k.send("\r")
	k.isAnswer(answers, agent.Answer{Verdict: agent.Yes})
}

// Words after n, a and A reach the agent; no answer is kept in the history.
func TestAnswersWithWords(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]agent.Answer{
		"n take the other": {Reason: "take the other"},
		"a bash(rm:*)":     {Verdict: agent.YesForSession, Rule: "bash(rm:*)"},
		"A":                {Verdict: agent.YesForever},
		"q":                {Verdict: agent.StopTurn},
	} {
		k, answers, _ := startAsking(t, nil)
		k.answerWith(keys)
		if diff := cmp.Diff(want, wanted(k, answers)); diff != "" {
			t.Errorf("%q: %s", keys, diff)
		}
		k.expect(pasteOn + "you: ")
		k.send("\x10") // an answer is not in the history
		k.expect("do it")
	}
}

// Pasted text approves nothing, in brackets or with more behind its Enter.
func TestPastedTextNeverApproves(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]string{
		"more in one read":       {"y\rand more"},
		"two lines in one read":  {"y\ry\r"},
		"half a key behind it":   {"y\r\x1b"},
		"a paste behind it":      {"y\r" + pasteBegin + "more" + pasteEnd},
		"bracketed":              {pasteBegin + "y\r" + pasteEnd},
		"bracketed, then Enter":  {pasteBegin + "yes" + pasteEnd, "\r"},
		"bracketed with Enter":   {pasteBegin + "y" + pasteEnd + "\r"},
		"typed before and after": {"y", pasteBegin + "es" + pasteEnd, "\r"},
	} {
		k, answers, errs := startAsking(t, nil)
		k.clock.advance(quiet)
		for _, part := range parts {
			k.send(part)
			k.settle()
		}
		if name == "bracketed" {
			k.send("\r")
		}
		k.expect("that looked pasted")
		k.expect("(n) ")
		none(k, answers)
		none(k, errs)
		k.answerWith("y")
		if a := wanted(k, answers); a.Verdict != agent.Yes {
			t.Errorf("%s: then a typed yes gave %+v", name, a)
		}
	}
}

// A slow line delivers all keys in one read, with the Enter.
func TestAnAnswerAndItsEnterInOneRead(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]agent.Verdict{
		"y\r": agent.Yes, "always\r": agent.YesForSession, "\x1b[Cy\r": agent.Yes, "x\x7fyes\r": agent.Yes,
	} {
		k, answers, _ := startAsking(t, nil)
		k.clock.advance(quiet)
		k.send(keys)
		if a := wanted(k, answers); a.Verdict != want {
			t.Errorf("%q: %+v", keys, a)
		}
	}
	k, answers, errs := startAsking(t, nil)
	k.clock.advance(quiet - 1)
	k.send("y\r") // too soon after the question
	k.settle()
	none(k, answers)
	none(k, errs)
}

// Ctrl-D, Ctrl-C and a hang-up are no.
func TestEndsMeanNo(t *testing.T) {
	t.Parallel()
	t.Run("ctrl-d", func(t *testing.T) {
		k, answers, errs := startAsking(t, nil)
		k.clock.advance(quiet)
		k.send("\x04")
		if err := wanted(k, errs); err == nil {
			t.Error("no error")
		}
		none(k, answers)
		k.expect(pasteOn + "you: ") // the conversation goes on
	})
	t.Run("ctrl-c", func(t *testing.T) {
		k, answers, errs := startAsking(t, nil)
		k.send("\x03") // at once: it needs no quiet
		wanted(k, errs)
		none(k, answers)
		k.expect("stopped")
		k.expect(pasteOn + "you: ")
	})
	t.Run("hang-up", func(t *testing.T) {
		k, answers, errs := startAsking(t, nil)
		k.clock.advance(quiet)
		k.send("y")
		k.expect("y")
		k.stopReading()
		if err := k.in.Close(); err != nil {
			t.Fatal(err)
		}
		if err := wanted(k, errs); err != agent.ErrNobody {
			t.Errorf("got %v", err)
		}
		none(k, answers)
		k.end()
	})
}

// The sentence that is being typed when the question comes is no answer, nor
// any part of it.
func TestTypeAheadIsNoAnswer(t *testing.T) {
	t.Parallel()
	answers, errs := make(chan agent.Answer, 8), make(chan error, 8)
	ready, goOn := make(chan struct{}, 1), make(chan struct{})
	ask := asking("rm -r build", answers, errs)
	k := startPTY(t, &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		ready <- struct{}{}
		<-goOn
		return ask(ctx, text, cb)
	}}, nil)
	k.expect("you: ")
	k.enter("do it")
	wanted(k, ready)
	k.send("yay al")
	k.settle()
	goOn <- struct{}{}
	k.expect("(n) ")
	for _, r := range "ways yes" { // the rest of the sentence, key by key
		k.clock.advance(quiet / 2)
		k.send(string(r))
		k.settle()
	}
	k.clock.advance(quiet / 2)
	k.send("\r")
	k.settle()
	none(k, answers)
	none(k, errs)
	if got := k.status.String()[k.seen:]; got != "" {
		t.Errorf("the question shows %q", got)
	}
	k.clock.advance(quiet - 1)
	k.send("y")
	k.settle()
	k.clock.advance(quiet) // now it was quiet
	k.send("n")
	k.expect("n")
	k.send("\r")
	k.isAnswer(answers, agent.Answer{Verdict: agent.No})
	k.expect(pasteOn + "you: yay al") // nothing is lost
}

// A program such as expect answers at once: its Enter, and the next, decide nothing.
func TestAnEnterBehindKeysThatCameTooEarlyAsksAgain(t *testing.T) {
	rich, answers, _ := startAsking(t, nil)
	rich.asksAgain(answers, "\r")
	plain, answers, goOn := startPlainAsking(t)
	goOn <- struct{}{}
	plain.expect("(n) ")
	plain.asksAgain(answers, "\n")
}

func (k *talk) asksAgain(answers chan agent.Answer, enter string) {
	k.send("y" + enter)
	k.settle()
	k.clock.advance(quiet)
	k.send(enter)
	k.expect("are ignored; answer now")
	k.expect("(n) ")
	none(k, answers)
	k.clock.advance(quiet)
	k.send("y" + enter)
	k.isAnswer(answers, agent.Answer{Verdict: agent.Yes})
}

// A line that was entered before the question is the next message.
func TestEnteredTypeAheadIsAMessage(t *testing.T) {
	t.Parallel()
	answers, errs := make(chan agent.Answer, 8), make(chan error, 8)
	ready, goOn := make(chan struct{}, 2), make(chan struct{}, 2)
	ask := asking("rm -r build", answers, errs)
	k := startPTY(t, &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		ready <- struct{}{}
		<-goOn
		return ask(ctx, text, cb)
	}}, nil)
	k.expect("you: ")
	k.enter("do it")
	wanted(k, ready)
	k.send("y\r")
	k.expect("queued: y")
	goOn <- struct{}{}
	k.expect("(n) ")
	none(k, answers)
	k.clock.advance(quiet)
	k.send("\r")
	k.isAnswer(answers, agent.Answer{Verdict: agent.No})
	wanted(k, ready) // the queued line is the next message
	k.wasSent("do it", "y")
	goOn <- struct{}{}
	k.expect("(n) ")
	k.answerWith("q")
	wanted(k, answers)
}

// script writes an executable and returns its path.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEditTheCommand(t *testing.T) {
	t.Parallel()
	editor := script(t, `stty size >/dev/null; printf 'rm -r "build/tmp"\n' >"$1"; stty raw -echo`)
	k, answers, _ := startAsking(t,
		func(o *Options) { o.Environ = []string{"EDITOR=" + editor, "PATH=" + os.Getenv("PATH")} })
	k.answerWith("e")
	a := wanted(k, answers)
	if diff := cmp.Diff(agent.Answer{Input: []byte(`{"command":"rm -r \"build/tmp\""}`)}, a); diff != "" {
		t.Error(diff)
	}
	k.expect(pasteOn + "you: ")
	k.send("works")
	k.expect("works")
}

func TestEditWithoutEditor(t *testing.T) {
	t.Parallel()
	k, answers, _ := startAsking(t, nil)
	k.answerWith("e")
	k.expect("command: rm -r build")
	k.answerWith("2")
	k.isAnswer(answers, agent.Answer{Input: []byte(`{"command":"rm -r build2"}`)})
}

// The pager gets the whole text and, where the user set nothing, options of its own.
func TestAPagerShowsWhatIsLong(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	pager := script(t, `{ echo "LESS=$LESS LV=$LV"; cat; } >`+out)
	k, answers, _ := startAsking(t, func(o *Options) {
		o.Pager = pager
		o.Environ = []string{"PATH=" + os.Getenv("PATH"), "LESS=-S"}
	})
	k.answerWith("p")
	k.expect("(n) ")
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(data); !strings.HasPrefix(got, "LESS=-S LV=-c\n") || !strings.Contains(got, "rm -r build") {
		t.Errorf("the pager got %q", got)
	}
	none(k, answers)
	k.clock.advance(quiet)
	k.send("\r")
	wanted(k, answers)
}

func TestQuestionHelpAsksAgain(t *testing.T) {
	t.Parallel()
	k, answers, _ := startAsking(t, nil)
	k.answerWith("?")
	k.expect("Enter alone means no")
	k.expect("(n) ")
	none(k, answers)
	k.clock.advance(quiet)
	k.send("\r")
	wanted(k, answers)
}
