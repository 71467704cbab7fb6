package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/environ"
	"artoo/tool/git"
	"artoo/tool/git/gittest"
	"artoo/tool/needs"
)

// write makes a file below a directory.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHiddenFilesAreMarkedInACopyOfEachFormOfIndex(t *testing.T) {
	t.Parallel()
	needs.Git(t)
	for _, form := range [][]string{{"--index-version", "2"}, {"--index-version", "4"}, {"--split-index"}} {
		root, dir := t.TempDir(), t.TempDir()
		gittest.Repo(t, root)
		var hidden []string
		for _, name := range []string{".env", "d/.env", "secrets/a", "secrets/b/ü", "*.env"} {
			hidden = append(hidden, write(t, root, name, name))
		}
		hidden[2] = filepath.Join(root, "secrets") // with all below
		write(t, root, "x.env", "x")
		gittest.Git(t, root, "add", "-f", ".")
		gittest.Git(t, root, append([]string{"update-index"}, form...)...)
		untracked := write(t, root, "untracked/.env", "x")
		index := filepath.Join(root, ".git", "index")
		before, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		u := git.Unseen{Own: environ.Vars(os.Environ())}
		marked, err := u.Marked(dir, append(hidden, untracked), []string{root})
		if err != nil || len(marked) != 1 {
			t.Fatalf("%v: %v, %v", form, marked, err)
		}
		again, err := u.Marked(dir, append(hidden, untracked), []string{root})
		if err != nil || again[index] != marked[index] {
			t.Errorf("%v: it is made again: %v, %v", form, again, err)
		}
		if other, err := u.Marked(t.TempDir(), hidden, []string{root}); err != nil || other[index] == marked[index] {
			t.Errorf("%v: another directory has no copy of its own: %v, %v", form, other, err)
		}
		if after, err := os.ReadFile(index); err != nil || string(after) != string(before) {
			t.Errorf("%v: the index itself changed, %v", form, err)
		}
		if err := os.Rename(marked[index], index); err != nil {
			t.Fatal(err)
		}
		list := strings.Split(strings.TrimSpace(gittest.Git(t, root, "-c", "core.quotePath=false", "ls-files", "-v")), "\n")
		slices.Sort(list)
		want := []string{"H x.env", "S *.env", "S .env", "S d/.env", "S secrets/a", "S secrets/b/ü"}
		if !slices.Equal(list, want) {
			t.Errorf("%v: %q, want %q", form, list, want)
		}
	}
}
