package files

import (
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"artoo/tool/names"
)

// Pattern adds files to the hidden ones, or takes some from them.
type Pattern struct {
	// Glob names files: relative to the project, from the working directory with ./, absolute with // or ~. A name alone
	// counts at any depth, a directory covers everything below it, and case does not count.
	Glob string
	// Origin is where it stands, for messages, such as "hide = secrets/** (--hide)".
	Origin string
	// Firm means that Config.Show does not take from it: it stands in the system's policy or was given for this run.
	Firm bool
	// Repository means that it comes from a repository. It covers no file that programs run or obey, nor one that a command
	// names to run: a repository must not hide what it has others run.
	Repository bool
}

// pattern is a Pattern made ready: all folded, with slashes.
type pattern struct {
	Pattern
	globs [][2]string // whole paths, each behind the text that it begins with
	root  string      // name counts at any depth below it
	name  string      // "" for a pattern of several names
}

// ready prepares patterns of the project at root, for calls from dir.
func ready(list []Pattern, root, dir, home string) (all []pattern) {
	for _, p := range list {
		one := pattern{Pattern: p}
		if !strings.ContainsAny(p.Glob, `/~`) {
			one.root, one.name = names.Fold(filepath.ToSlash(root))+"/", names.Fold(p.Glob)
			all = append(all, one)
			continue
		}
		for _, glob := range PathGlobs(p.Glob, root, dir, home, true) {
			one.add(glob)
			base, rest := doublestar.SplitPattern(glob)
			if !HasMeta(glob) {
				base, rest = filepath.ToSlash(filepath.Clean(strings.ReplaceAll(glob, `\`, ""))), ""
			}
			one.add(path.Join(EscapeGlob(names.Real(base)), rest))
		}
		all = append(all, one)
	}
	return all
}

func (p *pattern) add(glob string) {
	glob = names.Fold(glob)
	before, _, _ := strings.Cut(glob, "**")
	if at := strings.IndexAny(before, `*?[{\`); at >= 0 {
		before = before[:at]
	}
	for _, one := range []string{glob, path.Join(glob, "**")} {
		if entry := [2]string{strings.TrimSuffix(before, "/"), one}; !slices.Contains(p.globs, entry) {
			p.globs = append(p.globs, entry)
		}
	}
}

// covers reports whether the pattern names a folded path or a directory above it.
func (p pattern) covers(folded string) bool {
	if rest, below := strings.CutPrefix(folded, p.root); below && p.name != "" {
		for part := range strings.SplitSeq(rest, "/") {
			if doublestar.MatchUnvalidated(p.name, part) {
				return true
			}
		}
	}
	return slices.ContainsFunc(p.globs, func(glob [2]string) bool {
		return strings.HasPrefix(folded, glob[0]) && doublestar.MatchUnvalidated(glob[1], folded)
	})
}

func covered(list []pattern, folded string) bool {
	return slices.ContainsFunc(list, func(p pattern) bool { return p.covers(folded) })
}

// PathGlobs are the globs that a pattern for files stands for, as whole paths with slashes: relative to root, ./ to dir,
// // or ~ (home) absolute. wide is for what refuses, asks or hides: a name alone counts at any depth.
func PathGlobs(pattern, root, dir, home string, wide bool) []string {
	root, dir = EscapeGlob(root), EscapeGlob(dir)
	slashed := filepath.ToSlash(pattern)
	switch {
	case strings.HasPrefix(slashed, "//"):
		return []string{path.Clean(slashed[1:])}
	case slashed == "~", strings.HasPrefix(slashed, "~/"):
		if home == "" {
			return nil
		}
		globs := []string{path.Join(EscapeGlob(home), slashed[1:])}
		if real, err := filepath.EvalSymlinks(home); err == nil && real != home {
			globs = append(globs, path.Join(EscapeGlob(real), slashed[1:]))
		}
		return globs
	case strings.HasPrefix(slashed, "./"):
		return []string{path.Join(dir, slashed)}
	case strings.HasPrefix(slashed, "/"), filepath.IsAbs(pattern):
		if wide { // elsewhere it begins at the project's root
			return []string{path.Clean(slashed), path.Join(root, slashed)}
		}
		return []string{path.Clean(slashed)}
	}
	globs := []string{path.Join(root, slashed)}
	if wide && !strings.Contains(slashed, "/") {
		globs = append(globs, path.Join(root, "**", slashed))
	}
	return globs
}

// foldsPaths is set where file systems usually ignore case.
const foldsPaths = runtime.GOOS == "darwin"

// MatchesGlob reports whether one of the globs matches a path with slashes; wide: in either case where files have it so.
func MatchesGlob(globs []string, at string, wide bool) bool {
	fold := wide && foldsPaths
	if fold {
		at = strings.ToLower(at)
	}
	return slices.ContainsFunc(globs, func(pattern string) bool {
		if fold {
			pattern = strings.ToLower(pattern)
		}
		return doublestar.MatchUnvalidated(pattern, at)
	})
}

// HasMeta reports whether a pattern for files can match more than one.
func HasMeta(pattern string) bool {
	return strings.ContainsAny(strings.NewReplacer(`\*`, "", `\?`, "", `\[`, "", `\{`, "").Replace(pattern), "*?[{")
}

// EscapeGlob makes a path match itself only.
func EscapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(filepath.ToSlash(path))
}
