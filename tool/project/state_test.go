package project

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGitState(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, map[string]string{"a": "1\n", "old name": "2\nmany\nlines\n", "c": "3\n"})
	p := Project{Root: dir, Dir: dir}
	if got := p.GitState(t.Context(), os.Environ()); got != "" {
		t.Errorf("outside of git: %q", got)
	}
	gitIn(t, dir, "init", "-q", "-b", "trunk")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "-q", "-m", "first")
	p.Git = true
	if got := p.GitState(t.Context(), os.Environ()); got != "trunk, nothing changed" {
		t.Errorf("clean: %q", got)
	}
	gitIn(t, dir, "mv", "old name", "new name")
	writeTree(t, dir, map[string]string{"a": "2\n", "new\n## forged": ""})
	want := "trunk, 3 files changed:\n M a\nR  new name\n?? \"new\\n## forged\""
	if got := p.GitState(t.Context(), os.Environ()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range 30 {
		writeTree(t, dir, map[string]string{"more/" + string(rune('a'+i)): ""})
		gitIn(t, dir, "add", "more")
	}
	if got := p.GitState(t.Context(), os.Environ()); len(got) > 1000 || got[len(got)-11:] != "and 13 more" {
		t.Errorf("%q", got)
	}
	// What the repository's own configuration names is not run.
	marker := filepath.Join(dir, "ran")
	gitIn(t, dir, "config", "core.fsmonitor", "touch "+marker)
	if got := p.GitState(t.Context(), os.Environ()); got != "" {
		t.Errorf("with a monitor: %q", got)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the monitor ran")
	}
}
