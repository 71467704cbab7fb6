// Package outline finds the definitions in source files, and ranks them by how many other files
// mention their names.
package outline

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Symbol is one definition.
type Symbol struct {
	Name string
	Line int    // counts from 1
	Text string // the line, trimmed and maybe cut
	hash uint32
	// local means that only files of the same directory can use it; plain that the name may as
	// well be a word of something else.
	local, plain bool
}

// File holds the symbols that Scan found in a file. It is not changed afterwards.
type File struct {
	Symbols  []Symbol
	language int
	mentions []uint32 // the hashes of the names in it, sorted, each once
}

const (
	maxLine    = 2000 // bytes; a program wrote a file with a longer line
	maxText    = 100  // bytes of a line that are kept
	maxSymbols = 1000 // bound of one file
	maxIndent  = 12   // columns in front of a definition
	minName    = 3    // bytes; a shorter name says nothing
)

// language is how definitions are recognised. A pattern matches the beginning of a line without its
// indentation, and its groups hold the name.
type language struct {
	extensions string // each has a space on both sides
	comment    string // begins one that ends with the line
	beside     bool   // files of one directory use each other's names without an import
	anywhere   string // matches definitions, indented or not; "" for none
	top        string // matches those that count only where they are not indented; "" for none
}

const mods = `(?:(?:export|default|declare|async|abstract|static|public|private|fileprivate|protected|internal|final|sealed|partial|open|` +
	`override|data|inline|pub(?:\([^)]*\))?|unsafe|const|extern(?: "[^"]*")?|local|suspend|indirect|readonly|case)\s+)*`

var languages = [...]language{
	{" go ", "//", true, ``, `func (?:\([^)]*\) )?(\w+)|(?:type|var|const) (\w+)`},
	{" py pyi ", "#", false, `(?:async )?def (\w+)\(|class (\w+)\s*[(:]`, ``},
	{" js jsx mjs cjs ts tsx mts cts vue svelte ", "//", false, mods + `(?:function\s*\*?|class|interface|enum|namespace)\s+(\w+)|` +
		mods + `(?:get |set |\*)?(\w+)\s*(?:<[^>]*>)?\([^;'"(]*\)\s*(?::[^;=]*)?\{$`, mods + `(?:const|let|var|type)\s+(\w+)`},
	{" rs ", "//", false, mods + `(?:fn|struct|enum|trait|union|mod|type|macro_rules!)\s+(\w+)`, mods + `(?:const|static)\s+(\w+)\s*:`},
	{" c h cc cpp cxx hh hpp hxx cu m mm ", "//", false, `(?:class|struct|union|enum|enum class)\s+(\w+)\s*(?:[:{].*)?$|#\s*define\s+(\w+)[( ]|` +
		`[A-Za-z_][\w\s*&:<>,]*[\s*&:](\w+)\s*\([^;]*\{$`, `[A-Za-z_][\w\s*&:<>,]*[\s*&:](\w+)\s*\([^;]*$`},
	{" java cs dart ", "//", true, mods + `(?:class|interface|enum|record|struct|mixin)\s+(\w+)|(?:[\w<>\[\],.?]+\s+)+(\w+)\s*\([^;]*(?:[{)]|=>.*)$`, ``},
	{" kt kts scala ", "//", true, mods + `(?:fun|def|class|interface|object|trait|typealias)\s+(?:<[^>]*>\s*)?(?:\w+\.)?(\w+)`,
		mods + `(?:val|var)\s+(\w+)`},
	{" swift ", "//", true, mods + `(?:func|class|struct|enum|protocol|actor|extension|typealias)\s+(\w+)`, mods + `(?:let|var)\s+(\w+)`},
	{" php ", "//", false, mods + `(?:function|class|interface|trait|enum)\s+&?(\w+)`, `const\s+(\w+)`},
	{" rb rake ", "#", false, `(?:def|class|module)\s+(?:self\.)?(?:\w+::)*(\w+)`, ``},
	{" sh bash zsh ", "#", false, `function\s+([\w-]+)|([\w-]+)\s*\(\)`, ``},
	{" lua ", "--", false, mods + `function\s+(?:\w+[.:])*(\w+)`, ``},
	{" pl pm ", "#", false, `(?:sub|package)\s+(?:\w+::)*(\w+)`, ``},
	{" ex exs ", "#", false, `(?:def|defp|defmacro|defmodule)\s+(?:\w+\.)*(\w+)`, ``},
	{" zig jl proto ", "//", false, mods + `(?:fn|function|struct|macro|module|message|service|rpc|enum)\s+(\w+)`, ``},
}

