package screen

import (
	"strconv"
	"strings"
	"sync"

	"github.com/fatih/color"
)

// style is how a stretch of text looks: a set of the styles below.
type style uint32

const (
	bold style = 1 << iota
	italic
	underlined
	struck
	youStyle
	askStyle
	pathStyle
	doneStyle
	errorStyle
	addedStyle
	removedStyle
	metaStyle
	fragStyle
	contextStyle
	codeStyle
	dim
	// changedStyle is, with addedStyle or removedStyle, that of a part of the line that differs.
	changedStyle

	diffStyles = addedStyle | removedStyle | metaStyle | fragStyle | contextStyle
)

// palette holds every style. Those with a name can be changed, see Palette. Of the sixteen
// colours red, green and magenta read on black and on white: by the palette of xterm they
// have contrasts of at least 3.6, 2.2 and 4.4. Yellow and cyan have less than 2 on white, so they mark
// only words that say the same without a colour, and are never bold: xterm shows that brighter, with less than 1.3.
var palette = []struct {
	style style
	name  string
	look  []color.Attribute
}{
	{bold, "", []color.Attribute{color.Bold}},
	{italic, "", []color.Attribute{color.Italic}},
	{underlined, "", []color.Attribute{color.Underline}},
	{struck, "", []color.Attribute{color.CrossedOut}},
	{youStyle, "you", []color.Attribute{color.FgCyan}},
	{askStyle, "ask", []color.Attribute{color.FgYellow}},
	{pathStyle, "path", []color.Attribute{color.FgCyan}},
	{doneStyle, "done", []color.Attribute{color.FgGreen}},
	{errorStyle, "error", []color.Attribute{color.FgRed}},
	{addedStyle, "add", []color.Attribute{color.FgGreen}},
	{removedStyle, "remove", []color.Attribute{color.FgRed}},
	{metaStyle, "meta", []color.Attribute{color.Bold}},
	{fragStyle, "frag", nil},
	{contextStyle, "context", nil},
	{codeStyle, "code", []color.Attribute{color.FgMagenta}},
	{dim, "dim", []color.Attribute{color.Faint}},
}

// Palette is the SGR parameters, such as "1;31", of the styles, by the names in
// the table; "" is no style. A nil Palette has the defaults. Safe for concurrent use.
type Palette struct {
	own  map[string]string
	git  func() map[string]string
	deep bool
}

// NewPalette makes a Palette of styles that go before the defaults. git returns those of diffs
// that own does not name; it is called once, with the first diff. own and git may be nil. deep says
// that the terminal has 256 colours.
func NewPalette(own map[string]string, git func() map[string]string, deep bool) *Palette {
	if git == nil {
		git = func() map[string]string { return nil }
	}
	return &Palette{own: own, git: sync.OnceValue(git), deep: deep}
}

// set is what the user says about a style, if that is anything.
func (p *Palette) set(s style, name string) (look []color.Attribute, set bool) {
	if p == nil || name == "" {
		return nil, false
	}
	sgr, set := p.own[name]
	if !set && s&diffStyles != 0 {
		sgr, set = p.git()[name]
	}
	return parseSGR(sgr), set
}

// changed is how a part of a line that differs looks. Bold red or green is bright red or green on many terminals, which
// does not read on white: it has no colour of its own, or white on a dark background.
func (p *Palette) changed(s style) []color.Attribute {
	name, background := "add", color.Attribute(22)
	if s&removedStyle != 0 {
		name, background = "remove", 88
	}
	look, set := p.set(s, name)
	if !set && p != nil && p.deep {
		look = []color.Attribute{color.FgBlack + 8, 5, 231, color.BgBlack + 8, 5, background}
	}
	return append(look, color.Bold)
}

// parseSGR is the attributes of SGR parameters such as "1;31".
func parseSGR(sgr string) (look []color.Attribute) {
	for field := range strings.FieldsFuncSeq(sgr, func(r rune) bool { return r == ';' }) {
		if n, err := strconv.Atoi(field); err == nil {
			look = append(look, color.Attribute(n))
		}
	}
	return look
}

// attributes are those of a set of styles, empty where on is false.
func (p *Palette) attributes(s style, on bool) (all []color.Attribute) {
	if !on {
		return nil
	}
	if s&changedStyle != 0 {
		return p.changed(s)
	}
	for _, d := range palette {
		if s&d.style == 0 {
			continue
		}
		look, set := p.set(d.style, d.name)
		if !set {
			look = d.look
		}
		all = append(all, look...)
	}
	return all
}

// color is the colour of a set of styles; fatih/color's own guess looks at stdout only.
func (p *Palette) color(s style, on bool) *color.Color {
	look := p.attributes(s, on)
	c := color.New(look...)
	if c.EnableColor(); len(look) == 0 {
		c.DisableColor()
	}
	return c
}

func (p *Palette) begin(s style) string {
	var b strings.Builder
	p.color(s, true).SetWriter(&b)
	return b.String()
}

var endStyle = sync.OnceValue(func() string {
	var b strings.Builder
	(*Palette)(nil).color(bold, true).UnsetWriter(&b)
	return b.String()
})

// ink is a style for Err.
func (lay *layout) ink(st style) *color.Color { return lay.opt.Palette.color(st, lay.opt.ErrColor) }

func (lay *layout) painted(rows string, st style) string {
	if st == 0 {
		return rows
	}
	var b strings.Builder
	c := lay.ink(st)
	for row := range strings.Lines(rows) {
		text := strings.TrimLeft(row, " ")
		b.WriteString(row[:len(row)-len(text)])
		text, end := strings.CutSuffix(text, "\n")
		if text != "" {
			b.WriteString(c.Sprint(text))
		}
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// keywordStyle and literalStyle are those of words and texts in code.
const (
	keywordStyle = bold
	literalStyle = codeStyle
)
