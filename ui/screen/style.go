package screen

import (
	"strconv"
	"strings"
	"sync"

	"github.com/fatih/color"
)

// styleName is what a style is for, as ARTOO_COLORS and StyleNames have it.
type styleName string

const (
	inkError   styleName = "error"
	inkAdd     styleName = "add"
	inkRemove  styleName = "remove"
	inkMeta    styleName = "meta"
	inkFrag    styleName = "frag"
	inkContext styleName = "context"
	inkCode    styleName = "code"
	inkDim     styleName = "dim"
)

// defaults are the SGR parameters of all styles. Of the sixteen colours red, green and
// magenta are used: they read on black and on white, by the palette of xterm with
// contrasts of at least 3.6, 2.2 and 4.4. Yellow, cyan and the bright ones have less than
// 2 on white, except for bright blue, which few take for an addition.
var defaults = []struct {
	name styleName
	sgr  string
}{
	{inkError, "31"}, {inkAdd, "32"}, {inkRemove, "31"}, {inkMeta, "1"}, {inkFrag, ""}, {inkContext, ""}, {inkCode, "35"}, {inkDim, "2"},
}

// StyleNames are the names of all styles that a Palette can change.
func StyleNames() (names []string) {
	for _, d := range defaults {
		names = append(names, string(d.name))
	}
	return names
}

// Palette is the SGR parameters, such as "1;31", of what stands out, by the names of
// StyleNames; "" is no style. A nil Palette has the defaults. Safe for concurrent use.
type Palette struct {
	own map[string]string
	git func() map[string]string
}

// NewPalette makes a Palette of styles that go before the defaults. git returns those of
// diffs that own does not name; it is called once, when the first diff is coloured, on
// that goroutine. own and git may be nil.
func NewPalette(own map[string]string, git func() map[string]string) *Palette {
	if git == nil {
		git = func() map[string]string { return nil }
	}
	return &Palette{own: own, git: sync.OnceValue(git)}
}

func (p *Palette) sgr(name styleName) string {
	if p != nil {
		if sgr, ok := p.own[string(name)]; ok {
			return sgr
		}
		switch name {
		case inkAdd, inkRemove, inkMeta, inkFrag, inkContext:
			if sgr, ok := p.git()[string(name)]; ok {
				return sgr
			}
		}
	}
	for _, d := range defaults {
		if d.name == name {
			return d.sgr
		}
	}
	return ""
}

// promptStyle is what nothing a model writes looks like, so nothing changes it.
func (s *Screen) promptStyle() *color.Color {
	return s.switched(color.New(color.Bold, color.ReverseVideo))
}

// ink is a style for Err. fatih/color's own guess looks at stdout only.
func (s *Screen) ink(name styleName) *color.Color {
	c := color.New()
	sgr := ""
	if s.opt.ErrColor {
		sgr = s.opt.Palette.sgr(name)
	}
	for field := range strings.FieldsFuncSeq(sgr, func(r rune) bool { return r == ';' }) {
		if n, err := strconv.Atoi(field); err == nil { // what is no number was refused where it was set
			c.Add(color.Attribute(n))
		}
	}
	if sgr == "" {
		c.DisableColor()
		return c
	}
	return s.switched(c)
}

func (s *Screen) switched(c *color.Color) *color.Color {
	if c.EnableColor(); !s.opt.ErrColor {
		c.DisableColor()
	}
	return c
}

// painted is rows in a style that ends with each of them and leaves their indent out; ""
// is none.
func (s *Screen) painted(rows string, name styleName) string {
	if name == "" {
		return rows
	}
	var b strings.Builder
	c := s.ink(name)
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
