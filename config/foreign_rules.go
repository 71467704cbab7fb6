package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/tool/extension"
)

// foreignLimits are the keys with which settings for Claude Code and Gemini CLI restrict an agent.
type foreignLimits struct {
	Permissions struct {
		Deny        []string `json:"deny"`
		Ask         []string `json:"ask"`
		DefaultMode string   `json:"defaultMode"`
	} `json:"permissions"`
	DisabledServers []string        `json:"disabledMcpjsonServers"`
	Sandbox         json.RawMessage `json:"sandbox"`

	ExcludeTools []string `json:"excludeTools"`
	CoreTools    []string `json:"coreTools"`
	Tools        struct {
		Exclude []string `json:"exclude"`
		Core    []string `json:"core"`
	} `json:"tools"`
	MCP struct {
		Excluded []string `json:"excluded"`
	} `json:"mcp"`
}

// ForeignRules are the rules that ask and deny in settings for Claude Code or Gemini CLI, or in the manifest of an
// extension: of a repository, or a bundle, which may only tighten. valid explains why artoo cannot have a rule. left
// names what restricts an agent there and has no meaning here. place is for messages.
func ForeignRules(data []byte, place string, valid func(rule string) error) (rules []RuleText, left []string, err error) {
	var f foreignLimits
	if err := json.Unmarshal(extension.PlainJSON(data), &f); err != nil {
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, nil, fmt.Errorf("%s is not JSON, so no rule of it holds: %w", place, err)
		}
		return nil, nil, fmt.Errorf("%s: no rule of it holds: %w", place, err)
	}
	add := func(list, rule string) {
		if err := valid(rule); err != nil {
			left = append(left, fmt.Sprintf("%s: %s %s", place, list, rule))
			return
		}
		rules = append(rules, RuleText{List: list, Text: rule, Origin: place})
	}
	for _, rule := range f.Permissions.Deny {
		add("deny", rule)
	}
	for _, rule := range f.Permissions.Ask {
		add("ask", rule)
	}
	for _, rule := range slices.Concat(f.ExcludeTools, f.Tools.Exclude) {
		add("deny", geminiRule(rule))
	}
	for _, name := range slices.Concat(f.DisabledServers, f.MCP.Excluded) {
		add("deny", "mcp__"+serverName(name))
	}
	for key, there := range map[string]bool{
		"permissions.defaultMode = plan": f.Permissions.DefaultMode == "plan", "sandbox": f.Sandbox != nil,
		"coreTools": f.CoreTools != nil, "tools.core": f.Tools.Core != nil,
	} {
		if there {
			left = append(left, place+": "+key)
		}
	}
	slices.Sort(left)
	return rules, left, nil
}

// geminiRule is a rule of Gemini CLI: what stands between the parentheses is the beginning of a line.
func geminiRule(rule string) string {
	name, arg, ok := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
	if !ok || strings.ContainsAny(arg, "*:") {
		return rule
	}
	return name + "(" + arg + ":*)"
}
