package edit

import (
	"slices"
	"strings"
)

// indentOf is the spaces and tabs that a line begins with.
func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// indenter knows how a file indents lines that a model indented in another way.
type indenter struct {
	known   map[string]string // the file's indentation by the model's
	torn    map[string]bool   // the file has several for these of the model's
	further func(indent string) (string, bool)
}

// newIndenter learns from lines that differ in their indentation; added are to be indented.
func newIndenter(file, model, added []string) indenter {
	in := indenter{known: map[string]string{}, torn: map[string]bool{}}
	for i, line := range model {
		if IsBlank(line) {
			continue
		}
		own, its := indentOf(file[i]), indentOf(line)
		if before, ok := in.known[its]; ok && before != own {
			in.torn[its] = true
		}
		in.known[its] = own
	}
	in.further = in.rule(added)
	return in
}

// of is the file's indentation for one of the model's; ok is false for a guess.
func (in indenter) of(indent string) (own string, ok bool) {
	if own, ok := in.known[indent]; ok {
		return own, !in.torn[indent]
	}
	if len(in.torn) > 0 || in.further == nil {
		return "", false
	}
	return in.further(indent)
}

// rule is how to indent lines deeper or less deep than all that are known, nil for none.
func (in indenter) rule(added []string) func(string) (string, bool) {
	var more, less string
	isMore, isLess := true, true
	for its, own := range in.known {
		prefix, ok := strings.CutSuffix(own, its)
		isMore = isMore && ok && (more == "" || more == prefix)
		more = prefix
		prefix, ok = strings.CutSuffix(its, own)
		isLess = isLess && ok && (less == "" || less == prefix)
		less = prefix
	}
	scaled := in.scale(added)
	return func(indent string) (string, bool) {
		if isMore && alike(more+indent) != mixed {
			return more + indent, true
		}
		if rest, ok := strings.CutPrefix(indent, less); ok && isLess && len(in.known) > 0 {
			return rest, true
		}
		if scaled == nil {
			return "", false
		}
		return scaled(indent)
	}
}

// mixed is the result of alike for tabs and spaces together.
const mixed = 'x'

// alike is the one character that s is made of, 0 for an empty s.
func alike(s string) byte {
	switch {
	case s == "":
		return 0
	case strings.Trim(s, s[:1]) == "":
		return s[0]
	}
	return mixed
}

// scale is the rule where the model's step differs from the file's, nil for none.
func (in indenter) scale(added []string) func(string) (string, bool) {
	var its, own string
	x0, x1 := -1, -1 // the least and the deepest of the model's
	for i, o := range in.known {
		its, own = its+i, own+o
		if x0 < 0 || len(i) < x0 {
			x0 = len(i)
		}
		x1 = max(x1, len(i))
	}
	kind := alike(own)
	if x0 < 0 || kind == 0 || kind == mixed || alike(its) == mixed {
		return nil
	}
	at := func(x int) int { return len(in.known[strings.Repeat(string(alike(its)), x)]) }
	dx, dy := x1-x0, at(x1)-at(x0)
	if dx == 0 { // one depth only: its step is known where tabs stand for spaces, or the reverse
		dx, dy = oneStep(x0, at(x0), kind, alike(its), added)
	}
	if dx <= 0 || dy <= 0 {
		return nil
	}
	scaled := func(indent string) (string, bool) {
		if c := alike(indent); c == mixed || its != "" && c != 0 && c != alike(its) || (len(indent)-x0)*dy%dx != 0 {
			return "", false
		}
		y := at(x0) + (len(indent)-x0)*dy/dx
		return strings.Repeat(string(kind), max(y, 0)), y >= 0
	}
	for i, o := range in.known {
		if got, ok := scaled(i); !ok || got != o {
			return nil
		}
	}
	return scaled
}

// oneStep is a step of the model's and of the file's, where x and y characters of one depth are
// known; 0 for none.
func oneStep(x, y int, file, model byte, added []string) (dx, dy int) {
	isStep := func(blanks int) bool { return slices.Contains([]int{2, 3, 4, 8}, blanks) }
	switch {
	case x == 0 && file == '\t': // the step is the indentation that the new lines share
		for _, line := range added {
			indent := indentOf(line)
			if alike(indent) != ' ' && indent != "" {
				return 0, 0
			}
			for a, b := dx, len(indent); ; a, b = b, a%b {
				if dx = a; b == 0 {
					break
				}
			}
		}
		if isStep(dx) {
			return dx, 1
		}
	case x > 0 && file == '\t' && model == ' ' && x%y == 0 && isStep(x/y):
		return x / y, 1
	case x > 0 && file == ' ' && model == '\t' && y%x == 0 && isStep(y/x):
		return 1, y / x
	}
	return 0, 0
}
