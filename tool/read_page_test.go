package tool

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page of read is never longer than what the model is given whole.
func TestReadPagesAtTheResultLimit(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line number %d of the file\n", i+1)
	}
	if err := os.WriteFile(filepath.Join(dir, "long.txt"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := OpenFiles(FilesConfig{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	env := &Env{Files: files, ResultMax: 10000}
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
