package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"artoo/agent"
	"artoo/ui/sanitize"
)

// ask puts a question to the client. agent.Question.Read decides the meaning of the answer.
func (s *session) ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	switch {
	case q.Kind == agent.QuestionForm || q.Kind == agent.QuestionChoice && (s.elicits() || q.Choices == nil):
		return s.elicit(ctx, q)
	case q.Kind == agent.QuestionChoice || q.Kind == agent.QuestionCompact:
		return s.choose(ctx, q)
	}
	answers := answersOf(q)
	call, whole := questioned(q)
	if !whole {
		return agent.Answer{Reason: "the call is too long to be shown in an editor"}, nil
	}
	var options []option
	for _, a := range answers {
		options = append(options, option{a.verdict.String(), a.name, a.kind})
	}
	id, err := s.permission(ctx, call, options)
	if err != nil || id == "" {
		return agent.Answer{}, err
	}
	return q.Read(agent.AnswerEvent{ID: q.ID, Answer: id})
}

// permission asks which of the options holds; "" for none.
func (s *session) permission(ctx context.Context, call toolCall, options []option) (id string, err error) {
	var out permissionResponse
	if err := s.server.wire.call(ctx, "session/request_permission", permissionRequest{s.id, call, options}, &out); err != nil {
		return "", err
	}
	if out.Outcome.Outcome != "selected" || !slices.ContainsFunc(options, func(o option) bool { return o.ID == out.Outcome.OptionID }) {
		return "", nil
	}
	return out.Outcome.OptionID, nil
}

// answer is an answer that the client may choose.
type answer struct {
	verdict    agent.Verdict
	name, kind string
}

// answersOf are the answers to a question, of those it takes. A turn is stopped by session/cancel.
func answersOf(q agent.Question) (list []answer) {
	var noes []answer // They come last.
	add := func(v agent.Verdict, kind, name string) {
		list = append(list, answer{v, sanitize.Text(name, sanitize.Line), kind})
	}
	lasts := q.Rule != "" && (q.Covers == nil || q.Covers(q.Rule) == nil)
	for _, v := range q.Verdicts() {
		switch {
		case v == agent.Yes && q.Kind == agent.QuestionPlan:
			add(v, "allow_once", "yes, in mode "+string(q.Then))
		case v == agent.Yes:
			add(v, "allow_once", "yes")
		case v == agent.YesForSession && q.Kind == agent.QuestionPlan:
			add(v, "allow_always", "yes, in mode edits")
		case v == agent.YesFresh:
			add(v, "allow_once", "yes, with a fresh context")
		case v == agent.YesForSession && q.OwnPrograms():
			add(v, "allow_always", "always in this session: the project's own programs, in the sandbox")
		case v == agent.YesForever && q.OwnPrograms():
			add(v, "allow_always", "always here: the project's own programs, in the sandbox")
		case v == agent.YesForSession && lasts:
			add(v, "allow_always", "always in this session: "+q.Rule)
		case v == agent.YesForever && lasts:
			add(v, "allow_always", "always here: "+q.Rule)
		case v == agent.No:
			noes = append(noes, answer{v, "no", "reject_once"})
		}
	}
	return append(list, noes...)
}

// questioned is the call that a question is about, as the client shows it; whole reports whether that
// is all that a yes would approve.
func questioned(q agent.Question) (call toolCall, whole bool) {
	call = callOf(q.Call)
	call.ID = cmp.Or(call.ID, q.ID)
	call.Status, call.Title = "pending", sanitize.Text(cutText(q.Title(), mostTitle), sanitize.Line)
	if q.Call.Access.Command != "" { // whole: the user approves it
		call.Content = append(call.Content, textContent(q.Call.Access.Command))
	}
	more := q.Detail()
	if _, whole := diffs(q.Call.Access); !whole {
		more = strings.TrimPrefix(more+"\n"+q.Call.Access.Diff, "\n")
	}
	if more != "" {
		call.Content = append(call.Content, textContent(more))
	}
	data, err := json.Marshal(call)
	return call, err == nil && max(len(more), len(q.Call.Access.Command)) <= mostText && len(q.Call.Input) <= mostInput && len(data) < maxOut-mostTitle
}

// choose asks for one of the choices of a question.
func (s *session) choose(ctx context.Context, q agent.Question) (agent.Answer, error) {
	var options []option
	for i, choice := range q.Choices {
		options = append(options, option{strconv.Itoa(i), oneLine(cutText(choice, mostTitle)), "allow_once"})
	}
	options = append(options, option{"no", "no answer", "reject_once"})
	call, _ := questioned(q)
	id, err := s.permission(ctx, call, options)
	i, numbered := strconv.Atoi(id)
	if err != nil || numbered != nil {
		return agent.Answer{}, err
	}
	return q.Read(agent.AnswerEvent{ID: q.ID, Answer: agent.Yes.String(), Text: q.Choices[i]})
}

// elicits reports whether the client shows forms.
func (s *session) elicits() bool {
	return s.client.Elicitation != nil && s.client.Elicitation.Form != nil
}

// elicit asks with a form, or for consent to open an address. agent.ErrNobody where the client
// cannot show it.
func (s *session) elicit(ctx context.Context, q agent.Question) (agent.Answer, error) {
	request := elicitation{SessionID: s.id, CallID: q.Call.ID, Mode: "form", Message: sanitize.Text(cutText(q.Title(), mostText), sanitize.Prose)}
	can := s.elicits()
	switch {
	case q.Kind == agent.QuestionChoice:
		request.Schema = choiceSchema(q.Choices)
	case q.Form.URL != "":
		request.Mode, request.ID, request.URL = "url", q.ID, q.Form.URL
		can = s.client.Elicitation != nil && s.client.Elicitation.URL != nil
	default:
		request.Schema = q.Form.Schema
	}
	if !can {
		return agent.Answer{}, agent.ErrNobody
	}
	var out elicited
	if err := s.server.wire.call(ctx, "elicitation/create", request, &out); err != nil {
		return agent.Answer{}, err
	}
	given := agent.AnswerEvent{ID: q.ID, Answer: agent.No.String()}
	switch {
	case out.Action == "accept" && q.Kind == agent.QuestionChoice:
		var content struct{ Choice, Answer string }
		if err := json.Unmarshal(out.Content, &content); err != nil {
			return agent.Answer{}, errors.New("the editor's answer does not fit the form")
		}
		if given.Text = cmp.Or(content.Answer, content.Choice); given.Text != "" {
			given.Answer = agent.Yes.String()
		}
	case out.Action == "accept":
		given.Answer = agent.Yes.String()
		if request.Mode == "form" {
			given.Input = out.Content
		}
	case q.Kind == agent.QuestionForm && out.Action != "decline":
		given.Answer = agent.Cancel.String()
	}
	answer, err := q.Read(given)
	if err != nil {
		return answer, fmt.Errorf("the editor's answer is ignored: %w", err)
	}
	return answer, nil
}

// choiceSchema is a form for the model's own question.
func choiceSchema(choices []string) json.RawMessage {
	fields := map[string]any{"answer": map[string]string{"type": "string", "title": "Answer"}}
	if len(choices) > 0 {
		fields["choice"] = map[string]any{"type": "string", "title": "Choices", "enum": choices}
		fields["answer"] = map[string]string{"type": "string", "title": "Or another answer"}
	}
	data, _ := json.Marshal(map[string]any{"type": "object", "properties": fields}) // It cannot fail.
	return data
}
