package permission

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// builders are programs that run what the project contains, with the subcommands
// where it is only for some.
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

// unseen stands for programs that cannot be told before they run.
const unseen = "a program that is not known beforehand"

// ownPrograms names the programs of the project that a line runs, each once. builds
// says that its other commands only read, that nothing goes into a file, and that nothing
// comes from outside the project: then ignored files that it makes are build output.
func (p *Policy) ownPrograms(l parsed) (own []string, builds bool) {
	if l.problem != "" {
		return []string{unseen}, false
	}
	builds = len(l.commands) > 0
	for _, s := range l.commands {
		program := p.ownProgram(s)
		if program != "" && !slices.Contains(own, program) {
			own = append(own, program)
		}
		reads, _ := p.onlyReads(s)
		builds = builds && (reads || program != "" && program != unseen || program == "" && inert(s)) &&
			len(s.outputs) == 0 && !s.assigns && !p.fromOutside(s)
	}
	return own, builds && len(own) > 0
}

// fromOutside reports whether a command runs outside the project, is given a file from
// there that is not the system's, or what is not known.
func (p *Policy) fromOutside(s simple) bool {
	outside := func(file string) bool {
		return !within(p.Root, realPath(file)) && !inSystem(file) && file != os.DevNull
	}
	return slices.ContainsFunc(s.dirs, outside) || slices.ContainsFunc(slices.Concat(s.words, s.inputs), func(w word) bool {
		text := w.text
		if _, value, ok := strings.Cut(text, "="); ok && isOption(text) {
			text = value
		} else if isOption(text) && len(text) > 2 {
			text = strings.TrimPrefix(text[2:], "file:")
		}
		return !w.known || slices.ContainsFunc(p.places(s, text), func(file string) bool { return exists(file) && outside(file) })
	})
}

// inert reports whether a command of the shell does nothing to files.
func inert(s simple) bool {
	name := s.name()
	return name == "" && !s.opaque && !s.hides && len(s.outputs) == 0 || shellBuiltin(name) ||
		listed("export local declare typeset readonly set unset shift return exit let wait kill", name)
}

// ownProgram names the program of the project that a command runs, "" for none.
func (p *Policy) ownProgram(s simple) string {
	name := s.name()
	base := path.Base(name)
	switch {
	case s.hides, name == "" && !s.opaque && len(s.words) > 0:
		return unseen
	case name == "", shellBuiltin(name):
		return ""
	case strings.Contains(name, "/") && !strings.HasPrefix(name, "/usr/") && !strings.HasPrefix(name, "/bin/"):
		return name
	case listed("fish csh tcsh nu xonsh elvish pwsh", base):
		return unseen
	case base == "git":
		return p.runByGit(s)
	}
	program, words := programOf(s)
	sub, _ := subcommand(words)
	for _, b := range builders {
		if listed(b.programs, program) && (b.subcommands == "" || listed(b.subcommands, sub) ||
			slices.ContainsFunc(words, func(w string) bool { return isOption(w) && listed(b.subcommands, w) })) {
			if b.subcommands == "" {
				return program
			}
			return strings.TrimSpace(program + " " + sub)
		}
	}
	if ok, _ := p.trusted(base, false); !ok {
		return base
	}
	words = plain(s.words[1:])
	if (interprets(base) || base == ".") && runsProjectCode(s, words) ||
		listed("sed gsed awk gawk mawk nawk jq", base) && haveOption(words, "-f --file --from-file") {
		for _, w := range words {
			if !isOption(w) {
				return base + " " + w
			}
		}
		return base
	}
	return ""
}

// runByGit names what a git command runs of the repository's own: hooks, filters and
// other configured programs.
func (p *Policy) runByGit(s simple) string {
	if reads, _ := p.onlyReads(s); reads {
		return ""
	}
	for _, dir := range s.dirs {
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
func runsProjectCode(s simple, words []string) bool {
	return !inlineCode(s, words) && !slices.ContainsFunc(words, func(w string) bool {
		return listed("--version -V -v --help -h", w)
	})
}

// inlineCode reports whether an interpreter is given its program as text, by an option
// or as a here-document, and no option before it loads a file of the project. What a
// shell reads are commands, which are looked at one by one.
func inlineCode(s simple, words []string) bool {
	name := path.Base(s.name())
	document := len(s.texts) > 0 && !s.unsure && len(s.inputs) == 0 && !isShell(name)
	for _, w := range words {
		switch {
		case w == "-" && document:
			return true
		case w == "-r" && name == "php",
			listed("-c -e -E -p -pe -ne -lne -lane -nle -ane -0pe --eval --print", w):
			return true
		case w == "-m", !isOption(w), strings.HasPrefix(w, "-I"), strings.HasPrefix(w, "-r."), strings.HasPrefix(w, "-r/"),
			w == "-r", hasOption(w, "--require --import --loader --experimental-loader"):
			return false
		}
	}
	return document
}

// installed reports whether a program that a package runner is asked for lies in the
// project, also behind links, so that nothing is fetched for it.
func (p *Policy) installed(s simple, program string) bool {
	if program == "" || strings.ContainsAny(program, "@/") {
		return false
	}
	for _, dir := range s.dirs {
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
