//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"artoo/provider/providertest"
)

// What a command in the sandbox made for others to run goes, if artoo ends before
// somebody approved it: with a signal at once, after kill -9 with the next start.
func TestWhatNobodyApprovedForOthersToRunGoes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		script string // of the project's own, after .envrc is there
		signal syscall.Signal
	}{
		{"terminated at the question", "", syscall.SIGTERM},
		{"hung up at the question", "", syscall.SIGHUP},
		{"killed at the question", "", syscall.SIGKILL},
		{"terminated while it runs", "sleep 300", syscall.SIGTERM},
		{"killed while it runs", "sleep 300", syscall.SIGKILL},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newStoryRun(t)
			if !k.layers {
				t.Log("nothing confines commands here")
				return
			}
			script := "#!/bin/sh\necho use x > .envrc\nmkdir -p .vscode\necho {} > .vscode/tasks.json\n" + row.script + "\n"
			if err := os.WriteFile(filepath.Join(k.root, "make.sh"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			k.says = []providertest.Reply{providertest.Chat(providertest.Call("c1", "bash", `{"command":"./make.sh"}`))}
			c := k.artoo(func(int) {}, "--allow", "bash(./make.sh)")
			c.say("go")
			if row.script == "" {
				if err := c.heard.wait("others run it: .envrc"); err != nil {
					t.Fatal(err)
				}
			}
			for late := time.Now().Add(endless); ; { // the last that the script makes
				if _, err := os.Stat(filepath.Join(k.root, ".vscode", "tasks.json")); err == nil {
					break
				} else if time.Now().After(late) {
					t.Fatal(err)
				}
			}
			if err := c.cmd.Process.Signal(row.signal); err != nil {
				t.Fatal(err)
			}
			<-c.ended
			if row.signal == syscall.SIGKILL {
				c = k.artoo(func(int) {}, "-c")
				c.say("")
				c.end()
				if said := c.heard.text.String(); !strings.Contains(said, "taken back to what was before: .envrc, .vscode") {
					t.Errorf("it says %s", said)
				}
			}
			for _, name := range []string{".envrc", ".vscode"} {
				if _, err := os.Lstat(filepath.Join(k.root, name)); err == nil {
					t.Errorf("%s is still there", name)
				}
			}
		})
	}
}
