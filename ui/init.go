package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool"
	"artoo/ui/export"
)

// The bounds of what /init writes: fewer than 80 lines together.
const (
	initSources  = 5  // files with commands
	initCommands = 25 // commands of all of them
	initPerFile  = 10 // of one
	initDirs     = 10
	initLanguage = 6
	initLargest  = 256 << 10 // bytes of a file that is looked into
)

// overview is what the files of a project say of it, found without a model.
type overview struct {
	name      string
	files     int
	more      bool // there are more files than were counted
	languages []tally
	dirs      []tally // at the top, by name
	sources   []commandSource
	documents []string // worth reading first
	others    []string // instructions for other agents
}

// tally is how many files of a kind there are.
type tally struct {
	name  string
	files int
}

// commandSource is a file that says how the project is built and tested.
type commandSource struct {
	file     string
	commands []initCommand
}

// initCommand is a command, and what the file says of it.
type initCommand struct{ line, about string }

// survey looks through the project that the files belong to. What they are
// denied is not looked into.
func survey(ctx context.Context, env *tool.Env) (overview, error) {
	root := env.Files.Root()
	names, more, err := tool.List(ctx, env, root)
	if err != nil {
		return overview{}, err
	}
	s := surveyor{files: env.Files, root: root, has: map[string]bool{}}
	for _, name := range names {
		s.has[name] = true
	}
	o := overview{name: s.name(), files: len(names), more: more, languages: languages(names), dirs: topDirs(names)}
	o.sources = s.sources(names)
	o.documents = s.present("README.md", "README.rst", "README", "CONTRIBUTING.md", "ARCHITECTURE.md", "docs/architecture.md", "DESIGN.md")
	o.others = s.present("AGENT.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md")
	return o, nil
}

// surveyor reads the files that tell something.
type surveyor struct {
	files *tool.Files
	root  string
	has   map[string]bool // the project's files
}

// read is the content of a file of the project, "" when it may not be read, is
// too large or not there.
func (s surveyor) read(name string) string {
	if !s.has[name] {
		return ""
	}
	data, err := s.files.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)), initLargest)
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(data), "\ufffd")
}

func (s surveyor) present(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !s.has[name] })
}

// languages counts the files of each programming language, the most first.
func languages(names []string) []tally {
	counts, languageOf := map[string]int{}, languagesByExtension()
	for _, name := range names {
		if language := languageOf[strings.ToLower(path.Ext(name))]; language != "" {
			counts[language]++
		}
	}
	list := tallies(counts)
	slices.SortStableFunc(list, func(a, b tally) int { return cmp.Compare(b.files, a.files) })
	return list[:min(len(list), initLanguage)]
}

// tallies are counts by name.
func tallies(counts map[string]int) []tally {
	var list []tally
	for name, n := range counts {
		list = append(list, tally{name, n})
	}
	slices.SortFunc(list, func(a, b tally) int { return cmp.Compare(a.name, b.name) })
	return list
}

// topDirs counts the files below each directory of the root that is not hidden:
// the fullest, by name.
func topDirs(names []string) []tally {
	counts := map[string]int{}
	for _, name := range names {
		if dir, _, ok := strings.Cut(name, "/"); ok && !strings.HasPrefix(dir, ".") {
			counts[dir]++
		}
	}
	list := tallies(counts)
	slices.SortStableFunc(list, func(a, b tally) int { return cmp.Compare(b.files, a.files) })
	list = list[:min(len(list), initDirs)]
	slices.SortFunc(list, func(a, b tally) int { return cmp.Compare(a.name, b.name) })
	return list
}

// markdown is the text of AGENTS.md. What comes from the files stands in it as
// code, on its line.
func (o overview) markdown() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# %s\n", oneLine(o.name))
	var kinds []string
	for _, l := range o.languages {
		kinds = append(kinds, l.name+" ("+count(l.files, "file")+")")
	}
	all := count(o.files, "file")
	if o.more {
		all = "more than " + all
	}
	if kinds == nil {
		line("%s.", strings.ToUpper(all[:1])+all[1:])
	} else {
		line("Written in %s; %s in all.", strings.Join(kinds, ", "), all)
	}
	line("This page holds what the project's files say. Correct it, and add what only people know.")
	if len(o.sources) > 0 {
		line("\n## Commands")
	}
	for _, s := range o.sources {
		line("\nFrom %s:\n", export.InlineCode(s.file))
		for _, c := range s.commands {
			text := "- " + export.InlineCode(c.line)
			if c.about != "" {
				text += ": " + oneLine(c.about)
			}
			line("%s", text)
		}
	}
	if len(o.dirs) > 0 {
		line("\n## Layout\n")
	}
	for _, d := range o.dirs {
		line("- %s: %s", export.InlineCode(d.name+"/"), count(d.files, "file"))
	}
	o.pages(line, "Read first", o.documents)
	o.pages(line, "Other instructions, which hold as well", o.others)
	return b.String()
}

