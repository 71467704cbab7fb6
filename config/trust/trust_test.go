package trust

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var others = []string{".claude", ".mcp.json"}

// tree makes a project of files; a name that ends in a slash is a directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func find(t *testing.T, root, dir string) Settings {
	t.Helper()
	b, err := Find(root, filepath.Join(root, dir), []string{".artoo"}, others)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func names(b Settings) (list []string) {
	for _, f := range b.Files {
		list = append(list, f.Name)
	}
	return list
}

func TestWhatARepositoryBringsIsFound(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		".artoo/config.toml": "x", ".claude/settings.json": "{}", ".claude/hooks/a.sh": "#!", "sub/.mcp.json": "{}",
		"sub/.artoo/config.toml": "only the root's counts", "sub/deep/.claude/x": "y", "other/.claude/x": "not on the way",
		".claude/worktrees/w/.claude/settings.json": "{}", "AGENTS.md": "read before trust", "main.go": "package main",
	})
	for dir, want := range map[string][]string{
		"":         {".artoo/config.toml", ".claude/hooks/a.sh", ".claude/settings.json"},
		"sub":      {".artoo/config.toml", ".claude/hooks/a.sh", ".claude/settings.json", "sub/.mcp.json"},
		"sub/deep": {".artoo/config.toml", ".claude/hooks/a.sh", ".claude/settings.json", "sub/.mcp.json", "sub/deep/.claude/x"},
	} {
		if diff := cmp.Diff(want, names(find(t, root, dir))); diff != "" {
			t.Errorf("%q: %s", dir, diff)
		}
	}
	if b := find(t, tree(t, nil), ""); len(b.Files) != 0 {
		t.Errorf("an empty project brings %v", names(b))
	}
	b := find(t, root, "sub")
	got := slices.DeleteFunc(slices.Clone(b.Files), func(f File) bool { return !f.Under([]string{".mcp.json"}) })
	if len(got) != 1 || got[0].Name != "sub/.mcp.json" || string(b.Data("sub/.mcp.json")) != "{}" {
		t.Errorf("%v", got)
	}
}

func TestAnyChangeIsAnotherContent(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{".claude/a": "1", ".claude/b": "2"})
	first := find(t, root, "")
	change := func(name string, f func(path string) error, want ...string) {
		t.Helper()
		if err := f(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
		now := find(t, root, "")
		if now.Sum() == first.Sum() {
			t.Errorf("%v: the same sum", want)
		}
		if diff := cmp.Diff(want, now.Changes(first.Sums())); diff != "" {
			t.Error(diff)
		}
	}
	write := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	change(".claude/a", write("other"), ".claude/a has changed")
	change(".claude/a", os.Remove, ".claude/a is gone")
	change(".claude/a", func(path string) error { return os.Symlink("b", path) }, ".claude/a has changed")
	change(".claude/a", func(path string) error {
		return errors.Join(os.Remove(path), os.Symlink("nowhere", path))
	}, ".claude/a has changed")
	path := filepath.Join(root, ".claude", "a")
	if err := errors.Join(os.Remove(path), write("1")(path)); err != nil {
		t.Fatal(err)
	}
	if now := find(t, root, ""); now.Sum() != first.Sum() || now.Changes(first.Sums()) != nil {
		t.Error("what is as it was has another sum")
	}
}

