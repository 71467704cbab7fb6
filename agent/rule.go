package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
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

// foldsPaths is set where file systems usually ignore case.
const foldsPaths = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// matchesPath reports whether the rule covers an absolute path. What refuses or
// asks is taken widely: letters of either case count where files have it so.
func (r Rule) matchesPath(root, path string, wide bool) bool {
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
	path = filepath.ToSlash(path)
	if wide && foldsPaths {
		pattern, path = strings.ToLower(pattern), strings.ToLower(path)
	}
	return doublestar.MatchUnvalidated(pattern, path)
}

// matchesHost reports whether the rule covers a host name.
func (r Rule) matchesHost(host string) bool {
	host, arg := strings.ToLower(strings.TrimSuffix(host, ".")), strings.ToLower(strings.TrimPrefix(r.Arg, "*."))
	return !r.HasArg || host == arg || strings.HasSuffix(host, "."+arg)
}

// command takes the argument of a rule for commands apart: the line it stands
// for, or, with prefix, the words a command begins with. A line that ends like
// a prefix is written with a backslash before its last star: bash(rm \*).
func (r Rule) command() (line string, prefix bool) {
	for _, end := range []string{":*", " *"} {
		if stem, ok := strings.CutSuffix(r.Arg, end); ok {
			return stem, true
		}
	}
	if stem, ok := strings.CutSuffix(r.Arg, `\*`); ok && endsOpen(stem) {
		return stem + "*", false
	}
	return r.Arg, false
}

// lineRule is the rule for this very line.
func lineRule(name, line string) Rule {
	if stem, ok := strings.CutSuffix(line, "*"); ok && endsOpen(stem) {
		line = stem + `\*`
	}
	return Rule{Tool: name, Arg: line, HasArg: true}
}

// endsOpen reports whether a star would make a prefix of it, backslashes aside.
func endsOpen(stem string) bool {
	stem = strings.TrimRight(stem, `\`)
	return strings.HasSuffix(stem, ":") || strings.HasSuffix(stem, " ")
}

// is reports whether the rule stands for this very line.
func (r Rule) is(line string) bool {
	own, prefix := r.command()
	return r.HasArg && !prefix && own == line
}

// begins reports whether the rule covers a command of these words. A word that
// is not known, and one that the shell makes from a glob, is never a match.
func (r Rule) begins(words []word) bool {
	line, prefix := r.command()
	want := strings.Fields(line)
	if len(want) == 0 || len(want) > len(words) || !prefix && len(want) != len(words) {
		return false
	}
	for i, w := range want {
		if !words[i].known || words[i].glob || words[i].text != w {
			return false
		}
	}
	for _, w := range words { // an exact rule speaks of known words only
		if !prefix && (!w.known || w.glob) {
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
		_, prefix := r.command()
		return !prefix
	}
	return !strings.ContainsAny(strings.NewReplacer(`\*`, "", `\?`, "", `\[`, "", `\{`, "").Replace(r.Arg), "*?[{")
}

// escapePattern makes a path match itself only.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(filepath.ToSlash(path))
}
