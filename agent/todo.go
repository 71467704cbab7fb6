package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/tool"
)

type todoItem struct {
	Text   string `json:"text"`
	Status string `json:"status" jsonschema:"pending, in_progress, done or dropped"`
}

type todoInput struct {
	Items []todoItem `json:"items"`
}

// todoWords are the statuses as the user reads them. The second row is what other programs call them.
var todoWords = map[string]string{"pending": "to do", "in_progress": "doing", "done": "done", "dropped": "dropped",
	"completed": "done", "cancelled": "dropped"}

func todoTool() tool.Tool {
	return tool.New(tool.Def{Name: "todo", Kind: tool.KindNone, Optional: true,
		Description: "Show the user the plan of a task of several steps. Send all items each time, in order; " +
			"one is in_progress at a time. Call it when a step begins or ends."},
		func(_ context.Context, _ *tool.Env, in todoInput) (tool.Access, error) {
			for _, item := range in.Items {
				if todoWords[item.Status] == "" {
					return tool.Access{}, fmt.Errorf("todo: %q is no status: pending, in_progress, done or dropped", item.Status)
				}
				if strings.TrimSpace(item.Text) == "" {
					return tool.Access{}, errors.New("todo: an item has no text")
				}
			}
			return tool.Access{Kind: tool.KindNone, Verb: "todo"}, nil
		}, nil)
}

func todoSummary(items []todoItem) string {
	done, of := 0, 0
	for _, item := range items {
		switch todoWords[item.Status] {
		case "done":
			done++
			of++
		case "to do", "doing":
			of++
		}
	}
	return fmt.Sprintf("%d of %d done", done, of)
}

// todoOf is the newest plan in a history.
func (s *session) todoOf(history []provider.Message) []todoItem {
	for _, m := range slices.Backward(history) {
		for _, c := range slices.Backward(m.Calls()) {
			found := tool.Find(s.opt.Tools, c.Name)
			if found == nil || !found.ByLoop() || found.Name != "todo" || found.Check(c.Input) != nil {
				continue
			}
			if in, err := tool.Decode[todoInput](*found, c.Input); err == nil {
				return in.Items
			}
		}
	}
	return nil
}

// remindTodo gives the plan again when the call that made it is no longer sent.
func (s *session) remindTodo() error {
	open := slices.ContainsFunc(s.todo, func(i todoItem) bool { return i.Status == "pending" || i.Status == "in_progress" })
	if !open || slices.Equal(s.todoOf(s.conv.Messages()), s.todo) {
		return nil
	}
	text := "Your plan, as it stands:"
	for _, item := range s.todo {
		text += "\n- " + todoWords[item.Status] + ": " + item.Text
	}
	return s.conv.Remind(text)
}
