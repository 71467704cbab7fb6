package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"artoo/tool/names"
	"artoo/tool/sandbox"
)

// Step is one thing that changes files, from their state before to the one after. Its methods are called by one
// goroutine at a time.
type Step struct {
	j *Journal
	record
	begun  bool // the log has it
	failed bool // an undo or redo that was not done

	before map[string]State // Before kept these.
	// after a Snapshot:
	tree     tree
	unseen   map[string]bool // directories whose part of the tree is older
	ignored  map[string]bool
	adjusted map[string]State // Other steps made this of paths meanwhile.

	from   Source          // It is the layer that lands; else nil.
	staged []staged        // These are to come into the project.
	whole  map[string]bool // The keys are new directories that are to come as they are in the layer.
}

// Before keeps the files at the paths, before a tool writes or deletes them: absolute or relative to the
// root; a link also stands for the file it leads to, and a new file for the directories that are missing
// above it. Files that cannot be kept are returned. After an error, as of a full disk, the tool must not write.
func (s *Step) Before(paths ...string) ([]Lack, error) {
	j := s.j
	if err := j.ready(); err != nil {
		return nil, err
	}
	lacks, all := []Lack(nil), slices.Collect(maps.Keys(s.before))
	known := len(all)
	for _, path := range paths {
		these, lack := j.concerned(path)
		if all = append(all, these...); lack != nil {
			lacks = append(lacks, *lack)
		}
	}
	var lines []line
	twins := twins(slices.Values(all))
	for _, rel := range all[known:] {
		if _, ok := s.before[rel]; ok {
			continue
		}
		state, err := j.lookExact(j.life, rel, keepAll, twins)
		switch {
		case errors.As(err, new(storeError)):
			return lacks, err
		case err != nil:
			lacks = append(lacks, Lack{Path: rel, Why: Unreadable, Size: state.Size, Err: err})
		case !j.kept(state):
			lacks = append(lacks, j.lack(rel, state))
		}
		s.before[rel] = state
		lines = append(lines, line{Type: lineBefore, Step: s.ID, Path: rel, Before: &state})
	}
	if len(lines) == 0 {
		return lacks, nil
	}
	return lacks, s.write(lines...)
}

// concerned are the paths, as the journal names them, that a write to one path may change.
func (j *Journal) concerned(path string) (all []string, lack *Lack) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(j.cfg.Root, path)
	}
	path = filepath.Clean(path)
	if name, ok := j.named(path); ok {
		if st, err := j.place.lstat(name); err == nil && st.kind() != Link {
			return []string{name}, nil // no link on the way to it, nothing to be made
		}
	}
	for range 40 { // The kernel follows as many links.
		name, missing, err := j.resolve(path)
		if err != nil {
			return all, &Lack{Path: path, Why: Outside, Err: err}
		}
		all = append(append(all, missing...), name)
		target, err := j.place.readlink(name)
		if err != nil {
			return all, nil // no link
		}
		if path = filepath.FromSlash(target); !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(j.abs(name)), path)
		}
	}
	return all, nil
}

// named is the journal's name of an absolute path: relative to the root, or as it is in
// another directory that artoo may write to.
func (j *Journal) named(path string) (name string, ok bool) {
	if rel, ok := j.below(path); ok {
		return rel, true
	}
	name = filepath.ToSlash(path)
	_, rel, err := j.place.of(name)
	return name, err == nil && rel != "" && filepath.IsAbs(path)
}

// resolve returns the journal's name of an absolute path whose directories are freed of
// links, and those of them that are missing.
func (j *Journal) resolve(path string) (name string, missing []string, err error) {
	dir, last := filepath.Split(path)
	dir = names.Real(dir)
	name, ok := j.named(filepath.Join(dir, last))
	if !ok {
		return "", nil, fmt.Errorf("%s lies outside the project", path)
	}
	for ; ; dir = filepath.Dir(dir) {
		above, ok := j.named(dir)
		if !ok {
			break
		}
		if _, err := j.place.lstat(above); err == nil {
			break
		}
		missing = append(missing, above)
	}
	slices.Reverse(missing)
	return name, missing, nil
}

