package permission

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// foldsPaths is set where file systems usually ignore case.
const foldsPaths = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// matchesPath reports whether the rule covers an absolute path of the project
// at root. What refuses or asks is taken widely: a
// name alone counts at any depth, a directory stands for all beneath it, and
// letters of either case count where files have it so.
func (r Rule) matchesPath(root, file string, wide bool) bool {
	if !r.HasArg {
		return true
	}
	for _, pattern := range r.globs(root, wide) {
		at := filepath.ToSlash(file)
		if wide && foldsPaths {
			pattern, at = strings.ToLower(pattern), strings.ToLower(at)
		}
		for {
			if doublestar.MatchUnvalidated(pattern, at) {
				return true
			}
			up := path.Dir(at)
			if !wide || up == at || up == "." {
				break
			}
			at = up
		}
	}
	return false
}

// Reopens reports whether the rule, one that asks, names a file in fixed words for
// the read tool: then it may be read after a question though its name is denied.
func (r Rule) Reopens(root, file string) bool {
	return r.Tool == "read" && r.HasArg && !hasMeta(r.Arg) && r.matchesPath(root, file, false)
}

// globs are the patterns of a rule for files, as whole paths with slashes.
func (r Rule) globs(root string, wide bool) []string {
	root, dir := escapePattern(root), escapePattern(r.seenFrom(root))
	pattern := filepath.ToSlash(r.Arg)
	switch {
	case strings.HasPrefix(pattern, "//"):
		return []string{path.Clean(pattern[1:])}
	case pattern == "~", strings.HasPrefix(pattern, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		return withRealBase(home, pattern[1:])
	case strings.HasPrefix(pattern, "./"):
		return []string{path.Join(dir, pattern)}
	case strings.HasPrefix(pattern, "/"), filepath.IsAbs(r.Arg):
		if wide { // elsewhere it begins at the project's root
			return []string{path.Clean(pattern), path.Join(root, pattern)}
		}
		return []string{path.Clean(pattern)}
	}
	globs := []string{path.Join(root, pattern)}
	if wide && !strings.Contains(pattern, "/") {
		globs = append(globs, path.Join(root, "**", pattern))
	}
	return globs
}

// seenFrom is the directory that paths of the rule are relative to.
func (r Rule) seenFrom(root string) string {
	return cmp.Or(r.base, root)
}

// withRealBase is a pattern below a directory, as it is named and as it is.
func withRealBase(dir, pattern string) []string {
	globs := []string{path.Join(escapePattern(dir), pattern)}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		globs = append(globs, path.Join(escapePattern(real), pattern))
	}
	return globs
}

// matchesHost reports whether the rule covers a host name: itself, or with *.
// before it those below it. A rule that refuses or asks covers both.
func (r Rule) matchesHost(host string, wide bool) bool {
	host, arg := strings.ToLower(strings.TrimSuffix(host, ".")), r.Arg
	suffix, below := strings.CutPrefix(arg, "*.")
	switch {
	case !r.HasArg:
		return true
	case below:
		return strings.HasSuffix(host, "."+suffix) || wide && host == suffix
	}
	return host == arg || wide && strings.HasSuffix(host, "."+arg)
}

// hasMeta reports whether a pattern for files can match more than one.
func hasMeta(pattern string) bool {
	return strings.ContainsAny(strings.NewReplacer(`\*`, "", `\?`, "", `\[`, "", `\{`, "").Replace(pattern), "*?[{")
}

// escapePattern makes a path match itself only.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(filepath.ToSlash(path))
}
