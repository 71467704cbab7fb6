package repo_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/repo"
)

// The changes between two indexes are made in a third: entry by entry, with their flags, and
// without those that the user has staged at the same path or below it.
func TestMergeIndex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, from, to, now string // each follows the one before, except that now follows from
		check               string
		left                []string
		refused             bool
	}{
		{name: "stat data alone", from: "echo 2 > a; git add a", to: "git reset -q", now: "touch -d @1 b; git status",
			check: "git diff --cached --quiet"},
		{name: "another entry", from: "echo 2 > a; git add a", to: "git reset -q", now: "echo 3 > b; git add b",
			check: "test \"$(git diff --cached --name-only)\" = b"},
		{name: "the same entry", from: "echo 2 > a; echo 2 > b; git add a b", to: "git reset -q", now: "echo 3 > b; git add b",
			check: "test \"$(git diff --cached --name-only)\" = b; git show :b | grep 3", left: []string{"b"}},
		{name: "taken back already", from: "echo 2 > a; git add a", to: "git reset -q", now: "git reset -q",
			check: "git diff --cached --quiet"},
		{name: "flags", from: "git update-index --assume-unchanged a; git update-index --skip-worktree b",
			to: "git update-index --no-assume-unchanged a; git update-index --no-skip-worktree b", now: "echo 3 > c; git add c",
			check: "test -z \"$(git ls-files -v | grep -v '^H')\""},
		{name: "flags come back", to: "git update-index --assume-unchanged a; git update-index --skip-worktree b", now: "echo 3 > c; git add c",
			check: "git ls-files -v | grep '^h a'; git ls-files -v | grep '^S b'"},
		{name: "a path to be added later", from: "mkdir d; echo 1 > d/c; git add d/c", to: "git reset -q; git add -N d/c", now: "echo 3 > b; git add b",
			check: "git diff --cached --name-only; test \"$(git diff --cached --name-only --ita-invisible-in-index)\" = b; git ls-files d/c | grep c"},
		{name: "a conflict", from: "git switch -qc x; echo 2 > a; git commit -qam x; git switch -q main; echo 3 > a; git commit -qam y; git merge x || true",
			to: "git reset -q --merge", now: "echo 3 > c; git add c", check: "test -z \"$(git ls-files -u)\"; git ls-files c | grep c"},
		{name: "a directory in the place of a file", from: "git rm -q a", to: "git reset -q", now: "mkdir a; echo 3 > a/x; git add a/x", refused: true},
		{name: "no index before", from: "", to: "rm .git/index", now: "echo 3 > c; git add c", check: "test \"$(git ls-files)\" = c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, first, "true")
			read := func(lines string) []byte {
				b.sh(b.top, lines)
				data, err := os.ReadFile(filepath.Join(b.top, ".git/index"))
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				return data
			}
			from := read(c.from)
			b.sh(b.top, "cp -a . ../kept")
			to := read(c.to)
			b.sh(filepath.Dir(b.top), "rm -rf project; mv kept project")
			now := read(c.now)
			merged, left, err := repo.MergeIndex(t.Context(), filepath.Join(b.top, ".git"), nil, b.env, from, to, now)
			if (err != nil) != c.refused || !slices.Equal(left, c.left) {
				t.Fatalf("left %q, %v", left, err)
			}
			if c.refused {
				return
			}
			if err := os.WriteFile(filepath.Join(b.top, ".git/index"), merged, 0o644); err != nil {
				t.Fatal(err)
			}
			b.sh(b.top, "set -x; "+c.check)
		})
	}
}

// Where nothing is to be changed, the index is the one that is there.
func TestMergeOfNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, first, "true")
	index := filepath.Join(b.top, ".git/index")
	from, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	b.sh(b.top, "touch -d @1 a; git status")
	now, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	merged, left, err := repo.MergeIndex(t.Context(), filepath.Dir(index), nil, b.env, from, from, now)
	if string(merged) != string(now) || left != nil || err != nil {
		t.Errorf("%d bytes for %d, %q, %v", len(merged), len(now), left, err)
	}
	for path, want := range map[string]bool{index: true, filepath.Join(b.top, "index"): false, strings.TrimSuffix(index, "index") + "HEAD": false} {
		if repo.IsIndex(path) != want {
			t.Errorf("%s", path)
		}
	}
}
