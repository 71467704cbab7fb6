package edit

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"artoo/tool/diff"
	"artoo/tool/text"
)

type degree struct {
	differs string
	plain   func(string) string
}

// degrees are the ways to compare lines of an edit with those of the file, the strictest
// first. Each allows the differences of those before it, and names its own.
var degrees = []degree{
	{"", func(s string) string { return s }},
	{"spaces at the ends of lines", func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }},
	{"indentation", strings.TrimSpace},
	{"the kind of quotes, dashes or spaces", func(s string) string { return Typewritten(strings.TrimSpace(s)) }},
}

// Typewritten writes typographic quotes, dashes and spaces as on a typewriter, a
// character for each; text that is not UTF-8 stays.
func Typewritten(s string) string {
	if text.IsASCII(s) || !utf8.ValidString(s) {
		return s
	}
	return strings.Map(func(c rune) rune {
		switch c {
		case '‘', '’', '‚', '‛':
			return '\''
		case '“', '”', '„', '‟':
			return '"'
		case '‐', '‑', '‒', '–', '—', '―', '−':
			return '-'
		case '\u00a0', '\u2002', '\u2003', '\u2004', '\u2005', '\u2006', '\u2007', '\u2008', '\u2009', '\u200a',
			'\u202f', '\u205f', '\u3000':
			return ' '
		}
		return c
	}, s)
}

// IsBlank reports whether a line has nothing but white space.
func IsBlank(line string) bool { return strings.TrimSpace(line) == "" }

// findLoosely finds where old stands in body except for some differences: all the places of the strictest degree that
// has any, with their replacements in the file's own style, and the differences. It finds none if that style is not
// known.
func findLoosely(body, old, replacement string) (edits []diff.Edit, differs string) {
	bare, ended := strings.CutSuffix(old, "\n")
	wanted := strings.Split(bare, "\n")
	if !slices.ContainsFunc(wanted, func(w string) bool { return !IsBlank(w) }) {
		return nil, ""
	}
	lines := splitBody(body)
	places, differs := lines.closest(0, wanted, degrees[1:])
	if last := degrees[len(degrees)-1].differs; len(places) == 0 || differs == last {
		if edits := findTypewritten(body, old, replacement); len(edits) > 0 {
			return edits, last
		}
	}
	for _, at := range places {
		from, to := lines.start(at), lines.end(at+len(wanted)-1)
		text, ok := adapted(lines.text[at:at+len(wanted)], wanted, replacement)
		if !ok {
			return nil, ""
		}
		if ended && to < len(body) {
			to++
		} else if ended {
			text = strings.TrimSuffix(text, "\n")
		}
		edits = append(edits, diff.Edit{Start: from, End: to, New: text})
	}
	return edits, differs
}

// bodyLines is the body of a file in lines without their ends.
type bodyLines struct {
	text []string
	at   []int // where each begins
}

// splitBody counts no line behind the last line end.
func splitBody(body string) (lines bodyLines) {
	at := 0
	for line := range strings.Lines(body) {
		lines.text, lines.at = append(lines.text, strings.TrimSuffix(line, "\n")), append(lines.at, at)
		at += len(line)
	}
	return lines
}

func (b bodyLines) start(line int) int { return b.at[line] }
func (b bodyLines) end(line int) int   { return b.at[line] + len(b.text[line]) }

// closest finds wanted from line first on in the strictest degree that has it.
func (b bodyLines) closest(first int, wanted []string, degrees []degree) (places []int, differs string) {
	for _, d := range degrees {
		if places = b.find(first, wanted, d.plain); len(places) > 0 {
			return places, d.differs
		}
	}
	return nil, ""
}

// find returns the lines from first on where wanted begins, seen through plain; none after too
// many tries.
func (b bodyLines) find(first int, wanted []string, plain func(string) string) (places []int) {
	seen := make([]string, len(wanted))
	for i, w := range wanted {
		seen[i] = plain(w)
	}
	compared := 0
	for at := first; at+len(wanted) <= len(b.text); at++ {
		i := 0
		for i < len(seen) && plain(b.text[at+i]) == seen[i] {
			i++
		}
		if i == len(seen) {
			places = append(places, at)
		}
		if compared += i; compared > maxCompared {
			return nil
		}
	}
	return places
}

