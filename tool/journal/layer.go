package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrConflict says that a layer was not applied, since the project is no longer
// what its line saw. The report lists where.
var ErrConflict = errors.New("the project has changed since the command ran")

// ErrHolds says that a directory which was to become something else holds what the line
// could not see. The error names that.
var ErrHolds = errors.New("a directory to be replaced holds what the command could not see")

// layerOps are the changes of a layer that may be applied. What conflicts is
// [ErrConflict], unless it is build output: then its directory is left out.
func (j *Journal) layerOps(ctx context.Context, changes []LayerChange) (ops []Change, report Report, err error) {
	var space int64
	type owner struct{ uid, gid uint32 }
	owners := map[string]owner{} // The keys are directories with something new in them.
	stale := map[string]bool{}   // directories of build output
	for _, lc := range changes {
		if err := ctx.Err(); err != nil {
			return nil, report, err
		}
		if why := j.never(lc); why != "" {
			report.Left = append(report.Left, Lack{Path: lc.Path, Why: why, Size: lc.After.Size})
			continue
		}
		now, err := j.look(ctx, lc.Path, hashOnly)
		if err != nil {
			return nil, report, err
		}
		lc.Before.Mode &= permissions
		if lc.Moved || !matches(now, lc.Before) {
			if stale[lc.Output] = true; lc.Output == "" {
				report.Left = append(report.Left, Lack{Path: lc.Path, Why: ChangedSince, Size: now.Size})
			}
			continue
		}
		op := Change{Path: lc.Path, Before: now, After: lc.After, Kept: true}
		if op.After.Kind == File || op.After.Kind == Folder {
			op.After.Mode &= fs.ModePerm
			if now.Kind == Folder && op.After.Kind == Folder {
				op.After.Mode |= now.Mode &^ fs.ModePerm // a group that is inherited stays so
			}
		}
		op.After.Stamp, op.After.Peer = Stamp{}, ""
		if op.After.UID, op.After.GID = now.UID, now.GID; now.Kind == Absent {
			dir, _ := split(lc.Path)
			o, known := owners[dir]
			if !known {
				o.uid, o.gid = j.ownerAbove(lc.Path)
				owners[dir] = o
			}
			op.After.UID, op.After.GID = o.uid, o.gid
			owners[lc.Path] = o
		}
		if now.Kind == File && !j.kept(now) {
			size, err := j.place.takes(lc.Path, now)
			if err != nil {
				return nil, report, err
			}
			if j.fits(space + size) {
				space += size
			} else {
				op.Kept = false
				report.Cannot = append(report.Cannot, Lack{Path: lc.Path, Why: NoSpace, Size: now.Size})
			}
		}
		ops = append(ops, op)
	}
	if stale[""] {
		return nil, report, ErrConflict
	}
	if len(stale) > 0 {
		ops, report, err = j.layerOps(ctx, slices.DeleteFunc(slices.Clone(changes), func(lc LayerChange) bool {
			return stale[lc.Output]
		}))
		for _, dir := range slices.Sorted(maps.Keys(stale)) {
			report.Left = append(report.Left, Lack{Path: dir + "/", Why: ChangedSince})
		}
	}
	return ops, report, err
}

// never is why a change of a layer is not applied, or "".
func (j *Journal) never(lc LayerChange) Reason {
	switch {
	case j.cfg.Denied(lc.Path):
		return IsDenied
	case lc.After.Kind == Special || lc.Before.Kind == Special:
		return IsSpecial
	case lc.After.Kind == File && lc.After.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return SetID
	case !validBytes(strings.TrimPrefix(lc.Path, lc.Added+"/")):
		return Outside
	}
	return ""
}

// validBytes is fs.ValidPath, also for names that are not UTF-8, except for the root.
func validBytes(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." || strings.Contains(name, "\x00") {
			return false
		}
	}
	return true
}

// Holds reports whether the journal has room for originals of this many bytes. Any
// goroutine may call it.
func (j *Journal) Holds(size int64) bool { return j.fits(size) }

func (j *Journal) fits(size int64) bool {
	var used int64
	if j.files != nil {
		used = j.files.objects.bytes()
		// What cannot be opened takes no space that the session could know of.
		if q, err := j.openQuarantine(false); err == nil {
			used += q.used()
		}
	}
	return used+size <= j.cfg.MaxSession
}

// ownerAbove is who owns the nearest directory above the path: who shall own what
// is new in it.
func (j *Journal) ownerAbove(path string) (uid, gid uint32) {
	for path != "" {
		path, _ = split(path)
		if st, err := j.place.lstat(path); err == nil {
			return st.uid, st.gid
		}
	}
	return 0, 0
}

