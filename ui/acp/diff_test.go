package acp

import (
	"testing"

	"artoo/tool"
)

// A diff of which the hunks show all is whole; any other is shown as it is, too.
func TestWhatHunksLeaveOutIsKnown(t *testing.T) {
	t.Parallel()
	const head = "--- a/x.sql\n+++ b/x.sql\n"
	for _, row := range []struct {
		name, diff string
		paths      []string
		whole      bool
		hunks      int
	}{
		{"one line", head + "@@ -1 +1 @@\n-a\n+b\n", []string{"/p/x.sql"}, true, 1},
		{"lines like headers", head + "@@ -1,2 +1,3 @@\n--- foo\n+++ y\n+more\n x\n", []string{"/p/x.sql"}, true, 1},
		{"more lines than the header says", head + "@@ -1 +1 @@\n-a\n+b\n+c\n", []string{"/p/x.sql"}, false, 1},
		{"fewer lines", head + "@@ -1,2 +1,2 @@\n-a\n+b\n", []string{"/p/x.sql"}, false, 1},
		{"no newline at the end", head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", []string{"/p/x.sql"}, true, 1},
		{"a deleted binary", head + "@@ -1 +1 @@\n-a\n+b\n--- a/logo.png\n+++ /dev/null\n(9 bytes are deleted)\n",
			[]string{"/p/x.sql", "/p/logo.png"}, false, 1},
		{"two files that may be meant", "--- a/b.go\n+++ b/b.go\n@@ -1 +1 @@\n-a\n+b\n", []string{"/p/sub/b.go", "/p/b.go"}, false, 1},
		{"only headers", head, []string{"/p/x.sql"}, false, 0},
		{"none", "", nil, true, 0},
	} {
		list, whole := diffs(tool.Access{Diff: row.diff, Paths: row.paths})
		if whole != row.whole || len(list) != row.hunks {
			t.Errorf("%s: whole %v, %d hunks", row.name, whole, len(list))
		}
	}
}
