package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/needs"
)

// Neither a session nor an environment of its own hides a process. These tests do
// not run beside others: a process without a mark belongs to the last command that runs.
func TestBashStopsWhatWipedItsEnvironment(t *testing.T) {
	env := treeEnv(t, nil)
	const wait = `until test -s x.pid; do :; done; echo done`
	for name, test := range map[string]struct{ needs, line string }{
		"holds the pipe": {"setsid", `(env -i setsid sh -c 'echo $$ >x.pid; exec sleep 600' &); ` + wait},
		"does not":       {"setsid", `(env -i setsid sh -c 'echo $$ >x.pid; exec sleep 600' >/dev/null 2>&1 &); ` + wait},
		"of a slow call": {"setsid",
			`(env -i setsid sh -c 'echo $$ >x.pid; exec sleep 600' >/dev/null 2>&1 &); sleep 0.2; ` + wait},
		"sessions in it": {"setsid", `(env -i setsid sh -c 'setsid sh -c "setsid sleep 600 & echo \$! >x.pid" &' &); ` +
			wait},
		"a daemon": {"python3", `python3 -c '
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        os.execve("/bin/sh", ["sh", "-c", "echo $$ >x.pid; while :; do /bin/sleep 600; done"], {})
'; ` + wait},
	} {
		t.Run(name, func(t *testing.T) {
			needs.Program(t, test.needs)
			got := mustCall(t, quickShell(t), env, command(test.line))
			if !strings.HasPrefix(got.Text, "done\n[") ||
				!strings.Contains(got.Text, "still running in the background and stopped with the call]") {
				t.Errorf("%q", got.Text)
			}
			awaitGone(t, readPIDs(t, env.Dir, 1))
			if err := os.Remove(filepath.Join(env.Dir, "x.pid")); err != nil {
				t.Fatal(err)
			}
		})
	}
}
