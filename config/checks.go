package config

import (
	"github.com/bmatcuk/doublestar/v4"
)

// Check is a line of [check]: a command that looks at files after the model changed
// them.
type Check struct {
	Glob    string // matches paths below the project's root, or names
	Command string
}

// applyChecks reads [check], by the globs in order.
func (c loader) applyChecks(t *table) {
	for _, glob := range t.keys() {
		check := Check{Glob: glob}
		if !t.text(glob, &check.Command) {
			continue
		}
		switch {
		case !doublestar.ValidatePattern(glob):
			t.doc.wrong(t.at(glob), "[check]: "+glob+" is no glob", `"*.go" = "gofmt -l"`)
		case check.Command == "":
			t.doc.wrong(t.at(glob), "[check]: the command of "+glob+" is empty", `"*.go" = "gofmt -l"`)
		default:
			c.Checks = append(c.Checks, check)
		}
	}
}
