package export

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	goldmarkrenderer "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// renderer turns the Markdown of answers into HTML. HTML in the Markdown shows
// as the text it is, images as their descriptions, and links lead only where
// safeLink lets them.
type renderer struct{ md goldmark.Markdown }

func newRenderer() renderer {
	return renderer{goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithRendererOptions(goldmarkrenderer.WithNodeRenderers(util.Prioritized(inert{}, 1))),
	)}
}

func (r renderer) render(w io.Writer, markdown string) error {
	source := []byte(markdown)
	return r.md.Renderer().Render(w, source, r.md.Parser().Parse(text.NewReader(source)))
}

// inert renders the nodes through which a text could do more than be read.
type inert struct{}

// RegisterFuncs implements goldmark's NodeRenderer.
func (inert) RegisterFuncs(r goldmarkrenderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, rawHTML)
	r.Register(ast.KindHTMLBlock, htmlBlock)
	r.Register(ast.KindImage, imageText)
	r.Register(ast.KindLink, link)
	r.Register(ast.KindAutoLink, autoLink)
}

func rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	segments := n.(*ast.RawHTML).Segments
	for i := range segments.Len() {
		at := segments.At(i)
		if _, err := w.WriteString(html.EscapeString(string(at.Value(source)))); err != nil {
			return ast.WalkStop, err
		}
	}
	return ast.WalkSkipChildren, nil
}

func htmlBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.HTMLBlock)
	var b strings.Builder
	for i := range block.Lines().Len() {
		at := block.Lines().At(i)
		b.Write(at.Value(source))
	}
	if block.HasClosure() {
		b.Write(block.ClosureLine.Value(source))
	}
	_, err := fmt.Fprintf(w, "<pre>%s</pre>\n", html.EscapeString(strings.TrimRight(b.String(), "\n")))
	return ast.WalkSkipChildren, err
}

// imageText shows an image's description and address: nothing is loaded.
func imageText(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var alt strings.Builder
	err := ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		switch c := c.(type) {
		case *ast.Text:
			if entering {
				alt.Write(c.Value(source))
			}
		case *ast.String:
			if entering {
				alt.Write(c.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return ast.WalkStop, err
	}
	_, err = fmt.Fprintf(w, "<span class=\"note\">[image: %s %s]</span>", html.EscapeString(alt.String()),
		html.EscapeString(string(n.(*ast.Image).Destination)))
	return ast.WalkSkipChildren, err
}

func link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	to, ok := safeLink(n.(*ast.Link).Destination)
	markup := "</a>"
	switch {
	case !ok && entering:
		markup = "<span>"
	case !ok:
		markup = "</span>"
	case entering:
		markup = anchor(to)
	}
	_, err := w.WriteString(markup)
	return ast.WalkContinue, err
}

func autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	at := n.(*ast.AutoLink)
	url := at.URL(source)
	if at.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(string(url)), "mailto:") {
		url = append([]byte("mailto:"), url...)
	}
	label := html.EscapeString(string(at.Label(source)))
	if to, ok := safeLink(url); ok {
		label = anchor(to) + label + "</a>"
	}
	_, err := w.WriteString(label)
	return ast.WalkContinue, err
}

func anchor(to string) string {
	return `<a href="` + html.EscapeString(to) + `" rel="noopener noreferrer">`
}

// safeLink is the address as a browser will take it, if it leads to the web or
// to a mail address. All others, relative ones too, lead nowhere from a page
// that was handed on.
func safeLink(destination []byte) (to string, ok bool) {
	// References such as &colon; are resolved first: the address is judged as
	// it will be written.
	to = string(util.URLEscape(util.ResolveEntityNames(util.ResolveNumericReferences(destination)), false))
	folded := strings.ToLower(to)
	for _, scheme := range []string{"https://", "http://", "mailto:"} {
		if strings.HasPrefix(folded, scheme) {
			return to, true
		}
	}
	return "", false
}
