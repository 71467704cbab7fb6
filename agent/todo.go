package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/tool"
)

// todoItem is a step of a long task.
type todoItem struct {
	Text   string `json:"text"`
	Status string `json:"status" jsonschema:"pending, in_progress, done or dropped"`
}

type todoInput struct {
	Items []todoItem `json:"items"`
}

// todoWords are the statuses as the user reads them.
var todoWords = map[string]string{"pending": "to do", "in_progress": "doing", "done": "done", "dropped": "dropped"}

// todoTool is the tool that keeps the plan of a long task.
func todoTool() tool.Tool {
	return tool.New(tool.Def{Name: "todo", Kind: tool.KindNone, Optional: true, Fix: mendTodo,
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

// mendTodo takes the lists of other programs: Claude Code's todos, Codex' plan,
// Gemini's todos, Roo's list in Markdown, and one that is lines of text.
func mendTodo(fields map[string]json.RawMessage) (changed bool) {
	for _, name := range []string{"items", "todos", "todoList", "plan", "tasks", "steps"} {
		var given []json.RawMessage
		var text string
		if json.Unmarshal(fields[name], &text) == nil {
			given = markdownItems(text)
		} else if json.Unmarshal(fields[name], &given) != nil {
			continue
		}
		if given == nil {
			continue
		}
		items := make([]todoItem, len(given))
		for i, g := range given {
			if items[i].Status = "pending"; json.Unmarshal(g, &items[i].Text) == nil {
				continue
			}
			var of map[string]any
			if json.Unmarshal(g, &of) != nil {
				return false
			}
			items[i].Text = textOf(of, "text", "content", "step", "title", "description", "task", "activeForm")
			status := cmp.Or(textOf(of, "status", "state"), "pending")
			items[i].Status = cmp.Or(map[string]string{"completed": "done", "complete": "done", "cancelled": "dropped",
				"canceled": "dropped", "in progress": "in_progress", "in-progress": "in_progress",
				"not-started": "pending", "todo": "pending"}[strings.ToLower(status)], status)
		}
		list, err := json.Marshal(items)
		if err != nil {
			return false
		}
		clear(fields)
		fields["items"] = list
		return true
	}
	return false
}

// markdownItems are the items of a list as Roo's, [x] done, [-] begun, [ ] to do, each of them
// an object; nil for any other text.
func markdownItems(text string) (items []json.RawMessage) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		line = strings.TrimPrefix(strings.TrimPrefix(line, "- "), "* ")
		if len(line) < 4 || line[0] != '[' || line[2:4] != "] " {
			return nil
		}
		status := map[byte]string{'x': "done", 'X': "done", '-': "in_progress", '~': "in_progress", ' ': "pending"}[line[1]]
		item, err := json.Marshal(todoItem{Text: strings.TrimSpace(line[4:]), Status: status})
		if err != nil || status == "" {
			return nil
		}
		items = append(items, item)
	}
	return items
}

// textOf is the first of some fields that says something.
func textOf(fields map[string]any, names ...string) string {
	for _, name := range names {
		if text, _ := fields[name].(string); text != "" {
			return text
		}
	}
	return ""
}

func todoSummary(items []todoItem) string {
	done, of := 0, 0
	for _, item := range items {
		if item.Status != "dropped" {
			of++
		}
		if item.Status == "done" {
			done++
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
