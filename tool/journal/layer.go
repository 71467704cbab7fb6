package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"artoo/tool/sandbox"
)

// ErrConflict says that a layer was not applied, since the project is no longer as its line saw it. The report lists
// the paths.
var ErrConflict = errors.New("the project has changed since the command ran")

// ErrHolds says that a directory which was to be replaced holds files that the line could not see. The error names
// them.
var ErrHolds = errors.New("a directory to be replaced holds files that the command could not see")

// layerOps are the changes of a layer that may be applied. A conflict is
// [ErrConflict], unless it is build output: then its directory is left out.
func (j *Journal) layerOps(ctx context.Context, changes []sandbox.Change) (ops []Change, report Report, err error) {
	var space int64
	type owner struct{ uid, gid uint32 }
	owners := map[string]owner{} // The keys are directories with something new in them.
	stale := map[string]bool{}   // directories of build output
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, report, err
		}
		path, ok := j.named(filepath.Clean(c.Path))
		if why := j.never(c, path, ok); why != "" {
			report.Left = append(report.Left, Lack{Path: path, Why: why, Size: c.Size})
			continue
		}
		now, err := j.look(ctx, path, hashOnly)
		if err != nil {
			return nil, report, err
		}
		if !matches(now, c.Before) {
			if stale[c.Output] = true; c.Output == "" {
				report.Left = append(report.Left, Lack{Path: path, Why: ChangedSince, Size: now.Size})
			}
			continue
		}
		op := Change{Path: path, Before: now, Kept: true}
		if c.Kind != sandbox.Deleted {
			op.After = State{Kind: KindOf(c.Mode), Mode: c.Mode.Perm(), Size: c.Size, Target: c.Target}
		}
		if now.Kind == Folder && op.After.Kind == Folder {
			op.After.Mode |= now.Mode &^ fs.ModePerm // a group that is inherited stays so
		}
		if op.After.UID, op.After.GID = now.UID, now.GID; now.Kind == Absent {
			dir, _ := split(path)
			o, known := owners[dir]
			if !known {
				o.uid, o.gid = j.ownerAbove(path)
				owners[dir] = o
			}
			op.After.UID, op.After.GID = o.uid, o.gid
			owners[path] = o
		}
		if now.Kind == File && !j.kept(now) {
			size, err := j.place.takes(path, now)
			if err != nil {
				return nil, report, err
			}
			if j.Holds(space + size) {
				space += size
			} else {
				op.Kept = false
				report.Cannot = append(report.Cannot, Lack{Path: path, Why: NoSpace, Size: now.Size})
			}
		}
		ops = append(ops, op)
	}
	if stale[""] {
		return nil, report, ErrConflict
	}
	if len(stale) > 0 {
		ops, report, err = j.layerOps(ctx, slices.DeleteFunc(slices.Clone(changes), func(c sandbox.Change) bool {
			return stale[c.Output]
		}))
		for _, dir := range slices.Sorted(maps.Keys(stale)) {
			report.Left = append(report.Left, Lack{Path: dir + "/", Why: ChangedSince})
		}
	}
	return ops, report, err
}

// never is why a change of a layer is not applied, or "". named says that the path is the
// journal's name for it.
func (j *Journal) never(c sandbox.Change, path string, named bool) Reason {
	switch {
	case !named:
		return Outside
	case j.cfg.Denied(path):
		return IsDenied
	case KindOf(c.Mode) == Special || KindOf(c.Before.Mode) == Special:
		return IsSpecial
	case c.Kind != sandbox.Deleted && c.Mode.IsRegular() && c.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return SetID
	}
	return ""
}

// Holds reports whether the journal has room for originals of this many bytes. Any
// goroutine may call it.
func (j *Journal) Holds(size int64) bool {
	var used int64
	if j.files != nil {
		used = j.files.objects.bytes()
		// A file that cannot be opened takes no space that the session could know of.
		if q, err := j.openQuarantine(false); err == nil {
			used += q.used()
		}
	}
	return used+size <= j.cfg.MaxSession
}

// ownerAbove is the owner of the nearest directory above the path.
func (j *Journal) ownerAbove(path string) (uid, gid uint32) {
	for path != "" {
		path, _ = split(path)
		if st, err := j.place.lstat(path); err == nil {
			return st.uid, st.gid
		}
	}
	return 0, 0
}

