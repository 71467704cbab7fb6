//go:build amd64 || arm64

package launcher

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// tree makes the thread's file tree the one that the command is to see.
func (j *job) tree() error {
	hidden := make([]string, len(j.Writable))
	var err error
	if j.gone() {
		if hidden, err = j.hidden.make(j.Writable, j.Denied); err != nil {
			return failed("hide denied files", err)
		}
	}
	if j.Layer || j.ReadOnly || j.Job {
		if err := setattr("/", unix.MOUNT_ATTR_RDONLY, true); err != nil {
			return failed("make all read-only", err)
		}
	}
	if err := j.room(); err != nil {
		return failed("make room for writes", err)
	}
	if err := j.own(); err != nil {
		return err
	}
	if err := j.lay(hidden); err != nil {
		return err
	}
	for _, dir := range j.Outputs {
		if err := j.output(dir); err != nil {
			return failed("let "+dir+" be written", err)
		}
	}
	if err := j.restrict(j.Denied, j.Protected); err != nil {
		return err
	}
	return failed("leave the launcher's own directory", unix.Unmount(ownDir, unix.MNT_DETACH))
}

// gone reports whether denied names below Writable are gone, not covered.
func (j *job) gone() bool { return j.Overlay && (j.Layer || j.ReadOnly) }

// bounded reports whether the command's files cannot be executed, and its memory is limited.
func (j *job) bounded() bool { return (j.Layer || j.ReadOnly) && !j.Exec }

