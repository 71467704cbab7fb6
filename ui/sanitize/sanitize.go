// Package sanitize makes untrusted text safe to show on a terminal.
package sanitize

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Context says where a text will stand, and so the fate of characters that cannot be seen.
type Context int

const (
	// Prose drops invisible characters, but for the joiners that emoji and
	// some scripts are written with.
	Prose Context = iota
	// Code shows every invisible character as <U+202E>. Tabs and newlines
	// stay.
	Code
	// Line is Code for text that must stay on one line and hide nothing: commands,
	// paths, names. Newlines show as ^J, tabs and unusual blanks as <U+0009>.
	Line
	// Lines is Line for text of several lines, such as a script: newlines and tabs are its
	// layout and stay.
	Lines
	// Source is Code for the lines of a file: a carriage return shows as ^M, since
	// some readers of the file end a line there and others do not.
	Source
	// Mixed is text whose parts are not known yet to be prose or code:
	// invisible characters pass, and its parts have to be sanitised again.
	Mixed
)

// Text makes untrusted text safe to show: C0 controls but newline and tab,
// DEL and C1 are shown in caret notation (C1 as the two characters ESC form),
// a carriage return is a newline (in Line, Lines and Source ^M), invalid UTF-8 is U+FFFD, and invisible
// characters are treated as the context says. It never returns an escape byte.
func Text(s string, where Context) string {
	if where != Line && IsPlainASCII(s) {
		return s
	}
	z := Stream{Where: where}
	return z.Write(s) + z.Close()
}

// sequence is an escape sequence as a terminal reads it: CSI, then the strings
// that ST (or BEL) ends or the end of the line, then those of one character.
var sequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
		"|(?:\x1b[]PX^_]|[\u0090\u0098\u009d-\u009f])[^\x07\x1b\u009c\n]*(?:\x07|\x1b\\\\|\u009c)?" +
		"|\x1b[ -/]*[0-Z\\\\^-~]")
})

// StripSequences takes terminal sequences out of a program's output. The rest still has to be
// sanitised. Never use it on text that a person is to approve.
func StripSequences(s string) string {
	if !strings.ContainsAny(s, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
		return s
	}
	return sequence().ReplaceAllString(s, "")
}

// SequenceAt is how many bytes the sequence at the start of s has, 0 without one.
func SequenceAt(s string) int {
	at := sequence().FindStringIndex(s)
	if at == nil || at[0] != 0 {
		return 0
	}
	return at[1]
}

// Stream is Text for text that arrives in pieces: however it is cut, the
// outputs joined are the same. The zero value sanitises prose. Not for
// concurrent use.
type Stream struct {
	Where Context

	Hidden Hidden // the characters shown or dropped so far

	held string // a rune or sequence whose meaning the next bytes decide
	prev rune   // the last rune that was let through, for joiners
}

// Hidden counts characters a reader would not have seen: Marks change the direction of text, Others
// are all the rest.
type Hidden struct{ Marks, Others int }

// Total is the sum of both.
func (h Hidden) Total() int { return h.Marks + h.Others }

// Write takes the next piece and returns the text that can be shown now.
func (z *Stream) Write(s string) string {
	if z.held != "" {
		s = z.held + s
		z.held = ""
	} else if z.Where != Line && IsPlainASCII(s) {
		if s != "" {
			z.prev = rune(s[len(s)-1])
		}
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		n := z.step(&b, s, false)
		if n == 0 {
			z.held = s
			break
		}
		s = s[n:]
	}
	return b.String()
}

// Close returns the text held back. The Stream starts afresh; the count stays.
func (z *Stream) Close() string {
	var b strings.Builder
	for s := z.held; len(s) > 0; {
		s = s[z.step(&b, s, true):]
	}
	z.held, z.prev = "", 0
	return b.String()
}

// step handles the first rune of s and returns how many bytes it took; 0 needs more text, never
// with last.
func (z *Stream) step(b *strings.Builder, s string, last bool) int {
	if c := s[0]; c < utf8.RuneSelf {
		return z.ascii(b, s, last)
	}
	if !last && !utf8.FullRuneInString(s) {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n == 1:
		z.keep(b, utf8.RuneError)
	case r < 0xa0: // C1: the same commands as ESC and a letter
		z.Hidden.Others++
		z.show(b, "^["+string(r-0x40))
	case r == zwj && z.Where == Prose && isPictograph(z.prev):
		next := s[n:]
		if !last && !utf8.FullRuneInString(next) {
			return 0
		}
		if e, _ := utf8.DecodeRuneInString(next); isPictograph(e) && e != vs16 {
			z.keep(b, r)
		} else {
			z.hide(b, r)
		}
	case Invisible(r):
		z.hide(b, r)
	case (z.Where == Line || z.Where == Lines) && isOddBlank(r):
		z.hide(b, r)
	default:
		z.keep(b, r)
	}
	return n
}

