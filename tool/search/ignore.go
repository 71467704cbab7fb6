package search

import (
	"path/filepath"
	"strings"

	"artoo/tool/names"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreRule is one line of an ignore file.
type ignoreRule struct {
	dir     string // the file's directory, absolute, with slashes and without one at its end
	pattern string // a doublestar pattern; against the base name unless anchored
	kind    ignoreKind
	negate  bool // "!": take back an earlier rule
	dirOnly bool // a trailing slash: directories only
	anchor  bool // against the whole path below dir
	fold    bool // ignores case, as git does on such file systems
}

// ignoreKind says how a pattern is matched: most need no matcher.
type ignoreKind byte

const (
	ignoreGlob   ignoreKind = iota
	ignoreName              // pattern has nothing to expand
	ignoreEnding            // pattern is a star and an ending, of which only the ending is kept
)

// ignoreRules are matched by hand: go-git's gitignore package took in 65 of 3,415
// files too many (*_test.go, then !/src/cmd/go). A test compares ours with git
// check-ignore. They are in git's order: of all that match, the last one decides.
type ignoreRules []ignoreRule

// parseIgnore reads an ignore file of the absolute directory dir. Invalid lines never match, as in git.
func parseIgnore(dir, text string, fold bool) ignoreRules {
	var rules ignoreRules
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if fold {
			line = names.Fold(line)
		}
		if rule, ok := parseIgnoreLine(line); ok {
			rule.dir = strings.TrimSuffix(filepath.ToSlash(dir), "/")
			rule.fold = fold
			rules = append(rules, rule)
		}
	}
	return rules
}

func parseIgnoreLine(line string) (ignoreRule, bool) {
	var r ignoreRule
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line = trimIgnoreSpaces(line)
	line, r.negate = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	if line == "" {
		return r, false
	}
	r.anchor = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if strings.HasSuffix(line, "/**") {
		line += "/*" // "a/**" is all below a, but not a itself
	}
	r.pattern = escapeBraces(line)
	const special = `*?[\`
	switch ending := strings.TrimPrefix(r.pattern, "*"); {
	case !strings.ContainsAny(r.pattern, special):
		r.kind = ignoreName
	case !r.anchor && !strings.ContainsAny(ending, special):
		r.kind, r.pattern = ignoreEnding, ending
	default:
		return r, doublestar.ValidatePattern(r.pattern)
	}
	return r, true
}

// trimIgnoreSpaces takes off trailing spaces that no backslash protects.
func trimIgnoreSpaces(line string) string {
	for strings.HasSuffix(line, " ") {
		head := strings.TrimSuffix(line, " ")
		if slashes := len(head) - len(strings.TrimRight(head, `\`)); slashes%2 == 1 {
			break
		}
		line = head
	}
	return line
}

// escapeBraces escapes braces, which mean themselves in .gitignore, for doublestar.
func escapeBraces(p string) string {
	if !strings.ContainsAny(p, "{}") {
		return p
	}
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			if i+1 < len(p) {
				b.WriteByte(p[i])
				i++
			}
		case '{', '}':
			b.WriteByte('\\')
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

// decide is the decision of the last rule that matches the entry at the absolute path abs (with slashes):
// ignored, or known when one matches at all. No parent of the entry may be ignored: git does not look into
// an ignored directory, so neither does the walk that asks.
func (rules ignoreRules) decide(abs string, isDir bool) (ignored, known bool) {
	base := abs[strings.LastIndexByte(abs, '/')+1:]
	for i := len(rules) - 1; i >= 0; i-- {
		r := &rules[i]
		if (isDir || !r.dirOnly) && r.matches(abs, base) {
			return !r.negate, true
		}
	}
	return false, false
}

func (r *ignoreRule) matches(abs, base string) bool {
	below, ok := strings.CutPrefix(abs, r.dir)
	if !ok || below == "" || below[0] != '/' {
		return false
	}
	name := base
	if r.anchor {
		name = below[1:]
	}
	if r.fold {
		name = names.Fold(name)
	}
	switch r.kind {
	case ignoreName:
		return name == r.pattern
	case ignoreEnding:
		return strings.HasSuffix(name, r.pattern)
	}
	return doublestar.MatchUnvalidated(r.pattern, name)
}
