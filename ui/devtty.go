package ui

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"artoo/agent"
	"artoo/ui/screen"
)

// AskOnTTY asks approval questions on the controlling terminal, for runs whose
// standard input is something else, as sudo and ssh do. The screen's Err must be
// that terminal. What was typed before a question stood there is thrown away.
// Where there is no controlling terminal every answer is agent.ErrNobody. notify
// calls the user for each question; it may be nil.
func AskOnTTY(s *screen.Screen, notify *Notifier) func(ctx context.Context, q agent.Question) (agent.Answer, error) {
	return func(ctx context.Context, q agent.Question) (agent.Answer, error) {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return agent.Answer{}, agent.ErrNobody
		}
		defer tty.Close()
		a := ttyAsker{screen: s, tty: tty, notify: notify}
		return a.ask(ctx, q)
	}
}

type ttyAsker struct {
	screen *screen.Screen
	tty    *os.File
	notify *Notifier
}

func (a ttyAsker) ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	if err := a.notify.Trouble(); err != nil {
		a.screen.Note("notify: " + err.Error())
	}
	prompt := a.screen.Question(q)
	return askApproval(a.screen, a.notify, q, asker{
		line: func() (string, bool, error) { return a.line(ctx, prompt) },
		edit: func() ([]byte, error) { return a.edit(ctx, q.Call) },
		page: a.screen.Block, // a pager would take the Ctrl-C that stops the run
	})
}

// edit takes a new command on a line; there is no editor beside a pipe. An
// error of the terminal comes back at the next question.
func (a ttyAsker) edit(ctx context.Context, call agent.Call) ([]byte, error) {
	if !isCommand(call) {
		return nil, errors.New("only a command can be edited here; n REASON tells the model what to change")
	}
	return editCommand(call, func(string) (string, error) {
		text, _, err := a.line(ctx, newCommand)
		return text, err
	})
}

// line shows a prompt and reads the line that is typed after it.
func (a ttyAsker) line(ctx context.Context, prompt string) (text string, burst bool, err error) {
	if !inLines(a.tty) {
		return "", false, a.taken()
	}
	if err := flushInput(a.tty); err != nil {
		return "", false, agent.ErrNobody
	}
	a.screen.Prompt(prompt)
	defer a.screen.PromptDone()
	return a.readLine(ctx)
}

// taken says that the keys typed are another program's, such as those of a pager
// at the end of the pipe: one of them must not become an answer.
func (a ttyAsker) taken() error {
	a.screen.Note("another program has the terminal, such as a pager: the question cannot be asked")
	return agent.ErrNobody
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
		case !inLines(a.tty):
			return "", false, a.taken()
		}
		buf := make([]byte, 4096) // a terminal gives a line at a time, at most this long
		n, err := a.tty.Read(buf)
		if err != nil {
			return "", false, nil
		}
		line, rest, whole := bytes.Cut(buf[:n], []byte("\n"))
		if !whole { // Ctrl-D: no Enter was pressed
			return "", false, nil
		}
		more, err := readable(a.tty, 20*time.Millisecond)
		return string(line), len(rest) > 0 || more || err != nil, nil
	}
}
