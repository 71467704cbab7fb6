package permission

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"artoo/tool"
	"artoo/tool/web"
)

// ReadGroup is the argument of the rule that stands for the read-only commands.
const ReadGroup = "@read"

// Rule names a set of calls: a tool, or a tool and its input.
//
//	bash                     every command; bash(*) is the same
//	bash(go test ./...)      this very command
//	bash(go test:*)          commands that begin with these words
//	bash(git * main)         * as a word is any words, within one any characters
//	bash(@read)              the commands that only read
//	bash!(npm ci)            outside the sandbox; without a sandbox the same as bash(npm ci)
//	write(docs/**)           files, relative to the project root
//	write(./docs/**)         relative to the working directory
//	read(~/notes/**)         a whole path; //etc/** is one too
//	web_fetch(go.dev)        a host on every port; *.go.dev those below it
//	web_fetch(wiki.lan:443)  this very server, also at an address that is not public
//	mcp__db__*               tools whose name begins so
//
// A rule for read or write speaks for every tool of that kind.
type Rule struct {
	Tool   string
	Arg    string
	HasArg bool
	// Outside means that a rule for commands lets them run outside the sandbox too.
	Outside bool
	// Origin is where the rule stands, in words ("--allow", "config.toml line
	// 4"); "" where that is not known.
	Origin string
	// Fixed means that a rule which asks stands in the system's policy: no rule of this session
	// answers it.
	Fixed bool

	base  string            // directory its paths are seen from; "" is the working directory
	bound map[string]string // content of the scripts it names, by path; see bind
}

// RuleError describes a faulty rule. Try is one that could have been meant, "" where none is near.
type RuleError struct{ Rule, Why, Try string }

// Error names the rule and its fault, with a rule that could have been meant.
func (e *RuleError) Error() string {
	text := fmt.Sprintf("rule %.200s: %s", e.Rule, e.Why)
	if e.Try != "" {
		text += ", did you mean " + e.Try + "?"
	}
	return text
}

// String is the rule as it is written, with artoo's own name of the tool.
func (r Rule) String() string {
	name := r.Tool
	if r.Outside {
		name += "!"
	}
	if !r.HasArg {
		return name
	}
	return name + "(" + r.Arg + ")"
}

