package repo_test

import (
	"crypto/sha1"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/repo"
	"artoo/tool/sweep"
)

const second = first + "echo 2 > a; git commit -qam second\n"

// diverged is a repository whose branches main and topic changed one file each in its own
// way; topic is checked out.
const diverged = first + "git switch -qc topic; echo 2 > a; git commit -qam topic; git switch -q main; echo 3 > a; git commit -qam third; git switch -q topic\n"

// plant writes a loose object of other content under the id of "later".
const plant = `id=$(echo later | git hash-object --stdin)
	other=$(echo other | git hash-object -w --stdin)
	dir=.git/objects/$(echo $id | cut -c1-2); mkdir -p $dir
	cp .git/objects/$(echo $other | cut -c1-2)/$(echo $other | cut -c3-) $dir/$(echo $id | cut -c3-)
`

// attacks have the lines before, the line itself, the words of its effects and a check of the result. No words mean
// any harm.
var attacks = []struct{ name, before, line, want, check string }{
	{"a planted object", first, plant + "git branch q", "bookkeeping: ref new refs/heads/q",
		"! git cat-file -e $(echo later | git hash-object --stdin)"},
	{"a planted object that is staged", first, plant + "git update-index --add --cacheinfo 100644,$id,c",
		"forbidden: bad entry c", "test -z \"$(git ls-files c)\""},
	{"a planted object in a commit", first,
		plant + `tree=$(printf '100644 blob %s\tc\n' $id | git mktree --missing); git update-ref refs/heads/q $(git commit-tree -m x $tree)`,
		"forbidden: bad ref refs/heads/q", "! git rev-parse -q --verify q"},
	{"a link for a message", first, "git branch q; ln -sf ../../x .git/COMMIT_EDITMSG",
		"bookkeeping: ref new refs/heads/q|forbidden: special .git/COMMIT_EDITMSG", "! test -L .git/COMMIT_EDITMSG"},
	{"a link for refs", first, "mv .git/refs/heads .git/h; ln -s ../h .git/refs/heads", "", ""},
	{"a FIFO", first, "mkfifo .git/x", "forbidden: special .git/x", "! test -e .git/x"},
	{"setuid", first, "cp .git/HEAD .git/x; chmod 4755 .git/x", "forbidden: special .git/x", "! test -e .git/x"},
	{"the objects are removed", first, "git branch q; rm -rf .git/objects",
		"bookkeeping: ref new refs/heads/q|loss: objects objects", "git fsck && git rev-parse q"},
	{"backwards", second, "git update-ref refs/heads/main HEAD~1",
		"loss: ref moved refs/heads/main", ""},
	{"checkout -B", second, "git checkout -q -B main HEAD~1", "loss: ref moved refs/heads/main", ""},
	{"tag -f", second + "git tag v1", "git tag -f v1 HEAD~1", "loss: ref moved refs/tags/v1", ""},
	{"tag -f of a tag object", second + "git tag -am x v1 HEAD~1", "git tag -f v1 HEAD", "loss: ref moved refs/tags/v1", ""},
	{"tag -f forwards", second + "git tag v1 HEAD~1", "git tag -f v1 HEAD", "content: ref moved refs/tags/v1", ""},
	{"alternates", first, "git branch q; echo /x > .git/objects/info/alternates",
		"bookkeeping: ref new refs/heads/q|guarded: unknown objects", "! test -e .git/objects/info/alternates"},
	{"branch -D", first + "git branch old", "git branch -q -D old", "loss: ref gone refs/heads/old", "! git rev-parse -q --verify old"},
	{"a ref's file is removed", first + "git branch old", "rm .git/refs/heads/old", "loss: ref gone refs/heads/old", ""},
	{"all refs are removed", first, "rm -r .git/refs", "loss: ref gone refs/heads/main", ""},
	{"a packed ref is removed", first + "git branch old; git pack-refs --all", "git branch -q -D old",
		"loss: ref gone refs/heads/old", "! grep old .git/packed-refs"},
	{"amend", first, "echo 2 > a; git commit -qa --amend -m other",
		"content: commit refs/heads/main|loss: ref moved refs/heads/main", "git log --format=%s | grep -x other"},
	{"rebase", first + "git switch -qc topic; echo 2 > c; git add c; git commit -qm topic; git switch -q main; echo 3 > a; git commit -qam third",
		"git switch -q topic; git rebase -q main",
		"content: commit refs/heads/topic|content: head HEAD|loss: ref moved refs/heads/topic", "git log --format=%s | grep -x third"},
	{"stash drop", first + "echo 2 > a; git stash -q", "git stash drop -q", "loss: ref gone refs/stash", ""},
	{"stash clear", first + "echo 2 > a; git stash -q; echo 3 > a; git stash -q", "git stash clear",
		"loss: ref gone refs/stash|loss: ref gone refs/stash", ""},
	{"reset --hard", first + "echo 2 > a; git add a", "git reset -q --hard", "content: staged a", ""},
	{"reset --hard to a commit", second, "git reset -q --hard HEAD~1", "loss: ref moved refs/heads/main", ""},
	{"staged content is replaced", first + "echo 2 > a; git add a; echo 3 > a", "git add a",
		"content: staged a", ""},
	{"staged content goes with a file", first + "echo 2 > c; git add c", "git rm -q -f c", "content: staged c", ""},
	{"staged content is moved", first + "echo 2 > c; git add c", "git mv c d", "bookkeeping: staged d|content: staged c", ""},
	{"the index is removed", first, "rm .git/index", "forbidden: bad entry index", "git ls-files a | grep a"},
	{"the index is damaged", first, "echo x > .git/index", "forbidden: bad entry index", "git ls-files a | grep a"},
	{"an ignored file is staged", first, "echo 1 > ignored; git add -f ignored", "content: staged ignored", ""},
	{"assume-unchanged", first, "git update-index --assume-unchanged a", "guarded: index flag a", "git ls-files -v a | grep ^h"},
	{"skip-worktree", first, "echo 2 > a; git add a; git update-index --skip-worktree a",
		"content: staged a|guarded: index flag a", "git ls-files -v a | grep ^S"},
	{"replace", second, "git replace HEAD HEAD~1", "guarded: ref new refs/replace/ID", ""},
	{"worktree add", first, "git worktree add -q wt", "bookkeeping: ref new refs/heads/wt|stops: unknown worktrees", "! git rev-parse -q --verify wt"},
	{"worktree remove", first + "git worktree add -q wt", "git worktree remove wt", "stops: unknown worktrees", "git -C wt status"},
	{"a rebase that stops", diverged, "git rebase main || true",
		"bookkeeping: pending MERGE_MSG|content: head HEAD|content: staged a|stops: under way rebase-merge", "test ! -e .git/rebase-merge"},
	{"several cherry-picks and a conflict", diverged + "echo 5 > d; git add d; git commit -qm d; git switch -q main", "git cherry-pick topic~1 topic || true",
		"bookkeeping: pending MERGE_MSG|content: pending CHERRY_PICK_HEAD|content: staged a|stops: under way sequencer", "git diff --quiet"},
	{"bisect", diverged, "git bisect start; git bisect bad", "stops: under way BISECT_LOG|guarded: ref new refs/bisect/bad", "test ! -e .git/BISECT_LOG"},
	{"config", first, "git config core.fsmonitor ./x; git config --add core.hooksPath y",
		"guarded: config core.fsmonitor|guarded: config core.hookspath", "git config core.hooksPath | grep y"},
	{"a branch that follows nothing known", first,
		"git branch q; git config branch.q.remote ext::x; git config branch.q.merge refs/heads/x; git config branch.q.pushremote x",
		"bookkeeping: ref new refs/heads/q|guarded: config branch.q.merge|guarded: config branch.q.pushremote|guarded: config branch.q.remote", ""},
	{"the configuration is damaged", first, "echo '[x' > .git/config", "guarded: config config", "git config user.name"},
	{"a hook", first, "echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", "guarded: unknown hooks", "! test -e .git/hooks/pre-commit"},
	{"excludes", first, "mkdir -p .git/info; echo x > .git/info/exclude", "guarded: unknown info", ""},
	{"an unknown file", first, "echo x > .git/commondir", "guarded: unknown commondir", "! test -e .git/commondir"},
	{"symbolic refs in a circle", first,
		"git symbolic-ref refs/heads/x refs/heads/y; git symbolic-ref refs/heads/y refs/heads/x",
		"forbidden: bad ref refs/heads/x|forbidden: bad ref refs/heads/y", "! test -e .git/refs/heads/x"},
	{"HEAD is in a circle", first, "printf 'ref: refs/heads/x\\n' > .git/HEAD; printf 'ref: refs/heads/x\\n' > .git/refs/heads/x",
		"forbidden: bad ref refs/heads/x|forbidden: bad ref HEAD", "git rev-parse HEAD"},
	{"HEAD leads out of refs", first, "echo 'ref: refs/heads/../../x' > .git/HEAD", "forbidden: bad ref HEAD", "git rev-parse HEAD"},
	{"HEAD holds nothing", first, "echo x > .git/HEAD", "forbidden: bad ref HEAD", "git rev-parse HEAD"},
	{"HEAD is removed", first, "rm .git/HEAD", "forbidden: bad ref HEAD", "git rev-parse HEAD"},
	{"HEAD is a link", first, "ln -sf refs/heads/main .git/HEAD", "forbidden: special .git/HEAD", "! test -L .git/HEAD"},
	{"a ref with control characters", first, "cp .git/refs/heads/main .git/refs/heads/$(printf 'x\\033y')",
		"forbidden: bad ref refs/heads/x\x1by", ""},
	{"a ref that is locked", first, "cp .git/refs/heads/main .git/refs/heads/main.lock; : > .git/index.lock", "", "git add -A"},
	{"a ref with no id", first, "echo x > .git/refs/heads/q; echo > .git/refs/heads/main", "forbidden: bad ref refs/heads/main|forbidden: bad ref refs/heads/q",
		"git rev-parse main"},
	{"a branch that is not a commit", first, "git rev-parse HEAD:a > .git/refs/heads/q", "forbidden: bad ref refs/heads/q", ""},
	{"a branch without its objects", first, "echo 1234567890123456789012345678901234567890 > .git/refs/heads/q", "forbidden: bad ref refs/heads/q", ""},
	{"a bad branch beside a good one", first, plant + `tree=$(printf '100644 blob %s\tc\n' $id | git mktree --missing)
		git update-ref refs/heads/q $(git commit-tree -m x $tree); git switch -qc r; echo 2 > a; git commit -qam good`,
		"content: commit refs/heads/r|content: head HEAD|content: ref new refs/heads/r|forbidden: bad ref refs/heads/q", "git log -1 --format=%s r | grep good"},
	{"another ref", first, "git update-ref refs/remotes/o/main HEAD; git notes add -m x",
		"content: commit refs/notes/commits|guarded: ref new refs/notes/commits|guarded: ref new refs/remotes/o/main", ""},
	{"a guarded file in a commit", first,
		`id=$(echo run | git hash-object -w --stdin); tree=$(printf '100644 blob %s\t.envrc\n' $id | git mktree)
		git branch q $(git commit-tree -m x $tree)`,
		"content: commit refs/heads/q|content: ref new refs/heads/q|guarded: guarded blob .envrc", ""},
	{"a guarded file between two commits", first,
		"echo run > .envrc; git add .envrc; git commit -qm one; git rm -q .envrc; git commit -qm two",
		"content: commit refs/heads/main|content: commit refs/heads/main|content: ref moved refs/heads/main|guarded: guarded blob .envrc", ""},
	{"a guarded file in the index", first, "echo run > .envrc; git add .envrc; rm .envrc",
		"content: staged .envrc|guarded: guarded blob .envrc", ""},
	{"a guarded file in the stash", first, "echo run > .envrc; git stash -q -u",
		"content: stash ID|guarded: guarded blob .envrc", ""},
	{"a guarded file as it was before", first + "echo 1 > .envrc; git add .envrc; git commit -qm one; echo 2 > .envrc; git commit -qam two",
		"git revert --no-edit HEAD >/dev/null", "content: commit refs/heads/main|content: ref moved refs/heads/main", ""},
	{"another path's content at a guarded one", first, "cp a .envrc; git add .envrc; git commit -qm x",
		"content: commit refs/heads/main|content: ref moved refs/heads/main|guarded: guarded blob .envrc", ""},
	{"a shortened reflog", second, ": > .git/logs/HEAD; rm .git/logs/refs/heads/main",
		"loss: reflog HEAD|loss: reflog refs/heads/main", "git rev-parse HEAD@{1}"},
	{"all reflogs", second, "rm -r .git/logs", "loss: reflog HEAD|loss: reflog refs/heads/main", "git rev-parse HEAD@{1}"},
	{"detached commits", first + "git switch -q --detach; echo 2 > a; git commit -qam lost", "git switch -q main",
		"content: head HEAD|loss: detached ID", ""},
	{"detached commits that a branch reaches", first + "git switch -q --detach; echo 2 > a; git commit -qam kept", "git switch -qc q",
		"bookkeeping: head HEAD|bookkeeping: ref new refs/heads/q", ""},
	{"a forged merge", first, "git rev-parse HEAD:a > .git/MERGE_HEAD", "forbidden: bad ref MERGE_HEAD", "! test -e .git/MERGE_HEAD"},
	{".git is removed", first, "rm -rf .git", "loss: objects .git", "git fsck"},
	{".git is a file", first, "mv .git g; echo 'gitdir: g' > .git",
		"stops: objects .git", "git fsck"},
	{".git is a link", first, "mv .git g; ln -s g .git", "stops: objects .git", "git fsck"},
	{"the configuration is removed", first, "rm .git/config", "guarded: config config", "git config user.name"},
	{"a replace ref is there before", second + "git tag old HEAD~1; git tag new $(git commit-tree -m x HEAD:); git replace --graft new old", "git tag -f old new",
		"loss: ref moved refs/tags/old", ""},
	{"a renamed branch", first + "git branch x", "git branch -m x x/y", "bookkeeping: ref new refs/heads/x/y|loss: ref gone refs/heads/x",
		"git rev-parse x/y"},
	{"gc", second + "git branch q HEAD~1", "echo 3 > a; git commit -qam third; git gc -q --prune=now; rm -rf .git/gc.log",
		"", "git log -1 --format=%s | grep third; git fsck"},
	{"only the index's stat data", first, "touch -d @1 a; git update-index --refresh", "", ""},
	{"intent to add", first, "echo 1 > c; git add -N c", "bookkeeping: staged c", "git diff --name-only | grep c; test -z \"$(git diff --cached --name-only)\""},
}

