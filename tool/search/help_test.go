package search

import (
	"os"
	"path/filepath"
	"testing"

	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/git/gittest"
)

// world is a project of some files.
type world struct {
	Files *files.Files
	Dir   string
}

// treeEnv makes a project of the given files, whose names use slashes.
func (w *world) top(t *testing.T) files.Place {
	t.Helper()
	top, err := w.Files.Resolve(w.Dir, false)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// homeOfTest has the home directory that the test has set; git is looked up where the process finds it.
func homeOfTest() environ.Vars {
	return environ.Vars{"HOME=" + os.Getenv("HOME"), "XDG_CONFIG_HOME=" + os.Getenv("XDG_CONFIG_HOME")}
}

func treeEnv(t testing.TB, tree map[string]string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.WriteTree(t, dir, tree)
	f, err := files.Open(files.Config{Root: dir, Environ: homeOfTest()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &world{Files: f, Dir: dir}
}

func mkfile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
