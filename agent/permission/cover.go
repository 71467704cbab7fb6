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

func readGroup(rules []Rule, name string) (Rule, bool) {
	return find(rules, func(r Rule) bool { return r.names(name, tool.KindRun) && r.Arg == ReadGroup })
}

// exactly finds a rule for this very line, in its directory and with unchanged scripts.
func exactly(rules []Rule, l parsed, root string) (Rule, bool) {
	return find(rules, func(r Rule) bool {
		return r.names(l.tool, tool.KindRun) && r.is(l.text) && (l.dir == "" || l.dir == r.seenFrom(root)) && r.changed() == ""
	})
}

// lineRule is the rule for this very line.
func lineRule(name, line string) Rule {
	return Rule{Tool: name, Arg: strings.ReplaceAll(line, "*", `\*`), HasArg: true}
}

func find(rules []Rule, fits func(Rule) bool) (Rule, bool) {
	if i := slices.IndexFunc(rules, fits); i >= 0 {
		return rules[i], true
	}
	return Rule{}, false
}

// speaksOf reports whether a deny or ask rule speaks, or may speak, of a command.
func (p *Policy) speaksOf(r Rule, name string, s line.Command) (hit, maybe bool) {
	if r.namesWidely(name, tool.KindRun) {
		return r.speaksOf(s)
	}
	row, reads := readOnlyRow(s.Name())
	return reads && !row.has(pathless) && len(s.Words) > 0 && !r.HasArg && r.names("read", tool.KindRead), false
}

func (p *Policy) commandCovered(rules []Rule, name string, s line.Command) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { yes, _ := p.coversCommand(r, name, s); return yes })
}

// coversCommand reports whether an allow rule covers a command; why is for a rule that nearly does.
// Rights raised by sudo, redirections, variables and commands that change the shell are covered only by a
// rule for the whole tool or line, or one that names the wrapper.
func (p *Policy) coversCommand(r Rule, name string, s line.Command) (yes bool, why string) {
	switch {
	case !r.names(name, tool.KindRun), r.Arg == ReadGroup:
		return false, ""
	case !r.HasArg:
		return true, ""
	}
	_, wild := r.line()
	expected, open := r.command()
	why = p.modified(s)
	if at := r.changed(); why == "" && at != "" {
		why = below(p.Root, at) + " has changed since it was allowed"
	}
	switch {
	case why != "":
	case slices.ContainsFunc(s.Wrappers, func(w line.Wrapper) bool { return !w.SetsVariables && r.begins(w.Words, s.Dirs, p.Root) }):
		return true, ""
	case s.Elevated:
		why = "it runs with more rights (sudo, doas)"
	case s.SetsVariables:
		why = "variables are set for it"
	case wild && s.ChangesShell():
		why = "it changes the meaning of later commands"
	case r.begins(s.Words, s.Dirs, p.Root):
		return true, ""
	case open:
		why = "it names other words"
	default:
		why = "it names other words; with :* at its end it would take further ones"
	}
	if len(expected) == 0 || len(s.Words) == 0 || !expected[0].matches(s.Words[0].Text, true) {
		return false, ""
	}
	return false, why
}

// modified names the part around a command that keeps rules for its words from covering it, "" for none.
func (p *Policy) modified(s line.Command) string {
	switch {
	case len(s.Outputs) > 0:
		return "its output goes into " + s.Outputs[0].Text
	case s.Compound, s.RunsUnknown, s.UnsafeExpansion:
		return "it is more than a simple command, and the commands that it runs are not seen"
	}
	for _, in := range s.Inputs {
		if !in.Known || len(s.Dirs) == 0 || p.World.mayRead(s.Dirs, in.Text, false) != "" {
			return "it reads " + in.Text + ", which may be denied"
		}
	}
	return ""
}

// namedExactly reports whether an allow rule says by its own words that the command throws work away.
func (p *Policy) namedExactly(name string, s line.Command) bool {
	for _, r := range p.allowing() {
		if !r.HasArg || !p.commandCovered([]Rule{r}, name, s) {
			continue
		}
		if _, wild := r.line(); !wild {
			return true
		}
		if (line.Command{Words: r.fixedWords()}).Destroys() != "" {
			return true
		}
	}
	return false
}

// suggestRun is a wider rule for a line in which one kind of command needs it:
// its name and subcommand; "" where no such rule should be offered.
func suggestRun(name string, rest []*part) string {
	if len(rest) == 0 {
		return ""
	}
	first := strings.Join(commandWords(rest[0].Command), " ")
	for _, s := range rest {
		alone := s.Elevated || s.SetsVariables || len(s.Outputs) > 0 || !s.Known() || s.TakesArgs || s.ChangesShell()
		if alone || strings.Join(commandWords(s.Command), " ") != first {
			return ""
		}
	}
	if first == "" {
		return ""
	}
	return Rule{Tool: name, Arg: first + ":*", HasArg: true}.String()
}