// names reports whether the rule speaks of the tool.
func (r Rule) names(name string, kind tool.Kind) bool {
	if prefix, ok := strings.CutSuffix(r.Tool, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	switch {
	case r.Tool == name, r.Tool == "read" && kind == tool.KindRead, r.Tool == "write" && kind == tool.KindWrite:
		return true
	}
	return strings.HasPrefix(r.Tool, mcpPrefix) && strings.HasPrefix(name, r.Tool+"__")
}

// foldsPaths is set where file systems usually ignore case.
const foldsPaths = runtime.GOOS == "darwin"

// matchesPath reports whether the rule covers an absolute path of the project at root. For deny and ask
// rules (wide) a name counts at any depth, a directory for all beneath it, and case as files have it.
func (r Rule) matchesPath(root, file string, wide bool) bool {
	if !r.HasArg {
		return true
	}
	globs := r.globs(root, wide)
	for at := filepath.ToSlash(file); ; at = path.Dir(at) {
		if matchesGlob(globs, at, wide) {
			return true
		}
		if up := path.Dir(at); !wide || up == at || up == "." {
			return false
		}
	}
}

// MatchesPath reports whether the rule, one for files, covers an absolute path of the project at root.
func (r Rule) MatchesPath(root, file string) bool { return r.matchesPath(root, file, false) }

// matchesGlob reports whether one of the patterns matches a path with slashes.
func matchesGlob(globs []string, at string, wide bool) bool {
	fold := wide && foldsPaths
	if fold {
		at = strings.ToLower(at)
	}
	return slices.ContainsFunc(globs, func(pattern string) bool {
		if fold {
			pattern = strings.ToLower(pattern)
		}
		return doublestar.MatchUnvalidated(pattern, at)
	})
}

// Reopens reports whether the rule, one that asks, names a file in fixed words for
// the read tool: then it may be read after a question though its name is denied.
func (r Rule) Reopens(root, file string) bool {
	return r.ReopensSome() && r.matchesPath(root, file, false)
}

// ReopensSome reports whether the rule, one that asks, reopens any file.
func (r Rule) ReopensSome() bool { return r.Tool == "read" && r.HasArg && !hasMeta(r.Arg) }

// globs are the patterns of a rule for files, as whole paths with slashes.
func (r Rule) globs(root string, wide bool) []string {
	root, dir := escapePattern(root), escapePattern(r.seenFrom(root))
	pattern := filepath.ToSlash(r.Arg)
	switch {
	case strings.HasPrefix(pattern, "//"):
		return []string{path.Clean(pattern[1:])}
	case pattern == "~", strings.HasPrefix(pattern, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		return withRealBase(home, pattern[1:])
	case strings.HasPrefix(pattern, "./"):
		return []string{path.Join(dir, pattern)}
	case strings.HasPrefix(pattern, "/"), filepath.IsAbs(r.Arg):
		if wide { // elsewhere it begins at the project's root
			return []string{path.Clean(pattern), path.Join(root, pattern)}
		}
		return []string{path.Clean(pattern)}
	}
	globs := []string{path.Join(root, pattern)}
	if wide && !strings.Contains(pattern, "/") {
		globs = append(globs, path.Join(root, "**", pattern))
	}
	return globs
}

// seenFrom is the directory that paths of the rule are relative to.
func (r Rule) seenFrom(root string) string {
	return cmp.Or(r.base, root)
}

// withRealBase is a pattern below a directory, as it is named and as it is.
func withRealBase(dir, pattern string) []string {
	globs := []string{path.Join(escapePattern(dir), pattern)}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		globs = append(globs, path.Join(escapePattern(real), pattern))
	}
	return globs
}

// hasMeta reports whether a pattern for files can match more than one.
func hasMeta(pattern string) bool {
	return strings.ContainsAny(strings.NewReplacer(`\*`, "", `\?`, "", `\[`, "", `\{`, "").Replace(pattern), "*?[{")
}

// escapePattern makes a path match itself only.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(filepath.ToSlash(path))
}

// matchesHost reports whether the rule covers a host: itself, or with *. those below it, on every port
// unless it names one; wide: both. A rule for all hosts allows none of private networks.
func (r Rule) matchesHost(at string, wide bool) bool {
	if !r.HasArg {
		return wide || web.Own(at) == ""
	}
	host, port := web.SplitHost(strings.ToLower(at))
	expected, expectedPort := web.SplitHost(r.Arg)
	host = strings.TrimSuffix(host, ".")
	suffix, below := strings.CutPrefix(expected, "*.")
	switch {
	case expectedPort != "" && expectedPort != port:
		return false
	case below:
		return strings.HasSuffix(host, "."+suffix) || wide && host == suffix
	}
	return host == expected || wide && strings.HasSuffix(host, "."+expected)
}

// namesServer reports whether the rule allows a host wherever it is: by its port, or a private name.
func (r Rule) namesServer(at string) bool {
	_, port := web.SplitHost(r.Arg)
	return r.HasArg && !strings.HasPrefix(r.Arg, "*") && (port != "" || web.Own(r.Arg) != "") &&
		r.matchesHost(at, false)
}

// ruleForHost is the narrowest rule for a host. The port counts for private addresses alone.
func ruleForHost(name, at string) Rule {
	if web.Own(at) != "" {
		return Rule{Tool: name, Arg: at, HasArg: true}
	}
	host, _ := web.SplitHost(at)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return Rule{Tool: name, Arg: host, HasArg: true}
}

// mcpPrefix begins the names of the tools of MCP servers: mcp__SERVER__TOOL.
const mcpPrefix = "mcp__"
