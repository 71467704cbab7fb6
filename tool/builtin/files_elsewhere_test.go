package builtin

import (
	"strings"
	"testing"
)

func TestAMissNamesTheOneFileOfThatNameElsewhere(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"pkg/deep/only.go": "x", "a/twice.go": "", "b/twice.go": "",
		"keys/.env": "TOKEN=1", ".gitignore": "ignored/\n", "ignored/hidden.go": ""})
	w.fails(Read(), in{"path": "only.go"}, "only.go: does not exist",
		"the only file with that name is pkg/deep/only.go")
	w.fails(Edit(), in{"path": "src/only.go", "old_string": "x", "new_string": "y"},
		"the only file with that name is pkg/deep/only.go")
	for _, path := range []string{"twice.go", "nowhere.go", "hidden.go"} {
		_, _, err := w.call(Read(), in{"path": path})
		if err == nil || strings.Contains(err.Error(), "the only file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
