package export

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"artoo/tool/text"
	"artoo/ui/sanitize"
)

// pageTemplate is the template of the page. The funcs line, code, change and markdown make
// markup of a text from the session; nothing else of it may reach the page.
//
//go:embed page.html
var pageTemplate string

// HTML writes the session as one page without scripts, images or anything from elsewhere; a
// policy in its head forbids them besides. Answers are rendered as Markdown; links are kept where
// they lead to the web or a mail address.
func HTML(w io.Writer, s Session) error {
	markdown := newMarkdown()
	parsed := template.Must(template.New("page").Funcs(template.FuncMap{
		"heading":  said.heading,
		"object":   (*item).object,
		"describe": describe,
		"first":    text.Head,
		"empty":    func(text string) bool { return strings.TrimSpace(text) == "" },
		"lines":    func(text string) bool { return strings.Contains(text, "\n") },
		"line":     func(text string) string { return html.EscapeString(sanitize.Text(text, sanitize.Line)) },
		"code":     escapedCode,
		"change":   func(c *item) string { return escapedDiff(c.change()) },
		"markdown": func(text string) (string, error) {
			var b strings.Builder
			err := markdown.Convert([]byte(sanitize.Text(text, sanitize.Prose)+"\n"), &b) // goldmark panics at some last lines without an end
			return b.String(), err
		},
		"fold": func(class, summary, text string) any {
			return struct{ Class, Summary, Text string }{class, summary, text}
		},
	}).Parse(pageTemplate))
	var b strings.Builder
	err := parsed.Execute(&b, struct {
		Title    string
		Facts    [][2]string
		Messages []said
	}{title(s), facts(s), transcript(s.Messages)})
	if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// escapedCode is a text whose lines stay as they are.
func escapedCode(text string) string {
	return html.EscapeString(sanitize.Text(strings.TrimRight(text, "\n"), sanitize.Code))
}

// escapedDiff marks the lines that a change adds and deletes.
func escapedDiff(change string) string {
	var b strings.Builder
	for line := range strings.Lines(change) {
		text := escapedCode(line)
		switch line[0] {
		case '+':
			text = "<ins>" + text + "</ins>"
		case '-':
			text = "<del>" + text + "</del>"
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// newMarkdown turns the Markdown of answers into HTML. It does not parse HTML, which shows as
// text. Images show as their descriptions, and links lead only where safeLink lets them.
func newMarkdown() goldmark.Markdown {
	isHTML := func(p util.PrioritizedValue) bool {
		return p.Value == any(parser.NewHTMLBlockParser()) || p.Value == any(parser.NewRawHTMLParser())
	}
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(slices.DeleteFunc(parser.DefaultBlockParsers(), isHTML)...),
			parser.WithInlineParsers(slices.DeleteFunc(parser.DefaultInlineParsers(), isHTML)...),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))),
		goldmark.WithExtensions(extension.Table),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(inert{}, 1))),
	)
}

// inert renders the nodes through which a text could do more than be read.
type inert struct{}

// RegisterFuncs implements goldmark's NodeRenderer.
func (inert) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, image)
	r.Register(ast.KindLink, link)
	r.Register(ast.KindAutoLink, autoLink)
}

// image shows an image's description and address: nothing is loaded.
func image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	markup := `<span class="note">[image: `
	if !entering {
		markup = " " + html.EscapeString(string(n.(*ast.Image).Destination)) + "]</span>"
	}
	_, err := w.WriteString(markup)
	return ast.WalkContinue, err
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

// safeLink is the address as a browser will take it, if it leads to the web or to a mail address.
// From a page that is handed on, all others lead nowhere.
func safeLink(destination []byte) (to string, ok bool) {
	// References such as &colon; are resolved first: the address is judged as it will be written.
	to = string(util.URLEscape(util.ResolveEntityNames(util.ResolveNumericReferences(destination)), false))
	folded := strings.ToLower(to)
	for _, scheme := range []string{"https://", "http://", "mailto:"} {
		if strings.HasPrefix(folded, scheme) {
			return to, true
		}
	}
	return "", false
}