// commandWords are the words that show the kind of command; none for
// programs that run their arguments, or whose words say little.
func commandWords(s line.Command) []string {
	words := line.Texts(s.Words)
	if len(words) == 0 || s.Words[0].Glob || strings.ContainsAny(words[0], " \t\n") {
		return nil
	}
	base := path.Base(words[0])
	if _, reads := readOnlyRow(base); reads && base != "git" { // it was asked for where it reads
		return nil
	}
	if line.In(`rm mv cp dd ln chmod chown find tee rsync scp python python3 node perl ruby php lua deno bun npx bunx uvx
		awk gawk sed sh bash zsh dash ksh fish source . curl wget ssh nc docker podman kubectl`, base) {
		return nil
	}
	if len(words) > 1 && !line.IsOption(words[1]) && !strings.ContainsAny(words[1], "/.*=?[ \t\n") {
		return words[:2]
	}
	if base == "git" {
		return nil // the options before its command can make it run anything
	}
	return words[:1]
}

// changedScript finds a rule that would cover the line, had the script at not changed since.
func (p *Policy) changedScript(l parsed) (rule, at string) {
	for _, r := range p.allowing() {
		changed := r.changed()
		if changed == "" {
			continue
		}
		r.bound = nil
		_, covers := exactly([]Rule{r}, l, p.Root)
		if covers || slices.ContainsFunc(l.sure, func(s *part) bool { return p.commandCovered([]Rule{r}, l.tool, s.Command) }) {
			return r.String(), below(p.Root, changed)
		}
	}
	return "", ""
}

