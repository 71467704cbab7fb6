package tool

import (
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// gitLooksIn yields the directories in which git looks for a .git when it is
// started in dir: dir itself, and what is above it and below a ceiling that the
// user set by GIT_CEILING_DIRECTORIES. dir is absolute, links resolved.
func gitLooksIn(dir string) iter.Seq[string] {
	end := ceiling(dir, os.Getenv("GIT_CEILING_DIRECTORIES"))
	return func(yield func(string) bool) {
		for at := dir; at != end && yield(at) && at != filepath.Dir(at); {
			at = filepath.Dir(at)
		}
	}
}

// ceiling is the nearest directory above dir that the value of
// GIT_CEILING_DIRECTORIES names, "" when it names none. As with git, dir itself
// is no ceiling, what is relative or is not there does not count, and what
// stands behind an empty entry is taken as written, its links unresolved.
func ceiling(dir, value string) (nearest string) {
	resolve := true
	for _, entry := range strings.Split(value, string(filepath.ListSeparator)) {
		switch {
		case entry == "":
			resolve = false
			continue
		case !filepath.IsAbs(entry):
			continue
		case resolve:
			real, err := realCeiling(entry)
			if err != nil {
				continue
			}
			entry = real
		default:
			entry = strings.TrimSuffix(entry, string(filepath.Separator))
		}
		if below, ok := under(entry, dir); ok && below != "." && len(entry) > len(nearest) {
			nearest = entry
		}
	}
	return nearest
}

// realCeiling resolves the links of a path whose last part may be missing.
func realCeiling(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if _, there := os.Lstat(path); there == nil {
		return "", err
	}
	real, err = filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(real, filepath.Base(path)), err
}
