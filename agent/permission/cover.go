package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
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

func find(rules []Rule, fits func(Rule) bool) (Rule, bool) {
	if i := slices.IndexFunc(rules, fits); i >= 0 {
		return rules[i], true
	}
	return Rule{}, false
}

// speaksOf reports whether a deny or ask rule speaks, or may speak, of a command: by its words, or as
// a rule for reading by the files that the command names.
func (p *Policy) speaksOf(r Rule, name string, s line.Command) (hit, maybe bool) {
	if r.namesWidely(name, tool.KindRun) {
		return r.speaksOf(s)
	}
	row, reads := readOnlyRow(s.Name())
	reads = reads && !row.has(pathless) && len(s.Words) > 0
	if !r.names("read", tool.KindRead) || !r.HasArg && !reads {
		return false, false
	}
	words := s.Inputs
	if len(s.Words) > 0 {
		words = append(slices.Clip(words), s.Words[1:]...)
	}
	if git := s.Git(); len(git) > 0 {
		maybe = gitShowsMuch(git[0].Text, line.Texts(git[1:]))
	} else if reads {
		o, _ := row.options(line.Texts(s.Words[1:]))
		maybe = o.recursive || len(s.Dirs) == 0
	}
	for i, w := range words {
		input := i < len(s.Inputs)
		if maybe = maybe || (reads || input) && (!w.Known || w.Glob); !w.Known {
			continue
		}
		name := w.Text[strings.LastIndexAny(w.Text, ":=")+1:] // HEAD:NAME, --file=NAME
		for _, file := range line.PathsFrom(s.Dirs, name) {
			if real, err := filepath.EvalSymlinks(file); r.HasArg && !r.matchesPath(p.Root, file, true) &&
				(err != nil || !r.matchesPath(p.Root, real, true)) {
				continue
			}
			if (reads || input) && !w.Glob {
				return true, false
			}
			maybe = true
		}
	}
	return false, maybe
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
			if r.matchesPath(p.Root, path, !all) {
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
	narrow = Rule{Tool: name, Arg: escapePattern(path), HasArg: true}.String()
	dir := filepath.Dir(path)
	if dir == "." || dir == string(filepath.Separator) || p.guardedWrite(access) != "" { // the last asks git
		return narrow, narrow
	}
	return narrow, Rule{Tool: name, Arg: escapePattern(dir) + "/**", HasArg: true}.String()
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
