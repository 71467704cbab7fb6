//go:build amd64 || arm64

package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"artoo/tool/names"
	"artoo/tool/sandbox/launcher"
	"artoo/tool/tempdir"
)

// places are the file tree of commands: how it is made, and which parts they may write and read.
type places struct {
	steps       []launcher.Step
	write, read []string
	layered     []string
	own         []string // directories of artoo's own that lie in those or in read: denied
	home        string
	environ     []string // variables that lead to temporary files and caches

	// To Landlock, which grants existing paths and moves nothing:
	granted []string
	scratch []string
}

// system are the system's directories, and those of others that programs need.
var system = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt", "/nix", "/gnu",
	"/snap", "/sys", "/run/current-system", "/var/lib/dpkg", "/var/lib/apt", "/var/lib/rpm", "/var/lib/pacman",
	"/var/lib/alternatives", "/var/lib/ca-certificates", "/var/lib/texmf", "/var/cache/fontconfig"}

// resolvers names the servers that resolve host names.
const resolvers = "/etc/resolv.conf"

// nameServer sends resolvers to an address that nothing has, so that they fail at once.
const nameServer = "nameserver 192.0.2.1\n"

// locate plans the file tree.
func (s *Sandbox) locate() (places, error) {
	p := places{}
	var err error
	if p.write, err = outermost(append([]string{s.config.Root}, s.config.Write...)); err != nil {
		return p, err
	}
	if len(p.write) == 0 || slices.Contains(p.write, "/") {
		return p, errors.New("the root directory cannot be a project")
	}
	read := slices.Concat(s.config.Read, s.config.Toolchains)
	p.layered = p.write
	if s.config.Common != "" {
		read = append(read, s.config.Common)
		if p.layered, err = outermost(append(slices.Clone(p.write), s.config.Common)); err != nil {
			return p, err
		}
	}
	if s.config.Temp == "" {
		return p, errors.New("a directory for temporary files is needed")
	}
	// The launcher finds directories below another root, where links lead elsewhere.
	if err := os.MkdirAll(s.config.Temp, 0o700); err != nil {
		return p, err
	}
	if s.config.Temp, err = filepath.EvalSymlinks(s.config.Temp); err != nil {
		return p, err
	}
	if p.read, err = outermost(read); err != nil {
		return p, err
	}
	p.read = slices.DeleteFunc(p.read, func(dir string) bool { return dir == "/" || within(dir, p.write) })
	if s.facts.Mechanism == Landlock {
		return p, s.grants(&p)
	}
	p.systemSteps()
	if s.config.Network {
		for _, file := range naming() {
			p.add(launcher.OpRead, file, file, "")
		}
	} else if file, err := filepath.EvalSymlinks(resolvers); err == nil {
		p.add(launcher.OpFile, "", file, nameServer)
	}
	p.deviceSteps(s.facts.HidesProcess)
	if err := p.tempSteps(s.config); err != nil {
		return p, err
	}
	p.environ = []string{"TMPDIR=" + launcher.Temp}
	if err := s.claimRoom(); err != nil {
		return p, fmt.Errorf("layers: %w", err)
	}
	if s.config.Kept != "" {
		if s.kept, err = s.claim(s.config.Kept); err != nil {
			return p, fmt.Errorf("kept caches: %w", err)
		}
	}
	own := len(p.steps)
	for _, dir := range p.read {
		p.add(launcher.OpRead, dir, dir, "")
	}
	for _, dir := range p.write {
		p.add(launcher.OpWrite, dir, dir, "")
	}
	if err := s.cacheSteps(&p); err != nil {
		return p, err
	}
	// A directory comes before its entries.
	slices.SortStableFunc(p.steps[own:], func(a, b launcher.Step) int {
		return strings.Count(a.To, "/") - strings.Count(b.To, "/")
	})
	seen := slices.Concat(p.read, p.layered)
	for _, dir := range append([]string{filepath.Dir(s.room.Path), s.kept}, s.ownCaches...) {
		if within(dir, seen) {
			p.own = append(p.own, dir)
		}
	}
	for _, step := range p.steps { // the launcher numbers them so
		if step.Op == launcher.OpCache {
			s.caches = append(s.caches, step.Data)
		}
	}
	return p, nil
}

func (p *places) add(op, from, to, data string) {
	p.steps = append(p.steps, launcher.Step{Op: op, From: from, To: to, Data: data})
}