// covered finds a rule for a call's paths or host: an allow rule (all) for every path, another for any.
func (p *Policy) covered(rules []Rule, name string, access tool.Access, all bool) (Rule, bool) {
	for _, r := range rules {
		if !r.namesWidely(name, access.Kind) || all && (!r.names(name, access.Kind) || !p.coversGuarded(r, access)) {
			continue
		}
		if access.Host != "" {
			if r.matchesHost(access.Host, !all) {
				return r, true
			}
			continue
		}
		if !r.HasArg {
			return r, true
		}
		hits := 0
		for _, path := range access.Paths {
			if r.matchesPath(p.Root, p.own().Home(), path, !all) {
				hits++
			}
		}
		if hits > 0 && (!all || hits == len(access.Paths)) {
			return r, true
		}
	}
	return Rule{}, false
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

func (p *Policy) whyNotFile(r Rule, access tool.Access) string {
	switch {
	case p.Mode == ModePlan:
		return "plan mode only reads, whatever the rules"
	case !p.coversGuarded(r, access):
		return p.guardedWrite(access)
	case access.Kind == tool.KindNetwork:
		return "it names other hosts"
	case access.Changed != "":
		return "the tool's definition has changed"
	}
	return "it names other files"
}

// parsed is a shell line, parsed once for a decision.
type parsed struct {
	tool string // the tool that runs it
	text string // the line without blank space around it
	dir  string // where it runs

	parts   []*part // its commands: all, the certain ones, and those of them that need a rule
	sure    []*part
	rest    []*part
	problem string // why the shell may take the line in another way; "" for nothing
	reads   bool   // the line does nothing but read

	denies, mayDeny, asks *Rule // the first rule that denies the line, may deny it, or asks about it
}

// A part is one simple command of a line with the verdicts of the lists and the rules.
type part struct {
	line.Command
	reads   bool   // it is a read-only command
	unasked bool   // and as such needs no rule
	why     string // why a command of that list does more than read

	denies, mayDeny, asks, allows *Rule
	missed                        []MissedRule // rules that nearly allow or deny it
	destroys                      string       // the act that every mode asks about; set by alwaysAsked
}

// place decides where a line runs, and names the project's own programs that it runs there.
func (p *Policy) place(l parsed, access tool.Access) Decision {
	whole := lineRule(l.tool, l.text)
	wide := suggestRun(l.tool, l.rest)
	d := Decision{}
	can := p.Confinement
	switch {
	case !can.Sandbox:
	case l.reads && access.Unconfined == "" && !access.Background:
		d.Place = PlaceReadOnly
	case p.leaves(&d, l, access), !can.Inside() && p.coveredOutside(l):
		whole.Outside = true
		if r, err := ParseRule(wide); err == nil && wide != "" {
			r.Outside = true
			wide = r.String()
		}
	case access.Background && !can.Capped:
		d.Place = PlaceBackground
	default:
		if d.Place = PlaceLayer; !can.Layer {
			d.Place = PlaceSandbox
		}
		d.Own, d.Builds = p.ownPrograms(l)
	}
	d.Git = slices.ContainsFunc(l.parts, func(s *part) bool { return s.Base() == "git" })
	d.Narrow = whole.String()
	d.Suggested = cmp.Or(wide, d.Narrow)
	return d
}

// byPlace decides over a line that no rule covers.
func (p *Policy) byPlace(d Decision, l parsed) Decision {
	if r, ok := readGroup(p.DenyRules, l.tool); ok {
		return d.because(Ask, Reason{Code: ReadingDenied, Rule: r.String()})
	}
	switch {
	case p.Confinement.Inside() && d.Place == PlaceHost: // the rights, which come from no line
		return d.because(Refuse, Reason{Code: NothingOutside})
	case p.NoProject != "":
		return d.because(Ask, Reason{Code: NoProject, Object: p.NoProject})
	case d.Place == PlaceLayer && len(d.Own) > 0 && !p.TrustsPrograms && p.Mode != ModeAuto:
		return d.because(Ask, Reason{Code: OwnPrograms, Object: strings.Join(d.Own, ", ")})
	case d.Place == PlaceLayer:
		return d.because(Run, Reason{Code: OnLayer})
	case (d.Place == PlaceBackground || d.Place == PlaceSandbox) && p.trustAnswers():
		return d.because(Run, Reason{Code: ModeAllows, Object: string(p.Mode)})
	case d.Place == PlaceBackground:
		return d.because(Ask, Reason{Code: GoesOn})
	case d.Place == PlaceSandbox && len(d.Own) == 0 && p.holds().First:
		d.Place = PlaceReadOnly
		return d.because(Run, Reason{Code: TriedFirst})
	case len(d.Reasons) > 0: // it leaves the sandbox
		d.Verdict = Ask
		return d
	}
	why := ""
	for _, s := range l.rest {
		why = cmp.Or(why, s.why)
	}
	switch can := p.holds(); {
	case len(d.Own) > 0:
		why = "it runs the project's own programs: " + strings.Join(d.Own, ", ")
	case why == "" && p.Confinement.First && !can.First:
		why = "commands here could read denied files"
	}
	return d.because(Ask, Reason{Code: MoreThanReading, Object: why})
}

// holds is the confinement now: where commands could read denied files, little runs unasked.
func (p *Policy) holds() Confinement {
	can := p.Confinement
	if can.Shows && !can.Layer {
		if denied, err := p.Denied(); err != nil || len(denied) > 0 {
			can.First, can.Auto = false, false
		}
	}
	return can
}

// trustAnswers reports whether trust answers for a sandboxed command on the project itself.
func (p *Policy) trustAnswers() bool {
	can := p.holds()
	return p.TrustsPrograms && (can.Layer && (p.Mode != ModeAsk || can.Layered) || can.Auto && p.Mode == ModeAuto)
}

// decideProblem decides a line that the shell may take in another way: only a rule for every command
// covers it, unless something denied, asked or always asked may be hidden in it. On a layer its
// effects are judged.
func (p *Policy) decideProblem(d Decision, l parsed, rules []Rule) Decision {
	narrows := func(r Rule) bool { return r.HasArg && r.names(l.tool, tool.KindRun) }
	hidden := slices.ContainsFunc(p.DenyRules, narrows) || slices.ContainsFunc(p.AskRules, narrows)
	if d.Place != PlaceLayer {
		hidden = hidden || line.MentionsDestructive(l.text)
	}
	every := func(r Rule) bool { return !r.HasArg && r.names(l.tool, tool.KindRun) }
	if r, ok := find(rules, every); ok && !hidden {
		d.Covers = Content
		return d.by(Run, RuleAllows, r)
	}
	if hidden || d.Place != PlaceLayer {
		return d.because(Ask, append([]Reason{{Code: NotParsed, Object: l.problem}}, d.Reasons...)...)
	}
	return p.byPlace(d, l)
}

// alwaysAsked gives the reasons to ask about a line in every mode where nothing judges its effects: nil for none. keep
// are the files that the journal has to hold before it may run; nil for no cure.
func (p *Policy) alwaysAsked(l parsed) (reasons []Reason, keep []string) {
	curable, destroys, hidden := true, false, false
	for _, s := range l.parts {
		what := p.destroys(s.Command)
		destroys = destroys || s.Certain && what != ""
		if what == "" || p.namedExactly(l.tool, s.Command) {
			continue
		}
		s.destroys = what
		if reasons == nil {
			reasons = []Reason{{Code: AlwaysAsked, Object: what, Part: s.String()}}
		}
		simple := !s.Compound && !s.RunsUnknown && !s.Elevated && !s.TakesArgs
		if s.Certain {
			curable = curable && simple && s.Base() != "git" && p.writesGuarded(s.Command) == ""
			keep = append(keep, p.couldLose(s.Command)...)
		} else {
			hidden = true
		}
	}
	if curable = curable && (destroys || !hidden); !curable {
		return reasons, nil
	}
	slices.Sort(keep)
	return reasons, slices.Compact(keep)
}

// leaves reports whether a line has to run on the host, and notes in the decision why.
func (p *Policy) leaves(d *Decision, l parsed, access tool.Access) bool {
	if access.Unconfined != "" {
		d.Reasons = []Reason{{Code: Outside, Object: "the model says: " + access.Unconfined}}
		return true
	}
	for _, s := range l.sure {
		need, why := p.needs(s)
		if need == "" {
			continue
		}
		d.Needs = append(d.Needs, need)
		d.Reasons = append(d.Reasons, Reason{Code: Outside, Object: why, Part: s.String()})
	}
	return len(d.Needs) > 0
}

// needs names the need of a command that the sandbox does not meet, "" for none, and why in words.
func (p *Policy) needs(s *part) (need line.Need, why string) {
	if s.Elevated {
		return line.Service, s.String() + " asks for more rights than yours"
	}
	if words := line.Texts(s.Git()); len(words) > 0 {
		if !s.reads {
			if program := p.signs(s.Command, words[0], words); program != "" {
				return line.Keys, "git signs with " + program
			}
		}
	}
	need, run := s.Needs()
	switch {
	case need == "":
		return "", ""
	case run.Runner != "" && p.installed(s.Command, run.Program):
		return "", ""
	case run.Runner != "":
		return need, strings.TrimSpace(run.Runner+" "+run.Program) + " is not installed in the project, so it needs the network"
	}
	return need, "it needs " + needWords[need]
}

// needWords are the needs as a question words them.
var needWords = map[line.Need]string{line.Network: "the network", line.Keys: "your keys or credentials",
	line.Home: "the machine outside the project", line.Service: "a service of the machine"}

// signs names the program by which a git command would sign, "" for none.
func (p *Policy) signs(s line.Command, sub string, words []string) string {
	if !line.In("commit merge rebase cherry-pick revert am tag stash", sub) || line.HaveOption(words, "--no-gpg-sign --no-sign") {
		return ""
	}
	if line.HaveOption(words, "-S --gpg-sign") || sub == "tag" && line.HaveOption(words, "-s -u --sign --local-user") {
		return "gpg"
	}
	for _, dir := range s.Dirs {
		if program := facts.GitSigns(p.own(), p.Environ, dir); program != "" {
			return program
		}
	}
	return ""
}

// coveredOutside reports whether rules for outside cover each command that needs one.
func (p *Policy) coveredOutside(l parsed) bool {
	rules := slices.DeleteFunc(p.allowing(), func(r Rule) bool { return !r.Outside })
	if len(rules) == 0 {
		return false
	}
	if _, ok := exactly(rules, l, p.Root); ok {
		return true
	}
	if slices.ContainsFunc(rules, func(r Rule) bool { return !r.HasArg && r.names(l.tool, tool.KindRun) }) {
		return true
	}
	return len(l.rest) > 0 && !slices.ContainsFunc(l.rest, func(s *part) bool { return !p.commandCovered(rules, l.tool, s.Command) })
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
const unseen = "a program that is not known beforehand"

// ownPrograms names the programs of the project that a line runs, each once. builds means that the rest
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
		return !w.Known || slices.ContainsFunc(p.places(s, text), func(file string) bool { return names.Exists(file) && outside(file) })
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
	if ok, _ := p.inspector().trusted(base, false); !ok {
		return base
	}
	words = line.Texts(s.Words[1:])
	tells := slices.ContainsFunc(words, func(w string) bool { return line.In("--version -V -v --help -h", w) })
	if (line.Interprets(base) || base == ".") && !tells && !inlineCode(s.Command, words) ||
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

// runByGit names the repository's own programs that a git command runs: hooks, filters and
// other configured programs.
func (p *Policy) runByGit(s *part) string {
	if s.reads {
		return ""
	}
	for _, dir := range s.Dirs {
		why := p.World.gitRuns(dir)
		if _, unknown := errors.AsType[*facts.LookupError](why); why != nil && !unknown {
			return "programs of git's configuration"
		}
		if hooks := p.World.gitHooks(dir); len(hooks) > 0 {
			return "git's hook " + strings.Join(hooks, ", ")
		}
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
	if s.Name() == "" && len(s.Words) > 1 { // $x -rf: the options show which program it may be
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
			if lost := facts.Loses(p.own(), p.Environ, file); lost != "" {
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