func TestWhatCannotBeTrustedIsRefused(t *testing.T) {
	t.Parallel()
	outside := tree(t, map[string]string{"secret": "x"})
	for name, test := range map[string]struct {
		make func(root string) error
		want string
	}{
		"a link to a file outside": {func(root string) error {
			return os.Symlink(filepath.Join(outside, "secret"), filepath.Join(root, ".claude", "x"))
		}, ".claude/x is a link that leads out of the project"},
		"a link to a directory outside": {func(root string) error {
			return os.Symlink(outside, filepath.Join(root, ".artoo"))
		}, ".artoo is a link that leads out of the project"},
		"a huge file": {func(root string) error {
			return os.WriteFile(filepath.Join(root, ".mcp.json"), make([]byte, mostBytes+1), 0o600)
		}, ".mcp.json is larger than 16 MiB"},
		"a loop of links": {func(root string) error {
			return os.Symlink(".", filepath.Join(root, ".claude", "loop"))
		}, "is a link that leads to itself"},
		"many files": {func(root string) error {
			for i := range mostEntries {
				path := filepath.Join(root, ".claude", "f"+strings.Repeat("x", i%100)+string(rune('a'+i/100)))
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		}, "exceeds the limit of 20000 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, map[string]string{".claude/settings.json": "{}"})
			if err := test.make(root); err != nil {
				t.Fatal(err)
			}
			_, err := Find(root, root, []string{".artoo"}, others)
			refused, ok := errors.AsType[*RefusedError](err)
			if !ok || !strings.Contains(refused.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestALinkWithinTheProjectIsFollowed(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"skills/one/SKILL.md": "do", ".claude/settings.json": "{}"})
	if err := os.Symlink("../skills", filepath.Join(root, ".claude", "skills")); err != nil {
		t.Fatal(err)
	}
	b := find(t, root, "")
	if diff := cmp.Diff([]string{".claude/settings.json", ".claude/skills/one/SKILL.md"}, names(b)); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersAreOfPathAndContent(t *testing.T) {
	t.Parallel()
	store := Store{filepath.Join(t.TempDir(), "state", "trust.json")}
	root := tree(t, map[string]string{".claude/a": "1"})
	one := find(t, root, "")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	expect := func(b Settings, now, ever bool) {
		t.Helper()
		answers, err := store.Read()
		n, l := answers.Of(b)
		if err != nil || (n != nil && n.Trusted) != now || (l != nil && l.Trusted) != ever {
			t.Errorf("%v, %v, %v", n, l, err)
		}
	}
	keep := func(b Settings, yes bool) {
		t.Helper()
		if err := store.Keep(b, yes, at); err != nil {
			t.Fatal(err)
		}
	}
	expect(one, false, false)
	keep(one, true)
	expect(one, true, true)
	moved := one
	moved.Root = root + "2"
	expect(moved, false, false)
	if err := os.WriteFile(filepath.Join(root, ".claude", "a"), []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	two := find(t, root, "")
	expect(two, false, true)
	keep(two, false)
	expect(two, false, true) // The trusted version is still there to compare with.
	expect(one, true, true)  // the branch before it is trusted as it was
	if info, err := os.Stat(store.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if n, err := store.Revoke(root); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	expect(one, false, false)
	if n, err := store.Revoke(root); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for range mostAnswers + 5 {
		one.Files[0].Sum += "x"
		keep(one, true)
	}
	if answers, err := store.Read(); len(answers.Settings) != mostAnswers || err != nil {
		t.Errorf("%d answers, %v", len(answers.Settings), err)
	}
}

func TestABrokenStoreTrustsNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"v":2,"answers":[]}`} {
		store := Store{filepath.Join(t.TempDir(), "trust.json")}
		if err := os.WriteFile(store.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Read(); err == nil {
			t.Errorf("%q is taken", text)
		}
		if yes, err := store.TrustsPrograms("/x"); yes || err == nil {
			t.Errorf("%q trusts programs", text)
		}
		if err := store.TrustPrograms("/x", time.Now()); err == nil {
			t.Errorf("%q is written over", text)
		}
		if err := store.Keep(Settings{Root: "/x"}, true, time.Now()); err == nil {
			t.Errorf("%q is written over", text)
		}
	}
}

// Running is trusted by the path alone, and neither kind of trust implies the other.
func TestRunningIsTrustedByThePath(t *testing.T) {
	t.Parallel()
	store := Store{filepath.Join(t.TempDir(), "state", "trust.json")}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	expect := func(root string, want bool) {
		t.Helper()
		if got, err := store.TrustsPrograms(root); got != want || err != nil {
			t.Errorf("%s: %t, %v", root, got, err)
		}
	}
	root := tree(t, map[string]string{".claude/a": "1"})
	b := find(t, root, "")
	expect(root, false)
	if err := errors.Join(store.Keep(b, true, at), store.TrustPrograms("/other", at)); err != nil {
		t.Fatal(err)
	}
	expect(root, false)
	expect("/other/below", false)
	if err := errors.Join(store.TrustPrograms(root, at), store.TrustPrograms(root, at.Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".claude", "a"), []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(root, true)
	answers, err := store.Read()
	if diff := cmp.Diff([]Programs{{"/other", at}, {root, at}}, answers.Programs); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if n, err := store.Revoke(root); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	expect(root, true)
	if err := store.Keep(b, true, at); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if was, err := store.RevokePrograms(root); was != want || err != nil {
			t.Errorf("%t, %v", was, err)
		}
	}
	expect(root, false)
	expect("/other", true)
	answers, err = store.Read()
	if now, _ := answers.Of(b); now == nil || err != nil {
		t.Errorf("%v, %v", now, err)
	}
}
