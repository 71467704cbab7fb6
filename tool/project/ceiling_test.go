package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// The top under a ceiling is the same as git's.
func TestTheSearchForAnyRepositoryEndsWhereGitEndsIt(t *testing.T) {
	needs.Git(t)
	base := realTemp(t)
	mkrepo(t, filepath.Join(base, "outer"))
	mkrepo(t, filepath.Join(base, "outer", "a", "inner"))
	for _, dir := range []string{"outer/a/b/c", "outer/a/inner/d", "outer/abc"} {
		if err := os.MkdirAll(filepath.Join(base, filepath.FromSlash(dir)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "outer", "a"), filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(base, "nowhere"), filepath.Join(base, "outer", "loose")); err != nil {
		t.Fatal(err)
	}
	list := string(filepath.ListSeparator)
	ended := 0
	values := []string{
		"", list, "BASE", "BASE/", "BASE/outer", "BASE/outer/", "BASE/outer/a", "BASE/outer/a/b", "BASE/outer/a/b/c",
		"BASE/outer/abc", "BASE/outer/ab", "BASE//outer/./a", "BASE/outer/a/../a/b", "BASE/outer/missing/..",
		"BASE/outer/missing", "BASE/missing/outer", "outer", "outer/a", ".", "..", "BASE/link", list + "BASE/link",
		list + "BASE/outer/a", list + "BASE/outer/a/", list + "BASE/outer/a//", list + "BASE/outer//a",
		list + "BASE/outer/./a", "BASE/link" + list, "BASE/link" + list + list + "BASE/none",
		"BASE/outer/a" + list + "BASE", "BASE" + list + "BASE/outer/a", "x" + list + "BASE/outer/a",
		list + list + "BASE/outer/a", "BASE/outer/loose", "BASE/link/b", "BASE/outer/a/inner", "/", list + "/",
		"BASE/outer/a/inner/d", " BASE/outer/a",
	}
	for _, n := range sweep.Cases(t, 12, len(values)) {
		value := strings.ReplaceAll(values[n], "BASE", base)
		t.Setenv("GIT_CEILING_DIRECTORIES", value)
		for _, dir := range []string{"outer", "outer/a", "outer/a/b", "outer/a/b/c", "outer/a/inner", "outer/a/inner/d",
			"outer/abc", "link/b"} {
			dir := filepath.Join(base, filepath.FromSlash(dir))
			git := exec.Command("git", "rev-parse", "--show-toplevel")
			git.Dir = dir
			want := "" // git ends with an error where there is none
			if out, err := git.Output(); err == nil {
				want = filepath.FromSlash(strings.TrimSpace(string(out)))
			} else {
				ended++
			}
			project, err := Find(dir, os.Environ())
			if err != nil || project.Git != (want != "") || project.Git && project.Root != want {
				t.Errorf("with %q, in %s git finds %q: %+v, %v", value, dir, want, project, err)
			}
			repository, err := Repository(dir, os.Environ())
			if err != nil || repository.Git != project.Git || repository.Root != project.Root {
				t.Errorf("with %q, in %s git finds %q, a command would get %+v, %v", value, dir, want, repository, err)
			}
		}
	}
	if ended == 0 && sweep.Whole(t) {
		t.Error("no ceiling made a difference")
	}
}
