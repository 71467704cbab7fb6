package repo

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/git"
	"artoo/tool/needs"
	"artoo/tool/project"
)

// gitLines runs lines of a shell in a repository, without the user's configuration.
func gitLines(t *testing.T, dir, lines string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", lines)
	cmd.Dir = dir
	cmd.Env = append(git.SafeEnviron(os.Environ()), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// filesBelow is the content of the files below a directory.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, relErr := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(data)
		if err == nil {
			err = relErr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestChangesOfGitAreToldAsGitSeesThem(t *testing.T) {
	t.Parallel()
	needs.Git(t)
	first := t.TempDir()
	gitLines(t, first, "git init -q -b main .; echo 1 > a; git add a; git commit -qm first")
	for _, c := range []struct{ name, before, lines, want string }{
		{"a commit", "", "echo 2 > a; git commit -qam 'second one'", "refs/heads/main: HASH first → HASH second one"},
		{"staged", "", "echo 2 > a; echo 1 > b; git add a b", "staged: a|staged: b"},
		{"taken out of the index", "", "git rm -q --cached a", "staged, deleted: a"},
		{"a branch", "", "git checkout -q -b topic", "HEAD: main → topic|refs/heads/topic: new, HASH first"},
		{"a branch less", "git branch old", "git branch -q -D old", "refs/heads/old: deleted, was HASH first"},
		{"of packed refs", "git branch old; git pack-refs --all", "git branch -q -D old", "refs/heads/old: deleted, was HASH first"},
		{"a tag with a message", "", "git tag -a -m 'so far' v1", "refs/tags/v1: new, HASH"},
		{"a new repository within", "", "git init -q -b main in; cd in; echo 1 > c; git add c; git commit -qm inner",
			"in/.git: HEAD: none → main|in/.git: refs/heads/main: new, HASH inner"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
			gitLines(t, dir, "cp -a "+first+" before; cd before; "+cmp.Or(c.before, ":"))
			gitLines(t, dir, "cp -a before after; cd after; "+c.lines)
			was, is := filesBelow(t, before), filesBelow(t, after)
			for _, done := range []bool{false, true} {
				// The files of root are in their old state, or already in the new one.
				root, other, is := before, after, is
				if done {
					root, other, was, is = after, before, is, was
				}
				var changes []Change
				for _, path := range keysOf(was, is) {
					if text, there := is[path]; project.GitData(path) && was[path] != text {
						changes = append(changes, Change{Path: filepath.Join(root, path), Gone: !there})
					}
				}
				open := func(path string) (io.ReadCloser, error) { return os.Open(other + strings.TrimPrefix(path, root)) }
				saysWhatGitWould(t, Describe(context.Background(), os.Environ(), root, changes, done, open), c.want)
			}
		})
	}
}

// saysWhatGitWould compares rows, in any order and with all hashes the same, with those
// wanted, parted by |.
func saysWhatGitWould(t *testing.T, got []string, expected string) {
	t.Helper()
	for i, row := range got {
		for _, word := range strings.Fields(row) {
			if len(word) == 8 && strings.Trim(word, "0123456789abcdef") == "" {
				got[i] = strings.ReplaceAll(got[i], word, "HASH")
			}
		}
	}
	slices.Sort(got)
	want := strings.Split(expected, "|")
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("git would say\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
