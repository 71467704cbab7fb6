package screen

import "github.com/fatih/color"

// palette holds the few styles of what is not an answer, for one output. Each
// object is switched on or off here; fatih/color's own guess looks at stdout only.
type palette struct{ dim, prompt, red, green *color.Color }

func newPalette(on bool) palette {
	p := palette{
		dim:    color.New(color.Faint),
		prompt: color.New(color.Bold, color.ReverseVideo), // what nothing a model writes looks like
		red:    color.New(color.FgRed),
		green:  color.New(color.FgGreen),
	}
	for _, c := range []*color.Color{p.dim, p.prompt, p.red, p.green} {
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	return p
}
