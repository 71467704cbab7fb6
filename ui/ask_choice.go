package ui

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"artoo/agent"
)

// askChoice asks a question with choices: a number or a word of them stands for one.
// To one of the model's own anything else is the answer itself.
func (t *Terminal) askChoice(ctx context.Context, q agent.Question) (agent.Answer, error) {
	prompt := t.Choice(q)
	t.opt.Notify.Question()
	for {
		l, err := t.console.ask(ctx, lineRequest{prompt: prompt, again: func() string { prompt = t.Choice(q); return prompt }})
		if err != nil {
			err = t.unanswered(ctx, err)
			if errors.Is(err, errNoAnswer) {
				err = nil // Ctrl-D is no answer
			}
			return agent.Answer{}, err
		}
		text, known := chosen(q.Choices, l.text)
		if q.Kind == agent.QuestionCompact && text != "" && (l.burst || !slices.Contains(q.Choices, text)) {
			t.Note("please answer with a number from 1 to " + strconv.Itoa(len(q.Choices)) + " (Enter trims)")
			continue
		}
		if !known {
			t.Note("there is no choice " + text + ": a number from 1 to " + strconv.Itoa(len(q.Choices)) + ", or your own words")
			continue
		}
		return agent.Answer{Verdict: agent.Yes, Text: text}, nil
	}
}

// chosen is the choice that was meant by its number or its words, else the text as it
// is. It is not known where it is the number of none.
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
