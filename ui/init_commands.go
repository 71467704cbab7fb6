package ui

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// sources finds the files that name commands, those people wrote for it first.
func (s surveyor) sources(names []string) []commandSource {
	var all []commandSource
	room := initCommands
	add := func(file string, commands []initCommand) {
		commands = commands[:min(len(commands), initPerFile, room)]
		if len(commands) > 0 && len(all) < initSources {
			all = append(all, commandSource{file, commands})
			room -= len(commands)
		}
	}
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} { // make takes the first
		if s.has[name] {
			add(name, makeTargets(s.read(name)))
			break
		}
	}
	for _, name := range []string{"justfile", "Justfile", ".justfile"} {
		add(name, justRecipes(s.read(name)))
	}
	add("package.json", s.packageScripts())
	for _, known := range knownFiles {
		if s.has[known.file] {
			add(known.file, plain(known.commands))
		}
	}
	add("pyproject.toml", pythonTools(s.read("pyproject.toml")))
	for _, name := range names {
		if ext := path.Ext(name); path.Dir(name) == ".github/workflows" && (ext == ".yml" || ext == ".yaml") {
			add(name, workflowRuns(s.read(name)))
		}
	}
	return all
}

// knownFiles have the same commands everywhere.
var knownFiles = []struct {
	file     string
	commands []string
}{
	{"go.mod", []string{"go build ./...", "go test ./...", "go vet ./..."}},
	{"Cargo.toml", []string{"cargo build", "cargo test"}},
	{"gradlew", []string{"./gradlew build", "./gradlew test"}},
	{"pom.xml", []string{"mvn verify"}},
	{"mix.exs", []string{"mix compile", "mix test"}},
	{"tox.ini", []string{"tox"}},
	{"Rakefile", []string{"rake --tasks"}},
	{"CMakeLists.txt", []string{"cmake -B build", "cmake --build build"}},
}

func plain(lines []string) []initCommand {
	var commands []initCommand
	for _, l := range lines {
		commands = append(commands, initCommand{line: l})
	}
	return commands
}

// usual are the names that say most about a project; they come first.
var usual = []string{"build", "test", "check", "lint", "vet", "fmt", "format", "typecheck", "run", "dev", "start", "all"}

func usualFirst(commands []initCommand, name func(initCommand) string) []initCommand {
	rank := func(c initCommand) int {
		if i := slices.Index(usual, name(c)); i >= 0 {
			return i
		}
		return len(usual)
	}
	slices.SortStableFunc(commands, func(a, b initCommand) int { return rank(a) - rank(b) })
	return commands
}

func lastWord(c initCommand) string { return c.line[strings.LastIndexByte(c.line, ' ')+1:] }

// makeTargets are the targets of a makefile that are names, no patterns or
// files; a comment behind one that begins with ## is what it does.
func makeTargets(text string) []initCommand {
	target := regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_-]*)\s*::?(?:\s([^=#]*))?(?:#+\s*(.*))?$`)
	var commands []initCommand
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		m := target.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || seen[m[1]] {
			continue
		}
		seen[m[1]] = true
		about := ""
		if strings.Contains(line, "##") {
			about = strings.TrimSpace(m[3])
		}
		commands = append(commands, initCommand{"make " + m[1], about})
	}
	return usualFirst(commands, lastWord)
}

// justRecipes are the recipes of a justfile; a comment on the line before one is
// what it does. Private ones, with an underscore, are left out.
func justRecipes(text string) []initCommand {
	recipe := regexp.MustCompile(`^@?([A-Za-z][A-Za-z0-9_-]*)[^:]*:(?:[^=].*)?$`)
	var commands []initCommand
	about := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if comment, ok := strings.CutPrefix(line, "# "); ok {
			about = comment
			continue
		}
		if m := recipe.FindStringSubmatch(line); m != nil && !strings.HasPrefix(line, "set ") && !strings.HasPrefix(line, "alias ") && !strings.HasPrefix(line, "export ") {
			commands = append(commands, initCommand{"just " + m[1], about})
		}
		about = ""
	}
	return usualFirst(commands, lastWord)
}

