package permission

import (
	"os"
	"path/filepath"
	"testing"

	"artoo/tool"
)

// effectOf is the policy's decision on a line in the root of its project.
func effectOf(p *Policy, line string) Decision {
	return p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: line, Dir: p.Root})
}

func wantEffect(t *testing.T, p *Policy, effect Verdict, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if d := effectOf(p, line); d.Verdict != effect {
			t.Errorf("%s: %s (%s), want %s", line, d.Verdict, d.Reason(), effect)
		}
	}
}

func TestASearchThatFollowsLinksStaysInTheProject(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModeAsk)
	if err := os.Symlink(t.TempDir(), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	wantEffect(t, p, Ask, "grep -R --include='*.conf' x .", "grep -R --exclude=link x .", "grep -rn --include='*.conf' x",
		"rg -L -g '*.conf' x", "rg --follow -g '*.conf' x sub/..")
	wantEffect(t, p, Run, "grep -rn --include='*.go' x sub")
}

func TestAnObjectNamedByItsIDIsNotLeftOutByAPathspec(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModeAsk)
	putFile(t, filepath.Join(root, "sub", ".env"), "SECRET=1\n")
	gitIn(t, root, "add", "-A")
	gitIn(t, root, "commit", "-q", "-m", "secret")
	wantEffect(t, p, Ask, "git show -s 1a2b3c4", "git show --stat 1a2b3c4^{}", "git show -s x-g1a2b3c4",
		"git show 1a2b3c4 -- a.txt", "git grep . 1a2b3c4 -- . ':!sub/.env'", "git grep . HEAD:sub -- . ':!sub/.env'",
		"git diff HEAD:a.txt HEAD:sub -- . ':!sub/.env'")
	wantEffect(t, p, Run, "git show -s HEAD~1", "git show --stat master", "git show HEAD -- . ':!sub/.env'",
		"git grep . master -- . ':!sub/.env'")
}

// A file that was staged once stays in the object store, whatever the index says later.
func TestGitShowsNoContentOfADeniedFileUnasked(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModeAsk)
	putFile(t, filepath.Join(root, ".env"), "SECRET=1\n")
	shown := []string{"git show 1a2b3c4", "git cat-file -p 1a2b3c4", "git diff --cached", "git grep --cached SECRET"}
	wantEffect(t, p, Run, shown...)
	gitIn(t, root, "add", "-f", ".env")
	gitIn(t, root, "rm", "-q", "--cached", ".env")
	wantEffect(t, p, Ask, shown...)
	wantEffect(t, p, Ask, "git for-each-ref --format=%(raw)", "git tag --list '--format=%(*raw)'", "git branch --format '%(raw:size)'")
	wantEffect(t, p, Run, "git show --stat master", "git log --oneline", "git for-each-ref '--format=%(refname)'")
}

// A blob has no file name: it may be the content of a denied file, past or present.
func TestGitShowsNoFileByItsObjectAloneUnasked(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModeAsk)
	putFile(t, filepath.Join(root, ".env"), "SECRET=1 --\n")
	gitIn(t, root, "add", "-f", ".env")
	gitIn(t, root, "tag", "blob", ":.env")
	gitIn(t, root, "tag", "-a", "-m", "x", "tagged", "blob")
	gitIn(t, root, "tag", "-a", "-m", "x", "twice", "tagged")
	gitIn(t, root, "update-ref", "--create-reflog", "refs/other/x", "blob")
	gitIn(t, root, "rm", "-q", "--cached", ".env")
	putFile(t, filepath.Join(root, ".env"), "SECRET=2\n") // the older content is known by no name
	for _, name := range []string{"blob", "tagged", "twice", "tags/blob", "other/x", "'other/x@{0}'", "'other/x@{10:00}'", "'tagged^{}'",
		"HEAD..blob", "blob...HEAD", "'^HEAD' blob", "HEAD:a.txt blob", "HEAD:a.txt..blob"} {
		wantEffect(t, p, Ask, "git show -s "+name)
	}
	wantEffect(t, p, Ask, "git show blob", "git show --stat tagged -- . ':!.env'", "git diff blob -- a.txt", "git grep S tagged",
		"git cat-file -p blob", "git cat-file blob -- tagged", "git show --decorate-refs -- blob", "git grep -e -- blob",
		"git show -s --all", "git show --tags -- a.txt", "git show --stat --glob=refs/other", "git show --reflog",
		"git diff --branches", "git show --indexed-objects -- a.txt")
	wantEffect(t, p, Run, "git show", "git show master", "git show HEAD:a.txt", "git diff master...HEAD", "git grep S HEAD -- a.txt",
		"git cat-file -p HEAD", "git log --all", "git log -p --tags", "git show 'HEAD^{/in: it}'", "git show --stat 'HEAD@{0}'")
}

