package journal

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// afterDeath is how long after the last touch of the log a change still counts as the killed process's own, or as that
// of its children.
const afterDeath = 2 * touchEvery

// recover finishes the undos and redos that were under way, ends the runs, and takes back
// the other steps, the last first.
func (j *Journal) recover(past *past) error {
	done, err := j.order(j.life)
	if err != nil {
		return err
	}
	defer done()
	steps := slices.SortedFunc(maps.Values(past.open), func(a, b *unfinished) int { return cmp.Compare(b.ID, a.ID) })
	j.pending = len(steps)
	for _, u := range steps {
		j.pending--
		report, err := j.recoverStep(u)
		if err != nil {
			return err
		}
		if len(report.Done)+len(report.Left)+len(report.Cannot) > 0 {
			j.recovered = append(j.recovered, report)
		}
	}
	return nil
}

// recoverStep finishes, ends or takes back one step, and records its end.
func (j *Journal) recoverStep(u *unfinished) (Report, error) {
	s := &Step{j: j, record: u.record, begun: true}
	report := Report{Step: s.ID}
	r := &restore{j: j, ctx: j.life, step: s.ID, again: true}
	forward := s.kind == kindUndo || s.kind == kindRedo
	var restored []Change
	var err error
	switch {
	case forward && u.going:
		r.ops, report.Finished = u.intents, true
	case forward: // nothing was done yet
		s.failed = true
	default:
		r.ops, restored, report.Left, err = j.sinceBefore(u)
		if u.going {
			r.ops = append(r.ops, reversed(u.intents)...)
			r.returning = setOf(allPaths(u.intents))
		}
	}
	if err == nil && s.kind == kindRun {
		report.Kept, report.Done, report.Left = true, reversed(r.ops), nil
		findRenames(report.Done)
		return report, errors.Join(j.endLocked(s, report.Done), j.files.sync())
	}
	if err == nil {
		r.ops, report.Cannot, err = j.onlyKept(r.ops, r.returning)
	}
	if err == nil {
		r.ops, err = j.withParents(j.life, r.ops)
	}
	if err != nil {
		return report, err
	}
	done, left := r.run()
	report.Done, report.Left = done, append(report.Left, left...)
	if systemError(left) != nil {
		j.pending++ // the next Open tries again
		return report, nil
	}
	if err := errors.Join(j.place.sync(pathsIn(done)), j.dropStaged(u)); err != nil {
		return report, err
	}
	if !forward {
		if err := s.leftLocked(append(restored, done...)); err != nil {
			return report, err
		}
		done = nil
	}
	return report, errors.Join(j.endLocked(s, done), j.files.sync())
}

// dropStaged removes files that were to come into the project and did not. Before the intents
// are whole nothing else lies in the slots of a step that has some.
func (j *Journal) dropStaged(u *unfinished) error {
	if u.kind != kindUndo && u.kind != kindRedo && u.kind != kindLayer {
		return nil
	}
	q, err := j.openQuarantine(false)
	if err != nil || q == nil {
		return err
	}
	came := map[uint64]bool{}
	for _, op := range u.intents {
		came[op.After.Stamp.Inode] = op.After.Kind == File || op.After.Kind == Link
	}
	var errs []error
	for _, inode := range q.inStep(u.ID) {
		if !u.going || u.kind == kindLayer && came[inode] {
			errs = append(errs, q.giveBack(staged{inode: inode}))
		}
	}
	return errors.Join(errs...)
}

func (j *Journal) onlyKept(ops []Change, returning map[string]bool) (rest []Change, cannot []Lack, err error) {
	for _, op := range ops {
		q, err := j.openQuarantine(false)
		if err != nil {
			return nil, nil, err
		}
		_, held := q.lies(op.After.Stamp.Inode)
		ok := held && returning[op.Path] || op.From != "" || j.kept(op.After)
		if !ok { // it may be there already, or still
			now, err := j.look(j.life, op.Path, hashOnly)
			if err != nil {
				return nil, nil, err
			}
			ok = same(now, op.After)
		}
		if ok {
			rest = append(rest, op)
		} else {
			cannot = append(cannot, j.lack(op.Path, op.After))
		}
	}
	return rest, cannot, nil
}

// sinceBefore lists the changes that take back a tool's call or a shell command
// that was cut off. Files changed after the death of its process are left alone. restored
// are files that an earlier recovery, which was cut off as well, brought back.
func (j *Journal) sinceBefore(u *unfinished) (ops, restored []Change, left []Lack, err error) {
	before := maps.Clone(u.before)
	if err := j.addStray(before); err != nil {
		return nil, nil, nil, err
	}
	if u.walked {
		if err := j.addSeen(before, u); err != nil {
			return nil, nil, nil, err
		}
	}
	death := u.died.Add(afterDeath).UnixNano()
	twins := twins(maps.Keys(before))
	for _, path := range slices.Sorted(maps.Keys(before)) {
		was := before[path]
		now, err := j.lookExact(j.life, path, hashOnly, twins)
		if err != nil {
			return nil, nil, nil, err
		}
		switch {
		case same(now, was):
			if now.Stamp.Inode != was.Stamp.Inode {
				restored = append(restored, Change{Path: path, Before: was, After: now})
			}
		case later(now, death):
			left = append(left, Lack{Path: path, Why: ChangedSince, Size: now.Size})
		default:
			ops = append(ops, Change{Path: path, Before: now, After: was})
		}
	}
	return ops, restored, left, nil
}

// later reports whether a file changed after the time. The time of a removal is unknown, and a directory changes with
// its entries.
func later(now State, death int64) bool {
	return (now.Kind == File || now.Kind == Special) && now.Stamp.Ctime > death
}

// addStray adds the temporary files of atomic writes that were cut off beside the
// paths: they were nothing before.
func (j *Journal) addStray(before map[string]State) error {
	dirs := map[string]bool{}
	for path := range before {
		dir, _ := split(path)
		dirs[dir] = true
	}
	for dir := range dirs {
		entries, err := j.list(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := join(dir, e.name)
			if _, known := before[path]; !known && isTemp(e.name) && e.stat.kind() == File {
				before[path] = State{}
			}
		}
	}
	return nil
}

// isTemp reports whether a name is one that artoo gives to a file it is writing.
func isTemp(name string) bool {
	rest, ok := strings.CutPrefix(name, ".artoo-")
	return ok && len(rest) > len(".tmp")+16 && strings.HasSuffix(rest, ".tmp")
}

// addSeen adds the differences from the snapshot of the step.
func (j *Journal) addSeen(before map[string]State, u *unfinished) error {
	seen, err := readTree(j.files.log.file, u.ID)
	if err != nil {
		return err
	}
	ignored := j.askIgnored(j.life)
	j.tree = seen
	sc := j.scan(context.Background(), ignored)
	j.tree = nil
	differencesSince(seen, sc.next, u.unseen, u.Time, func(p pair) {
		switch _, known := before[p.path]; {
		case known, p.before == nil && isIgnored(ignored, p.path):
		case p.before == nil:
			before[p.path] = State{}
		default:
			before[p.path] = p.before.state()
		}
	})
	return nil
}
