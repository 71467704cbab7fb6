package screen

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extensionast "github.com/yuin/goldmark/extension/ast"

	"artoo/ui/sanitize"
)

// maxScanned is how many bytes of held text are looked through for open spans in one reply,
// again and again as it grows. One made of opening marks would take many times its size.
const maxScanned = 8 << 20

func (m *Markdown) spent() bool { return m.scanned >= maxScanned }

// inline is the text below a node, safe to show. Where a style says it, code has no backticks.
func (m *Markdown) inline(parent ast.Node, source []byte, st style) (tokens []token) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			tokens = append(tokens, token{text: sanitize.Text(unescape(string(n.Value(source))), sanitize.Prose), style: st})
		case *ast.CodeSpan:
			code := codeSource(n, source)
			if m.opt.Spoken || m.opt.Color {
				code = string(n.FirstChild().(*ast.Text).Value(source))
			}
			tokens = append(tokens, token{text: sanitize.Text(code, sanitize.Code), style: st | codeStyle})
		case *ast.Emphasis:
			tokens = append(tokens, m.inline(n, source, st|[]style{italic, bold}[n.Level-1])...)
		case *extensionast.Strikethrough: // few terminals strike text out: its marks stay
			before, behind := token{text: "~~", style: st}, token{text: "~~", style: st}
			if m.opt.Spoken {
				before.text, behind.text = "struck out: ", ""
			}
			tokens = append(append(append(tokens, before), m.inline(n, source, st|struck)...), behind)
		case *ast.Link:
			tokens = append(tokens, m.link(m.inline(n, source, st), n.Destination, st)...)
		case *ast.Image:
			tokens = append(tokens, m.link(m.inline(n, source, st), n.Destination, st)...)
		case *ast.AutoLink:
			tokens = append(tokens, m.link(nil, n.Label(source), st)...)
		}
	}
	return tokens
}

// link is a label with the address behind it in parentheses, unless that is the label, or a terminal takes the address
// itself and the label cannot be taken for another one.
func (m *Markdown) link(label []token, destination []byte, st style) []token {
	url, text := sanitize.Text(string(destination), sanitize.Line), ""
	for _, t := range label {
		text += t.text
	}
	address := token{text: url, style: st}
	if m.opt.Links && linkable(url) {
		address.link = url
	}
	switch {
	case text == "" || text == url:
		return []token{address}
	case url == "":
		return label
	case address.link != "" && !strings.ContainsAny(text, ".:/@"):
		for i := range label {
			label[i].link = url
		}
		return label
	}
	return append(label, token{text: " (", style: st}, address, token{text: ")", style: st})
}

// escape is punctuation behind a backslash, or a character reference of HTML.
var escape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\[\\\x60*_{}\[\]<>()#+.!|~-]` +
		`|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)
})

// unescape takes the backslashes of punctuation away and decodes references to visible
// characters.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	return escape().ReplaceAllStringFunc(s, func(found string) string {
		switch {
		case found[0] == '\\':
			return found[1:]
		case found == "&nbsp;":
			return " "
		}
		text := html.UnescapeString(found)
		r, n := utf8.DecodeRuneInString(text)
		if n != len(text) || !unicode.IsPrint(r) || r == ' ' || r == utf8.RuneError || sanitize.Invisible(r) {
			return found
		}
		return text
	})
}

const maxLink = 2000

// linkable reports whether an address leads to the web and has only the characters of
// addresses, so that the visible text is its destination.
func linkable(address string) bool {
	if len(address) > maxLink {
		return false
	}
	for i := 0; i < len(address); i++ {
		if c := address[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			return false
		}
	}
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}
