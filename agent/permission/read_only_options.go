package permission

import (
	"strings"

	"artoo/agent/permission/line"
)

// options are the words of a command, sorted.
type options struct {
	files     []string // values of options that may name files
	operands  []string
	used      []string // options, each with = and its value where it has one
	recursive bool
	given     bool // an option gave the pattern
	sure      bool // which word is the first operand is beyond doubt
}

// options sorts words, and says which of them is not known to only read.
// Values count as what they are only before the first operand: after it BSD
// takes every word for an operand, GNU does not.
func (r readOnly) options(words []string) (o options, bad string) {
	o.sure = true
	o.recursive = r.recursive == "*"
	for i := 0; i < len(words); i++ {
		w := words[i]
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		var took, ok bool
		switch {
		case w == "--":
			o.operands = append(o.operands, words[i+1:]...)
			return o, ""
		case !line.IsOption(w):
			o.operands = append(o.operands, w)
			continue
		case r.has(anyOption):
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
func (o *options) long(r readOnly, text, next string) (took, ok bool) {
	name, value, has := strings.Cut(text, "=")
	for spec := range strings.FieldsSeq(r.long) {
		if strings.TrimRight(spec, "=@?") != name {
			continue
		}
		kind := spec[len(name):]
		if kind == "" && has {
			return false, false
		}
		o.note(r, name)
		if took = !has && strings.HasPrefix(kind, "="); took {
			value = next
		}
		o.value(name, value, kind == "=")
		return took, true
	}
	return false, false
}

// cluster takes options of one letter each; took says that the value of the
// last is the next word.
func (o *options) cluster(r readOnly, letters, next string) (took, ok bool) {
	for i := range len(letters) {
		c := letters[i : i+1]
		fileless := strings.Contains(r.values, c)
		switch {
		case strings.Contains(r.flags, c), r.has(numbers) && c >= "0" && c <= "9":
			o.note(r, c)
		case fileless, strings.Contains(r.files, c):
			o.note(r, c)
			value := letters[i+1:]
			if took = value == ""; took {
				value = next
			}
			o.value(c, value, fileless)
			return took, true
		default:
			return false, false
		}
	}
	return false, true
}

// note takes down what an option changes.
func (o *options) note(r readOnly, name string) {
	o.used = append(o.used, name)
	o.recursive = o.recursive || line.In(r.recursive, name)
	o.given = o.given || line.In("e f regexp file files type-list expression", name)
}

func (o *options) value(name, v string, fileless bool) {
	o.used = append(o.used, name+"="+v)
	if fileless && len(o.operands) == 0 {
		return
	}
	o.files = append(o.files, v)
	o.sure = o.sure && fileless
}

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
