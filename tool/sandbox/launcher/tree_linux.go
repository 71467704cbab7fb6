//go:build amd64 || arm64

package launcher

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// While the tree is made, the launcher's root is a temporary file system: the
// tree to be grows in newRoot, and the machine's stands at oldRoot.
const (
	newRoot = "/new"
	oldRoot = "/old"
)

// makeTree makes the file tree that all commands see, and leaves nothing of the
// machine's own within reach.
func (s *server) makeTree() error {
	tmpfs := func(at string) error {
		return unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755")
	}
	for _, act := range []struct {
		what string
		do   func() error
	}{
		{"make mounts private", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"mount a tmpfs", func() error { return tmpfs("/tmp") }},
		{"make a directory", func() error { return unix.Mkdir("/tmp"+oldRoot, 0o755) }},
		{"make a directory", func() error { return unix.Mkdir("/tmp"+newRoot, 0o755) }},
		{"change the root", func() error { return unix.PivotRoot("/tmp", "/tmp"+oldRoot) }},
		{"change the root", func() error { return unix.Chdir("/") }},
		{"mount a tmpfs", func() error { return tmpfs(newRoot) }},
		{"make the tree", s.perform},
		{"make the launcher's own directories", s.makeOwn},
		{"make the root read-only", func() error { return setattr(newRoot, unix.MOUNT_ATTR_RDONLY, false) }},
		{"change the root", func() error { return unix.Chdir(newRoot) }},
		// The staging root ends up below the new one, with the machine's tree in it.
		{"change the root", func() error { return unix.PivotRoot(".", ".") }},
		{"unmount the machine's files", func() error { return unix.Unmount(".", unix.MNT_DETACH) }},
		{"change the root", func() error { return unix.Chdir("/") }},
	} {
		if err := act.do(); err != nil {
			return failed(act.what, err)
		}
	}
	unix.Umask(0o022)
	return nil
}

// perform does the steps of the setup. The modes of new files are as named.
func (s *server) perform() error {
	unix.Umask(0)
	for _, step := range s.setup.Steps {
		if err := perform(step); err != nil {
			return failed(step.Op+" "+step.To, err)
		}
		s.sharedProc = s.sharedProc || step.Op == OpProc && step.From != ""
	}
	return nil
}

// perform does one step below newRoot.
func perform(step Step) error {
	to := newRoot + step.To
	switch step.Op {
	case OpDir, OpTemp, OpTerminal, OpProc:
		if err := mkdirAll(to); err != nil {
			return err
		}
	}
	switch step.Op {
	case OpDir:
		return nil
	case OpLink:
		if err := mkdirAll(dirOf(to)); err != nil {
			return err
		}
		return unix.Symlink(step.From, to)
	case OpRead, OpWrite, OpDevice:
		return bind(oldRoot+step.From, to, step.Op)
	case OpFile:
		return bindText(step.Data, to)
	case OpTemp:
		return unix.Mount("tmpfs", to, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, step.Data)
	case OpTerminal:
		return unix.Mount("devpts", to, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, step.Data)
	case OpProc:
		return mountProc(step, to)
	case OpCache:
		return mountCache(step, to)
	}
	return unix.EINVAL
}