func (z *Stream) ascii(b *strings.Builder, s string, last bool) int {
	c := s[0]
	switch {
	case c == '\r' && z.Where != Line && z.Where != Lines && z.Where != Source:
		if len(s) == 1 && !last {
			return 0
		}
		z.keep(b, '\n')
		if len(s) > 1 && s[1] == '\n' {
			return 2
		}
	case c == '\n' && z.Where == Line:
		z.Hidden.Others++
		z.show(b, "^J")
	case c == '\t' && z.Where == Line:
		z.hide(b, '\t')
	case c == '\n' || c == '\t' || c >= ' ' && c != 0x7f:
		z.keep(b, rune(c))
	default:
		z.Hidden.Others++
		z.show(b, "^"+string(rune(c^0x40)))
	}
	return 1
}

func (z *Stream) keep(b *strings.Builder, r rune) {
	b.WriteRune(r)
	z.prev = r
}

func (z *Stream) show(b *strings.Builder, text string) {
	b.WriteString(text)
	z.prev = 0
}

func (z *Stream) hide(b *strings.Builder, r rune) {
	switch {
	case z.Where == Mixed, z.Where == Prose && neededInProse(z.prev, r):
		z.keep(b, r)
		return
	case z.Where == Prose && (r == 0x2028 || r == 0x2029):
		z.keep(b, ' ')
	case z.Where != Prose:
		z.show(b, fmt.Sprintf("<U+%04X>", r))
	}
	if isDirection(r) {
		z.Hidden.Marks++
	} else {
		z.Hidden.Others++
	}
}

// IsPlainASCII reports whether s is printable ASCII, newlines and tabs.
func IsPlainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// JSON writes the characters of a JSON text that a terminal obeys or hides as escapes. They stand in strings
// only, so it is the same JSON.
func JSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x7f || unicode.IsGraphic(r) && !Invisible(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

const (
	zwnj = 0x200c
	zwj  = 0x200d
	vs16 = 0xfe0f
)

// Invisible reports characters that take no cell of their own or an empty one, and can carry or
// disguise text: bidirectional controls, zero-width, fillers, variation selectors, tags.
func Invisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r >= 0x0600 && r <= 0x0605, r == 0x06dd, r == 0x070f,
		r == 0x0890, r == 0x0891, r == 0x08e2, r == 0x110bd, r == 0x110cd:
		return false // format characters by name, but drawn
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5,
		r >= 0x180b && r <= 0x180f, r == 0x2028, r == 0x2029,
		r >= 0x2060 && r <= 0x206f, r == 0x3164, r == 0xffa0,
		r >= 0xfe00 && r <= 0xfe0f, r >= 0xfff0 && r <= 0xfffb,
		r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// isDirection reports the controls of the bidirectional algorithm.
func isDirection(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// isOddBlank reports blanks that look like the space bar's.
func isOddBlank(r rune) bool { return r >= 0xa0 && unicode.Is(unicode.Zs, r) }

// neededInProse reports whether the joiner r means something after prev.
func neededInProse(prev, r rune) bool {
	switch r {
	case vs16:
		return isPictograph(prev) && prev != vs16 || prev == '#' || prev == '*' || prev >= '0' && prev <= '9'
	case zwj, zwnj:
		return unicode.In(prev, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko,
			unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
			unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
			unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
	}
	return false
}

// isPictograph reports emoji and symbols that can be shown as one; VS16 ends one.
func isPictograph(r rune) bool {
	switch {
	case r < 0xa9:
		return false
	case r == 0xa9, r == 0xae, r == 0x203c, r == 0x2049, r == 0x2122, r == 0x2139, r == vs16,
		r >= 0x2190 && r <= 0x21ff, r >= 0x2300 && r <= 0x23ff, r >= 0x2460 && r <= 0x24ff,
		r >= 0x25a0 && r <= 0x27bf, r == 0x2934, r == 0x2935, r >= 0x2b00 && r <= 0x2bff,
		r == 0x3030, r == 0x303d, r == 0x3297, r == 0x3299, r >= 0x1f000 && r <= 0x1faff:
		return true
	}
	return false
}
