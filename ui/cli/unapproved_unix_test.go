//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"artoo/provider/providertest"
	"artoo/tool/needs"
)

// Nothing of a command's effects stays if artoo ends before somebody approved them.
func TestNothingStaysThatWasNotApproved(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			k := newStoryRun(t)
			needs.True(t, "layers", k.layers)
			script := "#!/bin/sh\necho use x > .npmrc\nmkdir -p .vscode\necho {} > .vscode/tasks.json\n"
			if err := os.WriteFile(filepath.Join(k.root, "make.sh"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			k.says = []providertest.Reply{providertest.Chat(providertest.Call("c1", "bash", `{"command":"./make.sh"}`))}
			c := k.artoo(func(int) {}, "--allow", "bash(./make.sh)")
			c.say("go")
			if err := c.heard.wait("runs automatically: .npmrc"); err != nil {
				t.Fatal(err)
			}
			if err := c.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			<-c.ended
			if signal == syscall.SIGKILL {
				c = k.artoo(func(int) {}, "-c")
				c.say("")
				c.end()
				if said := c.heard.text.String(); strings.Contains(said, "an artoo was killed here in the middle") {
					t.Errorf("it says %s", said)
				}
			}
			for _, name := range []string{".npmrc", ".vscode"} {
				if _, err := os.Lstat(filepath.Join(k.root, name)); err == nil {
					t.Errorf("%s is there", name)
				}
			}
		})
	}
}