// packageScripts are the scripts of package.json, run by whatever wrote the lock
// file, in the order of the file.
func (s surveyor) packageScripts() []initCommand {
	var pkg struct {
		Scripts json.RawMessage `json:"scripts"`
	}
	if err := json.Unmarshal([]byte(s.read("package.json")), &pkg); err != nil || len(pkg.Scripts) == 0 {
		return nil // a file that cannot be read names no commands
	}
	run := "npm run "
	for _, lock := range []struct{ file, run string }{{"pnpm-lock.yaml", "pnpm run "}, {"yarn.lock", "yarn run "}, {"bun.lock", "bun run "}, {"bun.lockb", "bun run "}} {
		if s.has[lock.file] {
			run = lock.run
			break
		}
	}
	dec := json.NewDecoder(bytes.NewReader(pkg.Scripts))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var commands []initCommand
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			break
		}
		var script string
		if err := dec.Decode(&script); err != nil {
			break
		}
		if key, ok := name.(string); ok && key != "" && !strings.ContainsAny(key, " \t\n") {
			commands = append(commands, initCommand{run + key, short(script)})
		}
	}
	return usualFirst(commands, lastWord)
}

// short cuts a description to what fits a line.
func short(text string) string {
	const most = 60
	text = firstLine(text)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// pythonTools are the checkers that a pyproject.toml configures.
func pythonTools(text string) []initCommand {
	var project struct {
		Tool map[string]any `toml:"tool"`
	}
	if _, err := toml.Decode(text, &project); err != nil {
		return nil
	}
	var commands []initCommand
	for _, t := range []struct{ name, line string }{
		{"pytest", "pytest"}, {"ruff", "ruff check ."}, {"mypy", "mypy ."}, {"pyright", "pyright"}, {"black", "black --check ."}, {"tox", "tox"},
	} {
		if _, ok := project.Tool[t.name]; ok {
			commands = append(commands, initCommand{line: t.line})
		}
	}
	return commands
}

// longestRun is the length of a command that is still worth naming, in bytes.
const longestRun = 100

// workflowRuns are the commands of a workflow's steps, each once. Those with
// values that only the workflow knows are left out.
func workflowRuns(text string) []initCommand {
	var commands []initCommand
	seen := map[string]bool{}
	add := func(line string) {
		line = strings.TrimSpace(line)
		if line == "" || seen[line] || len(line) > longestRun || strings.HasPrefix(line, "#") || strings.Contains(line, "${{") || strings.HasSuffix(line, `\`) {
			return
		}
		seen[line] = true
		commands = append(commands, initCommand{line: line})
	}
	goesOn := false // the line before ended in a backslash
	block := -1     // indent of the key whose block is being read
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		bare := strings.TrimLeft(line, " ")
		indent := len(line) - len(bare)
		if block >= 0 && (bare == "" || indent > block) {
			if !goesOn {
				add(bare)
			}
			goesOn = strings.HasSuffix(bare, `\`)
			continue
		}
		block, goesOn = -1, false
		if item, ok := strings.CutPrefix(bare, "- "); ok {
			bare = strings.TrimLeft(item, " ")
			indent = len(line) - len(bare)
		}
		value, ok := strings.CutPrefix(bare, "run:")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		if strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
			block = indent
			continue
		}
		add(unquoteYAML(value))
	}
	return commands
}

// unquoteYAML takes the quotes off a plain value.
func unquoteYAML(value string) string {
	for _, quote := range []string{`"`, `'`} {
		if inner, ok := strings.CutPrefix(value, quote); ok && strings.HasSuffix(inner, quote) {
			return strings.TrimSuffix(inner, quote)
		}
	}
	return value
}

// name is what the project calls itself, else its directory.
func (s surveyor) name() string {
	for line := range strings.Lines(s.read("go.mod")) {
		if module, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.TrimSpace(module)
		}
	}
	var pkg struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal([]byte(s.read("package.json")), &pkg); err == nil && pkg.Name != "" {
		return pkg.Name
	}
	var named struct {
		Package, Project struct{ Name string }
	}
	for _, file := range []string{"Cargo.toml", "pyproject.toml"} {
		if _, err := toml.Decode(s.read(file), &named); err != nil {
			continue
		}
		for _, name := range []string{named.Package.Name, named.Project.Name} {
			if name != "" {
				return name
			}
		}
	}
	return path.Base(strings.ReplaceAll(s.root, `\`, "/"))
}