// End records the outcome of the step.
func (s *Step) End() (Changed, error) {
	if !s.begun {
		return Changed{}, nil
	}
	changes, err := s.changes()
	j := s.j
	j.mu.Lock()
	defer j.mu.Unlock()
	err = errors.Join(err, j.endLocked(s, changes))
	return j.changed(changes), err
}

// changes are those of the paths that Before named, and those that a snapshot shows, sorted.
func (s *Step) changes() ([]Change, error) {
	var changes []Change
	var errs []error
	twins := twins(maps.Keys(s.before))
	for _, path := range slices.Sorted(maps.Keys(s.before)) {
		before := s.before[path]
		k := keepSmall
		if s.j.cfg.Merges(s.j.abs(path)) {
			k = keepAll // Undo compares it with the file there then.
		}
		after, err := s.j.lookExact(s.j.life, path, k, twins)
		errs = append(errs, err)
		if after.Kind == File && after.Hash == "" {
			after, err = s.j.look(s.j.life, path, hashOnly) // too large to be kept again
			errs = append(errs, err)
		}
		if !same(before, after) {
			changes = append(changes, Change{Path: path, Before: before, After: after})
		}
	}
	if s.tree != nil {
		seen, err := s.seen()
		errs = append(errs, err)
		changes = append(changes, seen...)
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	findRenames(changes)
	return changes, errors.Join(errs...)
}

// changed adds the changes that can be undone.
func (j *Journal) changed(changes []Change) Changed {
	c := Changed{Changes: slices.Clone(changes)}
	for i := range c.Changes {
		one := &c.Changes[i]
		if one.Kept = j.kept(one.Before); !one.Kept {
			c.Lacks = append(c.Lacks, j.lack(one.Path, one.Before))
		}
	}
	return c
}

// findRenames notes for a path that appeared which of those that vanished it was:
// by the inode, else by the content. A file system gives the inode of a deleted file
// to the next new file: that one holds something else.
func findRenames(changes []Change) {
	gone, was := map[any]string{}, map[uint64]State{}
	for _, c := range changes {
		if c.Before.Kind != Absent && c.After.Kind == Absent {
			gone[c.Before.Stamp.Inode], was[c.Before.Stamp.Inode] = c.Path, c.Before
			if c.Before.Hash != "" && c.Before.Size > 0 {
				gone[c.Before.Hash] = c.Path
			}
		}
	}
	for i, c := range changes {
		if c.Before.Kind != Absent || c.After.Kind == Absent {
			continue
		}
		inode := c.After.Stamp.Inode
		held := was[inode].Hash
		other := was[inode].Kind != c.After.Kind || held != "" && c.After.Hash != "" && held != c.After.Hash
		if from, ok := gone[inode]; ok && inode != 0 && !other {
			changes[i].From = from
		} else if from, ok := gone[c.After.Hash]; ok && c.After.Hash != "" {
			changes[i].From = from
		}
	}
}

// below is a path relative to the root, if it lies below that.
func (j *Journal) below(path string) (rel string, ok bool) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(j.cfg.Root, path)
	}
	rel, ok = names.Relative(j.cfg.Root, path)
	return filepath.ToSlash(rel), ok && rel != "."
}

