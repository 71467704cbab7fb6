package screen

import (
	"strings"

	"github.com/charmbracelet/glamour"
	glamourstyle "github.com/charmbracelet/glamour/ansi"

	"artoo/ui/sanitize"
)

// maxWhole is the longest text that glamour renders, in bytes: it is up to 35 times as slow as
// Markdown.
const maxWhole = 64 << 10

// whole is a Markdown text that arrived whole, in rows of less than width cells: those of an answer, with the styles of
// glamour on a rich terminal, where its rows have the same text.
func (lay *layout) whole(markdown string, width int, label string) string {
	opt := lay.markdown(lay.opt.ErrColor, label)
	opt.Width = func() int { return width }
	rows := RenderMarkdown(markdown, opt)
	clean := sanitize.Text(markdown, sanitize.Mixed)
	if lay.opt.Profile != Rich || len(clean) > maxWhole {
		return rows
	}
	theirs, err := opt.glamour(clean, min(width, proseWidth)-1)
	if err != nil || sanitize.StripSequences(theirs) != sanitize.StripSequences(rows) || strings.Contains(rows, "\x1b]8;") {
		return rows
	}
	return theirs
}

// glamour is a safe text in rows of at most width cells, by glamour.
func (opt MarkdownOptions) glamour(text string, width int) (rows string, err error) {
	r, err := glamour.NewTermRenderer(glamour.WithStyles(opt.Palette.glamour(opt)), glamour.WithWordWrap(width),
		glamour.WithPreservedNewLines(), glamour.WithInlineTableLinks(true))
	if err == nil {
		rows, err = r.Render(text)
	}
	return trimmed(rows), err
}

// markdown are the options of a Markdown text on an output with that colour.
func (lay *layout) markdown(color bool, label string) MarkdownOptions {
	return MarkdownOptions{Width: lay.opt.Width, Color: color, ASCII: !lay.opt.UTF8, Palette: lay.opt.Palette,
		Links: lay.opt.Links && lay.opt.Profile == Rich, Spoken: lay.opt.Profile == Spoken, Label: label}
}

// glamour is the style of answers in glamour's terms. Lists, code and tables are not in it: glamour has marks, indents
// and widths of its own for them.
func (p *Palette) glamour(opt MarkdownOptions) glamourstyle.StyleConfig {
	on := opt.Color
	heading := func(level int) glamourstyle.StyleBlock {
		look := p.primitive(bold, on)
		if look.BlockSuffix = "\n"; !on {
			look.Prefix = strings.Repeat("#", level) + " "
		}
		return glamourstyle.StyleBlock{StylePrimitive: look}
	}
	code, bar := p.primitive(codeStyle, on), "> "
	if !on {
		code.Prefix, code.Suffix = "`", "`"
	} else if bar = "\u2502 "; opt.ASCII {
		bar = "| "
	}
	quote := p.primitive(dim, on)
	return glamourstyle.StyleConfig{
		BlockQuote: glamourstyle.StyleBlock{Indent: new(uint(1)), IndentToken: new(quote.Prefix + bar + quote.Suffix)},
		H1:         heading(1), H2: heading(2), H3: heading(3), H4: heading(4), H5: heading(5), H6: heading(6),
		Strikethrough:  glamourstyle.StylePrimitive{Prefix: "~~", Suffix: "~~"},
		Emph:           p.primitive(italic, on),
		Strong:         p.primitive(bold, on),
		HorizontalRule: glamourstyle.StylePrimitive{Format: "\n---\n"},
		Link:           glamourstyle.StylePrimitive{Prefix: "(", Suffix: ")"},
		Image:          glamourstyle.StylePrimitive{Prefix: "(", Suffix: ")"},
		Code:           glamourstyle.StyleBlock{StylePrimitive: code},
	}
}

// primitive is a set of styles as glamour writes them before and behind a text.
func (p *Palette) primitive(s style, on bool) (out glamourstyle.StylePrimitive) {
	if begin := p.begin(s); on && begin != "" {
		out.Prefix, out.Suffix = begin, endStyle()
	}
	return out
}

// trimmed is glamour's output without its padding; "" where a style goes on in the next row.
func trimmed(rendered string) string {
	var out strings.Builder
	before := ""
	for row := range strings.SplitSeq(strings.Trim(rendered, "\n"), "\n") {
		row = strings.TrimRight(row, " ")
		if strings.Count(row, "\x1b") != 2*strings.Count(row, endStyle()) {
			return ""
		}
		if row != "" || before != "" {
			out.WriteString(row + "\n")
		}
		before = row
	}
	return out.String()
}
