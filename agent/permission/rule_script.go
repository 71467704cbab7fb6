package permission

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
	"artoo/tool/names"
)

// scripts are the absolute scripts that a command runs in dir: itself where it is named by path, and an
// interpreter's. The system's programs are none.
func scripts(words []line.Word, dir string) (paths []string) {
	script := scriptAt(words, dir)
	for i, w := range words {
		if i != script && (i > 0 || !w.Known || w.Glob || !strings.Contains(w.Text, "/")) {
			continue
		}
		if at := names.Real(seenFrom(dir, w.Text)); !inSystem(at) {
			paths = append(paths, at)
		}
	}
	return paths
}

// Runs are the absolute scripts that a call's line names to run.
func (p *Policy) Runs(access tool.Access) []string {
	return scriptsOf(line.Parse(access.Command, access.Dir, p.Shell))
}

func scriptsOf(read line.Line) (paths []string) {
	for _, c := range read.Commands {
		if c.Dir != "" {
			paths = append(paths, scripts(c.Words, c.Dir)...)
		}
	}
	return paths
}

// bind makes the rule see paths from dir, and binds its scripts to their contents: those approved
// before (known, by path), or the present ones where known is nil.
func (r Rule) bind(dir string, known map[string]string) Rule {
	r.base = dir
	if r.Tool != "bash" || !r.HasArg {
		return r
	}
	if r.bound, r.given = maps.Clone(known), r.given || known != nil; known == nil {
		r.bound = map[string]string{}
		for _, at := range r.namesScripts() {
			r.bound[at] = contentOf(at)
		}
	}
	return r
}

// namesScripts are the whole paths of the scripts that the rule's fixed words name.
func (r Rule) namesScripts() []string {
	text, wild := r.line()
	read := line.Parse(text, r.base, line.Shell{})
	if read.Problem != "" || wild {
		return scripts(r.fixedWords(), r.base)
	}
	return scriptsOf(read)
}

// fixedWords are the words of a rule for commands that stand before any *.
func (r Rule) fixedWords() (fixed []line.Word) {
	expected, _ := r.command()
	for _, w := range expected {
		if strings.Contains(w, wildcard) {
			break
		}
		fixed = append(fixed, line.Word{Text: w, Known: true})
	}
	return fixed
}

// changed is a script that the rule names and that has changed since the rule was approved; "" for none.
func (r Rule) changed() string {
	for _, at := range slices.Sorted(maps.Keys(r.bound)) {
		if contentOf(at) != r.bound[at] {
			return at
		}
	}
	return ""
}

// contentOf is a fingerprint of a regular file, "" where there is none that can be read.
func contentOf(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
