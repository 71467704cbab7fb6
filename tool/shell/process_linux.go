package shell

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
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

// parseStat reads /proc/PID/stat: pid (command) state parent group session, and
// further on the time it began. The command may hold spaces and
// parentheses itself (proc(5)).
func parseStat(pid int, stat []byte) (Process, bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return Process{}, false
	}
	fields := bytes.Fields(stat[i+1:])
	// Their numbers, less that of the state.
	const state, parent, group, session, began = 0, 1, 2, 3, 22 - 3
	if len(fields) <= began {
		return Process{}, false
	}
	var n [began + 1]int64
	for _, k := range []int{parent, group, session, began} {
		var err error
		if n[k], err = strconv.ParseInt(string(fields[k]), 10, 64); err != nil {
			return Process{}, false
		}
	}
	return Process{PID: pid, Parent: int(n[parent]), Group: int(n[group]), Session: int(n[session]),
		Began: uint64(n[began]), Dead: bytes.ContainsAny(fields[state][:1], "ZX")}, true
}

// Environ is the environment that a process began with, nil where it cannot be read.
func Environ(pid int) []byte {
	environ, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return nil
	}
	return environ
}

// becomesAnother says whether a process was about to run another program while its environment of
// this length was read: the kernel then knows no place of one, or another length (proc(5),
// env_start, env_end).
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

// Stat is the system's description of a process; its number alone when it is gone.
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

// A process's number is that of the last one plus one, until the largest number there is (32,768 at least):
// so the children of a command stand between its shell and the last number given. To look there only is
// far cheaper than to list all processes, which would cost more than most commands. It must not have gone
// round since, so only quick commands are looked up like this.
const (
	quickCommand = 100 * time.Millisecond
	quickNumbers = 500
)

// lastNumber is the last number given to a process or thread, by /proc/loadavg; 0 where it is not
// known.
func lastNumber() int {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	line := bytes.TrimSpace(data)
	n, err := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
	if err != nil {
		return 0
	}
	return n
}

// list are the running processes, or for a quick command those that have begun since, unless a
// container shows another system's numbers.
func (p *processTree) list() ([]Process, error) {
	shell, last := p.cmd.Process.Pid, lastNumber()
	gone := p.before <= 0 || p.before >= shell || last < shell || last-p.before > quickNumbers
	if gone || time.Since(p.begun) > quickCommand {
		return Processes()
	}
	var list []Process
	for pid := shell; pid <= last; pid++ {
		if info, ok := statOf(pid); ok && !info.Dead && !isThread(pid) {
			list = append(list, info)
		}
	}
	return list, nil
}

// isThread says whether a number is that of a further thread: /proc shows these only when asked.
func isThread(number int) bool {
	status, err := os.ReadFile(procFile(number, "status"))
	return err == nil && !bytes.Contains(status, fmt.Appendf(nil, "\nTgid:\t%d\n", number))
}
