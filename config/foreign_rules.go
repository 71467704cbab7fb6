package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"artoo/tool/extension"
)

// foreignLists are the lists with which settings for Claude Code and Gemini CLI restrict an agent.
func foreignLists() []foreignList {
	server := func(name string) string { return "mcp__" + serverName(name) }
	return []foreignList{
		{"permissions.deny", "deny", claudeRule}, {"permissions.ask", "ask", claudeRule},
		{"excludeTools", "deny", geminiRule}, {"tools.exclude", "deny", geminiRule},
		{"disabledMcpjsonServers", "deny", server}, {"mcp.excluded", "deny", server}, {"excludeMCPServers", "deny", server},
	}
}

// foreignList is a list by its key, what its elements do, and the rule that one means.
type foreignList struct {
	key, does string
	rule      func(text string) string
}

// foreignLimits are keys that restrict an agent there and have no meaning here, with the value that does; "" for any.
func foreignLimits() [][2]string {
	return [][2]string{{"permissions.defaultMode", "plan"}, {"general.defaultApprovalMode", "plan"}, {"sandbox", ""}, {"tools.sandbox", ""},
		{"coreTools", ""}, {"tools.core", ""}, {"mcp.allowed", ""}, {"allowMCPServers", ""}}
}

// ForeignRules are the rules that ask and deny in settings for Claude Code or Gemini CLI, or in the manifest of an
// extension: of a repository, or a bundle, which may only tighten. valid explains why artoo cannot have a rule. left
// names what restricts an agent there and has no meaning here. place is for messages.
func ForeignRules(data []byte, place string, valid func(rule string) error) (rules []RuleText, left []string, err error) {
	var settings map[string]json.RawMessage
	if err := json.Unmarshal(extension.PlainJSON(data), &settings); err != nil {
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, nil, fmt.Errorf("%s is not JSON, so none of its rules apply: %w", place, err)
		}
		return nil, nil, fmt.Errorf("%s: none of its rules apply: %w", place, err)
	}
	for _, l := range foreignLists() {
		texts, whole := textsOf(valueAt(settings, l.key))
		if !whole {
			left = append(left, l.key+", which is not a list of strings")
		}
		for _, text := range texts {
			rule := l.rule(text)
			if valid(rule) != nil {
				left = append(left, l.does+" "+text)
				continue
			}
			rules = append(rules, RuleText{List: l.does, Text: rule, Origin: place})
		}
	}
	for _, limit := range foreignLimits() {
		var word string
		value := valueAt(settings, limit[0])
		_ = json.Unmarshal(value, &word) // Another kind of value is no word.
		switch {
		case value == nil || limit[1] != "" && limit[1] != word:
		case limit[1] != "":
			left = append(left, limit[0]+" = "+word)
		default:
			left = append(left, limit[0])
		}
	}
	return rules, left, nil
}

// valueAt is the value of a key below others, with dots between them; nil where there is none, or null.
func valueAt(settings map[string]json.RawMessage, key string) json.RawMessage {
	first, rest, below := strings.Cut(key, ".")
	value := settings[first]
	var inner map[string]json.RawMessage
	switch {
	case string(value) == "null":
		return nil
	case !below:
		return value
	case json.Unmarshal(value, &inner) != nil:
		return nil
	}
	return valueAt(inner, rest)
}

// textsOf are the texts of a list; a text is a list of one. whole is false where there is something else.
func textsOf(value json.RawMessage) (texts []string, whole bool) {
	var list []json.RawMessage
	if value == nil {
		return nil, true
	}
	if json.Unmarshal(value, &list) != nil {
		list = []json.RawMessage{value}
	}
	for _, element := range list {
		var text string
		if json.Unmarshal(element, &text) == nil {
			texts = append(texts, text)
		}
	}
	return texts, len(texts) == len(list)
}

// claudeRule is a rule of Claude Code: nothing or a star between the parentheses is any call of the tool, and a slash at
// an end a directory.
func claudeRule(rule string) string {
	name, arg, ok := strings.Cut(strings.TrimSpace(rule), "(")
	switch {
	case ok && (arg == ")" || arg == "*)" || arg == "domain:*)"):
		return name
	case ok && strings.HasSuffix(arg, "/)") && !strings.ContainsAny(arg, " :"):
		return strings.TrimSuffix(rule, ")") + "**)"
	}
	return rule
}

// geminiRule is a rule of Gemini CLI: what stands between the parentheses is the beginning of a line.
func geminiRule(rule string) string {
	name, arg, ok := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
	if !ok || strings.ContainsAny(arg, "*:") {
		return rule
	}
	return name + "(" + arg + ":*)"
}
