package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"artoo/agent"
)

// Ask implements agent.Callbacks. It shows the question and waits for a line
// with its answer: whatever was typed before it stood there counts as a
// message, never as an answer. The end of the input, a hang-up and Ctrl-C are
// no; Ctrl-C stops the turn as well. Called by the agent's goroutine.
func (t *Terminal) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	prompt := t.Question(q)
	for {
		l, err := t.console.ask(ctx, prompt, "")
		if err != nil {
			return agent.Answer{}, t.unanswered(ctx, q, err)
		}
		r := parseAnswer(l.text)
		if r.approves() && l.burst {
			t.Note("pasted text approves nothing: type the answer, then Enter")
			continue
		}
		switch r.step {
		case stepDecide:
			t.Decided(q, r.answer)
			return r.answer, nil
		case stepEdit:
			input, err := t.editCall(ctx, q.Call)
			switch {
			case err != nil:
				t.Note("not edited: " + err.Error())
			case input != nil:
				return agent.Answer{Input: input}, nil // the agent plans it anew, and asks again
			default:
				t.Note("unchanged")
			}
		case stepPage:
			if err := t.page(t.QuestionAll(q)); err != nil {
				t.Note("pager: " + err.Error())
			}
		case stepHelp:
			t.QuestionHelp(q)
		default:
			t.Note("please answer y, n, a, A, e, p, q or ? (Enter means n)")
		}
	}
}

// unanswered says what a question without an answer means to the agent.
func (t *Terminal) unanswered(ctx context.Context, q agent.Question, err error) error {
	t.Decided(q, agent.Answer{})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errInterrupted):
		return err
	case t.console.over() != nil:
		return agent.ErrNobody // and nobody will be
	}
	return errNoAnswer
}

// errNoAnswer is Ctrl-D at a question.
var errNoAnswer = errors.New("no answer")

// callText is all that a call will do.
func callText(call agent.Call) string {
	switch {
	case call.Access.Command != "":
		return call.Access.Command
	case call.Access.Diff != "":
		return call.Access.Diff
	}
	var b bytes.Buffer
	if json.Indent(&b, call.Input, "", "  ") != nil {
		return string(call.Input)
	}
	return b.String()
}

// editCall lets the person change a call: the command of one that runs
// something, else its whole input. It returns nil when nothing was changed.
func (t *Terminal) editCall(ctx context.Context, call agent.Call) ([]byte, error) {
	if call.Access.Command != "" {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(call.Input, &fields); err != nil {
			return nil, err
		}
		if _, ok := fields["command"]; ok {
			return t.editCommand(ctx, call.Access.Command, fields)
		}
	}
	text, err := t.editText(ctx, callInput(call), ".json")
	if err != nil || text == callInput(call) {
		return nil, err
	}
	if !json.Valid([]byte(text)) {
		return nil, errors.New("the input is not JSON any more")
	}
	return []byte(text), nil
}

func callInput(call agent.Call) string {
	call.Access.Command, call.Access.Diff = "", ""
	return callText(call)
}

func (t *Terminal) editCommand(ctx context.Context, command string, fields map[string]json.RawMessage) ([]byte, error) {
	text, err := t.editText(ctx, command, ".sh")
	if errors.Is(err, errNoEditor) {
		text, err = t.editLine(ctx, command)
	}
	text = strings.TrimRight(text, "\n")
	if err != nil || text == command || strings.TrimSpace(text) == "" {
		return nil, err
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	fields["command"] = raw
	return json.Marshal(fields)
}

// editLine edits a command where there is no editor: on a line that begins with
// it, or, where lines come as they are, on a new one.
func (t *Terminal) editLine(ctx context.Context, command string) (string, error) {
	prompt := "command: "
	if t.console.modes == nil {
		prompt = "new command (an empty line changes nothing): "
	}
	l, err := t.console.ask(ctx, prompt, command)
	if err != nil {
		return "", errors.New("no command was given")
	}
	return l.text, nil
}

// page shows safe text in the pager, or prints it where there is none.
func (t *Terminal) page(text string) error {
	argv := t.pager()
	if argv == nil {
		t.Block(text)
		return nil
	}
	err := t.child(argv, pagerEnviron(t.opt.Environ), strings.NewReader(text))
	if err != nil {
		t.Block(text)
		return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return nil
}
