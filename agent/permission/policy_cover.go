package permission

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
)

// unread are the commands that need a rule: those that are not of the reading
// kind, and all where reading is not free. why is the reason of the first that
// nearly is.
func (p *Policy) unread(name string, commands []line.Command) (rest []line.Command, why string) {
	_, taken := p.group(p.DenyRules, name)
	for _, s := range commands {
		ok, reason := p.onlyReads(s)
		if r, _ := readingOf(s.Name()); ok && !p.NoProject && (!taken || r.has(pathless) || s.Name() == "cd") {
			continue
		}
		why = cmp.Or(why, reason)
		rest = append(rest, s)
	}
	return rest, why
}

// group finds the rule for the reading commands.
func (p *Policy) group(rules []Rule, name string) (Rule, bool) {
	return find(rules, func(r Rule) bool { return r.names(name, tool.KindRun) && r.Arg == ReadGroup })
}

// exactly finds a rule for this very line, where it holds: in the directory it
// was given for, as long as the scripts it names are what they were.
func (p *Policy) exactly(rules []Rule, name, text, dir string) (Rule, bool) {
	return find(rules, func(r Rule) bool {
		return r.names(name, tool.KindRun) && r.is(text) && (dir == "" || dir == r.seenFrom(p.Root)) && r.changed() == ""
	})
}

// find is the first rule that fits.
func find(rules []Rule, fits func(Rule) bool) (Rule, bool) {
	if i := slices.IndexFunc(rules, fits); i >= 0 {
		return rules[i], true
	}
	return Rule{}, false
}

// speaks finds a rule that speaks of the line or any command in it; without
// one, maybe says that a rule (r) may, which cannot be told beforehand.
func (p *Policy) speaks(rules []Rule, name, text string, commands []line.Command) (r Rule, yes, maybe bool) {
	for _, rule := range rules {
		if rule.namesWidely(name, tool.KindRun) && (!rule.HasArg || rule.is(text)) {
			return rule, true, false
		}
		for _, s := range commands {
			hit, unsure := p.speaksOf(rule, name, s)
			if hit {
				return rule, true, false
			}
			if unsure && !maybe {
				r, maybe = rule, true
			}
		}
	}
	return r, false, maybe
}

// asked finds an ask rule that holds: one that speaks, or may speak, of a
// command which the user did not allow in this session.
func (p *Policy) asked(name, text string, commands []line.Command, reads bool) (Rule, bool) {
	return find(p.AskRules, func(r Rule) bool {
		all := r.names(name, tool.KindRun) && (!r.HasArg || r.is(text) || r.Arg == ReadGroup && reads)
		return all && len(commands) == 0 || slices.ContainsFunc(commands, func(s line.Command) bool {
			hit, maybe := p.speaksOf(r, name, s)
			return (all || hit || maybe) && !p.commandCovered(p.session, name, s)
		})
	})
}

// speaksOf reports whether a rule of the user's that denies or asks speaks of a command,
// or may: by its words, or where it is for reading, by the files that the command names.
func (p *Policy) speaksOf(r Rule, name string, s line.Command) (hit, maybe bool) {
	if r.namesWidely(name, tool.KindRun) {
		return r.speaksOf(s)
	}
	row, reads := readingOf(s.Name())
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
		name := w.Text[strings.LastIndexAny(w.Text, ":=")+1:] // as in HEAD:NAME and --file=NAME
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

// commandCovered reports whether an allow rule covers a command. Rights raised
// by sudo, redirections into files, variables set for a command, and what
// changes the shell itself are covered only by a rule for the whole tool or the
// whole line, or one that names the wrapper.
func (p *Policy) commandCovered(rules []Rule, name string, s line.Command) bool {
	tame := !s.Compound && !s.RunsUnknown && !s.UnsafeExpansion && len(s.Outputs) == 0
	for _, in := range s.Inputs {
		tame = tame && in.Known && p.World.mayRead(s.Dirs, in.Text, false) == "" && len(s.Dirs) > 0
	}
	for _, r := range rules {
		if !r.names(name, tool.KindRun) || r.Arg == ReadGroup {
			continue
		}
		if !r.HasArg {
			return true
		}
		if !tame || r.changed() != "" {
			continue
		}
		_, wild := r.line()
		if !s.Elevated && !s.SetsVariables && !(wild && s.ChangesShell()) && r.begins(s.Words, s.Dirs, p.Root) {
			return true
		}
		if slices.ContainsFunc(s.Wrappers, func(w line.Wrapper) bool { return !w.SetsVariables && r.begins(w.Words, s.Dirs, p.Root) }) {
			return true
		}
	}
	return false
}

// namedExactly reports whether an allow rule for a command says by its own words
// that it throws work away: one for the whole command, or one whose fixed words
// name command, subcommand and option.
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
// its name and subcommand; "" when there is none that a user should be
// offered.
func suggestRun(name string, rest []line.Command) string {
	if len(rest) == 0 {
		return ""
	}
	first := strings.Join(commandWords(rest[0]), " ")
	for _, s := range rest {
		alone := s.Elevated || s.SetsVariables || len(s.Outputs) > 0 || !s.Known() || s.TakesArgs || s.ChangesShell()
		if alone || strings.Join(commandWords(s), " ") != first {
			return ""
		}
	}
	if first == "" {
		return ""
	}
	return Rule{Tool: name, Arg: first + ":*", HasArg: true}.String()
}

// commandWords are the words that say what kind of command it is; none for
// programs that run what they are given, or whose words say little.
func commandWords(s line.Command) []string {
	words := line.Texts(s.Words)
	if len(words) == 0 || s.Words[0].Glob || strings.ContainsAny(words[0], " \t\n") {
		return nil
	}
	base := path.Base(words[0])
	if _, reads := readingOf(base); reads && base != "git" { // it was asked for where it reads
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
