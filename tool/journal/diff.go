package journal

import (
	"fmt"
	"maps"
	"slices"
)

// Diff is what the turns changed, all of them if none is named: what each path was
// before the first of their steps and after the last, sorted by path. What was
// taken back is not in it.
func (j *Journal) Diff(turns ...int) []Change {
	j.mu.Lock()
	defer j.mu.Unlock()
	paths := map[string]Change{}
	for _, r := range j.steps {
		if !r.counts() || len(turns) > 0 && !slices.Contains(turns, r.Turn) {
			continue
		}
		for _, c := range r.changes {
			if first, ok := paths[c.Path]; ok {
				c.Before = first.Before
			}
			paths[c.Path] = c
		}
	}
	var changes []Change
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if c := paths[path]; !same(c.Before, c.After) {
			c.From, c.Kept = "", j.kept(c.Before)
			changes = append(changes, c)
		}
	}
	findRenames(changes)
	return changes
}

// Turns are the turns that changed something and were not taken back, in order.
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

// Content is what a file of a change held, or what a link does. It is an error if
// that was not kept.
func (j *Journal) Content(s State) ([]byte, error) {
	switch {
	case s.Kind == Link:
		return []byte(s.Target), nil
	case s.Kind != File:
		return nil, nil
	case !j.kept(s):
		return nil, fmt.Errorf("the content is not kept (%d bytes)", s.Size)
	}
	return j.files.objects.read(s.Hash)
}
