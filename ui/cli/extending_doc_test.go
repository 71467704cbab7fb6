package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExtendingDoc looks for everything that the pages for developers name: files,
// packages, and the identifiers in backquotes.
func TestExtendingDoc(t *testing.T) {
	declared := declarations(t)
	for _, page := range []string{"docs/dev/extending.md", "docs/dev/architecture.md", "AGENTS.md"} {
		text, err := os.ReadFile(filepath.Join(moduleDir, filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		spans := regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(text), -1)
		if len(spans) < 30 {
			t.Fatalf("only %d names were found in %s", len(spans), page)
		}
		for _, span := range spans {
			if name := span[1]; !named(t, name, declared) {
				t.Errorf("%s: there is no %s", page, name)
			}
		}
	}
}

// named reports whether the name on a page exists: as a path, a setting, or a
// declaration somewhere in the code.
func named(t *testing.T, name string, declared map[string]bool) bool {
	t.Helper()
	switch {
	// a command, a flag, an error, a provider
	case strings.HasPrefix(name, "go test"), strings.HasPrefix(name, "make "), strings.HasPrefix(name, "artoo "),
		strings.HasPrefix(name, "-"), strings.Contains(name, ": "), name == "compatible":
		return true
	case strings.Contains(name, "/"), strings.HasSuffix(name, ".go"):
		_, err := os.Stat(filepath.Join(moduleDir, filepath.FromSlash(name)))
		return err == nil
	case strings.HasPrefix(name, "ARTOO_"):
		page, err := os.ReadFile(filepath.Join(moduleDir, "docs", "configuration.md"))
		return err == nil && strings.Contains(string(page), name)
	}
	if _, err := os.Stat(filepath.Join(moduleDir, name)); err == nil {
		return true
	}
	return declared[name[strings.LastIndex(name, ".")+1:]]
}

// declaration begins a line: a func, a method, a type, a variable, or a method of an interface.
var declaration = regexp.MustCompile(`^(?:(?:func|type|var)(?: \([^)]*\))? (\w+)|\t(\w+)\()`)

// declarations are the names that all code of the module declares. One pass finds them
// all: a search for each name in a text of megabytes takes seconds.
func declarations(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	goFiles(t, func(_, path string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if !strings.HasPrefix(line, "func ") && !strings.HasPrefix(line, "type ") && !strings.HasPrefix(line, "var ") &&
				!strings.HasPrefix(line, "\t") {
				continue
			}
			if m := declaration.FindStringSubmatch(line); m != nil {
				names[m[1]+m[2]] = true
			}
		}
	})
	return names
}
