//go:build amd64 || arm64

package launcher

import (
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func pause(milliseconds int) { time.Sleep(time.Duration(milliseconds) * time.Millisecond) }

// watchEvery is how often the limits of a layer are looked at. The kernel holds
// most of them; looking tells which one it was, and ends the command.
const watchEvery = 50 * time.Millisecond

// watchSandboxEvery is how often processes are counted of a command in the sandbox,
// which may run for hours.
const watchSandboxEvery = 250 * time.Millisecond

// watch ends a command that is at a limit.
func (j *job) watch(stop <-chan struct{}) {
	every := watchSandboxEvery
	if j.Layer || j.ReadOnly {
		every = watchEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if j.layer >= 0 && j.full() {
			j.end(layerFull(j.Size))
		}
		members := j.members()
		j.mu.Lock()
		crowded := j.crowded(len(members))
		j.mu.Unlock()
		if crowded {
			j.end("")
		}
		if j.layer < 0 {
			continue
		}
		for _, pid := range members {
			if memoryOf(pid) > j.Memory {
				j.end(bytes(j.Memory) + " of memory in a process")
			}
		}
	}
}

// crowded notes that there are as many processes as there may be, or nearly: a
// shell that is refused one ends, and others with it. The lock is held.
func (j *job) crowded(members int) bool {
	if int64(members) < j.Processes-j.Processes/16-1 {
		return false
	}
	if j.limit == "" {
		j.limit = strconv.FormatInt(j.Processes, 10) + " processes"
	}
	return int64(members) >= j.Processes
}

// memoryOf is how much memory of its own a process uses, in bytes.
func memoryOf(pid int) int64 {
	text, err := readFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0 // it has ended
	}
	_, rest, _ := strings.Cut(text, "\nRssAnon:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// leastFile is what each file on a layer counts at least, in bytes: one without
// content takes memory too.
const leastFile = 4096

// full reports whether the layer has no room left.
func (j *job) full() bool {
	if j.setup.Disk != "" {
		return sizeOf("/proc/self/fd/"+strconv.Itoa(j.layer), j.Size) >= j.Size
	}
	var st syscall.Statfs_t
	return syscall.Fstatfs(j.layer, &st) == nil && (st.Bavail == 0 || st.Ffree == 0)
}

// sizeOf is what a tree takes on disk, in bytes, counted until it is enough.
func sizeOf(dir string, enough int64) (size int64) {
	list, err := names(dir)
	if err != nil {
		return 0 // it has gone, or is overlay's own
	}
	for _, name := range list {
		var st syscall.Stat_t
		if syscall.Lstat(dir+"/"+name, &st) != nil {
			continue
		}
		size += max(st.Blocks*512, leastFile)
		if isDir(st.Mode) {
			size += sizeOf(dir+"/"+name, enough-size)
		}
		if size >= enough {
			return size
		}
	}
	return size
}

func layerFull(size int64) string { return bytes(size) + " of layer" }

// bytes words a size.
func bytes(n int64) string {
	for _, unit := range []string{"bytes", "KB", "MB"} {
		if n < 1024 || n%1024 != 0 {
			return strconv.FormatInt(n, 10) + " " + unit
		}
		n /= 1024
	}
	return strconv.FormatInt(n, 10) + " GB"
}

// notification is what the kernel says of a call that a filter stopped, and answer
// what it is told.
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	pointer    uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	value int64
	error int32
	flags uint32
}

const (
	notifyReceive = 0xc0502100
	notifySend    = 0xc0182101
	pollIn        = 0x1
)

// hear counts what the filter refused, and answers it.
func (j *job) hear() {
	defer syscall.Close(j.listener)
	for {
		var poll = struct {
			fd              int32
			events, revents int16
		}{fd: int32(j.listener), events: pollIn}
		_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, 0, 0, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 || poll.revents&pollIn == 0 {
			return // all that were filtered have ended
		}
		var n notification
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, uintptr(j.listener), notifyReceive, uintptr(unsafe.Pointer(&n)))
		if errno != 0 {
			continue // it was killed meanwhile
		}
		j.denied(wallOf(n))
		a := answer{id: n.id, error: -int32(syscall.EPERM)}
		// Who asked may have been killed meanwhile.
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(j.listener), notifySend, uintptr(unsafe.Pointer(&a)))
	}
}

// The walls of denials.
const (
	WallNetwork   = "network"
	WallSocket    = "socket"
	WallNamespace = "namespace"
	WallTrace     = "trace"
	WallHome      = "home"
)

func wallOf(n notification) string {
	switch n.number {
	case syscall.SYS_SOCKET:
		switch n.args[0] {
		case syscall.AF_INET, syscall.AF_INET6:
			return WallNetwork
		}
		return WallSocket
	case syscall.SYS_PTRACE, sysProcessVMReadv, sysProcessVMWritev:
		return WallTrace
	}
	return WallNamespace
}

func (j *job) denied(wall string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.denials[wall]++
}

// walls adds the walls that are counted by the kernel elsewhere.
func (j *job) walls() {
	if j.setup.Mechanism != "namespaces" || j.Layer || j.ReadOnly {
		return
	}
	j.counters.Lock()
	defer j.counters.Unlock()
	if n := unroutable(); n > j.counters.unroutable {
		j.denials[WallNetwork] += n - j.counters.unroutable
		j.counters.unroutable = n
	}
	if n := filesIn(j.setup.Home); n > j.counters.home {
		j.denials[WallHome] += n - j.counters.home
		j.counters.home = n
	}
}

// unroutable is how often something was to be sent for which the network namespace
// has no way.
func unroutable() int {
	total := 0
	if text, err := readFile("/proc/self/net/snmp"); err == nil {
		// Two lines begin with "Ip:": the names and the numbers.
		_, text, _ = strings.Cut(text, "Ip:")
		heads, rest, _ := strings.Cut(text, "\n")
		values := strings.Fields(strings.SplitN(rest, "\n", 2)[0])
		for i, head := range strings.Fields(heads) {
			if head == "OutNoRoutes" && i+1 < len(values) {
				n, _ := strconv.Atoi(values[i+1]) // the first value is "Ip:"
				total += n
			}
		}
	}
	if text, err := readFile("/proc/self/net/snmp6"); err == nil {
		_, rest, _ := strings.Cut(text, "Ip6OutNoRoutes")
		if fields := strings.Fields(rest); len(fields) > 0 {
			n, _ := strconv.Atoi(fields[0]) // the kernel's own number
			total += n
		}
	}
	return total
}

// filesIn is how many files a temporary file system holds.
func filesIn(dir string) int {
	var st syscall.Statfs_t
	if dir == "" || syscall.Statfs(dir, &st) != nil {
		return 0
	}
	return int(st.Files - st.Ffree)
}
