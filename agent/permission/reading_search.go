package permission

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
		return anyMatch(include, base, true) || !only && !anyMatch(exclude, base, false)
	}
}

// rgSelects tells which files a search of rg with these options reads: hidden
// ones are left out unless an option, a glob or a file of ignored names brings
// them in.
func rgSelects(p *Policy, o options) func(name string, dir bool) bool {
	hidden := slices.ContainsFunc(o.used, func(u string) bool { return listed("hidden . u", u) }) ||
		p.Getenv != nil && p.Getenv("RIPGREP_CONFIG_PATH") != "" && !slices.Contains(o.used, "no-config")
	unhidden := func(string) bool { return true }
	if !hidden {
		unhidden = unhiddenIn(p.Root)
	}
	var include, exclude []string
	for _, g := range append(o.valuesOf("g"), o.valuesOf("glob")...) {
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
		case anyMatch(exclude, base, false), strings.HasPrefix(base, ".") && !hidden && !unhidden(base):
			return false
		}
		return dir || len(include) == 0
	}
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

// mostIgnored is how many entries of a project are looked at for files of
// ignored names; with more, every hidden file counts as brought in.
const mostIgnored = 20000

// unhiddenIn tells which hidden names the files of ignored names in and above a
// project bring into a search: `!.env` in .gitignore makes rg read .env.
func unhiddenIn(root string) func(base string) bool {
	var patterns []string
	collect := func(file string) {
		data, err := os.ReadFile(file)
		if err != nil {
			return // what cannot be read, rg cannot read either
		}
		for line := range strings.Lines(string(data)) {
			if pattern, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
				patterns = append(patterns, strings.ToLower(path.Base(pattern)))
			}
		}
	}
	for dir := root; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		for _, name := range []string{".gitignore", ".ignore", ".rgignore", ".git/info/exclude"} {
			collect(filepath.Join(dir, name))
		}
	}
	seen := 0
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		seen++
		switch {
		case err != nil:
			return nil // as above
		case seen > mostIgnored:
			return fs.ErrInvalid
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case listed(".gitignore .ignore .rgignore", d.Name()):
			collect(at)
		}
		return nil
	})
	return func(base string) bool {
		return err != nil || anyMatch(patterns, strings.ToLower(base), true)
	}
}
