package cli

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"artoo/provider/providertest"
)

// Each of these lines changes the index. Undo brings it back by entry, and so does redo, when git
// has learned of files meanwhile and when the user has staged another one.
func TestUndoOfWhatALineStaged(t *testing.T) {
	t.Parallel()
	artoo := buildProgram(t, moduleDir)
	for _, line := range []string{
		"echo x >> a; git commit -qam x",
		"echo x >> a; echo new > n; git add a n",
		"git rm -q a",
		"git mv a d/moved",
		"git stash -q",
		"git switch -q topic",
		"git add b; git restore --staged s; echo y > y; git add -N y",
	} {
		for _, meanwhile := range []string{"touch -d @1 zz; git status", "echo something else > mine; git add mine; git status"} {
			t.Run(line+" "+meanwhile, func(t *testing.T) {
				t.Parallel()
				m := newModel(t, func(n int, r providertest.Request) providertest.Reply {
					if lastMessage(t, r.Body).Role != "user" {
						return providertest.Chat(providertest.Text("well done"))
					}
					input, err := json.Marshal(map[string]string{"command": line})
					if err != nil {
						t.Error(err)
					}
					return providertest.Chat(providertest.Call(fmt.Sprint("c", n), "bash", string(input)))
				})
				env := m.env(t, "container=test", "ARTOO_SANDBOX=auto")
				if here, err := layersHere(artoo, env); err != nil || !here {
					t.Log("nothing makes a layer here", err)
					return
				}
				project := t.TempDir()
				run := func(program string, args ...string) string {
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
				run("/bin/sh", "-ec", `git init -q -b main .; git config user.name a; git config user.email a@example.org
mkdir d; for f in a b zz d/c s; do echo 1 > $f; done; git add .; git commit -qm first; git switch -qc topic; echo 2 > d/c
git commit -qam topic; git switch -q main; echo mine >> b; echo staged >> s; git add s`)
				want := state()
				run(artoo, "-p", "--approval", "auto", "go")
				done := state()
				for _, step := range []struct {
					args []string
					want []string
				}{{[]string{"undo", "--yes", "--yes"}, want}, {[]string{"undo", "--redo", "--yes", "--yes"}, done},
					{[]string{"undo", "--yes", "--yes"}, want}} {
					run("/bin/sh", "-ec", meanwhile)
					said := run(artoo, step.args...)
					if now := state(); strings.Join(now, "") != strings.Join(step.want, "") {
						t.Fatalf("after %q:\n%s\nwanted\n%s\n%s", step.args, strings.Join(now, ""), strings.Join(step.want, ""), said)
					}
					if strings.Contains(meanwhile, "mine") {
						run("git", "cat-file", "-e", ":mine")
					}
				}
			})
		}
	}
}
