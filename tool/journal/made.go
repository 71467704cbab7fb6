package journal

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Others notes what others run or obey in the project, absolute paths, right before the
// step's command starts: if this process is killed before the step has ended, the next
// Open moves into the quarantine what the command added to that, ignored by git or not.
// Nothing is noted of a step that has no Snapshot, or has ended. Any goroutine may call it.
func (s *Step) Others(before []string) error {
	j := s.j
	j.mu.Lock()
	defer j.mu.Unlock()
	if !s.begun || !slices.Contains(j.open, s) {
		return nil
	}
	return j.files.log.append(line{Type: lineOthers, Step: s.info.ID, Paths: before})
}

// Made notes that the paths, absolute or relative to the root, were made and are not
// approved: if this process is killed before the step that it returns is dropped, the
// next Open moves them into the quarantine, as far as they are still what they are now.
// What lies outside of the root is left out.
func (j *Journal) Made(turn int, what string, paths ...string) (*Step, error) {
	s := j.Begin(turn, what)
	s.kind = kindMade
	ops, _, err := j.goners(paths)
	if err != nil {
		return nil, err
	}
	var intents []line
	for _, op := range ops {
		intents = append(intents, changeLine(lineIntent, s.info.ID, op))
	}
	return s, s.write(intents...)
}

// Quarantine moves files, or directories with all that they hold, out of the project
// into the journal, as a step of its own that [Journal.PlanStep] brings back; undo of the
// turn does not. The paths are absolute
// or relative to the root; what each of them leads to when this is called is what goes,
// and no link is followed. Left of the report names what stays and why: what is not
// below the root, on another file system, or is another thing by now. It fails, and
// moves nothing, where the journal cannot be written to.
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
	report := Report{Step: s.info.ID}
	if err := s.intend(ops); err != nil {
		return report, errors.Join(err, s.abandon())
	}
	report.Done, err = s.perform(context.Background(), ops, j.openKept, func(more []Lack) error {
		report.Left = append(left, more...)
		return nil
	}, Then{})
	return report, err
}

// goners are the changes that take the paths away, directories whole.
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

// below is a path relative to the root, if it lies below that.
func (j *Journal) below(path string) (rel string, ok bool) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(j.cfg.Root, path)
	}
	rel, err := filepath.Rel(j.cfg.Root, path)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel) && rel != "."
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
		all, _, err := j.allBelow(rel, 0)
		if err != nil {
			return err
		}
		for _, path := range all {
			s.before[path] = State{}
			lines = append(lines, line{Type: lineBefore, Step: s.info.ID, Path: path, Before: &State{}})
		}
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

// Drop ends a step as if nothing had been done in it: what it was kept for is settled.
func (s *Step) Drop() error {
	if !s.begun {
		return nil
	}
	return s.abandon()
}

// addAppeared adds what a command that was cut off made for others to run: it was
// nothing before. whole are directories all of which is older than the death.
func (j *Journal) addAppeared(before map[string]State, u *unfinished, death int64) (whole map[string]bool, err error) {
	if !u.listed || j.cfg.Appeared == nil {
		return nil, nil
	}
	made, err := j.cfg.Appeared(u.others)
	if err != nil {
		return nil, err
	}
	whole = map[string]bool{}
	for _, path := range made {
		rel, ok := j.below(path)
		if !ok {
			continue
		}
		all, young, err := j.allBelow(rel, death)
		if err != nil {
			return nil, err
		}
		if !young {
			whole[rel] = true
			for path := range before { // goes along
				if strings.HasPrefix(path, rel+"/") {
					delete(before, path)
				}
			}
			all = all[:min(len(all), 1)]
		}
		for _, path := range all {
			if _, known := before[path]; !known {
				before[path] = State{}
			}
		}
	}
	return whole, nil
}

// allBelow are a path and all that lies below it; young says that something is younger
// than the death.
func (j *Journal) allBelow(rel string, death int64) (all []string, young bool, err error) {
	now, err := j.look(j.life, rel, stampOnly)
	if err != nil || now.Kind == Absent {
		return nil, false, err
	}
	all, young = []string{rel}, later(now, death)
	if now.Kind != Folder {
		return all, young, nil
	}
	entries, err := j.list(rel)
	for _, e := range entries {
		more, younger, err := j.allBelow(join(rel, e.name), death)
		if err != nil {
			return nil, false, err
		}
		all, young = append(all, more...), young || younger
	}
	return all, young, err
}
