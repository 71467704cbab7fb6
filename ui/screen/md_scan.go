package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// inline is what a scan of a run of words found.
type inline struct {
	openAt int  // where the first span begins that has not ended; -1 for none
	styled bool // emphasis or strike-through
	pieces []piece
}

// piece is a part of a run: literal text still with its escapes, a code span
// with its backticks, or a link.
type piece struct {
	kind pieceKind
	text string // of a link: its label
	url  string
}

type pieceKind int

const (
	pieceText pieceKind = iota
	pieceCode
	pieceLink
)

// delim is an emphasis mark that may still be closed.
type delim struct {
	char byte
	n    int
	at   int
}

// scanner walks over one run.
type scanner struct {
	s      string
	i      int // where it stands
	text   int // where the current literal text began
	out    inline
	delims []delim
}

// scanInline finds the spans of a run of words. It follows the CommonMark rules
// closely enough to know what is open; what is styled in the end the renderer
// decides.
func scanInline(run string) inline {
	sc := &scanner{s: run, out: inline{openAt: -1}}
	for sc.i < len(sc.s) {
		switch c := sc.s[sc.i]; c {
		case '\\', literalMark:
			sc.i += 2
		case '`':
			sc.code()
		case '[':
			sc.link()
		case '<':
			sc.autolink()
		case '*', '_', '~':
			sc.delim(c)
		default:
			sc.i++
		}
	}
	sc.i = min(sc.i, len(sc.s))
	sc.cut(sc.i)
	for _, d := range sc.delims {
		if d.n > 0 {
			sc.open(d.at)
		}
	}
	return sc.out
}

// open notes a span that has not ended.
func (sc *scanner) open(at int) {
	if sc.out.openAt < 0 || at < sc.out.openAt {
		sc.out.openAt = at
	}
}

// cut ends the literal text at i.
func (sc *scanner) cut(i int) {
	if i > sc.text {
		sc.out.pieces = append(sc.out.pieces, piece{kind: pieceText, text: sc.s[sc.text:i]})
	}
	sc.text = i
}

func (sc *scanner) add(p piece, end int) {
	sc.cut(sc.i)
	sc.out.pieces = append(sc.out.pieces, p)
	sc.i, sc.text = end, end
}

func (sc *scanner) code() {
	rest := sc.s[sc.i:]
	n := len(rest) - len(strings.TrimLeft(rest, "`"))
	for j := n; j < len(rest); {
		k := strings.IndexByte(rest[j:], '`')
		if k < 0 {
			break
		}
		j += k
		m := len(rest[j:]) - len(strings.TrimLeft(rest[j:], "`"))
		j += m
		if m == n {
			sc.add(piece{kind: pieceCode, text: rest[:j]}, sc.i+j)
			return
		}
	}
	sc.open(sc.i)
	sc.i += n
}

// link reads [label](url) and ![alt](url). A bracket that is still open may
// become one.
func (sc *scanner) link() {
	label, ok := closing(sc.s[sc.i:], '[', ']')
	if !ok {
		sc.open(sc.i)
		sc.i++
		return
	}
	after := sc.i + label + 1
	if after >= len(sc.s) || sc.s[after] != '(' {
		sc.i++
		return
	}
	target, ok := closing(sc.s[after:], '(', ')')
	if !ok {
		sc.open(sc.i)
		sc.i++
		return
	}
	p := piece{kind: pieceLink, text: sc.s[sc.i+1 : sc.i+label], url: linkTarget(sc.s[after+1 : after+target])}
	if sc.i > sc.text && sc.s[sc.i-1] == '!' {
		sc.i--
		sc.add(p, after+target+1)
		return
	}
	sc.add(p, after+target+1)
}

// closing finds the bracket that closes the one s begins with.
func closing(s string, open, end byte) (int, bool) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\', literalMark:
			i++
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i, true
			}
		}
	}
	return 0, false
}

// linkTarget is the address in the parentheses of a link, without its title.
func linkTarget(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "<") {
		if i := strings.IndexByte(s, '>'); i > 0 {
			return s[1:i]
		}
	}
	if i := strings.IndexByte(s, ' '); i > 0 {
		return s[:i]
	}
	return s
}

// autolink reads <https://…> and <name@host>.
func (sc *scanner) autolink() {
	rest := sc.s[sc.i:]
	end := strings.IndexAny(rest, "> ")
	if end > 0 && rest[end] == '>' && strings.ContainsAny(rest[:end], ":@") && !strings.ContainsAny(rest[1:end], "<\"'") {
		sc.add(piece{kind: pieceLink, url: rest[1:end]}, sc.i+end+1)
		return
	}
	sc.i++
}

// delim reads a run of emphasis marks.
func (sc *scanner) delim(c byte) {
	rest := sc.s[sc.i:]
	n := len(rest) - len(strings.TrimLeft(rest, string(c)))
	before, _ := utf8.DecodeLastRuneInString(sc.s[:sc.i])
	after, _ := utf8.DecodeRuneInString(rest[n:])
	if sc.i == 0 {
		before = ' '
	}
	if n == len(rest) {
		after = ' '
	}
	at := sc.i
	sc.i += n
	if c == '~' && n != 2 {
		return
	}
	left := !unicode.IsSpace(after) && (!isPunct(after) || unicode.IsSpace(before) || isPunct(before))
	right := !unicode.IsSpace(before) && (!isPunct(before) || unicode.IsSpace(after) || isPunct(after))
	canOpen, canClose := left, right
	if c == '_' {
		canOpen = left && (!right || isPunct(before))
		canClose = right && (!left || isPunct(after))
	}
	if canClose {
		n = sc.match(c, n)
	}
	if canOpen && n > 0 {
		sc.delims = append(sc.delims, delim{c, n, at})
	}
}

// match closes open marks with n of c and returns how many are left.
func (sc *scanner) match(c byte, n int) int {
	for k := len(sc.delims) - 1; k >= 0 && n > 0; k-- {
		d := &sc.delims[k]
		if d.char != c || d.n == 0 {
			continue
		}
		used := min(d.n, n)
		d.n -= used
		n -= used
		sc.out.styled = true
		sc.delims = sc.delims[:k+1] // marks inside a closed span stay text
	}
	return n
}

func isPunct(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
