package tool

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
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

// parseStat reads /proc/PID/stat: pid (command) state parent group session ...
// The command may hold blanks and parentheses itself (proc(5)).
func parseStat(pid int, stat []byte) (procInfo, bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return procInfo{}, false
	}
	fields := bytes.Fields(stat[i+1:])
	if len(fields) < 4 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
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
	return procInfo{pid, numbers[0], numbers[1], numbers[2]}, true
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
