package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"artoo/provider/providertest"
	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// layeredRun starts artoo in a project of ten files, with a model that runs one line and then says that it is
// done. It is nil where nothing makes layers.
func layeredRun(t *testing.T, line string, args ...string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range 10 {
		writeFile(t, filepath.Join(dir, fmt.Sprint("f", i)), fmt.Sprintln("old", i))
	}
	m := newModel(t, func(n int, r providertest.Request) providertest.Reply {
		if last := lastMessage(t, r.Body); last.Role != "user" {
			return providertest.Chat(providertest.Text("done"))
		}
		input, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Error(err)
		}
		return providertest.Chat(providertest.Call(fmt.Sprint("c", n), "bash", string(input)))
	})
	env := m.env(t, "container=test", "ARTOO_SANDBOX=auto", "ARTOO_STDIN=never")
	artoo := buildProgram(t, moduleDir)
	needsLayers(t, artoo, env)
	cmd = exec.Command(artoo, append([]string{"-p"}, append(args, "go")...)...)
	cmd.Dir, cmd.Env = dir, env
	return cmd, dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// filesOf are the regular files of a directory with their content, outside .git.
func filesOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	names, err := filepath.Glob(filepath.Join(dir, "f*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %s", filepath.Base(name), data)
	}
	return b.String()
}

const layeredLine = "for i in 1 2 3 4 5; do echo new >f$i; done; rm f6 f7; echo more >fnew"

// TestUntilLandsAllOrNothingAtAnyMoment kills runs, and edits the project meanwhile. The first run is left alone.
func TestUntilLandsAllOrNothingAtAnyMoment(t *testing.T) {
	t.Parallel()
	landed := 0
	for _, n := range append([]int{40}, sweep.Cases(t, 1, 40)...) {
		cmd, dir := layeredRun(t, layeredLine, "--until", "test -e fnew")
		before := filesOf(t, dir)
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var kill *time.Timer
		edited := n%4 == 3
		if edited {
			kill = time.AfterFunc(time.Duration(rand.Int64N(int64(time.Second))), func() {
				_ = os.WriteFile(filepath.Join(dir, "f3"), []byte("mine\n"), 0o644)
			})
		} else if n < 40 {
			kill = time.AfterFunc(time.Duration(rand.Int64N(int64(3*time.Second))), func() { _ = cmd.Process.Kill() })
		}
		err := cmd.Wait()
		if kill != nil {
			kill.Stop()
		}
		recover := exec.Command(cmd.Path, "undo", "--list") // This recovers the step of a killed artoo.
		recover.Dir, recover.Env = dir, cmd.Env
		if out, err := recover.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		now := filesOf(t, dir)
		if edited {
			if mine := strings.Contains(now, "f3: mine"); err == nil && !strings.Contains(now, "fnew") || err != nil && (strings.Contains(now, "fnew") || !mine) {
				t.Errorf("run %d, %v, after an edit: %s", n, err, now)
			}
			continue
		}
		all := !strings.Contains(now, "f6") && !strings.Contains(now, "f7") && strings.Count(now, ": new") == 5 && strings.Contains(now, "fnew: more")
		if all {
			landed++
		}
		if now != before && !all {
			t.Errorf("run %d landed in part: %s", n, now)
		}
		if err == nil && !all {
			t.Errorf("run %d ended with 0, and nothing landed", n)
		}
		if state := cmd.ProcessState; state.Exited() && state.ExitCode() != 0 && all {
			t.Errorf("run %d ended with %d after %v, and landed", n, state.ExitCode(), time.Since(began))
		}
	}
	if landed == 0 {
		t.Error("no run landed")
	}
}

// A second Ctrl-C ends a run that hangs, and the changes are kept.
func TestASecondInterruptKeepsThePatch(t *testing.T) {
	dir, asked, over := t.TempDir(), make(chan struct{}), make(chan struct{})
	writeFile(t, filepath.Join(dir, "f0"), "old\n")
	m := newModel(t, func(n int, _ providertest.Request) providertest.Reply {
		if n == 0 {
			return providertest.Chat(providertest.Call("a", "bash", `{"command":"echo new >f0"}`))
		}
		close(asked)
		<-over
		return providertest.Chat(providertest.Text("done"))
	})
	t.Cleanup(func() { close(over) })
	env := m.env(t, "container=test", "ARTOO_SANDBOX=auto", "ARTOO_STDIN=never")
	artoo := buildProgram(t, moduleDir)
	needsLayers(t, artoo, env)
	cmd := exec.Command(artoo, "-p", "--until", "true", "go")
	cmd.Dir, cmd.Env = dir, env
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range children {
		list, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for child := range strings.FieldsSeq(string(list)) { // The one on the layer hangs.
			pid, err := strconv.Atoi(child)
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGSTOP)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		<-time.After(time.Second) // A second one at once would count as the first.
	}
	_ = cmd.Wait() // the state says how it ended
	if how, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !how.Signaled() || how.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %s", cmd.ProcessState)
	}
	_, path, kept := strings.Cut(strings.TrimSpace(said.String()), "they are in ")
	patch, err := os.ReadFile(path)
	if !kept || err != nil || !strings.Contains(string(patch), "+new") {
		t.Errorf("%v\n%s\n%s", err, said.String(), patch)
	}
}