// TestAnyAttack runs lines that do more than they seem to: none passes for bookkeeping, and files that never land are
// not there afterwards.
func TestAnyAttack(t *testing.T) {
	t.Parallel()
	for _, n := range sweep.Cases(t, 12, len(attacks)) {
		c := attacks[n]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.before, c.line)
			b.guarded = func(name string) bool { return path.Base(name) == ".envrc" }
			b.ignored = func(name string) bool { return name == "ignored" }
			view, e := b.effects()
			if c.want != "" || words(e) == "" {
				saysWords(t, e, c.want)
			} else if len(e.Guarded)+len(e.Forbidden)+len(e.Loss) == 0 {
				t.Errorf("judged harmless: %s", words(e))
			}
			if err := b.replay(view); errors.Is(err, repo.ErrStops) != strings.Contains(words(e), "stops: ") || err != nil && !errors.Is(err, repo.ErrStops) {
				t.Fatal(err)
			}
			if links := b.sh(b.top, "find .git -type l -o -type p"); links != "" {
				t.Errorf("landed %s", links)
			}
			if c.check != "" {
				b.sh(b.top, "set -x; "+c.check)
			}
			b.sh(b.top, "git status")
		})
	}
}

// TestPackedRefsThatGitDoesNotRead leads out of the refs: the whole repository is refused, with git's reason.
func TestPackedRefsThatGitDoesNotRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, first, "git rev-parse HEAD > id; printf '%s refs/heads/../../y\\n' $(cat id) >> .git/packed-refs; git branch q")
	if _, err := repo.Open(t.Context(), b.repository(), b.dir, b.changes(), b.open); err == nil || !strings.Contains(err.Error(), "refs/heads/../../y") {
		t.Errorf("Open says %v", err)
	}
}