// outermost are the directories that exist, without links and those within another of them.
func outermost(dirs []string) ([]string, error) {
	var list []string
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, real)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(slices.Clone(list), func(dir string) bool {
		return slices.ContainsFunc(list, func(other string) bool { return other != dir && within(dir, []string{other}) })
	}), nil
}

// within reports whether a path is one of the directories or lies below one.
func within(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return names.Within(dir, path) })
}

// systemSteps show the system's own directories, and the links that lead to them.
func (p *places) systemSteps() {
	for _, dir := range append([]string{"/home", "/tmp", "/var/run", "/var/lock"}, system...) {
		target, err := os.Readlink(dir)
		if err == nil {
			p.add(launcher.OpLink, target, dir, "")
			continue
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() && slices.Contains(system, dir) {
			p.add(launcher.OpRead, dir, dir, "")
		}
	}
}

// naming are the files by which programs find the addresses of hosts, where links of /etc lead to them from directories
// that commands see to one that they do not see: /run/systemd/resolve, /run/NetworkManager, /mnt/wsl.
func naming() (files []string) {
	for _, file := range []string{resolvers, "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf"} {
		real, err := filepath.EvalSymlinks(file)
		if err == nil && !within(real, system) {
			files = append(files, real)
		}
	}
	return files
}

// deviceSteps make /proc and a small /dev.
func (p *places) deviceSteps(ownProc bool) {
	proc := "/proc"
	if ownProc {
		proc = ""
	}
	p.add(launcher.OpProc, proc, "/proc", "")
	p.add(launcher.OpTemp, "", "/dev", "mode=755,size=1m")
	for _, device := range []string{"null", "zero", "full", "random", "urandom"} {
		p.add(launcher.OpDevice, "/dev/"+device, "/dev/"+device, "")
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		p.add(launcher.OpLink, target, "/dev/"+name, "")
	}
	p.add(launcher.OpTerminal, "", "/dev/pts", "newinstance,ptmxmode=0666,mode=620")
	p.add(launcher.OpTemp, "", "/dev/shm", "mode=1777,size=1g,nr_inodes=256k")
}

// tempSteps make the temporary directories and an empty home.
func (p *places) tempSteps(config Config) error {
	for name, dir := range map[string]string{"tmp": "/tmp", "var-tmp": "/var/tmp"} {
		own := filepath.Join(config.Temp, name)
		if err := os.MkdirAll(own, 0o700); err != nil {
			return err
		}
		p.add(launcher.OpWrite, own, dir, "")
	}
	if config.Home == "" || config.Home == "/" {
		return nil
	}
	p.home = names.Real(config.Home)
	p.add(launcher.OpDir, "", p.home, "")
	p.linkSteps(config.Home)
	return nil
}

// linkSteps show the links by which a path leads to what it names, where nothing shows them yet.
func (p *places) linkSteps(path string) {
	for ; path != "/" && path != "."; path = filepath.Dir(path) {
		to, at := names.Real(path), filepath.Join(names.Real(filepath.Dir(path)), filepath.Base(path))
		shown := func(s launcher.Step) bool { return s.To == at }
		if to != at && !within(at, system) && !slices.ContainsFunc(p.steps, shown) {
			p.add(launcher.OpLink, to, at, "")
		}
	}
}

// cacheSteps show the caches.
func (s *Sandbox) cacheSteps(p *places) error {
	for _, cache := range s.config.Caches {
		own, err := s.ownCache(cache)
		if err != nil {
			return fmt.Errorf("cache %s: %w", cache.Path, err)
		}
		path := names.Real(cache.Path)
		if within(path, p.write) || slices.ContainsFunc(p.read, func(dir string) bool { return within(dir, []string{path}) }) {
			continue // the project has it
		}
		if s.facts.Layer {
			p.add(launcher.OpCache, path, path, own)
		} else {
			p.add(launcher.OpWrite, filepath.Join(own, "upper"), path, "")
		}
	}
	return nil
}

// grants are the paths Landlock grants besides the project. Caches are artoo's alone.
func (s *Sandbox) grants(p *places) error {
	p.granted = slices.Concat(system, []string{"/proc"}, p.read)
	if s.config.Network {
		p.granted = append(p.granted, naming()...)
	}
	temp := filepath.Join(s.config.Temp, "tmp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return err
	}
	p.scratch, p.environ = []string{temp}, []string{"TMPDIR=" + temp}
	for _, cache := range s.config.Caches {
		own, err := s.ownCache(cache)
		if err != nil {
			return fmt.Errorf("cache %s: %w", cache.Path, err)
		}
		if cache.Env != "" {
			upper := filepath.Join(own, "upper")
			p.scratch = append(p.scratch, upper)
			p.environ = append(p.environ, cache.Env+"="+upper)
		}
	}
	return nil
}

// ownCache makes artoo's own side of a cache.
func (s *Sandbox) ownCache(cache Cache) (string, error) {
	own, err := s.claim(cache.Own)
	if err != nil {
		return "", err
	}
	s.ownCaches = append(s.ownCaches, own)
	return own, os.MkdirAll(filepath.Join(own, "upper"), 0o700)
}

// claimRoom makes the session's directory for layers, and removes those of ended sessions.
func (s *Sandbox) claimRoom() (err error) {
	layers := s.config.Layers
	if layers == "" {
		layers = filepath.Join(s.config.Temp, "layers")
	}
	if s.room, err = makeRoom(layers); err != nil {
		return err
	}
	s.shown = filepath.Join(s.room.Path, "shown")
	return os.Mkdir(s.shown, 0o700)
}

// makeRoom makes a session's directory in one for layers, which it makes when missing.
func makeRoom(layers string) (*tempdir.Dir, error) {
	if err := os.MkdirAll(layers, 0o700); err != nil {
		return nil, err
	}
	layers, err := filepath.EvalSymlinks(layers)
	if err != nil {
		return nil, err
	}
	if err := tempdir.Sweep(layers); err != nil {
		return nil, err
	}
	room, err := tempdir.Make(layers)
	if err == nil {
		spread(room.Path)
	}
	return room, err
}

// topDir is FS_TOPDIR_FL of linux/fs.h.
const topDir = 0x20000

// spread has ext4 put each directory that is made in dir into a part of the disk that
// holds few. In one where thousands of files were deleted in the last minutes, which ext4
// passes over one by one, it takes milliseconds to make each directory of a layer.
// Other file systems do not know the flag and need none.
func spread(dir string) {
	file, err := os.Open(dir)
	if err != nil {
		return
	}
	defer file.Close()
	if flags, err := unix.IoctlGetInt(int(file.Fd()), unix.FS_IOC_GETFLAGS); err == nil {
		_ = unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags|topDir)
	}
}

