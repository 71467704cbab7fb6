package permission

import (
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
)

// onlyReads reports whether a simple command is one of the reading commands,
// used without options that write or execute, on files it may read. why says
// what is in the way, as a sentence, "" when it is not such a command at all.
func (p *Policy) onlyReads(s line.Command) (ok bool, why string) {
	name := s.Name()
	r, listed := readingOf(name)
	switch {
	case s.Compound, s.RunsUnknown:
		return false, ""
	case tellsVersion(s):
		if why := p.surroundings(s, reading{is: pathless}); why != "" {
			return false, why
		}
		return p.trusted(name, !listed)
	case !listed:
		return false, ""
	}
	why = p.surroundings(s, r)
	for _, w := range s.Words[1:] {
		if why == "" && !w.Known && !(r.has(soft) && w.Harmless) {
			why = "the value of " + w.Text + " is not known before " + name + " runs"
		}
	}
	if why == "" {
		why = p.globsRead(s, r)
	}
	if why != "" {
		return false, why
	}
	if ok, why = p.trusted(name, false); !ok {
		return false, why
	}
	if r.has(special) {
		return p.judge(s, r)
	}
	if !r.has(pathless) || r.flags+r.values+r.long != "" {
		why = p.wordsRead(s.Dirs, r, name, line.Texts(s.Words[1:]))
	}
	return why == "", why
}

// surroundings says what around a command, not in its words, keeps it from being
// a reading one.
func (p *Policy) surroundings(s line.Command, r reading) (why string) {
	name := s.Name()
	switch {
	case len(s.Outputs) > 0:
		return name + " writes its output into a file, " + s.Outputs[0].Text
	case s.UnknownText:
		return "the text that " + name + " is given to read is not known before it runs"
	case s.UnsafeExpansion:
		return "an expansion in what " + name + " is given can set variables or run commands"
	case s.SetsVariables:
		return "variables are set for " + name + ", which can change what it does"
	case s.Elevated:
		return name + " runs with more rights than yours"
	case s.TakesArgs:
		return name + " is started by another command (" + s.ArgsFrom() + "), which gives it further arguments"
	case len(s.Dirs) == 0 && (!r.has(pathless) || s.Globs() || len(s.Inputs) > 0):
		return "it is not known in which directory " + name + " runs"
	}
	for _, input := range s.Inputs {
		if !input.Known {
			return "the file that " + name + " reads, " + input.Text + ", is not known before it runs"
		}
		if why := p.World.mayRead(s.Dirs, input.Text, false); why != "" {
			return name + " would read a file that it may not: " + why
		}
	}
	return ""
}

// trusted says whether the program of this name is the system's, not one that
// somebody put into the project; version asks for more: that it does not look
// into the project to see what it shall be.
func (p *Policy) trusted(name string, version bool) (ok bool, why string) {
	if shellBuiltin(name) {
		return true, ""
	}
	if err := tool.ProgramOf(p.World.Environ, p.Root, name, version); err != nil {
		return false, err.Error()
	}
	return true, ""
}

// shellBuiltin reports whether shells have this command within them.
func shellBuiltin(name string) bool {
	return line.In("cd pwd echo printf true false : type command test [ [[", name)
}

// globsRead looks at what the shell makes of globs: any number of words, so that
// what a glob stands for counts as files wherever it is.
func (p *Policy) globsRead(s line.Command, r reading) (why string) {
	ended := false
	for i, w := range s.Words {
		if i == 0 && w.Glob {
			return "which program " + w.Text + " stands for is not known before it runs"
		}
		if w.Glob {
			switch {
			case r.has(globless) || r.operands > 0:
				return "the pattern " + w.Text + " may stand for several words, of which " + s.Name() +
					" could take one for something else than a file to read"
			case r.has(risky) && !ended && strings.IndexAny(w.Text, "*?[-") == 0:
				return "the pattern " + w.Text + " may stand for an option of " + s.Name() + ": write ./" + w.Text
			case p.Shell.Kind() != "bash" && strings.Contains(w.Text, "**"):
				return "what " + w.Text + " stands for differs from shell to shell"
			}
			if why := p.World.mayRead(s.Dirs, w.Text, false); why != "" {
				return why
			}
		}
		ended = ended || w.Text == "--"
	}
	return ""
}

// wordsRead judges the words of a reading command by its options.
func (p *Policy) wordsRead(dirs []string, r reading, name string, words []string) (why string) {
	o, bad := r.options(words)
	if bad != "" {
		return "the option " + bad + " of " + name + " is not one that is known to do nothing but read"
	}
	if r.operands > 0 && len(o.operands) > r.operands {
		return name + " would write into " + o.operands[r.operands] + ", or do more than read"
	}
	if n := len(words); r.has(optionsFirst) && len(o.operands) > 0 && words[n-1] != o.operands[len(o.operands)-1] {
		return name + " would write into " + words[n-1] + ": its options stand before the file"
	}
	if r.has(pathless) {
		return ""
	}
	files := append(o.files, o.operands...)
	places := len(o.operands)
	if r.has(patternFirst) && !o.given && places > 0 {
		places--
		if o.sure {
			files = append(o.files, o.operands[1:]...)
		}
	}
	if o.recursive && places == 0 {
		files = append(files, ".")
	}
	for _, f := range files {
		if why := p.World.mayRead(dirs, f, o.recursive); why != "" {
			return why
		}
	}
	return ""
}
