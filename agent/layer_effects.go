package agent

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"artoo/tool/names"
)

// has reports whether a row stands for the changes of a path.
func (g gitEffects) has(path string) bool {
	_, hidden := g.hidden[path]
	return hidden || slices.ContainsFunc(g.dirs, func(dir string) bool { return names.Within(dir, path) })
}

// Touches implements journal.Layer.
func (e layerEffects) Touches() (paths []string) {
	for _, v := range e.git.views {
		paths = append(paths, v.Touches()...)
	}
	return paths
}

// Replay makes the changes in the project's repositories. After a crash, an error, the journal
// undoes them.
func (e layerEffects) Replay(ctx context.Context) error {
	_, err := guard(func() (none struct{}, err error) {
		for _, v := range e.git.views {
			if err := v.Replay(ctx); err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

func (g gitEffects) close() (err error) {
	for _, v := range g.views {
		err = errors.Join(err, v.Close())
	}
	if g.temp != "" {
		err = errors.Join(err, os.RemoveAll(g.temp))
	}
	return err
}

// open opens the new content of a path: git's version of a hidden file, else the one on the layer.
func (e layerEffects) open(path string) (*os.File, error) {
	if version, known := e.git.hidden[path]; known {
		return os.Open(version.File)
	}
	return e.changes.Open(path)
}

// Open is open, with a crash as an error, so that the journal reverts the step it began.
func (e layerEffects) Open(path string) (*os.File, error) {
	return guard(func() (*os.File, error) { return e.open(path) })
}

// Path implements journal.Layer.
func (e layerEffects) Path(path string) string {
	if _, known := e.git.hidden[path]; known {
		return ""
	}
	return e.changes.Path(path)
}

// stays are the paths that stay since the line could not see them, and of which git has no other version.
func (e layerEffects) stays() []string {
	return slices.DeleteFunc(slices.Clone(e.changes.Stays()), func(path string) bool { _, known := e.git.hidden[path]; return known })
}

// showBrought lets the journal hold the hidden files that git changes.
func (s *session) showBrought(g gitEffects) {
	w := s.opt.Workspace
	if w == nil || w.unseen == nil {
		return
	}
	for path, version := range g.hidden {
		if !version.Stays {
			w.unseen.brought.Store(path, true)
		}
	}
}

// brought names the hidden files that git changed.
func (s *session) brought(g gitEffects) (said []string) {
	for _, path := range slices.Sorted(maps.Keys(g.hidden)) {
		version := g.hidden[path]
		switch {
		case version.Stays, version.Mode.IsDir():
		case version.File == "":
			said = append(said, "git deleted "+s.namesOf([]string{path})[0])
		default:
			said = append(said, "git changed "+s.namesOf([]string{path})[0])
		}
	}
	return said
}
