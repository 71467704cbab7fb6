package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ColorNames are what ARTOO_COLORS can change.
func ColorNames() []string {
	return []string{"error", "add", "remove", "meta", "frag", "context", "code", "dim"}
}

// Styles are the styles of Colors by name.
func (c *Config) Styles() map[string]string {
	styles, _ := parseColors(c.Colors) // reading it has refused errors
	return styles
}

// parseColors takes NAME=STYLE:NAME=STYLE apart. A style is SGR parameters; an empty one
// is no style.
func parseColors(text string) (map[string]string, error) {
	styles := map[string]string{}
	for part := range strings.SplitSeq(text, ":") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, style, ok := strings.Cut(part, "=")
		switch {
		case !ok:
			return nil, fmt.Errorf("%q is not a name and a style, like error=31", part)
		case !slices.Contains(ColorNames(), name):
			return nil, fmt.Errorf("%q is not one of %s", name, strings.Join(ColorNames(), ", "))
		}
		for code := range strings.SplitSeq(style, ";") {
			if _, err := strconv.ParseUint(code, 10, 8); style != "" && (err != nil) {
				return nil, fmt.Errorf("%q is not a style: numbers of 0 to 255 with ; between them, like 1;31", style)
			}
		}
		styles[name] = style
	}
	return styles, nil
}
