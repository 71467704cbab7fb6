package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"artoo/provider"
	"artoo/tool/extension"
	"artoo/tool/text"
)

// AskProgram is a program of the user's that answers questions in their place.
type AskProgram struct {
	Path    string        // a name on PATH, or absolute
	Timeout time.Duration // One answer may take so long.
}

// maxProgramAnswer is the longest answer of an ask program, in bytes.
const maxProgramAnswer = 64 << 10

// AskProgram has the program answer the question, as hooks are run: it gets the QuestionEvent on its
// standard input. It may be called by Callbacks.Ask. An error that is ErrNobody names why the answer is none. A plan is
// the user's to approve.
func (a *Agent) AskProgram(ctx context.Context, p AskProgram, q Question) (Answer, error) {
	if q.Kind == QuestionPlan {
		return Answer{}, ErrNobody
	}
	s := a.session
	data, err := json.Marshal(q.Event())
	if err != nil {
		return Answer{}, hookError{err}
	}
	k := hook{Hook: extension.Hook{Origin: extension.Origin{Source: extension.SourceUser, Place: "ask_program"}, On: extension.OnQuestion,
		Command: []string{p.Path}, Timeout: p.Timeout}}
	end, err := s.hooks.run(ctx, s, k, append(data, '\n'))
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	var answer Answer
	if err == nil {
		answer, err = k.readProgram(end, q)
	}
	if err != nil {
		return Answer{From: FromProgram}, hookError{fmt.Errorf("the ask program %s: %w", p.Path, err)}
	}
	answer.By = p.Path
	return answer, nil
}

// readProgram is the answer of an ask program that has ended. The error is of one that is not clear.
func (k hook) readProgram(end hookEnd, q Question) (Answer, error) {
	out := bytes.TrimSpace(end.out)
	switch {
	case !end.late && end.exit.Signal == "" && end.exit.Code == 2:
		return Answer{}, errors.New("exit status 2") // A hook's no, and a usage error of most programs.
	case len(out) > maxProgramAnswer:
		return Answer{}, fmt.Errorf("its answer is longer than %s", text.Bytes(maxProgramAnswer))
	}
	end.out = nil
	if _, err := k.read(end); err != nil {
		return Answer{}, err
	}
	var said struct {
		Answer string          `json:"answer"`
		Input  json.RawMessage `json:"input"`
		Text   string          `json:"text"`
		Reason string          `json:"reason"`
	}
	switch word := string(out); word {
	case "yes", "no":
		said.Answer = word
	case "y":
		said.Answer = "yes"
	case "n":
		said.Answer = "no"
	default:
		if key, twice := provider.AmbiguousKey(out); twice {
			return Answer{}, fmt.Errorf("its answer has the key %q twice", key)
		}
		d := json.NewDecoder(bytes.NewReader(out))
		d.DisallowUnknownFields()
		if err := d.Decode(&said); err != nil {
			return Answer{}, errors.New("its answer is neither yes nor no, nor an object with answer")
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return Answer{}, errors.New("its answer is more than one JSON object")
		}
		if said.Answer != "yes" && said.Answer != "no" {
			return Answer{}, fmt.Errorf("its answer %q is neither yes nor no", text.Clip(said.Answer, 40))
		}
	}
	return q.Read(AnswerEvent{ID: q.ID, Answer: said.Answer, Input: said.Input, Text: said.Text, Reason: said.Reason})
}
