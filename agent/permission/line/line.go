// Package line reads a shell line: which simple commands it runs and could run, with which
// words, in which directories, and what they read and write. It looks at the text alone, never
// at files or at the environment.
package line

import (
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
	// Problem says why the shell may take the line in another way than the parser, "" for no
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
	at := place{}
	if dir != "" {
		at = place{[]string{dir}, []string{dir}}
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

// languages are the languages that a shell may take a line for. A plain sh is
// another program on each system, so the line must mean the same in all of
// them, and the commands of any reading count.
func languages(kind string) []syntax.LangVariant {
	switch kind {
	case "bash":
		return []syntax.LangVariant{syntax.LangBash}
	case "sh", "dash", "ash":
		return []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash}
	}
	return nil
}

// read reads a line in the languages of its shell, each time with a new walker like w. ok is
// false where the shell may see other commands than the parser.
func read(text string, at place, w walker) (commands []Command, ok bool) {
	if w.depth > mostScripts || !legible(text) {
		return nil, false
	}
	ok = true
	for i, variant := range languages(w.kind) {
		file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(text), "")
		if err != nil {
			ok = false
			continue
		}
		w := &walker{text: text, kind: w.kind, variant: variant, depth: w.depth, certain: w.certain, ok: true,
			items: map[string]Word{}, values: map[string][]Word{}, round: certainly}
		w.list(file.Stmts, at)
		w.runTexts(at)
		ok = ok && w.ok
		if i == 0 || !reflect.DeepEqual(w.commands, commands) {
			commands = append(commands, w.commands...)
		}
	}
	return commands, ok
}

// legible reports whether the parser surely sees in a line what shells see.
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

// plainlySpaced reports whether nothing but ASCII can count as blank space:
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
