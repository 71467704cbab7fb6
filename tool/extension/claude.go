package extension

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
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
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Timeout float64  `json:"timeout"` // seconds
	If      string   `json:"if"`      // a rule of permissions
	Async   bool     `json:"async"`
}

// ClaudeHooks reads the hooks of Claude Code's settings or of a plugin's hooks.json, which Codex
// writes too. left names those that artoo has no use for. The error is of data that is not of this
// form.
func ClaudeHooks(data []byte, from Origin) (hooks []Hook, left []string, err error) {
	var settings struct {
		Disabled bool `json:"disableAllHooks"`
		Hooks    map[string][]struct {
			Matcher string       `json:"matcher"`
			Hooks   []claudeHook `json:"hooks"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(data, &settings); err != nil {
		return nil, nil, fmt.Errorf("%s: its hooks cannot be read: %w", from.Place, err)
	}
	if settings.Disabled {
		return nil, nil, nil
	}
	for _, event := range Events() {
		for _, group := range settings.Hooks[event.Claude()] {
			for _, h := range group.Hooks {
				if h.Type != "command" || strings.TrimSpace(h.Command) == "" {
					left = append(left, fmt.Sprintf("%s: a hook of type %q on %s", from.Place, h.Type, event.Claude()))
					continue
				}
				made := Hook{Origin: from, On: event, Matcher: group.Matcher, Line: h.Command, Claude: true, Warn: true, Async: h.Async,
					Timeout: time.Duration(h.Timeout * float64(time.Second))}
				if h.Args != nil {
					made.Line, made.Command = "", append([]string{h.Command}, h.Args...)
				}
				if h.If != "" {
					made.Match = []string{h.If}
				}
				hooks = append(hooks, made)
			}
		}
		delete(settings.Hooks, event.Claude())
	}
	for _, name := range slices.Sorted(maps.Keys(settings.Hooks)) {
		left = append(left, from.Place+": hooks on "+name)
	}
	return hooks, left, nil
}
