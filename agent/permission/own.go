package permission

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool/names"
	facts "artoo/tool/project"
)

// builders are programs that run the project's, with subcommands where it is only for some.
var builders = []struct{ programs, subcommands string }{
	{`make gmake bmake ninja cmake ctest meson just task rake gradle gradlew mvn mvnw ant sbt bazel bazelisk buck2 pants
		tox nox pytest py.test unittest nose2 invoke fab scons waf vite webpack rollup esbuild tsc eslint prettier jest
		vitest mocha ava playwright cypress phpunit rspec dotnet msbuild xcodebuild swift gulp grunt turbo nx lerna
		pre-commit lefthook husky watchman entr air`, ""},
	{"npm pnpm yarn bun npx bunx uvx bundle poetry uv pdm pipenv hatch", ""}, {"node", "--test"},
	{"go", "build test run generate vet tool fix install"},
	{"cargo", "build test run bench check clippy doc nextest b t r c"},
	{"zig", "build test run"}, {"mix", ""}, {"cabal stack ghc", ""}, {"dune opam", ""}, {"lein clojure clj", ""},
}

// unseen stands for programs that are not known before they run.
const unseen = "a program that is not known beforehand"

// ownPrograms names the programs of the project that a line runs, each once. builds says that the rest
// only reads, inside the project: then ignored files that the line makes are build output.
func (p *Policy) ownPrograms(l parsed) (own []string, builds bool) {
	if l.problem != "" {
		return []string{unseen}, false
	}
	builds = len(l.sure) > 0
	for _, s := range l.sure {
		program := p.ownProgram(s)
		if program != "" && !slices.Contains(own, program) {
			own = append(own, program)
		}
		builds = builds && (s.reads || program != "" && program != unseen || program == "" && inert(s.Command)) &&
			len(s.Outputs) == 0 && !s.SetsVariables && !p.fromOutside(s.Command)
	}
	return own, builds && len(own) > 0
}

// fromOutside reports whether a command runs, or is given a file, outside project and system.
func (p *Policy) fromOutside(s line.Command) bool {
	outside := func(file string) bool {
		return !names.Within(p.Root, names.Real(file)) && !inSystem(file) && file != os.DevNull
	}
	return slices.ContainsFunc(s.Dirs, outside) || slices.ContainsFunc(slices.Concat(s.Words, s.Inputs), func(w line.Word) bool {
		text := w.Text
		if _, value, ok := strings.Cut(text, "="); ok && line.IsOption(text) {
			text = value
		} else if line.IsOption(text) && len(text) > 2 {
			text = strings.TrimPrefix(text[2:], "file:")
		}
		return !w.Known || slices.ContainsFunc(p.places(s, text), func(file string) bool { return exists(file) && outside(file) })
	})
}

// inert reports whether a command of the shell does nothing to files.
func inert(s line.Command) bool {
	name := s.Name()
	return name == "" && !s.Compound && !s.RunsUnknown && len(s.Outputs) == 0 || shellBuiltin(name) ||
		line.In("export local declare typeset readonly set unset shift return exit let wait kill", name)
}

// ownProgram names the program of the project that a command runs, "" for none.
func (p *Policy) ownProgram(s *part) string {
	name := s.Name()
	base := path.Base(name)
	switch {
	case s.RunsUnknown, name == "" && !s.Compound && len(s.Words) > 0:
		return unseen
	case name == "", shellBuiltin(name):
		return ""
	case strings.Contains(name, "/") && !strings.HasPrefix(name, "/usr/") && !strings.HasPrefix(name, "/bin/"):
		return name
	case line.In("fish csh tcsh nu xonsh elvish pwsh", base):
		return unseen
	case base == "git":
		return p.runByGit(s)
	}
	program, words := s.Program()
	sub, _ := line.Subcommand(words)
	for _, b := range builders {
		if line.In(b.programs, program) && (b.subcommands == "" || line.In(b.subcommands, sub) ||
			slices.ContainsFunc(words, func(w string) bool { return line.IsOption(w) && line.In(b.subcommands, w) })) {
			if b.subcommands == "" {
				return program
			}
			return strings.TrimSpace(program + " " + sub)
		}
	}
	if ok, _ := p.trusted(base, false); !ok {
		return base
	}
	words = line.Texts(s.Words[1:])
	if (line.Interprets(base) || base == ".") && runsProjectCode(s.Command, words) ||
		line.In("sed gsed awk gawk mawk nawk jq", base) && line.HaveOption(words, "-f --file --from-file") {
		for _, w := range words {
			if !line.IsOption(w) {
				return base + " " + w
			}
		}
		return base
	}
	return ""
}

