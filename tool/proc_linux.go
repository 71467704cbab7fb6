package tool

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// confine gives the command a session of its own: without a terminal it cannot
// ask for a password behind everybody's back, nor be stopped for trying. When
// artoo is killed the shell dies too, so that nothing further of its command
// line begins.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// listProcesses lists the running processes, zombies left out.
func listProcesses() ([]procInfo, error) {
	all, err := everyProcess()
	return slices.DeleteFunc(all, func(q procInfo) bool { return q.dead }), err
}

// everyProcess lists all processes.
func everyProcess() ([]procInfo, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	list := make([]procInfo, 0, len(entries))
	for _, name := range entries {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", name, "stat"))
		if err != nil {
			continue // it has ended since
		}
		if info, ok := parseStat(pid, stat); ok {
			list = append(list, info)
		}
	}
	return list, nil
}

// parseStat reads /proc/PID/stat: pid (command) state parent group session, and
// further on the time it began. The command may hold blanks and parentheses itself
// (proc(5)).
func parseStat(pid int, stat []byte) (procInfo, bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return procInfo{}, false
	}
	fields := bytes.Fields(stat[i+1:])
	const began = 22 - 3 // the field's number less that of the state
	if len(fields) <= began {
		return procInfo{}, false
	}
	var numbers [3]int
	for k := range numbers {
		n, err := strconv.Atoi(string(fields[k+1]))
		if err != nil {
			return procInfo{}, false
		}
		numbers[k] = n
	}
	since, err := strconv.ParseUint(string(fields[began]), 10, 64)
	if err != nil {
		return procInfo{}, false
	}
	dead := fields[0][0] == 'Z' || fields[0][0] == 'X'
	return procInfo{pid: pid, parent: numbers[0], group: numbers[1], session: numbers[2], began: since, dead: dead}, true
}

// environOf is the environment that a process began with, nil where that cannot
// be read.
func environOf(pid int) []byte {
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return nil
	}
	return environ
}
