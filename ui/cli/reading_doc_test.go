package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/agent/permission"
)

// TestDocOfReadingCommands keeps the list in docs/permissions.md what the code
// says.
func TestDocOfReadingCommands(t *testing.T) {
	path := filepath.Join(moduleDir, "docs", "permissions.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(data), "\r\n", "\n")
	before, rest, ok := strings.Cut(page, "<!-- reading commands -->\n")
	list, after, ended := strings.Cut(rest, "<!-- end -->\n")
	if !ok || !ended {
		t.Fatal("docs/permissions.md has no place for the list")
	}
	want := permission.ReadingDoc()
	if *update {
		if err := os.WriteFile(path, []byte(before+"<!-- reading commands -->\n"+want+"<!-- end -->\n"+after),
			0o644); err != nil {
			t.Fatal(err)
		}
		list = want
	}
	if list != want {
		t.Errorf("go test ./ui/cli -update rewrites the list:\n%s\nwant\n%s", list, want)
	}
}
