package permission

import (
	"path"
	"slices"
	"strings"
)

// grepSelects tells which files a recursive grep with these options reads. What
// no option speaks of is left out by some greps where there is any --include, by
// GNU's only where the first option is one.
func grepSelects(_ *Policy, o options) func(name string, dir bool) bool {
	include, exclude, excludeDir := o.valuesOf("include"), o.valuesOf("exclude"), o.valuesOf("exclude-dir")
	first := slices.IndexFunc(o.used, func(u string) bool {
		return strings.HasPrefix(u, "include=") || strings.HasPrefix(u, "exclude=")
	})
	only := first >= 0 && strings.HasPrefix(o.used[first], "include=")
	return func(name string, dir bool) bool {
		base := path.Base(name)
		if dir {
			return !anyMatch(excludeDir, base, false)
		}
		if anyMatch(include, base, true) {
			return true
		}
		return !only && !anyMatch(exclude, base, false)
	}
}

// rgSelects tells which files a search of rg with these options reads: hidden
// ones are left out unless an option, a glob or a file of ignored names brings
// them in.
func rgSelects(p *Policy, o options) func(name string, dir bool) bool {
	hidden := slices.Contains(o.used, "hidden") || slices.Contains(o.used, ".") || slices.Contains(o.used, "u") ||
		p.Getenv != nil && p.Getenv("RIPGREP_CONFIG_PATH") != "" && !slices.Contains(o.used, "no-config")
	unhidden := func(string) bool { return true }
	if !hidden {
		unhidden = unhiddenIn(p.Root)
	}
	var include, exclude []string
	for _, g := range append(o.valuesOf("g"), append(o.valuesOf("glob"), o.valuesOf("iglob")...)...) {
		if out, ok := strings.CutPrefix(g, "!"); ok {
			exclude = append(exclude, out)
		} else {
			include = append(include, g)
		}
	}
	if len(o.valuesOf("iglob")) > 0 {
		hidden = true // without regard to case: not worth following
		include, exclude = nil, nil
	}
	return func(name string, dir bool) bool {
		base := path.Base(name)
		switch {
		case anyMatch(include, base, true):
			return true
		case anyMatch(exclude, base, false):
			return false
		case strings.HasPrefix(base, ".") && !hidden && !unhidden(base):
			return false
		}
		return dir || len(include) == 0
	}
}

// valuesOf are the values that an option was given.
func (o options) valuesOf(name string) []string {
	var values []string
	for _, u := range o.used {
		if v, ok := strings.CutPrefix(u, name+"="); ok {
			values = append(values, v)
		}
	}
	return values
}

// anyMatch reports whether one of the globs fits a name. Only stars are
// followed; of another glob it is said what unsure says.
func anyMatch(globs []string, base string, unsure bool) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		if strings.ContainsAny(g, `?[{\/`) {
			return unsure
		}
		fits, err := path.Match(g, base)
		return fits || err != nil && unsure
	})
}
