//go:build amd64 || arm64

package launcher

import (
	"runtime"
	"slices"
	"syscall"
	"unsafe"
)

// Landlock's rights over files, by its versions.
const (
	mayExecute = 1 << 0
	mayWrite   = 1 << 1
	mayRead    = 1 << 2
	mayList    = 1 << 3
	mayRemove  = 1<<4 | 1<<5 // directories and files
	mayMake    = 1<<6 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
	mayRefer   = 1 << 13 // Landlock version 2 has it.
	mayCut     = 1 << 14 // Landlock version 3 has it.

	ofFiles = mayExecute | mayWrite | mayRead | mayCut
	reading = mayExecute | mayRead | mayList
	all     = reading | mayWrite | mayRemove | mayMake | mayRefer | mayCut

	makeSocket = 1 << 9

	scopeSockets  = 1 << 0 // abstract unix sockets
	scopeSignals  = 1 << 1
	scopesSockets = 6 // the version with scopes
)

// landlockVersion is that of the kernel, 0 where there is none.
func landlockVersion() int {
	version, _, errno := syscall.Syscall(sysLandlockCreate, 0, 0, 1)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// newRuleset makes a ruleset that handles rights over files and scopes.
func newRuleset(files, scoped uint64) (*ruleset, error) {
	attr := struct{ files, network, scoped uint64 }{files: files, scoped: scoped}
	size := unsafe.Sizeof(attr.files)
	if scoped != 0 {
		size = unsafe.Sizeof(attr)
	}
	fd, _, errno := syscall.Syscall(sysLandlockCreate, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, failed("make a Landlock ruleset", errno)
	}
	return &ruleset{int(fd), files}, nil
}

// socketRules make the ruleset by which unix sockets are made in the command's own
// temporary directory only, and have abstract names for itself alone. What others
// made in directories that it sees is covered. Landlock refuses to move files between
// directories unless that is allowed.
func socketRules() (int, error) {
	r, err := newRuleset(makeSocket|mayRefer, scopeSockets)
	if err != nil {
		return -1, err
	}
	if err = r.allow("/", mayRefer); err == nil {
		err = r.allow(Temp, makeSocket|mayRefer)
	}
	if err != nil {
		syscall.Close(r.fd)
		return -1, failed("allow sockets", err)
	}
	return r.fd, nil
}

// devices are what every command writes to.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm"}

// ruleset is a Landlock ruleset in the making.
type ruleset struct {
	fd      int
	handled uint64
}

// grant confines the thread's use of files to what the command was granted.
func (j *job) grant() error {
	version := landlockVersion()
	handled, scoped := uint64(all), uint64(0)
	if version < 3 {
		handled &^= mayCut
	}
	if version < 2 {
		handled &^= mayRefer
	}
	if version >= scopesSockets {
		scoped = scopeSockets | scopeSignals
	}
	r, err := newRuleset(handled, scoped)
	if err != nil {
		return err
	}
	defer syscall.Close(r.fd)
	for _, path := range slices.Concat(j.Readable, j.Writable) {
		if err := r.allow(path, reading); err != nil {
			return failed("grant "+path, err)
		}
	}
	if err := r.allow("/dev", mayList); err != nil {
		return failed("grant /dev", err)
	}
	own := slices.Concat(j.setup.Scratch, devices)
	// The memory of others lies there, or even the project: what is granted above it would hold for it.
	if shm := "/dev/shm"; j.ReadOnly || slices.ContainsFunc(j.writes(), func(dir string) bool { return inside(dir, shm) }) {
		own = slices.DeleteFunc(own, func(path string) bool { return path == shm })
	}
	for _, path := range own {
		if err := r.allow(path, all); err != nil {
			return failed("grant "+path, err)
		}
	}
	closed := slices.Concat(j.Protected, j.Denied)
	for _, dir := range j.writes() {
		if err := j.allowBut(r, dir, closed); err != nil {
			return failed("grant "+dir, err)
		}
	}
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return failed("give up privileges", errno)
	}
	_, _, errno := syscall.Syscall(sysLandlockSelf, uintptr(r.fd), 0, 0)
	if errno != 0 {
		return failed("enter Landlock", errno)
	}
	return nil
}

// allow adds a rule for a path and what lies below it. What is not there needs
// none.
func (r *ruleset) allow(path string, rights uint64) error {
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err == syscall.ENOENT || err == syscall.ENOTDIR || err == syscall.EACCES {
		return nil
	}
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	if !isDir(st.Mode) {
		rights &= ofFiles
	}
	// The kernel's structure has no room at its end.
	var rule [12]byte
	*(*uint64)(unsafe.Pointer(&rule[0])) = rights & r.handled
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(fd)
	_, _, errno := syscall.Syscall6(sysLandlockAdd, uintptr(r.fd), 1, uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0)
	runtime.KeepAlive(&rule)
	if errno != 0 {
		return errno
	}
	return nil
}

// writes are the directories of the project that the command writes itself.
func (j *job) writes() []string {
	switch {
	case j.Layer || j.ReadOnly:
		return nil
	case j.Job:
		return j.Outputs
	}
	return j.Writable
}

// allowBut grants writing to what a directory holds, without what is closed. A right
// over a directory is one over all that lies in it: one that holds something closed
// is granted entry by entry, and gets no new ones.
func (j *job) allowBut(r *ruleset, dir string, closed []string) error {
	holds := func(path string) bool {
		return slices.ContainsFunc(closed, func(c string) bool { return inside(c, path) })
	}
	if !holds(dir) {
		return r.allow(dir, all)
	}
	entries, err := names(dir)
	if err != nil {
		return err
	}
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return err
	}
	j.full[place{uint64(st.Dev), st.Ino}] = true
	for _, name := range entries {
		path := dir + "/" + name
		if slices.Contains(closed, path) {
			continue
		}
		if err := syscall.Lstat(path, &st); err != nil || st.Mode&syscall.S_IFMT == syscall.S_IFLNK {
			continue // gone, or a link, whose end has its own rule or none
		}
		if isDir(st.Mode) && holds(path) {
			err = j.allowBut(r, path, closed)
		} else {
			err = r.allow(path, all)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// place is a file or directory, wherever its name is.
type place struct{ dev, inode uint64 }