// flow are words that look like the name of a function, or like the type in front of one.
const flow = " if for while switch return else do catch new throw case await yield typeof delete sizeof using lock foreach when until " +
	"function constructor super this assert with "

// Scanner finds definitions. Its methods may be called from several goroutines.
type Scanner struct {
	patterns [len(languages)]func() [2]*regexp.Regexp
}

// NewScanner makes a scanner, which prepares a language when it meets its first file.
func NewScanner() *Scanner {
	s := &Scanner{}
	for i, l := range languages {
		s.patterns[i] = sync.OnceValue(func() (made [2]*regexp.Regexp) {
			for i, pattern := range []string{l.anywhere, l.top} {
				if pattern != "" {
					made[i] = regexp.MustCompile(`^(?:` + pattern + `)`)
				}
			}
			return made
		})
	}
	return s
}

func has(list, word string) bool { return len(word) < 30 && strings.Contains(list, " "+word+" ") }

// languageOf is the index of a file's language, by its name; -1 for an unknown one.
func languageOf(name string) int {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	return slices.IndexFunc(languages[:], func(l language) bool { return ext != "" && has(l.extensions, ext) })
}

// Known reports whether the language of a file is known, by its name.
func Known(name string) bool { return languageOf(name) >= 0 }

// Scan finds the definitions in the file with this name and content, and the names that it
// mentions. Of a language that is not known, and of a file that a program wrote, it finds nothing.
func (s *Scanner) Scan(name string, data []byte) *File {
	f := &File{language: languageOf(name)}
	if f.language < 0 {
		return f
	}
	comment, patterns := languages[f.language].comment, s.patterns[f.language]()
	var seen [1 << 12]uint32 // the last hash of each slot: most names stand in a file more than once
	rest := string(data)
	for number := 1; rest != ""; number++ {
		var line string
		if line, rest, _ = strings.Cut(rest, "\n"); len(line) > maxLine {
			return &File{language: f.language}
		}
		line, _, _ = strings.Cut(line, comment)
		text := strings.TrimLeft(line, " \t")
		if comment == "//" && (strings.HasPrefix(text, "/*") || strings.HasPrefix(text, "*")) {
			continue
		}
		f.mention(line, &seen)
		indent := len(line) - len(text)
		if text = strings.TrimRight(text, " \t\r"); text == "" || indent > maxIndent || len(f.Symbols) == maxSymbols {
			continue
		}
		for i, p := range patterns {
			if p == nil || i == 1 && indent > 0 {
				continue
			}
			if at := p.FindStringSubmatchIndex(text); at != nil {
				f.define(number, indent, text, at[2:])
				break
			}
		}
	}
	slices.Sort(f.mentions)
	f.mentions = slices.Clip(slices.Compact(f.mentions))
	return f
}

// define adds the definition in a line, whose name is the group that matched.
func (f *File) define(number, indent int, line string, groups []int) {
	for groups[0] < 0 {
		groups = groups[2:]
	}
	name, first := line[groups[0]:groups[1]], line[:strings.IndexAny(line+" ", " \t(")]
	if len(name) < minName || has(flow, name) || has(flow, first) && first != "function" || strings.Contains(line, "require(") {
		return
	}
	lower := strings.IndexFunc(name, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
	d := Symbol{Name: strings.Clone(name), Line: number, hash: hashOf(f.language, name),
		local: name[0] == '_' || has(" static private fileprivate local ", first) || f.language == 0 && (name[0] < 'A' || name[0] > 'Z'),
		plain: lower || indent > 0}
	if line = strings.TrimRight(line, " {"); len(line) > maxText {
		line = strings.ToValidUTF8(line[:maxText], "") + "…"
	}
	d.Text = strings.Clone(line)
	f.Symbols = append(f.Symbols, d)
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= '0' && c <= '9'
}

func (f *File) mention(line string, seen *[1 << 12]uint32) {
	for at := 0; at < len(line); at++ {
		from, hash := at, hashOf(f.language, "")
		for ; at < len(line) && isName(line[at]); at++ {
			hash = (hash ^ uint32(line[at])) * prime
		}
		if slot := hash % uint32(len(seen)); at > from && seen[slot] != hash {
			seen[slot] = hash
			f.mentions = append(f.mentions, hash)
		}
	}
}

const prime = 16777619 // the prime of FNV-1a

// hashOf is the hash of a name of a language. Two names of one hash cost no more than a wrong rank.
func hashOf(language int, name string) uint32 {
	hash := uint32(2166136261) + uint32(language)
	for i := range len(name) {
		hash = (hash ^ uint32(name[i])) * prime
	}
	return hash
}
