package journal

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
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

	from   Layer           // It lands; else nil.
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
