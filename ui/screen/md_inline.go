package screen

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"artoo/ui/sanitize"
)

// maxScanned is how many bytes of held text are looked through for the ends of
// spans in one reply, again and again as it grows. A usual reply takes less
// than its size; one made of opening marks would take many times more.
const maxScanned = 8 << 20

// spent reports whether the rest of the reply is shown as source.
func (m *Markdown) spent() bool { return m.scanned >= maxScanned }

// tokens is a run of words that holds no open span, safe to show. Where a style
// says it, code has no backticks. Without links those within the label of a link
// show as text.
func (m *Markdown) tokens(run string, links bool) []token {
	in := scanInline(run)
	styles := make([]style, len(in.pieces))
	for _, s := range in.spans {
		for i := s.from; i < s.to; i++ {
			styles[i] |= s.style
		}
		if s.style == struck { // few terminals strike text out: its marks stay
			begin, end := "~~", "~~"
			if m.opt.Spoken {
				begin, end = "struck out: ", ""
			}
			in.pieces[s.from-1] = piece{kind: pieceMark, text: begin, left: 1}
			in.pieces[s.to] = piece{kind: pieceMark, text: end, left: 1}
		}
	}
	var tokens []token
	for i, p := range in.pieces {
		t := token{style: styles[i]}
		switch p.kind {
		case pieceLink:
			label := []token{{text: sanitize.Text(unescape(p.text), sanitize.Prose)}}
			if links {
				label = m.tokens(p.text, false)
			}
			for _, l := range m.link(label, sanitize.Text(unmark(p.url), sanitize.Line)) {
				l.style |= styles[i]
				tokens = append(tokens, l)
			}
			continue
		case pieceCode:
			t.text, t.style = sanitize.Text(unmark(p.text), sanitize.Code), t.style|codeStyle
			if m.opt.Spoken || m.opt.Color {
				t.text = bareCode(t.text)
			}
		case pieceMark:
			t.text = strings.Repeat(p.text, p.left)
		default:
			t.text = sanitize.Text(unescape(p.text), sanitize.Prose)
		}
		tokens = append(tokens, t)
	}
	return tokens
}

// link is a link as it is shown: its label, and the address in parentheses
// unless that is its label.
func (m *Markdown) link(label []token, url string) []token {
	text := ""
	for _, t := range label {
		text += t.text
	}
	address := token{text: url, link: m.opt.Links && linkable(url)}
	switch {
	case text == "" || text == url:
		return []token{address}
	case url == "":
		return label
	}
	return append(label, token{text: " ("}, address, token{text: ")"})
}

// bareCode takes the backticks of a code span away, and the one blank beside
// them that only parts them from others.
func bareCode(span string) string {
	text := strings.Trim(span, "`")
	if n := utf8.RuneCountInString(text); n > 2 && strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") {
		text = text[1 : len(text)-1]
	}
	return text
}

// unescape takes the backslashes of escaped punctuation away and decodes
// entities.
func unescape(s string) string {
	s = decodeEntities(s)
	if !strings.ContainsAny(s, "\\\x01") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == literalMark && i+1 < len(s) || s[i] == '\\' && i+1 < len(s) &&
			strings.IndexByte("\\`*_{}[]<>()#+-.!|~", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// entity is a character reference of HTML.
var entity = regexp.MustCompile(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)

// decodeEntities decodes what stands for characters that can be seen; what
// would make another, such as a control character, stays as it is. Decoded
// punctuation of ASCII is no markup.
func decodeEntities(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return entity.ReplaceAllStringFunc(s, func(ref string) string {
		if ref == "&nbsp;" {
			return " "
		}
		text := html.UnescapeString(ref)
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case n != len(text) || !unicode.IsPrint(r) || r == ' ' || r == utf8.RuneError || sanitize.Invisible(r):
			return ref
		case r < utf8.RuneSelf:
			return string(literalMark) + text
		}
		return text
	})
}