// bind makes a file or directory of the machine's seen at another path.
func bind(from, to, op string) error {
	var st unix.Stat_t
	if err := unix.Stat(from, &st); err != nil {
		return err
	}
	if err := makePlace(to, isDir(st.Mode)); err != nil {
		return err
	}
	// A mount in a directory that commands write must not be moved by them.
	for _, dir := range Shared {
		if inside(to, newRoot+dir) {
			if err := holdBetween(newRoot+dir, to); err != nil {
				return err
			}
		}
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	switch op {
	case OpRead:
		return setattr(to, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, true)
	case OpWrite:
		return setattr(to, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, true)
	}
	return setattr(to, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, false)
}

// bindText puts a read-only file of its own over a path.
func bindText(text, to string) error {
	const scratch = "/text"
	if err := makeFile(scratch, text, 0o644); err != nil {
		return err
	}
	if err := makeFile(to, "", 0o644); err != nil {
		return err
	}
	if err := unix.Mount(scratch, to, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := setattr(to, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, false); err != nil {
		return err
	}
	return unix.Unlink(scratch)
}

// mountProc mounts the launcher's own processes. Where the kernel does not let it,
// since the proc that is there is itself covered in part, that one is shown.
func mountProc(step Step, to string) error {
	if step.From == "" {
		return unix.Mount("proc", to, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	if unix.Geteuid() == 0 {
		return bind(oldRoot+step.From, to, OpRead) // root could write to much of it
	}
	return bind(oldRoot+step.From, to, OpWrite)
}

// mountCache shows a cache read-only: the user's, or artoo's own where the user has
// none. Each command's own view is laid over it.
func mountCache(step Step, to string) error {
	var st unix.Stat_t
	if unix.Stat(oldRoot+step.From, &st) != nil {
		return bind(oldRoot+step.Data+"/upper", to, OpRead)
	}
	return bind(oldRoot+step.From, to, OpRead)
}

// layers are directories laid over each other, the topmost of lower first. Without
// upper nothing can be written.
type layers struct {
	lower       []string
	upper, work string
}

// mount mounts them as one. Paths go by descriptors: the kernel takes no more than a page of options, and colons part
// them.
func (l layers) mount(to string, flags uintptr) error {
	parts := l.lower
	if l.upper != "" {
		parts = append(parts[:len(parts):len(parts)], l.upper, l.work)
	}
	var short []string
	for _, path := range parts {
		fd, err := openPath(path)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		short = append(short, "/proc/self/fd/"+strconv.Itoa(fd))
	}
	n := len(l.lower)
	options := "lowerdir=" + strings.Join(short[:n], ":") + ",userxattr,index=off,xino=off"
	if l.upper != "" {
		// Without volatile the end of a command waited until all of the disk was written.
		options += ",volatile,upperdir=" + short[n] + ",workdir=" + short[n+1]
	}
	return unix.Mount("overlay", to, "overlay", unix.MS_NOSUID|unix.MS_NODEV|flags, options)
}

// Places of the launcher's own in the finished tree.
const (
	voidDir   = "/run/void"  // an empty "file" and an empty "dir" that no process can open
	ownDir    = "/run/artoo" // holds those below, and is gone for commands
	layerDir  = ownDir + "/layer"
	diskDir   = ownDir + "/disk"   // Setup.Disk: one directory for each command
	keptDir   = ownDir + "/kept"   // Setup.Kept
	shownDir  = ownDir + "/shown"  // Setup.Shown
	cacheDir  = ownDir + "/caches" // artoo's own side of each cache, by its number
	hiddenDir = ownDir + "/hidden" // whiteouts for layers
)

// makeOwn makes the launcher's own places, and the one of each command's own
// temporary files.
func (s *server) makeOwn() error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	for _, dir := range []string{ownDir, voidDir, Temp} {
		if err := mkdirAll(newRoot + dir); err != nil {
			return err
		}
	}
	if err := unix.Mount("tmpfs", newRoot+ownDir, "tmpfs", flags, "mode=755"); err != nil {
		return err
	}
	for _, dir := range []string{layerDir, diskDir, keptDir, shownDir, cacheDir, hiddenDir} {
		if err := unix.Mkdir(newRoot+dir, 0o755); err != nil {
			return err
		}
	}
	if s.setup.Disk != "" {
		if err := bind(oldRoot+s.setup.Disk, newRoot+diskDir, OpWrite); err != nil {
			return err
		}
	}
	for from, to := range map[string]string{s.setup.Kept: keptDir, s.setup.Shown: shownDir} {
		if from == "" {
			continue
		}
		if err := bind(oldRoot+from, newRoot+to, OpRead); err != nil {
			return err
		}
	}
	for _, step := range s.setup.Steps {
		if step.Op != OpCache {
			continue
		}
		var st unix.Stat_t
		c := cache{to: step.To, own: cacheDir + "/" + strconv.Itoa(len(s.caches)), users: unix.Stat(oldRoot+step.From, &st) == nil}
		if err := bind(oldRoot+step.Data+"/upper", newRoot+c.own, OpRead); err != nil {
			return err
		}
		s.caches = append(s.caches, c)
	}
	void := newRoot + voidDir
	if err := unix.Mount("tmpfs", void, "tmpfs", flags, "mode=755,size=64k"); err != nil {
		return err
	}
	if err := makeFile(void+"/file", "", 0); err != nil {
		return err
	}
	if err := unix.Mkdir(void+"/dir", 0); err != nil {
		return err
	}
	return setattr(void, unix.MOUNT_ATTR_RDONLY, false)
}

// cache is a cache directory that commands see.
type cache struct {
	to, own string // where it is seen, and artoo's own side
	users   bool   // the user has one: it is mounted at to
}

// findRoom finds out where layers can lie: on the disk that was named, else in
// memory. The error says why nowhere.
func (s *server) findRoom() (where string, err error) {
	if s.setup.Disk != "" {
		if err = tryLayer(diskDir); err == nil {
			return OnDisk, nil
		}
	}
	if err := unix.Mount("tmpfs", layerDir, "tmpfs", 0, "mode=755,size=1m"); err != nil {
		return "", failed("mount a tmpfs", err)
	}
	defer unix.Unmount(layerDir, unix.MNT_DETACH)
	s.setup.Disk = ""
	if memoryErr := tryLayer(layerDir); memoryErr == nil {
		return InMemory, nil
	} else if err == nil {
		err = memoryErr
	}
	return "", err
}

// tryLayer makes a layer in a directory. Without attributes it could not say that a
// directory was made again.
func tryLayer(in string) error {
	at := in + "/try"
	defer removeAll(at)
	l := layers{lower: []string{at + "/lower"}, upper: at + "/upper", work: at + "/work"}
	if err := mkdirAll(at + "/lower"); err != nil {
		return err
	}
	if err := l.makeUpper(); err != nil {
		return err
	}
	if err := unix.Setxattr(l.upper, "user.overlay.try", []byte("y"), 0); err != nil {
		return failed("set an attribute", err)
	}
	if err := l.mount(at+"/lower", 0); err != nil {
		return failed("mount an overlay", err)
	}
	return unix.Unmount(at+"/lower", unix.MNT_DETACH)
}

// removeAll removes a tree as far as it can. The rest goes with the session.
func removeAll(path string) {
	list, err := names(path)
	if err == nil {
		for _, name := range list {
			removeAll(path + "/" + name)
		}
		_ = unix.Rmdir(path)
		return
	}
	_ = unix.Unlink(path)
}
