package permission

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"artoo/tool"
)

// layerable reports whether a line may run on a layer.
func (p *Policy) layerable(access tool.Access, commands []simple, odd string) bool {
	offLayer := p.offLayer(access, commands, odd)
	return offLayer == "" && p.outside(access, commands, offLayer) == ""
}

// offLayer says why a line may not run on a layer, "" when it may: its programs are
// the system's, none of them builds or runs what the project brings, and it is not
// expected to take long.
func (p *Policy) offLayer(access tool.Access, commands []simple, odd string) (why string) {
	switch {
	case !p.Confinement.Layer, p.NoProject:
		return "there are no layers here"
	case odd != "":
		return odd
	case access.Long:
		return "it is expected to take long"
	case access.Background:
		return "it goes on in the background"
	case p.Writer != nil && p.Writer() != "":
		return "a background command may change files meanwhile"
	case len(commands) == 0:
		return "it runs no command"
	}
	if r, taken := p.group(p.DenyRules, "bash"); taken {
		return "the rule deny " + r.String() + " takes it away"
	}
	for _, s := range commands {
		if why := p.unfit(s); why != "" {
			return why
		}
	}
	return ""
}

// builders are programs that run what the project brings, with the subcommands
// where it is only for some.
var builders = []struct{ programs, subcommands string }{
	{`make gmake bmake ninja cmake ctest meson just task rake gradle gradlew mvn mvnw ant sbt bazel bazelisk buck2 pants
		tox nox pytest py.test unittest nose2 invoke fab scons waf vite webpack rollup esbuild tsc eslint prettier jest
		vitest mocha ava playwright cypress phpunit rspec dotnet msbuild xcodebuild swift gulp grunt turbo nx lerna
		pre-commit lefthook husky watchman entr air`, ""},
	{"npm pnpm yarn bun bundle poetry uv pdm pipenv hatch", ""}, {"node", "--test"},
	{"go", "build test run generate vet tool fix"},
	{"cargo", "build test run bench check clippy doc nextest b t r c"},
	{"zig", "build test run"}, {"mix", ""}, {"cabal stack ghc", ""}, {"dune opam", ""}, {"lein clojure clj", ""},
}

// unfit says why one command of a line may not run on a layer.
func (p *Policy) unfit(s simple) (why string) {
	name := s.name()
	switch {
	case s.raised, s.hides:
		return "what it runs is not seen"
	case name == "" && !s.opaque: // opaque is what surrounds commands that are looked at themselves
		return "which program it runs is not known"
	case name == "", shellBuiltin(name),
		listed("export local declare typeset readonly set unset shift return exit let wait", name):
		return ""
	}
	base, trusted := path.Base(name), p.Confinement.Trusted
	switch {
	case base == "git" && p.tracksSecrets():
		return "git tracks a denied file, or did: on a layer it finds no object store"
	case !trusted && strings.Contains(name, "/") && !strings.HasPrefix(name, "/usr/") && !strings.HasPrefix(name, "/bin/"):
		return name + " is not a program of the system"
	case listed("fish csh tcsh nu xonsh elvish pwsh", base):
		return base + " is another kind of shell, and what it runs is not seen"
	case base == "curl", base == "wget":
		return "a layer has no network, also not the one that confined commands share"
	}
	if ok, why := p.trusted(base, false); !ok && !trusted {
		return cmp.Or(why, base+" is not a program of the system")
	}
	words := plain(s.words[1:])
	sub, _ := subcommand(words)
	for _, b := range builders {
		if listed(b.programs, base) && (b.subcommands == "" || listed(b.subcommands, sub) ||
			slices.ContainsFunc(words, func(w string) bool { return isOption(w) && listed(b.subcommands, w) })) {
			return base + " runs what the project brings"
		}
	}
	if !trusted && (interprets(base) || base == ".") && runsProjectCode(s, words) {
		return base + " runs a program that is not in its words"
	}
	if !trusted && listed("sed gsed awk gawk mawk nawk jq", base) && haveOption(words, "-f --file --from-file") {
		return base + " runs a program that is not in its words"
	}
	return ""
}

// gitCouldShow reports whether one of the commands is git where it could show a denied
// file.
func (p *Policy) gitCouldShow(commands []simple) bool {
	git := func(s simple) bool { return path.Base(s.name()) == "git" }
	return slices.ContainsFunc(commands, git) && p.tracksSecrets()
}

// tracksSecrets reports whether git in the project could show a denied file; where
// that cannot be told it could.
func (p *Policy) tracksSecrets() bool {
	if p.GitSecrets == nil {
		return false
	}
	names, err := p.GitSecrets(p.Root)
	return err != nil || len(names) > 0
}

// runsProjectCode reports whether an interpreter runs more than the text that
// stands in its words: a file, a module or its input.
func runsProjectCode(s simple, words []string) bool {
	return !inlineCode(path.Base(s.name()), words) && !slices.ContainsFunc(words, func(w string) bool {
		return listed("--version -V -v --help -h", w)
	})
}

// inlineCode reports whether the options of an interpreter give it its program as
// text, and none before it loads a file of the project.
func inlineCode(name string, words []string) bool {
	for _, w := range words {
		switch {
		case w == "-r" && name == "php",
			listed("-c -e -E -p -pe -ne -lne -lane -nle -ane -0pe --eval --print", w):
			return true
		case w == "-m", !isOption(w), strings.HasPrefix(w, "-I"), strings.HasPrefix(w, "-r."), strings.HasPrefix(w, "-r/"),
			w == "-r", hasOption(w, "--require --import --loader --experimental-loader"):
			return false
		}
	}
	return false
}

// layerKey is the line that an approval of a layer's changes stands for.
func layerKey(access tool.Access) string {
	return cmp.Or(access.Dir, ".") + "\x00" + trimLine(access.Command)
}
