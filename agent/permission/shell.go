package permission

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	// soft is set for a word that is not known, but made only of text, public
	// variables and the output of commands that are looked at themselves.
	soft bool
}

// simple is one simple command of a shell line, with wrappers opened.
type simple struct {
	words   []word
	dirs    []string // where it may run, as literal cd's tell; none when they do not
	inputs  []word   // files it reads through redirection
	texts   []string // here-documents and here-strings it reads, as far as known
	outputs []word   // files its output is redirected into
	// overwrites are those of them that lose what they hold.
	overwrites []word
	assigns    bool    // variables are set for it
	raised     bool    // it runs under sudo or doas
	fed        bool    // it gets arguments from xargs or find
	unsure     bool    // the text it is given to read is not known
	loose      bool    // an expansion in it can set variables or run commands that are not seen
	opaque     bool    // it is more than a simple command: no rule for its words covers it
	hides      bool    // it runs a command that cannot be seen
	layers     []layer // the wrappers it was found in, outermost first
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
	unknown := func(w word) bool { return !w.known }
	return !s.unsure && !s.loose && !s.opaque && !s.hides &&
		!slices.ContainsFunc(s.words, unknown) && !slices.ContainsFunc(s.inputs, unknown)
}

// globs reports whether the shell expands a glob in one of its words.
func (s simple) globs() bool {
	return slices.ContainsFunc(s.words, func(w word) bool { return w.glob })
}

// each is what f makes of every item of a list.
func each[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, item := range list {
		out[i] = f(item)
	}
	return out
}

// plain are the texts of words.
func plain(words []word) []string { return each(words, func(w word) string { return w.text }) }

// changesShell reports whether the command changes what later commands of the
// same line are or do, or runs text: no rule for its first words covers that.
func (s simple) changesShell() bool {
	// test and printf evaluate the subscripts they are given, and commands in them.
	return listed(`eval source . exec set shopt alias unalias read mapfile readarray getopts hash enable trap pushd popd
		unset bind complete compgen test [ [[ printf`, s.name())
}

// Shell is what must be known beforehand of the shell that runs the lines. The
// zero value is bash in a locale of ASCII or UTF-8.
type Shell struct {
	// Name is the base name of the shell's program, such as bash or sh.
	Name string
	// Locale names the locale in force if it is neither ASCII nor UTF-8: in
	// others a byte of a character may mean something to the shell.
	Locale string
}

// kind is the name of the shell without an ending that systems add.
func (s Shell) kind() string {
	if s.Name == "" {
		return "bash"
	}
	return strings.TrimSuffix(strings.ToLower(s.Name), ".exe")
}

// languages are the languages that a shell may take a line for. A plain sh is
// another program on each system, so the line must mean the same in all of
// them: what any reading of it runs counts.
func languages(kind string) []syntax.LangVariant {
	switch kind {
	case "bash":
		return []syntax.LangVariant{syntax.LangBash}
	case "sh", "dash", "ash":
		return []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash}
	}
	return nil
}

// takeApart takes a shell line apart into every simple command in it, those in
// substitutions, subshells, functions and wrappers included. dir is where it
// runs. why is not empty when it cannot be parsed, or when what the parser sees
// need not be what the shell sees: then only deny and ask rules may look at the
// commands.
func (p *Policy) takeApart(line, dir string) (commands []simple, why string) {
	dirs := known(dir)
	kind := p.Shell.kind()
	if languages(kind) == nil {
		commands, _ = parseShell(line, dirs, "sh", 0)
		return commands, "how " + kind + " takes this line is not known"
	}
	commands, ok := parseShell(line, dirs, kind, 0)
	switch {
	case !ok:
		return commands, "the line could not be taken apart"
	case p.Shell.Locale != "":
		return commands, "the locale " + p.Shell.Locale +
			" is neither ASCII nor UTF-8, in which the shell may take the line in another way"
	}
	return commands, ""
}

// known is a directory as a set of them; nil for "".
func known(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{dir}
}

// shellLine is takeApart for bash, for what only has to find commands in a text.
func shellLine(line, dir string) (commands []simple, ok bool) {
	return parseShell(line, known(dir), "bash", 0)
}

// parseShell is takeApart for a shell of a kind that languages knows.
func parseShell(line string, dirs []string, kind string, depth int) (commands []simple, ok bool) {
	if depth > mostScripts {
		return nil, false
	}
	ok = true
	for i, variant := range languages(kind) {
		file := parse(line, variant)
		if file == nil {
			ok = false
			continue
		}
		w := &shellWalker{ok: true, depth: depth, line: line, kind: kind, variant: variant}
		w.list(file.Stmts, dirs)
		ok = ok && w.ok
		if i == 0 || !reflect.DeepEqual(w.commands, commands) {
			commands = append(commands, w.commands...)
		}
	}
	return commands, ok
}

// parse parses a line; nil for one that cannot be, or is not surely seen as
// shells see it.
func parse(line string, variant syntax.LangVariant) *syntax.File {
	if !legible(line) {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	return file
}

func parseBash(line string) *syntax.File { return parse(line, syntax.LangBash) }

// legible reports whether the parser surely sees in a line what shells see.
func legible(line string) bool {
	if len(line) > longestLine || strings.Count(line, "(") > mostParens || strings.HasSuffix(line, `\`) {
		return false
	}
	// The parser skips a carriage return, the shell takes it for a part of the
	// word; other control characters are not worth finding out.
	odd := func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\uFFFD' }
	if strings.ContainsFunc(line, odd) || !plainlySpaced(line) {
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

// plainlySpaced reports whether nothing but ASCII can be taken for blank space:
// systems differ in what separates words.
func plainlySpaced(line string) bool {
	if strings.ContainsFunc(line, func(c rune) bool {
		return c >= utf8.RuneSelf && (unicode.IsSpace(c) || unicode.In(c, unicode.Z, unicode.Cf))
	}) {
		return false
	}
	// macOS asks of single bytes whether they are blank.
	return runtime.GOOS != "darwin" || strings.IndexByte(line, 0x85) < 0 && strings.IndexByte(line, 0xa0) < 0
}
