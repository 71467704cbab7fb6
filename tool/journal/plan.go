package journal

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrStale says that something was recorded since the plan was made.
var ErrStale = errors.New("something has changed since this was planned")

// Plan says what taking back the last n turns would do, or, with redo, bringing
// back what the last n undos took. A turn that changed nothing does not count. It
// returns [ErrNothing] if there is nothing of the kind; what was taken back can
// be brought back until something else is recorded. It ends with ctx.
func (j *Journal) Plan(ctx context.Context, n int, redo bool) (Plan, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	records := j.toUndo(n)
	if redo {
		records = j.toRedo(n)
	}
	return j.planOf(ctx, records, redo)
}

// PlanStep is what it takes to undo one step, whatever came after it.
func (j *Journal) PlanStep(ctx context.Context, id int) (Plan, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.planOf(ctx, slices.DeleteFunc(slices.Clone(j.steps), func(r *record) bool { return r.ID != id || !r.stands() }), false)
}

// planOf is the plan for steps, the last first. The lock is held.
func (j *Journal) planOf(ctx context.Context, records []*record, redo bool) (Plan, error) {
	if len(records) == 0 {
		return Plan{}, ErrNothing
	}
	p := Plan{Redo: redo, last: j.last}
	head, busy := j.cfg.Head()
	p.Busy = busy
	for _, r := range records {
		p.Steps = append(p.Steps, r.StepInfo)
		if len(p.Turns) == 0 || p.Turns[len(p.Turns)-1] != r.Turn {
			p.Turns = append(p.Turns, r.Turn)
		}
		p.HeadMoved = p.HeadMoved || r.head != head
		p.steps = append(p.steps, r.ID)
	}
	b := backwards{j: j, ctx: ctx, plan: &p, paths: map[string]*back{}, twins: twins(pathsOf(records))}
	for _, r := range records {
		b.add(r)
	}
	return p, b.finish()
}

// toUndo returns the steps of the last n turns that changed something and were
// not taken back, the last first.
func (j *Journal) toUndo(n int) (records []*record) {
	turns := map[int]bool{}
	for _, r := range slices.Backward(j.steps) {
		if !r.counts() {
			continue
		}
		if turns[r.Turn] = true; len(turns) > n {
			break
		}
		records = append(records, r)
	}
	return records
}

// toRedo returns the last n undos that were not brought back, the last first, if
// nothing else changed anything since.
func (j *Journal) toRedo(n int) (records []*record) {
	for _, r := range slices.Backward(j.steps) {
		switch {
		case len(records) == n, r.own() && len(r.changes) > 0:
			return records
		case r.kind == kindUndo && len(r.steps) > 0 && !r.Undone:
			records = append(records, r)
		}
	}
	return records
}

// back is one path on its way back through the steps.
type back struct {
	now     State
	target  State // where it has got to
	stopped bool
	unkept  bool // what was there can only be renamed back
}

// backwards follows each path from what it is now through the steps that changed
// it, as long as each of them left what the next one found.
type backwards struct {
	j     *Journal
	ctx   context.Context
	plan  *Plan
	paths map[string]*back
	twins map[string]bool
	err   error

	ignored map[string]bool
	asked   bool
	sources map[string]bool // what is renamed away
}

// pathsOf are the paths that the steps changed.
func pathsOf(records []*record) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, r := range records {
			for _, c := range r.changes {
				if !yield(c.Path) {
					return
				}
			}
		}
	}
}

