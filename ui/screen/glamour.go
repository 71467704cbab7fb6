package screen

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/glamour"
	glamourstyle "github.com/charmbracelet/glamour/ansi"
	"github.com/fatih/color"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"artoo/ui/sanitize"
)

// maxWhole is the longest text that glamour renders, in bytes: it is up to 35 times as slow as
// Markdown.
const maxWhole = 64 << 10

// whole is a Markdown text that arrived whole, in rows of less than width cells: glamour's on a
// rich terminal, else those of an answer.
func (lay *layout) whole(markdown string, width int, label string) string {
	opt := lay.markdown(lay.opt.ErrColor, label)
	opt.Width = func() int { return width }
	width = min(width, proseWidth)
	clean := sanitize.Text(markdown, sanitize.Mixed)
	if lay.opt.Profile != Rich || len(clean) > maxWhole || !glamourKeeps(clean) {
		return RenderMarkdown(markdown, opt)
	}
	r, err := glamour.NewTermRenderer(glamour.WithStyles(lay.opt.Palette.glamour(lay.opt.ErrColor)), glamour.WithWordWrap(width-1),
		glamour.WithPreservedNewLines(), glamour.WithInlineTableLinks(true))
	if err != nil {
		return RenderMarkdown(markdown, opt)
	}
	rows, err := r.Render(clean)
	if rows = lay.opt.Palette.trimmed(rows); err != nil || !complete(clean, rows) {
		return RenderMarkdown(markdown, opt)
	}
	return rows
}

// markdown are the options of a Markdown text on an output with that colour.
func (lay *layout) markdown(color bool, label string) MarkdownOptions {
	return MarkdownOptions{Width: lay.opt.Width, Color: color, Palette: lay.opt.Palette,
		Links: lay.opt.Links && lay.opt.Profile == Rich, Spoken: lay.opt.Profile == Spoken, Label: label}
}

// complete reports whether the rows have all letters and digits of a text in its order: glamour
// hides HTML, definitions of links and cells beyond a table's columns, and mixes neighbouring
// cells. The language of code may be absent.
func complete(markdown, rows string) bool {
	rows = sanitize.StripSequences(rows)
	for line := range strings.SplitSeq(markdown, "\n") {
		line = strings.TrimSpace(line)
		if behind := strings.TrimLeft(line, "`~"); len(line)-len(behind) >= 3 {
			_, line, _ = strings.Cut(behind, " ")
		}
		for _, r := range line {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				continue
			}
			at := strings.IndexRune(rows, r)
			if at < 0 {
				return false
			}
			rows = rows[at+utf8.RuneLen(r):]
		}
	}
	return true
}

// glamourKeeps reports whether a text has nothing that glamour does not keep: it breaks rows at
// spaces only, joins the paragraphs of an item, begins relative links with a slash, and does
// not tell code with invisible characters from prose.
func glamourKeeps(markdown string) bool {
	if strings.ContainsFunc(markdown, isIdeograph) || sanitize.Text(markdown, sanitize.Code) != markdown {
		return false
	}
	keeps := true
	root := goldmark.DefaultParser().Parse(text.NewReader([]byte(markdown)))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it has no errors of its own
		switch n := n.(type) {
		case *ast.Paragraph:
			keeps = keeps && (n.Parent().Kind() != ast.KindListItem || n.PreviousSibling() == nil)
		case *ast.Link:
			keeps = keeps && isAbsolute(n.Destination)
		case *ast.Image:
			keeps = keeps && isAbsolute(n.Destination)
		}
		return ast.WalkContinue, nil
	})
	return keeps
}

func isAbsolute(destination []byte) bool {
	u, err := url.Parse(string(destination))
	return err == nil && u.IsAbs()
}

