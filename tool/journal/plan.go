package journal

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
)

// ErrStale says that something was recorded since the plan was made.
var ErrStale = errors.New("something has changed since this was planned")

// Plan says what taking back the last n turns would do, or, with redo, bringing
// back what the last n undos took. A turn that changed nothing does not count. It
// returns [ErrNothing] if there is nothing of the kind; what was taken back can
// be brought back until something else is recorded.
func (j *Journal) Plan(n int, redo bool) (Plan, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	records := j.toUndo(n)
	if redo {
		records = j.toRedo(n)
	}
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
	b := backwards{j: j, plan: &p, paths: map[string]*back{}, twins: twins(pathsOf(records))}
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
}

// backwards follows each path from what it is now through the steps that changed
// it, as long as each of them left what the next one found.
type backwards struct {
	j     *Journal
	plan  *Plan
	paths map[string]*back
	twins map[string]bool
	err   error
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
			now, err := b.j.lookExact(c.Path, k, b.twins)
			if err != nil {
				b.err = errors.Join(b.err, err)
				continue
			}
			if same(now, c.After) {
				now.Peer = c.After.Peer
			}
			path = &back{now: now, target: now}
			b.paths[c.Path] = path
		}
		switch {
		case path.stopped:
		case same(path.target, c.Before) && !same(path.target, c.After):
			// Somebody took it back already.
		case !same(path.target, c.After):
			path.stopped = true
			b.plan.Left = append(b.plan.Left, Lack{Path: c.Path, Why: ChangedSince, Size: path.now.Size})
		case !b.j.kept(c.Before):
			path.stopped = true
			b.plan.Cannot = append(b.plan.Cannot, Lack{Path: c.Path, Why: b.j.whyNot(c.Path, c.Before),
				Size: c.Before.Size})
		default:
			path.target = c.Before
		}
	}
}

// finish makes the list of what to restore, without what cannot be.
func (b *backwards) finish() error {
	changes := map[string]Change{}
	for path, back := range b.paths {
		if !same(back.now, back.target) {
			changes[path] = Change{Path: path, Before: back.now, After: back.target, Kept: true}
		}
	}
	for b.drop(changes) {
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		b.plan.Restore = append(b.plan.Restore, changes[path])
	}
	findRenames(b.plan.Restore)
	byPath := func(a, b Lack) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(b.plan.Left, byPath)
	slices.SortFunc(b.plan.Cannot, byPath)
	return b.err
}

// drop leaves out changes that another thing is in the way of: a directory that
// would be removed and holds something else, a file whose directory would not be
// there. It reports whether there was one, which may stand in the way of more.
func (b *backwards) drop(changes map[string]Change) (dropped bool) {
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
	if c.Before.Kind == Folder && c.After.Kind != Folder {
		inside, err := b.j.place.list(c.Path, make([]byte, 32<<10))
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
	above, err := b.j.look(dir, stampOnly)
	if err == nil && above.Kind != Folder {
		return ChangedSince, nil
	}
	return "", err
}

// Apply does what the plan says, as a step of its own that can be taken back. What
// has changed since the plan was made is left alone and reported; where the system
// refuses a part, nothing is done.
func (j *Journal) Apply(p Plan) (Report, error) {
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
		now, err := j.look(c.Path, keepAll)
		if err != nil || !j.kept(now) {
			report.Cannot = append(report.Cannot, Lack{Path: c.Path, Why: j.whyNot(c.Path, now), Size: now.Size,
				Err: err})
		}
		if err == nil && same(now, c.Before) {
			ops[i].Before.Hash = now.Hash // of a large file
		}
	}
	ops = j.withParents(ops)
	err := s.intend(ops)
	if err != nil {
		return report, errors.Join(err, s.abandon())
	}
	report.Done, err = s.perform(ops, j.openKept, func(left []Lack) error {
		report.Left = left
		return nil
	})
	return report, err
}

// perform does what was written down and records the end of the step. If the system
// refuses a part, or check does not accept what was left, all is taken back. Where
// even that fails the step stays unfinished, and the next Open tries again.
func (s *Step) perform(ops []Change, open func(Change) (io.ReadCloser, error), check func([]Lack) error) ([]Change,
	error) {
	r := &restore{j: s.j, step: s.info.ID, ops: ops, open: open}
	done, left := r.run()
	err := errors.Join(check(left), systemError(left))
	if err == nil {
		s.j.mu.Lock()
		err = s.j.endLocked(s, done)
		s.j.mu.Unlock()
	}
	if err == nil {
		return done, nil
	}
	back := make([]Change, len(ops))
	for i, op := range ops {
		back[i] = Change{Path: op.Path, Before: op.After, After: op.Before}
	}
	r = &restore{j: s.j, step: s.info.ID, ops: back, open: s.j.openKept, again: true}
	if _, left := r.run(); systemError(left) != nil {
		return nil, errors.Join(err, systemError(left))
	}
	return nil, errors.Join(err, s.abandon())
}

// systemError is what the system refused to do, nil if nothing.
func systemError(left []Lack) error {
	for _, lack := range left {
		if lack.Err != nil {
			return fmt.Errorf("%s: %w", lack.Path, lack.Err)
		}
	}
	return nil
}

// withParents adds the directories of the changes that the user may not write to
// now: they are made writable meanwhile, and must be known after a kill.
func (j *Journal) withParents(changes []Change) []Change {
	ops := slices.Clone(changes)
	known := map[string]bool{"": true}
	for _, c := range changes {
		known[c.Path] = true
	}
	for _, c := range changes {
		dir, _ := split(c.Path)
		if known[dir] {
			continue
		}
		known[dir] = true
		if now, err := j.look(dir, stampOnly); err == nil && now.Kind == Folder && now.Mode&0o300 != 0o300 {
			ops = append(ops, Change{Path: dir, Before: now, After: now})
		}
	}
	return ops
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
func (s *Step) abandon() error {
	s.j.mu.Lock()
	defer s.j.mu.Unlock()
	s.failed = s.kind == kindUndo || s.kind == kindRedo
	return s.j.endLocked(s, nil)
}

// openKept opens the content that a path shall have from what is kept.
func (j *Journal) openKept(c Change) (io.ReadCloser, error) {
	r, err := j.files.objects.open(c.After.Hash)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(r), nil
}
