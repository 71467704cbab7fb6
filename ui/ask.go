package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"artoo/agent"
	"artoo/ui/screen"
)

// Ask implements agent.Callbacks. It shows the question and waits for a line
// with its answer: whatever was typed before it stood there counts as a
// message, never as an answer. The end of the input, a hang-up and Ctrl-C are
// no; Ctrl-C stops the turn as well. Called by the agent's goroutine.
func (t *Terminal) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	t.tellNotify()
	switch q.Kind {
	case agent.QuestionSteps:
		return t.askGoOn(ctx, q)
	case agent.QuestionChoice, agent.QuestionCompact:
		return t.askChoice(ctx, q)
	}
	prompt := t.Question(q)
	return askApproval(t.Screen, t.opt.Notify, q, asker{
		line: func() (string, bool, error) {
			l, err := t.console.ask(ctx,
				lineRequest{prompt: prompt, again: func() string { prompt = t.Question(q); return prompt }})
			if err != nil {
				err = t.unanswered(ctx, err)
			}
			return l.text, l.burst, err
		},
		edit: func() ([]byte, error) { return t.editCall(ctx, q.Call) },
		page: func(text string) {
			if err := t.page(text); err != nil { // then it was printed
				t.Note("pager: " + err.Error())
			}
		},
	})
}

// asker is the place where a question is asked.
type asker struct {
	line func() (text string, burst bool, err error) // shows the prompt and waits for an answer
	edit func() (input []byte, err error)            // lets the user change the call; nil for no change
	page func(text string)
}

// askApproval asks until there is an answer. The question stands on the screen.
func askApproval(s *screen.Screen, notify *Notifier, q agent.Question, a asker) (agent.Answer, error) {
	unseen := s.Unseen(q)
	notify.Question()
	for {
		text, burst, err := a.line()
		if err != nil {
			s.Decided(q, agent.Answer{})
			return agent.Answer{}, err
		}
		r := parseAnswer(text).to(q)
		if why := r.refused(q, burst, unseen); why != "" {
			s.Note(why)
			continue
		}
		switch r.step {
		case stepDecide:
			s.Decided(q, r.answer)
			return r.answer, nil
		case stepEdit:
			input, err := a.edit()
			switch {
			case err != nil:
				s.Note("not edited: " + err.Error())
			case input != nil:
				return agent.Answer{Input: input}, nil // the agent plans it anew, and asks again
			default:
				s.Note("unchanged")
			}
		case stepPage:
			a.page(s.QuestionAll(q))
			unseen = false
		case stepHelp:
			s.QuestionHelp(q)
		default:
			s.Note(answersThereAre(q))
		}
	}
}

// askGoOn asks whether a turn goes on. Nothing runs by the answer alone: anything
// but a yes is no.
func (t *Terminal) askGoOn(ctx context.Context, q agent.Question) (agent.Answer, error) {
	prompt := screen.GoOn(q)
	t.opt.Notify.Question()
	l, err := t.console.ask(ctx, lineRequest{prompt: prompt, again: func() string { return prompt }})
	switch {
	case err != nil && ctx.Err() != nil:
		return agent.Answer{}, context.Cause(ctx)
	case err != nil:
		return agent.Answer{}, err
	}
	if r := parseAnswer(l.text); r.step == stepDecide && r.answer.Verdict == agent.Yes && !l.burst {
		return agent.Answer{Verdict: agent.Yes}, nil
	}
	return agent.Answer{}, nil
}

