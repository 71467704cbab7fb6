package screen

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/glamour"
	"github.com/charmbracelet/glamour/ansi"
	"github.com/muesli/termenv"

	"artoo/ui/sanitize"
)

// maxSpans is how many runs of one reply are given to glamour, which takes
// about 20 µs for each (measured); the rest of the reply is shown as source.
const maxSpans = 5000

// maxScanned is how many bytes of held text are looked through for the ends of
// spans in one reply, again and again as it grows. A usual reply takes less
// than its size; one made of opening marks would take many times more.
const maxScanned = 8 << 20

// ink styles runs of words. Emphasis and headings are glamour's work; code
// spans keep their backticks and links become `label (url)` before it sees
// them, because it decodes entities inside code, drops addresses it cannot
// parse and makes relative ones absolute.
type ink struct {
	head    string // the SGR sequence of headings, once known
	headOK  bool
	color   bool
	links   bool
	spoken  bool
	spans   int
	scanned int
	term    *glamour.TermRenderer
	failed  bool
}

// spent reports whether the budget is used up.
func (k *ink) spent() bool { return k.spans >= maxSpans || k.scanned >= maxScanned || k.failed }

// render styles a run of words that holds no open span.
func (k *ink) render(run string, heading bool) []atom {
	in := scanInline(run)
	if !in.styled && (!heading || k.headOK) {
		return k.linked(k.simple(in.pieces, heading), in.pieces)
	}
	k.spans++
	var src strings.Builder
	if heading {
		src.WriteString("# ")
	}
	// A word in front keeps the run from being read as a list, a quote, a
	// fence; it is taken off again.
	src.WriteString("x ")
	for _, p := range in.pieces {
		src.WriteString(k.source(p))
	}
	out, err := k.glamour(src.String())
	if err != nil {
		k.failed = true // and the rest of the reply is shown as source
		return []atom{{text: sanitize.Text(unmark(run), sanitize.Prose)}}
	}
	atoms, ok := dropFirst(parseSGR(out))
	if !ok {
		return []atom{{text: sanitize.Text(unmark(run), sanitize.Prose)}}
	}
	for i := range atoms {
		atoms[i].text = sanitize.Text(atoms[i].text, sanitize.Prose)
	}
	if heading && !in.styled && len(atoms) == 1 {
		k.head, k.headOK = atoms[0].sgr, true // plain words need not ask again
	}
	return k.linked(atoms, in.pieces)
}

// simple renders pieces without emphasis, which need no glamour.
func (k *ink) simple(pieces []piece, heading bool) []atom {
	base := ""
	if heading {
		base = k.head
	}
	var atoms []atom
	for _, p := range pieces {
		a := atom{text: k.plain(p), sgr: base}
		if p.kind == pieceCode && k.color && !k.spoken {
			a.sgr += sgrCode
		}
		if n := len(atoms); n > 0 && atoms[n-1].sgr == a.sgr {
			atoms[n-1].text += a.text
		} else {
			atoms = append(atoms, a)
		}
	}
	return atoms
}

func (k *ink) glamour(src string) (string, error) {
	if k.term == nil {
		// Without colour the style asks for nothing: the profile alone would
		// not stop glamour from writing bold.
		profile := termenv.Ascii
		if k.color {
			profile = termenv.ANSI
		}
		r, err := glamour.NewTermRenderer(glamour.WithStyles(k.style()), glamour.WithColorProfile(profile), glamour.WithWordWrap(0))
		if err != nil {
			return "", fmt.Errorf("markdown style: %w", err)
		}
		k.term = r
	}
	return k.term.Render(src)
}

// style has no margins or padding, and the one colour of code, so that it suits
// any background and costs few bytes.
func (k *ink) style() ansi.StyleConfig {
	on := k.color
	struck, end, tick := "~~", "~~", "`"
	if k.spoken {
		struck, end, tick = "struck out: ", "", ""
	}
	code := ansi.StylePrimitive{Prefix: tick, Suffix: tick}
	if k.color && !k.spoken {
		magenta := "5"
		code.Color = &magenta
	}
	return ansi.StyleConfig{
		Strong:        ansi.StylePrimitive{Bold: &on},
		Emph:          ansi.StylePrimitive{Italic: &on},
		Strikethrough: ansi.StylePrimitive{CrossedOut: &on, BlockPrefix: struck, BlockSuffix: end},
		Code:          ansi.StyleBlock{StylePrimitive: code},
		Heading:       ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Bold: &on}},
	}
}