// TestForgedIndex changes the index as no git command does.
func TestForgedIndex(t *testing.T) {
	t.Parallel()
	b := newBench(t, first, "mkdir xgit; echo '[core]' > xgit/config; git add xgit")
	name := filepath.Join(b.layer, ".git", "index")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	forged := []byte(strings.Replace(string(data), "xgit/config", ".git/config", 1))
	sum := sha1.Sum(forged[:len(forged)-sha1.Size])
	if err := os.WriteFile(name, append(forged[:len(forged)-sha1.Size], sum[:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	view, e := b.effects()
	saysWords(t, e, "forbidden: bad entry .git/config")
	b.land(view)
	if list := b.sh(b.top, "git ls-files"); strings.Contains(list, ".git") {
		t.Errorf("landed %s", list)
	}
}

// TestWhatChangedMeanwhile changes the project after Open: then nothing is done.
func TestWhatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, meanwhile string }{
		{"the branch", "git commit -q --allow-empty -m mine"},
		{"another ref of the same name", "git branch q HEAD"},
		{"the index", "echo 5 > b; git add b"},
		{"HEAD", "git switch -qc mine"},
		{"a lock of the index", ": > .git/index.lock"},
		{"a lock of the branch", ": > .git/refs/heads/main.lock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, first, "echo 2 > a; git commit -qam second; git branch q; echo 3 > a; git add a")
			view, _ := b.effects()
			b.sh(b.top, c.meanwhile)
			before := b.sh(b.top, "rm -f .git/index.lock.kept; git for-each-ref; cat .git/HEAD; git --no-optional-locks ls-files -s; ls .git")
			if err := view.Replay(t.Context()); err == nil {
				t.Fatal("the changes were made")
			}
			after := b.sh(b.top, "git for-each-ref; cat .git/HEAD; git --no-optional-locks ls-files -s; ls .git")
			if before != after {
				t.Errorf("Replay made\n%s\nof\n%s", after, before)
			}
		})
	}
}

