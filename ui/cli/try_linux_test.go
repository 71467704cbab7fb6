package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/tool/sweep"
	"artoo/ui/prompt/prompttest"
)

// TestTryOfAnyLineChangesNothing is bar 18 of the paper on extending: commands that change a project in all ways, some of them
// with artoo killed in the middle, change none of it where no one can answer.
func TestTryOfAnyLineChangesNothing(t *testing.T) {
	t.Parallel()
	artoo := buildProgram(t, moduleDir)
	env := home(t, "ARTOO_SANDBOX=auto", "container=test")
	needsLayers(t, artoo, env)
	origin := projectFrom(t, `mkdir -p dir/deep; echo hello > notes.txt; echo x > dir/deep/x; ln -s notes.txt link
		git add .; git -c user.name=a -c user.email=a@example.org commit -qm one`)
	lines := []string{"echo bye >> notes.txt", "rm -rf dir", "rm -rf .git", "git commit -qam two", "git checkout -qb other", "mv notes.txt gone",
		"chmod 600 notes.txt", "ln -sf /etc/passwd link", "rm -rf -- * .[a-z]*", "truncate -s 0 notes.txt", "mkdir new; echo 1 > new/1",
		"mkfifo pipe", "cp -r dir copy", "rm dir/deep/x; echo file > dir/deep/y", "git stash -q; git gc -q", "touch -d 2001-01-01 notes.txt",
		"dd if=/dev/zero of=zeros bs=1M count=5 2> zeros.log", "mv dir notes2; mv notes.txt dir", "echo evil > .git/hooks/pre-commit", "(setsid sh -c 'sleep 0.1; echo late > late') &"}
	for _, i := range sweep.Cases(t, 2, 2*len(lines)) {
		line, kill := lines[i/2], i%2 == 1
		dir := copied(t, origin)
		before := treeOf(t, dir)
		if kill {
			line += "\necho ready; sleep 60"
		}
		cmd := exec.Command(artoo, "try", "--", "bash", "-c", line)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(waitLimit, func() { _ = cmd.Process.Kill() })
		read := make([]byte, 1<<16)
		for {
			_, err := out.Read(read)
			if kill && err == nil {
				err = cmd.Process.Kill()
				kill = false
			}
			if err != nil {
				break
			}
		}
		err = cmd.Wait() // It may be the command's status.
		if late.Stop(); kill {
			t.Errorf("%s: it was never ready: %v", line, err)
		}
		if after := treeOf(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: the project was\n%v\nand is\n%v", line, before, after)
		}
	}
}

