package agent

import (
	"fmt"
	"path/filepath"
	"strings"

	"artoo/tool"
)

// Reach tells whether a command may read what its argument names without being
// asked: the path (or glob) as the shell would see it in dir, recursive when
// the command descends into directories. The error says why not: outside the
// project, or a secret. Options that take no file may be passed too; what does
// not exist is no reason.
type Reach func(dir, arg string, recursive bool) error

// reading describes a command of the @read group: the options it may be used
// with. Only those are listed that mean the same to GNU and BSD.
type reading struct {
	flags  string // letters of options without a value
	values string // letters of options with a value that names no file
	files  string // letters of options with a value that may name one
	long   string // long options; "name=" takes a value, "name=@" one that may name a file, "name?" may have one
	// recursive are options (a letter or a long name each) that make it
	// descend; "*" when it may without any.
	recursive string
	numbers   bool // -5 is an option
	any       bool // no option does harm
	// operands is how many plain words it may have, 0 for any: a further one
	// would be an output file.
	operands int
	pathless bool // its words are no files
	pattern  bool // its first plain word is a pattern, unless an option gives one
}

// onlyReads reports whether a simple command is one of the reading commands,
// used without options that write or execute, on files it may read. why says
// what is in the way, "" when it is not such a command at all.
func (p *Policy) onlyReads(s simple) (ok bool, why string) {
	name := s.name()
	r, listed := readingOf(name)
	switch {
	case !listed && name != "find" && name != "git":
		return false, ""
	case s.opaque, s.hides:
		return false, ""
	case !s.known():
		return false, "it holds an expansion whose value is not known beforehand"
	case len(s.outputs) > 0:
		return false, "its output goes into a file"
	case s.assigns:
		return false, "variables are set for it"
	case s.raised, s.fed:
		return false, "it is started by another command"
	case len(s.dirs) == 0 && !(r.pathless && !s.globs()):
		return false, "the directory it runs in is not known beforehand"
	}
	for _, input := range s.inputs {
		if len(s.dirs) == 0 {
			return false, "the directory it runs in is not known beforehand"
		}
		if why := p.mayRead(s.dirs, input.text, false); why != "" {
			return false, why
		}
	}
	// A glob becomes any number of words: what it stands for counts as files
	// wherever it is.
	for _, w := range s.words {
		if w.glob {
			if why := p.mayRead(s.dirs, w.text, false); why != "" {
				return false, why
			}
		}
	}
	words := plain(s.words[1:])
	switch {
	case name == "git":
		return p.gitReads(s.dirs, words)
	case name == "find":
		why = p.findReads(s.dirs, words)
	case r.pathless:
		if name == "printf" && !tamePrintf(words) {
			why = "printf can set variables"
		}
	default:
		why = p.wordsRead(s.dirs, r, words)
	}
	return why == "", why
}

// wordsRead judges the words of a reading command by its options.
func (p *Policy) wordsRead(dirs []string, r reading, words []string) (why string) {
	o, why := r.options(words)
	if why != "" {
		return why
	}
	if r.operands > 0 && len(o.operands) > r.operands {
		return "its second word is a file it writes"
	}
	files := append(o.files, o.operands...)
	places := len(o.operands)
	if r.pattern && !o.given && places > 0 {
		places--
		if o.sure {
			files = append(o.files, o.operands[1:]...)
		}
	}
	for _, f := range files {
		if why := p.mayRead(dirs, f, o.recursive); why != "" {
			return why
		}
	}
	if o.recursive && places == 0 {
		return p.mayRead(dirs, ".", true)
	}
	return ""
}

// mayRead says why a command in any of these directories may not read what arg
// names, "" when it may.
func (p *Policy) mayRead(dirs []string, arg string, recursive bool) (why string) {
	if arg == "" {
		return ""
	}
	for _, dir := range dirs {
		if p.Reach != nil {
			if err := p.Reach(dir, arg, recursive); err != nil {
				return err.Error()
			}
		}
		if r, ok := p.readRule(dir, arg, recursive); ok {
			return "the rule " + r.String() + " speaks of files it may read"
		}
	}
	return ""
}

