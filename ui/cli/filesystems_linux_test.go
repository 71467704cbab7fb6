package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"artoo/provider/providertest"
	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// fileSystems are those that a project may lie on. mount is a shell line that mounts one at "at".
var fileSystems = []struct {
	name, mount string
	// lacks is what artoo says where it makes no layer over it; "" where it makes one.
	lacks string
}{
	{"btrfs", "truncate -s 200M disk && mkfs.btrfs -q disk && mount -o loop disk at", ""},
	{"ext4", "truncate -s 50M disk && mkfs.ext4 -q disk && mount -o loop disk at", ""},
	{"xfs", "truncate -s 320M disk && mkfs.xfs -q disk && mount -o loop disk at", ""},
	{"a container's overlay", "mkdir l u w && mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w at", ""},
	{"an overlay over an overlay", `mkdir l u w a b middle &&
		mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w middle &&
		mount -t overlay overlay -o lowerdir=middle,upperdir=a,workdir=b at`, "layers lost"},
	{"a program's, by FUSE", "mkdir from && bindfs from at", "FUSE, over which no layer can be made"},
}

// A project may lie on any file system: lines run on a layer, what they did lands and is undone, or artoo says why it
// makes none, and the file tools work.
func TestAProjectMayLieOnAnyFileSystem(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	artoo := buildProgram(t, moduleDir)
	origin := projectFrom(t, `git config user.name a; git config user.email a@example.org
		echo hello > notes.txt; echo dist/ > .gitignore; git add -A; git commit -qm first`)
	for _, n := range sweep.Cases(t, 1, len(fileSystems)) {
		disk := fileSystems[n]
		t.Run(disk.name, func(t *testing.T) {
			t.Parallel()
			project := filepath.Join(mounted(t, disk.name, disk.mount), "project")
			if said, err := exec.Command("cp", "-a", origin, project).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			m := newModel(t, func(n int, r providertest.Request) providertest.Reply {
				switch n {
				case 0:
					return providertest.Chat(providertest.Call("a", "write", `{"path":"new.txt","content":"new\n"}`))
				case 1:
					return providertest.Chat(providertest.Call("b", "bash",
						`{"command":"sed -i s/hello/bye/ notes.txt; mkdir dist; : >dist/x; git commit -qam second"}`))
				}
				return providertest.Chat(providertest.Text("done"))
			})
			env := m.env(t, "container=test", "ARTOO_SANDBOX=auto", "GIT_CONFIG_NOSYSTEM=1")
			needsLayers(t, artoo, env)
			run := func(name string, args ...string) (string, int) {
				cmd := exec.Command(name, args...)
				cmd.Dir, cmd.Env = project, env
				said, err := cmd.CombinedOutput()
				if cmd.ProcessState == nil {
					t.Fatal(err)
				}
				return string(said), cmd.ProcessState.ExitCode()
			}
			subjects := func() string { said, _ := run("git", "log", "--format=%s"); return said }
			said, code := run(artoo, "-p", "--approval", "edits", "go")
			want, log := 0, "second\nfirst\n"
			if disk.lacks != "" {
				want, log = 6, "first\n"
				start, _ := run(artoo, "doctor", "--offline")
				said += start
			}
			if code != want || !strings.Contains(said, disk.lacks) || subjects() != log {
				t.Errorf("it ended with %d, expected %d and %q; commits: %s\n%s", code, want, disk.lacks, subjects(),
					said)
			}
			if said, code := run(artoo, "undo", "--yes", "--yes"); code != 0 || subjects() != "first\n" {
				t.Errorf("undo ended with %d:\n%s", code, said)
			}
			if said, _ := run("git", "status", "--short"); said != "" {
				t.Errorf("after undo: %s", said)
			}
		})
	}
}

// mounted is a place where a file system is mounted, until the test ends.
func mounted(t *testing.T, name, line string) (at string) {
	t.Helper()
	dir := t.TempDir()
	at = filepath.Join(dir, "at")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, at := range []string{at, filepath.Join(dir, "middle")} {
			// It is mounted where the line came that far.
			_ = exec.Command("umount", "-l", at).Run()
		}
	})
	cmd := exec.Command("/bin/sh", "-ec", line)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
	}
	needs.Thing(t, name, err)
	return at
}