// lock opens a file and locks it. It does not wait.
func lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// claim makes a directory of artoo's own and has it for this session. While another
// has it, it is an empty one of this session's.
func (s *Sandbox) claim(dir string) (string, error) {
	for try := 0; ; try++ {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		own, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", err
		}
		file, err := lock(filepath.Join(own, "lock"))
		if err == nil {
			s.locks = append(s.locks, file)
			return own, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || try > 0 {
			return "", err
		}
		dir = filepath.Join(s.config.Temp, "cache-"+strconv.Itoa(len(s.locks)))
	}
}

// isCache reports whether a path below a writable directory is a cache's.
func (s *Sandbox) isCache(rel string) bool { return s.config.IsCache != nil && s.config.IsCache(rel) }

// keptName is the name of the kept cache of a writable directory.
func keptName(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:8])
}

// keptFor are the names of the kept caches of each of the roots, "" for none. The
// directories above caches get the mode and times of the project's, and go where
// those have gone: in a layer kept caches lie over the project.
func (s *Sandbox) keptFor(roots []string) ([]string, error) {
	list := make([]string, len(roots))
	if s.kept == "" || s.config.IsCache == nil {
		return list, nil
	}
	s.merging.Lock()
	defer s.merging.Unlock()
	for i, root := range roots {
		name := keptName(root)
		there, err := s.refresh(filepath.Join(s.kept, name), root, "")
		if err != nil {
			return nil, err
		}
		if there {
			list[i] = name
		}
	}
	return list, nil
}

