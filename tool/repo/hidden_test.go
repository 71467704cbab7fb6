package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/repo"
	"artoo/tool/sweep"
)

// hiddenFiles is a repository with two tracked files that lines do not see: .env has the lines A and B, and
// each branch another version of it.
const hiddenFiles = first + `export GIT_AUTHOR_DATE=2001-02-03T04:05:06Z; mkdir d; printf 'A=1\n\nB=1\n' >.env; echo 1 >d/.env; git add -A; git commit -qm hidden
git switch -qc other; printf 'A=2\n\nB=1\n' >.env; echo 2 >a; git commit -qam other
git switch -qc clash main; printf 'A=3\n\nB=1\n' >.env; git commit -qam clash
git switch -qc near main; printf 'A=1\n\nB=2\n' >.env; git commit -qam near
git switch -qc none main; git rm -q .env; git commit -qm none
git switch -qc more main; mkdir n; echo N >n/.env; git add -f n; git commit -qm more
git switch -q main; printf 'A=5\n\nB=1\n' >.env; git stash -q
`

// TestGitKeepsTrackedFilesThatAnyLineCannotSee has lines, and then the .env of the project, "-" for none, with git's
// status of it where the file is as committed, and where the user has changed it.
func TestGitKeepsTrackedFilesThatAnyLineCannotSee(t *testing.T) {
	t.Parallel()
	made := newBench(t, hiddenFiles, ":")
	const same, conflict, refused = "A=1 B=1", "conflict", "refused"
	lines := []struct{ line, clean, changed string }{
		{"git add -A; git commit -q --allow-empty -am x; git stash -q; git checkout -q .; git reset -q --hard", same, "U M"},
		{"echo 3 >a; git commit -qam x; git mv .env y; git rm -r d; git clean -fdxq; git add -f .env", same, "U M"},
		{"echo 3 >.env; git add -f .env; git commit -qam x", same, "U M"},
		{"git switch -q other", "A=2 B=1", conflict},
		{"git switch -q none", "-", conflict},
		{"echo 3 >a; git stash -q; git switch -q none", "-", conflict},
		{"git switch -q more", same, "U M"},
		{"git switch -q other; git switch -q main", same, "U M"},
		{"git switch -q --orphan o", "-", conflict},
		{"git merge -q other", "A=2 B=1", conflict},
		{"git switch -q other; git merge -q near -m m", "A=2 B=2", conflict},
		{"git switch -q other; git merge -q --no-commit near", "A=2 B=2M", conflict},
		{"git switch -q other; git merge -q clash", refused, refused},
		{"git merge -q --no-commit --no-ff none", "-D", conflict},
		{"git switch -q near; git rebase -q other", "A=2 B=2", conflict},
		{"git cherry-pick other; git revert --no-edit HEAD", same, "U M"},
		{"git switch -q near; git cherry-pick other", "A=2 B=2", conflict},
		{"git cherry-pick none", "-", conflict},
		{"git reset -q --hard other", "A=2 B=1", conflict},
		{"git reset -q other", "A=1 B=1 M", "U M"},
		{"git checkout -q other -- .env", "A=2 B=1M", conflict},
		{"git stash pop -q", "A=5 B=1 M", conflict},
		{"git switch -q other; echo 3 >>a; git commit -qam x", "A=2 B=1", conflict},
		{"rm .git/index; git reset -q", same, "U M"},
		{"rm .git/index; git reset -q; git add -A", refused, refused},
		{"git update-index --no-skip-worktree .env; git commit -qam x", refused, refused},
		{"GIT_INDEX_FILE=.git/i git add -A; GIT_INDEX_FILE=.git/i git commit -qm x; rm .git/i", refused, refused},
		{"git read-tree HEAD; git add -A", refused, refused},
		{"git read-tree other", refused, refused},
		{"git rm -q --cached --sparse .env", refused, refused},
		{"git mv --sparse .env y; git commit -qm x", refused, refused},
		{"echo 3 >.env; git update-index --no-skip-worktree .env; git commit -qam x", refused, refused},
		{"git switch -q other; echo 3 >.env; git commit -qam x", "A=2 B=1", conflict},
		{"git cherry-pick -n none", refused, refused},
		{"mkdir z; echo 3 >z/.env; git add -f z; git commit -qm x", refused, refused},
	}
	for _, n := range sweep.Cases(t, 6, 2*len(lines)) {
		line, change, want := lines[n/2].line, "", lines[n/2].clean
		if n%2 == 1 {
			change, want = "echo U >.env\n", lines[n/2].changed
		}
		t.Run(line+change, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := &bench{t: t, top: filepath.Join(dir, "project"), layer: filepath.Join(dir, "layer"), dir: dir, env: made.env,
				git: ".git", common: ".git"}
			b.sh(dir, "cp -a "+made.top+" project; cd project\n"+change)
			b.line("git update-index --skip-worktree .env d/.env; rm .env d/.env\n{ " + line + "; } >/dev/null 2>&1 || true")
			if got := b.landHidden(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// landHidden lands what a line did to git and to hidden files, and says what has become of .env.
func (b *bench) landHidden() string {
	b.t.Helper()
	w := b.workTree()
	w.hides = ".env"
	for _, name := range []string{".env", "d/.env", "n/.env", "z/.env"} {
		if _, err := os.Lstat(filepath.Join(b.layer, name)); err == nil {
			w.left = append(w.left, name)
		}
	}
	view := b.view(b.changes())
	e, err := view.Effects(b.t.Context(), w)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, row := range e.Forbidden {
		switch {
		case row.Kind == repo.Hidden && strings.Contains(row.Text, "conflict: "):
			return "conflict"
		case row.Kind == repo.Hidden:
			return "refused"
		}
	}
	for name, version := range e.Hidden {
		path := filepath.Join(b.top, name)
		switch {
		case version.Stays:
		case version.File == "":
			b.sh(b.top, "rm "+name)
		default:
			b.sh(b.top, "mkdir -p $(dirname "+path+"); cp "+version.File+" "+path)
		}
	}
	if err := view.Replay(b.t.Context()); err != nil {
		b.t.Fatalf("%v\n%s", err, texts(e))
	}
	if flags := b.sh(b.top, "git ls-files -v | grep -v ^H || true"); flags != "" {
		b.t.Errorf("flags stay: %s", flags)
	}
	return strings.TrimSpace(b.sh(b.top, "if [ -f .env ]; then grep . .env | tr '\\n' ' '; else echo '-'; fi")) +
		strings.TrimRight(b.sh(b.top, "git status --porcelain -- .env | cut -c1-2 | tr -d '\\n'"), " ")
}
