package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// inline is what a scan of a run of words found.
type inline struct {
	openAt int // where the first span begins that has not ended; -1 for none
	pieces []piece
	spans  []pieceSpan
}

// piece is a part of a run: literal text still with its escapes, a code span
// with its backticks, a link, or marks of emphasis.
type piece struct {
	kind pieceKind
	text string // of a link: its label; of marks: one of them
	url  string
	left int // how many marks are shown, since they emphasise nothing
}

// pieceSpan is what emphasis a part of the pieces has.
type pieceSpan struct {
	from, to int
	style    style
}

type pieceKind int

const (
	pieceText pieceKind = iota
	pieceCode
	pieceLink
	pieceMark
)

// delim is an emphasis mark that may still be closed.
type delim struct {
	char  byte
	n     int
	at    int
	piece int
}

// scanner walks over one run.
type scanner struct {
	s      string
	i      int // where it stands
	text   int // where the current literal text began
	out    inline
	delims []delim
	pairs  map[int]int // where the bracket opened at a place is closed; made when needed
}

// scanInline finds the spans of a run of words, by the rules of CommonMark but
// for the one about sums of three.
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
	label, ok := sc.closing(sc.i)
	if !ok {
		sc.open(sc.i)
		sc.i++
		return
	}
	if label+1 >= len(sc.s) || sc.s[label+1] != '(' {
		sc.i++
		return
	}
	end, ok := sc.closing(label + 1)
	if !ok {
		sc.open(sc.i)
		sc.i++
		return
	}
	p := piece{kind: pieceLink, text: sc.s[sc.i+1 : label], url: linkTarget(sc.s[label+2 : end])}
	if sc.i > sc.text && sc.s[sc.i-1] == '!' {
		sc.i--
	}
	sc.add(p, end+1)
}

// closing is where the bracket that opens at i is closed. All are paired at
// once: looking for each one's end would take quadratic time.
func (sc *scanner) closing(i int) (int, bool) {
	if sc.pairs == nil {
		sc.pairs = map[int]int{}
		var square, round []int
		for k := 0; k < len(sc.s); k++ {
			switch sc.s[k] {
			case '\\', literalMark:
				k++
			case '[':
				square = append(square, k)
			case '(':
				round = append(round, k)
			case ']':
				square = sc.pair(square, k)
			case ')':
				round = sc.pair(round, k)
			}
		}
	}
	end, ok := sc.pairs[i]
	return end, ok
}

func (sc *scanner) pair(open []int, end int) []int {
	if len(open) == 0 {
		return open
	}
	sc.pairs[open[len(open)-1]] = end
	return open[:len(open)-1]
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
	end := 1 + strings.IndexAny(rest[1:], "<> \"'")
	if end > 1 && rest[end] == '>' && strings.ContainsAny(rest[:end], ":@") {
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
	sc.cut(at)
	sc.text = sc.i
	mark := len(sc.out.pieces)
	sc.out.pieces = append(sc.out.pieces, piece{kind: pieceMark, text: string(c)})
	// 2*3*4, x**y**z: far more often a product than emphasis within a word, and
	// without its marks it would say something else.
	within := c == '*' && isWordASCII(before) && isWordASCII(after)
	if canClose && (!within || sc.innermost(c, n)) {
		n = sc.match(c, n, mark)
	}
	sc.out.pieces[mark].left = n
	if n > 0 && canOpen && !within {
		sc.delims = append(sc.delims, delim{c, n, at, mark})
	}
}

// innermost reports whether the span that was opened last is one of n of c.
func (sc *scanner) innermost(c byte, n int) bool {
	for k := len(sc.delims) - 1; k >= 0; k-- {
		if d := sc.delims[k]; d.n > 0 {
			return d.char == c && d.n == n
		}
	}
	return false
}

// match closes open marks with n of c, the piece of that number, and returns how
// many are left.
func (sc *scanner) match(c byte, n, piece int) int {
	for k := len(sc.delims) - 1; k >= 0 && n > 0; k-- {
		d := &sc.delims[k]
		if d.char != c || d.n == 0 {
			continue
		}
		used := min(d.n, n)
		d.n -= used
		n -= used
		sc.out.spans = append(sc.out.spans, pieceSpan{d.piece + 1, piece, emphasis(c, used)})
		sc.out.pieces[d.piece].left = d.n
		sc.delims = sc.delims[:k+1] // marks inside a closed span stay text
	}
	return n
}

// emphasis is the style of what stands between so many marks.
func emphasis(mark byte, n int) style {
	switch {
	case mark == '~':
		return struck
	case n == 1:
		return italic
	case n%2 == 0:
		return bold
	}
	return bold | italic
}

// isWordASCII reports a letter or digit of ASCII. Scripts without blanks between
// words do begin emphasis right behind a character.
func isWordASCII(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func isPunct(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
