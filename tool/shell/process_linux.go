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
		if pid, err := strconv.Atoi(name); err == nil {
			if info, ok := statOf(pid); ok {
				list = append(list, info)
			}
		}
	}
	return list, nil
}

// kernelThread is PF_KTHREAD of the kernel's sched.h.
const kernelThread = 0x00200000

// parseStat reads /proc/PID/stat: pid (command) state parent group session, and
// further on its flags and the time it began. The command may hold blanks and
// parentheses itself (proc(5)).
func parseStat(pid int, stat []byte) (Process, bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return Process{}, false
	}
	fields := bytes.Fields(stat[i+1:])
	// Their numbers, less that of the state.
	const state, parent, group, session, flags, began = 0, 1, 2, 3, 9 - 3, 22 - 3
	if len(fields) <= began {
		return Process{}, false
	}
	var n [began + 1]int64
	for _, k := range []int{parent, group, session, flags, began} {
		var err error
		if n[k], err = strconv.ParseInt(string(fields[k]), 10, 64); err != nil {
			return Process{}, false
		}
	}
	return Process{PID: pid, Parent: int(n[parent]), Group: int(n[group]), Session: int(n[session]),
		Began: uint64(n[began]), Dead: bytes.ContainsAny(fields[state][:1], "ZX"), Kernel: n[flags]&kernelThread != 0}, true
}

// Environ is the environment that a process began with, nil where that cannot
// be read.
func Environ(pid int) []byte {
	environ, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return nil
	}
	return environ
}

// becomesAnother says whether a process was about to run another program (execve) while
// its environment was read, of which these many bytes came: then the kernel knows no
// place of one yet, or one of another length (proc(5), env_start and env_end).
func becomesAnother(pid, length int) bool {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return false // it has ended
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const from, to = 50 - 3, 51 - 3
	if len(fields) <= to {
		return false // before Linux 3.5
	}
	begin, err := strconv.ParseUint(string(fields[from]), 10, 64)
	end, err2 := strconv.ParseUint(string(fields[to]), 10, 64)
	return err == nil && err2 == nil && (begin == 0 || end-begin != uint64(length))
}

// Stat is what the system tells of a process; its number alone when it is gone.
func Stat(pid int) Process {
	if info, ok := statOf(pid); ok {
		return info
	}
	return Process{PID: pid}
}

// statOf is not ok for a process that has ended.
func statOf(pid int) (Process, bool) {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return Process{}, false
	}
	return parseStat(pid, stat)
}

func procFile(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }
