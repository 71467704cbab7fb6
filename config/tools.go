package config

import (
	"slices"
	"strings"
)

// SelectTools turns the tools setting into names: all is every tool there is,
// on those of the default set, both in the order to keep. A list that begins
// with +name or -name starts from the default set. Elements with a * at the
// end match by prefix. What a trusted project takes away is left out at last. The
// error is a *Error that names an unknown tool.
func (c *Config) SelectTools(all, on []string) ([]string, error) {
	chosen := map[string]bool{}
	if len(c.Tools) == 0 || relative(c.Tools[:1]) {
		for _, name := range on {
			chosen[name] = true
		}
	}
	for _, e := range c.Tools {
		name, want := strings.TrimPrefix(e, "+"), true
		if rest, off := strings.CutPrefix(e, "-"); off {
			name, want = rest, false
		}
		found := false
		for _, tool := range all {
			prefix, glob := strings.CutSuffix(name, "*")
			if tool == name || name == "all" || (glob && strings.HasPrefix(tool, prefix)) {
				chosen[tool], found = want, true
			}
		}
		if !found {
			return nil, c.blame("tools", "no such tool: "+name+didYouMean(name, all), strings.Join(all, ", "))
		}
	}
	return c.withoutTaken(all, slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !chosen[name] }))
}
