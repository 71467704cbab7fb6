package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// The shell lines of the recipes for pull requests are those that a script runs.
func TestRecipesForPullRequests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(moduleDir, "docs", "cookbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := txtar.ParseFile(filepath.Join(moduleDir, "testdata", "script", "review_ci.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, f := range script.Files {
		if f.Name != "github.sh" && f.Name != "gitlab.sh" {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			if lines++; !strings.Contains(string(page), strings.TrimSpace(line)+"\n") {
				t.Errorf("%s: the cookbook has no line %q", f.Name, line)
			}
		}
	}
	if lines < 8 {
		t.Errorf("the script has only %d lines of recipes", lines)
	}
}
