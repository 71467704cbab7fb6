package journal

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
)

// Quarantine moves files, or directories with all that they hold, out of the project into the journal, as a step of its
// own that [Journal.PlanStep] brings back; undo of the turn does not. The paths are absolute or relative to the root;
// each leads to the thing to move when this is called, and no link is followed. Left of the report names the paths that
// stay and why: not below the root, on another file system, or another thing by now. It fails, and moves nothing, where
// the journal cannot be written to.
func (j *Journal) Quarantine(turn int, what string, paths ...string) (Report, error) {
	if err := j.ready(); err != nil {
		return Report{}, err
	}
	done, err := j.order(j.life)
	if err != nil {
		return Report{}, err
	}
	defer done()
	ops, left, err := j.goners(paths)
	if err != nil || len(ops) == 0 {
		return Report{Left: left}, err
	}
	s := j.Begin(turn, what)
	s.kind = kindQuarantine
	return s.land(context.Background(), ops, Report{Left: left})
}

// goners are the changes that take the paths away.
func (j *Journal) goners(paths []string) (ops []Change, left []Lack, err error) {
	seen := map[string]bool{}
	for _, path := range paths {
		rel, ok := j.below(path)
		if !ok {
			left = append(left, Lack{Path: path, Why: Outside})
			continue
		}
		st, err := j.place.lstat(rel)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if st.dev != j.root.dev {
			left = append(left, Lack{Path: rel, Why: OtherMount})
			continue
		}
		now, err := j.look(j.life, rel, stampOnly)
		if err != nil {
			return nil, nil, err
		}
		now.Whole = now.Kind == Folder
		if !seen[rel] {
			ops = append(ops, Change{Path: rel, Before: now})
		}
		seen[rel] = true
	}
	above := func(op Change) bool { dir, _ := split(op.Path); return isIgnored(seen, dir) }
	return slices.DeleteFunc(ops, above), left, nil
}

// Approved records that the paths, absolute or relative to the root, and all that lies
// below them were made, in a step of its own: so that undo takes them back, also where git
// ignores them.
func (j *Journal) Approved(turn int, what string, paths ...string) error {
	s := j.Begin(turn, what)
	var lines []line
	for _, path := range paths {
		rel, ok := j.below(path)
		if !ok {
			continue
		}
		_ = filepath.WalkDir(j.abs(rel), func(path string, _ fs.DirEntry, err error) error {
			if rel, ok := j.below(path); ok && err == nil {
				s.before[rel] = State{}
				lines = append(lines, line{Type: lineBefore, Step: s.ID, Path: rel, Before: &State{}})
			}
			return nil // A file that is gone, or a directory that cannot be listed, is not recorded.
		})
	}
	if len(lines) == 0 {
		return nil
	}
	if err := s.write(lines...); err != nil {
		return err
	}
	_, err := s.End()
	return err
}
