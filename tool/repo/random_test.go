package repo_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"artoo/tool/repo"
	"artoo/tool/sweep"
)

// TestAnyLinesLand runs random lines, one after the other, and lands each: the project then equals the layer.
func TestAnyLinesLand(t *testing.T) {
	t.Parallel()
	for _, seed := range sweep.Cases(t, 1, 40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(seed), 8))
			b := newBench(t, first, ":")
			for range 8 {
				var line []string
				for range 1 + r.IntN(4) {
					line = append(line, "{ "+randomCommand(r)+"; } >/dev/null 2>&1 || true")
				}
				b.line(strings.Join(line, "\n"))
				view, e := b.effects()
				if err := b.replay(view); errors.Is(err, repo.ErrStops) {
					continue
				} else if err != nil {
					t.Fatalf("%s\n%v\n%s", strings.Join(line, "\n"), err, texts(e))
				}
				b.same()
				if touched := view.Touches(); words(e) == "" && len(touched) > 0 {
					t.Errorf("no row says why %s change", touched)
				}
				if t.Failed() {
					t.Fatalf("%s\n%s\n%s", strings.Join(line, "\n"), words(e), texts(e))
				}
			}
		})
	}
}

func randomCommand(r *rand.Rand) string {
	file := []string{"a", "b", "c", "d/e", "d"}[r.IntN(5)]
	branch := []string{"main", "x", "y", "x/z"}[r.IntN(4)]
	commands := []string{
		"mkdir -p d; echo $RANDOM" + fmt.Sprint(r.IntN(9)) + " > " + file, "mkdir -p d; echo " + fmt.Sprint(r.IntN(4)) + " >> " + file,
		"chmod +x " + file, "rm -r " + file, "rm -f " + file + "; ln -s b " + file,
		"git add " + file, "git add -A", "git add -N " + file, "git rm -q --cached -r " + file, "git rm -q -r -f " + file, "git mv " + file + " moved" + fmt.Sprint(r.IntN(3)),
		"git commit -q -m c" + fmt.Sprint(r.IntN(99)), "git commit -q -am c" + fmt.Sprint(r.IntN(99)), "git commit -q --amend -m amended" + fmt.Sprint(r.IntN(99)),
		"git switch -q " + branch, "git switch -q -c " + branch, "git switch -q --detach", "git switch -q --orphan " + branch,
		"git checkout -q -B " + branch, "git checkout -q -f " + branch,
		"git branch " + branch, "git branch -q -D " + branch, "git branch -m " + branch, "git branch -f " + branch + " HEAD~1",
		"git merge -q " + branch + " -m merged", "git merge -q --no-ff " + branch + " -m merged", "git merge --abort", "git merge --squash " + branch,
		"git tag v" + fmt.Sprint(r.IntN(3)), "git tag -f -am t v" + fmt.Sprint(r.IntN(3)), "git tag -d v" + fmt.Sprint(r.IntN(3)),
		"git stash push -q", "git stash push -q -u", "git stash pop -q", "git stash drop -q stash@{1}", "git stash apply -q",
		"git reset -q --hard", "git reset -q --hard HEAD~1", "git reset -q --soft HEAD~1", "git reset -q " + file, "git restore -s HEAD~1 " + file,
		"git cherry-pick " + branch, "git cherry-pick -n " + branch, "git cherry-pick --abort", "git revert --no-edit HEAD", "git rebase -q " + branch, "git rebase --abort",
		"git pack-refs --all", "git update-index --assume-unchanged " + file, "git update-index --no-assume-unchanged " + file,
		"git update-index --skip-worktree " + file, "git update-index --no-skip-worktree " + file,
		"git config branch." + branch + ".remote .; git config --add x.y z", "git config --unset-all x.y", "git gc -q", "git repack -q -a -d",
	}
	return commands[r.IntN(len(commands))]
}