func (b *backwards) add(r *record) {
	for _, c := range r.changes {
		path := b.paths[c.Path]
		if path == nil {
			k := hashOnly
			if c.After.Hash == "" {
				k = stampOnly
			}
			now, err := b.j.lookExact(b.ctx, c.Path, k, b.twins)
			if b.err = b.ctx.Err(); b.err != nil {
				return
			}
			if err != nil {
				b.paths[c.Path] = &back{stopped: true}
				b.plan.Left = append(b.plan.Left, Lack{Path: c.Path, Why: Unreadable, Err: err})
				continue
			}
			if same(now, c.After) {
				now.Peer, now.Whole, now.Hash = c.After.Peer, c.After.Whole, cmp.Or(now.Hash, c.After.Hash)
			}
			path = &back{now: now, target: now}
			b.paths[c.Path] = path
		}
		switch {
		case path.stopped:
		case same(path.target, c.Before) && !same(path.target, c.After):
			// Somebody took it back already.
		case !same(path.target, c.After), path.target == path.now && b.replaced(c.Path, path.now):
			if b.merge(path, c) || b.err != nil {
				continue
			}
			path.stopped = true
			b.plan.Left = append(b.plan.Left, Lack{Path: c.Path, Why: ChangedSince, Size: path.now.Size})
		case !b.j.kept(c.Before) && !sameContent(c.Before, path.target):
			path.target, path.unkept, path.stopped = c.Before, true, true
		default:
			path.target = c.Before
		}
	}
}

// replaced reports whether a path leads to another file or link by now than artoo left.
func (b *backwards) replaced(path string, now State) bool {
	inode := b.j.left[path]
	return inode != 0 && (now.Kind == File || now.Kind == Link || now.Whole) && now.Stamp.Inode != inode
}

// merge takes back the parts of a file that a step changed and that are as it left them,
// and reports whether it could. What comes of that is kept at once, so that it is
// restored, and finished after a kill, as any other content.
func (b *backwards) merge(path *back, c Change) bool {
	j := b.j
	if !j.cfg.Merges(Abs(j.cfg.Root, c.Path)) || path.target.Kind != File {
		return false
	}
	if path.target == path.now {
		now, err := j.look(b.ctx, c.Path, keepAll)
		if err != nil || !same(now, path.now) {
			return false
		}
	}
	var contents [3][]byte
	for i, s := range []State{c.After, c.Before, path.target} {
		var err error
		if contents[i], err = j.content(s); err != nil {
			return false
		}
	}
	merged, left, err := j.cfg.Merge(b.ctx, Abs(j.cfg.Root, c.Path), contents[0], contents[1], contents[2])
	if err != nil {
		b.err = b.ctx.Err()
		return false
	}
	_, sum, err := j.files.objects.put(merged, false)
	if err != nil {
		return false
	}
	for _, part := range left {
		b.plan.Left = append(b.plan.Left, Lack{Path: c.Path + ": " + part, Why: ChangedSince})
	}
	path.target = State{Kind: File, Mode: path.target.Mode, Size: int64(len(merged)), Hash: hex.EncodeToString(sum[:]),
		UID: path.target.UID, GID: path.target.GID}
	return true
}

// content is what is kept of a file, nil for none.
func (j *Journal) content(s State) ([]byte, error) {
	if s.Kind == Absent {
		return nil, nil
	}
	if s.Kind != File || !j.kept(s) {
		return nil, errors.New("the content is not kept")
	}
	from, err := j.openKept(Change{After: s})
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return io.ReadAll(from)
}

// finish makes the list of what to restore, without what cannot be.
func (b *backwards) finish() error {
	changes := map[string]Change{}
	for path, back := range b.paths {
		if !same(back.now, back.target) {
			changes[path] = Change{Path: path, Before: back.now, After: back.target, Kept: true}
		}
	}
	b.pair(changes)
	for b.err == nil && b.drop(changes) {
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		b.plan.Restore = append(b.plan.Restore, changes[path])
	}
	byPath := func(a, b Lack) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(b.plan.Left, byPath)
	slices.SortFunc(b.plan.Cannot, byPath)
	return b.err
}

