//go:build unix

package builtin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"artoo/tool/environ"
	"artoo/tool/needs"
	"artoo/tool/shell"
)

// awaitGone fails unless all processes end within some seconds. A zombie without a waiter counts as ended.
func awaitGone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		left := alive(t, pids)
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			t.Fatalf("processes %v are still there", left)
		}
	}
}

func alive(t *testing.T, pids []int) []int {
	t.Helper()
	var left []int
	all, err := shell.Processes()
	for _, pid := range pids {
		if err != nil {
			if !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				left = append(left, pid)
			}
			continue
		}
		for _, p := range all {
			if p.PID == pid {
				left = append(left, pid)
			}
		}
	}
	return left
}

// readPIDs reads the files *.pid that commands wrote.
func readPIDs(t *testing.T, dir string, want int) []int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != want {
		t.Fatalf("%d processes said their number, want %d", len(pids), want)
	}
	return pids
}

// tree is three levels of processes that do not want to go, the middle one in a
// group of its own as under timeout(1).
const tree = `set -m; trap '' TERM INT
echo $$ >a.pid
sh -c 'trap "" TERM INT; echo $$ >b.pid
	sh -c "trap \"\" TERM INT; echo \$\$ >c.pid; echo up; while :; do sleep 600; done" &
	while :; do sleep 600; done' &
while :; do sleep 600; done`

func TestBashTimeoutKillsTheTree(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	got := mustCall(t, quickShell(t), env, strings.TrimSuffix(command(tree), "}")+`,"timeout":2}`)
	if got.Summary != "timed out after 2s" || !strings.HasPrefix(got.Text, "up\n[stopped") {
		t.Errorf("%+v", got)
	}
	awaitGone(t, readPIDs(t, env.Dir, 3))
}

func TestBashCancelKillsTheTree(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The first output says that all of the tree is there.
	result, err := quickShell(t).Run(ctx, env, []byte(command(tree)), writerFunc(func([]byte) { cancel() }))
	if err != nil {
		t.Fatal(err)
	}
	if !result.IsError || !strings.HasPrefix(result.Summary, "interrupted after ") ||
		!strings.HasPrefix(result.Text, "up\n[interrupted after ") {
		t.Errorf("%+v", result)
	}
	awaitGone(t, readPIDs(t, env.Dir, 3))
}

// A program whose output is not a terminal holds it back, unless configured otherwise.
func TestBashKeepsWhatAProgramSaidBeforeItsTimeWasUp(t *testing.T) {
	t.Parallel()
	needs.Python(t)
	env := treeEnv(t, nil)
	env.Environ, _ = environ.ChildEnviron(os.Environ(), environ.Withholding{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	input := strings.TrimSuffix(command(`python3 -c 'import time; print("half way"); time.sleep(600)'`), "}") +
		`,"timeout":60}`
	got, err := quickShell(t).Run(ctx, env, []byte(input), writerFunc(func([]byte) { cancel() }))
	if err != nil || !strings.HasPrefix(got.Text, "half way") {
		t.Errorf("%q %v", got.Text, err)
	}
}

func TestBashCancelIsPolite(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	for _, test := range []struct{ signal, extra string }{{"INT", ""}, {"TERM", `,"timeout":1`}} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		input := strings.TrimSuffix(command("trap 'echo tidied up; exit 5' "+test.signal+
			"; echo up; while :; do sleep 0.05; done"), "}") + test.extra + "}"
		result, err := quickShell(t).Run(ctx, env, []byte(input), writerFunc(func([]byte) {
			if test.signal == "INT" {
				cancel()
			}
		}))
		if err != nil || !strings.Contains(result.Text, "\ntidied up\n[") {
			t.Errorf("%s: %q, %v", test.signal, result.Text, err)
		}
	}
}

// A process in the background neither delays the call nor outlives it.
func TestBashBackground(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"holds the pipe":    "sleep 600 & echo $! >x.pid; echo done",
		"does not":          "sleep 600 >/dev/null 2>&1 & echo $! >x.pid; echo done",
		"has its own group": "set -m; sleep 600 & echo $! >x.pid; echo done",
		"nohup":             "nohup sleep 600 >/dev/null 2>&1 & echo $! >x.pid; echo done",
	} {
		t.Run(name, func(t *testing.T) {
			env := treeEnv(t, nil)
			begun := time.Now()
			got := mustCall(t, quickShell(t), env, command(line))
			want := "done\n[1 process was still running in the background and stopped with the call]\n[exit status 0]\n"
			if got.Text != want {
				t.Errorf("%q", got.Text)
			}
			if d := time.Since(begun); d > 5*time.Second {
				t.Errorf("the call took %v", d)
			}
			awaitGone(t, readPIDs(t, env.Dir, 1))
		})
	}
}

