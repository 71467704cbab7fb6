package project

import (
	"os"
	"path/filepath"
	"testing"

	"artoo/tool/git/gittest"
)

func TestGitState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gittest.WriteTree(t, dir, map[string]string{"a": "1\n", "old name": "2\nmany\nlines\n", "c": "3\n"})
	p := Project{Root: dir, Dir: dir}
	if got := p.GitState(t.Context(), os.Environ()); got != "" {
		t.Errorf("outside of git: %q", got)
	}
	gittest.Git(t, dir, "init", "-q", "-b", "trunk")
	gittest.Git(t, dir, "add", ".")
	gittest.Git(t, dir, "commit", "-q", "-m", "first")
	p.Git = true
	if got := p.GitState(t.Context(), os.Environ()); got != "trunk, nothing changed" {
		t.Errorf("clean: %q", got)
	}
	gittest.Git(t, dir, "mv", "old name", "new name")
	gittest.WriteTree(t, dir, map[string]string{"a": "2\n", "new\n## forged": ""})
	want := "trunk, 3 files changed:\n M a\nR  new name\n?? \"new\\n## forged\""
	if got := p.GitState(t.Context(), os.Environ()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range 30 {
		gittest.WriteTree(t, dir, map[string]string{"more/" + string(rune('a'+i)): ""})
		gittest.Git(t, dir, "add", "more")
	}
	if got := p.GitState(t.Context(), os.Environ()); len(got) > 1000 || got[len(got)-11:] != "and 13 more" {
		t.Errorf("%q", got)
	}
	// Programs in the repository's own configuration are not run.
	marker := filepath.Join(dir, "ran")
	gittest.Git(t, dir, "config", "core.fsmonitor", "touch "+marker)
	if got := p.GitState(t.Context(), os.Environ()); got != "" {
		t.Errorf("with a monitor: %q", got)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the monitor ran")
	}
}
