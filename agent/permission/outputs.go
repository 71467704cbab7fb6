package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// resultDirs and resultNames are where builds put what they make, for judging whether
// ignored files are output; dependencyDirs hold what package managers installed.
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

// ResultDirs are the names of directories for what builds make, without patterns.
func ResultDirs() []string {
	return slices.DeleteFunc(strings.Fields(resultDirs), func(name string) bool { return strings.Contains(name, "*") })
}

// ResultDoc lists the places of build output for the documentation.
func ResultDoc() string {
	list := func(names string) string { return "`" + strings.Join(strings.Fields(names), " ") + "`" }
	return "- directories: " + list(resultDirs) + "\n- files: " + list(resultNames) +
		"\n- never below: " + list(dependencyDirs) + "\n"
}

// caches are directories and files in which tools keep what they can make again. What
// a line writes there never lands: artoo keeps it, and the next line sees it.
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

// CacheDoc lists the caches for the documentation.
func CacheDoc() string {
	return "`" + strings.Join(strings.Fields(caches), " ") + " target/**/{build,deps,incremental,.fingerprint}`\n"
}