// ApplyLayer makes the changes of a throwaway layer to the project, as a step of its own: all of them, or after an
// error, or if ctx ends, none. Every original is compared with the file that the line saw, and kept whatever its size;
// new paths must still be absent, or the error is [ErrConflict]; so it is where an original is written to, or replaced,
// meanwhile. A directory to be removed that holds files unseen by the line stays. Devices, FIFOs, sockets, set-user-ID
// files and denied paths are never applied. Modification times are those of the layer, extended attributes are left
// out. Where a part of a directory of build output conflicts, all of that directory is left out.
func (j *Journal) ApplyLayer(ctx context.Context, turn int, what string, changes []sandbox.Change, from Source,
	then Then) (Report, error) {
	if err := j.ready(); err != nil {
		return Report{}, err
	}
	done, err := j.order(ctx)
	if err != nil {
		return Report{}, err
	}
	defer done()
	j.mu.Lock()
	err = j.addTo(j.files.log, j.addedDirs(changes))
	j.mu.Unlock()
	if err != nil {
		return Report{}, err
	}
	ops, report, err := j.layerOps(ctx, changes)
	if err != nil {
		return report, err
	}
	s := j.Begin(turn, what)
	s.kind, s.from = kindLayer, from
	if err := s.write(); err != nil {
		return report, err
	}
	report.Step = s.ID
	lacks, err := s.Before(then.Paths...)
	report.Cannot = append(report.Cannot, lacks...)
	if err == nil {
		err = s.keepOriginals(ctx, ops)
	}
	if err != nil {
		return report, errors.Join(err, s.abandon())
	}
	report.Done, err = s.land(ctx, ops, func(left []Lack) error {
		report.Left = append(report.Left, left...)
		return j.refuse(ops, left)
	}, then)
	if errors.Is(err, errUnsteady) {
		err = errors.Join(ErrConflict, err)
	}
	if err == nil {
		err = j.forgetOriginals(ops)
	}
	return report, err
}

// addTo notes in the log directories outside the project that paths may lie in from now on.
func (j *Journal) addTo(log *log, dirs []string) error {
	var lines []line
	for _, dir := range dirs {
		j.place.add(dir)
		if !j.added[dir] {
			lines = append(lines, line{Type: lineAdded, Root: dir})
		}
		j.added[dir] = true
	}
	if lines == nil {
		return nil
	}
	return log.append(lines...)
}

