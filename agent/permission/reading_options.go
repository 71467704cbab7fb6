package permission

import "strings"

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
	first    bool // options end at its first plain word: what follows may be a file to write
	pathless bool // its words are no files
	pattern  bool // its first plain word is a pattern, unless an option gives one
	globless bool // no word may be a glob: it could become a format, an operator or a file to write
	risky    bool // other options of it write or execute: no glob may turn into one
	soft     bool // a word made of harmless variables and of the output of reading commands is harmless in it
	// selects tells which files it reads of those it finds; nil for all.
	selects func(p *Policy, o options) func(name string, dir bool) bool
	// check judges its words instead of the options above; nil for most.
	check func(p *Policy, s simple) (ok bool, why string)
	note  string // what of its options is not for reading, for the documentation
}

// takes reports whether the command may be given a word that is not known.
func (r reading) takes(w word) bool { return r.soft && w.soft }

// options are the words of a command, sorted.
type options struct {
	files     []string // values of options that may name files
	operands  []string
	used      []string // options, each with = and its value where it has one
	recursive bool
	given     bool // an option gave the pattern
	sure      bool // which word is the first operand is beyond doubt
}

// options sorts words, and says which of them is not known to be harmless.
// Values count as what they are only before the first operand: after it BSD
// takes every word for an operand, GNU does not.
func (r reading) options(words []string) (o options, bad string) {
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
			return o, w
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
		o.value(name, value, kind == "=")
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
			o.value(c, value, strings.Contains(r.values, c))
			return took, true
		default:
			return false, false
		}
	}
	return false, true
}

// note takes down what an option changes.
func (o *options) note(r reading, name string) {
	o.used = append(o.used, name)
	for _, n := range strings.Fields(r.recursive) {
		o.recursive = o.recursive || n == name
	}
	switch name {
	case "e", "f", "regexp", "file", "files", "type-list", "expression":
		o.given = true
	}
}

func (o *options) value(name, v string, harmless bool) {
	o.used = append(o.used, name+"="+v)
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