// A process that leaves the session is stopped too.
func TestBashStopsWhatLeftItsSession(t *testing.T) {
	t.Parallel()
	needs.Program(t, "setsid")
	env := treeEnv(t, nil)
	for name, line := range map[string]string{
		"alone":           `setsid sh -c 'echo $$ >a.pid; sh -c "echo \$\$ >b.pid; exec sleep 600" & exec sleep 601' >/dev/null 2>&1 & until test -s a.pid -a -s b.pid; do :; done; echo done`,
		"beside another":  `sleep 600 & echo $! >a.pid; setsid sh -c 'echo $$ >b.pid; exec sleep 600' >/dev/null 2>&1 & until test -s b.pid; do :; done; echo done`,
		"and its parent":  `(setsid sh -c 'setsid sh -c "echo \$\$ >b.pid; exec sleep 600" & echo $$ >a.pid; exec sleep 600' >/dev/null 2>&1 &); until test -s a.pid -a -s b.pid; do :; done; echo done`,
		"holds the pipe":  `(setsid sh -c 'echo $$ >a.pid; echo $$ >b.pid; exec sleep 600' &); until test -s b.pid; do :; done; echo done`,
		"of a slow shell": `(setsid sh -c 'echo $$ >a.pid; echo $$ >b.pid; exec sleep 600' &); until test -s b.pid; do :; done; sleep 0.3; echo done`,
	} {
		t.Run(name, func(t *testing.T) {
			got := mustCall(t, quickShell(t), env, command(line))
			if !strings.HasPrefix(got.Text, "done\n[") ||
				!strings.Contains(got.Text, "still running in the background and stopped with the call]") {
				t.Errorf("%q", got.Text)
			}
			awaitGone(t, readPIDs(t, env.Dir, 2))
			for _, f := range []string{"a.pid", "b.pid"} {
				if err := os.Remove(filepath.Join(env.Dir, f)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestBashSignals(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	got := mustCall(t, quickShell(t), env, command("kill -SEGV $$"))
	if got.Text != "[no output]\n[killed by signal SIGSEGV]\n" || !got.IsError ||
		!strings.HasPrefix(got.Summary, "killed by SIGSEGV in ") {
		t.Errorf("%+v", got)
	}
	got = mustCall(t, quickShell(t), env, command("sh -c 'kill -KILL $$' 2>/dev/null; exit $?"))
	if !strings.HasSuffix(got.Text, "[exit status 137, which is how shells report SIGKILL]\n") {
		t.Errorf("%q", got.Text)
	}
}

func TestBashCancelledBeforehand(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := quickShell(t).Run(ctx, env, []byte(command("echo x >ran")), &strings.Builder{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(env.Dir, "ran")); err == nil {
		t.Error("the command ran")
	}
}

// A process that could not be stopped is not reported as stopped.
func TestBashSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	for want, end := range map[string]shell.Result{
		"[2 processes are still running and could not be stopped: they may belong to another user]\n": {Left: 2,
			Held: true},
		"[a process that detached itself still runs and could not be stopped; its further output is lost]\n": {Held: true},
		"[1 process was still running in the background and stopped with the call]\n":                        {Stopped: 1},
	} {
		if text := commandResult(end, "", "", nil).Text; text != "[no output]\n"+want+"[exit status 0]\n" {
			t.Errorf("%q", text)
		}
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }
