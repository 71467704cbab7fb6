package shell

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// NewSession gives the command a session of its own: without a terminal it cannot
// ask for a password behind everybody's back, nor be stopped for trying. When
// artoo is killed the shell dies too, so that nothing further of its command
// line begins.
func NewSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// Processes lists the running processes, zombies left out.
func Processes() ([]Process, error) {
	all, err := everyProcess()
	return slices.DeleteFunc(all, func(q Process) bool { return q.Dead }), err
}

// everyProcess lists all processes.
func everyProcess() ([]Process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	list := make([]Process, 0, len(entries))
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

// kernelThread is PF_KTHREAD of the kernel's sched.h.
const kernelThread = 0x00200000

// parseStat reads /proc/PID/stat: pid (command) state parent group session, and
// further on its flags and the time it began. The command may hold blanks and parentheses itself
// (proc(5)).
func parseStat(pid int, stat []byte) (Process, bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return Process{}, false
	}
	fields := bytes.Fields(stat[i+1:])
	const flags, began = 9 - 3, 22 - 3 // the fields' numbers less that of the state
	if len(fields) <= began {
		return Process{}, false
	}
	var numbers [3]int
	for k := range numbers {
		n, err := strconv.Atoi(string(fields[k+1]))
		if err != nil {
			return Process{}, false
		}
		numbers[k] = n
	}
	since, err := strconv.ParseUint(string(fields[began]), 10, 64)
	if err != nil {
		return Process{}, false
	}
	flagBits, err := strconv.ParseUint(string(fields[flags]), 10, 64)
	if err != nil {
		return Process{}, false
	}
	dead := fields[0][0] == 'Z' || fields[0][0] == 'X'
	return Process{PID: pid, Parent: numbers[0], Group: numbers[1], Session: numbers[2], Began: since, Dead: dead, Kernel: flagBits&kernelThread != 0}, true
}

// Environ is the environment that a process began with, nil where that cannot
// be read.
func Environ(pid int) []byte {
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return nil
	}
	return environ
}

// Stat is what the system tells of a process; its number alone when it is gone.
func Stat(pid int) Process {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return Process{PID: pid}
	}
	info, _ := parseStat(pid, stat)
	return info
}
