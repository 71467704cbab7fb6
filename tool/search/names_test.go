package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/git/gittest"
)

// written is entries as one string each: a slash after directories, ! before ignored ones.
func written(entries []Entry) []string {
	var out []string
	for _, e := range entries {
		text := e.Path
		if e.Dir {
			text += "/"
		}
		if e.Ignored {
			text = "!" + text
		}
		out = append(out, text)
	}
	return out
}

func namesTree() map[string]string {
	return map[string]string{
		".gitignore": "*.log\n/build/\n", ".env": "KEY=1", ".golangci.yml": "", "README.md": "", "readme.txt": "",
		"run.log":      "",
		"build/out.go": "", "internal/cart/week.go": "", "internal/cart/week_test.go": "", "internal/.env": "",
		"internal/Weekend.go": "",
		"docs/midweek.md":     "", "a b.txt": "", "bad\nname": "", "run.sh": "", ".hidden/week.go": "",
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, namesTree())
	if err := os.Symlink("internal", filepath.Join(env.Dir, "inside")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(env.Dir, "outside")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, prefix string
		limit       int
		want        []string
	}{
		{"", "", 100, []string{"README.md", "a b.txt", "docs/", "inside/", "internal/", "readme.txt", "run.sh",
			"!build/", "!run.log"}},
		{"", "r", 100, []string{"readme.txt", "run.sh", "!run.log"}},
		{"", "reAD", 100, []string{"README.md", "readme.txt"}},
		{"", "", 2, []string{"README.md", "a b.txt"}},
		{"", ".", 100, []string{".gitignore", ".golangci.yml", ".hidden/"}},
		{"internal", "", 100, []string{"Weekend.go", "cart/"}},
		{"inside/cart", "week_", 100, []string{"week_test.go"}},
		{"build", "", 100, []string{"out.go"}},
		{"", "nothing", 100, nil},
	} {
		got, err := Names(t.Context(), env.Files, filepath.Join(env.Dir, c.dir), c.prefix, c.limit)
		if err != nil {
			t.Errorf("%s %q: %v", c.dir, c.prefix, err)
		}
		if diff := cmp.Diff(c.want, written(got)); diff != "" {
			t.Errorf("%s %q:\n%s", c.dir, c.prefix, diff)
		}
	}
	for _, dir := range []string{"outside", "README.md", "missing"} {
		if got, err := Names(t.Context(), env.Files, filepath.Join(env.Dir, dir), "", 100); err == nil {
			t.Errorf("%s: %v", dir, written(got))
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, namesTree())
	for _, c := range []struct {
		dir, word string
		limit     int
		want      []string
	}{
		{"", "week", 50, []string{"internal/cart/week.go", "internal/cart/week_test.go", "internal/Weekend.go",
			"docs/midweek.md"}},
		{"", "week", 1, []string{"internal/cart/week.go"}},
		{"internal", "week.go", 50, []string{"cart/week.go"}},
		{"", "cart", 50, []string{"internal/cart/"}},
		{"", "out.go", 50, nil},
		{"", ".env", 50, nil},
		{"", ".golang", 50, []string{".golangci.yml"}},
		{"", "", 50, nil},
	} {
		got, err := Find(t.Context(), env.Files, filepath.Join(env.Dir, c.dir), c.word, c.limit)
		if err != nil {
			t.Errorf("%q: %v", c.word, err)
		}
		if diff := cmp.Diff(c.want, written(got)); diff != "" {
			t.Errorf("%s %q:\n%s", c.dir, c.word, diff)
		}
	}
	if got, err := Find(t.Context(), env.Files, t.TempDir(), "week", 50); err == nil {
		t.Errorf("outside: %v", written(got))
	}
}

// The index names files that the walk may not have reached; its entries for files that are denied, gone or elsewhere do
// not count.
func TestFindInTheIndex(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{
		"far/week.go": "", "far/.env": "", "far/key/id_rsa": "", "gone/week.go": "", "mod/x": "",
		"Far2/Été.go": "", "far2/LATER.go": "", "top.go": "",
	})
	gittest.Repo(t, env.Dir)
	gittest.Git(t, env.Dir, "add", "-f", ".")
	gittest.WriteTree(t, env.Dir, map[string]string{"new/week_new.go": ""})
	if err := os.RemoveAll(filepath.Join(env.Dir, "gone")); err != nil {
		t.Fatal(err)
	}
	find := func(ctx context.Context, word string, want ...string) {
		t.Helper()
		got, err := Find(ctx, env.Files, env.Dir, word, 50)
		if diff := cmp.Diff(want, written(got)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", word, err, diff)
		}
	}
	find(t.Context(), "week", "far/week.go", "new/week_new.go")
	ended, cancel := context.WithCancel(t.Context())
	cancel() // no time to walk, nor to wait for git once more
	find(ended, "week", "far/week.go")
	find(ended, "far", "far/", "far2/", "Far2/")
	find(ended, "id_rsa")
	find(ended, "été", "Far2/Été.go")
	find(ended, "later.g", "far2/LATER.go")
	find(ended, "FAR", "Far2/", "far/", "far2/")
	find(ended, "top", "top.go")
	mkfile(t, filepath.Join(env.Dir, ".git", "index"), "broken")
	find(t.Context(), "week.go", "far/week.go")
}

// However large a tree is, no more than so many of its directories are read.
func TestFindReadsABoundedNumberOfDirectories(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	for i := range maxFindDirs + 100 {
		if err := os.MkdirAll(filepath.Join(env.Dir, fmt.Sprintf("d%d", i%50), fmt.Sprintf("e%d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := finder{files: env.Files, ctx: t.Context(), word: "nowhere", folded: "nowhere", limit: 50}
	if _, err := s.find(env.Dir); err != nil || s.dirs != maxFindDirs {
		t.Errorf("read %d directories: %v", s.dirs, err)
	}
}