func (j *Journal) addedDirs(changes []sandbox.Change) []string {
	dirs := map[string]bool{}
	for _, c := range changes {
		if _, inside := j.below(c.Path); !inside && c.Dir != "" {
			dirs[filepath.ToSlash(c.Dir)] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// refuse is why a layer is not applied where something was left as it was. A directory
// that is not empty may stay, unless something else is to take its place.
func (j *Journal) refuse(ops []Change, left []Lack) (err error) {
	for _, lack := range left {
		stays := func(op Change) bool { return op.Path == lack.Path && op.After.Kind == Absent }
		switch {
		case lack.Err != nil: // The system refused it.
		case lack.Why != NotEmpty:
			err = errors.Join(err, ErrConflict)
		case !slices.ContainsFunc(ops, stays):
			err = errors.Join(err, fmt.Errorf("%w: %s", ErrHolds, strings.Join(j.heldIn(lack.Path), ", ")))
		}
	}
	return err
}

func (j *Journal) heldIn(dir string) (paths []string) {
	entries, err := j.list(dir)
	if err != nil {
		return []string{dir}
	}
	for _, e := range entries {
		paths = append(paths, join(dir, e.name))
	}
	return paths
}

// forgetOriginals removes the originals that there is no space for, once the layer is
// applied: until then a kill must not lose them.
func (j *Journal) forgetOriginals(ops []Change) error {
	q, err := j.openQuarantine(false)
	errs := []error{err}
	for _, op := range ops {
		if op.Kept || op.Before.Kind != File {
			continue
		}
		errs = append(errs, q.giveBack(staged{inode: op.Before.Stamp.Inode}))
		shared := func(other Change) bool { return other.Kept && other.Before.Hash == op.Before.Hash }
		if !slices.ContainsFunc(ops, shared) {
			errs = append(errs, j.files.objects.forget(op.Before.Hash))
		}
	}
	return errors.Join(errs...)
}

// keepOriginals keeps files that the changes will replace or delete and that cannot be moved into
// the quarantine.
func (s *Step) keepOriginals(ctx context.Context, ops []Change) error {
	for i, op := range ops {
		if op.Before.Kind != File || s.j.movable(op.Path) {
			continue
		}
		if op.Before.Size > s.j.cfg.MaxSession {
			return fmt.Errorf("%s can be neither moved nor kept: %s", op.Path, TooLarge)
		}
		now, err := s.j.look(ctx, op.Path, keepForce)
		if err != nil {
			return err
		}
		if !same(now, op.Before) {
			return ErrConflict
		}
		ops[i].Before = now
	}
	return nil
}

// stageNew brings a file of the layer into the quarantine, and keeps its content where it
// is small and there is space for it, so that it can be shown later on. Where no names can
// be exchanged it is only read, to be copied later.
func (s *Step) stageNew(ctx context.Context, q *quarantine, op *Change) error {
	take := func() (*os.File, error) { return s.take(ctx, q, op) }
	if q == nil || !q.swaps {
		take = func() (*os.File, error) { return s.from.Open(Abs(s.j.cfg.Root, op.Path)) }
	}
	file, err := take()
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	op.After.Size = info.Size()
	switch {
	case op.After.Size > maxRead:
	case op.After.Size > s.j.cfg.MaxFile:
		op.After.Hash, err = readHash(ctx, io.NewSectionReader(file, 0, op.After.Size))
	default:
		data := make([]byte, op.After.Size)
		if _, err := file.ReadAt(data, 0); err != nil {
			return err
		}
		op.After.Hash, err = s.j.files.objects.putLater(data)
		err = ignoreNoSpace(err)
	}
	if inode := op.After.Stamp.Inode; inode != 0 {
		q.hashed(inode, op.After.Hash)
	}
	return err
}

// take brings a file of the layer into a slot, by a rename or as a copy, and opens it. A file that replaces no original
// can stay in the layer until it lands.
func (s *Step) take(ctx context.Context, q *quarantine, op *Change) (*os.File, error) {
	slot, err := q.slot(s.ID, op.Path)
	if err == nil {
		err = s.j.at("temp")
	}
	if err != nil {
		return nil, err
	}
	var file *os.File
	from := s.from.Path(Abs(s.j.cfg.Root, op.Path))
	if from != "" {
		to := slot
		if op.Before.Kind == Absent {
			to = from
		}
		if file, err = q.takeFrom(from, to); file != nil {
			slot = to
		}
	}
	if file == nil && err == nil {
		from = ""
		file, err = s.copyFrom(ctx, q, op.Path, slot)
	}
	if err != nil {
		return nil, err
	}
	st, err := q.holds(slot, "")
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.staged = append(s.staged, staged{st.inode, from})
	if st.kind() != File {
		err = errors.New("it is no regular file in the layer")
	}
	if st.uid != op.After.UID || st.gid != op.After.GID {
		keepOwnerAt(int(q.dir.Fd()), slot, op.After)
	}
	if err == nil && st.mode&permissions != op.After.Mode {
		err = file.Chmod(op.After.Mode)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	op.After.Stamp = Stamp{Inode: st.inode, Mtime: st.mtime}
	return file, nil
}

// copyFrom copies a file of the layer into a slot, with its time.
func (s *Step) copyFrom(ctx context.Context, q *quarantine, path, slot string) (*os.File, error) {
	source, err := s.from.Open(Abs(s.j.cfg.Root, path))
	if err != nil {
		return nil, err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return nil, err
	}
	dir := int(q.dir.Fd())
	file, err := createAt(dir, slot)
	if err != nil {
		return nil, err
	}
	err = copySparse(ctx, file, source, info.Size())
	written := unix.NsecToTimespec(info.ModTime().UnixNano())
	if err = errors.Join(err, unix.UtimesNanoAt(dir, slot, []unix.Timespec{written, written}, 0)); err != nil {
		return nil, errors.Join(err, file.Close(), unix.Unlinkat(dir, slot, 0))
	}
	return file, nil
}
