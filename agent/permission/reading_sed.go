package permission

import (
	"slices"
	"strings"
)

// sedReads takes a sed that only prints: its scripts are read strictly, so that
// every sed takes them the same way.
func (p *Policy) sedReads(s simple) (why string) {
	r := reading{flags: "nErsuz", values: "e", is: patternFirst,
		long: "quiet silent regexp-extended separate unbuffered null-data expression="}
	o, bad := r.options(plain(s.words[1:]))
	if bad != "" {
		return "the option " + bad + " of sed is not one that is known to do nothing but read"
	}
	scripts := append(o.valuesOf("e"), o.valuesOf("expression")...)
	files := o.operands
	if len(scripts) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	for _, script := range scripts {
		if !sedPrints(script) {
			return "the script of sed, " + script + ", is not one that is known to do nothing but print"
		}
	}
	for _, w := range s.words[1:] {
		if w.glob && slices.Contains(scripts, w.text) {
			return "the script of sed, " + w.text + ", may become file names"
		}
	}
	for _, f := range files {
		if why := p.mayRead(s.dirs, f, false); why != "" {
			return why
		}
	}
	return ""
}

// sedPrints reports whether a script consists of nothing but addresses, p, =, l,
// q, the commands that move lines about, blocks of these, and s without its
// flags e and w.
func sedPrints(script string) bool {
	rest, depth := script, 0
	for {
		rest = strings.TrimLeft(rest, " \t\n;")
		if rest == "" {
			return depth == 0
		}
		ok := false
		if rest, ok = sedAddresses(rest); !ok || rest == "" {
			return false
		}
		command := rest[0]
		rest = rest[1:]
		switch {
		case command == '{':
			depth++
			continue
		case command == '}' && depth > 0:
			depth--
		case strings.IndexByte("p=dnNPDhHgGx", command) >= 0:
		case strings.IndexByte("lqQ", command) >= 0:
			rest = strings.TrimLeft(rest, " 0123456789")
		case command == 's':
			if rest, ok = sedSubstitution(rest); !ok {
				return false
			}
		default:
			return false
		}
		rest = strings.TrimLeft(rest, " \t")
		if rest != "" && !strings.ContainsAny(rest[:1], ";\n}") {
			return false
		}
	}
}

// sedAddresses takes what tells for which lines a command is.
func sedAddresses(s string) (rest string, ok bool) {
	rest, found, ok := sedAddress(s)
	if !ok {
		return s, false
	}
	rest = strings.TrimLeft(rest, " \t")
	if after, second := strings.CutPrefix(rest, ","); found && second {
		after = strings.TrimLeft(after, " \t")
		after = strings.TrimPrefix(strings.TrimPrefix(after, "+"), "~")
		if rest, found, ok = sedAddress(after); !ok || !found {
			return s, false
		}
		rest = strings.TrimLeft(rest, " \t")
	}
	return strings.TrimLeft(strings.TrimPrefix(rest, "!"), " \t"), true
}

// sedAddress takes one address: a number, a step, $ or /regexp/.
func sedAddress(s string) (rest string, found, ok bool) {
	switch {
	case s == "":
		return s, false, true
	case s[0] == '$':
		return s[1:], true, true
	case s[0] == '/':
		rest, ok = sedUntil(s[1:], '/', true)
		return strings.TrimLeft(rest, "IM"), true, ok
	case s[0] >= '0' && s[0] <= '9':
		rest = strings.TrimLeft(s, "0123456789")
		if step, ok := strings.CutPrefix(rest, "~"); ok {
			rest = strings.TrimLeft(step, "0123456789")
		}
		return rest, true, true
	}
	return s, false, true
}

// sedSubstitution takes what follows s.
func sedSubstitution(s string) (rest string, ok bool) {
	if s == "" || !strings.ContainsAny(s[:1], "/|,#@:!_%") {
		return s, false
	}
	if rest, ok = sedUntil(s[1:], s[0], true); ok {
		rest, ok = sedUntil(rest, s[0], false)
	}
	return strings.TrimLeft(rest, "gpIi0123456789"), ok
}

// sedUntil is what follows the delimiter. Programs differ in whether brackets of
// a regular expression may hold the delimiter, so they must be closed before it.
func sedUntil(s string, delimiter byte, regexp bool) (rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == delimiter:
			return s[i+1:], true
		case s[i] == '\n':
			return s, false
		case s[i] == '\\':
			if i++; i < len(s) && (s[i] == '\n' || s[i] == 'c') {
				return s, false
			}
		case s[i] == '[' && regexp:
			n := bracketLength(s[i:])
			if n == 0 || strings.IndexByte(s[i:i+n], delimiter) >= 0 {
				return s, false
			}
			i += n - 1
		}
	}
	return s, false
}

// bracketLength is the length of a bracket expression of a regular expression
// that s begins with, 0 where it does not end plainly.
func bracketLength(s string) int {
	i := len(s) - len(strings.TrimPrefix(strings.TrimPrefix(s[1:], "^"), "]"))
	for ; i < len(s); i++ {
		switch {
		case s[i] == ']':
			return i + 1
		case s[i] == '\n', strings.HasPrefix(s[i:], `\]`):
			return 0
		case s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0:
			n := strings.Index(s[i+2:], s[i+1:i+2]+"]")
			if n < 0 {
				return 0
			}
			i += n + 3
		}
	}
	return 0
}