// refresh makes a kept directory above caches like the project's. It reports whether it holds any.
func (s *Sandbox) refresh(kept, original, rel string) (there bool, err error) {
	entries, err := os.ReadDir(kept)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var st, now unix.Stat_t
	if err := unix.Lstat(original, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false, tempdir.RemoveAll(kept)
	}
	for _, entry := range entries {
		below := filepath.Join(rel, entry.Name())
		inner := s.isCache(below)
		if !inner {
			if inner, err = s.refresh(filepath.Join(kept, entry.Name()), filepath.Join(original, entry.Name()), below); err != nil {
				return false, err
			}
		}
		there = there || inner
	}
	if err := unix.Lstat(kept, &now); err != nil {
		return false, err
	}
	if now.Mode&0o7777 != st.Mode&0o7777 {
		if err := unix.Fchmodat(unix.AT_FDCWD, kept, st.Mode&0o7777|0o700, 0); err != nil {
			return false, err
		}
	}
	if now.Mtim != st.Mtim {
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, kept, []unix.Timespec{st.Atim, st.Mtim}, 0); err != nil {
			return false, err
		}
	}
	return there, nil
}

// shownTo makes a directory for each layer of a command with the files that are seen in place of the project's, and names
// it; "" for none. The directories above such a file cover the project's, so they get the same mode and times.
func (s *Sandbox) shownTo(line launcher.Line) ([]string, error) {
	dirs := make([]string, len(line.Writable))
	if s.config.Shown == nil {
		return dirs, nil
	}
	files, err := s.config.Shown(s.shown, line.Denied, line.Writable)
	if err != nil {
		return nil, fmt.Errorf("sandbox: files that are seen in place of others: %w", err)
	}
	above := map[string]string{} // directories, and those that they are like
	for path, from := range files {
		at := slices.IndexFunc(line.Writable, func(dir string) bool { return within(path, []string{dir}) })
		if at < 0 {
			continue
		}
		if dirs[at] == "" {
			dir, err := os.MkdirTemp(s.shown, "line-")
			if err != nil {
				return nil, err
			}
			dirs[at] = filepath.Base(dir)
		}
		root := line.Writable[at]
		to := filepath.Join(s.shown, dirs[at], path[len(root):])
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return nil, err
		}
		if err := os.Link(from, to); err != nil {
			return nil, err
		}
		for path != root {
			path, to = filepath.Dir(path), filepath.Dir(to)
			above[to] = path
		}
	}
	for dir, original := range above {
		if err := liken(dir, original); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// liken gives a directory the owner, the mode and the times of another, which may have gone.
func liken(dir, original string) error {
	var st unix.Stat_t
	if unix.Stat(original, &st) != nil {
		return nil
	}
	_ = unix.Lchown(dir, int(st.Uid), int(st.Gid)) // only root may, and only for others would it matter
	return errors.Join(unix.Chmod(dir, st.Mode&0o7777|0o700), unix.UtimesNano(dir, []unix.Timespec{st.Atim, st.Mtim}))
}

// unshow removes what shownTo made.
func (s *Sandbox) unshow(dirs []string) (err error) {
	for _, name := range dirs {
		if name != "" {
			err = errors.Join(err, tempdir.RemoveAll(filepath.Join(s.shown, name)))
		}
	}
	return err
}

// entries counts the entries that the command has written on its layer outside caches.
func (p *Process) entries() (n int64) {
	for i := range p.line.Writable {
		upper := filepath.Join(p.room, upperName(i))
		_ = filepath.WalkDir(upper, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it is gone, or closed
			}
			if path != upper && p.sandbox.isCache(path[len(upper)+1:]) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			n++
			return nil
		})
	}
	return n
}

// keepCaches keeps the files that the command left in the caches of the user and the project.
func (p *Process) keepCaches() error {
	if p.room == "" {
		return errors.New("sandbox: the layer was discarded")
	}
	if err := p.sandbox.keepUsers(p.room); err != nil || p.sandbox.kept == "" || p.sandbox.config.IsCache == nil {
		return err
	}
	p.sandbox.merging.Lock()
	defer p.sandbox.merging.Unlock()
	m := merger{since: p.begun}
	for i, root := range p.line.Writable {
		upper, kept := filepath.Join(p.room, upperName(i)), filepath.Join(p.sandbox.kept, keptName(root))
		if err := p.sandbox.keepBelow(m, upper, kept, ""); err != nil {
			return err
		}
	}
	return nil
}

// keepBelow merges the caches below a directory of a layer. An entry whose path is too long for a system call is not kept.
func (s *Sandbox) keepBelow(m merger, upper, kept, rel string) error {
	list, err := os.ReadDir(filepath.Join(upper, rel))
	if err != nil {
		return err
	}
	for _, entry := range list {
		below := filepath.Join(rel, entry.Name())
		switch {
		case s.isCache(below):
			if err = os.MkdirAll(filepath.Join(kept, rel), 0o700); err == nil {
				err = m.merge(filepath.Join(upper, below), filepath.Join(kept, below))
			}
		case entry.IsDir():
			err = s.keepBelow(m, upper, kept, below)
		}
		if err != nil && !errors.Is(err, unix.ENAMETOOLONG) {
			return err
		}
	}
	return nil
}