// noExec is the flag of a mount that the command writes to.
func (j *job) noExec() uintptr {
	if j.bounded() {
		return unix.MS_NOEXEC
	}
	return 0
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

// room mounts a directory on disk, or memory of limited size, for all that the command writes.
func (j *job) room() error {
	if j.setup.Disk == "" {
		flags := uintptr(unix.MS_NOSUID|unix.MS_NODEV) | j.noExec()
		err := unix.Mount("tmpfs", layerDir, "tmpfs", flags, "mode=755,size="+strconv.FormatInt(j.Size, 10)+
			",nr_inodes="+strconv.FormatInt(max(j.Size/leastFile, 16), 10))
		if err != nil {
			return err
		}
	} else {
		j.name = strconv.Itoa(int(j.rooms.Add(1)))
		if err := mountAttr(unix.AT_FDCWD, diskDir, 0, 0, unix.MOUNT_ATTR_RDONLY); err != nil {
			return err
		}
		if err := unix.Mkdir(diskDir+"/"+j.name, 0o700); err != nil {
			return err
		}
		if err := unix.Mount(diskDir+"/"+j.name, layerDir, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		set := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
		if j.bounded() {
			set |= unix.MOUNT_ATTR_NOEXEC
		}
		if err := setattr(layerDir, set, false); err != nil {
			return err
		}
	}
	var err error
	j.layer, err = unix.Open(layerDir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return err
}

// own mounts the command's home, its temporary files, those of the session, and the caches.
func (j *job) own() error {
	for _, dir := range []string{"home", "temp"} {
		if err := unix.Mkdir(layerDir+"/"+dir, 0o700); err != nil {
			return failed("make its own directory", err)
		}
	}
	if j.setup.Home != "" {
		if err := j.cover(layerDir+"/home", j.setup.Home); err != nil {
			return failed("cover "+j.setup.Home, err)
		}
	}
	if err := unix.Mount(layerDir+"/temp", Temp, "", unix.MS_BIND, ""); err != nil {
		return failed("mount its own temporary files", err)
	}
	for _, dir := range Shared {
		var clear uint64
		if !j.ReadOnly {
			clear = unix.MOUNT_ATTR_RDONLY
		}
		var set uint64
		if j.bounded() {
			set = unix.MOUNT_ATTR_NOEXEC
		}
		if err := mountAttr(unix.AT_FDCWD, dir, 0, set, clear); err != nil {
			return failed("share "+dir, err)
		}
	}
	for i, c := range j.caches {
		if err := j.cache(c, strconv.Itoa(i)); err != nil {
			return failed("show the cache "+c.to, err)
		}
	}
	for _, f := range j.Files {
		if err := makeFile(f.Path, f.Text, 0o600); err != nil {
			return failed("show "+f.Path, err)
		}
	}
	return nil
}

// cache lays the command's writes in a cache over artoo's own over the user's. A command that runs nothing
// of the project's only reads caches: an overlay that is written takes the kernel milliseconds to mount.
// Where there is nothing below, none is needed.
func (j *job) cache(c cache, n string) error {
	l := layers{lower: []string{c.own}}
	if c.users {
		l.lower = append(l.lower, c.to)
	}
	if j.ReadOnly || j.bounded() {
		if c.users {
			return l.mount(c.to, j.noExec())
		}
		if j.bounded() {
			return setattr(c.to, unix.MOUNT_ATTR_NOEXEC, false)
		}
		return nil // artoo's own is mounted there
	}
	l.upper, l.work = layerDir+"/cache"+n, layerDir+"/cachework"+n
	there, err := names(c.own)
	if err != nil {
		return err
	}
	if !c.users && len(there) == 0 {
		if err := unix.Mkdir(l.upper, 0o700); err != nil {
			return err
		}
		return unix.Mount(l.upper, c.to, "", unix.MS_BIND, "")
	}
	if err := l.makeUpper(); err != nil {
		return err
	}
	return l.mount(c.to, 0)
}

// output has a directory of a job written. A link to it is refused.
func (j *job) output(dir string) error {
	if j.below(dir) < 0 || slices.ContainsFunc(j.Protected, func(path string) bool { return inside(dir, path) }) {
		return failed("it cannot hold output", unix.EPERM)
	}
	fd, err := openHow(unix.AT_FDCWD, dir, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return bindOver(fd, 0, unix.MOUNT_ATTR_RDONLY)
}

// cover puts another directory over one, and the mounts in that back on top.
func (j *job) cover(from, dir string) error {
	type inner struct {
		path string
		fd   int
		dir  bool
	}
	var kept []inner
	defer func() {
		for _, k := range kept {
			unix.Close(k.fd)
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
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		kept = append(kept, inner{step.To, fd, isDir(st.Mode)})
		if err != nil {
			return err
		}
	}
	if err := unix.Mount(from, dir, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	for _, k := range kept {
		if err := makePlace(k.path, k.dir); err != nil {
			return err
		}
		if err := holdBetween(dir, k.path); err != nil {
			return failed("protect the directories above "+k.path, err)
		}
		from := "/proc/self/fd/" + strconv.Itoa(k.fd)
		if err := unix.Mount(from, k.path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return failed(k.path, err)
		}
	}
	return nil
}

// lay mounts a layer over each writable directory: whiteouts, shown files and kept caches lie between.
func (j *job) lay(hidden []string) error {
	if !j.Layer && !j.gone() {
		return nil
	}
	for i, dir := range j.Writable {
		l := layers{}
		if hidden[i] != "" {
			l.lower = append(l.lower, hidden[i])
		}
		if j.Shown[i] != "" {
			l.lower = append(l.lower, shownDir+"/"+j.Shown[i])
		}
		if j.Layer && j.Kept[i] != "" {
			l.lower = append(l.lower, keptDir+"/"+j.Kept[i])
		}
		l.lower = append(l.lower, dir)
		if j.Layer {
			n := strconv.Itoa(i)
			l.upper, l.work = layerDir+"/upper"+n, layerDir+"/work"+n
			if err := l.makeUpper(); err != nil {
				return failed("make a layer", err)
			}
		} else if len(l.lower) == 1 {
			continue
		}
		if err := l.mount(dir, j.noExec()); err != nil {
			return failed("mount a layer over "+dir, err)
		}
	}
	return nil
}

// makeUpper makes the written side, with the mode of the directory below.
func (l *layers) makeUpper() error {
	if err := unix.Mkdir(l.upper, 0o755); err != nil {
		return err
	}
	if err := unix.Mkdir(l.work, 0o700); err != nil {
		return err
	}
	return copyMode(l.lower[len(l.lower)-1], l.upper)
}

// copyMode gives a directory the mode, the owner and the times of another.
func copyMode(from, to string) error {
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return err
	}
	_ = unix.Lchown(to, int(st.Uid), int(st.Gid)) // only root may, and only for others would it matter
	if err := unix.Chmod(to, st.Mode&0o7777); err != nil {
		return err
	}
	return unix.UtimesNano(to, []unix.Timespec{st.Atim, st.Mtim})
}

// hidden makes directories of whiteouts, which make names go away in a layer. They
// are kept from one command to the next, until the names change.
type hidden struct {
	sync.Mutex
	made  int
	key   string
	paths []string
}

// make returns a directory of whiteouts for each of dirs, "" where nothing is to be hidden.
func (h *hidden) make(dirs, denied []string) ([]string, error) {
	h.Lock()
	defer h.Unlock()
	key := strings.Join(slices.Concat(dirs, []string{""}, denied), "\x00")
	if h.paths != nil && h.key == key {
		return h.paths, nil
	}
	h.made++
	h.paths = nil
	paths := make([]string, len(dirs))
	denied = slices.Sorted(slices.Values(denied)) // a directory comes before its entries
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
		// Times last: new entries changed them.
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
	if err := mkdirAll(root + dirOf(rest)); err == unix.EEXIST || err == unix.ENOTDIR {
		return nil
	} else if err != nil {
		return err
	}
	for parent := dirOf(rest); !made[parent]; parent = dirOf(parent) {
		made[parent] = true // the last one is "/"
	}
	err := unix.Mknod(root+rest, unix.S_IFCHR, 0)
	if err == unix.EEXIST {
		return nil
	}
	return err
}
