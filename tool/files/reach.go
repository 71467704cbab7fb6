package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"artoo/tool/names"
)

// ReachLimit is how many entries are examined for secrets in a directory, or to expand a glob; beyond it the user is
// asked.
const ReachLimit = 20000

var errReachTooMuch = errors.New("it reads too many files to check beforehand")

// Reach returns nil if a command that runs in dir may read the paths of arg: inside the granted directories and not on
// the deny list. Links and ".." count as the kernel takes them. Globs stand for all that a shell could make of them,
// which must not look like options. A missing path is judged by its place. With recursive, a directory must not hold
// anything denied either, nor links to directories elsewhere. The policy asks before a command runs unasked.
func (f *Files) Reach(dir, arg string, recursive bool) error {
	base := dir
	if filepath.IsAbs(arg) {
		// A glob does not begin in the name of a granted directory.
		g, granted, rest := f.grantedAt(arg)
		if base, arg = granted, rest; g == nil {
			base, arg = string(filepath.Separator), strings.TrimLeft(rest, string(filepath.Separator))
		}
	}
	paths, err := f.expand(base, arg)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if recursive {
			err = f.readableBelow(p)
		} else {
			_, err = f.readable(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readable is the place that path leads to, if the command may read it.
func (f *Files) readable(path string) (Place, error) {
	place, err := f.Resolve(path, false)
	if err == nil && (place.Outside || place.Denied) {
		err = errors.New(place.Why)
	}
	return place, err
}

// readableBelow is readable for path and all that is beneath it.
func (f *Files) readableBelow(path string) error {
	top, err := f.readable(path)
	if err != nil {
		return err
	}
	seen := 0
	return filepath.WalkDir(top.Abs, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // The command cannot read it either.
		}
		if seen++; seen > f.reachLimit {
			return errReachTooMuch
		}
		if d.Type()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
			t := f.found(at)
			if why := f.hidden(t); why != "" {
				return errors.New(t.Display + " " + why)
			}
			return nil
		}
		place, err := f.readable(at)
		if err != nil {
			return err
		}
		if _, inside := names.Relative(top.Abs, place.Abs); inside {
			return nil
		}
		if info, err := os.Stat(place.Abs); err == nil && info.IsDir() {
			return errors.New(f.display(at) + " is a link to another directory")
		}
		return nil
	})
}

// expand lists the paths a glob in base may stand for, and the path itself. It takes too many rather than too few: a
// shell's reading of brackets and question marks depends on its version and language, so they count as stars.
func (f *Files) expand(base, glob string) ([]string, error) {
	all := []string{below(base, glob)}
	if !strings.ContainsAny(glob, "*?[") {
		return all, nil
	}
	found, looked := []string{base}, 0
	for _, part := range Split(glob) {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(part, "*?[") {
				next = append(next, below(dir, part))
				continue
			}
			if _, err := f.readable(dir); err != nil {
				return nil, err
			}
			names, err := readNames(dir)
			if err != nil {
				continue // no directory, or none that the command can list
			}
			if looked += len(names); looked > f.reachLimit {
				return nil, errReachTooMuch
			}
			for _, name := range names {
				if !globMay(part, name) {
					continue
				}
				if dir == base && strings.HasPrefix(name, "-") {
					return nil, errors.New("a file is named like an option: " + name)
				}
				next = append(next, below(dir, name))
			}
		}
		found = next
	}
	return append(found, all...), nil
}

// below joins without cleaning: a/.. is not . when a is a link.
func below(dir, name string) string {
	return strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator) + name
}

// globMay reports whether a part of a glob may stand for a name.
func globMay(glob, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(glob, ".") {
		return false
	}
	glob, _, cut := strings.Cut(strings.NewReplacer("?", "*", `\`, `\\`).Replace(glob), "[")
	if cut {
		glob += "*"
	}
	may, err := path.Match(glob, name)
	return may || err != nil
}

// LeadsOut says whether no directory on the way to path, which is absolute, is
// one that the file tools may read: where one is, a link in it led out, and that
// may be a repository's.
func (f *Files) LeadsOut(path string) bool {
	if path != filepath.Clean(path) {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		place, err := f.Resolve(dir, false)
		if err != nil || !place.Outside {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}