// runByGit names what a git command runs of the repository's own: hooks, filters and
// other configured programs.
func (p *Policy) runByGit(s *part) string {
	if s.reads {
		return ""
	}
	for _, dir := range s.Dirs {
		if p.World.gitRuns(dir) != "" {
			return "programs of git's configuration"
		}
		if hooks := p.World.gitHooks(dir); len(hooks) > 0 {
			return "git's hook " + strings.Join(hooks, ", ")
		}
	}
	return ""
}

// runsProjectCode reports whether an interpreter runs more than a text that stands in
// the line: a file, a module or other input.
func runsProjectCode(s line.Command, words []string) bool {
	return !inlineCode(s, words) && !slices.ContainsFunc(words, func(w string) bool {
		return line.In("--version -V -v --help -h", w)
	})
}

// inlineCode reports whether an interpreter gets its program as text, and loads no file before. What a
// shell reads are commands, which are looked at one by one.
func inlineCode(s line.Command, words []string) bool {
	name := path.Base(s.Name())
	document := len(s.Texts) > 0 && !s.UnknownText && len(s.Inputs) == 0 && !line.IsShell(name)
	for _, w := range words {
		switch {
		case w == "-" && document:
			return true
		case w == "-r" && name == "php",
			line.In("-c -e -E -p -pe -ne -lne -lane -nle -ane -0pe --eval --print", w):
			return true
		case w == "-m", !line.IsOption(w), strings.HasPrefix(w, "-I"), strings.HasPrefix(w, "-r."), strings.HasPrefix(w, "-r/"),
			w == "-r", line.HasOption(w, "--require --import --loader --experimental-loader"):
			return false
		}
	}
	return document
}

// installed reports whether a package's program lies in the project, so that nothing is fetched.
func (p *Policy) installed(s line.Command, program string) bool {
	if program == "" || strings.ContainsAny(program, "@/") {
		return false
	}
	for _, dir := range s.Dirs {
		for at := dir; ; at = filepath.Dir(at) {
			for _, bin := range []string{"node_modules/.bin", ".venv/bin", "venv/bin"} {
				path := filepath.Join(at, filepath.FromSlash(bin), program)
				if _, err := os.Lstat(path); err == nil && p.World.mayRead([]string{at}, path, false) == "" {
					return true
				}
			}
			if at == p.Root || at == filepath.Dir(at) {
				break
			}
		}
	}
	return false
}

// destroys names a command that throws work away or writes guarded files: it is asked in every mode,
// unless a rule names the very command. "" for others.
func (p *Policy) destroys(s line.Command) (what string) {
	if why := p.writesGuarded(s); why != "" {
		return why
	}
	if s.Name() == "" && len(s.Words) > 1 { // $x -rf: the options show what it may be
		for _, name := range []string{"rm", "git", "find"} {
			named := append([]line.Word{{Text: name, Known: true}}, s.Words[1:]...)
			if what := (line.Command{Words: named}).Destroys(); what != "" {
				return s.Words[0].Text + " may stand for " + what
			}
		}
	}
	if what := s.Destroys(); what != "" && (s.Base() != "mv" || len(s.Words) < 3) {
		return what
	}
	for _, w := range s.Replaces() {
		for _, file := range p.places(s, w.Text) {
			if lost := facts.Loses(p.Environ, file); lost != "" {
				return lost
			}
		}
	}
	return ""
}

// couldLose are the absolute paths that a command could remove or overwrite: the project where unknown.
func (p *Policy) couldLose(s line.Command) (paths []string) {
	for _, w := range s.Loses() {
		paths = append(paths, p.places(s, w.Text)...)
	}
	if paths == nil {
		return []string{p.Root}
	}
	return paths
}

func (p *Policy) places(s line.Command, to string) (files []string) {
	if len(s.Dirs) == 0 {
		return line.PathsFrom([]string{p.Root}, to)
	}
	return s.Paths(to)
}
