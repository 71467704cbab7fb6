package cli

import (
	"bytes"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HideEnvironment keeps the keys that artoo was given in its environment from the commands it runs: they
// could read them in /proc/PID/environ of their parent. The values in the memory behind that file are
// blanked (the Go runtime has copied them as it started), and the process is made not dumpable, so that the
// kernel refuses its memory to all except root. Its children are dumpable again after exec. main calls it: it is for a
// process that is artoo alone.
func HideEnvironment() {
	begin, end := environBounds()
	if begin != 0 && begin < end {
		// The address is outside Go's memory, so its object cannot move.
		first := *(**byte)(unsafe.Pointer(&begin))
		for entry := range bytes.SplitSeq(unsafe.Slice(first, end-begin), []byte{0}) {
			if _, value, ok := bytes.Cut(entry, []byte("=")); ok {
				clear(value)
			}
		}
	}
	// It fails on kernels that do not know it; the blanked variables stay so.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// environBounds is where the kernel put the environment: the fields env_start and
// env_end of /proc/self/stat (proc(5)); 0, 0 where it does not say.
func environBounds() (begin, end uintptr) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0
	}
	// The fields behind the command's name, which may hold spaces; the first one
	// is number 3.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const envStart, envEnd = 50 - 3, 51 - 3
	if len(fields) <= envEnd {
		return 0, 0
	}
	from, err := strconv.ParseUint(string(fields[envStart]), 10, 64)
	to, errTo := strconv.ParseUint(string(fields[envEnd]), 10, 64)
	if err != nil || errTo != nil {
		return 0, 0
	}
	return uintptr(from), uintptr(to)
}
