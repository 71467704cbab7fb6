package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// Each of these lines changes the index. Undo brings it back by entry, and so does redo, when git
// has learned of files meanwhile and when the user has staged another one.
func TestUndoOfWhatAnyLineStaged(t *testing.T) {
	t.Parallel()
	shared := home(t, "container=test", "ARTOO_SANDBOX=auto")
	needsLayers(t, buildProgram(t, moduleDir), shared)
	origin := projectFrom(t, `git config user.name a; git config user.email a@example.org
mkdir d; for f in a b zz d/c s; do echo 1 > $f; done; git add .; git commit -qm first; git switch -qc topic; echo 2 > d/c
git commit -qam topic; git switch -q main; echo mine >> b; echo staged >> s; git add s`)
	for _, staging := range sampled(t, 2, []string{
		"echo x >> a; git commit -qam x",
		"echo x >> a; echo new > n; git add a n",
		"git rm -q a",
		"git mv a d/moved",
		"git stash -q",
		"git switch -q topic",
		"git add b; git restore --staged s; echo y > y; git add -N y",
	}) {
		t.Run(staging, func(t *testing.T) {
			t.Parallel()
			env, project := newModel(t, line(t, staging)).at(shared), copied(t, origin)
			run := func(program string, args ...string) string {
				if program == "artoo" {
					said, code := ran(t, project, env, "", args...)
					if code != 0 {
						t.Fatalf("%q: %d\n%s", args, code, said)
					}
					return said
				}
				cmd := exec.Command(program, args...)
				cmd.Dir, cmd.Env = project, env
				said, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s %q: %v\n%s", program, args, err, said)
				}
				return string(said)
			}
			state := func() (list []string) {
				for line := range strings.Lines(run("/bin/sh", "-ec", "git status --porcelain; git ls-files -sv; git for-each-ref; git symbolic-ref HEAD; cat a b d/c s || true")) {
					if !strings.HasSuffix(line, " mine\n") && !strings.HasSuffix(line, "\tmine\n") {
						list = append(list, line)
					}
				}
				return list
			}
			want := state()
			run("artoo", "-p", "--approval", "auto", "go")
			done := state()
			const learned, staged = "touch -d @1 zz; git status", "echo something else > mine; git add mine; git status"
			for _, step := range []struct {
				meanwhile, redo string
				want            []string
			}{{learned, "", want}, {learned, "--redo", done}, {staged, "", want}, {staged, "--redo", done}} {
				run("/bin/sh", "-ec", step.meanwhile)
				args := []string{"undo", "--yes", "--yes"}
				if step.redo != "" {
					args = append(args, step.redo)
				}
				said := run("artoo", args...)
				if now := state(); strings.Join(now, "") != strings.Join(step.want, "") {
					t.Fatalf("after %q:\n%s\nwanted\n%s\n%s", args, strings.Join(now, ""), strings.Join(step.want, ""), said)
				}
				if step.meanwhile == staged {
					run("git", "cat-file", "-e", ":mine")
				}
			}
		})
	}
}
