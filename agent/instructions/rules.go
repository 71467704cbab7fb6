package instructions

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"artoo/tool/frontmatter"
	"artoo/tool/names"
	"artoo/tool/text"
)

// Rules are the instruction files of directories of rules that the user trusts. The list may be replaced before a turn.
type Rules struct{ List []Rule }

// Rule is such a file. It holds for the files that the globs in its front matter match, for all files without any.
type Rule struct {
	path, dir string
	body      string
	globs     []string
	wrong     string
	touched   string
}

// NewRule reads the content of a rule at a path. Its globs are relative to dir; both are absolute.
func NewRule(path, dir string, data []byte) Rule {
	r := Rule{path: path, dir: dir}
	head, body, err := frontmatter.Split(data, "paths")
	switch paths := head["paths"].(type) {
	case string:
		r.globs = text.Outside(paths, ",")
	case []string:
		r.globs = paths
	case frontmatter.Table:
		r.wrong = "paths is a table"
	}
	if r.body = body; err != nil {
		r.wrong = err.Error()
	}
	for i, glob := range r.globs {
		if r.globs[i] = strings.TrimPrefix(glob, "./"); !doublestar.ValidatePattern(glob) {
			r.wrong = fmt.Sprintf("%q in paths is not a glob", glob)
		}
	}
	return r
}

// String is what the rule is for, as a list of globs; "" for all files.
func (r *Rule) String() string { return strings.Join(r.globs, ", ") }

// matches reports whether a path of the project, absolute, is that of a file that the rule is for. The directory of the
// globs is none: a list of it shows no file yet.
func (r *Rule) matches(path string) bool {
	rel, inside := names.Relative(r.dir, path)
	return inside && rel != "." && slices.ContainsFunc(r.globs, func(glob string) bool {
		return doublestar.MatchUnvalidated(glob, filepath.ToSlash(rel))
	})
}

// Scope is the files that the file holds for, in words.
func (f File) Scope() string {
	if f.rule != nil {
		return "files like " + f.rule.String()
	}
	return "files in its directory"
}

// rules lists the rules, and reads those that hold for all files. One that another file imports is read already.
func (r *reader) rules() {
	for _, rule := range r.Rules.all() {
		f := File{Path: rule.path, rule: &rule}
		switch {
		case r.real[rule.path] != "":
		case rule.wrong != "":
			f.Why = Malformed
			r.add(f)
		case len(rule.globs) > 0:
			f.Why = Waiting
			r.add(f)
		default:
			r.read(f, nil)
		}
	}
}

// rulesFor reads the rules for a path that was touched.
func (r *reader) rulesFor(path string) {
	for _, rule := range r.Rules.all() {
		if rule.wrong == "" && rule.matches(path) {
			rule.touched = path
			r.read(File{Path: rule.path, rule: &rule}, nil)
		}
	}
}

func (r *Rules) all() []Rule {
	if r == nil {
		return nil
	}
	return r.List
}
