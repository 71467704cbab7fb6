package screen

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/text/unicode/norm"

	"artoo/ui/sanitize"
)

const (
	// guardMark begins a row of untrusted text that would begin with a word of
	// artoo's own.
	guardMark = "| "
	// ours begins a line of artoo's own, which needs no mark. It is never written, and the
	// sanitiser lets no control character through.
	ours = '\x02'
	// maxUndecided is how many bytes of a row are read before it is taken to be forged.
	maxUndecided = 1 << 10
)

// ownWords begin lines of artoo's own, and no others, in every profile.
var ownWords = []string{"you:", "you[", "approve:", "answer:"}

// spokenWords are those of a transcript that is heard.
var spokenWords = []string{"you:", "you[", "approve:", "answer:", "tool:", "note:", "error:", "status:"}

// rowGuard puts guardMark before the rows of untrusted text that begin with one of artoo's own
// words, or with a text that looks like one: behind spaces, marks and invisible characters, in
// any case, in letters of other scripts. A terminal breaks a line that is too long into rows,
// which count too. Text is appended to a buffer, in pieces of any size: the bytes are the same.
type rowGuard struct {
	words []string
	width int // cells of a row; 0 means that no terminal breaks lines

	decided bool   // nothing more is to be done in this row
	at      int    // where in the buffer the row begins, until it is decided
	read    []rune // the letters that the row begins with
	col     int    // cells of the row
}

func (g *rowGuard) begin(n int) {
	g.decided, g.at, g.read, g.col = false, n, g.read[:0], 0
}

// trust lets a row pass whose beginning, of so many cells, is artoo's own.
func (g *rowGuard) trust(cells int) { g.decided, g.col = true, cells }

// safe is how many of n bytes no mark can come into any more.
func (g *rowGuard) safe(n int) int {
	if g.decided {
		return n
	}
	return min(g.at, n)
}

func (g *rowGuard) cut(n int) { g.at = max(g.at-n, 0) }

// text appends safe text of one line, and returns how many cells of marks came in.
func (g *rowGuard) text(buf []byte, s string) (out []byte, marks int) {
	if g.decided && (g.width == 0 || sanitize.IsPlainASCII(s) && !strings.Contains(s, "\t") && g.col+len(s) <= g.width) {
		g.col += len(s)
		return append(buf, s...), 0
	}
	for _, r := range s {
		wide := displaywidth.Rune(r)
		switch {
		case r == '\t' && g.width > 0:
			g.col = min(g.col+tabStop-g.col%tabStop, g.width-1)
		case g.width > 0 && g.col+wide > g.width:
			g.begin(len(buf))
			g.col = wide
		default:
			g.col += wide
		}
		buf = append(buf, string(r)...)
		if g.decided || !g.forged(r) && len(buf)-g.at < maxUndecided {
			continue
		}
		g.decided = true
		buf = append(buf[:g.at], append([]byte(guardMark), buf[g.at:]...)...)
		g.col += len(guardMark)
		marks += len(guardMark)
	}
	return buf, marks
}

// forged reads the next character, and reports whether the row now begins with an own word.
func (g *rowGuard) forged(r rune) bool {
	if r < 0x80 {
		return g.letter(r)
	}
	for _, part := range norm.NFKD.String(string(r)) {
		if g.letter(part) {
			return true
		}
	}
	return false
}

func (g *rowGuard) letter(r rune) bool {
	switch {
	case g.decided || unicode.Is(unicode.M, r) || sanitize.Invisible(r):
		return false
	case len(g.read) == 0 && r == '|':
		g.decided = true // it is marked already
		return false
	case len(g.read) == 0 && !unicode.IsLetter(r):
		return false
	}
	blank := unicode.IsSpace(r)
	if !blank {
		g.read = append(g.read, r)
	}
	may := false
	for _, w := range g.words {
		if !looksLike(g.read, w) {
			continue
		}
		if len(g.read) == len(w) {
			return true
		}
		may = may || !blank || len(g.read) == len(w)-1 // a blank before its last character
	}
	g.decided = !may
	return false
}

func looksLike(read []rune, word string) bool {
	if len(read) > len(word) {
		return false
	}
	for i, r := range read {
		if c := rune(word[i]); unicode.ToLower(r) != c && !strings.ContainsRune(lookalikes[c], r) {
			return false
		}
	}
	return true
}

// lookalikes look like a letter in usual fonts, and compatibility decomposition does not make
// them that letter.
var lookalikes = [...]string{
	'a': "аАαΑɑᴀᎪꓮⲁⲀ",
	'e': "еЕεΕєЄҽᴇᎬꓰⲉⲈɛ",
	'n': "пηΝՈոɴꓠ",
	'o': "оОοΟσ0øØɵօՕᴏꓳⲟⲞ",
	'p': "рРρΡᴘᏢꓑⲣⲢ",
	'r': "гᴦʀᎡꓣɾ",
	's': "ѕЅꜱᏚꓢ",
	't': "тТτΤᴛᎢꓔⲧⲦ",
	'u': "υսцᴜꓴՍʊ",
	'v': "νΝѵѴᴠᏙꓦυ",
	'w': "ѡѠԝԜᴡᎳꓪɯωա",
	'y': "уУүҮγΥУʏყᎩꓬⲩⲨʎ",
	'[': "⁅❲〔【⟦［",
	':': "∶ː˸։׃܃꞉᠄ꓽ",
}

func (lay *layout) marked(text string) string {
	width := 0
	if lay.opt.ErrTTY {
		width = lay.width()
	}
	return markRows(text, ownWords, width)
}

// heard is an untrusted text with its marks against the words of a transcript that is heard.
func (lay *layout) heard(text string) string {
	if lay.opt.Profile != Spoken {
		return text
	}
	return markRows(text, spokenWords, 0)
}

// markRows marks the rows of a text that may hold artoo's styles and links.
func markRows(text string, words []string, width int) string {
	g := rowGuard{words: words, width: width}
	buf := make([]byte, 0, len(text)+len(guardMark))
	for l := range strings.Lines(text) {
		g.begin(len(buf))
		if l[0] == ours {
			l = l[1:]
			g.trust(0)
		}
		row, end := strings.CutSuffix(l, "\n")
		if buf = g.styled(buf, row); end {
			buf = append(buf, '\n')
		}
	}
	return string(buf)
}

func (g *rowGuard) styled(buf []byte, row string) []byte {
	for row != "" {
		n := strings.IndexByte(row, '\x1b')
		switch {
		case n < 0:
			n = len(row)
			fallthrough
		case n > 0:
			buf, _ = g.text(buf, row[:n])
		default:
			n = max(sanitize.SequenceAt(row), 1)
			buf = append(buf, row[:n]...)
		}
		row = row[n:]
	}
	return buf
}

// unforged is a text within a line of artoo's own, with a mark within each own word: a row of
// the text may begin anywhere.
func unforged(text string) string {
	var b strings.Builder
	marks := map[int]bool{}
	for i, r := range text {
		if n := lastOfOwn(text[i:]); n > 0 && unicode.IsLetter(r) {
			marks[i+n] = true
		}
		if marks[i] {
			b.WriteByte('|')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// lastOfOwn is where the own word that a text begins with has its last character; 0 without
// one.
func lastOfOwn(text string) int {
	g := rowGuard{words: ownWords}
	for i, r := range text {
		if g.forged(r) {
			return i
		}
		if g.decided {
			break
		}
	}
	return 0
}

// Marked is safe text with a mark before each row that begins with an own word.
func (s *Screen) Marked(text string) string {
	return read(s, func(t *transcript) string { return s.layout.marked(text) })
}
