package web

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	readability "codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxElements bounds the search for a page's main part, which may take the square of it.
	maxElements = 20_000
	// leastPart is the share of the text that a main part must have; else all of the page counts.
	leastPart = 0.3
	// maxNesting is how deep lists and quotations may stand in one another.
	maxNesting = 32
)

var toMarkdown = sync.OnceValue(func() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin()))
})

// markdown makes Markdown of a page in UTF-8: of its main part, else of all that is seen.
func markdown(ctx context.Context, data []byte, at *url.URL) (title, text string, err error) {
	doc, err := html.Parse(bytes.NewReader(data))
	if err != nil { // nested too deep
		return "", bareText(data), nil
	}
	tidy(doc, baseOf(doc, at))
	shortenLinks(doc, at)
	title = titleOf(doc)
	if nesting(doc) > maxNesting {
		return title, bareText(data), nil
	}
	whole := doc
	if main := mainPart(doc, at); main != nil {
		if float64(textLen(main)) >= leastPart*float64(textLen(withoutFrame(doc))) {
			whole = main
		}
	}
	if err := context.Cause(ctx); err != nil {
		return "", "", err
	}
	out, err := toMarkdown().ConvertNode(whole, converter.WithContext(ctx))
	return title, strings.TrimSpace(string(out)), err
}

// mainPart is the part of a page that one reads it for, nil for none. It is looked for
// in a copy, after invisible elements have been taken out: the styles go on the way.
func mainPart(doc *html.Node, at *url.URL) *html.Node {
	var tidied bytes.Buffer
	if html.Render(&tidied, doc) != nil {
		return nil
	}
	parser := readability.NewParser()
	parser.MaxElemsToParse, parser.KeepClasses = maxElements, true
	article, err := parser.Parse(&tidied, at)
	if err != nil {
		return nil
	}
	return article.Node
}

// baseOf is the address that the links of a page are relative to.
func baseOf(doc *html.Node, at *url.URL) *url.URL {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Base {
			if u, err := at.Parse(attribute(n, "href")); err == nil {
				return u
			}
		}
	}
	return at
}

// nesting is how many lists and quotations stand in one another at most.
func nesting(n *html.Node) (most int) {
	for c := range n.ChildNodes() {
		most = max(most, nesting(c))
	}
	if n.DataAtom == atom.Li || n.DataAtom == atom.Blockquote || n.DataAtom == atom.Ul || n.DataAtom == atom.Ol {
		most++
	}
	return most
}

func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Title && n.FirstChild != nil {
			return n.FirstChild.Data
		}
	}
	return ""
}

// tidy takes out elements that a reader of the page does not see, and makes links whole.
func tidy(doc *html.Node, at *url.URL) {
	remove(doc, unseen)
	for n := range doc.Descendants() {
		for i, a := range n.Attr {
			if a.Key != "href" && a.Key != "src" {
				continue
			}
			u, err := at.Parse(strings.TrimSpace(a.Val))
			if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
				n.Attr[i].Val = ""
				continue
			}
			n.Attr[i].Val = u.String()
		}
	}
}

// shortenLinks leaves of links where they lead: a place of the same page without its address, no
// words that show only under a pointer, no mark that leads to where it stands, and nothing of
// a link that leads nowhere except its text.
func shortenLinks(doc *html.Node, at *url.URL) {
	var links []*html.Node
	for n := range doc.Descendants() {
		if n.DataAtom == atom.A {
			links = append(links, n)
		}
	}
	here, _, _ := strings.Cut(at.String(), "#")
	for _, n := range links {
		to := attribute(n, "href")
		place, inside := strings.CutPrefix(to, here+"#")
		switch {
		case inside && isMark(n):
			n.Parent.RemoveChild(n)
			continue
		case to == "":
			for c := n.FirstChild; c != nil; c = n.FirstChild {
				n.RemoveChild(c)
				n.Parent.InsertBefore(c, n)
			}
			n.Parent.RemoveChild(n)
			continue
		case inside:
			to = "#" + place
		}
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "href" || a.Key == "title" })
		n.Attr = append(n.Attr, html.Attribute{Key: "href", Val: to})
	}
}

// isMark reports whether a link shows only that it is one, or nothing.
func isMark(n *html.Node) bool {
	text := ""
	for d := range n.Descendants() {
		if d.DataAtom == atom.Img {
			return false
		}
		if d.Type == html.TextNode {
			text += d.Data
		}
	}
	switch strings.TrimSpace(text) {
	case "", "¶", "#", "§", "🔗", "\uf0c1": // the last is a link in an icon font
		return true
	}
	return false
}

// withoutFrame takes out the navigation around the contents of a page.
func withoutFrame(doc *html.Node) *html.Node {
	remove(doc, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Nav, atom.Footer, atom.Aside:
			return true
		}
		switch attribute(n, "role") {
		case "navigation", "banner", "contentinfo", "complementary", "search":
			return true
		}
		return false
	})
	return doc
}

// remove takes out the nodes for which is holds, with all below them.
func remove(doc *html.Node, is func(*html.Node) bool) {
	var out []*html.Node
	for n := range doc.Descendants() {
		if is(n) {
			out = append(out, n)
		}
	}
	for _, n := range out {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
}

// unseen reports whether a node shows nothing on a page.
func unseen(n *html.Node) bool {
	if n.Type == html.CommentNode {
		return true
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Svg, atom.Canvas,
		atom.Button, atom.Input, atom.Select, atom.Textarea, atom.Audio, atom.Video, atom.Dialog:
		return true
	case atom.Img:
		return attribute(n, "alt") == "" || strings.HasPrefix(attribute(n, "src"), "data:")
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			return a.Val == "true"
		case "style":
			if hides(a.Val) {
				return true
			}
		}
	}
	return false
}

// hides reports whether a style keeps an element from being seen.
func hides(style string) bool {
	style = strings.Join(strings.Fields(strings.ToLower(style)), "")
	for declaration := range strings.SplitSeq(style, ";") {
		name, value, _ := strings.Cut(declaration, ":")
		value = strings.TrimSuffix(value, "!important")
		switch name {
		case "display":
			if value == "none" {
				return true
			}
		case "visibility":
			if value == "hidden" || value == "collapse" {
				return true
			}
		case "font-size", "opacity":
			if number := strings.TrimRight(value, "%abcdefghijklmnopqrstuvwxyz"); number != "" && strings.Trim(number, "0.") == "" {
				return true
			}
		}
	}
	return false
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// textLen counts the characters of a part of a page, without spaces.
func textLen(n *html.Node) (length int) {
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			for word := range strings.FieldsSeq(d.Data) {
				length += utf8.RuneCountInString(word)
			}
		}
	}
	return length
}

// bareText is the text of a page that cannot be taken for a tree.
func bareText(data []byte) string {
	var out strings.Builder
	z := html.NewTokenizer(bytes.NewReader(data))
	quiet := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(out.String())
		case html.TextToken:
			if words := strings.Fields(string(z.Text())); quiet == "" && len(words) > 0 {
				out.WriteString(strings.Join(words, " ") + "\n")
			}
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) == "script" || string(name) == "style" {
				quiet = string(name)
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == quiet {
				quiet = ""
			}
		}
	}
}
