package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

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
	ops, cannot := s.keepPresent(ctx, p.Restore)
	return s.land(ctx, ops, Report{Cannot: cannot})
}

// keepPresent keeps what a plan replaces, so that the step can itself be undone; cannot lists what cannot be kept.
func (s *Step) keepPresent(ctx context.Context, plan []Change) (ops []Change, cannot []Lack) {
	ops = slices.Clone(plan)
	for i, c := range ops {
		k := keepAll
		if s.j.movable(c.Path) {
			k = hashOnly
		}
		now, err := s.j.look(ctx, c.Path, k)
		if err != nil || k == keepAll && !s.j.kept(now) {
			lack := s.j.lack(c.Path, now)
			lack.Err = err
			cannot = append(cannot, lack)
		}
		if err == nil && same(now, c.Before) {
			ops[i].Before.Hash = now.Hash // The hash of a large file was not known.
		}
	}
	return ops, cannot
}

// land makes the changes of a step, after they were written down: all of them, or after an error none. It adds to the
// report of what was found beforehand.
func (s *Step) land(ctx context.Context, ops []Change, report Report) (Report, error) {
	report.Step = s.ID
	if err := s.write(); err != nil {
		return report, err
	}
	cannot, err := s.keepOriginals(ctx, ops)
	report.Cannot = append(report.Cannot, cannot...)
	if err == nil {
		ops, err = s.j.withParents(ctx, ops)
	}
	if err == nil {
		err = s.stage(ctx, ops)
	}
	if err == nil {
		err = s.intend(ops)
	}
	if err != nil {
		return report, errors.Join(err, s.unstage(), s.abandon(nil))
	}
	return s.perform(ctx, ops, report)
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

// perform makes the changes written down and records the end of the step. If the system refuses a part, a layer may
// not land without one that was left, or git's data cannot follow, all is undone. Where even that fails the step stays
// unfinished, and the next Open tries again.
func (s *Step) perform(ctx context.Context, ops []Change, report Report) (Report, error) {
	r := &restore{j: s.j, ctx: ctx, step: s.ID, ops: ops, from: s.from, whole: s.whole}
	done, left := r.run()
	defer r.release()
	report.Left = append(report.Left, left...)
	err := errors.Join(s.refuse(ops, left), systemError(left), r.disturbed())
	if err == nil && s.from != nil {
		err = errors.Join(s.from.Replay(ctx), ctx.Err())
	}
	if err == nil {
		err = errors.Join(s.unstage(), s.j.place.sync(pathsIn(done)), r.disturbed())
	}
	if err == nil {
		var more []Change
		if more, err = s.changes(); err == nil {
			report.Done = append(done, more...)
			s.j.mu.Lock()
			err = s.j.endLocked(s, report.Done)
			s.j.out = append(s.j.out, r.out...)
			s.j.mu.Unlock()
		}
	}
	if err == nil {
		return report, nil
	}
	report.Done = nil
	back, backErr := s.takeBack(reversed(ops))
	if backErr != nil {
		return report, errors.Join(err, backErr)
	}
	return report, errors.Join(err, s.unstage(), s.abandon(back))
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
		if c.After.Kind != Absent && c.output == "" {
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

// abandon ends a step that was undone; back is how. The caller has given back what was staged (unstage).
func (s *Step) abandon(back []Change) error {
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
