package builtin

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/files"
)

// A page of read is never longer than a result that the model gets whole.
func TestReadPagesAtTheResultLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line number %d of the file\n", i+1)
	}
	if err := os.WriteFile(filepath.Join(dir, "long.txt"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := files.Open(files.Config{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	env := &tool.Env{Files: files, ResultMax: 10000}
	for offset := 1; offset < 5000; {
		input, err := json.Marshal(map[string]any{"path": "long.txt", "offset": offset})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read().Run(t.Context(), env, input, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Text) > env.ResultMax {
			t.Fatalf("page at %d has %d bytes, the limit is %d", offset, len(r.Text), env.ResultMax)
		}
		_, after, found := strings.Cut(r.Text, "use offset=")
		if !found {
			if !strings.Contains(r.Text, "line number 5000 ") {
				t.Errorf("the last page does not end the file: %q", r.Text[max(0, len(r.Text)-80):])
			}
			return
		}
		next := 0
		if _, err := fmt.Sscanf(after, "%d", &next); err != nil || next <= offset {
			t.Fatalf("page at %d goes on at %d: %v", offset, next, err)
		}
		offset = next
	}
}

// A page may be as long as the model's window allows, whatever other results may
// be: a file of 2,000 lines comes in few pieces.
func TestReadPagesFollowTheWindow(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"long.txt": numbered(1, 4000)})
	w.env.ResultMax = 10_000
	for _, test := range []struct{ max, last int }{{100 << 10, 2000}, {12 << 10, 744}, {1000, 34}} {
		w.env.PageMax = func() int { return test.max }
		r := w.ok(Read(), in{"path": "long.txt"})
		if len(r.Text) > test.max || !r.Paged ||
			!strings.Contains(r.Text, fmt.Sprintf("[lines 1-%d of 4000; use offset=%d to continue]", test.last,
				test.last+1)) {
			t.Errorf("%d: %d bytes: %s", test.max, len(r.Text), r.Text[len(r.Text)-100:])
		}
	}
}