// drop leaves out changes that another thing is in the way of: a directory that
// would be removed and holds something else, a file whose directory would not be
// there. It reports whether there was one, which may stand in the way of more.
func (b *backwards) drop(changes map[string]Change) (dropped bool) {
	b.sources = map[string]bool{}
	for _, c := range changes {
		b.sources[c.From] = true
	}
	for path, c := range changes {
		why, err := b.inTheWay(changes, c)
		b.err = errors.Join(b.err, err)
		if why != "" || err != nil {
			delete(changes, path)
			b.plan.Left = append(b.plan.Left, Lack{Path: path, Why: why, Err: err})
			dropped = true
		}
	}
	return dropped
}

func (b *backwards) inTheWay(changes map[string]Change, c Change) (Reason, error) {
	if why := b.stays(c); why != "" {
		return why, nil
	}
	if _, there := changes[c.From]; c.From != "" && !there {
		return ChangedSince, nil
	}
	if c.Before.Kind == Folder && c.After.Kind != Folder && !c.Before.Whole && !isIgnored(b.sources, c.Path) {
		inside, err := b.j.list(c.Path)
		if err != nil {
			return NotRestored, err
		}
		for _, e := range inside {
			if child, ok := changes[join(c.Path, e.name)]; !ok || child.After.Kind != Absent {
				return NotEmpty, nil
			}
		}
	}
	dir, _ := split(c.Path)
	if c.After.Kind == Absent || dir == "" {
		return "", nil
	}
	if above, ok := changes[dir]; ok {
		if above.After.Kind != Folder {
			return ChangedSince, nil
		}
		return "", nil
	}
	above, err := b.j.look(b.ctx, dir, stampOnly)
	if err == nil && above.Kind != Folder {
		return ChangedSince, nil
	}
	return "", err
}

// Apply does what the plan says, as a step of its own that can be taken back. What
// has changed since the plan was made is left alone and reported; where the system
// refuses a part, or ctx ends, nothing is done. Nothing is deleted: what goes lies in
// the quarantine, from where it can be brought back.
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
	report := Report{Step: s.info.ID}
	ops := slices.Clone(p.Restore)
	for i, c := range ops { // so that this can be taken back in its turn
		k := keepAll
		if j.movable(c.Path) {
			k = hashOnly
		}
		now, err := j.look(ctx, c.Path, k)
		if err != nil || k == keepAll && !j.kept(now) {
			report.Cannot = append(report.Cannot, Lack{Path: c.Path, Why: j.whyNot(c.Path, now), Size: now.Size,
				Err: err})
		}
		if err == nil && same(now, c.Before) {
			ops[i].Before.Hash = now.Hash // of a large file
		}
	}
	ops, err = j.withParents(ctx, ops)
	if err == nil {
		err = s.stageKept(ctx, ops)
	}
	if err == nil {
		err = s.intend(ops)
	}
	if err != nil {
		return report, errors.Join(err, s.unstage(), s.abandon())
	}
	report.Done, err = s.perform(ctx, ops, j.openKept, func(left []Lack) error {
		report.Left = left
		return nil
	}, Then{})
	return report, err
}

// movable reports whether what is at the path can be moved out by a rename, and is not
// written to under another name then. The kernel refuses to rename a directory's own name
// in any case, but first says whether the two lie on one mount.
func (j *Journal) movable(path string) bool {
	q, err := j.openQuarantine(true)
	if err != nil || q == nil || !q.swaps {
		return false
	}
	st, err := j.place.lstat(path)
	return err != nil || (st.kind() != File || st.links <= 1) && !errors.Is(j.place.inParent(path,
		func(dir int, _ string) error { return unix.Renameat(dir, ".", int(q.dir.Fd()), ".") }), unix.EXDEV)
}

// stageKept puts beside what the quarantine already holds the rest of what the paths
// shall become, and notes by what it is known.
func (s *Step) stageKept(ctx context.Context, ops []Change) error {
	q, err := s.j.openQuarantine(true)
	if err != nil || q == nil || !q.swaps {
		return err
	}
	r := &restore{j: s.j, ctx: ctx, step: s.info.ID, open: s.j.openKept}
	for i, op := range ops {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, held := q.find(op.After); held || op.From != "" || op.After.Kind != File && op.After.Kind != Link ||
			op.After.Kind == op.Before.Kind && sameContent(op.Before, op.After) && op.After.Kind == File ||
			op.After.Peer != "" || same(op.Before, op.After) || !s.j.movable(op.Path) {
			continue
		}
		if err := r.stage(q, &ops[i]); err != nil {
			return err
		}
		s.staged = append(s.staged, staged{inode: ops[i].After.Stamp.Inode})
	}
	return nil
}

// staged is something that was put into the quarantine to come into the project.
type staged struct {
	inode uint64
	from  string // where it was renamed from, "" if it is a copy
}

// unstage gives back what did not come into the project, and removes copies.
func (s *Step) unstage() error {
	if len(s.staged) == 0 {
		return nil
	}
	q, err := s.j.openQuarantine(false)
	if err != nil {
		return err
	}
	var errs []error
	for _, one := range s.staged {
		errs = append(errs, q.giveBack(one))
	}
	return errors.Join(errs...)
}

// perform does what was written down and records the end of the step. If the system
// refuses a part, check does not accept what was left, or the step that follows fails,
// all is taken back. Where even that fails the step stays unfinished, and the next Open
// tries again.
func (s *Step) perform(ctx context.Context, ops []Change, open func(Change) (io.ReadCloser, error),
	check func([]Lack) error, then Then) ([]Change, error) {
	r := &restore{j: s.j, ctx: ctx, step: s.info.ID, ops: ops, open: open}
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

// takeBack does the reverse of what was written down, and what the paths were that
// Before was told of. The context of the step is over by then.
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
	r := &restore{j: s.j, ctx: ctx, step: s.info.ID, ops: ops, open: s.j.openKept, again: true,
		returning: returning}
	back, left := r.run()
	return back, systemError(left)
}

func allPaths(changes []Change) (paths []string) {
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	return paths
}

// pathsIn are the paths of changes that left something there.
func pathsIn(changes []Change) (paths []string) {
	for _, c := range changes {
		if c.After.Kind != Absent {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// systemError is what the system refused to do, nil if nothing.
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
	ops := slices.Clone(changes)
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

// intend writes down what is about to be done, and waits until the disk has it.
func (s *Step) intend(ops []Change) error {
	lines := make([]line, 0, len(ops)+1)
	for _, op := range ops {
		lines = append(lines, changeLine(lineIntent, s.info.ID, op))
	}
	if err := s.write(append(lines, line{Type: lineGo, Step: s.info.ID})...); err != nil {
		return err
	}
	return s.j.files.sync()
}

// abandon ends a step that did nothing.
func (s *Step) abandon() error { return s.abandonAt(nil) }

// abandonAt ends a step that was taken back; back is how.
func (s *Step) abandonAt(back []Change) error {
	s.j.mu.Lock()
	defer s.j.mu.Unlock()
	s.failed = s.kind == kindUndo || s.kind == kindRedo
	return errors.Join(s.leftLocked(back), s.j.endLocked(s, nil))
}

// leftLocked records by what the paths are known that were put back without a step that
// could be undone.
func (s *Step) leftLocked(back []Change) error {
	var lines []line
	for _, c := range back {
		if c.After.Kind == File || c.After.Kind == Link {
			lines = append(lines, changeLine(lineLeft, s.info.ID, c))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	noteLeft(s.j.left, back)
	return s.j.files.log.append(lines...)
}

// openKept opens the content that a path shall have from what is kept.
func (j *Journal) openKept(c Change) (io.ReadCloser, error) {
	if j.files.objects.find(c.After.Hash) == 0 {
		if q, err := j.openQuarantine(false); err != nil {
			return nil, err
		} else if slot, ok := q.find(c.After); ok {
			return q.open(slot)
		}
	}
	r, err := j.files.objects.open(c.After.Hash)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(r), nil
}
