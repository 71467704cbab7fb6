package repo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/environ"
	"artoo/tool/repo"
)

func TestLinkedWorkTree(t *testing.T) {
	t.Parallel()
	b := newBench(t, first+"git worktree add -q ../linked -b topic; mv ../linked ./.gitlinked; git worktree repair ./.gitlinked 2>/dev/null", ":")
	// The linked work tree lies in the project, so that both are on the layer.
	b.line("cd .gitlinked; echo 2 > a; git commit -qam second; git switch -qc q; echo 3 > b; git add b; git stash -q")
	main := b.repository()
	linked := main
	linked.WorkTree = filepath.Join(b.top, ".gitlinked")
	linked.GitDir = filepath.Join(b.top, ".git", "worktrees", "linked")
	view, err := repo.Open(t.Context(), linked, b.dir, b.changes(), b.open)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	e, err := view.Effects(t.Context(), layerTree{bench: b, below: ".gitlinked"})
	if err != nil {
		t.Fatal(err)
	}
	saysWords(t, e, "content: commit refs/heads/q|content: head HEAD|content: ref moved refs/heads/topic|content: ref new refs/heads/q|content: stash ID")
	if err := view.Replay(t.Context()); err != nil {
		t.Fatal(err)
	}
	const state = "cd .gitlinked; git for-each-ref; git symbolic-ref HEAD; git ls-files -s; git stash list; git -C .. symbolic-ref HEAD; git -C .. ls-files -s"
	project := b.sh(b.top, state)
	b.sh(filepath.Dir(b.top), "mv project kept; mv layer project")
	if layer := b.sh(b.top, state); project != layer {
		t.Errorf("landing made\n%s\nnot\n%s", project, layer)
	}
}

// TestOtherWorkTree has a line change the HEAD of another work tree.
func TestOtherWorkTree(t *testing.T) {
	t.Parallel()
	b := newBench(t, first+"git worktree add -q wt; git branch q", "git -C wt switch -q q; echo x > .git/worktrees/wt/gitdir")
	_, e := b.effects()
	saysWords(t, e, "stops: unknown worktrees")
}

func TestSubmodule(t *testing.T) {
	t.Parallel()
	b := newBench(t, "git init -q -b main ../inner; (cd ../inner; "+strings.TrimSpace(first)+"); "+
		"git -c protocol.file.allow=always submodule add -q ../inner sub; git commit -qm module",
		"cd sub; echo 2 > a; git commit -qam inner; cd ..; git add sub; git commit -qm outer")
	b.guarded = func(path string) bool { return path == ".gitmodules" }
	_, e := b.effects()
	saysWords(t, e, "content: commit refs/heads/main|content: ref moved refs/heads/main|stops: unknown modules")
	b.git, b.common = ".git/modules/sub", ".git/modules/sub"
	r := b.repository()
	r.WorkTree = filepath.Join(b.top, "sub")
	view, err := repo.Open(t.Context(), r, b.dir, b.changes(), b.open)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	if e, err = view.Effects(t.Context(), layerTree{bench: b, below: "sub"}); err != nil {
		t.Fatal(err)
	}
	saysWords(t, e, "content: commit refs/heads/main|content: ref moved refs/heads/main")
	if err := view.Replay(t.Context()); err != nil {
		t.Fatal(err)
	}
	if subject := b.sh(filepath.Join(b.top, "sub"), "git log -1 --format=%s"); subject != "inner\n" {
		t.Errorf("the submodule is at %s", subject)
	}
}

func TestShallow(t *testing.T) {
	t.Parallel()
	b := newBench(t, "git init -q -b main ../far; (cd ../far; "+strings.TrimSpace(second)+"); rm -rf .git; "+
		"git clone -q --depth 1 file://$(cd ../far; pwd) ../c; mv ../c/.git .git; git reset -q --hard; git config user.name a; git config user.email a@example.org",
		"echo 3 > a; git commit -qam third; git branch q")
	view, e := b.effects()
	saysWords(t, e, "content: commit refs/heads/main|content: ref moved refs/heads/main|content: ref new refs/heads/q")
	b.land(view)
	b.same()
}

