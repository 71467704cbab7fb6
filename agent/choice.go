package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"artoo/tool"
)

type askUserInput struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices,omitempty" jsonschema:"answers to choose from; others can be typed"`
}

// AskUser is the name of the tool that asks the user something.
const AskUser = "ask_user"

// askUserTool is the tool that asks the user something.
func askUserTool() tool.Tool {
	return tool.New(tool.Def{Name: AskUser, Kind: tool.KindNone, Mend: mendAskUser,
		Description: "Ask the user what only they can decide, and wait for the answer. Not for leave to call a tool."},
		func(_ context.Context, _ *tool.Env, in askUserInput) (tool.Access, error) {
			if strings.TrimSpace(in.Question) == "" {
				return tool.Access{}, errors.New("ask_user: question is empty")
			}
			return tool.Access{Kind: tool.KindNone, Verb: "ask", Object: firstLine(in.Question)}, nil
		}, nil)
}

// mendAskUser takes the questions of other programs, each with options that have a
// label. One stays a question with choices; several become one text.
func mendAskUser(fields map[string]json.RawMessage) bool {
	type asked struct {
		Question string
		Options  []json.RawMessage
		Choices  []json.RawMessage
	}
	var list []asked
	if fields["follow_up"] != nil && fields["options"] == nil { // Roo
		fields["options"] = fields["follow_up"]
	}
	if fields["question"] != nil {
		var one asked
		if json.Unmarshal(fields["question"], &one.Question) != nil ||
			fields["options"] == nil || json.Unmarshal(fields["options"], &one.Options) != nil {
			return false
		}
		list = []asked{one}
	} else if json.Unmarshal(fields["questions"], &list) != nil || len(list) == 0 {
		return false
	}
	in := askUserInput{}
	for i, q := range list {
		var choices []string
		for _, o := range append(q.Options, q.Choices...) {
			choices = append(choices, choiceText(o))
		}
		if len(list) == 1 {
			in = askUserInput{Question: q.Question, Choices: choices}
			break
		}
		in.Question += fmt.Sprintf("%d. %s", i+1, q.Question)
		if len(choices) > 0 {
			in.Question += " (" + strings.Join(choices, " / ") + ")"
		}
		in.Question += "\n"
	}
	mended, err := json.Marshal(in)
	if err != nil {
		return false
	}
	clear(fields)
	return json.Unmarshal(mended, &fields) == nil
}

// choiceText is a choice that is a text, or an object with a label.
func choiceText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var of map[string]any
	if json.Unmarshal(raw, &of) != nil {
		return string(raw)
	}
	text = textOf(of, "label", "text", "value", "name")
	if about := textOf(of, "description"); about != "" {
		text += ": " + about
	}
	return text
}

// runAskUser asks, and gives the model the answer.
func (t *turn) runAskUser(ctx context.Context, p *pending) (tool.Result, error) {
	in, err := tool.Decode[askUserInput](*p.tool, p.call.Input)
	if err != nil {
		return tool.Result{}, err
	}
	answer, err := t.askAfter(ctx, p, Question{Kind: QuestionChoice, Text: in.Question, Choices: in.Choices})
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	case errors.Is(err, ErrNobody):
		return tool.Result{}, fmt.Errorf("%w: decide yourself, and say what you decided", ErrNobody)
	case err != nil:
		return tool.Result{}, err
	case answer.Verdict == StopTurn:
		p.stop = ErrStopped
		return tool.Result{Text: "The user stopped the turn.", Summary: "stopped"}, nil
	case answer.Text == "":
		return tool.Result{Text: "The user gave no answer.", Summary: "no answer"}, nil
	}
	return tool.Result{Text: "The user answers: " + answer.Text, Summary: firstLine(answer.Text)}, nil
}