// TestPatchesHoldAnyLayer compares the project after git apply with the line's own effect.
func TestPatchesHoldAnyLayer(t *testing.T) {
	t.Parallel()
	acts := []string{"mv f%d g%[1]d", "rm -f f%d", "echo more >>f%d", "chmod 755 f%d", "ln -sf f0 l%d", "printf '\\0\\1\\377' >f%d", "mkdir -p d/%d && cp f0 d/%[1]d/x",
		"printf 'no newline' >f%d", ": >f%d", "printf 'a b\\n' >'name %d'"}
	for _, seed := range sweep.Cases(t, 1, 50) {
		var line strings.Builder
		random := rand.New(rand.NewPCG(uint64(seed), 26))
		for range 1 + random.IntN(12) {
			fmt.Fprintf(&line, acts[random.IntN(len(acts))]+" 2>/dev/null; ", 1+random.IntN(9))
		}
		patchHolds(t, line.String()+"true")
	}
}

// TestALargePatchApplies is the same for one line that changes more than 200 files in all ways.
func TestALargePatchApplies(t *testing.T) {
	patch := patchHolds(t, `for i in $(seq 35); do echo "text $i" >"plain$i"; echo "$i" >"with space $i"; echo "$i" >"größe-$i-日本"; `+
		`printf '\0\377\n%s' "$i" >"bin$i"; echo "$i" >"run$i"; chmod 755 "run$i"; ln -s f0 "link$i"; done; `+
		`mv f1 'renamed one'; mkdir -p 'tief/ä b'; mv f2 'tief/ä b/f2'; rm f3; chmod 755 f4; rm f5; ln -s f0 f5; printf '\0\1' >f6; : >f7`)
	if n := strings.Count(patch, "diff --git "); patch != "" && n < 200 {
		t.Errorf("the patch has %d files", n)
	}
	if patch != "" && strings.Count(patch, "rename from ") != 2 {
		t.Errorf("%d renames instead of 2", strings.Count(patch, "rename from "))
	}
}

// patchHolds runs a line with -o patch. The project must be as before, and git apply must change a copy of it as the line
// itself changes another. It returns the patch, "" where nothing makes layers.
func patchHolds(t *testing.T, line string) string {
	t.Helper()
	needs.Git(t)
	cmd, dir := layeredRun(t, line, "-o", "patch")
	shell := func(dir, line string) {
		t.Helper()
		c := exec.Command("sh", "-c", line)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	files := func(dir string) map[string]string { // git apply makes no empty directory
		tree := treeOf(t, dir)
		maps.DeleteFunc(tree, func(path, is string) bool { return strings.HasPrefix(path, ".git") || strings.HasPrefix(is, "d") })
		return tree
	}
	shell(dir, "git init -q . && git add -A && git -c user.name=a -c user.email=a@example.org commit -qm 1")
	other, applied := t.TempDir(), t.TempDir()
	shell(dir, "cp -a . "+other+" && cp -a . "+applied)
	before := files(dir)
	patch, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if now := files(dir); !maps.Equal(now, before) {
		t.Errorf("it changed the project: %s", line)
	}
	shell(other, line)
	for _, args := range [][]string{{"apply", "--check", "-"}, {"apply", "-"}} {
		if len(patch) == 0 {
			break
		}
		apply := exec.Command("git", args...)
		apply.Dir, apply.Stdin = applied, strings.NewReader(string(patch))
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("%s: git %s: %v\n%s\n%s", line, args, err, out, patch)
		}
	}
	if want, got := files(other), files(applied); !maps.Equal(want, got) {
		t.Errorf("%s:\n%q\ninstead of\n%q", line, got, want)
	}
	return string(patch)
}
