package shell

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestListQuickCommand(t *testing.T) {
	t.Parallel()
	shell := Find(nil)
	if shell == "" {
		t.Fatal("there is no shell here")
	}
	cmd := exec.Command(shell, "-c", "sleep 60 & sleep 60 & echo ready; wait")
	out, err := cmd.StdoutPipe()
	must(t, err)
	p, err := startTree(cmd)
	must(t, err)
	defer func() {
		p.KillAll()
		<-p.done
		p.Release()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the shell said %q, %v", line, err)
	}
	pids := func() (ours, all []int) {
		t.Helper()
		list, err := p.list()
		must(t, err)
		for _, q := range list {
			all = append(all, q.PID)
		}
		for _, q := range p.rest() {
			ours = append(ours, q.PID)
		}
		slices.Sort(ours)
		return ours, all
	}

	p.begun = time.Now()
	quick, all := pids()
	if slices.Contains(all, os.Getpid()) {
		t.Errorf("processes from before the command were looked at: %v", all)
	}
	if !slices.Contains(quick, cmd.Process.Pid) || len(quick) != 3 {
		t.Errorf("found %v; want the shell %d and what it started", quick, cmd.Process.Pid)
	}
	for name, change := range map[string]func(){
		"slow":             func() { p.begun = time.Now().Add(-quickCommand) },
		"unknown number":   func() { p.before = 0 },
		"foreign numbers":  func() { p.before = cmd.Process.Pid + 1 },
		"too many between": func() { p.before = cmd.Process.Pid - 2*quickNumbers },
	} {
		before := p.before
		p.begun = time.Now()
		change()
		slow, all := pids()
		if !slices.Contains(all, os.Getpid()) {
			t.Errorf("%s: not all processes were listed: %v", name, all)
		}
		if !slices.Equal(quick, slow) {
			t.Errorf("%s: all processes hold %v of the command, the new ones %v", name, slow, quick)
		}
		p.before = before
	}
}

func TestIsThread(t *testing.T) {
	t.Parallel()
	if isThread(os.Getpid()) {
		t.Error("a process is taken for a thread")
	}
	tasks, err := os.ReadDir("/proc/self/task")
	must(t, err)
	threads := 0
	for _, task := range tasks {
		if n, ok := parseStat(0, []byte("0 (x) S "+task.Name()+strings.Repeat(" 0", 20))); ok &&
			n.Parent != os.Getpid() && isThread(n.Parent) {
			threads++
		}
	}
	if threads == 0 {
		t.Errorf("none of %d threads is taken for one", len(tasks))
	}
}
