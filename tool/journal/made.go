package journal

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
)

// Others notes what others run or obey in the project, absolute paths, right before the
// step's command starts: if this process is killed before the step has ended, the next
// Open removes what the command added to that, ignored by git or not. Nothing is
// noted of a step that has no Snapshot, or has ended. Any goroutine may call it.
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
// next Open removes them, as far as they are still what they are now. What lies
// outside of the root is left out.
func (j *Journal) Made(turn int, what string, paths ...string) (*Step, error) {
	s := j.Begin(turn, what)
	s.kind = kindMade
	var intents []line
	for _, path := range paths {
		err := j.eachBelow(path, func(rel string) error {
			now, err := j.look(rel, stampOnly)
			if err == nil && now.Kind != Absent {
				intents = append(intents, changeLine(lineIntent, s.info.ID, Change{Path: rel, Before: now}))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return s, s.write(intents...)
}

// Drop ends a step as if nothing had been done in it: what it was kept for is settled.
func (s *Step) Drop() error {
	if !s.begun {
		return nil
	}
	return s.abandon()
}

// eachBelow calls f with a path, relative to the root, and all that is below it. What
// is outside of the root, or gone meanwhile, is nothing.
func (j *Journal) eachBelow(path string, f func(rel string) error) error {
	if !filepath.IsAbs(path) {
		path = filepath.Join(j.cfg.Root, path)
	}
	return filepath.WalkDir(path, func(at string, _ fs.DirEntry, err error) error {
		rel, outside := filepath.Rel(j.cfg.Root, at)
		if errors.Is(err, fs.ErrNotExist) || outside != nil || !filepath.IsLocal(rel) || rel == "." {
			return nil
		}
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(rel))
	})
}

// addAppeared adds what a command that was cut off made for others to run: it was
// nothing before.
func (j *Journal) addAppeared(before map[string]State, u *unfinished) error {
	if !u.listed || j.cfg.Appeared == nil {
		return nil
	}
	made, err := j.cfg.Appeared(u.others)
	if err != nil {
		return err
	}
	for _, path := range made {
		err := j.eachBelow(path, func(rel string) error {
			if _, known := before[rel]; !known {
				before[rel] = State{}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