// Apply carries out the plan, as a step of its own that can be undone. A file that has changed since
// the plan was made is left alone and reported; where the system refuses a part, or ctx ends, nothing is
// done. Nothing is deleted: the files go to the quarantine, from where it can be brought back.
func (j *Journal) Apply(ctx context.Context, p Plan) (Report, error) {
	done, err := j.order(ctx)
	if err != nil {
		return Report{}, err
	}
	defer done()
	j.mu.Lock()
	stale := len(p.Steps) == 0 || p.last != j.last
	j.mu.Unlock()
	if stale {
		return Report{}, ErrStale
	}
	kind := kindUndo
	if p.Redo {
		kind = kindRedo
	}
	s := j.Begin(p.Steps[0].Turn, kind)
	s.kind, s.steps = kind, p.steps
	if err := s.write(); err != nil {
		return Report{}, err
	}
	report := Report{Step: s.ID}
	ops := slices.Clone(p.Restore)
	for i, c := range ops { // so that this can itself be undone
		k := keepAll
		if j.movable(c.Path) {
			k = hashOnly
		}
		now, err := j.look(ctx, c.Path, k)
		if err != nil || k == keepAll && !j.kept(now) {
			lack := j.lack(c.Path, now)
			lack.Err = err
			report.Cannot = append(report.Cannot, lack)
		}
		if err == nil && same(now, c.Before) {
			ops[i].Before.Hash = now.Hash // The hash of a large file was not known.
		}
	}
	report.Done, err = s.land(ctx, ops, func(left []Lack) error {
		report.Left = left
		return nil
	}, Then{})
	return report, err
}

// land makes the changes of a step, after they were written down: all of them, or none.
func (s *Step) land(ctx context.Context, ops []Change, check func([]Lack) error, then Then) ([]Change, error) {
	ops, err := s.j.withParents(ctx, ops)
	if err == nil {
		err = s.stage(ctx, ops)
	}
	if err == nil {
		err = s.intend(ops)
	}
	if err != nil {
		return nil, errors.Join(err, s.unstage(), s.abandon())
	}
	return s.perform(ctx, ops, check, then)
}

// movable reports whether the file at the path can be moved out by a rename, and has no
// other name. The kernel renames no ".", but first says whether the two lie on one mount.
func (j *Journal) movable(path string) bool {
	q, err := j.openQuarantine(true)
	if err != nil || q == nil || !q.swaps {
		return false
	}
	st, err := j.place.lstat(path)
	return err != nil || (st.kind() != File || st.links <= 1) && !errors.Is(j.place.inParent(path,
		func(dir int, _ string) error { return unix.Renameat(dir, ".", int(q.dir.Fd()), ".") }), unix.EXDEV)
}

// perform makes the changes written down and records the end of the step. If the system refuses a part,
// check does not accept the changes left out, or the step that follows fails, all is undone. Where even
// that fails the step stays unfinished, and the next Open tries again.
func (s *Step) perform(ctx context.Context, ops []Change, check func([]Lack) error, then Then) ([]Change, error) {
	r := &restore{j: s.j, ctx: ctx, step: s.ID, ops: ops, from: s.from, whole: s.whole}
	done, left := r.run()
	defer r.release()
	err := errors.Join(check(left), systemError(left), r.disturbed())
	if err == nil && then.Do != nil {
		err = errors.Join(then.Do(ctx), ctx.Err())
	}
	if err == nil {
		err = errors.Join(s.unstage(), s.j.place.sync(pathsIn(done)), r.disturbed())
	}
	if err == nil {
		var more []Change
		if more, err = s.changes(); err == nil {
			done = append(done, more...)
			s.j.mu.Lock()
			err = s.j.endLocked(s, done)
			s.j.out = append(s.j.out, r.out...)
			s.j.mu.Unlock()
		}
	}
	if err == nil {
		return done, nil
	}
	back, backErr := s.takeBack(reversed(ops))
	if backErr != nil {
		return nil, errors.Join(err, backErr)
	}
	return nil, errors.Join(err, s.unstage(), s.abandonAt(back))
}

// takeBack reverses the changes written down, and restores the paths that Before named.
func (s *Step) takeBack(ops []Change) (back []Change, err error) {
	ctx := context.Background()
	returning := setOf(allPaths(ops))
	for _, path := range slices.Sorted(maps.Keys(s.before)) {
		now, err := s.j.look(ctx, path, keepAll)
		if err != nil {
			return nil, err
		}
		if was := s.before[path]; !same(now, was) {
			ops = append(ops, Change{Path: path, Before: now, After: was})
		}
	}
	r := &restore{j: s.j, ctx: ctx, step: s.ID, ops: ops, again: true, returning: returning}
	back, left := r.run()
	return back, systemError(left)
}

func allPaths(changes []Change) (paths []string) {
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	return paths
}

// pathsIn are the paths where changes left something, except build output: what makes that does not wait for the disk.
func pathsIn(changes []Change) (paths []string) {
	for _, c := range changes {
		if c.After.Kind != Absent && !c.built {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// systemError is the error of an operation that the system refused, nil if none.
func systemError(left []Lack) error {
	for _, lack := range left {
		if lack.Err != nil {
			return atPath(lack.Path, lack.Err)
		}
	}
	return nil
}

// atPath names a path of the project in an error, and none of a layer or the journal.
func atPath(path string, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = errno
	}
	return fmt.Errorf("%s: %w", path, err)
}

// withParents adds the directories above the changes that are closed to the user
// now: they are made writable meanwhile, and must be known after a kill.
func (j *Journal) withParents(ctx context.Context, changes []Change) ([]Change, error) {
	ops := slices.Clip(changes)
	known := map[string]bool{}
	for _, c := range changes {
		known[c.Path] = true
	}
	for _, c := range changes {
		for dir, _ := split(c.Path); !known[dir]; dir, _ = split(dir) {
			if _, rel, err := j.place.of(dir); err != nil || rel == "" {
				break
			}
			known[dir] = true
			if now, err := j.look(ctx, dir, stampOnly); err == nil && now.Kind == Folder && now.Mode&0o700 != 0o700 {
				ops = append(ops, Change{Path: dir, Before: now, After: now})
			}
		}
	}
	return ops, ctx.Err()
}

// intend writes down the changes that follow, and waits until the disk has them.
func (s *Step) intend(ops []Change) error {
	lines := make([]line, 0, len(ops)+1)
	for _, op := range ops {
		lines = append(lines, changeLine(lineIntent, s.ID, op))
	}
	if err := s.write(append(lines, line{Type: lineGo, Step: s.ID})...); err != nil {
		return err
	}
	return s.j.files.sync()
}

func (s *Step) abandon() error { return s.abandonAt(nil) }

// abandonAt ends a step that was undone; back is how.
func (s *Step) abandonAt(back []Change) error {
	s.j.mu.Lock()
	defer s.j.mu.Unlock()
	s.failed = s.kind == kindUndo || s.kind == kindRedo
	return errors.Join(s.leftLocked(back), s.j.endLocked(s, nil))
}

// leftLocked records the inodes of paths that were put back.
func (s *Step) leftLocked(back []Change) error {
	var lines []line
	for _, c := range back {
		if c.After.Kind == File || c.After.Kind == Link {
			lines = append(lines, changeLine(lineLeft, s.ID, c))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	noteLeft(s.j.left, back)
	return s.j.files.log.append(lines...)
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
	ops, absent := make([]Change, 0, len(changes)), map[string]bool{}
	owners := map[string]owner{} // The keys are directories with something new in them.
	stale := map[string]bool{}   // directories of build output
	for _, c := range changes {
		path, ok := j.named(filepath.Clean(c.Path))
		if why := j.never(c, path, ok); why != "" {
			report.Left = append(report.Left, Lack{Path: path, Why: why, Size: c.Size})
			continue
		}
		now, err := j.lookUnder(ctx, absent, path)
		if err != nil {
			return nil, report, err
		}
		if !matches(now, c.Before) {
			if stale[c.Output] = true; c.Output == "" {
				report.Left = append(report.Left, Lack{Path: path, Why: ChangedSince, Size: now.Size})
			}
			continue
		}
		op := Change{Path: path, Before: now, Kept: true, built: c.Output != ""}
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
