package conversation

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"artoo/provider"
)

// content is a kind of content. Models differ in its tokens, so each kind is learned.
type content int

const (
	prose     content = iota // text in Latin letters
	code                     // and listings, logs, tables
	data                     // JSON, and the marks around messages
	cjk                      // Chinese, Japanese, Korean characters, wherever they stand
	alphabets                // other letters than Latin ones, wherever they stand
	picture                  // see provider.Image.Tokens
	kinds
)

var kindNames = [kinds]string{"prose", "code", "json", "cjk", "alphabets", "images"}

// size is the bytes of a part of a request and its guessed tokens by kind.
type size struct {
	bytes  int
	tokens [kinds]int
}

func (s size) plus(t size) size {
	s.bytes += t.bytes
	for k := range s.tokens {
		s.tokens[k] += t.tokens[k]
	}
	return s
}

func (s size) minus(t size) size {
	s.bytes -= t.bytes
	for k := range s.tokens {
		s.tokens[k] -= t.tokens[k]
	}
	return s
}

// guess is how many tokens it has before anything was learned.
func (s size) guess() (sum int) {
	for _, n := range s.tokens {
		sum += n
	}
	return sum
}

// The JSON and role marks around a message and a part, in tokens and bytes.
const (
	messageTokens, partTokens = 3, 2
	messageBytes, partBytes   = 12, 8
)

func sizeOf(msg provider.Message) size {
	s := size{bytes: messageBytes}
	s.tokens[data] = messageTokens
	for _, p := range msg.Parts {
		s = s.plus(sizeOfPart(p))
		s.bytes += partBytes
		s.tokens[data] += partTokens
	}
	return s
}

// sizeOfPart measures a part. A quarter of opaque payloads, base64 and partly not counted, is near enough.
func sizeOfPart(p provider.Part) (s size) {
	opaque := func(text string) {
		s.bytes += len(text) / 4
		s.tokens[data] += len(text) / 12
	}
	switch p := p.(type) {
	case provider.Text:
		s = sizeOfText(p.Text)
		opaque(p.Opaque)
	case provider.Reasoning:
		s = sizeOfText(p.Text)
		opaque(p.Opaque)
	case provider.Image:
		s.tokens[picture] = p.Tokens()
	case provider.ToolCall:
		s = sizeOfText(string(p.Input)).plus(sizeOfText(p.Raw)).plus(sizeOfText(p.Name))
		opaque(p.Opaque)
	case provider.ToolResult:
		s = sizeOfText(p.Text)
		for _, img := range p.Images {
			s.tokens[picture] += img.Tokens()
		}
	}
	return s
}

func sizeOfTool(t provider.ToolSpec) size {
	s := sizeOfText(t.Name).plus(sizeOfText(t.Description)).plus(sizeOfText(string(t.Schema)))
	s.tokens[data] += messageTokens
	return s
}

// pieces counts words with the space before them, digits by three, runs of signs and of spaces.
type pieces struct {
	words, more, capitals  int // more letters than five in a word; capitals after the first
	digits                 int // groups of three
	signs, moreSigns       int // runs, and signs after the first of one
	quotes                 int // quotes among the signs
	lines, blanks          int // runs of line ends, of more than one blank
	accented               int // Latin letters beyond ASCII
	han, kana, hangul      int
	alphabet, letters, odd int // Cyrillic and Greek; other letters; symbols
}

// sizeOfText measures a text. The weights, in 1/1000 token, were fitted to o200k_base on prose, sources, JSON, listings and
// manuals in five languages: within a tenth for most, a fifth for a few.
func sizeOfText(text string) size {
	s := size{bytes: len(text)}
	if text == "" {
		return s
	}
	p := piecesOf(text)
	latin := 940*p.words + 256*p.more + 76*p.capitals + 1540*p.digits + 585*p.signs + 186*p.moreSigns +
		163*p.lines + 1400*p.blanks + 1740*p.accented + 1980*p.odd
	s.tokens[p.content(text)] = (latin + 500) / 1000
	s.tokens[cjk] += (810*p.han + 840*p.kana + 780*p.hangul + 500) / 1000
	s.tokens[alphabets] += (360*p.alphabet + 510*p.letters + 500) / 1000
	return s
}

// content tells what of the text is neither cjk nor of other alphabets.
func (p pieces) content(text string) content {
	text = strings.TrimLeft(text, " \t\r\n")
	switch {
	case text != "" && (text[0] == '{' || text[0] == '[') && p.quotes*40 >= len(text):
		return data
	case (p.signs+p.blanks)*2 > p.words:
		return code
	}
	return prose
}

func piecesOf(s string) (p pieces) {
	for i := 0; i < len(s); {
		j := i + 1
		switch c := s[i]; {
		case isLower(c) || isUpper(c):
			for j = i; j < len(s) && isUpper(s[j]); j++ {
			}
			capitals := j - i
			for ; j < len(s) && isLower(s[j]); j++ {
			}
			p.words++
			p.capitals += max(0, capitals-1)
			p.more += max(0, j-i-capitals-5)
		case isDigit(c):
			for ; j < len(s) && j < i+3 && isDigit(s[j]); j++ {
			}
			p.digits++
		case c == '\n' || c == '\r':
			for ; j < len(s) && (s[j] == '\n' || s[j] == '\r'); j++ {
			}
			p.lines++
		case c == ' ' || c == '\t':
			for ; j < len(s) && (s[j] == ' ' || s[j] == '\t'); j++ {
			}
			if j > i+1 || c == '\t' {
				p.blanks++
			}
		case c < utf8.RuneSelf:
			for j = i; j < len(s) && isSign(s[j]); j++ {
				if s[j] == '"' {
					p.quotes++
				}
			}
			j = max(j, i+1) // a control character
			p.signs++
			p.moreSigns += j - i - 1
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			p.rune(r)
			j = i + n
		}
		i = j
	}
	return p
}

// rune counts a character beyond ASCII.
func (p *pieces) rune(r rune) {
	switch {
	case unicode.Is(unicode.Han, r), r >= 0x3000 && r <= 0x303f, r >= 0xff00 && r <= 0xffef: // includes their punctuation
		p.han++
	case unicode.In(r, unicode.Hiragana, unicode.Katakana):
		p.kana++
	case unicode.Is(unicode.Hangul, r):
		p.hangul++
	case unicode.Is(unicode.Latin, r):
		p.accented++
	case unicode.In(r, unicode.Cyrillic, unicode.Greek):
		p.alphabet++
	case unicode.IsLetter(r), unicode.IsMark(r):
		p.letters++
	default:
		p.odd++
	}
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isSign(c byte) bool {
	return c > ' ' && c < 0x7f && !isLower(c) && !isUpper(c) && !isDigit(c)
}