func (o overview) pages(line func(string, ...any), title string, names []string) {
	if len(names) == 0 {
		return
	}
	line("\n## %s\n", title)
	for _, name := range names {
		line("- %s", export.InlineCode(name))
	}
}

// instructionsFile is what /init writes.
const instructionsFile = "AGENTS.md"

// initialise writes AGENTS.md into the project's root and returns what a person
// should know of it, a line each. One that is there stays as it is.
func initialise(ctx context.Context, access fileAccess) (notes []string, err error) {
	files := access.env.Files
	if files == nil {
		return nil, errors.New("there is no project here")
	}
	root := files.Root()
	if home, err := filepath.EvalSymlinks(access.home); err == nil && root == home || root == filepath.Dir(root) {
		return nil, fmt.Errorf("%s is no project: cd into one", root)
	}
	o, err := survey(ctx, access.env)
	if err != nil {
		return nil, err
	}
	at := filepath.Join(root, instructionsFile)
	if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
		return append([]string{instructionsFile + " is there already and stays as it is"}, o.missingFrom(files, at)...), nil
	}
	text := o.markdown()
	if _, err := files.WriteFileAtomic(at, []byte(text), &tool.State{Missing: true}); err != nil {
		return nil, err
	}
	notes = append(notes, fmt.Sprintf("wrote %s, %s; look it over, every session here begins with it", at, count(strings.Count(text, "\n"), "line")))
	for _, name := range o.others {
		if name == "AGENT.md" || name == "CLAUDE.md" {
			notes = append(notes, name+" was read until now; "+instructionsFile+" comes before it and names it: join the two")
			break
		}
	}
	return notes, nil
}

// missingFrom names the commands that were found and that the file does not
// hold.
func (o overview) missingFrom(files *tool.Files, at string) []string {
	data, err := files.ReadFile(at, initLargest)
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for _, s := range o.sources {
		for _, c := range s.commands {
			if !strings.Contains(string(data), c.line) {
				lines = append(lines, c.line)
			}
		}
	}
	if lines == nil {
		return nil
	}
	const most = 8
	text := "commands it does not name: " + strings.Join(lines[:min(len(lines), most)], "; ")
	if len(lines) > most {
		text += fmt.Sprintf("; and %d more", len(lines)-most)
	}
	return []string{text}
}

// languagesByExtension names the language of a file by its extension. It is made
// when it is asked for: hardly any run does.
func languagesByExtension() map[string]string {
	return map[string]string{
		".go": "Go", ".py": "Python", ".rs": "Rust", ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".cxx": "C++", ".hpp": "C++",
		".js": "JavaScript", ".jsx": "JavaScript", ".mjs": "JavaScript", ".cjs": "JavaScript", ".ts": "TypeScript", ".tsx": "TypeScript",
		".java": "Java", ".kt": "Kotlin", ".kts": "Kotlin", ".scala": "Scala", ".clj": "Clojure", ".cs": "C#", ".fs": "F#", ".rb": "Ruby",
		".php": "PHP", ".swift": "Swift", ".m": "Objective-C", ".dart": "Dart", ".ex": "Elixir", ".exs": "Elixir", ".erl": "Erlang",
		".hs": "Haskell", ".ml": "OCaml", ".lua": "Lua", ".pl": "Perl", ".pm": "Perl", ".r": "R", ".jl": "Julia", ".zig": "Zig", ".nim": "Nim",
		".sh": "Shell", ".bash": "Shell", ".zsh": "Shell", ".fish": "Shell", ".ps1": "PowerShell", ".el": "Emacs Lisp", ".lisp": "Lisp",
		".sql": "SQL", ".html": "HTML", ".css": "CSS", ".scss": "CSS", ".vue": "Vue", ".svelte": "Svelte", ".tf": "Terraform", ".nix": "Nix",
		".proto": "Protocol Buffers", ".vim": "Vim script", ".f90": "Fortran", ".d": "D",
	}
}
