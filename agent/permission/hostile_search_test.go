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

// What git stores is no secret; what a hidden file has become in the work tree is one.
func TestWhatGitStoresIsReadUnasked(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModeAsk)
	putFile(t, filepath.Join(root, ".env"), "SECRET=1\n")
	gitIn(t, root, "add", "-f", ".env")
	gitIn(t, root, "commit", "-q", "-m", "secret")
	wantEffect(t, p, Run, "git show", "git log -p --all", "git cat-file -p 1a2b3c4", "git diff --cached", "git grep --cached SECRET")
	wantEffect(t, p, Ask, "git diff", "git diff HEAD -- .", "git grep SECRET")
	p.Confinement = Confinement{Sandbox: true, ByEntry: true}
	wantEffect(t, p, Run, "git diff", "git grep SECRET")
}

func TestAManualPageOfGitRunsNoProgramOfTheRepository(t *testing.T) {
	t.Parallel()
	root, p := harmlessTree(t, ModeAsk)
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
	wantEffect(t, p, Run, `x=1; make`, `echo "rm -rf q"`, `printf '%s\n' 'a[1]'`,
		`git -c user.name=x commit -m y`)
}
