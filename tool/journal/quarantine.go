package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// quarantine is a directory on the project's file system which things are renamed to that leave the
// project: originals that a landing replaces, and files that undo takes away. They keep their inodes, by
// which they are found, and can be renamed back. Files about to come into the project are put there first.
// Its methods may be called from several goroutines.
type quarantine struct {
	dir   *os.File
	dev   uint64
	swaps bool // The file system can exchange two names, and rename without replacing.

	mu    sync.Mutex
	held  map[uint64]held // The keys are inodes.
	next  map[int]int     // the number of the next slot of a step
	bytes int64           // The files take so many.
}

// held is something that lies in the quarantine, in the slot of this name: the step's number, a slash, and a name of
// its own. A file about to come from a layer may also lie there, under its absolute name.
type held struct {
	slot string
	size int64  // bytes on the disk
	hash string // It is "" until the file was read.
}

const quarantineName = "quarantine"

// quarantinePlaces are the directories that the quarantine may be, the best first, each
// behind those above it, of which the first must be there already. The journal's own may be
// on another file system than the project.
func (j *Journal) quarantinePlaces() [][]string {
	id := filepath.Base(j.cfg.Dir)
	git := filepath.Join(j.cfg.Root, ".git")
	above, name := filepath.Split(j.cfg.Root)
	beside := filepath.Join(above, "."+name+".artoo")
	return [][]string{{j.cfg.Dir, filepath.Join(j.cfg.Dir, quarantineName)},
		{git, filepath.Join(git, "artoo"), filepath.Join(git, "artoo", id)}, {above, beside, filepath.Join(beside, id)}}
}

// openQuarantine opens the quarantine; make says that one is made if there is none yet.
// It is nil where none can be had, or none is there.
func (j *Journal) openQuarantine(make bool) (*quarantine, error) {
	j.oneQuarantine.Lock()
	defer j.oneQuarantine.Unlock()
	if j.quarantine != nil {
		return j.quarantine, nil
	}
	for _, dirs := range j.quarantinePlaces() {
		q, err := openQuarantineAt(dirs, j.root.dev, make)
		if errors.Is(err, errNotHere) {
			continue
		}
		j.quarantine = q
		return q, err
	}
	return nil, nil
}

// errNotHere says that a directory cannot be the quarantine.
var errNotHere = errors.New("not here")

func openQuarantineAt(dirs []string, dev uint64, make bool) (*quarantine, error) {
	for i, path := range dirs {
		if make && i > 0 {
			err := os.Mkdir(path, 0o700)
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
				return nil, errNotHere
			} else if err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
		}
		st, err := lstatPath(path)
		if err != nil || st.kind() != Folder || st.dev != dev || i > 0 && st.uid != uint32(os.Geteuid()) {
			return nil, errNotHere
		}
	}
	dir, err := os.Open(dirs[len(dirs)-1])
	if err != nil {
		return nil, err
	}
	q := &quarantine{dir: dir, dev: dev, held: map[uint64]held{}, next: map[int]int{}}
	if err := errors.Join(q.list(), q.probe()); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return q, nil
}

func lstatPath(path string) (stat, error) { return statAt(unix.AT_FDCWD, path) }