// TestPartialClone commits where the store lacks blobs that a remote promised.
func TestPartialClone(t *testing.T) {
	t.Parallel()
	b := newBench(t, "git init -q -b main ../far; (cd ../far; "+strings.TrimSpace(second)+"; git config uploadpack.allowFilter true); rm -rf .git; "+
		"git clone -q --filter=blob:none file://$(cd ../far; pwd) ../c; mv ../c/.git .git; git reset -q --hard; git config user.name a; git config user.email a@example.org; mv ../far ../gone",
		"echo 3 > a; git commit -qam third; git branch q; echo 4 > c; git add c")
	view, e := b.effects()
	saysWords(t, e, "bookkeeping: staged c|content: commit refs/heads/main|content: ref moved refs/heads/main|content: ref new refs/heads/q")
	b.land(view)
	if said := b.sh(b.top, "git log -1 --format=%s q; git ls-files c; git show HEAD:a"); said != "third\nc\n3\n" {
		t.Errorf("landing made %s", said)
	}
}

func TestSplitIndex(t *testing.T) {
	t.Parallel()
	b := newBench(t, first+"git config core.splitIndex true; git config splitIndex.maxPercentChange 100; git update-index --split-index", "echo 2 > a; git add a; echo 1 > c; git add c")
	view, e := b.effects()
	saysWords(t, e, "bookkeeping: staged a|bookkeeping: staged c")
	b.land(view)
	if files := b.sh(b.top, "git ls-files -s; git status --porcelain; git fsck"); files != b.sh(b.layer, "git ls-files -s; git status --porcelain; git fsck") {
		t.Errorf("landing made %s", files)
	}
}

func TestSparseWorkTree(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mkdir in out; echo 1 > in/a; echo 1 > out/b; git add .; git commit -qm first; git switch -qc q; echo 2 > out/b; git commit -qam second; git switch -q main; git sparse-checkout set in",
		"git merge -q --ff-only q; echo 2 > in/a; git add in/a")
	view, e := b.effects()
	saysWords(t, e, "bookkeeping: staged in/a|content: ref moved refs/heads/main")
	b.land(view)
	b.same()
	if flags := b.sh(b.top, "git ls-files -v out/b"); flags != "S out/b\n" {
		t.Errorf("the entry is %s", flags)
	}
}

func TestRefStorage(t *testing.T) {
	t.Parallel()
	b := newBench(t, first+"git config core.repositoryformatversion 1; git config extensions.refstorage reftable", "true")
	_, err := repo.Open(t.Context(), b.repository(), b.dir, []repo.Change{{Path: filepath.Join(b.top, ".git", "HEAD")}}, b.open)
	if !errors.Is(err, repo.ErrRefStorage) {
		t.Errorf("Open says %v", err)
	}
	if left := listing(t, b.dir); len(left) != 1 {
		t.Errorf("Open left %v", left)
	}
}

func TestNoRepositoryBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t, first, "git init -q .gitnew")
	r := b.repository()
	r.GitDir, r.Common = filepath.Join(b.top, ".gitnew", ".git"), filepath.Join(b.top, ".gitnew", ".git")
	if _, err := repo.Open(t.Context(), r, b.dir, b.changes(), b.open); !errors.Is(err, repo.ErrNoRepository) {
		t.Errorf("Open says %v", err)
	}
}