// keepUsers merges files that a command wrote in the user's caches into artoo's own.
func (s *Sandbox) keepUsers(room string) error {
	s.merging.Lock()
	defer s.merging.Unlock()
	for i, own := range s.caches {
		from := filepath.Join(room, "cache"+strconv.Itoa(i))
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := (merger{}).below(from, filepath.Join(own, "upper")); err != nil {
			return err
		}
	}
	return nil
}

// merger moves written files of caches to where they are kept. Both are sides of an
// overlay: names that are gone and directories that cover others are kept as such.
type merger struct{ since time.Time } // a name that went is gone, unless it was kept after that

// merge moves an entry.
func (m merger) merge(from, to string) error {
	var st, old unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: from, Err: err}
	}
	err := unix.Lstat(to, &old)
	there := err == nil
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return &fs.PathError{Op: "stat", Path: to, Err: err}
	}
	isDir := func(st unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if st.Mode&0o700 != 0o700 {
			if err := os.Chmod(from, 0o700); err != nil {
				return err
			}
		}
		if there && isDir(old) && !isOpaque(from) {
			return m.below(from, to)
		}
		if there && !isDir(old) { // It hid the lower directory, and the overlay need not have marked that.
			if err := unix.Setxattr(from, opaqueName, []byte{'y'}, 0); err != nil {
				return &fs.PathError{Op: "setxattr", Path: from, Err: err}
			}
		}
	case unix.S_IFREG, unix.S_IFLNK:
		if there && !isDir(old) && old.Mode&unix.S_IFMT != unix.S_IFCHR && newer(old.Mtim, st.Mtim) {
			return nil
		}
	case unix.S_IFCHR:
		if there && !m.since.IsZero() && newer(old.Ctim, unix.NsecToTimespec(m.since.UnixNano())) {
			return nil
		}
	default:
		return nil // a FIFO, a socket
	}
	if st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev != 0 {
		return nil
	}
	if there && (isDir(old) || isDir(st)) {
		if err := tempdir.RemoveAll(to); err != nil {
			return err
		}
	}
	err = os.Rename(from, to)
	if errors.Is(err, unix.EXDEV) {
		return copyEntry(from, to, st)
	}
	return err
}

// below moves the entries of a directory, except those whose paths are too long for a system call.
func (m merger) below(from, to string) error {
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range list {
		err := m.merge(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name()))
		if err != nil && !errors.Is(err, unix.ENAMETOOLONG) {
			return err
		}
	}
	return nil
}

func newer(a, b unix.Timespec) bool { return a.Sec > b.Sec || a.Sec == b.Sec && a.Nsec > b.Nsec }

// opaqueName is the attribute of a directory that covers the one below.
const opaqueName = "user.overlay.opaque"

// isOpaque reports whether a directory of the written side covers the one below.
func isOpaque(path string) bool {
	value := make([]byte, 8)
	n, err := unix.Getxattr(path, opaqueName, value)
	return err == nil && n == 1 && value[0] == 'y'
}

// copyEntry copies an entry to another file system, with its mode and times.
func copyEntry(from, to string, st unix.Stat_t) error {
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFREG {
		return copyContent(from, to, st)
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch kind {
	case unix.S_IFLNK:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case unix.S_IFCHR:
		return unix.Mknod(to, unix.S_IFCHR, 0)
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if isOpaque(from) {
		if err := unix.Setxattr(to, opaqueName, []byte{'y'}, 0); err != nil {
			return &fs.PathError{Op: "setxattr", Path: to, Err: err}
		}
	}
	if err := (merger{}).below(from, to); err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, time.Unix(st.Mtim.Unix()))
}

// copyContent copies a file beside the other one, and puts it in its place.
func copyContent(from, to string, st unix.Stat_t) error {
	if st.Mode&0o400 == 0 {
		if err := os.Chmod(from, 0o600); err != nil {
			return err
		}
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".artoo-")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(fs.FileMode(st.Mode&0o777)), out.Close())
	if err == nil {
		err = os.Chtimes(out.Name(), time.Time{}, time.Unix(st.Mtim.Unix()))
	}
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}
