package permission

import (
	"cmp"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/names"
	facts "artoo/tool/project"
)

// exactly finds a rule for this very line, in its directory and with unchanged scripts; nil for none.
func exactly(rules []Rule, l parsed, root string) *Rule {
	return findRule(rules, func(r Rule) bool {
		return r.names(l.tool, tool.KindRun) && r.is(l.text) && (l.dir == "" || l.dir == r.seenFrom(root)) &&
			r.changed() == ""
	})
}

// literal is a line as the argument of the rule for this very line.
func literal(line string) string { return strings.ReplaceAll(line, "*", `\*`) }

// speaker reports whether a deny or ask rule speaks, or may speak, of a command that the tool runs.
func (p *Policy) speaker(r Rule, name string) func(line.Command) (yes, maybe bool) {
	if r.names(name, tool.KindRun) {
		return r.speaker()
	}
	return func(c line.Command) (yes, maybe bool) {
		row, _, _ := readerOf(c)
		return row.names != "" && !row.pathless && !r.HasArg && r.names("read", tool.KindRead), false
	}
}

func (p *Policy) commandCovered(rules []Rule, name string, s line.Command) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return p.coversCommand(r, name, s) })
}

// coversCommand reports whether an allow rule covers a command.
// Rights raised by sudo, redirections, variables and commands that change the shell are covered only by a
// rule for the whole tool or line, or one that names the wrapper.
func (p *Policy) coversCommand(r Rule, name string, s line.Command) bool {
	if !r.HasArg || !r.names(name, tool.KindRun) {
		return r.names(name, tool.KindRun)
	}
	begins := func(words []line.Word) bool { return r.begins(words, s.Dir, p.Root) }
	hidden := func(in line.Word) bool { return !in.Known || s.Dir == "" || p.mayRead(s.Dir, in.Text, false) != "" }
	if around(s) != "" || s.SetsVariables || slices.ContainsFunc(s.Inputs, hidden) || r.changed() != "" {
		return false
	}
	_, wild := r.line()
	return slices.ContainsFunc(s.Wrappers, begins) || !s.Elevated && !(wild && s.ChangesShell()) && begins(s.Words)
}

// namedExactly reports whether an allow rule says by its own words that the command throws work away.
func (p *Policy) namedExactly(name string, s line.Command) bool {
	return slices.ContainsFunc(p.allowing(), func(r Rule) bool {
		_, wild := r.line()
		what, _ := (line.Command{Words: r.fixedWords()}).Destroys()
		return r.HasArg && (!wild || what != "") && p.coversCommand(r, name, s)
	})
}

// changedScript finds a rule that would cover the line, had the script at not changed since.
func (p *Policy) changedScript(l parsed) (rule, at string) {
	for _, r := range p.allowing() {
		changed := r.changed()
		if changed == "" {
			continue
		}
		r.bound = nil
		if exactly([]Rule{r}, l, p.Root) != nil || slices.ContainsFunc(l.parts,
			func(s *part) bool { return p.commandCovered([]Rule{r}, l.tool, s.Command) }) {
			return r.String(), below(p.Root, changed)
		}
	}
	return "", ""
}

// covered finds a rule for a call's paths or host, nil for none: an allow rule (all) for every path, another for any.
func (p *Policy) covered(rules []Rule, name string, access tool.Access, all bool) *Rule {
	return findRule(rules, func(r Rule) bool {
		misses := func(path string) bool { return !r.matchesPath(p.Root, p.own().Home(), path, !all) }
		if !r.namesWidely(name, access.Kind) || all && (!r.names(name, access.Kind) || !p.coversGuarded(r, access)) {
			return false
		}
		if access.Host != "" || !r.HasArg {
			return access.Host == "" || r.matchesHost(access.Host, !all)
		}
		hits := len(slices.DeleteFunc(slices.Clone(access.Paths), misses))
		return hits > 0 && (!all || hits == len(access.Paths))
	})
}

