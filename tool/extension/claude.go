package extension

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

// claudeEvents are the events as Claude Code and Codex call them.
var claudeEvents = map[Event]string{
	SessionStart: "SessionStart", OnMessage: "UserPromptSubmit", BeforeTool: "PreToolUse", OnQuestion: "PermissionRequest",
	AfterTool: "PostToolUse", OnStop: "Stop", OnAgentStop: "SubagentStop", BeforeCompact: "PreCompact",
	OnNotify: "Notification", SessionEnd: "SessionEnd",
}

// Claude is the event's name in Claude Code.
func (e Event) Claude() string { return claudeEvents[e] }

// claudeHook is a hook as Claude Code's settings have it.
type claudeHook struct {
	Type    string          `json:"type"`
	Command json.RawMessage `json:"command"` // a text, or words
	Args    []string        `json:"args"`
	Timeout float64         `json:"timeout"` // seconds
	If      string          `json:"if"`      // a rule of permissions
	Async   bool            `json:"async"`
}

// ClaudeHooks reads the hooks of Claude Code's settings or of a plugin's hooks.json, which Codex
// writes too. A hook may stand in the list of its event without the inner list, a list of one without
// its brackets, and the events without the key hooks: what is meant is plain. left names those that
// artoo has no use for. The error is of data that is not of this form.
func ClaudeHooks(data []byte, from Origin) (hooks []Hook, left []string, err error) {
	var settings struct {
		Disabled bool                       `json:"disableAllHooks"`
		Hooks    map[string]json.RawMessage `json:"hooks"`
	}
	var top map[string]json.RawMessage
	data = PlainJSON(data)
	if err := cmp.Or(json.Unmarshal(data, &settings), json.Unmarshal(data, &top)); err != nil {
		return nil, nil, fmt.Errorf("%s: its hooks cannot be read: %w", from.Place, err)
	}
	if settings.Disabled {
		return nil, nil, nil
	}
	events := settings.Hooks
	if inner := fieldsOf(events["hooks"]); inner != nil {
		events = inner
	}
	for _, event := range Events() {
		name := event.Claude()
		entries := events[name]
		if entries == nil {
			entries = top[name]
		}
		for _, entry := range listOf(entries) {
			read, unread := claudeEntry(entry, Hook{Origin: from, On: event, Claude: true, Warn: true})
			hooks = append(hooks, read...)
			for _, why := range unread {
				left = append(left, fmt.Sprintf("%s: a hook %s on %s", from.Place, why, name))
			}
		}
		delete(events, name)
	}
	for _, name := range slices.Sorted(maps.Keys(events)) {
		if first := events[name][0]; first == '[' || first == '{' { // Others are switches, and notes of the author's.
			left = append(left, from.Place+": hooks on "+name)
		}
	}
	return hooks, left, nil
}

// NoValue is the first variable that a text of a plugin names and that has no value here: Claude Code keeps a directory
// and settings for each plugin, and artoo does not. "" is none.
func NoValue(text string) string {
	for _, name := range []string{"CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_OPTION_", "user_config."} {
		_, after, found := strings.Cut(text, name)
		if !found || name == "user_config." && !strings.Contains(text, "${"+name) {
			continue
		}
		end := strings.IndexFunc(after, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if end < 0 {
			end = len(after)
		}
		return "${" + name + after[:end] + "}"
	}
	return ""
}

// claudeEntry reads the hooks of one entry of an event's list, each as like is otherwise. unread says what is against
// the others.
func claudeEntry(entry json.RawMessage, like Hook) (hooks []Hook, unread []string) {
	fields := fieldsOf(entry)
	if fields == nil {
		return nil, []string{"that is not an object"}
	}
	var matchers []string
	for _, one := range listOf(fields["matcher"]) {
		var matcher string
		if json.Unmarshal(one, &matcher) != nil {
			return nil, []string{"with a matcher that is not text"}
		}
		matchers = append(matchers, matcher)
	}
	like.Matcher = strings.Join(matchers, "|")
	if like.On.OfTool() && strings.ContainsAny(like.Matcher, `="'&`) {
		return nil, []string{"with a matcher that fits no tool's name: " + like.Matcher}
	}
	if !slices.ContainsFunc([]string{"matcher", "hooks", "command", "type"}, func(key string) bool { return fields[key] != nil }) {
		return nil, []string{"that has neither hooks nor a command, but " + strings.Join(slices.Sorted(maps.Keys(fields)), ", ")}
	}
	entries := []json.RawMessage{entry}
	if inner := fields["hooks"]; inner != nil {
		entries = listOf(inner)
	}
	for _, entry := range entries {
		var h claudeHook
		if json.Unmarshal(entry, &h) != nil {
			unread = append(unread, "with a value of another kind than Claude Code documents")
			continue
		}
		made := like
		made.Async, made.Timeout = h.Async, time.Duration(h.Timeout*float64(time.Second))
		var words []string
		_ = json.Unmarshal(h.Command, &made.Line) // A list leaves it empty.
		_ = json.Unmarshal(h.Command, &words)     // A text leaves them empty.
		switch {
		case h.Type != "" && h.Type != "command":
			unread = append(unread, fmt.Sprintf("of type %q", h.Type))
			continue
		case len(words) > 0:
			made.Command = append(words, h.Args...)
		case strings.TrimSpace(made.Line) == "":
			unread = append(unread, "without a command")
			continue
		case h.Args != nil:
			made.Line, made.Command = "", append([]string{made.Line}, h.Args...)
		}
		if name := NoValue(made.Line + " " + strings.Join(made.Command, " ")); name != "" {
			unread = append(unread, "that names "+name+", which has no value here,")
			continue
		}
		if h.If != "" {
			made.Match = []string{h.If}
		}
		hooks = append(hooks, made)
	}
	return hooks, unread
}

// listOf are the elements of a list; another value is a list of one, null and nothing are empty.
func listOf(raw json.RawMessage) (list []json.RawMessage) {
	switch {
	case raw == nil || string(raw) == "null":
		return nil
	case json.Unmarshal(raw, &list) != nil:
		return []json.RawMessage{raw}
	}
	return list
}

// fieldsOf are the fields of an object; nil for another value.
func fieldsOf(raw json.RawMessage) (fields map[string]json.RawMessage) {
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}
