package cli

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// moduleDir is the module's root, seen from this package.
var moduleDir = filepath.Join("..", "..")

// goFiles calls visit with each Go file of the module, also those of tests: its
// name below the root, with slashes, and its path from here.
func goFiles(t *testing.T, visit func(name, path string)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(moduleDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); strings.HasPrefix(base, ".") && base != "." && base != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			name, err := filepath.Rel(moduleDir, path)
			if err != nil {
				return err
			}
			files++
			visit(filepath.ToSlash(name), path)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("looked at %d files: %v", files, err)
	}
}
