package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"artoo/agent"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// Ask implements agent.Callbacks. It shows the question and waits for the line with its answer.
// The end of the input, a hang-up and Ctrl-C are no; Ctrl-C stops the turn as well.
func (c callbacks) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	c.t.showNotifyTrouble()
	at := c.t.asker()
	at.notify = c.t.opt.Notify
	var d dialogue[agent.Answer]
	switch q.Kind {
	case agent.QuestionForm:
		a, err := form(ctx, at, q, c.t.children.programs())
		switch {
		case err == nil || errors.Is(err, prompt.ErrInterrupted):
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		default: // the end of the input cancels
			err = nil
		}
		return a, err
	case agent.QuestionSteps, agent.QuestionLimit:
		d = goOn(at.Screen, q)
	case agent.QuestionChoice, agent.QuestionCompact:
		d = choice(at.Screen, q)
	default:
		d = approval(at.Screen, q, func() ([]byte, error) { return c.t.editCall(ctx, q.Call) })
	}
	a, err := d.ask(ctx, at)
	switch {
	case err == nil || errors.Is(err, prompt.ErrInterrupted):
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case c.t.prompt.Over() != nil:
		err = agent.ErrNobody // the conversation ends, so no one will answer
	case q.Kind == agent.QuestionChoice || q.Kind == agent.QuestionCompact:
		err = nil // Ctrl-D is no answer
	default:
		err = errNoAnswer
	}
	return a, err
}

var errNoAnswer = errors.New("no answer")

// AskOnTTY asks approval questions on the controlling terminal, which the screen's Err must be.
// Where there is none every answer is agent.ErrNobody. notify calls the user for each question;
// it may be nil.
func AskOnTTY(s *screen.Screen, notify *Notifier) func(ctx context.Context, q agent.Question) (agent.Answer, error) {
	return func(ctx context.Context, q agent.Question) (agent.Answer, error) {
		if err := notify.Trouble(); err != nil {
			s.Note("notify: " + err.Error())
		}
		return onTTY(s, notify, func(at asker) (agent.Answer, error) {
			return approval(s, q, func() ([]byte, error) {
				fields := commandFields(q.Call)
				if fields == nil {
					return nil, errors.New("only a command can be edited here; n REASON tells the model what to change")
				}
				return editCommand(q.Call, fields, func(string) (string, error) {
					l, err := at.ask(ctx, prompt.Question{Label: prompt.Label{Text: newCommand}})
					return l.Text, err
				})
			}).ask(ctx, at)
		})
	}
}

// approval is the question whether a call may run, or whether the changes of one land.
// edit lets the user change the call; it returns nil for no change.
func approval(s *screen.Screen, q agent.Question, edit func() (input []byte, err error)) dialogue[agent.Answer] {
	d := confirmation[agent.Answer](s, screen.Approval{Question: q})
	d.read = func(text string) (agent.Answer, meaning, string) { return readApproval(q, text) }
	d.edit = func() (agent.Answer, bool) {
		input, err := edit()
		switch {
		case err != nil:
			s.Note("not edited: " + err.Error())
		case input == nil:
			s.Note("unchanged")
		}
		return agent.Answer{Input: input}, err == nil && input != nil // the agent plans it again, and asks
	}
	d.decided = func(a agent.Answer) { s.Decided(q, a) }
	return d
}

// readApproval is an answer that the question takes.
func readApproval(q agent.Question, text string) (agent.Answer, meaning, string) {
	a, m := parseAnswer(text)
	if key := keyOf(a, m); !slices.Contains(screen.Keys(screen.Approval{Question: q}), key) {
		return agent.Answer{}, unclear, ""
	}
	if q.Kind == agent.QuestionPlan && m == edits { // yes, and edits pass
		return agent.Answer{Verdict: agent.YesForSession}, grants, ""
	}
	if m == grants && a.Verdict != agent.Yes && q.Covers != nil && (a.Rule != "" || !q.OwnPrograms()) {
		if err := q.Covers(cmp.Or(a.Rule, q.Rule)); err != nil {
			return a, m, "not an answer: " + err.Error()
		}
	}
	return a, m, ""
}

// goOn asks whether a turn goes on whose steps are used up, or which has to wait: anything except a yes is no.
func goOn(s *screen.Screen, q agent.Question) dialogue[agent.Answer] {
	return dialogue[agent.Answer]{
		show: func() (string, bool) { return s.GoOn(q), false },
		read: func(text string) (agent.Answer, meaning, string) {
			if a, m := parseAnswer(text); a.Verdict == agent.Yes {
				return a, m, ""
			}
			return agent.Answer{}, declines, ""
		},
	}
}

// choice asks a question with choices. To one of the model's own any other text is the answer.
func choice(s *screen.Screen, q agent.Question) dialogue[agent.Answer] {
	return dialogue[agent.Answer]{
		show: func() (string, bool) { return s.Choice(q), false },
		read: func(text string) (agent.Answer, meaning, string) {
			text, known := chosen(q.Choices, text)
			a, most := agent.Answer{Verdict: agent.Yes, Text: text}, strconv.Itoa(len(q.Choices))
			switch {
			case q.Kind == agent.QuestionCompact && text != "" && !slices.Contains(q.Choices, text):
				return a, unclear, "please answer with a number from 1 to " + most + " (Enter trims)"
			case q.Kind == agent.QuestionCompact && text != "":
				return a, grants, ""
			case !known:
				return a, unclear, "no choice " + text + ": type a number from 1 to " + most + ", or your own words"
			}
			return a, declines, ""
		},
	}
}

