package shell

import (
	"errors"
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

func mustRun(t *testing.T, line string) Result {
	t.Helper()
	got, err := newCommand(t, line, io.Discard).Run(t.Context())
	must(t, err)
	return got
}

// An orphan that ends is not kept as a zombie, and after the call orphans are no
// longer this process's.
func TestNoOrphanIsLeft(t *testing.T) {
	mustRun(t, `for i in 1 2 3 4 5 6 7 8; do (setsid true & true & sleep 600 &); done`)
	all, err := everyProcess()
	must(t, err)
	for _, q := range all {
		if q.Parent == os.Getpid() && q.Session != ownSession() {
			t.Errorf("%+v is still there", q)
		}
	}
	var adopts int32
	if err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&adopts)), 0, 0, 0); err != nil ||
		adopts != 0 {
		t.Errorf("orphans go to this process still: %d, %v", adopts, err)
	}
}

// The shell of another command, which ended while processes were looked up, is no
// process that this one left behind.
func TestTheShellOfACommandBesideIsNoOrphan(t *testing.T) {
	start := func() *processTree {
		p, err := startTree(exec.Command("sleep", "600"))
		must(t, err)
		return p
	}
	end := func(p *processTree) {
		p.KillAll()
		<-p.Done()
		p.Release()
	}
	this, beside := start(), start()
	defer end(this)
	seen := Stat(beside.cmd.Process.Pid)
	end(beside)
	if this.left(seen) {
		t.Errorf("%+v counts as this command's", seen)
	}
}

// While a process becomes another program it has no environment for a moment, and so no
// mark: it is still stopped, and does not count as left by a command beside.
func TestAProcessThatBecomesAnotherIsStopped(t *testing.T) {
	beside, err := startTree(exec.Command("sleep", "600"))
	must(t, err)
	defer func() {
		if stopped, left := beside.KillAll(); stopped != 0 || left != 0 {
			t.Errorf("the command beside it had %d processes stopped, %d left", stopped, left)
		}
		<-beside.Done()
		beside.Release()
	}()
	again := filepath.Join(t.TempDir(), "again")
	must(t, os.WriteFile(again, []byte("#!/bin/sh\n:>>began\nexec \"$0\"\n"), 0o700))
	for range 40 {
		c := newCommand(t, "(setsid "+again+" >/dev/null 2>&1 &); until test -e began; do :; done", io.Discard)
		if got, err := c.Run(t.Context()); err != nil || got.Stopped != 1 {
			t.Errorf("%d processes stopped, %v", got.Stopped, err)
		}
	}
}

// Other children of this process are neither stopped nor waited for.
func TestOtherChildrenAreLeftAlone(t *testing.T) {
	before := exec.Command("sleep", "600")
	before.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	ended := exec.Command("true")
	for _, c := range []*exec.Cmd{before, ended} {
		must(t, c.Start())
	}
	mustRun(t, "(setsid true &)")
	one, two := Process{PID: 7, Began: 3}, Process{PID: 8, Began: 3}
	if !two.later(one) || one.later(two) || one.later(one) || !(Process{PID: 1, Began: 4}).later(two) {
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

// A process that got the output's pipe without descending from the command cannot be
// found: that is said, and the call ends all the same.
func TestOutputHeldFromOutside(t *testing.T) {
	ready := make(chan struct{})
	live := writerFunc(func(p []byte) {
		if strings.Contains(string(p), "ready") {
			close(ready)
		}
	})
	c := newCommand(t, "echo $$ >pid; echo ready; until test -e go; do :; done", live)
	at := func(name string) string { return filepath.Join(c.Cmd.Dir, name) }
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
	got, err := c.Run(t.Context())
	if holds := <-held; holds != nil || err != nil {
		t.Fatal(holds, err)
	}
	if string(got.Output) != "ready\n" || !got.Held || time.Since(begun) > 10*time.Second {
		t.Errorf("%+v after %v", got, time.Since(begun))
	}
	if _, err := io.WriteString(pipe, "late"); err == nil {
		t.Error("the pipe is still read")
	}
	must(t, pipe.Close())
}

// A process of another user cannot be stopped, and is not reported as stopped.
func TestWhatCannotBeStoppedIsNotCountedAsStopped(t *testing.T) {
	cmd := exec.Command(Find(nil), "-c", "sleep 600 & sleep 601 & echo ready")
	out, in, err := os.Pipe() // StdoutPipe's would be closed when the shell ends, read or not
	must(t, err)
	defer out.Close()
	cmd.Stdout = in
	p, err := startTree(cmd)
	must(t, errors.Join(err, in.Close()))
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	<-p.done
	real := p.kill
	p.kill = func(int, syscall.Signal) error { return syscall.EPERM }
	if stopped, left := p.KillAll(); stopped != 0 || left != 2 {
		t.Errorf("%d stopped, %d left", stopped, left)
	}
	p.kill = real
	if stopped, left := p.KillAll(); stopped != 2 || left != 0 {
		t.Errorf("then %d stopped, %d left", stopped, left)
	}
	p.Release()
}
