package tool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// commitSteps does the steps of a patch, all or none: after a failure everything is
// as before, or the error says what could not be put back.
func (f *Files) commitSteps(steps []fileStep) error {
	var done []changed
	for i := range steps {
		c, err := f.commitStep(&steps[i])
		if err == nil {
			done = append(done, c)
			continue
		}
		for _, c := range slices.Backward(done) {
			if back := c.back(); back != nil {
				err = errors.Join(err, fmt.Errorf("could not be put back: %w", back))
			}
		}
		return fmt.Errorf("%w\n(nothing of the patch was applied)", err)
	}
	for i, c := range done {
		if c.last != nil {
			if err := c.last(); err != nil {
				return steps[i].errorf(err, "is deleted, but its content is left in the same directory: ")
			}
		}
		f.sawStep(&steps[i], c.state)
	}
	return nil
}

// changed is a step that was done.
type changed struct {
	state State        // of the file now
	back  func() error // takes it back
	last  func() error // what is left to do once all steps are done, nil for nothing
}

func (f *Files) commitStep(s *fileStep) (changed, error) {
	switch {
	case s.op == 'D':
		return f.setAside(s)
	case s.from != nil:
		return f.move(s)
	}
	made := s.missingParents()
	state, err := f.WriteFileAtomic(s.Abs, s.new, &s.state)
	return changed{state: state, back: func() error {
		if !s.state.Missing {
			_, err := f.WriteFileAtomic(s.Abs, s.old, &state)
			return err
		}
		return s.removeWith(made)
	}}, err
}

// missingParents are the directories above the target that are not there, the
// innermost first.
func (t target) missingParents() (missing []string) {
	for dir := filepath.Dir(t.rel); dir != "."; dir = filepath.Dir(dir) {
		if _, err := t.grant.root.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
	}
	return missing
}

// removeWith removes a file that was made, and the directories made for it.
func (t target) removeWith(made []string) error {
	if err := t.grant.root.Remove(t.rel); err != nil {
		return t.errorf(err, "")
	}
	for _, dir := range made {
		if err := t.grant.root.Remove(dir); err != nil {
			return t.errorf(err, "its directory %s: ", filepath.ToSlash(dir))
		}
	}
	return nil
}

// setAside gives a file another name until all steps are done: its inode, mode and
// times are then what is put back.
func (f *Files) setAside(s *fileStep) (changed, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := s.unchanged(&s.state); err != nil {
		return changed{}, err
	}
	root, aside := s.grant.root, filepath.Join(filepath.Dir(s.rel), ".artoo-"+rand.Text()+".tmp")
	if err := root.Rename(s.rel, aside); err != nil {
		return changed{}, s.errorf(err, "")
	}
	return changed{
		state: State{Missing: true},
		back:  func() error { return root.Rename(aside, s.rel) },
		last:  func() error { return root.Remove(aside) },
	}, nil
}

// move renames the file, which keeps all that it is, and writes what it is to
// become.
func (f *Files) move(s *fileStep) (changed, error) {
	made, err := f.rename(s)
	if err != nil {
		return changed{}, err
	}
	root := s.grant.root
	back := func() error {
		err := root.Rename(s.rel, s.from.rel)
		for _, dir := range made {
			err = errors.Join(err, root.Remove(dir))
		}
		return err
	}
	if s.was.body == s.now.body {
		return changed{state: s.state, back: back}, nil
	}
	state, err := f.WriteFileAtomic(s.Abs, s.new, &s.state)
	if err != nil {
		return changed{}, errors.Join(err, back())
	}
	return changed{state: state, back: func() error {
		if _, err := f.WriteFileAtomic(s.Abs, s.old, &state); err != nil {
			return err
		}
		return back()
	}}, nil
}

// rename gives the file its new name, unless something has that by now.
func (f *Files) rename(s *fileStep) (made []string, err error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := s.from.unchanged(&s.state); err != nil {
		return nil, err
	}
	if _, err := s.grant.root.Lstat(s.rel); !errors.Is(err, fs.ErrNotExist) {
		return nil, s.errorf(errChanged, "")
	}
	if made, err = s.makeParents(); err != nil {
		return nil, err
	}
	if err := s.grant.root.Rename(s.from.rel, s.rel); err != nil {
		for _, dir := range made {
			err = errors.Join(err, s.grant.root.Remove(dir))
		}
		return nil, s.errorf(err, "")
	}
	return made, nil
}

// sawStep notes what the model knows of the step's files now.
func (f *Files) sawStep(s *fileStep, now State) {
	source := s.source()
	seen, _ := f.sightOf(source.Abs)
	if s.op == 'D' || s.from != nil {
		f.forget(source.Abs)
	}
	if s.op != 'D' {
		f.keepSight(s.Abs, seen.after(s.change, now))
	}
}

// forget drops what the model knows of a file that is gone.
func (f *Files) forget(abs string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keptBytes -= len(f.seen[abs].body)
	delete(f.seen, abs)
}
