package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExtendingDoc looks for everything that docs/extending.md names: files,
// packages, and the identifiers in backquotes.
func TestExtendingDoc(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(moduleDir, "docs", "extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	spans := regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(page), -1)
	if len(spans) < 30 {
		t.Fatalf("only %d names were found in the page", len(spans))
	}
	code := declarations(t)
	for _, span := range spans {
		if name := span[1]; !named(t, name, code) {
			t.Errorf("there is no %s", name)
		}
	}
}

// named reports whether there is what a page calls name: a path, a setting, or
// a declaration somewhere in code.
func named(t *testing.T, name, code string) bool {
	t.Helper()
	switch {
	// a command, a pattern, a provider
	case strings.HasPrefix(name, "go test"), strings.Contains(name, "<"), name == "compatible":
		return true
	case strings.Contains(name, "/"), strings.HasSuffix(name, ".go"):
		_, err := os.Stat(filepath.Join(moduleDir, filepath.FromSlash(name)))
		return err == nil
	case strings.HasPrefix(name, "ARTOO_"):
		page, err := os.ReadFile(filepath.Join(moduleDir, "docs", "configuration.md"))
		return err == nil && strings.Contains(string(page), name)
	}
	last := regexp.QuoteMeta(name[strings.LastIndex(name, ".")+1:])
	return regexp.MustCompile(`(?m)^(func|type)( \([^)]*\))? ` + last + `\b|^\t` + last + `\(`).MatchString(code)
}

// declarations is all code of the module in one text.
func declarations(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	goFiles(t, func(_, path string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	})
	return all.String()
}