// plain is the piece without styles, safe to show.
func (k *ink) plain(p piece) string {
	switch p.kind {
	case pieceCode:
		text := sanitize.Text(unmark(p.text), sanitize.Code)
		if k.spoken {
			return bareCode(text)
		}
		return text
	case pieceLink:
		label := sanitize.Text(unescape(p.text), sanitize.Prose)
		if k.spoken {
			label = strings.ReplaceAll(label, "`", "")
		}
		return linkText(label, sanitize.Text(unmark(p.url), sanitize.Line))
	}
	return sanitize.Text(unescape(p.text), sanitize.Prose)
}

// source is the piece as Markdown that glamour renders to what plain returns,
// with its emphasis styled.
func (k *ink) source(p piece) string {
	switch p.kind {
	case pieceCode:
		return strings.ReplaceAll(sanitize.Text(unmark(p.text), sanitize.Code), "&", "&amp;")
	case pieceLink:
		return linkText(guard(p.text), literal(sanitize.Text(unmark(p.url), sanitize.Line)))
	}
	return guard(p.text)
}

func linkText(label, url string) string {
	switch {
	case label == "" || label == url:
		return url
	case url == "":
		return label
	}
	return label + " (" + url + ")"
}

// literal writes every ASCII punctuation mark as an entity, which no Markdown
// rule looks at.
func literal(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 && isPunct(r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// guard leaves emphasis marks, backslashes and backticks to glamour and makes
// everything else that it would act on (entities, HTML, addresses, links,
// single tildes, a heading's closing marks) an entity.
func guard(s string) string {
	s = decodeEntities(s)
	var b strings.Builder
	marked := false
	for i, r := range s {
		if marked || r == literalMark {
			if marked = r == literalMark && !marked; !marked {
				b.WriteString(literal(string(r)))
			}
			continue
		}
		switch r {
		case '&', '<', '@', ':', '[', ']', '#', '!', '|':
			fmt.Fprintf(&b, "&#%d;", r)
		case '.':
			if strings.HasSuffix(strings.ToLower(s[:i]), "www") {
				b.WriteString("&#46;")
			} else {
				b.WriteRune(r)
			}
		case '~':
			if strings.HasPrefix(s[i:], "~~") || strings.HasSuffix(s[:i], "~") {
				b.WriteRune(r)
			} else {
				b.WriteString("&#126;")
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
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
		if s[i] == literalMark && i+1 < len(s) || s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\`*_{}[]<>()#+-.!|~", s[i+1]) >= 0 {
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

// parseSGR parts what glamour wrote into stretches of one style.
func parseSGR(s string) []atom {
	var atoms []atom
	sgr := ""
	for s != "" {
		if rest, ok := strings.CutPrefix(s, "\x1b["); ok {
			code, after, _ := strings.Cut(rest, "m")
			sgr, s = "\x1b["+code+"m", after
			if code == "0" {
				sgr = ""
			}
			continue
		}
		n := strings.IndexByte(s, '\x1b')
		if n < 0 {
			n = len(s)
		}
		if text := strings.ReplaceAll(s[:n], "\n", " "); text != "" {
			atoms = append(atoms, atom{text: text, sgr: sgr})
		}
		s = s[n:]
	}
	return atoms
}

// dropFirst takes the "x " in front off.
func dropFirst(atoms []atom) ([]atom, bool) {
	for i, want := 0, "x "; i < len(atoms); i++ {
		text := atoms[i].text
		n := min(len(text), len(want))
		if text[:n] != want[:n] {
			return nil, false
		}
		want = want[n:]
		if want == "" {
			atoms[i].text = text[n:]
			return atoms[i:], true
		}
	}
	return nil, false
}