// Words that look like a file of a commit, or like pathspecs, may show the whole commit.
func TestAColonOrTwoHyphensLeaveNoDeniedFileOut(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModeAsk)
	putFile(t, filepath.Join(root, ".env"), "SECRET=1 --\n")
	gitIn(t, root, "add", "-f", ".env")
	gitIn(t, root, "commit", "-q", "-m", "fix: it")
	wantEffect(t, p, Ask, "git show HEAD:a.txt..HEAD", "git show 'HEAD^{/fix: it}'", "git show 'HEAD@{10:00}'", "git show '@{10:00}'",
		"git show --decorate-refs -- HEAD", "git log -p --decorate-refs-exclude -- HEAD", "git grep -e -- HEAD", "git grep -ie -- HEAD",
		"git cat-file -p -- HEAD", "git stash show -p -- stash@{0}", "git show stash:.env", "git show @{u}:.env")
	wantEffect(t, p, Run, "git show HEAD:a.txt", "git show 'HEAD@{0}:a.txt'", "git log -p --decorate -1 --oneline -- a.txt",
		"git show HEAD --stat -- a.txt", "git grep -e S -- a.txt")
}

func TestAManualPageOfGitRunsNoProgramOfTheRepository(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModeAsk)
	wantEffect(t, p, Run, "git log --help", "git -C sub status --help")
	gitIn(t, root, "config", "man.viewer", "x")
	gitIn(t, root, "config", "man.x.cmd", "touch PWN")
	wantEffect(t, p, Ask, "git log --help", "git -C sub grep --help", "git stash list --help")
}

func TestCommandsInTextsAreSeenByDenyAndByWhatIsAskedAlways(t *testing.T) {
	t.Parallel()
	_, p := harmlessTree(t, ModeAsk)
	rules, err := ParseRules([]string{"bash"})
	if err != nil {
		t.Fatal(err)
	}
	p.AllowRules = rules
	for _, spelling := range []string{`x="rm -rf q"; $x`, `x=rm; $x -rf q`, `echo "rm -rf q" | sh`,
		`source <(echo rm -rf q)`, `fish -c "rm -rf q"`,
		`test -v 'a[$(rm -rf q)]'`, `[ -v 'a[$(rm -rf q)]' ]`, `let 'a[$(rm -rf q)]=1'`,
		`declare -i x='a[$(rm -rf q)]'`, `declare -i "x=a[\$(rm -rf q)]"`, `unset 'a[$(rm -rf q)]'`,
		`printf -v 'a[$(rm -rf q)]' x`, `mapfile -C "rm -rf q" -c 1 x < a.txt`, `compgen -C "rm -rf q"`,
		`complete -C "rm -rf q" x`, `bind -x '"a":rm -rf q'`,
		`git -c alias.x='!rm -rf q' x`, `trap "rm -rf q" EXIT`, `bash <<< "rm -rf q"`, `alias l="rm -rf q"; l`} {
		wantEffect(t, p, Ask, spelling)
		if p.DenyRules, err = ParseRules([]string{"bash(rm:*)"}); err != nil {
			t.Fatal(err)
		}
		wantEffect(t, p, Refuse, spelling)
		p.DenyRules = nil
	}
	wantEffect(t, p, Run, `x=1; make`, `echo "rm -rf q"`, `printf '%s\n' 'a[1]'`, `x="rm -rf q"; make`,
		`git -c user.name=x commit -m y`)
}
