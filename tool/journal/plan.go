package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"sync"
)

// ErrStale says that something was recorded since the plan was made.
var ErrStale = errors.New("something has changed since this was planned")

// Plan describes the undo of the last n turns, or, with redo, the redo of the last n undos. A turn that changed nothing
// does not count. It returns [ErrNothing] if there is nothing of the kind; an undo can be redone until something else
// is recorded. It ends with ctx.
func (j *Journal) Plan(ctx context.Context, n int, redo bool) (Plan, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	records := j.toUndo(n)
	if redo {
		records = j.toRedo(n)
	}
	return j.planOf(ctx, records, redo)
}

// PlanSince plans the undo of a turn and of those after it. A turn of a higher number before one of a
// lower number was left behind as a copy of the session went on without it, and stays.
func (j *Journal) PlanSince(ctx context.Context, turn int) (Plan, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var records []*record
	for _, r := range slices.Backward(j.steps) {
		if !r.counts() {
			continue
		}
		if r.Turn < turn || len(records) > 0 && r.Turn > records[len(records)-1].Turn {
			break
		}
		records = append(records, r)
	}
	return j.planOf(ctx, records, false)
}

// PlanStep plans the undo of one step, whatever came after it.
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
	b := backwards{j: j, ctx: ctx, plan: &p, paths: map[string]*back{}, twins: twins(pathsOf(records)),
		ignores: sync.OnceValue(func() map[string]bool { return j.askIgnored(ctx) })}
	for _, r := range records {
		b.add(r)
	}
	return p, b.finish()
}

// toUndo returns the steps of the last n turns that changed something and were not undone, the last first.
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
	unkept  bool // It can only be renamed back.
}

// backwards follows each path back through the steps that changed it, as long as each of
// them left the state that the next one found.
type backwards struct {
	j     *Journal
	ctx   context.Context
	plan  *Plan
	paths map[string]*back
	twins map[string]bool
	err   error

	ignores func() map[string]bool // It asks git once.
	sources map[string]bool        // These are renamed away.
}

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
			// It was undone already.
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

// merge takes back the parts of a file that are as a step left them, and reports whether it
// could. The result is kept at once, so that it is restored as any other content.
func (b *backwards) merge(path *back, c Change) bool {
	j := b.j
	if !j.cfg.Merges(j.abs(c.Path)) || path.target.Kind != File {
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
		if contents[i], err = j.Content(c.Path, s); err != nil || s.Kind != File && s.Kind != Absent {
			return false
		}
	}
	merged, left, err := j.cfg.Merge(b.ctx, j.abs(c.Path), contents[0], contents[1], contents[2])
	if err != nil {
		b.err = b.ctx.Err()
		return false
	}
	hash, err := j.files.objects.put(merged, false)
	if err != nil {
		return false
	}
	for _, part := range left {
		b.plan.Left = append(b.plan.Left, Lack{Path: c.Path + ": " + part, Why: ChangedSince})
	}
	path.target = State{Kind: File, Mode: path.target.Mode, Size: int64(len(merged)), Hash: hash,
		UID: path.target.UID, GID: path.target.GID}
	return true
}

// finish makes the list of changes to restore, without those that cannot be.
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
	slices.SortStableFunc(b.plan.Left, byPath)
	slices.SortStableFunc(b.plan.Cannot, byPath)
	return b.err
}

// drop leaves out changes that something is in the way of. It reports whether there was
// one, which may stand in the way of more.
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

// Diff lists the changes of the turns, all of them if none is named: the state of each path before the
// first of their steps and after the last, sorted by path. Changes that were undone are not in it.
func (j *Journal) Diff(turns ...int) []Change {
	j.mu.Lock()
	defer j.mu.Unlock()
	changes := net(slices.DeleteFunc(slices.Clone(j.steps), func(r *record) bool {
		return !r.counts() || len(turns) > 0 && !slices.Contains(turns, r.Turn)
	}))
	for i := range changes {
		changes[i].From, changes[i].Kept = "", j.kept(changes[i].Before)
	}
	findRenames(changes)
	return changes
}

// net are the changes of steps in order: from the state of each path before the first to that after the last, sorted by path.
func net(steps []*record) (changes []Change) {
	paths := map[string]Change{}
	for _, r := range steps {
		for _, c := range r.changes {
			if first, ok := paths[c.Path]; ok {
				c.Before = first.Before
			}
			paths[c.Path] = c
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if c := paths[path]; !same(c.Before, c.After) {
			changes = append(changes, c)
		}
	}
	return changes
}

// Turns are the turns that changed something and were not undone, in order.
func (j *Journal) Turns() (turns []int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range slices.Backward(j.toUndo(len(j.steps))) {
		if len(turns) == 0 || turns[len(turns)-1] != r.Turn {
			turns = append(turns, r.Turn)
		}
	}
	return turns
}

// Content is the content of a file of a change, or the target of a link: the kept one, else that of the file at the
// path if it is still as it was then.
func (j *Journal) Content(path string, s State) ([]byte, error) {
	switch s.Kind {
	case Link:
		return []byte(s.Target), nil
	case File:
	default:
		return nil, nil
	}
	open := func() (*os.File, error) { return j.openKept(s) }
	if !j.kept(s) {
		now, err := j.look(j.life, path, hashOnly)
		if err != nil || j.cfg.Denied(path) || now.Kind != File || !sameContent(now, s) {
			return nil, cmp.Or(err, fmt.Errorf("the content is not kept (%d bytes)", s.Size))
		}
		open = func() (*os.File, error) {
			f, _, err := j.place.openFile(path)
			return f, err
		}
	}
	from, err := open()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	data, err := io.ReadAll(from)
	if err == nil && s.Hash != "" && s.Hash != hashOf(data) {
		err = damaged(from.Name())
	}
	return data, err
}