// TestNothingStartsWithoutChanges takes git away.
func TestNothingStartsWithoutChanges(t *testing.T) {
	b := newBench(t, first, "echo 2 > a")
	t.Setenv("PATH", "")
	view := b.view([]repo.Change{{Path: filepath.Join(b.top, "a"), Mode: 0o644}})
	e, err := view.Effects(t.Context(), b.workTree())
	if err != nil {
		t.Fatal(err)
	}
	saysWords(t, e, "")
	if err := view.Replay(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDiffOfWhatTheWorkTreeHasNot(t *testing.T) {
	t.Parallel()
	b := newBench(t, first, "echo 2 > a; git commit -qam hidden; echo 1 > a; echo 2 > b; git commit -qm seen b; printf 'x\\n\\0' > c; git add c; git commit -qm binary; rm c")
	_, e := b.effects()
	diffs := map[string]string{}
	for _, row := range e.Content {
		if row.Kind == repo.Commit {
			_, subject, _ := strings.Cut(row.Text, ": commit ")
			diffs[subject[9:]] = row.Diff
		}
	}
	if len(diffs) != 3 || !strings.Contains(diffs["hidden"], "+2\n") || diffs["seen"] != "" || !strings.Contains(diffs["binary"], "Binary") {
		t.Errorf("diffs are %q", diffs)
	}
}

func TestContextEndsAll(t *testing.T) {
	t.Parallel()
	b := newBench(t, first, "echo 2 > a; git commit -qam second")
	view := b.view(b.changes())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := view.Effects(ctx, b.workTree()); !errors.Is(err, context.Canceled) {
		t.Errorf("Effects says %v", err)
	}
	if _, err := repo.Open(ctx, b.repository(), b.dir, b.changes(), b.open); !errors.Is(err, context.Canceled) {
		t.Errorf("Open says %v", err)
	}
	if _, err := view.Effects(t.Context(), b.workTree()); err != nil {
		t.Fatal(err)
	}
	if err := view.Replay(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Replay says %v", err)
	}
	if left := b.sh(b.top, "find .git -name '*.lock'; git log --format=%s"); left != "first\n" {
		t.Errorf("Replay left %s", left)
	}
}

// countGit has a function return how often git was started from here on.
func (b *bench) countGit() (started func() int) {
	b.t.Helper()
	dir, real := b.t.TempDir(), strings.TrimSpace(b.sh(b.dir, "command -v git"))
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho >> "+log+"\nexec "+real+" \"$@\"\n"), 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.own = environ.Vars{"PATH=" + dir}
	return func() int {
		text, err := os.ReadFile(log)
		if err != nil {
			b.t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
}

// TestManyRefs judges and lands a line in a repository of 3,000 refs with a few processes, as many as in one of two.
func TestManyRefs(t *testing.T) {
	many := first + `id=$(git rev-parse HEAD); i=0; { echo '# pack-refs with: peeled fully-peeled sorted'
		while [ $i -lt 3000 ]; do i=$((i+1)); echo "$id refs/tags/t$i"; done | sort -k2; } > .git/packed-refs` + "\n"
	for _, c := range []struct{ line, want string }{
		{"echo 2 > a; git commit -qam second", "content: commit refs/heads/main|content: ref moved refs/heads/main"},
		{"git branch q; git tag -d t1; git pack-refs --all", "bookkeeping: ref new refs/heads/q|loss: ref gone refs/tags/t1"},
	} {
		b := newBench(t, many, c.line)
		started := b.countGit()
		view, e := b.effects()
		saysWords(t, e, c.want)
		b.land(view)
		if n := started(); n < 3 || n > 20 {
			t.Errorf("git was started %d times", n)
		}
	}
	all := newBench(t, many, "rm .git/packed-refs")
	if _, e := all.effects(); len(e.Loss) != 3000 {
		t.Errorf("%d refs are lost", len(e.Loss))
	}
	moved := newBench(t, many, "echo 2 > a; git commit -qam second; new=$(git rev-parse HEAD); old=$(git rev-parse HEAD~1); sed -i s/$old/$new/ .git/packed-refs")
	_, e := moved.effects()
	if n := len(e.Content); n != 3002 || len(e.Loss) > 0 {
		t.Errorf("%d rows of content, %d of loss", n, len(e.Loss))
	}
	backwards := newBench(t, many+"echo 2 > a; git commit -qam second; new=$(git rev-parse HEAD); old=$(git rev-parse HEAD~1); sed -i s/$old/$new/ .git/packed-refs",
		"new=$(git rev-parse HEAD); old=$(git rev-parse HEAD~1); sed -i s/$new/$old/ .git/packed-refs")
	if _, e := backwards.effects(); len(e.Loss) != 3000 {
		t.Errorf("%d refs are lost", len(e.Loss))
	}
}

// TestTouchesNamesWhatTheJournalKeeps lists files of every kind once.
func TestTouchesNamesWhatTheJournalKeeps(t *testing.T) {
	t.Parallel()
	b := newBench(t, first+"git branch old", "echo 2 > a; git commit -qam second; git branch -qD old; git switch -qc q; git config x.y z; echo 3 > b; git add b")
	view, _ := b.effects()
	got := view.Touches()
	for _, name := range strings.Fields("HEAD config index logs/HEAD logs/refs/heads/main logs/refs/heads/old logs/refs/heads/q packed-refs refs/heads/main refs/heads/old refs/heads/q") {
		if !slices.Contains(got, filepath.Join(b.top, ".git", filepath.FromSlash(name))) {
			t.Errorf("%s is not among %s", name, got)
		}
	}
}
