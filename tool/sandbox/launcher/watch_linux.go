//go:build amd64 || arm64

package launcher

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// watchEvery is how often limits are looked at: to name the one that the kernel held, too.
const watchEvery = 100 * time.Millisecond

// watchSlower times longer than a look takes the next one waits: builds write many files.
const watchSlower = 20

// watch ends a command that is at a limit.
func (j *job) watch(stop <-chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	free := j.freeSpace()
	next := time.Now()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if j.short(free) {
			j.end(bytes(j.Free) + " of free space")
		}
		began := time.Now()
		if began.Before(next) {
			continue
		}
		var u usage
		if j.layer >= 0 {
			u = j.usage()
			if limit := j.reached(u); limit != "" {
				j.end(limit)
			}
		}
		members := j.members()
		j.mu.Lock()
		crowded := j.crowded(len(members))
		j.mu.Unlock()
		if crowded {
			j.end("")
		}
		j.sayDenials()
		if j.bounded() {
			for _, pid := range members {
				if memoryOf(pid) > j.Memory {
					j.end(bytes(j.Memory) + " of memory in a process")
				}
			}
		}
		if u.entries > j.Entries {
			j.say(Answer{Say: SayEntries}) // artoo knows which are caches
		}
		next = began.Add(watchSlower * time.Since(began))
	}
}

// freeSpace is how many bytes are free on the disks that the command writes to.
func (j *job) freeSpace() []int64 {
	var list []int64
	dirs := []string{Shared[0], Shared[1]}
	if j.name != "" {
		dirs = append(dirs, diskDir)
	}
	for _, dir := range dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			list = append(list, int64(st.Bavail)*st.Bsize)
		}
	}
	return list
}

// mayTake is how many bytes a command may take of a disk that has too little free space.
const mayTake = 64 << 20

// short reports whether a disk has too little space, and less than at the command's start.
func (j *job) short(began []int64) bool {
	for i, now := range j.freeSpace() {
		if i < len(began) && now < j.Free && now < began[i]-mayTake {
			return true
		}
	}
	return false
}