// ApplyLayer makes the changes of a throwaway layer to the project, as a step of
// its own: all of them, or after an error, or if ctx ends, none. Every original is
// compared with what the line saw and kept, whatever its size; new paths must still be
// absent, or the error is [ErrConflict]; so it is where an original is written to, or
// replaced, meanwhile. A directory that shall go and holds what the line did not see
// stays. Devices, FIFOs, sockets, set-user-ID files and denied paths are never applied.
// Modification times are those of the layer, extended attributes are left out.
func (j *Journal) ApplyLayer(ctx context.Context, turn int, what string, changes []LayerChange, from Source,
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
	err = j.addTo(j.files.log, addedDirs(changes))
	j.mu.Unlock()
	if err != nil {
		return Report{}, err
	}
	ops, report, err := j.layerOps(ctx, changes)
	if err != nil {
		return report, err
	}
	s := j.Begin(turn, what)
	s.kind = kindLayer
	if err := s.write(); err != nil {
		return report, err
	}
	report.Step = s.info.ID
	a := &applying{Step: s, ctx: ctx, ops: ops, report: report, from: from}
	lacks, err := s.Before(then.Paths...)
	a.report.Cannot = append(a.report.Cannot, lacks...)
	err = errors.Join(err, a.keepOriginals(true), a.keepNew())
	// What cannot stay kept comes last, to be forgotten when the layer is applied:
	// until then a kill must not lose it.
	last := j.files.objects.count()
	if err == nil {
		err = a.keepOriginals(false)
	}
	if err == nil {
		a.ops, err = j.withParents(ctx, a.ops)
	}
	if err == nil {
		err = s.intend(a.ops)
	}
	if err != nil {
		return a.report, errors.Join(err, s.unstage(), s.abandon(), j.files.objects.forget(last))
	}
	beyond := j.files.objects.count() > last
	if err = a.run(then); err == nil && !beyond { // What the end of the step kept stays.
		return a.report, a.forget(true)
	}
	return a.report, errors.Join(err, a.forget(err == nil), j.files.objects.forget(last))
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

// addedDirs are the directories outside the project that changes lie in.
func addedDirs(changes []LayerChange) []string {
	dirs := map[string]bool{}
	for _, c := range changes {
		if c.Added != "" {
			dirs[c.Added] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// applying is a layer on its way into the project.
type applying struct {
	*Step
	ctx    context.Context
	ops    []Change
	report Report
	from   Source
}

// run does what was written down. A directory that is not empty stays, unless
// something else shall be in its place; anything else that cannot be done makes
// the whole fail.
func (a *applying) run(then Then) error {
	var err error
	a.report.Done, err = a.perform(a.ctx, a.ops, a.content, func(left []Lack) (err error) {
		a.report.Left = append(a.report.Left, left...)
		for _, lack := range left {
			stays := func(op Change) bool { return op.Path == lack.Path && op.After.Kind == Absent }
			switch {
			case lack.Err != nil: // The system refused it.
			case lack.Why != NotEmpty:
				err = errors.Join(err, ErrConflict)
			case !slices.ContainsFunc(a.ops, stays):
				err = errors.Join(err, fmt.Errorf("%w: %s", ErrHolds, strings.Join(a.j.heldIn(lack.Path), ", ")))
			}
		}
		return err
	}, then)
	if errors.Is(err, errUnsteady) {
		err = errors.Join(ErrConflict, err)
	}
	return err
}

// heldIn names what lies in a directory.
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

// forget removes the originals that there is no space for, once the layer is applied.
func (a *applying) forget(applied bool) error {
	q, err := a.j.openQuarantine(false)
	if err != nil || q == nil || !applied {
		return err
	}
	var errs []error
	for _, op := range a.ops {
		if !op.Kept && op.Before.Kind == File {
			errs = append(errs, q.remove(op.Before.Stamp.Inode))
		}
	}
	return errors.Join(errs...)
}

// content opens the new content of a file.
func (a *applying) content(c Change) (io.ReadCloser, error) {
	if a.j.kept(c.After) {
		return a.j.openKept(c)
	}
	return a.from.Open(c.Path)
}

// keepOriginals keeps what the changes will replace or delete and cannot be moved into
// the quarantine: first that for which there is space.
func (a *applying) keepOriginals(within bool) error {
	for i, op := range a.ops {
		if op.Before.Kind != File || op.Kept != within || a.j.movable(op.Path) {
			continue
		}
		if op.Before.Size > a.j.cfg.MaxSession {
			return fmt.Errorf("%s can be neither moved nor kept: %s", op.Path, TooLarge)
		}
		now, err := a.j.look(a.ctx, op.Path, keepForce)
		if err != nil {
			return err
		}
		if !same(now, op.Before) {
			return ErrConflict
		}
		a.ops[i].Before = now
	}
	return nil
}

// keepNew puts what comes into the project into the quarantine, notes by what it is
// known, and keeps a content where it is small and there is space for it, so that it can
// be shown later on.
func (a *applying) keepNew() error {
	q, err := a.j.openQuarantine(true)
	if err != nil {
		return err
	}
	for i, op := range a.ops {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if op.Before.Kind == File && op.After.Hash != "" && op.After.Hash == op.Before.Hash {
			a.ops[i].After.Size = op.Before.Size // another mode
			continue
		}
		var err error
		switch {
		case op.After.Kind == Link && q != nil && q.swaps:
			r := &restore{j: a.j, ctx: a.ctx, step: a.info.ID}
			err = r.stage(q, &a.ops[i])
			a.staged = append(a.staged, staged{inode: a.ops[i].After.Stamp.Inode})
		case op.After.Kind == File && q != nil && q.swaps:
			err = a.stageNew(q, &a.ops[i])
		case op.After.Kind == File:
			err = a.readNew(&a.ops[i])
		}
		if now := a.ops[i].After.Hash; err == nil && op.After.Hash != "" && now != "" && op.After.Hash != now {
			err = errors.New("the layer holds another content than was shown")
		}
		if err != nil {
			return atPath(op.Path, err)
		}
	}
	return nil
}

// stageNew renames a file from the layer into the quarantine, or copies it.
func (a *applying) stageNew(q *quarantine, op *Change) error {
	slot, err := q.slot(a.info.ID, op.Path)
	if err != nil {
		return err
	}
	if err := a.j.at("temp"); err != nil {
		return err
	}
	file, from, err := a.take(q, slot, *op)
	if err != nil {
		return err
	}
	defer file.Close()
	if from != "" && op.Before.Kind == Absent {
		slot = from
	}
	st, err := q.holds(slot, "")
	if err != nil {
		return err
	}
	a.staged = append(a.staged, staged{st.inode, from})
	if st.kind() != File {
		return errors.New("it is no regular file in the layer")
	}
	if st.uid != op.After.UID || st.gid != op.After.GID {
		keepOwnerAt(int(q.dir.Fd()), slot, op.After)
	}
	if st.mode&permissions != op.After.Mode {
		if err := file.Chmod(op.After.Mode); err != nil {
			return err
		}
	}
	op.After.Stamp = Stamp{Inode: st.inode, Mtime: st.mtime}
	if err := a.note(file, st.size, op); err != nil {
		return err
	}
	q.hashed(st.inode, op.After.Hash)
	return nil
}

// take brings a file of the layer into a slot, and opens it. from is where it was
// renamed from. What no original has to make room for can stay there until it lands.
func (a *applying) take(q *quarantine, slot string, op Change) (file *os.File, from string, err error) {
	if from = a.from.Path(op.Path); from != "" {
		to := slot
		if op.Before.Kind == Absent {
			to = from
		}
		if file, err := q.takeFrom(from, to); file != nil || err != nil {
			return file, from, err
		}
	}
	source, err := a.from.Open(op.Path)
	if err != nil {
		return nil, "", err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return nil, "", err
	}
	dir := int(q.dir.Fd())
	if file, err = createAt(dir, slot); err != nil {
		return nil, "", err
	}
	err = copySparse(a.ctx, file, source, info.Size())
	written := unix.NsecToTimespec(info.ModTime().UnixNano())
	if err = errors.Join(err, unix.UtimesNanoAt(dir, slot, []unix.Timespec{written, written}, 0)); err != nil {
		return nil, "", errors.Join(err, file.Close(), unix.Unlinkat(dir, slot, 0))
	}
	return file, "", nil
}

// readNew notes the hash of a new content that is copied later.
func (a *applying) readNew(op *Change) error {
	f, err := a.from.Open(op.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return a.note(f, info.Size(), op)
}

// note notes the size and hash of a new content, and keeps it.
func (a *applying) note(f *os.File, size int64, op *Change) (err error) {
	op.After.Size, op.After.Hash = size, ""
	switch {
	case size > maxRead:
		return nil
	case size > a.j.cfg.MaxFile:
		op.After.Hash, err = readHash(a.ctx, io.NewSectionReader(f, 0, size))
		return err
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil {
		return err
	}
	op.After.Hash, err = a.j.files.objects.putLater(data)
	return ignoreNoSpace(err)
}
