package journal

import (
	"context"
	"maps"
	"slices"
)

// History are the states of a project between the steps of a journal.
type History struct {
	Steps   []StepInfo // those that changed something and were not undone, in order
	Changes [][]Change // one list per step, without the paths of Left
	// Left lists paths that have no place in the states: they changed since, or a state of theirs is not kept.
	Left []Lack
}

// History looks at the project, and returns the states that lead to it. It ends with ctx.
func (j *Journal) History(ctx context.Context) (h History, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var records []*record
	last, lacks := map[string]State{}, map[string]Lack{}
	for _, r := range j.steps {
		if !r.counts() {
			continue
		}
		records = append(records, r)
		for _, c := range r.changes {
			if !j.kept(c.Before) {
				lacks[c.Path] = j.lack(c.Path, c.Before)
			}
			if before, ok := last[c.Path]; ok && !same(before, c.Before) {
				lacks[c.Path] = Lack{Path: c.Path, Why: ChangedSince}
			}
			last[c.Path] = c.After
		}
	}
	for path, after := range last {
		now, err := j.look(ctx, path, hashOnly)
		if err != nil {
			return h, err
		}
		if !same(now, after) {
			lacks[path] = Lack{Path: path, Why: ChangedSince}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(lacks)) {
		h.Left = append(h.Left, lacks[path])
	}
	for _, r := range records {
		h.Steps = append(h.Steps, r.StepInfo)
		h.Changes = append(h.Changes, slices.DeleteFunc(slices.Clone(r.changes), func(c Change) bool {
			_, left := lacks[c.Path]
			return left
		}))
	}
	return h, nil
}
