package screen

import "github.com/fatih/color"

// palette holds the few styles of what is not an answer, for one output. Each
// object is switched on or off here; fatih/color's own guess looks at stdout only.
type palette struct{ dim, prompt, removed, added *color.Color }

func newPalette(on bool) palette {
	p := palette{
		dim:     color.New(color.Faint),
		prompt:  color.New(color.Bold, color.ReverseVideo), // what nothing a model writes looks like
		removed: color.New(color.FgRed),                    // the colors of removedStyle and addedStyle
		added:   color.New(color.FgHiBlue),
	}
	for _, c := range []*color.Color{p.dim, p.prompt, p.removed, p.added} {
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	return p
}
