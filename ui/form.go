package ui

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"artoo/agent"
	"artoo/tool/mcp"
	"artoo/ui/screen"
)

// form asks the questions of an MCP server: the fields of a form one by one, or whether to open an
// address, in a browser that gets environ. Ctrl-C cancels, and stops the turn as well.
func form(ctx context.Context, at asker, q agent.Question, environ []string) (agent.Answer, error) {
	cancelled := agent.Answer{Form: mcp.Answer{Action: mcp.Cancel}}
	if q.Form.URL != "" {
		yes, err := yesOrNo(at.Screen, screen.AddressQuestion{Server: q.Form.Server, Message: q.Form.Message, URL: q.Form.URL}).ask(ctx, at)
		if err != nil {
			return cancelled, err
		}
		if !yes {
			return agent.Answer{Form: mcp.Answer{Action: mcp.Decline}}, nil
		}
		if program, err := OpenBrowser(q.Form.URL, environ); err != nil {
			at.Note(err.Error() + "; open it yourself: " + q.Form.URL)
		} else {
			at.Note("opened by " + program)
		}
		return agent.Answer{Form: mcp.Answer{Action: mcp.Accept}}, nil
	}
	content := map[string]any{}
	if len(q.Form.Fields) == 0 {
		value, err := field(at.Screen, q, 0, mcp.Field{Type: mcp.BooleanField, Required: true}).ask(ctx, at)
		switch {
		case err != nil || value.cancelled:
			return cancelled, err
		case value.value == false:
			return agent.Answer{Form: mcp.Answer{Action: mcp.Decline}}, nil
		}
	}
	for i, f := range q.Form.Fields {
		value, err := field(at.Screen, q, i, f).ask(ctx, at)
		if err != nil || value.cancelled {
			return cancelled, err
		}
		if !value.skipped {
			content[f.Name] = value.value
		}
		at.notify = nil // the user is there
	}
	return agent.Answer{Form: mcp.Answer{Action: mcp.Accept, Content: content}}, nil
}

// FormOnTTY asks the questions of an MCP server on the controlling terminal, which the screen's Err must be; without
// one the error is agent.ErrNobody. environ is as of OpenBrowser.
func FormOnTTY(ctx context.Context, s *screen.Screen, r mcp.Request, environ []string) (mcp.Answer, error) {
	a, err := onTTY(s, nil, func(at asker) (agent.Answer, error) {
		return form(ctx, at, agent.Question{Kind: agent.QuestionForm, Form: &r}, environ)
	})
	return a.Form, err
}

// fieldAnswer is the user's answer for a field of a form.
type fieldAnswer struct {
	value              any
	skipped, cancelled bool
}

// field asks for one field. Enter alone is no answer.
func field(s *screen.Screen, q agent.Question, i int, f mcp.Field) dialogue[fieldAnswer] {
	return dialogue[fieldAnswer]{
		show: func() (string, bool) { return s.FormField(q, i), false },
		read: func(text string) (fieldAnswer, meaning, string) {
			a, err := readField(f, text)
			if err != nil {
				return a, unclear, err.Error()
			}
			return a, declines, "" // it may be pasted
		},
	}
}

// readField reads the line typed for a field. The user begins a text with = if it would have
// another meaning.
func readField(f mcp.Field, typed string) (fieldAnswer, error) {
	text := strings.TrimSpace(typed)
	given := func(value any) (fieldAnswer, error) { return fieldAnswer{value: value}, f.Check(value) }
	word := strings.ToLower(text)
	switch {
	case text == "" && f.Default != nil:
		return fieldAnswer{}, errors.New("type default to take the server's suggestion, your own answer, or cancel")
	case text == "":
		return fieldAnswer{}, errors.New("a bare Enter is no answer; cancel ends the form")
	case word == "cancel":
		return fieldAnswer{cancelled: true}, nil
	case word == "skip" && !f.Required:
		return fieldAnswer{skipped: true}, nil
	case word == "skip":
		return fieldAnswer{}, errors.New("this field cannot be skipped; cancel ends the form")
	case word == "default" && f.Default != nil:
		return given(f.Default)
	}
	switch f.Type {
	case mcp.BooleanField:
		switch word {
		case "y", "yes", "true":
			return given(true)
		case "n", "no", "false":
			return given(false)
		}
		return fieldAnswer{}, errors.New("type yes, no or cancel")
	case mcp.NumberField, mcp.IntegerField:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fieldAnswer{}, fmt.Errorf("%q is not a number", text)
		}
		return given(n)
	case mcp.ChoiceField:
		value, err := chosenOf(f, text)
		if err != nil {
			return fieldAnswer{}, err
		}
		return given(value)
	case mcp.ChoicesField:
		list := []any{}
		for part := range strings.SplitSeq(text, ",") {
			value, err := chosenOf(f, strings.TrimSpace(part))
			if err != nil {
				return fieldAnswer{}, err
			}
			list = append(list, value)
		}
		return given(list)
	}
	return given(strings.TrimPrefix(text, "="))
}

// chosenOf is the choice of a field that was meant by its number or its words.
func chosenOf(f mcp.Field, text string) (string, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(f.Choices) {
		return f.Choices[n-1].Value, nil
	}
	for _, c := range f.Choices {
		if strings.EqualFold(text, c.Value) || strings.EqualFold(text, c.Title) {
			return c.Value, nil
		}
	}
	return "", fmt.Errorf("no choice %q: type a number from 1 to %d", text, len(f.Choices))
}
