package git_test

import (
	"strings"
	"testing"

	"artoo/tool/git"
	"artoo/tool/git/gittest"
	"artoo/tool/needs"
)

// A commit of another repository is found in each form of index, and none where there is none.
func TestRepositoriesWithinAreFoundInEachFormOfIndex(t *testing.T) {
	t.Parallel()
	needs.Git(t)
	for _, form := range [][]string{{"--index-version", "2"}, {"--index-version", "4"}, {"--split-index"}} {
		root := t.TempDir()
		gittest.Repo(t, root)
		write(t, root, "a/b", "x")
		gittest.Git(t, root, "add", ".")
		if !git.WithoutModules(root + "/.git") {
			t.Errorf("%v: one is found that is not there", form)
		}
		gittest.Git(t, root, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",c/d")
		gittest.Git(t, root, append([]string{"update-index"}, form...)...)
		if git.WithoutModules(root + "/.git") {
			t.Errorf("%v: none is found", form)
		}
	}
}

// In a sparse index an entry may stand for a directory, of which only git can say what it holds.
func TestASparseIndexMayHoldRepositories(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "index", "DIRC\x00\x00\x00\x03\x00\x00\x00\x00sdir\x00\x00\x00\x00")
	if git.WithoutModules(root) {
		t.Error("none is found")
	}
}
