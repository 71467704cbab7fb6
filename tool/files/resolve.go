package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
)

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
	if why := f.hidden(t); why != "" {
		t.Denied = true
		t.Why = fmt.Sprintf("%s %s, so it is hidden", t.Display, why)
	} else if t.InGit && write {
		t.Why = t.Display + " belongs to git itself: artoo asks about every write in .git"
	}
	return t, nil
}

// found is the place of an entry that a search of granted directories has found, which is no link.
func (f *Files) found(abs string) Place {
	t := Place{Abs: abs, Display: f.display(abs)}
	t.grant, t.rel = f.grantOf(abs, false)
	t.InGit = inGit(t.rel)
	return t
}

// start splits path into a link-free directory and the rest to follow from there.
func (f *Files) start(path string) (dir, rest string, err error) {
	switch {
	case strings.TrimSpace(path) == "":
		return "", "", errors.New("the path is empty: give one relative to the working directory, such as . for the " +
			"directory itself")
	case strings.ContainsRune(path, 0):
		return "", "", fmt.Errorf("path %q: holds a NUL byte", path)
	case path == "~" || strings.HasPrefix(path, "~/"):
		return "", "", fmt.Errorf("path %q: ~ is not expanded here; give a path relative to the working directory, or "+
			"an absolute one", path)
	}
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		return f.dir, path, nil
	}
	if g, _, rest := f.grantedAt(path); g != nil {
		return g.real, rest, nil // the way to the granted directory was followed when it was opened
	}
	return string(filepath.Separator), path, nil
}

// grantedAt is the granted directory, as it is spelled in path, and the rest; nil for none.
func (f *Files) grantedAt(path string) (g *grant, dir, rest string) {
	for _, g := range f.granted() {
		for _, dir := range []string{g.real, g.given} {
			if rest, ok := names.Relative(dir, path); ok {
				return g, dir, rest
			}
		}
	}
	return nil, "", ""
}

// grantOf finds the innermost granted directory around abs that may be read, or written.
func (f *Files) grantOf(abs string, write bool) (best *grant, rel string) {
	for _, g := range f.granted() {
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
	if _, ok := f.granted()[0].covers(abs); !ok {
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

// inGit reports whether a part of the path is .git in any spelling that a file system may take for it.
func inGit(path string) bool {
	for _, name := range Split(path) {
		if names.Fold(name) == ".git" {
			return true
		}
	}
	return false
}

// maxLinks is how many links one path may go through, as in Linux.
const maxLinks = 40

var errTooManyLinks = errors.New("too many symbolic links, perhaps a loop")

// resolver finds the link-free spelling of paths. It confines nothing: its result is checked against the grants, and
// the file is then opened through os.Root, which cannot leave them whatever has changed in between.
type resolver struct {
	lstat func(string) (fs.FileInfo, error)
	// foldCase is set where file systems ignore case: names are then spelled as in their directory.
	foldCase bool
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// real is the link-free spelling of an absolute path, as far as it can be looked at.
func (r *resolver) real(abs string) (string, error) {
	return r.walk(string(filepath.Separator), abs)
}

// walk follows rest from the link-free directory cur as the kernel does, ".." after a link included.
func (r *resolver) walk(cur, rest string) (string, error) {
	todo := Split(rest)
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			cur = filepath.Dir(cur)
			continue
		}
		next := filepath.Join(cur, name)
		info, err := r.lstat(next)
		if err != nil && !slices.Contains(todo, "..") {
			return filepath.Join(append([]string{next}, todo...)...), nil // nothing below can be looked at
		}
		if err != nil {
			cur = next
			continue
		}
		var target string
		isLink := info.Mode()&fs.ModeSymlink != 0
		if isLink {
			target, err = os.Readlink(next)
		}
		if !isLink || err != nil {
			if r.foldCase {
				next = filepath.Join(cur, r.spelling(cur, name, info))
			}
			cur = next
			continue
		}
		if links++; links > maxLinks {
			return "", errTooManyLinks
		}
		if filepath.IsAbs(target) {
			cur = string(filepath.Separator)
		}
		todo = append(Split(target), todo...)
	}
	return cur, nil
}

// Split returns the parts of path that mean something.
func Split(path string) []string {
	parts := strings.FieldsFunc(path, func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) })
	kept := parts[:0]
	for _, p := range parts {
		if p != "." {
			kept = append(kept, p)
		}
	}
	return kept
}

// spelling is how dir itself spells the name of the file that info describes.
func (r *resolver) spelling(dir, name string, info fs.FileInfo) string {
	there, err := readNames(dir)
	if err != nil || slices.Contains(there, name) {
		return name
	}
	folded := names.Fold(name)
	at := slices.IndexFunc(there, func(other string) bool { return names.Fold(other) == folded })
	if at < 0 { // the file system may take another form of Unicode for the same name
		at = slices.IndexFunc(there, func(other string) bool {
			found, err := r.lstat(filepath.Join(dir, other))
			return err == nil && os.SameFile(info, found)
		})
	}
	if at < 0 {
		return name
	}
	return there[at]
}