// unanswered says what a question without an answer means to the agent.
func (t *Terminal) unanswered(ctx context.Context, err error) error {
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

// callInput is a call's input, laid out for people.
func callInput(call agent.Call) string {
	var b bytes.Buffer
	if json.Indent(&b, call.Input, "", "  ") != nil {
		return string(call.Input)
	}
	return b.String()
}

// editCall lets the user change a call: the command of one that runs
// something, else its whole input. It returns nil when nothing was changed.
func (t *Terminal) editCall(ctx context.Context, call agent.Call) ([]byte, error) {
	if isCommand(call) {
		return editCommand(call, func(command string) (string, error) {
			text, err := t.editText(ctx, command, ".sh")
			if errors.Is(err, errNoEditor) {
				return t.editLine(ctx, command)
			}
			return text, err
		})
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

// isCommand reports whether what a call runs is one field of its input.
func isCommand(call agent.Call) bool {
	var fields map[string]json.RawMessage
	return call.Access.Command != "" && json.Unmarshal(call.Input, &fields) == nil && fields["command"] != nil
}

// editCommand changes the command of a call by edit, and nothing else of its
// input. It returns nil when the command stays, or when nothing is left of it.
func editCommand(call agent.Call, edit func(command string) (string, error)) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(call.Input, &fields); err != nil {
		return nil, err
	}
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

// editLine edits a command where there is no editor: on a line that begins with
// it, or, where lines come as they are, on a new one.
func (t *Terminal) editLine(ctx context.Context, command string) (string, error) {
	prompt := "command: "
	if t.console.modes == nil {
		prompt = newCommand
	}
	l, err := t.console.ask(ctx, lineRequest{prompt: prompt, initial: command})
	if err != nil {
		return "", errors.New("no command was given")
	}
	return l.text, nil
}

// step is what the asker does next with an answer.
type step uint8

const (
	stepAgain  step = iota // not understood: ask again
	stepDecide             // the answer is in reply.answer
	stepEdit
	stepPage
	stepHelp
)

// reply is an answer to an approval question, understood.
type reply struct {
	step   step
	answer agent.Answer
}

// parseAnswer understands what was typed at an approval question. Nothing but
// an explicit yes approves: an empty line is no, what is unknown asks again.
// Letters count as they are, since a and A differ; words in any case.
func parseAnswer(text string) reply {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	if len(word) > 1 {
		word = strings.ToLower(word)
	}
	decide := func(v agent.Verdict) reply { return reply{stepDecide, agent.Answer{Verdict: v}} }
	switch word {
	case "":
		return decide(agent.No)
	case "n!", "no!":
		return reply{stepDecide, agent.Answer{Verdict: agent.Withhold, Reason: rest}}
	case "n", "no":
		return reply{stepDecide, agent.Answer{Verdict: agent.No, Reason: rest}}
	case "a", "always":
		return reply{stepDecide, agent.Answer{Verdict: agent.YesForSession, Rule: rest}}
	case "A", "forever":
		return reply{stepDecide, agent.Answer{Verdict: agent.YesForever, Rule: rest}}
	}
	if rest != "" { // "yes but not now" is no yes
		return reply{}
	}
	switch word {
	case "y", "yes":
		return decide(agent.Yes)
	case "q", "quit":
		return decide(agent.StopTurn)
	case "e", "edit", "edits":
		return reply{step: stepEdit}
	case "p", "page":
		return reply{step: stepPage}
	case "?", "help":
		return reply{step: stepHelp}
	}
	return reply{}
}

// approves says whether the answer lets something run.
func (r reply) approves() bool {
	v := r.answer.Verdict
	return r.step == stepDecide && (v == agent.Yes || v == agent.YesForSession || v == agent.YesForever)
}

// to is the answer as far as the question takes it: no rule stands for what a
// command did, and none lets one out of the sandbox.
func (r reply) to(q agent.Question) reply {
	v := r.answer.Verdict
	switch q.Kind {
	case agent.QuestionPlan:
		if r.step == stepEdit { // yes, and edits pass
			return reply{stepDecide, agent.Answer{Verdict: agent.YesForSession}}
		}
		if v == agent.YesForSession || v == agent.YesForever || v == agent.Withhold {
			return reply{}
		}
	case agent.QuestionChanges:
		if v == agent.YesForever || r.step == stepEdit || v == agent.YesForSession && (r.answer.Rule != "" || !q.Lasts) {
			return reply{}
		}
	case agent.QuestionOutside, agent.QuestionWhole:
		if v == agent.YesForever || v == agent.YesForSession || v == agent.Withhold || r.step == stepEdit {
			return reply{}
		}
	default:
		if v == agent.Withhold {
			return reply{}
		}
	}
	return r
}

// answersThereAre is said to what is none of them.
func answersThereAre(q agent.Question) string {
	switch q.Kind {
	case agent.QuestionChanges:
		if !q.Lasts {
			return "please answer y, n, n!, p, q or ? (Enter means n)"
		}
		return "please answer y, n, n!, a, p, q or ? (Enter means n)"
	case agent.QuestionOutside, agent.QuestionWhole:
		return "please answer y, n, p, q or ? (Enter means n)"
	case agent.QuestionPlan:
		return "please answer y, e, n, p, q or ? (Enter means n)"
	}
	return "please answer y, n, a, A, e, p, q or ? (Enter means n)"
}

// refused says why an answer that would let something run does not: a part of
// it was pasted (burst), a part of what it allows was not shown yet (unseen), or
// its rule does not cover the call. It is "" for every other answer.
func (r reply) refused(q agent.Question, burst, unseen bool) string {
	switch {
	case !r.approves():
		return ""
	case burst:
		return lookedPasted
	case unseen:
		return notAllShown
	case r.answer.Verdict == agent.Yes, q.Covers == nil, q.OwnPrograms() && r.answer.Rule == "":
		return ""
	}
	rule := cmp.Or(r.answer.Rule, q.Rule)
	if err := q.Covers(rule); err != nil {
		return "not an answer: " + err.Error()
	}
	return ""
}
