package tool

import (
	"bytes"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreRule is one line of a .gitignore file.
type ignoreRule struct {
	dir     string // the file's directory relative to the rules' top, "" for the top itself
	pattern string // a doublestar pattern; against the base name unless anchored
	literal bool   // pattern has nothing to expand: compare instead of match
	negate  bool   // "!": take back what an earlier rule ignored
	dirOnly bool   // a trailing slash: directories only
	anchor  bool   // against the whole path below dir
}

// ignoreRules are matched by hand: go-git's gitignore package took in 65 of 3,415
// files too many (*_test.go, then !/src/cmd/go). A test compares ours with git
// check-ignore. They are in git's order: of all that match, the last one decides.
type ignoreRules []ignoreRule

// parseIgnore reads a .gitignore file that lies in dir. Lines git would not
// understand never match, as in git.
func parseIgnore(dir string, data []byte) ignoreRules {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var rules ignoreRules
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if rule, ok := parseIgnoreLine(line); ok {
			rule.dir = dir
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
	r.literal = !strings.ContainsAny(r.pattern, `*?[\`)
	return r, r.literal || doublestar.ValidatePattern(r.pattern)
}

// trimIgnoreSpaces takes off trailing blanks that no backslash protects.
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

// escapeBraces hides braces, which mean themselves in .gitignore, from
// doublestar.
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

// ignores says whether the entry at name (slash-separated, relative to the
// rules' top) is ignored. None of its parents may be: git does not look into an
// ignored directory, so neither does the walk that asks.
func (rules ignoreRules) ignores(name string, isDir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		r := &rules[i]
		if r.dirOnly && !isDir {
			continue
		}
		if r.matches(name) {
			return !r.negate
		}
	}
	return false
}

func (r *ignoreRule) matches(name string) bool {
	if r.dir != "" {
		rest, ok := strings.CutPrefix(name, r.dir+"/")
		if !ok {
			return false
		}
		name = rest
	}
	if !r.anchor {
		name = path.Base(name)
	}
	if r.literal {
		return name == r.pattern
	}
	return doublestar.MatchUnvalidated(r.pattern, name)
}

// ignoresAny says whether name or one of its parent directories is ignored;
// name itself is a directory.
func (rules ignoreRules) ignoresAny(name string) bool {
	for i := 0; i <= len(name); i++ {
		if (i == len(name) || name[i] == '/') && rules.ignores(name[:i], true) {
			return true
		}
	}
	return false
}