// TestUnderWay begins a rebase that stops: nothing is replayed.
func TestUnderWay(t *testing.T) {
	t.Parallel()
	b := newBench(t, first+"git switch -qc topic; echo 2 > a; git commit -qam topic; git switch -q main; echo 3 > a; git commit -qam third",
		"git switch -q topic; git rebase -q main || true")
	view, e := b.effects()
	if !slices.ContainsFunc(e.Guarded, func(r repo.Row) bool { return r.Kind == repo.UnderWay }) {
		t.Errorf("judged %s", words(e))
	}
	if err := view.Replay(t.Context()); !errors.Is(err, repo.ErrStops) {
		t.Errorf("Replay says %v", err)
	}
	if head := b.sh(b.top, "cat .git/HEAD"); head != "ref: refs/heads/main\n" {
		t.Errorf("HEAD is %s", head)
	}
}

// TestNothingConfiguredRuns puts programs into the project's repository and the user's
// configuration.
func TestNothingConfiguredRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t, first, "echo 2 > a; git commit -qam second; git switch -qc q; git branch r; echo 4 > b; git add b; git config x.y z")
	mark := filepath.Join(b.dir, "ran")
	script := filepath.Join(b.dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$0 $*\" >> '"+mark+"'\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.sh(b.top, `SCRIPT=`+script+`; for hook in reference-transaction post-index-change pre-auto-gc post-checkout pre-commit; do cp "$SCRIPT" .git/hooks/$hook; done
		git config core.fsmonitor "$SCRIPT"; git config filter.x.clean "$SCRIPT"; git config diff.x.textconv "$SCRIPT"
		git init -q --bare .git/store; echo "$PWD/.git/store/objects" > .git/objects/info/alternates
		for key in core.alternateRefsCommand core.gitProxy core.sshCommand uploadpack.packObjectsHook; do git config $key "$SCRIPT"; done
		git config diff.external "$SCRIPT"; git config core.pager "$SCRIPT"; git config gc.auto 1
		mkdir -p .git/info; echo '* filter=x diff=x' > .git/info/attributes; cat > `+mark+` < /dev/null`)
	view, _ := b.effects()
	b.land(view)
	if data, err := os.ReadFile(mark); err != nil || len(data) > 0 {
		t.Errorf("ran %s (%v)", data, err)
	}
}