// lastLook names a limit that the kernel held, and the files written to the home.
func (j *job) lastLook(status unix.WaitStatus) {
	if j.layer < 0 {
		return
	}
	u := j.usage()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.limit == "" {
		j.limit = j.reached(u)
	}
	// A process that is refused room ends with this signal, which its shell passes on.
	const refused = unix.SIGXFSZ
	if j.limit == "" && (u.largest >= j.Size || status.Signal() == refused || status.ExitStatus() == 128+int(refused)) {
		j.limit = bytes(j.Size) + " in one file"
	}
	for _, path := range j.homeFiles("", nil) {
		j.denials[Denial{Kind: DenialHome, Path: path}]++
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

// leastFile is the least size that a file on a layer counts, in bytes: empty ones take memory too.
const leastFile = 4096

// usage counts the bytes and entries that a command has written on its layer.
type usage struct {
	size    int64 // bytes on disk
	largest int64 // bytes of the largest file, holes included
	entries int64 // below the layer
	full    bool  // the file system in memory has no room
}

func (j *job) usage() (u usage) {
	at := "/proc/self/fd/" + strconv.Itoa(j.layer)
	list, err := names(at)
	if err != nil {
		return u
	}
	for _, name := range list {
		entries := u.entries
		u.add(at+"/"+name, j.Size)
		if !strings.HasPrefix(name, "upper") {
			u.entries = entries
		}
	}
	var st unix.Statfs_t
	u.full = j.name == "" && unix.Fstatfs(j.layer, &st) == nil && (st.Bavail == 0 || st.Ffree == 0)
	return u
}

// add counts a tree, until its size is enough.
func (u *usage) add(dir string, enough int64) {
	list, err := names(dir)
	if err != nil {
		return // it has gone
	}
	for _, name := range list {
		var st unix.Stat_t
		if unix.Lstat(dir+"/"+name, &st) != nil {
			continue
		}
		u.size += max(st.Blocks*512, leastFile)
		u.entries++
		if st.Mode&unix.S_IFMT == unix.S_IFREG {
			u.largest = max(u.largest, st.Size)
		}
		if u.size >= enough {
			return
		}
		if isDir(st.Mode) {
			u.add(dir+"/"+name, enough)
		}
	}
}

// reached is the limit that is reached, in words.
func (j *job) reached(u usage) string {
	if u.full || u.size >= j.Size {
		return bytes(j.Size) + " of layer"
	}
	return ""
}

// unnoticed are directories of the home in which programs keep files that no one misses.
var unnoticed = []string{"/.cache", "/.config/go/telemetry", "/.npm/_logs",
	"/.npm/_update-notifier-last-checked", "/.cargo/.global-cache",
	"/.local/share/gem/specs"}

// maxNamed is how many paths of a denial are named.
const maxNamed = 10

// homeFiles adds the files that the command wrote to its home, which are lost.
func (j *job) homeFiles(dir string, list []string) []string {
	at := "/proc/self/fd/" + strconv.Itoa(j.layer) + "/home" + dir
	entries, err := names(at)
	if err != nil {
		return list
	}
	for _, name := range entries {
		path := dir + "/" + name
		var st unix.Stat_t
		mounted := slices.ContainsFunc(j.setup.Steps, func(s Step) bool { return s.To == j.setup.Home+path })
		given := slices.ContainsFunc(j.Files, func(f File) bool { return f.Path == j.setup.Home+path })
		if len(list) >= maxNamed || mounted || given || slices.Contains(unnoticed, path) ||
			unix.Lstat(at+"/"+name, &st) != nil {
			continue
		}
		if isDir(st.Mode) {
			list = j.homeFiles(path, list)
		} else if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > 0 { // an empty one is a lock
			list = append(list, j.setup.Home+path)
		}
	}
	return list
}

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

// sayDenials reports new denials.
func (j *job) sayDenials() {
	j.mu.Lock()
	n, denials := len(j.denials), j.listDenials()
	j.mu.Unlock()
	if n > j.reported {
		j.reported = n
		j.say(Answer{Say: SayDenials, Denials: denials})
	}
}

// listDenials lists the denials. The lock is held.
func (j *job) listDenials() (denials []Denial) {
	for d, n := range j.denials {
		d.N = n
		denials = append(denials, d)
	}
	return denials
}

// maxDenials is how many kinds and paths of denials are kept apart.
const maxDenials = 50

// addCounted adds the denials that the kernel counts elsewhere.
func (j *job) addCounted() {
	if j.setup.Mechanism != "namespaces" || j.ReadOnly {
		return
	}
	j.counters.Lock()
	defer j.counters.Unlock()
	unroutable, opened, refused := network()
	if n := unroutable - j.counters.unroutable; n > 0 {
		j.denials[Denial{Kind: DenialNetwork}] += n
	}
	// A command that waits for a server of its own is refused at first.
	if n := refused - j.counters.refused; n > 0 && n == opened-j.counters.opened {
		j.denials[Denial{Kind: DenialLoopback}] += n
	}
	j.counters.unroutable = max(unroutable, j.counters.unroutable)
	j.counters.opened, j.counters.refused = opened, refused
}

// network counts packets without a route, connections opened, and those where no one listened.
func network() (unroutable, opened, refused int) {
	if text, err := readFile("/proc/self/net/snmp"); err == nil {
		unroutable = counter(text, "Ip:", "OutNoRoutes")
		opened, refused = counter(text, "Tcp:", "ActiveOpens"), counter(text, "Tcp:", "AttemptFails")
	}
	if text, err := readFile("/proc/self/net/snmp6"); err == nil {
		_, rest, _ := strings.Cut(text, "Ip6OutNoRoutes")
		if fields := strings.Fields(rest); len(fields) > 0 {
			n, _ := strconv.Atoi(fields[0]) // the kernel's own number
			unroutable += n
		}
	}
	return unroutable, opened, refused
}

// counter finds a number of /proc/net/snmp: two lines for a protocol, its names and its numbers.
func counter(text, protocol, name string) int {
	_, text, _ = strings.Cut("\n"+text, "\n"+protocol)
	heads, rest, _ := strings.Cut(text, "\n")
	values := strings.Fields(strings.SplitN(rest, "\n", 2)[0])
	for i, head := range strings.Fields(heads) {
		if head == name && i+1 < len(values) {
			n, _ := strconv.Atoi(values[i+1]) // the first value is the protocol
			return n
		}
	}
	return 0
}

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

// namespaceOf names the namespace of a process; "" where it has ended.
func namespaceOf(pid int) string {
	name, _ := readLink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	return name
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

// killAll ends all processes of the command; a namespace ends with its first. The lock is held.
func (j *job) killAll() {
	if j.setup.Mechanism == "namespaces" {
		_ = unix.Kill(j.first, unix.SIGKILL) // it has not been waited for: it is there
		return
	}
	killDescendants(j.first)
}

// killDescendants kills the descendants of a process until there are none.
func killDescendants(of int) {
	for range 1000 {
		list := descendants(of)
		if len(list) == 0 {
			return
		}
		for _, pid := range list {
			_ = unix.Kill(pid, unix.SIGKILL) // gone, or another user's and out of reach
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// killStrays kills the launcher's orphans, whose first process was killed. The lock is held.
func (s *server) killStrays() {
	own := unix.Getpid()
	for range 1000 { // The children of one that is killed become the launcher's.
		found := false
		for _, pid := range processes() {
			if parent, _ := parentOf(pid); parent == own && !s.known.first[pid] {
				found = true
				_ = unix.Kill(pid, unix.SIGKILL) // it has not been waited for: it is there
				waitFor(pid)
			}
		}
		if !found {
			return
		}
	}
}

// end ends all commands: the program that started the launcher has gone.
func (s *server) end() {
	if s.setup.Mechanism != "namespaces" { // Namespaces end their processes with the launcher.
		killDescendants(unix.Getpid())
	}
}
