package tool

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Neither a session nor an environment of its own hides a process. These tests do
// not run beside others: what has no mark belongs to the last command that runs.
func TestBashStopsWhatWipedItsEnvironment(t *testing.T) {
	env := treeEnv(t, nil)
	const wait = `until test -s x.pid; do :; done; echo done`
	for name, test := range map[string]struct{ needs, line string }{
		"holds the pipe": {"setsid", `(env -i setsid sh -c 'echo $$ >x.pid; exec sleep 600' &); ` + wait},
		"does not":       {"setsid", `(env -i setsid sh -c 'echo $$ >x.pid; exec sleep 600' >/dev/null 2>&1 &); ` + wait},
		"of a slow call": {"setsid", `(env -i setsid sh -c 'echo $$ >x.pid; exec sleep 600' >/dev/null 2>&1 &); sleep 0.2; ` + wait},
		"sessions in it": {"setsid", `(env -i setsid sh -c 'setsid sh -c "setsid sleep 600 & echo \$! >x.pid" &' &); ` + wait},
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
			if _, err := exec.LookPath(test.needs); err != nil {
				t.Skip("there is no " + test.needs)
			}
			got := mustCall(t, quickShell(t), env, command(test.line))
			if !strings.HasPrefix(got.Text, "done\n[") || !strings.Contains(got.Text, "still running in the background and stopped with the call]") {
				t.Errorf("%q", got.Text)
			}
			awaitGone(t, readPIDs(t, env.Dir, 1))
			if err := os.Remove(filepath.Join(env.Dir, "x.pid")); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// An orphan that ends is not kept as a zombie, and after the call orphans are no
// longer this process's.
func TestBashLeavesNoOrphan(t *testing.T) {
	env := treeEnv(t, nil)
	mustCall(t, quickShell(t), env, command(`for i in 1 2 3 4 5 6 7 8; do (setsid true & true & sleep 600 &); done`))
	all, err := everyProcess()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all {
		if q.parent == os.Getpid() && q.session != ownSession() {
			t.Errorf("%+v is still there", q)
		}
	}
	var adopts int32
	if err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&adopts)), 0, 0, 0); err != nil || adopts != 0 {
		t.Errorf("orphans go to this process still: %d, %v", adopts, err)
	}
}

// What this process started beside commands is neither stopped nor waited for.
func TestBashLeavesOtherChildrenAlone(t *testing.T) {
	env := treeEnv(t, nil)
	before := exec.Command("sleep", "600")
	before.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	ended := exec.Command("true")
	for _, c := range []*exec.Cmd{before, ended} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	mustCall(t, quickShell(t), env, command("(setsid true &)"))
	one, two := procInfo{pid: 7, began: 3}, procInfo{pid: 8, began: 3}
	if !two.later(one) || one.later(two) || one.later(one) || !(procInfo{pid: 1, began: 4}).later(two) {
		t.Error("of two processes of one tick the first is taken for the later one")
	}
	if err := ended.Wait(); err != nil {
		t.Error(err)
	}
	if err := before.Process.Signal(unix.SIGINT); err != nil {
		t.Error(err)
	}
	if err := before.Wait(); err == nil || err.Error() != "signal: interrupt" {
		t.Error(err)
	}
}

// Whoever got the output's pipe without descending from the command cannot be
// found: that is said, and the call ends all the same.
func TestBashOutputHeldFromOutside(t *testing.T) {
	env := treeEnv(t, nil)
	at := func(name string) string { return filepath.Join(env.Dir, name) }
	ready := make(chan struct{})
	shell := writerFunc(func(p []byte) {
		if strings.Contains(string(p), "ready") {
			close(ready)
		}
	})
	var pipe *os.File
	held := make(chan error, 1)
	go func() {
		<-ready
		pid, err := os.ReadFile(at("pid"))
		if err == nil {
			pipe, err = os.OpenFile("/proc/"+strings.TrimSpace(string(pid))+"/fd/1", os.O_WRONLY, 0)
		}
		if err == nil {
			err = os.WriteFile(at("go"), nil, 0o600)
		}
		held <- err
	}()
	begun := time.Now()
	got, err := quickShell(t).Run(t.Context(), env, []byte(command("echo $$ >pid; echo ready; until test -e go; do :; done")), shell)
	if holds := <-held; holds != nil || err != nil {
		t.Fatal(holds, err)
	}
	if !strings.HasPrefix(got.Text, "ready\n[a process that detached itself still runs") || time.Since(begun) > 10*time.Second {
		t.Errorf("%q after %v", got.Text, time.Since(begun))
	}
	if _, err := io.WriteString(pipe, "late"); err == nil {
		t.Error("the pipe is still read")
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
}

// What belongs to another user cannot be stopped, and is not said to be.
func TestWhatCannotBeStoppedIsNotCountedAsStopped(t *testing.T) {
	cmd := exec.Command(FindShell(), "-c", "sleep 600 & sleep 601 & echo ready")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	<-p.done
	real := p.kill
	p.kill = func(int, syscall.Signal) error { return syscall.EPERM }
	if stopped, left := p.killAll(); stopped != 0 || left != 2 {
		t.Errorf("%d stopped, %d left", stopped, left)
	}
	p.kill = real
	if stopped, left := p.killAll(); stopped != 2 || left != 0 {
		t.Errorf("then %d stopped, %d left", stopped, left)
	}
	p.release()
	text := jobEnd{left: 2, held: true, state: cmd.ProcessState}.result("", nil).Text
	if want := "[no output]\n[2 processes are still running and could not be stopped: they may belong to another user]\n[exit status 0]\n"; text != want {
		t.Errorf("%q", text)
	}
}
