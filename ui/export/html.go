package export

import (
	"fmt"
	"html"
	"io"
	"strings"

	"artoo/provider"
	"artoo/ui/sanitize"
)

// HTML writes the session as one page that needs nothing else: no scripts, no
// images, nothing from elsewhere; a policy in its head forbids them besides.
// Everything said in the session is text in it. Answers are rendered as
// Markdown; their links are kept where they lead to the web or a mail address.
func HTML(w io.Writer, s Session) error {
	d := document{md: newRenderer()}
	d.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	d.raw(
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">` + "\n")
	d.raw(`<meta name="viewport" content="width=device-width, initial-scale=1">` + "\n<title>")
	d.text(title(s), sanitize.Line)
	d.raw("</title>\n<style>\n" + style + "</style>\n</head>\n<body>\n<header>\n<h1>")
	d.text(title(s), sanitize.Line)
	d.raw("</h1>\n<dl>\n")
	for _, f := range facts(s) {
		d.raw("<dt>" + f[0] + "</dt><dd>")
		d.text(f[1], sanitize.Line)
		d.raw("</dd>\n")
	}
	d.raw("</dl>\n</header>\n<main>\n")
	for _, m := range transcript(s.Messages) {
		if err := d.message(m); err != nil {
			return fmt.Errorf("session %s: %w", s.ID, err)
		}
	}
	d.raw("</main>\n</body>\n</html>\n")
	_, err := io.WriteString(w, d.b.String())
	return err
}

// document is a page of HTML that is being written.
type document struct {
	b  strings.Builder
	md renderer
}

// raw writes markup, which is never anything but this package's own.
func (d *document) raw(markup string) { d.b.WriteString(markup) }

// text writes text from the session.
func (d *document) text(text string, where sanitize.Context) {
	d.b.WriteString(html.EscapeString(sanitize.Text(text, where)))
}

func (d *document) message(m said) error {
	if heading := m.heading(); heading != "" {
		d.raw("<section class=\"user\">\n<h2>" + heading + "</h2>\n")
	} else {
		d.raw("<section class=\"answer\">\n")
	}
	for i, it := range m.Items {
		switch {
		case it.Type == "reasoning":
			d.fold("thinking", "Thinking", it.Text)
		case it.Type == "image":
			d.block(describe(*it.Image), "note")
		case it.Type == "call":
			d.call(it)
		case strings.TrimSpace(it.Text) == "":
		case m.Role == provider.RoleUser && i > 0 && strings.Contains(it.Text, "\n"): // an attachment of the message
			d.fold("attached", firstOf(it.Text), it.Text)
		case m.Role == provider.RoleUser:
			d.block(it.Text, "said")
		default:
			d.raw(`<div dir="auto">` + "\n")
			if err := d.md.render(&d.b, sanitize.Text(it.Text, sanitize.Prose)); err != nil {
				return err
			}
			d.raw("</div>\n")
		}
	}
	if m.Partial {
		d.block("The answer broke off here.", "note")
	}
	d.raw("</section>\n")
	return nil
}

// block writes a text whose lines stay as they are.
func (d *document) block(text, class string) {
	d.raw(`<pre class="` + class + `" dir="auto">`)
	d.text(strings.TrimRight(text, "\n"), sanitize.Code)
	d.raw("</pre>\n")
}

// fold writes a text that is closed until it is asked for.
func (d *document) fold(class, summary, text string) {
	d.raw(`<details class="` + class + `"><summary>`)
	d.text(summary, sanitize.Line)
	d.raw("</summary>\n")
	d.block(text, "whole")
	d.raw("</details>\n")
}

// call writes a call and its result, closed.
func (d *document) call(c *item) {
	d.raw(`<details class="call"><summary><b>`)
	d.text(c.Name, sanitize.Line)
	d.raw("</b>")
	object := c.object()
	if object != "" {
		d.raw(" <code>")
		d.text(firstOf(object), sanitize.Line)
		d.raw("</code>")
	}
	switch {
	case c.Result == nil:
		d.raw(` <span class="failed">no result</span>`)
	case c.Result.IsError:
		d.raw(` <span class="failed">failed</span>`)
	}
	d.raw("</summary>\n")
	if strings.Contains(object, "\n") {
		d.block(object, "whole")
	}
	if change := c.change(); change != "" {
		d.diff(change)
	}
	if c.Result != nil {
		if c.Result.Text != "" {
			d.block(c.Result.Text, "result")
		}
		for _, i := range c.Result.Images {
			d.block(describe(i), "note")
		}
	}
	d.raw("</details>\n")
}

// diff writes the lines of a change with their colours.
func (d *document) diff(change string) {
	d.raw(`<pre class="diff">`)
	for line := range strings.Lines(change) {
		mark := ""
		switch line[0] {
		case '+':
			mark = "ins"
		case '-':
			mark = "del"
		}
		if mark != "" {
			d.raw("<" + mark + ">")
		}
		d.text(strings.TrimSuffix(line, "\n"), sanitize.Code)
		if mark != "" {
			d.raw("</" + mark + ">")
		}
		d.raw("\n")
	}
	d.raw("</pre>\n")
}

// style is all of the page's looks. It follows the reader's light or dark.
const style = `:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1rem; margin: 0 0 .3rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; font-size: .9rem; }
dt { opacity: .7; }
dd { margin: 0; overflow-wrap: anywhere; }
pre, code { font-family: ui-monospace, monospace; font-size: .9rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
.user { border-left: .25rem solid #4a7; padding-left: .8rem; margin: 2rem 0 1rem; }
.said { font: inherit; }
.note { opacity: .7; }
details { margin: .4rem 0; border: 1px solid #8886; border-radius: .3rem; padding: .2rem .6rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
.failed { color: #c33; }
ins { color: #183; text-decoration: none; }
del { color: #c33; text-decoration: none; }
table { border-collapse: collapse; }
th, td { border: 1px solid #8886; padding: .1rem .5rem; overflow-wrap: anywhere; }
blockquote { border-left: .2rem solid #8886; margin-left: 0; padding-left: .8rem; }
@media print { details { border: 0; } }
`
