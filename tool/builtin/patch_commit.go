package builtin

import (
	"errors"
	"fmt"
	"slices"

	"artoo/tool/files"
)

// commitSteps does the steps of a patch, all or none: after a failure everything is
// as before, or the error says what could not be put back.
func commitSteps(f *files.Files, steps []fileStep) error {
	var done []changed
	for i := range steps {
		c, err := commitStep(f, &steps[i])
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
				return steps[i].Errorf(err, "is deleted, but its content is left in the same directory: ")
			}
		}
		sawStep(f, &steps[i], c.state)
	}
	return nil
}

// changed is a step that was done.
type changed struct {
	state files.State
	back  func() error // takes it back
	last  func() error // runs once all steps are done; may be nil
}

func commitStep(f *files.Files, s *fileStep) (c changed, err error) {
	switch {
	case s.op == 'D':
		c.back, c.last, err = f.SetAside(s.Place, s.state)
		c.state = files.State{Missing: true}
		return c, err
	case s.from != nil:
		return movePatched(f, s)
	case s.state.Missing:
		c.state, c.back, err = f.Create(s.Place, s.new)
		return c, err
	}
	state, err := f.WriteFileAtomic(s.Abs, s.new, &s.state)
	return changed{state: state, back: func() error {
		_, err := f.WriteFileAtomic(s.Abs, s.old, &state)
		return err
	}}, err
}

// movePatched renames the file, and writes what it is to become.
func movePatched(f *files.Files, s *fileStep) (changed, error) {
	back, err := f.Move(*s.from, s.Place, s.state)
	if err != nil || s.was.Body == s.now.Body {
		return changed{state: s.state, back: back}, err
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

// sawStep notes what the model knows of the step's files now.
func sawStep(f *files.Files, s *fileStep, now files.State) {
	source := s.source()
	seen, _ := f.Seen.Of(source.Abs)
	if s.op == 'D' || s.from != nil {
		f.Seen.Forget(source.Abs)
	}
	if s.op != 'D' {
		f.Seen.Keep(s.Abs, sightAfter(seen, s.change, now))
	}
}
