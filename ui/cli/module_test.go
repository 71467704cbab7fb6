package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// moduleDir is the module's root, seen from this package.
var moduleDir = filepath.Join("..", "..")

// moduleName is what the go.mod in dir calls the module: whoever publishes it may
// have given it another name.
func moduleName(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(data), "\n")
	name, ok := strings.CutPrefix(first, "module ")
	if !ok {
		return "", fmt.Errorf("go.mod begins with %q", first)
	}
	return name, nil
}

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
