package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/sandbox"
)

// A layer may hold a gigabyte, and all of it goes through a question.
func TestTheDiffOfALayerIsBoundedAndSaysWhatItLeavesOut(t *testing.T) {
	root := t.TempDir()
	c := &changes{confiner: &Confiner{config: Config{Root: root}}}
	var list []sandbox.Change
	for i := range 10 {
		path := filepath.Join(root, fmt.Sprint("old", i))
		text := strings.Repeat("a line of text\n", 60_000)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, sandbox.Change{Path: path, Kind: sandbox.Deleted, Mode: 0o600,
			Before: sandbox.Before{Mode: 0o600, Size: int64(len(text))}})
	}
	diff := c.Diff(list)
	if len(diff) > maxDiff+maxShown+1000 {
		t.Errorf("it has %d bytes", len(diff))
	}
	for _, want := range []string{"--- a/old0", "old9: deleted, 900000 bytes, text left out\n", "more files is left out"} {
		if !strings.Contains(diff, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}
