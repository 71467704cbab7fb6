package permission

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent/permission/line"
)

// TestInstallsDoc keeps the list of docs/installs.md in line with the table of the commands.
func TestInstallsDoc(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- Made by TestInstallsDoc. -->\n", "<!-- end -->\n"
	var b strings.Builder
	for _, set := range strings.Fields(hostSets) {
		var programs, dirs []string
		for _, row := range installers {
			if !line.In(hostSets, row.set) {
				t.Errorf("no rule can list the set %s", row.set)
			}
			if row.set == set {
				programs, dirs = append(programs, strings.Fields(row.programs)...), append(dirs, strings.Fields(row.dirs)...)
			}
		}
		for _, list := range []*[]string{&programs, &dirs} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		b.WriteString("- `@" + set + "`: " + strings.Join(programs, ", "))
		if len(dirs) > 0 {
			b.WriteString("; into " + strings.Join(dirs, ", "))
		}
		b.WriteString("\n")
	}
	path := filepath.Join("..", "..", "docs", "installs.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, there := strings.Cut(string(data), begin)
	table, after, ended := strings.Cut(rest, end)
	if !there || !ended {
		t.Fatal("the page has no place for the table")
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(b.String(), table); diff != "" {
		t.Errorf("go test ./agent/permission -update rewrites it:\n%s", diff)
	}
}