// rulesFor are the narrowest rule for a call on files or hosts and a wider one.
func (p *Policy) rulesFor(name string, access tool.Access) (narrow, suggested string) {
	switch {
	case access.Host != "":
		r := ruleForHost(name, access.Host).String()
		return r, r
	case access.Kind == tool.KindServer:
		return name, serverRule(name, access.Server)
	case len(access.Paths) != 1:
		return name, name
	}
	path := below(p.Root, access.Paths[0])
	if filepath.IsAbs(path) {
		path = "/" + path
	}
	narrow = Rule{Tool: name, Arg: files.EscapeGlob(path), HasArg: true}.String()
	dir := filepath.Dir(path)
	if dir == "." || dir == string(filepath.Separator) || p.guardedWrite(access) != "" { // the last asks git
		return narrow, narrow
	}
	return narrow, Rule{Tool: name, Arg: files.EscapeGlob(dir) + "/**", HasArg: true}.String()
}

// parsed is a shell line, parsed once for a decision.
type parsed struct {
	tool string // the tool that runs it
	text string // the line without blank space around it
	dir  string // where it runs

	parts   []*part        // its commands
	problem string         // why the shell may take the line in another way; "" for nothing
	reads   bool           // the line does nothing but read
	guesses []line.Command // those that it may hide, where its commands are not all seen

	spoken // the first rules that deny the line, may deny it, or ask about it
}

// A part is one simple command of a line with the verdicts of the lists and the rules.
type part struct {
	line.Command
	reads bool   // it is a command of the reading table, and only reads
	why   string // why a command of that table does more than read

	open bool // it may run commands that are not seen

	denies, asks, allows *Rule
	destroys             string // the act that every mode asks about; set by alwaysAsked
}

// alwaysAsked gives the reasons to ask about a line in every mode where nothing judges its effects: nil for none. keep
// are the files that the journal has to hold before it may run; nil for no cure.
func (p *Policy) alwaysAsked(l parsed) (reasons []Reason, keep []string) {
	curable := l.problem == ""
	for _, s := range l.parts {
		what, kept := p.destroys(s)
		if what == "" || p.namedExactly(l.tool, s.Command) {
			continue
		}
		if s.destroys = what; reasons == nil {
			reasons = []Reason{{Code: AlwaysAsked, Object: what, Part: s.String()}}
		}
		curable = curable && kept && !s.Compound && !s.RunsUnknown && !s.Elevated && !s.TakesArgs
		keep = append(keep, p.couldLose(s.Command)...)
	}
	hidden, found := find(l.guesses, func(c line.Command) bool {
		what, _ := c.Destroys()
		return what != "" && !p.namedExactly(l.tool, c)
	})
	switch {
	case found && reasons == nil:
		what, _ := hidden.Destroys()
		return []Reason{{Code: AlwaysAsked, Object: what, Part: hidden.String()}}, nil
	case l.problem != "" && strings.ContainsAny(l.text, ">`$"):
		return []Reason{{Code: NotParsed, Object: l.problem}}, nil
	case !curable:
		return reasons, nil
	}
	return reasons, slices.Compact(slices.Sorted(slices.Values(keep)))
}

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
const unseen = "a program that is not known before it runs"

