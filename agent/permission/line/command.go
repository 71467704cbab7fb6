package line

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

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
	// Certain says that the line runs it, so far as its tests and loops let it. Other commands
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

// ChangesShell reports whether the command changes what later commands of the
// same line are or do, or runs text: no rule for its first words covers that.
func (c Command) ChangesShell() bool {
	// test and printf evaluate the subscripts they are given, and commands in them.
	return In(`eval source . exec set shopt alias unalias read mapfile readarray getopts hash enable trap pushd popd
		unset bind complete compgen test [ [[ printf`, c.Name())
}

// ArgsFrom is the name of the command that gives this one its arguments, where TakesArgs is set.
func (c Command) ArgsFrom() string {
	for _, outer := range slices.Backward(c.Wrappers) {
		if w, ok := wrapperOf(filepath.Base(outer.Words[0].Text)); ok && w.feeds {
			return outer.Words[0].Text
		}
	}
	return "find"
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

// Each is what f makes of every item of a list.
func Each[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, item := range list {
		out[i] = f(item)
	}
	return out
}

// In reports whether a list of words with blanks between them holds a word.
func In(list, word string) bool {
	return slices.Contains(strings.Fields(list), word)
}

// IsOption reports whether a word is written as an option.
func IsOption(w string) bool { return len(w) > 1 && w[0] == '-' }

// HasOption reports whether a word is, or holds in a cluster, one of the
// options. GNU programs take any unambiguous beginning of a long option, so a
// beginning counts too.
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
