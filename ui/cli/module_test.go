package cli

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"artoo/config"
	"artoo/tool/needs"
)

// moduleDir is the module's root, seen from this package.
var moduleDir = filepath.Join("..", "..")

// moduleName is the module's name in the go.mod of dir: a publisher may have given
// it another name.
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

// TestUninstallNamesWhatStays runs it in a directory of its own.
func TestUninstallNamesWhatStays(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "usr", "local", "bin", "artoo")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	tool := needs.Program(t, "make")
	out, err := exec.Command(tool, "-C", moduleDir, "uninstall", "DESTDIR="+dir, "PREFIX=/usr/local").CombinedOutput()
	if _, there := os.Stat(program); err != nil || there == nil {
		t.Errorf("the program is still there: %v\n%s", err, out)
	}
	home := aHome(t)
	paths := config.FindPaths(os.Environ())
	for _, find := range []func() (string, error){paths.ConfigDir, paths.DataDir, paths.StateDir, paths.CacheDir} {
		stays, err := find()
		if named := strings.Replace(stays, home, "~", 1); err != nil || strings.Count(string(out), named) < 2 {
			t.Errorf("it does not say that %s stays, and how to remove it: %v\n%s", named, err, out)
		}
	}
}
