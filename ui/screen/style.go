package screen

import "github.com/fatih/color"

// palette holds the few styles of the chrome, for one output. Each object is
// switched on or off here; fatih/color's own guess looks at stdout only.
type palette struct{ dim, bold, red, green *color.Color }

func newPalette(on bool) palette {
	p := palette{
		dim:   color.New(color.Faint),
		bold:  color.New(color.Bold),
		red:   color.New(color.FgRed),
		green: color.New(color.FgGreen),
	}
	for _, c := range []*color.Color{p.dim, p.bold, p.red, p.green} {
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	return p
}
