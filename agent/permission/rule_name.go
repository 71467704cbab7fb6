package permission

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"artoo/tool"
)

// What stands between the parentheses of a rule.
type ruleArg int

const (
	ruleNone    ruleArg = iota // nothing can
	ruleCommand                // a shell line, or words one begins with
	rulePath                   // a glob for files
	ruleHost                   // a host name
)

// ruleKinds are the tools that rules can name, also those that come later or
// only with some settings, with what their rules are about.
func ruleKinds() map[string]ruleArg {
	return map[string]ruleArg{
		"bash": ruleCommand,
		"read": rulePath, "ls": rulePath, "glob": rulePath, "grep": rulePath, "lsp": rulePath,
		"write": rulePath, "edit": rulePath, "apply_patch": rulePath, "notebook_edit": rulePath,
		"web_fetch": ruleHost, "web_search": ruleNone,
		"task": ruleNone, "shell": ruleNone, "todo": ruleNone, "enter_plan_mode": ruleNone, "exit_plan_mode": ruleNone,
		"ask_user": ruleNone, "random_number": ruleNone,
	}
}

// writes reports whether the tool of this name writes files.
func writes(name string) bool {
	return slices.Contains([]string{"write", "edit", "apply_patch", "notebook_edit"}, name)
}

// foreignName is artoo's name of a tool that Claude Code calls so. Its rules for
// one tool that reads or writes files speak for all that do.
func foreignName(name string) string {
	switch strings.ToLower(name) {
	case "read", "grep", "glob", "ls", "notebookread":
		return "read"
	case "write", "edit", "multiedit", "notebookedit":
		return "write"
	case "webfetch":
		return "web_fetch"
	case "websearch":
		return "web_search"
	case "agent":
		return "task"
	case "todowrite", "todoread":
		return "todo"
	case "bashoutput", "killshell", "killbash":
		return "shell"
	case "enterplanmode":
		return "enter_plan_mode"
	case "exitplanmode":
		return "exit_plan_mode"
	case "askuserquestion":
		return "ask_user"
	}
	return ""
}

var mcpName = regexp.MustCompile(`^mcp__[A-Za-z0-9_.-]+\*?$`)

// canonical gives the rule artoo's own name of the tool, and says what its
// argument is about. written is the rule as it came.
func (r *Rule) canonical(written string) (ruleArg, error) {
	kinds := ruleKinds()
	if kind, ok := kinds[r.Tool]; ok {
		return kind, nil
	}
	if strings.HasPrefix(r.Tool, "mcp__") {
		if mcpName.MatchString(r.Tool) {
			return ruleNone, nil
		}
		return 0, &RuleError{written, "it is not in the form of an MCP tool's name", "mcp__SERVER__TOOL"}
	}
	if prefix, ok := strings.CutSuffix(r.Tool, "*"); ok {
		for name := range kinds {
			if strings.HasPrefix(name, prefix) || strings.HasPrefix("mcp__", prefix) {
				return ruleNone, nil
			}
		}
	}
	if name := foreignName(r.Tool); name != "" {
		r.Tool = name
		return kinds[name], nil
	}
	if kind, ok := kinds[strings.ToLower(r.Tool)]; ok {
		r.Tool = strings.ToLower(r.Tool)
		return kind, nil
	}
	why := fmt.Sprintf("there is no tool %.60s", r.Tool)
	if kind, ok := kinds[firstWordOf(r.Tool)]; ok && kind == ruleCommand {
		return 0, &RuleError{written, why, "bash(" + strings.TrimSpace(strings.TrimPrefix(written, "bash")) + ")"}
	}
	try := tool.NearestName(strings.ToLower(r.Tool), slices.Sorted(maps.Keys(kinds)))
	switch {
	case try != "" && r.HasArg:
		try += "(" + r.Arg + ")"
	case try == "":
		try = "bash(" + strings.TrimSuffix(strings.Replace(written, "(", " ", 1), ")") + ")"
	}
	if better, err := ParseRule(try); err != nil {
		try = "bash(go test:*)"
	} else {
		try = better.String()
	}
	return 0, &RuleError{written, why, try}
}

func firstWordOf(text string) string {
	if words := strings.Fields(text); len(words) > 1 {
		return words[0]
	}
	return ""
}

var hostPattern = regexp.MustCompile(`^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*(:[0-9]+)?$|^\[[0-9a-f:.]+\](:[0-9]+)?$`)

// impossible says why no call can match what stands between the parentheses, ""
// when one can; try is what could have been meant. It may put the argument into
// artoo's own form.
func (r *Rule) impossible(kind ruleArg) (why, try string) {
	switch kind {
	case ruleCommand:
		return r.impossibleCommand()
	case rulePath:
		return r.impossiblePath()
	case ruleHost:
		r.Arg = strings.ToLower(strings.TrimPrefix(r.Arg, "domain:"))
		if hostPattern.MatchString(r.Arg) {
			return "", ""
		}
		host := r.Arg
		if _, after, ok := strings.Cut(host, "://"); ok {
			host = after
		}
		if host, _, _ = strings.Cut(host, "/"); !hostPattern.MatchString(host) {
			host = "go.dev"
		}
		return "it names a host and nothing else", r.Tool + "(" + host + ")"
	}
	return "a rule for " + r.Tool + " has nothing between parentheses", r.Tool
}

func (r *Rule) impossibleCommand() (why, try string) {
	arg := r.Arg
	switch {
	case arg == ReadGroup:
		return "", ""
	case strings.HasPrefix(arg, "@"):
		return "the only group of commands is " + ReadGroup, "bash(" + ReadGroup + ")"
	case strings.Trim(arg, "* :") == "":
		return "it names no command", "bash"
	}
	text, wild := r.line()
	if !wild {
		return "", "" // any line may come
	}
	words := patternWords(text)
	if words == nil {
		return "its quotes are not closed", ""
	}
	for i, w := range words {
		bare := strings.ReplaceAll(w.text, wildcard, "*")
		switch {
		case !w.quoted && strings.ContainsAny(w.text, ";|&<>`") || !w.quoted && strings.Contains(w.text, "$("):
			return fmt.Sprintf("a pattern is for one simple command, and %.40s makes it more", bare), "bash(" + firstWords(words[:i]) + ":*)"
		case strings.Contains(w.text, "/"+wildcard+wildcard), strings.HasPrefix(w.text, wildcard+wildcard+"/"):
			return "** is for files", "write(" + bare + ")"
		}
	}
	return "", ""
}

func firstWords(words []patternWord) string {
	var texts []string
	for _, w := range words {
		texts = append(texts, strings.ReplaceAll(w.text, wildcard, "*"))
	}
	if len(texts) == 0 {
		return "go test"
	}
	return strings.Join(texts, " ")
}

func (r *Rule) impossiblePath() (why, try string) {
	arg := r.Arg
	switch {
	case strings.HasSuffix(arg, ":*"):
		return "words that a command begins with are for bash", "bash(" + arg + ")"
	case !doublestar.ValidatePattern(arg):
		return "the pattern is not valid", r.Tool + "(" + escapePattern(arg) + ")"
	case strings.HasSuffix(arg, "/"):
		return "no file's name ends in a slash", r.Tool + "(" + arg + "**)"
	}
	return "", ""
}