// readRule finds a deny or ask rule of the user for reading that may cover what
// arg names.
func (p *Policy) readRule(dir, arg string, recursive bool) (Rule, bool) {
	for _, rules := range [][]Rule{p.DenyRules, p.AskRules} {
		for _, r := range rules {
			if !r.names("read", tool.KindRead) {
				continue
			}
			if !r.HasArg || recursive || strings.ContainsAny(arg, "*?[") {
				return r, true
			}
			path := arg
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			if r.matchesPath(p.Root, path, true) {
				return r, true
			}
			if real, err := filepath.EvalSymlinks(path); err == nil && r.matchesPath(p.Root, real, true) {
				return r, true
			}
		}
	}
	return Rule{}, false
}

// options are the words of a command, sorted.
type options struct {
	files     []string // values of options that may name files
	operands  []string
	recursive bool
	given     bool // an option gave the pattern
	sure      bool // which word is the first operand is beyond doubt
}

// options sorts words, and says which of them is not known to be harmless.
// Values count as what they are only before the first operand: after it BSD
// takes every word for an operand, GNU does not.
func (r reading) options(words []string) (o options, why string) {
	o.sure = true
	o.recursive = r.recursive == "*"
	for i := 0; i < len(words); i++ {
		w := words[i]
		var next string
		if i+1 < len(words) {
			next = words[i+1]
		}
		var took, ok bool
		switch {
		case w == "--":
			o.operands = append(o.operands, words[i+1:]...)
			return o, ""
		case !isOption(w):
			o.operands = append(o.operands, w)
			continue
		case r.any:
			o.files = append(o.files, optionValue(w))
			continue
		case strings.HasPrefix(w, "--"):
			took, ok = o.long(r, w[2:], next)
		default:
			took, ok = o.cluster(r, w[1:], next)
		}
		if !ok {
			return o, fmt.Sprintf("option %s is not one that is known to do nothing but read", w)
		}
		if took {
			i++
		}
	}
	return o, ""
}

// long takes a long option; took says that its value is the next word.
func (o *options) long(r reading, text, next string) (took, ok bool) {
	name, value, has := strings.Cut(text, "=")
	for _, spec := range strings.Fields(r.long) {
		stem := strings.TrimRight(spec, "=@?")
		if stem != name {
			continue
		}
		kind := spec[len(stem):]
		if kind == "" && has {
			return false, false
		}
		o.note(r, name)
		took = !has && (kind == "=" || kind == "=@")
		if took {
			value = next
		}
		o.value(value, kind == "=")
		return took, true
	}
	return false, false
}

// cluster takes options of one letter each; took says that the value of the
// last is the next word.
func (o *options) cluster(r reading, letters, next string) (took, ok bool) {
	for i := 0; i < len(letters); i++ {
		c := letters[i : i+1]
		switch {
		case strings.Contains(r.flags, c), r.numbers && c >= "0" && c <= "9":
			o.note(r, c)
		case strings.Contains(r.values, c), strings.Contains(r.files, c):
			o.note(r, c)
			value := letters[i+1:]
			if took = value == ""; took {
				value = next
			}
			o.value(value, strings.Contains(r.values, c))
			return took, true
		default:
			return false, false
		}
	}
	return false, true
}

// note takes down what an option changes.
func (o *options) note(r reading, name string) {
	for _, n := range strings.Fields(r.recursive) {
		o.recursive = o.recursive || n == name
	}
	switch name {
	case "e", "f", "regexp", "file", "files", "type-list":
		o.given = true
	}
}

func (o *options) value(v string, harmless bool) {
	if harmless && len(o.operands) == 0 {
		return
	}
	o.files = append(o.files, v)
	o.sure = o.sure && harmless
}

func isOption(w string) bool { return len(w) > 1 && w[0] == '-' }

// optionValue is the part of an option word that may name a file.
func optionValue(w string) string {
	if _, value, ok := strings.Cut(w, "="); ok {
		return value
	}
	if len(w) > 2 && w[1] != '-' && strings.ContainsAny(w, "/.") {
		return w[2:] // -f/etc/passwd
	}
	return ""
}

// tamePrintf reports whether printf only prints: -v and %n set a variable, and
// run commands in its subscript.
func tamePrintf(words []string) bool {
	if len(words) > 0 && isOption(words[0]) && words[0] != "--" {
		return false
	}
	for _, w := range words {
		for {
			_, rest, ok := strings.Cut(w, "%")
			if !ok {
				break
			}
			rest = strings.TrimLeft(rest, "0123456789.*#+-' hlLjztq")
			if strings.HasPrefix(rest, "n") || strings.HasPrefix(rest, "\\") {
				return false
			}
			w = strings.TrimPrefix(rest, "%")
		}
	}
	return true
}
