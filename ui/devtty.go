package ui

import (
	"bytes"
	"context"
	"os"
	"time"

	"artoo/agent"
	"artoo/ui/screen"
)

// AskOnTTY asks approval questions on the controlling terminal, for runs whose
// standard input is something else, as sudo and ssh do. The screen's Err must be
// that terminal. What was typed before a question stood there is thrown away.
// Where there is no controlling terminal every answer is agent.ErrNobody.
func AskOnTTY(s *screen.Screen) func(ctx context.Context, q agent.Question) (agent.Answer, error) {
	return func(ctx context.Context, q agent.Question) (agent.Answer, error) {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return agent.Answer{}, agent.ErrNobody
		}
		defer tty.Close()
		a := ttyAsker{screen: s, tty: tty}
		return a.ask(ctx, q)
	}
}

type ttyAsker struct {
	screen *screen.Screen
	tty    *os.File
}

func (a ttyAsker) ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	prompt := a.screen.Question(q)
	for {
		if err := flushInput(a.tty); err != nil {
			return agent.Answer{}, agent.ErrNobody
		}
		a.screen.Prompt(prompt)
		text, burst, err := a.readLine(ctx)
		a.screen.PromptDone()
		if err != nil {
			return agent.Answer{}, err
		}
		r := parseAnswer(text)
		switch {
		case r.approves() && burst:
			a.screen.Line("  pasted text approves nothing: type the answer, then Enter")
		case r.step == stepDecide:
			a.screen.Decided(q, r.answer)
			return r.answer, nil
		case r.step == stepHelp:
			a.screen.QuestionHelp(q)
		case r.step == stepPage:
			a.screen.Block(callText(q.Call))
		case r.step == stepEdit:
			a.screen.Line("  editing needs a conversation: run artoo without a pipe")
		default:
			a.screen.Line("  please answer y, n, a, A, p, q or ? (Enter means n)")
		}
	}
}

// readLine reads one line. burst says that more followed it at once: nobody
// types that fast, it was pasted. The end of the input is an empty line: no. No
// read is ever left behind: it would take the next line from whoever it is for.
func (a ttyAsker) readLine(ctx context.Context) (text string, burst bool, err error) {
	for {
		ready, err := readable(a.tty, 100*time.Millisecond)
		switch {
		case ctx.Err() != nil:
			return "", false, context.Cause(ctx)
		case err != nil:
			return "", false, agent.ErrNobody
		case !ready:
			continue
		}
		buf := make([]byte, 4096) // a terminal gives a line at a time, at most this long
		n, err := a.tty.Read(buf)
		if err != nil {
			return "", false, nil
		}
		line, rest, _ := bytes.Cut(buf[:n], []byte("\n"))
		more, err := readable(a.tty, 20*time.Millisecond)
		return string(line), len(rest) > 0 || more || err != nil, nil
	}
}
