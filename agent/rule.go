package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"artoo/tool"
)

// readGroup is the argument of the rule that stands for the reading commands.
const readGroup = "@read"

// Rule names a set of calls: a tool, or a tool and what it is called with.
//
//	bash                     every command
//	bash(go test ./...)      this very command
//	bash(go test:*)          commands that begin with these words
//	bash(@read)              the commands that only read
//	write(docs/**)           files, relative to the project root
//	web_fetch(go.dev)        a host and those below it
//	mcp__db__*               tools whose name begins so
//
// A rule for read or write speaks for every tool of that kind.
type Rule struct {
	Tool   string
	Arg    string
	HasArg bool
}

// ParseRule reads a rule. The error says what a rule looks like.
func ParseRule(s string) (Rule, error) {
	s = strings.TrimSpace(s)
	name, rest, hasArg := strings.Cut(s, "(")
	r := Rule{Tool: strings.TrimSpace(name), HasArg: hasArg}
	if hasArg {
		if !strings.HasSuffix(rest, ")") {
			return Rule{}, fmt.Errorf("rule %q does not end in a parenthesis, as in bash(go test:*)", s)
		}
		r.Arg = strings.TrimSpace(strings.TrimSuffix(rest, ")"))
		if r.Arg == "" {
			return Rule{}, fmt.Errorf("rule %q has nothing between its parentheses; for every call write %s alone", s, r.Tool)
		}
	}
	if r.Tool == "" || strings.ContainsAny(r.Tool, " \t\n\"'") {
		return Rule{}, fmt.Errorf("rule %q does not begin with a tool's name, as in bash(go test:*) or write(docs/**)", s)
	}
	if r.HasArg && r.Tool != "bash" && !doublestar.ValidatePattern(r.Arg) {
		return Rule{}, fmt.Errorf("rule %q: the pattern is not valid", s)
	}
	return r, nil
}

// ParseRules reads several; all mistakes are in the error.
func ParseRules(list []string) ([]Rule, error) {
	var rules []Rule
	var errs []error
	for _, s := range list {
		r, err := ParseRule(s)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		rules = append(rules, r)
	}
	return rules, errors.Join(errs...)
}

// String is the rule as it is written.
func (r Rule) String() string {
	if !r.HasArg {
		return r.Tool
	}
	return r.Tool + "(" + r.Arg + ")"
}

// names reports whether the rule speaks of the tool.
func (r Rule) names(name string, kind tool.Kind) bool {
	if prefix, ok := strings.CutSuffix(r.Tool, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return r.Tool == name || r.Tool == "read" && kind == tool.KindRead || r.Tool == "write" && kind == tool.KindWrite
}

// matchesPath reports whether the rule covers an absolute path.
func (r Rule) matchesPath(root, path string) bool {
	if !r.HasArg {
		return true
	}
	pattern := filepath.ToSlash(r.Arg)
	if !strings.HasPrefix(pattern, "/") {
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return false
		}
		path = rel
	}
	return doublestar.MatchUnvalidated(pattern, filepath.ToSlash(path))
}

// matchesHost reports whether the rule covers a host name.
func (r Rule) matchesHost(host string) bool {
	return !r.HasArg || host == r.Arg || strings.HasSuffix(host, "."+strings.TrimPrefix(r.Arg, "*."))
}

// matchesWords reports whether a bash rule covers a simple command.
func (r Rule) matchesWords(words []string) bool {
	if !r.HasArg {
		return true
	}
	prefix, open := strings.CutSuffix(r.Arg, ":*")
	if !open {
		if prefix, open = strings.CutSuffix(r.Arg, " *"); !open {
			return r.Arg == strings.Join(words, " ")
		}
	}
	want := strings.Fields(prefix)
	if len(want) > len(words) {
		return false
	}
	for i, w := range want {
		if words[i] != w {
			return false
		}
	}
	return true
}

// exact reports whether the rule stands for one call only.
func (r Rule) exact() bool {
	if !r.HasArg || r.Arg == readGroup {
		return false
	}
	if r.Tool == "bash" {
		return !strings.HasSuffix(r.Arg, ":*") && !strings.HasSuffix(r.Arg, " *")
	}
	return !strings.ContainsAny(strings.ReplaceAll(r.Arg, `\*`, ""), "*?[{")
}

// escapePattern makes a path match itself only.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(filepath.ToSlash(path))
}