// chosen is the choice that was meant by its number or its words, else the text; known is false
// for a number of none.
func chosen(choices []string, text string) (answer string, known bool) {
	text = strings.TrimSpace(text)
	if n, err := strconv.Atoi(text); err == nil && len(choices) > 0 {
		if n < 1 || n > len(choices) {
			return text, false
		}
		return choices[n-1], true
	}
	for _, c := range choices {
		label, _, _ := strings.Cut(c, ":")
		if text != "" && (strings.EqualFold(text, c) || strings.EqualFold(text, label)) {
			return c, true
		}
	}
	return text, true
}

func callInput(call agent.Call) string {
	var b bytes.Buffer
	if json.Indent(&b, call.Input, "", "  ") != nil {
		return string(call.Input)
	}
	return b.String()
}

// editCall lets the user change a call: its command, or else its whole input. It returns nil
// when nothing was changed.
func (t *Terminal) editCall(ctx context.Context, call agent.Call) ([]byte, error) {
	if fields := commandFields(call); fields != nil {
		return editCommand(call, fields, func(command string) (string, error) {
			text, err := t.children.editText(ctx, command, ".sh")
			if errors.Is(err, errNoEditor) {
				return t.editLine(ctx, command)
			}
			return text, err
		})
	}
	text, err := t.children.editText(ctx, callInput(call), ".json")
	if err != nil || text == callInput(call) {
		return nil, err
	}
	if !json.Valid([]byte(text)) {
		return nil, errors.New("the input is not JSON any more")
	}
	return []byte(text), nil
}

// commandFields is the input of a call whose command is one of its fields, nil for another.
func commandFields(call agent.Call) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if call.Access.Command == "" || json.Unmarshal(call.Input, &fields) != nil || fields["command"] == nil {
		return nil
	}
	return fields
}

// editCommand changes the command of a call, whose input these fields are, by edit. It returns
// nil when the command stays, or is empty.
func editCommand(call agent.Call, fields map[string]json.RawMessage, edit func(command string) (string, error)) ([]byte, error) {
	text, err := edit(call.Access.Command)
	text = strings.TrimRight(text, "\n")
	if err != nil || text == call.Access.Command || strings.TrimSpace(text) == "" {
		return nil, err
	}
	if fields["command"], err = json.Marshal(text); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// newCommand asks for a command where a line cannot begin with the old one.
const newCommand = "new command (an empty line changes nothing): "

// editLine edits a command without an editor, on a line that begins with it where it can.
func (t *Terminal) editLine(ctx context.Context, command string) (string, error) {
	label := "command: "
	if !t.prompt.Edits() {
		label = newCommand
	}
	l, err := t.prompt.Ask(ctx, prompt.Question{Label: prompt.Label{Text: label}, Initial: command})
	if err != nil {
		return "", errors.New("no command was given")
	}
	return l.Text, nil
}

// askTrust asks the first questions, if there are any; no answer asks again the next time.
func (t *Terminal) askTrust(ctx context.Context) error {
	for next := t.opt.Trust; next != nil; {
		t.showNotifyTrouble()
		at := t.asker()
		at.notify = t.opt.Notify
		yes, err := yesOrNo(t.screen, next.Question).ask(ctx, at)
		if err != nil {
			return nil // the end of the input ends the conversation at its prompt
		}
		if next, err = next.Answered(yes); err != nil {
			return err
		}
	}
	return nil
}

// ConfirmOnTTY asks the question on the controlling terminal, which the screen's Err must be;
// agent.ErrNobody without one.
func ConfirmOnTTY(ctx context.Context, s *screen.Screen, q screen.YesNo) (yes bool, err error) {
	return onTTY(s, nil, func(at asker) (bool, error) { return yesOrNo(s, q).ask(ctx, at) })
}

func (t *Terminal) asker() asker {
	if t.program != nil { // A command of a program's asks no one.
		return asker{Screen: t.screen, page: t.screen.Block, ask: func(context.Context, prompt.Question) (prompt.Line, error) {
			return prompt.Line{}, io.EOF
		}}
	}
	return asker{Screen: t.screen, ask: t.prompt.Ask, page: func(text string) {
		if err := t.children.page(text); err != nil { // then it was printed
			t.screen.Trouble("pager: " + err.Error())
		}
	}}
}

// choose asks in the conversation. Ctrl-C and the end of the input are an empty line. A slash command ends it and
// stands at the next prompt.
func (t *Terminal) choose(ctx context.Context, c choices) (int, error) {
	t.initial = prompt.Draft{}
	c.command = &t.initial.Text
	i, err := c.dialogue(t.screen).ask(ctx, t.asker())
	if errors.Is(err, io.EOF) || errors.Is(err, prompt.ErrInterrupted) {
		return nothingChosen, nil
	}
	return i, err
}

// showNotifyTrouble says once that notifications do not work.
func (t *Terminal) showNotifyTrouble() {
	if err := t.opt.Notify.Trouble(); err != nil {
		t.screen.OnNotice(agent.Notice{Kind: agent.NoticeWarning, Text: "notify: " + err.Error()})
	}
}
