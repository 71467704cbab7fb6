package permission

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/sandbox"
)

// Changes of a path or a ref, in the words of questions and reports.
type What string

// The kinds of effects, the strictest first.
const (
	RunsAutomatically What = "runs automatically" // the detail names the program
	GitItself         What = "git itself"         // configuration, flags, refs of its own
	RuleAsked         What = "asked by a rule"    // the detail is the rule
	CannotUndo        What = "cannot be undone"   // the journal cannot hold the original
	GitLoses          What = "git loses"
	UncommittedWork   What = "uncommitted work goes"
	Never             What = "never applied" // the detail is the reason
	Deleted           What = "deleted"
	Linked            What = "linked" // the detail is its target
	Executable        What = "executable now"
	OtherMode         What = "with other permissions"
	OfGit             What = "git"
	Modified          What = "modified"
	Created           What = "created"
	NewDirectory      What = "new directory"
)

// Effects are a line's changes on a layer. Paths below the project's root are relative to it.
type Effects struct {
	// By names the effects of each kind, each once: one that is guarded, lost or
	// uncommitted work is not among the kinds of content.
	By map[What][]Entry
	// Files and Built count the files that land, except git's data; Built is build output.
	Files, Built Counts
	Git          int              // how many rows of git's land
	There        bool             // they are in the project already, where no layer was
	Apply        []sandbox.Change // the changes that a yes applies, except git's data
}

// Entry is a path, and its change.
type Entry struct{ Path, Detail string }

// String is path and detail in words.
func (e Entry) String() string { return strings.TrimSpace(e.Path + " " + e.Detail) }

// Counts are how many paths there are of some kinds.
type Counts map[What]int

