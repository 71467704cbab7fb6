package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// confine gives the tool a session of its own: it has no terminal to ask on.
// When artoo is killed the tool dies too.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// kernelThread is PF_KTHREAD of the kernel's sched.h.
const kernelThread = 0x00200000

// listTasks lists the running processes that began at since or later, zombies
// left out.
func listTasks(mark string, since uint64) ([]task, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var list []task
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", name, "stat"))
		if err != nil {
			continue // it has ended since
		}
		t, ok := parseStat(pid, stat)
		if !ok || t.begun < since {
			continue
		}
		// What belongs to others cannot be read, and is none of ours.
		if environ, err := os.ReadFile(filepath.Join("/proc", name, "environ")); err == nil {
			t.marked = bytes.Contains(environ, []byte(markName+"="+mark))
			t.blank = len(environ) == 0 && !t.kernel
		}
		list = append(list, t)
	}
	return list, nil
}

// begun is when a process began, 0 when that cannot be told.
func begun(pid int) uint64 {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	t, _ := parseStat(pid, stat)
	return t.begun
}

// parseStat reads /proc/PID/stat (proc(5)): the command in it may hold blanks
// and parentheses.
func parseStat(pid int, stat []byte) (task, bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return task{}, false
	}
	var n [20]uint64 // as they stand there: field 0 is the third of the line
	for _, i := range []int{1, 2, 3, 6, 19} {
		v, err := strconv.ParseUint(string(fields[i]), 10, 64)
		if err != nil {
			return task{}, false
		}
		n[i] = v
	}
	return task{pid: pid, parent: int(n[1]), group: int(n[2]), session: int(n[3]), kernel: n[6]&kernelThread != 0, begun: n[19]}, true
}