// ownPrograms names the programs of the project that a line runs, each once. builds means that the rest
// only reads, inside the project: then ignored files that the line makes are build output.
func (p *Policy) ownPrograms(l parsed) (own []string, builds bool) {
	if l.problem != "" {
		return []string{unseen}, false
	}
	builds = true
	for _, s := range l.parts {
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
	return s.Dir == "" || outside(s.Dir) || slices.ContainsFunc(slices.Concat(s.Words, s.Inputs), func(w line.Word) bool {
		text := valueOf(w.Text)
		file := s.Path(strings.TrimPrefix(text, "file:"))
		return !w.Known || names.Exists(file) && outside(file)
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
	program, words := s.Program()
	sub, _ := line.Subcommand(words)
	builder, builds := find(builders, func(b struct{ programs, subcommands string }) bool {
		option := func(w string) bool { return line.IsOption(w) && line.In(b.subcommands, w) }
		return line.In(b.programs, program) &&
			(b.subcommands == "" || line.In(b.subcommands, sub) || slices.ContainsFunc(words, option))
	})
	args := s.Args()
	tells := slices.ContainsFunc(args, func(w string) bool { return line.In("--version -V -v --help -h", w) })
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
	case builds && builder.subcommands == "":
		return program
	case builds:
		return strings.TrimSpace(program + " " + sub)
	case p.system(base) != nil:
		return base
	case (line.Interprets(base) || base == ".") && !tells && !inlineCode(s.Command, args),
		line.In("sed gsed awk gawk mawk nawk jq", base) && line.HaveOption(args, "-f --file --from-file"):
		files := slices.DeleteFunc(args, line.IsOption)
		return strings.Join(append([]string{base}, files[:min(1, len(files))]...), " ")
	}
	return ""
}

// runByGit names the repository's own programs that a git command runs: hooks, filters and
// other configured programs.
func (p *Policy) runByGit(s *part) string {
	if s.reads {
		return ""
	}
	if s.Dir == "" {
		return unseen
	}
	why := p.gitRuns(s.Dir)
	if _, unknown := errors.AsType[*facts.LookupError](why); why != nil && !unknown {
		return "programs that git's configuration names"
	}
	if hooks := p.gitHooks(s.Dir); len(hooks) > 0 {
		return "the git hook " + strings.Join(hooks, ", ")
	}
	return ""
}

// inlineCode reports whether an interpreter gets its program as text, and loads no file before. A shell's text is
// commands, which are examined one by one.
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

// destroys names a command that throws work away or may write a guarded file: it is asked in every mode, unless a rule
// names the very command. "" for others. kept means that it loses nothing where the journal holds the files that it names.
func (p *Policy) destroys(s *part) (what string, kept bool) {
	if s.reads {
		return "", false
	}
	written, words := s.Outputs, line.Texts(s.Git())
	row, _, _ := readerOf(s.Command)
	interprets := line.Interprets(s.Base()) || line.In("sed awk gawk mawk jq", s.Base())
	if row.names == "" && s.Base() != "git" && (!interprets || line.HaveOption(s.Args(), "-i --in-place")) {
		written = slices.Concat(s.Words[min(1, len(s.Words)):], written)
	}
	for _, w := range written {
		file := valueOf(strings.TrimPrefix(w.Text, "of="))
		hides := func(part string) bool { return w.Glob && part[0] == '.' && strings.ContainsAny(part, "*?[") }
		if why := p.whyGuarded(p.placeOf(s.Command, file), false); why != "" || slices.ContainsFunc(partsOf(file), hides) {
			return cmp.Or(why, file+" may stand for a file that programs run automatically"), false
		}
	}
	there := func(w string) bool {
		info, err := os.Stat(p.placeOf(s.Command, w))
		return err == nil && info.Mode().IsRegular() && info.Size() > 0
	}
	all := append([]string{""}, line.Texts(s.Words)...)
	to := all[len(all)-1]
	replaced := func(w string) bool { return w != to && (there(to) || there(path.Join(to, path.Base(w)))) }
	switch {
	case s.Name() == "" && len(s.Words) > 1: // the options show which program it may be
		for _, name := range []string{"rm", "git", "find"} {
			stands := line.Command{Words: append([]line.Word{{Text: name, Known: true}}, s.Words[1:]...)}
			if what, _ := stands.Destroys(); what != "" {
				return s.Words[0].Text + " may stand for " + what, false
			}
		}
	case len(words) > 1 && words[0] == "checkout" && slices.ContainsFunc(words[1:], there):
		return "git checkout of a file", false
	case len(words) > 1 && words[0] == "config" && !line.In("-l --list list get --get --get-all --get-regexp", words[1]):
		return "it can write git's configuration, which git obeys", false
	case s.Overwrites && slices.ContainsFunc(s.Outputs, func(w line.Word) bool { return w.Known && there(w.Text) }):
		return "it replaces " + s.Outputs[0].Text, true
	case s.Base() == "mv" && !slices.ContainsFunc(s.Args(), replaced) && !line.HaveOption(s.Args(), "-t --target-directory"):
		return "", false
	}
	return s.Destroys()
}

// placeOf is where a word of a command leads, seen from the root where the command's directory is not known.
func (p *Policy) placeOf(s line.Command, word string) string {
	s.Dir = cmp.Or(s.Dir, p.Root)
	file := s.Path(word)
	if real, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil { // a link on the way may lead to a guarded one
		return filepath.Join(real, filepath.Base(file))
	}
	return file
}

// couldLose are the absolute paths that a command could remove or overwrite: the project where unknown.
func (p *Policy) couldLose(s line.Command) (paths []string) {
	for _, w := range slices.Concat(s.Words[min(1, len(s.Words)):], s.Outputs) {
		switch {
		case !w.Known, w.Glob, s.Dir == "", s.Base() == "find":
			return []string{p.Root}
		case !line.IsOption(w.Text):
			paths = append(paths, s.Path(w.Text))
		}
	}
	return paths
}