func (c Counts) String() string {
	var parts []string
	for _, what := range []What{Created, Modified, Deleted, Linked, OtherMode, NewDirectory, "changed"} {
		n := c[what]
		if n > 1 && what == NewDirectory {
			what = "new directories"
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	return strings.Join(parts, ", ")
}

func became(c sandbox.Change) What {
	switch {
	case c.Kind == sandbox.Deleted:
		return Deleted
	case c.Kind == sandbox.Mode:
		return OtherMode
	case c.Mode&fs.ModeSymlink != 0:
		return Linked
	case c.Mode.IsDir():
		return NewDirectory
	case c.Kind == sandbox.Created:
		return Created
	}
	return Modified
}

// Matters are the kinds that a question shows last and never cuts, the strictest first.
func Matters() []What {
	return []What{RunsAutomatically, GitItself, RuleAsked, CannotUndo, GitLoses, UncommittedWork, Never, Deleted, Linked, Executable, OtherMode}
}

// Others are the other kinds. Build output is only counted.
func Others() []What { return []What{OfGit, Modified, Created, NewDirectory} }

// Rows name the effects of some kinds, one a row. In short, more names than mostNames are
// summed up by directory, where not each of a kind has to be seen.
func (e Effects) Rows(short bool, kinds ...What) (rows []string) {
	names := 0
	for _, what := range kinds {
		names += len(e.By[what])
	}
	for _, what := range kinds {
		entries := e.By[what]
		whole := slices.Contains([]What{RunsAutomatically, GitItself, RuleAsked, CannotUndo, GitLoses, Never, OfGit}, what)
		if short && !whole && names > MostNames && len(entries) > mostDirRows {
			entries = ByDirectory(entries)
		}
		for _, entry := range entries {
			rows = append(rows, fmt.Sprintf("%s: %s", what, entry))
		}
	}
	return rows
}

// More names than MostNames are summed up by directory, with at most mostDirRows for one kind.
const (
	MostNames   = 60
	mostDirRows = 10
)

// ByDirectory makes at most ten entries of many: directories, each with its number of paths.
func ByDirectory(entries []Entry) []Entry { return byDirectory(entries, mostDirRows) }

// byDirectory is ByDirectory for at most so many entries, 1 at least.
func byDirectory(entries []Entry, most int) (dirs []Entry) {
	depth := 0
	for _, e := range entries {
		depth = max(depth, strings.Count(e.Path, "/"))
	}
	for ; ; depth-- {
		counts := map[string]int{}
		for _, e := range entries {
			counts[directoryOf(e.Path, depth)]++
		}
		if len(counts) > most && depth > 0 {
			continue
		}
		for _, dir := range slices.Sorted(maps.Keys(counts)) {
			paths := "paths"
			if counts[dir] == 1 {
				paths = "path"
			}
			dirs = append(dirs, Entry{Path: dir, Detail: fmt.Sprintf("(%d %s)", counts[dir], paths)})
		}
		return dirs
	}
}

// directoryOf is the directory of a path, or the one above it at that depth.
func directoryOf(p string, depth int) string {
	parts := strings.Split(path.Dir(path.Clean(p)), "/")
	if parts[0] == "." || depth <= 0 {
		if path.IsAbs(p) {
			return "/"
		}
		return "./"
	}
	return strings.Join(parts[:min(depth, len(parts))], "/") + "/"
}

// Short names all effects in short, the strictest first.
func (e Effects) Short() []string {
	rows := e.Rows(true, append(Matters(), Others()...)...)
	if len(e.Built) > 0 {
		rows = append(rows, "build output: "+e.Built.String())
	}
	return rows
}

// Summary counts the effects in words, such as "files: 2 modified, 1 deleted".
func (e Effects) Summary() string {
	var all []string
	for i, counts := range []Counts{e.Files, {"changed": e.Git}, e.Built} {
		if text := counts.String(); text != "" {
			all = append(all, [...]string{"files: ", "git: ", "build output: "}[i]+text)
		}
	}
	return cmp.Or(strings.Join(all, "; "), "nothing that can be applied")
}

// resultDirs and resultNames are where builds put their output, for judging whether
// ignored files are output; dependencyDirs hold installed packages.
const (
	resultDirs = `dist build out target coverage .nyc_output htmlcov .next .nuxt .svelte-kit .output bin obj
		cmake-build-debug cmake-build-release _build .dart_tool .vite storybook-static test-results playwright-report
		.parcel-cache .eggs *.egg-info .coverage_html`
	resultNames = `*.o *.a *.so *.obj *.class *.pyc *.log *.tsbuildinfo *.out *.test *.prof *.exe *.gcda *.gcno .coverage
		coverage.xml junit.xml`
	dependencyDirs = "node_modules .venv venv vendor site-packages Pods"
)

// resultsOf is the directory of results that a path lies in, "" for none.
func resultsOf(name string) string {
	parts := partsOf(name)
	for i, part := range parts {
		if matchesAny(resultDirs, part) {
			return path.Join(parts[:i+1]...)
		}
	}
	if matchesAny(resultNames, path.Base(name)) {
		return path.Dir(name)
	}
	return ""
}

func inDependencies(name string) bool {
	return slices.ContainsFunc(partsOf(name), func(part string) bool { return matchesAny(dependencyDirs, part) })
}

// ResultDirs are the names of directories for build output, without patterns.
func ResultDirs() []string {
	return slices.DeleteFunc(strings.Fields(resultDirs), func(name string) bool { return strings.Contains(name, "*") })
}

// caches are directories and files in which tools keep files they can make again. A line's writes there never land:
// artoo keeps it, and the next line sees it.
const caches = `__pycache__ .pytest_cache .mypy_cache .ruff_cache .eslintcache .stylelintcache .cache .parcel-cache
	.phpunit.cache .rubocop_cache .gopls .gradle .turbo .next/cache node_modules/.vite*`

// IsCache reports whether a path, relative to a project's root, lies in a tool's cache.
func IsCache(rel string) bool {
	parts, target := partsOf(filepath.ToSlash(rel)), false
	for i, part := range parts {
		switch {
		case matchesAny(caches, part) || i > 0 && matchesAny(caches, parts[i-1]+"/"+part):
			return true
		case target && matchesAny("build deps incremental .fingerprint", part):
			return true
		}
		target = target || part == "target"
	}
	return false
}

func matchesAny(list, name string) bool {
	for pattern := range strings.FieldsSeq(list) {
		if pattern == name {
			return true
		}
		if !strings.ContainsAny(pattern, `*?[\`) {
			continue
		}
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}
