package coding

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

// listTasks lists the running processes, zombies left out.
func listTasks(mark string) ([]task, error) {
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
		if !ok {
			continue
		}
		// What belongs to others cannot be read, and is none of ours.
		if environ, err := os.ReadFile(filepath.Join("/proc", name, "environ")); err == nil {
			t.marked = bytes.Contains(environ, []byte(markName+"="+mark))
		}
		list = append(list, t)
	}
	return list, nil
}

// parseStat reads /proc/PID/stat (proc(5)): the command in it may hold blanks
// and parentheses.
func parseStat(pid int, stat []byte) (task, bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return task{}, false
	}
	var n [3]int
	for i := range n {
		v, err := strconv.Atoi(string(fields[i+1]))
		if err != nil {
			return task{}, false
		}
		n[i] = v
	}
	return task{pid: pid, parent: n[0], group: n[1], session: n[2]}, true
}