// findTypewritten finds old, also in parts of lines, where only quotes, dashes or spaces differ
// in kind.
func findTypewritten(body, old, replacement string) (edits []diff.Edit) {
	if text.IsASCII(body) && text.IsASCII(old) || !utf8.ValidString(body) || !utf8.ValidString(old) {
		return nil
	}
	plain, wanted := Typewritten(body), Typewritten(old)
	to, reached := 0, 0 // the same place in body and in plain
	forward := func(plainTo int) int {
		for range plain[reached:plainTo] {
			_, size := utf8.DecodeRuneInString(body[to:])
			to += size
		}
		reached = plainTo
		return to
	}
	for _, at := range Occurrences(plain, wanted, false) {
		start := forward(at)
		end := forward(at + len(wanted))
		edits = append(edits, diff.Edit{Start: start, End: end, New: keepOwn(body[start:end], old, replacement)})
	}
	return edits
}

// keepOwn is the replacement for old, with the file's characters where old and replacement are
// the same. file and old differ character by character.
func keepOwn(file, old, replacement string) string {
	if file == old {
		return replacement
	}
	own, byteAt := []rune(file), 0
	var b strings.Builder
	keep := func(to int) {
		n := utf8.RuneCountInString(old[byteAt:to])
		b.WriteString(string(own[:n]))
		own, byteAt = own[n:], to
	}
	for _, d := range diff.Strings(old, replacement) {
		keep(d.Start)
		b.WriteString(d.New)
		own, byteAt = own[utf8.RuneCountInString(old[d.Start:d.End]):], d.End
	}
	keep(len(old))
	return b.String()
}

// adapted is the replacement for old, which stands in the file as these lines, in
// the file's own way: lines that old and replacement share are the file's, others
// are indented as the file is. ok is false where that is not known.
func adapted(file, old []string, replacement string) (text string, ok bool) {
	if replacement == "" {
		return "", true
	}
	bare, ended := strings.CutSuffix(replacement, "\n")
	before, after := strings.Join(old, "\n")+"\n", bare+"\n"
	indent := newIndenter(file, old, strings.Split(bare, "\n"))
	var out []string
	done := 0 // lines of old that are dealt with
	for _, d := range diff.Lines(before, after) {
		from, to := strings.Count(before[:d.Start], "\n"), strings.Count(before[:d.End], "\n")
		out = append(out, file[done:from]...)
		done = to
		if strings.Count(d.New, "\n") != to-from { // The lines cannot be paired.
			from = to
		}
		for line := range strings.Lines(d.New) {
			line = strings.TrimSuffix(line, "\n")
			was := indentOf(line)
			now, known := indent.of(was)
			if !known && !IsBlank(line) {
				return "", false
			}
			rest := line[len(was):]
			if from < to {
				rest = ownRest(file[from], old[from], rest)
				from++
			}
			if IsBlank(line) {
				now = was
			}
			out = append(out, now+rest)
		}
	}
	out = append(out, file[done:]...)
	text = strings.Join(out, "\n")
	if ended {
		text += "\n"
	}
	return text, true
}

// ownRest is a new line behind its indentation, with the file's spelling in place of the old line's.
func ownRest(file, old, rest string) string {
	ends := func(line string) (trimmed, blanks string) {
		trimmed = strings.TrimRightFunc(line, unicode.IsSpace)
		return strings.TrimSpace(trimmed), line[len(trimmed):]
	}
	fileText, fileBlanks := ends(file)
	oldText, oldBlanks := ends(old)
	text, blanks := ends(rest)
	if blanks == oldBlanks && text != "" {
		blanks = fileBlanks
	}
	if utf8.RuneCountInString(fileText) == utf8.RuneCountInString(oldText) {
		text = keepOwn(fileText, oldText, text)
	}
	return text + blanks
}
