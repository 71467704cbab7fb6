package tool

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// reachLimit is how many entries are looked at to say that a directory holds no
// secrets; a larger one is asked about.
const reachLimit = 20000

// Reach returns nil if a command that runs in dir may read what arg names:
// inside the granted directories and not on the deny list. Globs are expanded
// as the shell would. What does not exist is judged by where it would be. With
// recursive, a directory must not hold anything denied either.
func (f *Files) Reach(dir, arg string, recursive bool) error {
	path := arg
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
		// Join cleans: a/../../b is judged lexically, as far as links go by
		// Resolve below.
		if strings.Contains(arg, "..") && hasLink(dir, arg) {
			return errors.New(arg + " goes up through a link")
		}
	}
	paths := []string{path}
	if strings.ContainsAny(arg, "*?[") {
		matches, err := filepath.Glob(path)
		if err != nil {
			return errors.New(arg + " is no pattern that can be expanded beforehand")
		}
		paths = append(paths, matches...)
	}
	for _, p := range paths {
		if err := f.readable(p); err != nil {
			return err
		}
		if recursive {
			if err := f.readableBelow(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Files) readable(path string) error {
	place, err := f.Resolve(path, false)
	switch {
	case err != nil:
		return err
	case place.Outside, place.Denied:
		return errors.New(place.Why)
	}
	return nil
}

func (f *Files) readableBelow(path string) error {
	seen := 0
	return filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be listed, the command cannot read either
		}
		if seen++; seen > reachLimit {
			return errors.New("it reads more files than could be looked at beforehand")
		}
		if d.Type()&fs.ModeSymlink != 0 || !d.IsDir() {
			return f.readable(at)
		}
		return nil
	})
}

// hasLink reports whether a part of arg that ".." goes up from is a link.
func hasLink(dir, arg string) bool {
	at := dir
	for _, part := range strings.Split(filepath.ToSlash(arg), "/") {
		at = filepath.Join(at, part)
		if resolved, err := filepath.EvalSymlinks(at); err == nil && resolved != at {
			return true
		}
	}
	return false
}
