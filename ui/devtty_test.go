//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool"
	"artoo/ui/screen"
)

// childAsk waits for a line, asks one question on its controlling terminal, and
// prints the answer. The question's rules cover commands that begin with rm.
func childAsk() int {
	s := newTestScreen(os.Stdout, os.Stderr, screen.Plain, nil)
	if _, err := os.Stdin.Read(make([]byte, len("go\n"))); err != nil {
		return 99
	}
	q := agent.Question{
		Kind: agent.QuestionApproval, Dir: "/", Rule: "bash(rm -r build)", Number: 1, Of: 1,
		Call: agent.Call{
			ToolCall: provider.ToolCall{ID: "1", Name: "bash", Input: []byte(`{"command":"rm -r build","timeout":5}`)},
			Access: tool.Access{Kind: tool.KindRun, Command: "rm -r build", Dir: "/", Verb: "run",
				Object: "rm -r build"}, Of: 1,
		},
		Covers: func(rule string) error {
			if !strings.HasPrefix(rule, "bash(rm") {
				return fmt.Errorf("the rule %s would not allow this call", rule)
			}
			return nil
		},
	}
	a, err := AskOnTTY(s, nil)(context.Background(), q)
	fmt.Fprintf(os.Stderr, "verdict=%q reason=%q rule=%q input=%s err=%v.\n", a.Verdict, a.Reason, a.Rule, a.Input, err)
	return 0
}

// Beside a pipe every answer has the meaning that it has in a conversation. Input that
// waited before the question is discarded; the end of the input means no.
func TestQuestionsOnTheControllingTerminal(t *testing.T) {
	t.Parallel()
	const prompt, list = "[y,n,a,A,e,p,q,?] (n) ", "please answer y, n, a, A, e, p, q or ?"
	for _, c := range []struct {
		name  string
		steps []string // typed after each question; one that begins with < is waited for
		want  string
	}{
		{"y", []string{"y\n"}, `verdict="yes" reason="" rule="" input= err=<nil>.`},
		{"yes", []string{"YES\n"}, `verdict="yes" `},
		{"Enter", []string{"\n", "<are ignored; answer now", "<" + prompt, "\n"}, `verdict="no" reason="" rule="" input= err=<nil>.`},
		{"the end of the input", []string{"\x04"}, `verdict="no" reason="" rule="" input= err=<nil>.`},
		{"a yes without Enter", []string{"y\x04"}, `verdict="no" reason="" rule="" input= err=<nil>.`},
		{"no, and why", []string{"n use rmdir\n"}, `verdict="no" reason="use rmdir" `},
		{"always", []string{"a\n"}, `verdict="session" reason="" rule="" `},
		{"a rule", []string{"a bash(rm:*)\n"}, `verdict="session" reason="" rule="bash(rm:*)" `},
		{"for good", []string{"forever\n"}, `verdict="forever" reason="" rule="" `},
		{"quit", []string{"q\n"}, `verdict="stop" `},
		{"a wrong rule", []string{"A bash(ls:*)\n",
			"<not an answer: the rule bash(ls:*) would not allow this call", "<" + prompt,
			"n\n"}, `verdict="no" `},
		{"no answers", []string{"s\n", "<" + list, "<" + prompt, "d\n", "<" + list, "<" + prompt, "yes please\n",
			"<" + list, "<" + prompt, "\n"}, `verdict="no" `},
		{"help", []string{"?\n", "<Enter alone means no", "<" + prompt, "y\n"}, `verdict="yes" `},
		{"all of it", []string{"p\n", "<rm -r build", "<" + prompt, "n\n"}, `verdict="no" `},
		{"edit", []string{"e\n", "<new command", "<: ", "rmdir build\n"},
			`verdict="no" reason="" rule="" input={"command":"rmdir build","timeout":5} err=<nil>.`},
		{"edit nothing", []string{"e\n", "<new command", "<: ", "\n", "<unchanged", "<" + prompt, "q\n"},
			`verdict="stop" `},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k, command := startChild(t, "ask")
			k.type_("go\ny\nyes\na\n") // the first line begins, the others are type-ahead
			k.expect(prompt)
			for _, step := range c.steps {
				if text, waits := strings.CutPrefix(step, "<"); waits {
					k.expect(text)
					continue
				}
				k.type_(step)
			}
			k.expect(c.want)
			if code := exitOf(t, command); code != 0 {
				t.Errorf("exit %d", code)
			}
		})
	}
}

// A pager at the end of the pipe takes keys one by one. Keys for it answer no
// question, whether it had the terminal before or takes it meanwhile.
func TestAPagersKeysAreNoAnswers(t *testing.T) {
	t.Parallel()
	const taken = "another program has the terminal"
	nobody := fmt.Sprintf(`verdict="no" reason="" rule="" input= err=%v.`, agent.ErrNobody)
	keysOneByOne := func(k *talk) {
		fd := ttyFd(t, k.tty)
		modes := termios(t, k.tty)
		modes.Lflag &^= unix.ICANON
		modes.Cc[unix.VMIN] = 1
		if err := unix.IoctlSetTermios(fd, setTermios, &modes); err != nil {
			t.Fatal(err)
		}
	}
	for _, before := range []bool{true, false} {
		k, command := startChild(t, "ask")
		if before {
			keysOneByOne(k)
		}
		k.type_("go\n")
		if !before {
			k.expect("(n) ")
			keysOneByOne(k)
			k.type_("y")
		}
		k.expect(taken)
		k.expect(nobody)
		if code := exitOf(t, command); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
}