func (q *quarantine) list() error {
	steps, err := q.dir.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, step := range steps {
		number, err := strconv.Atoi(step.Name())
		if err != nil {
			continue // not the journal's
		}
		slots, err := os.ReadDir(filepath.Join(q.dir.Name(), step.Name()))
		if err != nil {
			return err
		}
		for _, slot := range slots {
			n := 0
			if _, err := fmt.Sscanf(slot.Name(), "%d-", &n); err == nil {
				q.next[number] = max(q.next[number], n)
			}
			if _, err := q.holds(step.Name()+"/"+slot.Name(), ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// probe finds out whether the file system exchanges names.
func (q *quarantine) probe() error {
	const a, b = "probe-a", "probe-b"
	fd := int(q.dir.Fd())
	for _, name := range []string{a, b} {
		file, err := unix.Openat(fd, name, unix.O_CREAT|unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return err
		}
		unix.Close(file)
	}
	q.swaps = exchange(fd, a, fd, b) == nil && errors.Is(renameNew(fd, a, fd, b), fs.ErrExist)
	return errors.Join(unix.Unlinkat(fd, a, 0), unix.Unlinkat(fd, b, 0))
}

// slot is a name for something more of a step, with the last part of its path in it.
func (q *quarantine) slot(step int, path string) (string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	dir := strconv.Itoa(step)
	if q.next[step] == 0 {
		if err := unix.Mkdirat(int(q.dir.Fd()), dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	q.next[step]++
	_, name := split(path)
	return fmt.Sprintf("%s/%d-%s", dir, q.next[step], name[:min(len(name), 200)]), nil
}

// holds notes that a file lies in a slot now, and returns its stat; hash is "" where it is not known.
func (q *quarantine) holds(slot, hash string) (stat, error) {
	st, size, err := statBlocks(int(q.dir.Fd()), slot)
	if err == nil {
		q.note(st.inode, held{slot, size, hash})
	}
	return st, err
}

func (q *quarantine) note(inode uint64, h held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held[inode] = h
	q.bytes += h.size
}

// forget notes that something lies there no more.
func (q *quarantine) forget(inode uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= q.held[inode].size
	delete(q.held, inode)
}

func (q *quarantine) used() int64 {
	if q == nil {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}

// find returns the slot that a thing lies in as it was, and its mode, which alone may
// differ: that of a file with other names stays as it is.
func (q *quarantine) find(s State) (slot string, mode fs.FileMode, ok bool) {
	h, ok := q.lies(s.Stamp.Inode)
	if !ok {
		return "", 0, false
	}
	st, err := statAt(int(q.dir.Fd()), h.slot)
	now := st.state()
	if err != nil || now.Kind != s.Kind || now.Stamp.Inode != s.Stamp.Inode || st.links > 1 && now.Mode != s.Mode ||
		s.Kind == File && (now.Size != s.Size || s.Stamp.Mtime != 0 && now.Stamp.Mtime != s.Stamp.Mtime) {
		return "", 0, false
	}
	if s.Kind == Link { // A file system gives the inode of a deleted file to the next new link.
		target, err := readlinkAt(int(q.dir.Fd()), h.slot)
		return h.slot, now.Mode, err == nil && target == s.Target
	}
	if h.hash == "" && s.Hash != "" {
		read, err := q.look(context.Background(), h.slot, true)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return "", 0, false
		}
		h.hash = read.Hash
		q.hashed(s.Stamp.Inode, read.Hash)
	}
	return h.slot, now.Mode, s.Hash == "" || h.hash == "" || s.Hash == h.hash
}

func (q *quarantine) has(s State) bool {
	_, _, ok := q.find(s)
	return ok
}

// lies returns the record of a thing that lies there, whatever became of it. A nil
// quarantine holds nothing.
func (q *quarantine) lies(inode uint64) (h held, ok bool) {
	if q == nil || inode == 0 {
		return h, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	h, ok = q.held[inode]
	return h, ok
}

func (q *quarantine) chmod(slot string, mode fs.FileMode) error {
	file, err := q.open(slot)
	if err != nil {
		return err
	}
	return errors.Join(file.Chmod(mode), file.Close())
}

func (q *quarantine) open(slot string) (*os.File, error) {
	// It is a file, and os would ask the kernel twice whether one that does not block can be waited for.
	const flags = openFlags &^ unix.O_NONBLOCK
	fd, err := uninterrupted(func() (int, error) { return unix.Openat(int(q.dir.Fd()), slot, flags, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: slot, Err: err}
	}
	return os.NewFile(uintptr(fd), slot), nil
}

// look describes the file in a slot; hash says that a file is read, up to maxRead.
func (q *quarantine) look(ctx context.Context, slot string, hash bool) (State, error) {
	st, err := statAt(int(q.dir.Fd()), slot)
	if err != nil {
		return State{}, err
	}
	s := st.state()
	switch {
	case s.Kind == Link:
		s.Target, err = readlinkAt(int(q.dir.Fd()), slot)
	case s.Kind == File && hash && s.Size <= maxRead:
		f, err := q.open(slot)
		if err != nil {
			return s, err
		}
		defer f.Close()
		s.Hash, err = readHash(ctx, f)
		return s, err
	}
	return s, err
}

func (q *quarantine) hashed(inode uint64, hash string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.held[inode]
	h.hash = hash
	q.held[inode] = h
}

// inStep are the inodes of the files in the slots of a step.
func (q *quarantine) inStep(step int) (inodes []uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for inode, h := range q.held {
		if dir, _ := split(h.slot); dir == strconv.Itoa(step) {
			inodes = append(inodes, inode)
		}
	}
	return inodes
}

func (q *quarantine) close() error {
	if q == nil {
		return nil
	}
	return q.dir.Close()
}

// canTake reports whether a thing of a layer can come into the project as it is: not from another file system, or
// where it has other names. Its attributes are removed.
func (q *quarantine) canTake(path string, kind Kind) (st stat, size int64, ok bool) {
	st, size, err := statBlocks(unix.AT_FDCWD, path)
	ok = err == nil && st.kind() == kind && (st.links <= 1 || kind == Folder) && st.dev == q.dev
	return st, size, ok && stripAttributes(path)
}

// takeFrom renames a file or link of a layer into a slot, if that can be; else it is where it was.
func (q *quarantine) takeFrom(path, slot string, kind Kind) (st stat, ok bool) {
	st, size, ok := q.canTake(path, kind)
	if !ok || path != slot && renameNew(unix.AT_FDCWD, path, int(q.dir.Fd()), slot) != nil {
		return st, false
	}
	q.note(st.inode, held{slot: slot, size: size})
	return st, true
}

// become gives a thing in a slot the owner and mode that it is to have.
func (q *quarantine) become(slot string, st stat, becomes State) error {
	if st.uid != becomes.UID || st.gid != becomes.GID {
		keepOwnerAt(int(q.dir.Fd()), slot, becomes)
	}
	if becomes.Kind == Link || st.mode&permissions == becomes.Mode {
		return nil
	}
	return q.chmod(slot, becomes.Mode)
}

// giveBack takes away a file that was to come into the project, or is artoo's own: it is renamed to where
// it came from, and a copy is removed. A file that has come into the project is no longer here.
func (q *quarantine) giveBack(one staged) error {
	h, ok := q.lies(one.inode)
	if !ok {
		return nil
	}
	var err error
	switch one.from {
	case "":
		if err = unix.Unlinkat(int(q.dir.Fd()), h.slot, 0); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	case h.slot:
	default:
		// Its directory may have been renamed into the project, and is gone.
		err = errors.Join(os.MkdirAll(filepath.Dir(one.from), 0o755),
			renameNew(int(q.dir.Fd()), h.slot, unix.AT_FDCWD, one.from))
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: h.slot, New: one.from, Err: err}
	}
	q.forget(one.inode)
	return nil
}

// Late brings back files that were written to after a landing, undo or redo had moved them
// out of the project: a program that had one open could still save to it. Such a file lies
// as NAME.yours beside NAME then, where the descriptor still leads to it, and its path is
// returned. Late looks once at each file that was moved out.
func (j *Journal) Late() (yours []string, err error) {
	j.mu.Lock()
	out := j.out
	j.out = nil
	j.mu.Unlock()
	if len(out) == 0 {
		return nil, nil
	}
	q, err := j.openQuarantine(false)
	if err != nil {
		return nil, err
	}
	for _, c := range out {
		h, there := q.lies(c.Before.Stamp.Inode)
		if c.Before.Kind != File || !there || q.has(c.Before) {
			continue
		}
		if st, err := q.holds(h.slot, ""); err == nil && st.links > 1 {
			continue // it is written to under another name, where the user looks for it
		}
		now, lookErr := q.look(context.Background(), h.slot, true)
		if lookErr == nil && now.Hash != "" && now.Hash == c.Before.Hash {
			continue // it was only touched
		}
		path, moveErr := j.giveYours(q, h.slot, c.Path)
		if err = errors.Join(err, lookErr, moveErr); moveErr == nil {
			q.forget(c.Before.Stamp.Inode)
			yours = append(yours, path)
		}
	}
	return yours, err
}

// giveYours renames a file from its slot to a name beside the path that is not taken,
// above it where the directory is gone.
func (j *Journal) giveYours(q *quarantine, slot, path string) (yours string, err error) {
	dir, name := split(path)
	for st, err := j.place.lstat(dir); dir != "" && (err != nil || st.kind() != Folder); st, err = j.place.lstat(dir) {
		dir, _ = split(dir)
	}
	for n := 1; ; n++ {
		yours = join(dir, name+".yours")
		if n > 1 {
			yours += fmt.Sprint("-", n)
		}
		err = j.place.inParent(yours, func(dir int, name string) error { return q.putNew(slot, dir, name) })
		if !errors.Is(err, fs.ErrExist) {
			return yours, err
		}
	}
}

// damaged is the error of a copy that holds something else than was written.
func damaged(path string) error {
	return fmt.Errorf("its copy is damaged: without %s the rest can be restored", path)
}

// openKept opens a kept content.
func (j *Journal) openKept(s State) (*os.File, error) {
	if !j.files.objects.has(s.Hash) {
		if q, err := j.openQuarantine(false); err != nil {
			return nil, err
		} else if slot, _, ok := q.find(s); ok {
			return q.open(slot)
		}
	}
	return j.files.objects.open(s.Hash)
}
