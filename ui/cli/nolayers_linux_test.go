package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"artoo/provider/providertest"
	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// TestAnyLineOnMachinesWithoutLayers runs lines headless where the kernel gives no namespaces, and
// where nothing confines.
func TestAnyLineOnMachinesWithoutLayers(t *testing.T) {
	t.Parallel()
	artoo := buildProgram(t, moduleDir)
	origin := projectFrom(t, `echo hello > notes.txt; printf 'all:\n\techo made > notes.txt\n' > Makefile`)
	const landlock, none, lost = "landlock", "none", "lost"
	for _, row := range sweep.Of(t, 4, []struct {
		place, line string
		options     string // of artoo; trust and on are not: the project is trusted to run its programs, ARTOO_SANDBOX=on
		project     string // a shell line that changes the project beforehand
		code        int
		says        string // by artoo or in the result for the model
		changes     bool   // the line changes notes.txt
	}{
		{landlock, "cat notes.txt", "", "", 0, "hello", false},
		{landlock, "sed -n 1p notes.txt", "", "", 6, "denied", false},
		{landlock, "cat notes.txt", "--approval plan", "", 0, "hello", false},
		{landlock, "awk 1 notes.txt", "--approval plan", "", 0, "plan mode changes nothing", false},
		{landlock, "sed -i s/hello/bye/ notes.txt", "--approval edits", "", 6, "denied", false},
		{landlock, "sed -i s/hello/bye/ notes.txt", "--allow bash(sed:*)", "", 0, "no new entries beside .git", false},
		{landlock, "tee notes.txt < Makefile", "--allow bash(tee:*)", "", 0, "exit", true},
		{landlock, "echo bye > notes.txt; echo done", "", "", 6, "its output goes into notes.txt", false},
		{landlock, "git reset --hard", "--allow bash", "", 6, "artoo asks in every mode", false},
		{landlock, "make", "--approval auto trust", "rm -rf .git", 6, "denied", false}, // it does not hold writes by entry
		{landlock, "cat notes.txt", "", "echo KEY=1 > .env", 0, "hello", false},
		{landlock, "cat .env", "", "echo KEY=1 > .env", 6, "denied", false},
		{landlock, "cat notes.txt", "on", "", 0, "hello", false},
		{landlock, "make", "--approval auto --sandbox=external", "", 0, "exit", true},
		{none, "cat notes.txt", "", "", 0, "hello", false},
		{none, "sed -n 1p notes.txt", "", "", 6, "denied", false},
		{none, "make", "--approval auto trust", "", 6, "denied", false},
		{none, "make", "--allow bash(make)", "", 0, "exit", true},
		{none, "rm -r .git", "--allow bash", "", 6, "artoo asks in every mode", false},
		{none, "cat notes.txt", "on", "", 2, "ARTOO_SANDBOX=on: commands cannot be confined", false},
		{none, "make", "--approval auto --sandbox=external", "", 0, "exit", true},
		{none, "make", "--approval edits --sandbox=external", "", 0, "exit", true},
		{none, "make", "--sandbox=external", "", 6, "denied", false},
		{none, "make", "--approval plan --sandbox=external", "", 0, "plan mode changes nothing", false},
		{none, "git reset --hard", "--approval auto --sandbox=external", "", 6, "artoo asks in every mode", false},
		{none, "echo x > AGENTS.md", "--approval auto --sandbox=external", "", 6, "artoo asks in every mode", false},
		{none, "make", "-o json --approval auto --sandbox=external", "", 0, `"unconfined":"external, as --sandbox says"`, true},
		{lost, "cat notes.txt", "on", "", 0, "ARTOO_SANDBOX=on requires it", false},
		{lost, "cat notes.txt", "", "", 0, "hello", false},
		{none, "cat notes.txt", "-o jsonl", "", 0, `"sandbox":"none","mode":"ask","unconfined":"`, false},
		{landlock, "cat notes.txt", "-o json", "", 0, `"sandbox":"landlock","stdin"`, false},
		{lost, "sed -n 1p notes.txt", "-o json --allow bash(sed:*)", "", 0, `"sandbox":"none","unconfined":"lost: `, false},
		{lost, "sed -n 1p notes.txt", "", "", 6, "denied", false},
	}) {
		t.Run(fmt.Sprint(row.place, " ", row.line, " ", row.options, " ", row.project), func(t *testing.T) {
			t.Parallel()
			if row.place != none { // Landlock alone is tried where namespaces were switched off.
				needs.Namespaces(t)
			}
			project, err := filepath.EvalSymlinks(copied(t, origin))
			if err != nil {
				t.Fatal(err)
			}
			given, calls := "", line(t, row.line)
			m := newModel(t, func(n int, r providertest.Request) providertest.Reply {
				if lastMessage(t, r.Body).Role != "user" {
					given = string(r.Body)
				}
				return calls(n, r)
			})
			env := m.env(t, "container=test", "ARTOO_SANDBOX=auto", "GIT_CONFIG_NOSYSTEM=1")
			run := func(env []string, name string, args ...string) (string, int) {
				cmd := exec.Command(name, args...)
				cmd.Dir, cmd.Env = project, env
				if row.place == landlock && name == artoo {
					cmd = exec.Command("/bin/sh", append([]string{"-c", `echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"`, "sh", artoo}, args...)...)
					cmd.Dir, cmd.Env = project, env
					cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE},
						UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
						GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}}
				}
				said, err := cmd.CombinedOutput()
				if cmd.ProcessState == nil {
					t.Fatal(err)
				}
				return string(said), cmd.ProcessState.ExitCode()
			}
			if said, code := run(env, "/bin/sh", "-ec", row.project); code != 0 {
				t.Fatal(said)
			}
			var options []string
			for option := range strings.FieldsSeq(row.options) {
				switch option {
				case "trust":
					if said, code := run(env, artoo, "trust", "--run", "--yes"); code != 0 {
						t.Fatal(said)
					}
				case "on":
					env = append(env, "ARTOO_SANDBOX=on")
				default:
					options = append(options, option)
				}
			}
			switch row.place {
			case lost: // let artoo find out the machine's sandbox before it is lost
				if said, code := run(env, artoo, "rules", "explain", "ls"); code != 0 {
					t.Fatal(said)
				}
				fallthrough
			case none:
				env = append(env, "TMPDIR="+filepath.Join(project, "none"))
			}
			said, code := run(env, artoo, append([]string{"-p", "go"}, options...)...)
			if code != row.code || !strings.Contains(said+given, row.says) {
				t.Errorf("it ended with %d, expected %d and %q:\n%s\n%s", code, row.code, row.says, said, given)
			}
			if data, err := os.ReadFile(filepath.Join(project, "notes.txt")); err != nil || (string(data) != "hello\n") != row.changes {
				t.Errorf("notes.txt holds %q: %v", data, err)
			}
		})
	}
}
