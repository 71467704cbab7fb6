package agent

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What is longer, or opens more parentheses, is not taken apart: the parser is
// recursive, and a model can write a line that takes all memory to follow.
const (
	longestLine = 32 << 10
	mostParens  = 2000
	mostScripts = 4 // of sh -c within sh -c
)

// word is one word of a command as far as it is known before it runs.
type word struct {
	text  string // its value; the source text of a word that is not known
	known bool   // it holds no expansion but for globs
	glob  bool   // it holds an unquoted glob
}

// simple is one simple command of a shell line, with wrappers opened.
type simple struct {
	words   []word
	dirs    []string // where it may run, as literal cd's tell; none when they do not
	inputs  []word   // files it reads through redirection
	outputs []word   // files its output is redirected into
	assigns bool     // variables are set for it
	raised  bool     // it runs under sudo or doas
	fed     bool     // it gets arguments from xargs or find
	unsure  bool     // the text it is given to read is not known
	loose   bool     // an expansion in it can set variables or run commands that are not seen
	opaque  bool     // it is more than a simple command: no rule for its words covers it
	hides   bool     // it runs a command that cannot be seen
	layers  []layer  // the wrappers it was found in, outermost first
}

// layer is a command that runs another one.
type layer struct {
	words   []word
	assigns bool // variables are set for it
}

// name is the command's name, "" when it is not known.
func (s simple) name() string {
	if len(s.words) == 0 || !s.words[0].known {
		return ""
	}
	return s.words[0].text
}

// known reports whether everything the command is given is known.
func (s simple) known() bool {
	for _, w := range s.words {
		if !w.known {
			return false
		}
	}
	for _, w := range s.inputs {
		if !w.known {
			return false
		}
	}
	return !s.unsure && !s.loose && !s.opaque && !s.hides
}

// globs reports whether the shell expands a glob in one of its words.
func (s simple) globs() bool {
	for _, w := range s.words {
		if w.glob {
			return true
		}
	}
	return false
}

// plain are the texts of words.
func plain(words []word) []string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return texts
}

// changesShell reports whether the command changes what later commands of the
// same line are or do, or runs text: no rule for its first words covers that.
func (s simple) changesShell() bool {
	switch s.name() {
	case "eval", "source", ".", "exec", "set", "shopt", "alias", "unalias", "read", "mapfile", "readarray", "getopts",
		"hash", "enable", "trap", "pushd", "popd", "unset", "bind", "complete", "compgen", "test", "[":
		// test -v evaluates the subscript it is given, and commands in it.
		return true
	case "printf":
		return !tamePrintf(plain(s.words[1:]))
	}
	return false
}

// shellLine takes a shell line apart into every simple command in it, those in
// substitutions, subshells, functions and wrappers included. dir is where it
// runs. ok is false when it cannot be parsed, or when what the parser sees need
// not be what the shell sees.
func shellLine(line, dir string) (commands []simple, ok bool) {
	var dirs []string
	if dir != "" {
		dirs = []string{dir}
	}
	return parseShell(line, dirs, 0)
}

func parseShell(line string, dirs []string, depth int) ([]simple, bool) {
	if depth > mostScripts || !legible(line) {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, false
	}
	w := &shellWalker{ok: true, depth: depth, line: line}
	w.list(file.Stmts, dirs)
	return w.commands, w.ok
}

// legible reports whether the parser surely sees in a line what shells see.
func legible(line string) bool {
	if len(line) > longestLine || strings.Count(line, "(") > mostParens || strings.HasSuffix(line, `\`) {
		return false
	}
	// The parser skips a carriage return, the shell takes it for a part of the
	// word; other control characters are not worth finding out.
	if strings.ContainsFunc(line, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\uFFFD' }) {
		return false
	}
	// The parser lets a backslash continue a comment, the shell does not.
	for physical := range strings.Lines(line) {
		if strings.HasSuffix(physical, "\\\n") && strings.Contains(physical, "#") {
			return false
		}
	}
	return true
}
