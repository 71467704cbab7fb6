package trust

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A large directory of skills can be trusted, and is read in the time that a start may take.
func TestALargeDirectoryOfSkillsIsRead(t *testing.T) {
	root := t.TempDir()
	for dir := range 100 {
		at := filepath.Join(root, ".claude", "skills", fmt.Sprint("s", dir))
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 190 {
			if err := os.WriteFile(filepath.Join(at, fmt.Sprint("f", i)), []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(root, ".claude", "big"), bytes.Repeat([]byte("x"), mostBytes), 0o644); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	found, err := Find(root, root, nil, []string{".claude"})
	took := time.Since(began)
	if err != nil || len(found.Files) != 19_001 {
		t.Fatalf("%d files, %v", len(found.Files), err)
	}
	if !testing.Short() && took > 10*time.Second { // The race detector takes many times longer.
		t.Errorf("it took %v", took)
	}
	if big := found.Files[0]; big.Size != mostBytes || big.Data != nil || big.Sum == "" {
		t.Errorf("the large file is %d bytes, %d of them kept", big.Size, len(big.Data))
	}
}
