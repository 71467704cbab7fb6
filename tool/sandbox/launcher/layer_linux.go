//go:build amd64 || arm64

package launcher

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// tree changes the thread's own copy of the file tree to what the command is to
// see.
func (j *job) tree() error {
	if j.Layer || j.ReadOnly {
		if err := j.overlay(); err != nil {
			return err
		}
	}
	if err := j.restrict(); err != nil {
		return err
	}
	return failed("leave the launcher's own directory", syscall.Unmount(ownDir, syscall.MNT_DETACH))
}

// below is the writable directory that a path lies in, -1 for none.
func (j *job) below(path string) int {
	return slices.IndexFunc(j.Writable, func(dir string) bool { return inside(path, dir) })
}

// inside reports whether a path lies below a directory, or is it.
func inside(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

// scratch is where commands on a layer may write besides it.
var scratch = []string{"/tmp", "/var/tmp", "/dev/shm"}

// overlay makes all read-only, gives the command temporary directories of its own,
// and lays a layer over what is writable.
func (j *job) overlay() error {
	hidden := make([]string, len(j.Writable))
	var err error
	if j.gone() {
		if hidden, err = j.hidden.make(j.Writable, j.Denied); err != nil {
			return failed("hide denied files", err)
		}
	}
	if err := setattr("/", attrReadOnly, true); err != nil {
		return failed("make all read-only", err)
	}
	for _, step := range j.setup.Steps {
		if step.Op == OpCache && j.Caches {
			if err := clearReadOnly(step.To); err != nil {
				return failed("let "+step.To+" be written", err)
			}
		}
	}
	flags := uintptr(syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC)
	if j.Exec {
		flags &^= syscall.MS_NOEXEC
	}
	if err := j.room(flags); err != nil {
		return failed("make room for a layer", err)
	}
	if j.layer, err = syscall.Open(layerDir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0); err != nil {
		return failed("make room for a layer", err)
	}
	for i, dir := range append(scratch[:len(scratch):len(scratch)], j.setup.Home) {
		from := layerDir + "/temp" + strconv.Itoa(i)
		if err := syscall.Mkdir(from, 0o700); err != nil {
			return failed("make a temporary directory", err)
		}
		if dir != j.setup.Home {
			_ = syscall.Chmod(from, 0o777|syscall.S_ISVTX)
		}
		if err := j.cover(from, dir); err != nil {
			return failed("cover "+dir, err)
		}
	}
	if !j.Exec {
		for _, step := range j.setup.Steps {
			if step.Op == OpCache {
				if err := setattr(step.To, attrNoExec, false); err != nil {
					return failed("run nothing from "+step.To, err)
				}
			}
		}
	}
	return j.lay(hidden, flags)
}

// room mounts what is to hold all that the command writes: a file system in memory,
// whose size is the limit, or a directory on disk.
func (j *job) room(flags uintptr) error {
	if j.setup.Disk == "" {
		return syscall.Mount("tmpfs", layerDir, "tmpfs", flags, "mode=755,size="+strconv.FormatInt(j.Size, 10)+
			",nr_inodes="+strconv.FormatInt(max(j.Size/leastFile, 16), 10))
	}
	dir := diskDir + "/" + strconv.Itoa(int(j.layers.Add(1)))
	if err := clearReadOnly(diskDir); err != nil {
		return err
	}
	if err := syscall.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount(dir, layerDir, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	set := uint64(attrNoSuid | attrNoDev)
	if flags&syscall.MS_NOEXEC != 0 {
		set |= attrNoExec
	}
	return setattr(layerDir, set, false)
}

// cover puts another directory over one, and what is mounted in that back on top.
func (j *job) cover(from, dir string) error {
	type inner struct {
		path string
		fd   int
		dir  bool
	}
	var kept []inner
	defer func() {
		for _, k := range kept {
			syscall.Close(k.fd)
		}
	}()
	for _, step := range j.setup.Steps {
		if step.To == dir || !inside(step.To, dir) || step.Op == OpDir || step.Op == OpLink ||
			slices.ContainsFunc(kept, func(k inner) bool { return inside(step.To, k.path) }) {
			continue
		}
		fd, err := openPath(step.To)
		if err != nil {
			return err
		}
		var st syscall.Stat_t
		err = syscall.Fstat(fd, &st)
		kept = append(kept, inner{step.To, fd, isDir(st.Mode)})
		if err != nil {
			return err
		}
	}
	if err := syscall.Mount(from, dir, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	for _, k := range kept {
		if err := makePlace(k.path, k.dir); err != nil {
			return err
		}
		from := "/proc/self/fd/" + strconv.Itoa(k.fd)
		if err := syscall.Mount(from, k.path, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return failed(k.path, err)
		}
	}
	return nil
}

// lay lays the layer over each writable directory, and below it what hides denied
// names.
func (j *job) lay(hidden []string, flags uintptr) error {
	for i, dir := range j.Writable {
		l := layers{lower: []string{dir}}
		if hidden[i] != "" {
			l.lower = []string{hidden[i], dir}
		}
		if j.Layer {
			n := strconv.Itoa(i)
			l.upper, l.work = layerDir+"/upper"+n, layerDir+"/work"+n
			if err := l.makeUpper(); err != nil {
				return failed("make a layer", err)
			}
		} else if hidden[i] == "" {
			continue
		}
		if err := l.mount(dir, "/proc", flags); err != nil {
			return failed("lay a layer over "+dir, err)
		}
	}
	return nil
}

// makeUpper makes the written side, with the mode of the directory below.
func (l *layers) makeUpper() error {
	if err := syscall.Mkdir(l.upper, 0o755); err != nil {
		return err
	}
	if err := syscall.Mkdir(l.work, 0o700); err != nil {
		return err
	}
	return copyMode(l.lower[len(l.lower)-1], l.upper)
}

// copyMode gives a directory the mode, the owner and the times of another.
func copyMode(from, to string) error {
	var st syscall.Stat_t
	if err := syscall.Lstat(from, &st); err != nil {
		return err
	}
	_ = syscall.Lchown(to, int(st.Uid), int(st.Gid)) // only root may, and only for others would it matter
	if err := syscall.Chmod(to, st.Mode&0o7777); err != nil {
		return err
	}
	return syscall.UtimesNano(to, []syscall.Timespec{st.Atim, st.Mtim})
}

// hidden makes directories of whiteouts, which make names go away in a layer. They
// are kept from one command to the next, until the names change.
type hidden struct {
	sync.Mutex
	made  int
	key   string
	paths []string
}

// make returns a directory of whiteouts for each of dirs, "" where nothing is to be
// hidden.
func (h *hidden) make(dirs, denied []string) ([]string, error) {
	h.Lock()
	defer h.Unlock()
	key := string(Encode(dirs, denied))
	if h.paths != nil && h.key == key {
		return h.paths, nil
	}
	h.made++
	h.paths = nil
	paths := make([]string, len(dirs))
	for i, dir := range dirs {
		root := hiddenDir + "/" + strconv.Itoa(h.made) + "-" + strconv.Itoa(i)
		made := map[string]bool{}
		for _, path := range denied {
			if path == dir || !inside(path, dir) {
				continue
			}
			if err := whiteout(root, dir, path, made); err != nil {
				return nil, failed(path, err)
			}
			paths[i] = root
		}
		// Times last: what was made within changed them.
		for parent := range made {
			if err := copyMode(dir+parent, root+parent); err != nil {
				return nil, failed(dir+parent, err)
			}
		}
	}
	h.key, h.paths = key, paths
	return paths, nil
}

// whiteout hides path, which lies in dir, by an entry below root.
func whiteout(root, dir, path string, made map[string]bool) error {
	rest := path[len(dir):]
	for parent := dirOf(rest); ; parent = dirOf(parent) {
		if parent == "/" {
			parent = ""
		}
		if made[parent] {
			break
		}
		made[parent] = true
		if parent == "" {
			break
		}
	}
	if err := mkdirAll(root + dirOf(rest)); err != nil {
		return err
	}
	err := syscall.Mknod(root+rest, syscall.S_IFCHR, 0)
	if err == syscall.EEXIST {
		return nil
	}
	return err
}
