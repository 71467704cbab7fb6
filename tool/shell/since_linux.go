package shell

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// A process's number is that of the last one plus one, until the largest number
// there is (32,768 at least): so what a command has started stands between its
// shell and the last number given. To look there only is far cheaper than to
// list all processes, which would cost more than most commands. It must not
// have gone round since, so only what was quick is looked up like this.
const (
	quickCommand = 100 * time.Millisecond
	quickNumbers = 500
)

// lastNumber is the number that was given to a process or thread last, as
// /proc/loadavg tells it; 0 where it does not.
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

// list are the running processes, or for a quick command those that have begun
// since it did. Some containers show another system's numbers: these do not
// have the shell between them.
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

// isThread says whether the number is that of a thread other than a process's
// first: /proc does not list these, but shows them when asked.
func isThread(number int) bool {
	status, err := os.ReadFile(procFile(number, "status"))
	return err == nil && !bytes.Contains(status, fmt.Appendf(nil, "\nTgid:\t%d\n", number))
}
