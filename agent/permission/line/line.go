// Package line reads a shell line: which simple commands it runs and could run, with which
// words, in which directories, and their reads and writes. It looks at the text alone, never
// at files or at the environment.
package line

import (
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Longer lines, and those that open more parentheses, are not parsed: the parser is
// recursive, and a model can write a line that takes all memory to follow.
const (
	longestLine = 32 << 10
	mostParens  = 2000
	mostScripts = 4 // levels of sh -c within sh -c
)

// Line is a shell line that was read.
type Line struct {
	// Commands are all simple commands in it, those in substitutions, subshells, functions and
	// wrappers included, and those that it could run.
	Commands []Command
	// Problem explains why the shell may take the line in another way than the parser, "" for no
	// reason. Then only rules that deny or ask may look at the commands.
	Problem string
}

// Shell is the dialect of a line. The zero value is bash in a locale of ASCII or UTF-8.
type Shell struct {
	// Name is the base name of the shell's program, such as bash or sh.
	Name string
	// Locale names the locale in force if it is neither ASCII nor UTF-8: in
	// others a byte of a character may mean something to the shell.
	Locale string
}

// Kind is the name of the shell without an ending that systems add.
func (s Shell) Kind() string {
	if s.Name == "" {
		return "bash"
	}
	return strings.TrimSuffix(strings.ToLower(s.Name), ".exe")
}

// Parse reads a line that shell runs in dir, "" where that is not known.
func Parse(text, dir string, shell Shell) Line {
	var at []string
	if dir != "" {
		at = []string{dir}
	}
	kind := shell.Kind()
	if languages(kind) == nil {
		commands, _ := read(text, at, walker{kind: "sh", certain: true})
		return Line{commands, "how " + kind + " parses this line is not known"}
	}
	commands, ok := read(text, at, walker{kind: kind, certain: true})
	switch {
	case !ok:
		return Line{commands, "the line could not be parsed"}
	case shell.Locale != "":
		return Line{commands, "the locale " + shell.Locale +
			" is neither ASCII nor UTF-8, in which the shell may take the line in another way"}
	}
	return Line{commands, ""}
}

// languages are those that a shell may take a line for: a plain sh differs from system to system, so
// the commands of any reading count.
func languages(kind string) []syntax.LangVariant {
	switch kind {
	case "bash":
		return []syntax.LangVariant{syntax.LangBash}
	case "sh", "dash", "ash":
		return []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash}
	}
	return nil
}

// read reads a line in the languages of its shell, with walkers like w. ok is false where the
// shell may see other commands.
func read(text string, at []string, w walker) (commands []Command, ok bool) {
	if w.depth > mostScripts || !legible(text) {
		return nil, false
	}
	w.text, ok = text, true
	for i, variant := range languages(w.kind) {
		file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(text), "")
		if err != nil {
			ok = false
			continue
		}
		found, sees := w.readings(file, at)
		ok = ok && sees
		if i == 0 || !reflect.DeepEqual(found, commands) {
			commands = append(commands, found...)
		}
	}
	return commands, ok
}

// readings are the commands of a file as it stands, and then further ones by the values that it
// gives its variables: each reading takes another one.
func (w walker) readings(file *syntax.File, at []string) (commands []Command, ok bool) {
	ok = true
	seen := map[string]bool{}
	values := min(1, strings.Count(w.text, "{")) // braces too are only guessed
	for round := certainly; round < min(values, mostValues>>w.depth); round++ {
		r := w
		r.ok, r.round, r.items, r.values = true, round, map[string]Word{}, map[string][]Word{}
		r.certain = w.certain && round == certainly
		r.list(file.Stmts, at)
		if round == certainly {
			r.runTexts(at)
		}
		ok = ok && r.ok
		for _, of := range r.values {
			values = max(values, len(of))
		}
		for _, c := range r.commands {
			alike := c
			alike.Certain = false
			key := fmt.Sprintf("%#v", alike)
			if round == certainly || !seen[key] {
				commands = append(commands, c)
			}
			seen[key] = true
		}
	}
	return commands, ok
}

