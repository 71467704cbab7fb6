package permission

import (
	"slices"
	"strings"

	"artoo/agent/permission/line"
)

// options are the words of a read-only command, sorted.
type options struct {
	files     []string // values of options that may name files
	operands  []string
	doubts    int // how many operands may be values of options
	recursive bool
	given     bool // an option gave the pattern
}

// options sorts words, and returns the first by which the command does more than read.
// Values count as such only before the first operand: after it BSD
// takes every word for an operand, GNU does not.
func (r readOnly) options(words []string) (o options, bad string) {
	o.recursive = r.recursive == "*"
	if at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "@") }); at >= 0 && line.In(r.not, "@") {
		return o, words[at]
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--":
			o.operands = append(o.operands, words[i+1:]...)
			return o, ""
		case !line.IsOption(w):
			o.operands = append(o.operands, w)
			continue
		case line.HasOption(w, r.not):
			return o, w
		}
		next := o.take(r, w)
		if !next && r.doubts(w) {
			o.doubts++
		}
		if next && i+1 < len(words) {
			if i++; len(o.operands) > 0 {
				o.files = append(o.files, words[i])
			}
		}
	}
	return o, ""
}

// take notes what an option changes; next says that its value is the next word, and names
// no file.
func (o *options) take(r readOnly, w string) (next bool) {
	if name, ok := strings.CutPrefix(w, "--"); ok {
		name, value, has := strings.Cut(name, "=")
		o.note(r, name)
		if line.In(r.values, name) {
			return !has
		}
		o.files = append(o.files, value)
		return false
	}
	for i := 1; i < len(w); i++ {
		letter := w[i : i+1]
		o.note(r, letter)
		if line.In(r.values, letter) {
			return i+1 == len(w) && (i == 1 || !r.has(optionsFirst)) // xxd knows no clusters
		}
		o.files = append(o.files, w[i+1:]) // -f.env
	}
	return false
}

// doubts reports whether the word behind an option may be its value.
func (r readOnly) doubts(w string) bool {
	name, long := strings.CutPrefix(w, "--")
	if !long {
		return line.In(r.doubtful, w[len(w)-1:])
	}
	return slices.ContainsFunc(strings.Fields(r.doubtful+" "+r.values), func(option string) bool {
		return strings.HasPrefix(option, name)
	})
}

func (o *options) note(r readOnly, name string) {
	o.recursive = o.recursive || slices.ContainsFunc(strings.Fields(r.recursive), func(option string) bool {
		return option == name || len(name) > 1 && strings.HasPrefix(option, name) // GNU takes a beginning
	})
	o.given = o.given || line.In("e f reg rege regex regexp file files type-list expression", name)
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