// TestTryAsks keeps changes of a command only after a yes on the terminal, and then undo reverts them.
func TestTryAsks(t *testing.T) {
	t.Parallel()
	artoo := buildProgram(t, moduleDir)
	env := home(t, "ARTOO_SANDBOX=auto", "container=test", "TERM=xterm", "NO_COLOR=1")
	needsLayers(t, artoo, env)
	dir := projectFrom(t, `echo hello > notes.txt; git add .; git -c user.name=a -c user.email=a@example.org commit -qm one`)
	notes := func() string {
		data, err := os.ReadFile(filepath.Join(dir, "notes.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	try := func(line, answer string) (shown string) {
		t.Helper()
		cmd := exec.Command(artoo, "try", "--", "bash", "-c", line)
		cmd.Dir, cmd.Env = dir, env
		tty, err := prompttest.StartPTY(cmd, 80, 24)
		if err != nil {
			t.Fatal(err)
		}
		defer tty.Close()
		shown = watch(t, cmd, tty, [2]string{"(n) ", answer})
		_ = cmd.Wait() // the status is looked at where it counts
		return fmt.Sprintf("%s\n[%d]", shown, cmd.ProcessState.ExitCode())
	}
	const line = "echo bye >> notes.txt; git checkout -qb other; exit 4"
	for _, answer := range []string{"\r", "n\r", "\x03"} {
		shown := try(line, answer)
		if !strings.Contains(shown, "2 + bye") || !strings.Contains(shown, "other") || notes() != "hello\n" {
			t.Errorf("after %q notes.txt is %q, and the terminal shows\n%s", answer, notes(), shown)
		}
	}
	shown := try(line, "y\r")
	if !strings.Contains(shown, "changes kept") || !strings.Contains(shown, "[4]") || notes() != "hello\nbye\n" {
		t.Fatalf("notes.txt is %q, and the terminal shows\n%s", notes(), shown)
	}
	if head, err := os.ReadFile(filepath.Join(dir, ".git", "HEAD")); err != nil || string(head) != "ref: refs/heads/other\n" {
		t.Errorf("HEAD is %q, %v", head, err)
	}
	undo := exec.Command(artoo, "undo", "--yes", "--yes")
	undo.Dir, undo.Env = dir, env
	if out, err := undo.CombinedOutput(); err != nil || notes() != "hello\n" {
		t.Errorf("undo: %v\n%s", err, out)
	}
	list := exec.Command(artoo, "undo", "--list")
	list.Dir, list.Env = dir, env
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(string(out), " ")
	remove := exec.Command(artoo, "sessions", "rm", id)
	remove.Dir, remove.Env = dir, env
	if out, err := remove.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "deleted: "+id) {
		t.Errorf("the journal of the command stays: %v\n%s", err, out)
	}
	// The user saves a file while artoo asks.
	k := startTerminal(t, dir, env, artoo, "try", "--", "bash", "-c", "echo bye >> notes.txt")
	at := k.expect("(n) ", 0)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k.type_("y\r")
	k.expect("artoo: nothing was kept: ", at)
	k.drain()
	if err := k.cmd.Wait(); k.cmd.ProcessState.ExitCode() != 1 || notes() != "mine\n" {
		t.Errorf("%v, notes.txt is %q", err, notes())
	}
}

// TestTryPassesCtrlCOn: the command gets the first Ctrl-C, and artoo goes on as a shell does; a second one ends both.
func TestTryPassesCtrlCOn(t *testing.T) {
	t.Parallel()
	artoo := buildProgram(t, moduleDir)
	env := home(t, "ARTOO_SANDBOX=auto", "container=test", "TERM=xterm", "NO_COLOR=1")
	needsLayers(t, artoo, env)
	dir := projectFrom(t, ":")
	for name, c := range map[string]struct {
		line  string
		again bool   // Ctrl-C is typed twice
		asks  bool   // artoo asks then
		ends  string // how
	}{
		"taken":   {"trap 'echo end >log; exit 3' INT; echo ready; while :; do sleep 0.05; done", false, true, "3"},
		"died of": {"echo 1 >log; echo ready; while :; do sleep 0.05; done", false, false, "interrupt"},
		"ignored": {"trap 'echo ignored' INT; echo 1 >log; echo ready; while :; do sleep 0.05; done", true, false, "interrupt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startTerminal(t, dir, env, artoo, "try", "--", "bash", "-c", c.line)
			at := k.expect("ready", 0)
			k.type_("\x03")
			if c.again {
				at = k.expect("ignored", at)
				again := time.NewTicker(100 * time.Millisecond) // One that comes at once is no second wish.
				defer again.Stop()
				for open := true; open; {
					select {
					case _, open = <-k.lines:
					case <-again.C:
						_ = k.cmd.Process.Signal(os.Interrupt) // it may have ended
					}
				}
			}
			if c.asks {
				k.expect("(n) ", at)
				k.type_("n\r")
			}
			k.drain()
			_ = k.cmd.Wait() // its state is looked at
			if got := howEnded(k.cmd.ProcessState); got != c.ends {
				t.Errorf("it ended with %s, not %s", got, c.ends)
			}
			if _, err := os.Lstat(filepath.Join(dir, "log")); err == nil {
				t.Error("the project was changed")
			}
		})
	}
}