// legible reports whether the parser surely reads a line as shells do.
func legible(line string) bool {
	if len(line) > longestLine || strings.Count(line, "(") > mostParens || strings.HasSuffix(line, `\`) {
		return false
	}
	// The parser skips a carriage return, the shell takes it for a part of the
	// word; other control characters are not worth finding out.
	control := func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\uFFFD' }
	if strings.ContainsFunc(line, control) || !plainlySpaced(line) {
		return false
	}
	// The parser lets a backslash continue a comment, the shell does not.
	return !slices.ContainsFunc(strings.SplitAfter(line, "\n"), func(physical string) bool {
		return strings.HasSuffix(physical, "\\\n") && strings.Contains(physical, "#")
	})
}

// plainlySpaced reports whether only ASCII can count as blank space: systems differ.
func plainlySpaced(line string) bool {
	if strings.ContainsFunc(line, func(c rune) bool {
		return c >= utf8.RuneSelf && (unicode.IsSpace(c) || unicode.In(c, unicode.Z, unicode.Cf))
	}) {
		return false
	}
	// macOS asks of single bytes whether they are blank.
	return runtime.GOOS != "darwin" || strings.IndexByte(line, 0x85) < 0 && strings.IndexByte(line, 0xa0) < 0
}

// Word is one word of a command as far as it is known before the command runs.
type Word struct {
	Text  string // its value; the source text of a word that is not known
	Known bool   // it holds no expansion except globs
	Glob  bool   // it holds an unquoted glob
	// Harmless is set for a word that is not known, but made only of text, public
	// variables and the output of commands that are looked at themselves.
	Harmless bool
}

// Command is one simple command of a line, with wrappers such as env and timeout opened.
type Command struct {
	Words []Word
	Dirs  []string // where it may run, as the line's literal cd commands say; nil where that is not known
	// Certain means that the line runs it, so far as its tests and loops let it. Other commands
	// are possible readings of variables and texts: only rules that deny or ask look at them.
	Certain bool

	Inputs     []Word   // files it reads through redirection
	Texts      []string // here-documents and here-strings it reads, as far as they are known
	Outputs    []Word   // files its output is redirected into
	Overwrites []Word   // those of Outputs that lose their content

	SetsVariables   bool // variables are set for it
	Elevated        bool // it runs under sudo or doas
	TakesArgs       bool // it gets arguments from xargs or find
	UnknownText     bool // the text it is given to read is not known
	UnsafeExpansion bool // an expansion in it can set variables or run commands that are not seen
	Compound        bool // it is more than a simple command: no rule for its words covers it
	RunsUnknown     bool // it runs a command that cannot be seen

	Wrappers []Wrapper // the commands it was found in, outermost first
}

// Wrapper is a command that runs another one.
type Wrapper struct {
	Words         []Word
	SetsVariables bool // variables are set for it
}

// Name is the command's name, "" where it is not known.
func (c Command) Name() string {
	if len(c.Words) == 0 || !c.Words[0].Known {
		return ""
	}
	return c.Words[0].Text
}

// Base is the command's name without its directory, "." where it is not known.
func (c Command) Base() string { return path.Base(c.Name()) }

// Args are the texts of the words behind the name.
func (c Command) Args() []string { return Texts(c.Words[min(1, len(c.Words)):]) }

// Known reports whether everything the command is given is known.
func (c Command) Known() bool {
	unknown := func(w Word) bool { return !w.Known }
	return !c.UnknownText && !c.UnsafeExpansion && !c.Compound && !c.RunsUnknown &&
		!slices.ContainsFunc(c.Words, unknown) && !slices.ContainsFunc(c.Inputs, unknown)
}

// Globs reports whether the shell expands a glob in one of its words.
func (c Command) Globs() bool {
	return slices.ContainsFunc(c.Words, func(w Word) bool { return w.Glob })
}

// ChangesShell reports whether the command changes the meaning of later commands of the
// same line, or runs text: no rule for its first words covers that.
func (c Command) ChangesShell() bool {
	// test and printf evaluate the subscripts they are given, and commands in them.
	return In(`eval source . exec set shopt alias unalias read mapfile readarray getopts hash enable trap pushd popd
		unset bind complete compgen test [ [[ printf`, c.Name())
}

// String is the command as a line for people.
func (c Command) String() string {
	var words []string
	for _, w := range c.Words {
		text := w.Text
		if w.Known && !w.Glob && (text == "" || strings.ContainsAny(text, " \t\n'\"$&|;<>()*?[`\\")) {
			text = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
		words = append(words, text)
	}
	for _, in := range c.Inputs {
		words = append(words, "< "+in.Text)
	}
	for _, out := range c.Outputs {
		words = append(words, "> "+out.Text)
	}
	if n := len(c.Wrappers); n > 0 {
		words = append(words, " (by "+c.Wrappers[n-1].Words[0].Text+")")
	}
	return strings.Join(words, " ")
}

// Paths is where a path leads from each directory that the command may run in; nil where no
// directory is known and the path is not absolute.
func (c Command) Paths(to string) []string { return PathsFrom(c.Dirs, to) }

// PathsFrom is where a path leads from each of the directories; one place where it is absolute.
func PathsFrom(dirs []string, to string) []string {
	if filepath.IsAbs(to) {
		return []string{filepath.Clean(to)}
	}
	return Each(dirs, func(dir string) string { return filepath.Join(dir, to) })
}

// Texts are the texts of words.
func Texts(words []Word) []string { return Each(words, func(w Word) string { return w.Text }) }

// Each applies f to every item of a list.
func Each[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, item := range list {
		out[i] = f(item)
	}
	return out
}

// In reports whether a list of words, separated by spaces, holds a word.
func In(list, word string) bool {
	return slices.Contains(strings.Fields(list), word)
}

// IsOption reports whether a word is written as an option.
func IsOption(w string) bool { return len(w) > 1 && w[0] == '-' }

// HasOption reports whether a word is, or holds in a cluster, one of the options. A beginning of a long
// option counts, as to GNU programs.
func HasOption(w, options string) bool {
	if !IsOption(w) {
		return false
	}
	name, _, _ := strings.Cut(w, "=")
	for o := range strings.FieldsSeq(options) {
		switch {
		case name == o:
			return true
		case strings.HasPrefix(o, "--") && strings.HasPrefix(name, "--") && len(name) > 2 && strings.HasPrefix(o, name):
			return true
		case len(o) == 2 && w[1] != '-' && strings.IndexByte(w[1:], o[1]) >= 0:
			return true
		}
	}
	return false
}

// HaveOption reports whether one of the words has one of the options.
func HaveOption(words []string, options string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return HasOption(w, options) })
}

// Letters are the options of a cluster such as -rf, one by one.
func Letters(option string) []string {
	if len(option) < 3 || option[1] == '-' {
		return []string{option}
	}
	return Each([]rune(option[1:]), func(c rune) string { return "-" + string(c) })
}
