package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/sandbox"
)

// ErrConflict says that a layer was not applied, since the project is no longer as its line saw it. The report lists
// the paths.
var ErrConflict = errors.New("the project has changed since the command ran")

// ErrHolds says that a directory which was to be replaced holds files that the line could not see. The error names
// them.
var ErrHolds = errors.New("a directory to be replaced holds files that the command could not see")

// layerOps are the changes of a layer that may be applied. A conflict is [ErrConflict], unless it is build output: then
// its directory is left out.
func (j *Journal) layerOps(ctx context.Context, changes []sandbox.Change) (ops []Change, report Report, err error) {
	ops, absent := make([]Change, 0, len(changes)), map[string]bool{}
	stale := map[string]bool{} // directories of build output; "" for a conflict
	for _, c := range changes {
		path, ok := j.named(filepath.Clean(c.Path))
		if why := j.never(c, path, ok); why != "" {
			report.Left = append(report.Left, Lack{Path: path, Why: why, Size: c.Size})
			continue
		}
		now, err := j.lookUnder(ctx, absent, path)
		switch {
		case err != nil:
			return nil, report, err
		case matches(now, c.Before):
			ops = append(ops, Change{Path: path, Before: now, After: landed(c, now), Kept: true, output: c.Output})
			continue
		case c.Output == "":
			report.Left = append(report.Left, Lack{Path: path, Why: ChangedSince, Size: now.Size})
		}
		stale[c.Output] = true
	}
	if stale[""] {
		return nil, report, ErrConflict
	}
	ops = slices.DeleteFunc(ops, func(op Change) bool { return stale[op.output] })
	for _, dir := range slices.Sorted(maps.Keys(stale)) {
		report.Left = append(report.Left, Lack{Path: dir + "/", Why: ChangedSince})
	}
	j.giveOwners(ops)
	report.Cannot, err = j.findSpace(ops)
	return ops, report, err
}

// landed is the state that a change of a layer gives a path.
func landed(c sandbox.Change, now State) (after State) {
	if c.Kind != sandbox.Deleted {
		after = State{Kind: KindOf(c.Mode), Mode: c.Mode.Perm(), Size: c.Size, Target: c.Target}
	}
	if now.Kind == Folder && after.Kind == Folder {
		after.Mode |= now.Mode &^ fs.ModePerm // a group that is inherited stays so
	}
	after.UID, after.GID = now.UID, now.GID
	return after
}

// giveOwners gives each new path the owner of the nearest directory above it.
func (j *Journal) giveOwners(ops []Change) {
	above := map[string]State{} // The owners, by directories.
	for i := range ops {
		op := &ops[i]
		if op.Before.Kind != Absent {
			continue
		}
		dir, _ := split(op.Path)
		owner, known := above[dir]
		if !known {
			owner.UID, owner.GID = j.ownerAbove(op.Path)
		}
		op.After.UID, op.After.GID = owner.UID, owner.GID
		above[dir], above[op.Path] = owner, owner
	}
}

// findSpace marks, and returns, the originals that the journal has no space for.
func (j *Journal) findSpace(ops []Change) (cannot []Lack, err error) {
	var space int64
	for i, op := range ops {
		if op.Before.Kind != File || j.kept(op.Before) {
			continue
		}
		size, err := j.place.takes(op.Path, op.Before)
		if err != nil {
			return nil, err
		}
		if j.Holds(space + size) {
			space += size
			continue
		}
		ops[i].Kept = false
		cannot = append(cannot, Lack{Path: op.Path, Why: NoSpace, Size: op.Before.Size})
	}
	return cannot, nil
}

// lookUnder is look for many paths, each after the directory that holds it: absent notes those at which nothing is.
func (j *Journal) lookUnder(ctx context.Context, absent map[string]bool, path string) (now State, err error) {
	if dir, _ := split(path); !absent[dir] {
		now, err = j.look(ctx, path, hashOnly)
	}
	absent[path] = err == nil && now.Kind == Absent
	return now, errors.Join(err, ctx.Err())
}

// never is why a change of a layer is not applied, or "". named says that the path is the
// journal's name for it.
func (j *Journal) never(c sandbox.Change, path string, named bool) Reason {
	switch {
	case !named:
		return Outside
	case !c.Checked && j.cfg.Denied(path):
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
func (j *Journal) ApplyLayer(ctx context.Context, turn int, what string, changes []sandbox.Change,
	from Layer) (Report, error) {
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
	if err == nil {
		s := j.Begin(turn, what)
		s.kind, s.from = kindLayer, from
		report, err = s.land(ctx, ops, report)
	}
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

// refuse is why a layer is not applied where something was left as it was. A directory that is not empty may stay,
// unless something else is to take its place.
func (s *Step) refuse(ops []Change, left []Lack) (err error) {
	if s.from == nil {
		return nil // Undo, redo and the quarantine do what they can.
	}
	for _, lack := range left {
		stays := func(op Change) bool { return op.Path == lack.Path && op.After.Kind == Absent }
		switch {
		case lack.Err != nil: // The system refused it.
		case lack.Why != NotEmpty:
			err = errors.Join(err, ErrConflict)
		case !slices.ContainsFunc(ops, stays):
			err = errors.Join(err, fmt.Errorf("%w: %s", ErrHolds, strings.Join(s.j.heldIn(lack.Path), ", ")))
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

// keepOriginals keeps git's data and the files that a layer will replace or delete and that cannot be moved into the
// quarantine. cannot lists git's data that cannot be kept.
func (s *Step) keepOriginals(ctx context.Context, ops []Change) (cannot []Lack, err error) {
	if s.from == nil {
		return nil, nil
	}
	if cannot, err = s.Before(s.from.Touches()...); err != nil {
		return cannot, err
	}
	for i, op := range ops {
		if op.Before.Kind != File || s.j.movable(op.Path) {
			continue
		}
		if op.Before.Size > s.j.cfg.MaxSession {
			return cannot, fmt.Errorf("%s can be neither moved nor kept: %s", op.Path, TooLarge)
		}
		now, err := s.j.look(ctx, op.Path, keepForce)
		if err != nil {
			return cannot, err
		}
		if !same(now, op.Before) {
			return cannot, ErrConflict
		}
		ops[i].Before = now
	}
	return cannot, nil
}