func (p *Palette) glamour(on bool) glamourstyle.StyleConfig {
	heading := func(level int) glamourstyle.StyleBlock {
		look := p.primitive(headingStyle(level), on)
		if look.BlockSuffix = "\n"; !on {
			look.Prefix = strings.Repeat("#", level) + " "
		}
		return glamourstyle.StyleBlock{StylePrimitive: look}
	}
	code := p.primitive(codeStyle, on)
	if !on {
		code.Prefix, code.Suffix = "`", "`"
	}
	return glamourstyle.StyleConfig{
		BlockQuote: glamourstyle.StyleBlock{Indent: new(uint(1)), IndentToken: new("> ")},
		List:       glamourstyle.StyleList{LevelIndent: 2},
		H1:         heading(1), H2: heading(2), H3: heading(3), H4: heading(4), H5: heading(5), H6: heading(6),
		Strikethrough:  glamourstyle.StylePrimitive{Prefix: "~~", Suffix: "~~"},
		Emph:           p.primitive(italic, on),
		Strong:         p.primitive(bold, on),
		HorizontalRule: glamourstyle.StylePrimitive{Format: "\n---\n"},
		Item:           glamourstyle.StylePrimitive{BlockPrefix: "- "},
		Enumeration:    glamourstyle.StylePrimitive{BlockPrefix: ". "},
		Task:           glamourstyle.StyleTask{Ticked: "- [x] ", Unticked: "- [ ] "},
		Link:           glamourstyle.StylePrimitive{Prefix: "(", Suffix: ")"},
		Image:          glamourstyle.StylePrimitive{Prefix: "(", Suffix: ")"},
		Code:           glamourstyle.StyleBlock{StylePrimitive: code},
		CodeBlock:      glamourstyle.StyleCodeBlock{StyleBlock: glamourstyle.StyleBlock{Margin: new(uint(2))}},
		Table:          glamourstyle.StyleTable{ColumnSeparator: new(""), CenterSeparator: new(""), RowSeparator: new("-")},
	}
}

// primitive is a set of styles as glamour writes them before and behind a text.
func (p *Palette) primitive(s style, on bool) (out glamourstyle.StylePrimitive) {
	if begin := p.begin(s); on && begin != "" {
		out.Prefix, out.Suffix = begin, endStyle()
	}
	return out
}

// trimmed is glamour's output without its padding, safe: only sequences of the palette pass,
// since entities become their characters, and each style ends with its row.
func (p *Palette) trimmed(rendered string) string {
	allowed := append(p.attributes(bold|italic|underlined|codeStyle, true), color.Reset)
	var out strings.Builder
	var open []string // the styles that are open in the source
	before := ""      // the row before
	for row := range strings.SplitSeq(strings.Trim(rendered, "\n"), "\n") {
		var b strings.Builder
		written, blanks := "", ""
		for row != "" {
			n := strings.IndexByte(row, '\x1b')
			if n < 0 {
				n = len(row)
			} else if n == 0 {
				n = max(sanitize.SequenceAt(row), 1)
			}
			part := row[:n]
			row = row[n:]
			params, isSGR := strings.CutSuffix(strings.TrimPrefix(part, "\x1b["), "m")
			if look := parseSGR(params); part[0] == '\x1b' && isSGR && !slices.ContainsFunc(look, func(a color.Attribute) bool { return !slices.Contains(allowed, a) }) {
				if !slices.Contains(look, color.Reset) {
					open = append(open, part)
				} else if len(open) > 0 {
					open = open[:len(open)-1]
				}
				continue
			}
			style := strings.Join(open, "")
			text := sanitize.Text(part, sanitize.Prose)
			words := strings.TrimLeft(text, " ")
			blanks += text[:len(text)-len(words)]
			if words == "" {
				continue
			}
			if written != style && written != "" {
				b.WriteString(endStyle())
			}
			if b.WriteString(blanks); written != style {
				b.WriteString(style)
			}
			words, written = strings.TrimRight(words, " "), style
			b.WriteString(words)
			blanks = text[len(strings.TrimRight(text, " ")):]
		}
		if written != "" {
			b.WriteString(endStyle())
		}
		if row = b.String(); row != "" || before != "" {
			out.WriteString(row + "\n")
		}
		before = row
	}
	return out.String()
}
