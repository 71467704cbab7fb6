package files

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"artoo/tool/names"
)

// Refused returns a *RefusedError if nothing may be done at the place.
func (t Place) Refused() error {
	if t.Outside || t.Denied {
		return &RefusedError{t}
	}
	return nil
}

// Errorf describes a failure at the place; err may be nil.
func (t Place) Errorf(err error, format string, args ...any) error {
	words := t.Display + ": " + fmt.Sprintf(format, args...)
	if err == nil {
		return errors.New(words)
	}
	return fmt.Errorf("%s%w", words, cause(err))
}

// Resolve finds where path leads; relative paths start at the working directory. The
// error is for paths that cannot mean anything (empty, NUL byte, a loop of
// links, "~"). With write, a place that may only be read is Outside.
func (f *Files) Resolve(path string, write bool) (Place, error) {
	start, rest, err := f.start(path)
	if err != nil {
		return Place{}, err
	}
	abs, err := f.links.walk(start, rest)
	if err != nil {
		return Place{}, fmt.Errorf("path %q: %w", path, err)
	}
	t := Place{Abs: abs, Display: f.display(abs)}
	t.grant, t.rel = f.grantOf(abs, write)
	t.InGit = inGit(rest) || t.grant != nil && inGit(t.rel)
	if t.grant == nil {
		t.Outside = true
		t.Why = f.whyOutside(path, filepath.Join(start, rest), abs)
		return t, nil
	}
	if why := f.secret(t); why != "" {
		t.Denied = true
		t.Why = fmt.Sprintf("%s %s, and such files are denied to the file tools", t.Display, why)
	} else if t.InGit && write {
		t.Why = t.Display + " belongs to git itself: writing in .git is asked every time"
	}
	return t, nil
}

// start splits path into a link-free directory and what is to be followed from
// there.
func (f *Files) start(path string) (dir, rest string, err error) {
	switch {
	case strings.TrimSpace(path) == "":
		return "", "", errors.New("the path is empty: give one relative to the working directory, such as . for the " +
			"directory itself")
	case strings.ContainsRune(path, 0):
		return "", "", fmt.Errorf("path %q: holds a NUL byte", path)
	case path == "~" || strings.HasPrefix(path, "~/"):
		return "", "", fmt.Errorf("path %q: ~ is not expanded here; give a path relative to the working directory, or "+
			"a whole one", path)
	}
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		return f.dir, path, nil
	}
	for _, g := range f.grants {
		// The way to the granted directory itself was followed when it was
		// opened.
		for _, dir := range []string{g.real, g.given} {
			if rest, ok := names.Relative(dir, path); ok {
				return g.real, rest, nil
			}
		}
	}
	return string(filepath.Separator), path, nil
}

// grantOf finds the innermost granted directory around abs; for writing, the
// innermost that may be written to.
func (f *Files) grantOf(abs string, write bool) (best *grant, rel string) {
	for _, g := range f.grants {
		if write && !g.write || best != nil && len(g.real) <= len(best.real) {
			continue
		}
		if r, ok := g.covers(abs); ok {
			best, rel = g, r
		}
	}
	return best, rel
}

func (f *Files) display(abs string) string {
	if _, ok := f.grants[0].covers(abs); !ok {
		return abs
	}
	rel, err := filepath.Rel(f.dir, abs)
	if err != nil {
		return abs // The path is on another volume.
	}
	return filepath.ToSlash(rel)
}

func (f *Files) whyOutside(path, written, abs string) string {
	what := path
	if written != abs {
		what = fmt.Sprintf("%s leads to %s, which", path, abs)
	}
	if g, _ := f.grantOf(abs, false); g != nil {
		return fmt.Sprintf("%s is in %s, which is open for reading only (--add-dir %s:rw opens it for writing)", what,
			g.given, g.given)
	}
	return fmt.Sprintf("%s is outside the project %s (--add-dir opens further directories)", what, f.Root())
}

// inGit reports whether a part of the path is a git directory, in any spelling
// a file system may take for .git.
func inGit(path string) bool {
	for _, name := range Split(path) {
		if names.Fold(name) == ".git" {
			return true
		}
	}
	return false
}
