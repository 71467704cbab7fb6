package permission

import "testing"

// TestWhatThrowsWorkAwayIsAskedWhateverTheMode has lines that a rule for every
// command does not cover, and lines that look like them.
func TestWhatThrowsWorkAwayIsAskedWhateverTheMode(t *testing.T) {
	t.Parallel()
	policy := func(allow string) *Policy { return testPolicy(t, ModeAsk, allow, "", "") }
	for _, line := range []string{
		"git reset --hard", "git reset --merge HEAD", "git clean -fd", "git checkout -f", "git checkout -- a",
		"git checkout old.txt", "git checkout HEAD old.txt", "git checkout .", "git switch -f x",
		"git switch --discard-changes x", "git restore a", "git stash drop", "git stash clear", "git branch -D x",
		"git branch -f x y", "git push -f", "git push --force-with-lease", "git push --delete x y", "git push --mirror",
		"git push x :y", "git push x +y", "git rebase main", "git filter-branch", "git update-ref -d refs/heads/x",
		"git reflog expire --all", "git gc --prune=now", "git worktree remove -f x", "git worktree remove --force x",
		"rm -r x", "rm -Rf x", "find . -delete", "find . -name x -delete", "shred a", "truncate -s 0 a", "mv a old.txt",
		"mv sub/old.txt .", "go test > old.txt", "go test >| old.txt", "go test &> old.txt",
		"cd sub && echo x > old.txt", "x=rm; $x -rf q", "x=git; $x reset --hard", "$y -rf q", "sudo rm -rf q",
		"sh -c 'rm -rf q'", "dash -c 'git clean -fd'", "xargs rm -r", "bash <<< 'rm -r q'", "trap 'rm -r q' EXIT",
		"tee .git/config", "echo x | tee -a .git/hooks/pre-commit", "cp x .git/config", "cp -t .git/hooks x",
		"cp x --target-directory=.git/hooks", "cp pre-commit .git/hooks", "mv x .git/config", "mv .git/config x",
		"sed -i s/a/b/ .git/config", "perl -pi -e s/a/b/ .git/config", "git config core.pager x",
		"git config --global core.fsmonitor ./x", "dd of=.git/config", "ln -s x .git/hooks/post-checkout",
		"install x .husky/pre-commit", "cp -l .git/config x", "cp -fs .git/config x", "cp --link AGENTS.md x",
		"link .git/config x", "split -n1 x .npmrc", "echo x > .envrc", "echo x >> .github/workflows/x.yml",
		"tee AGENTS.md", "cd .git && tee config", "cp x .g*/config", "rm .git/config", "chmod +x .git/hooks/x",
		"curl -o .npmrc x", "touch .vscode/tasks.json", "echo x > sub/../.git/config",
	} {
		for _, allow := range []string{"bash", "bash(git:*)|bash(cp:*)|bash(tee:*)|bash(sed:*)|bash(rm:*)"} {
			lineIs(t, policy(allow), line, Ask)
		}
	}
	for _, c := range []struct{ allow, line string }{
		{"bash", "git reset HEAD~1"}, {"bash", "git checkout main"}, {"bash", "git checkout -b new"},
		{"bash", "git push"}, {"bash", "git branch -d x"}, {"bash", "git stash"}, {"bash", "git commit -am x"},
		{"bash", "rm a"}, {"bash", "mv a new.txt"}, {"bash", "go test > new.txt"}, {"bash", "go test >> old.txt"},
		{"bash", "tee new.txt"}, {"bash", "cp a old.txt"}, {"bash", "git config --get user.name"},
		{"bash", "git config --list --show-origin"}, {"bash", "git config -l"}, {"bash", "x=1; $x y"},
		{"bash", "find . -name x"}, {"bash", "git worktree remove x"}, {"bash(git reset --hard)", "git reset --hard"},
		{"bash(rm -rf build)", "rm -rf build"}, {"bash(rm -rf:*)", "rm -rf build"},
		{"bash(git push --force:*)", "git push --force x"}, {"bash(tee .git/info/exclude)", "tee .git/info/exclude"},
		{"bash(mv:*)", "mv a old.txt"}, {"bash(git clean:*)", "git clean -fd"},
	} {
		lineIs(t, policy(c.allow), c.line, Run)
	}
}
