//go:build amd64 || arm64

package launcher

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// members are the processes of the command, except its first.
func (j *job) members() []int {
	if j.setup.Mechanism == "namespaces" {
		return sameNamespace(j.first)
	}
	return descendants(j.first)
}

// sameNamespace are the other processes of a process's namespace.
func sameNamespace(first int) []int {
	var list []int
	own := namespaceOf(first)
	for _, pid := range processes() {
		if pid != first && own != "" && namespaceOf(pid) == own {
			list = append(list, pid)
		}
	}
	return list
}

func namespaceOf(pid int) string {
	buf := make([]byte, 64)
	n, err := unix.Readlink("/proc/"+strconv.Itoa(pid)+"/ns/pid", buf)
	if err != nil {
		return "" // it has ended
	}
	return string(buf[:n])
}

// processes are the numbers of all processes.
func processes() []int {
	entries, err := names("/proc")
	if err != nil {
		return nil
	}
	var list []int
	for _, name := range entries {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// tasks is how many processes and threads the user has in the launcher's namespace:
// the kernel's limit counts them too. Some more threads may come.
func tasks() int64 {
	n := 0
	for _, pid := range processes() {
		threads, err := names("/proc/" + strconv.Itoa(pid) + "/task")
		if err == nil {
			n += len(threads)
		}
	}
	const more = 16
	return int64(n + more)
}

// descendants are the processes that descend from one and have not ended.
func descendants(of int) []int {
	children := map[int][]int{}
	for _, pid := range processes() {
		if parent, dead := parentOf(pid); !dead {
			children[parent] = append(children[parent], pid)
		}
	}
	list := children[of]
	for i := 0; i < len(list); i++ {
		list = append(list[:len(list):len(list)], children[list[i]]...)
	}
	return list
}

func parentOf(pid int) (parent int, dead bool) {
	text, err := readFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, true
	}
	// The name in parentheses may hold anything.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, true
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, err != nil || fields[0] == "Z" || fields[0] == "X" // The parent of a zombie must take its status.
}

// killAll ends all processes of the command. In a namespace the kernel does it when
// the first one ends; else they are looked for until none is left. The lock is
// held.
func (j *job) killAll() {
	if j.setup.Mechanism == "namespaces" {
		_ = unix.Kill(j.first, unix.SIGKILL) // it has not been waited for: it is there
		return
	}
	killDescendants(j.first)
}

// killDescendants kills what descends from a process, again as long as there is
// some: one may have started another before it was hit.
func killDescendants(of int) {
	for range 1000 {
		list := descendants(of)
		if len(list) == 0 {
			return
		}
		for _, pid := range list {
			_ = unix.Kill(pid, unix.SIGKILL) // gone, or another user's and out of reach
		}
		pause(2)
	}
}

// killStrays kills what a command left whose first process was itself killed: it
// became the launcher's. The lock is held.
func (s *server) killStrays() {
	own := unix.Getpid()
	for range 1000 {
		var strays []int
		for _, pid := range processes() {
			if parent, _ := parentOf(pid); parent == own && !s.known.first[pid] {
				strays = append(strays, pid)
			}
		}
		if len(strays) == 0 {
			return
		}
		for _, pid := range strays {
			for _, below := range append(descendants(pid), pid) {
				_ = unix.Kill(below, unix.SIGKILL)
			}
			_, _ = waitFor(pid)
		}
	}
}

// end ends all commands: the program that started the launcher has gone.
func (s *server) end() {
	if s.setup.Mechanism != "namespaces" { // Namespaces end their processes with the launcher.
		killDescendants(unix.Getpid())
	}
}
