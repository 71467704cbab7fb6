package files

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
)

// isStore reports whether a folded path is that of git's own store, a repository's or a
// submodule's. No denied name counts in it: it holds contents under names of git's own.
func isStore(at string) bool {
	return path.Base(at) == "objects" && (path.Base(path.Dir(at)) == ".git" || strings.Contains(at, "/.git/modules/"))
}

// deniedFinder finds what may be denied by its name, and what a command could talk
// to others through.
func (f *Files) deniedFinder() *names.Finder {
	return names.New(func(at string, kind fs.FileMode) (found, descend bool) {
		folded := filepath.ToSlash(names.Fold(at))
		base := path.Base(folded)
		if kind&(fs.ModeSocket|fs.ModeNamedPipe) != 0 {
			return true, false
		}
		for _, g := range f.grants {
			if rel, ok := g.covers(at); ok {
				inside := filepath.ToSlash(names.Fold(rel))
				found = found || SecretName(inside, folded) != "" || secretMarks(base) != nil
			}
		}
		own := slices.Contains(f.deny, at)
		return found || own, kind.IsDir() && !isStore(folded) && !own
	})
}

// Denied lists what a confined command must not see, absolute and sorted: denied
// files and directories in the granted directories, under every name they have, and
// the FIFOs and sockets there, which lead out. It looks anew each time; what has
// not changed since is not listed again.
func (f *Files) Denied() ([]string, error) {
	var roots []string
	for _, g := range f.grants {
		roots = append(roots, g.real)
	}
	candidates, err := f.finder().Find(roots...)
	if err != nil {
		return nil, err
	}
	var denied []string
	var linked []fs.FileInfo // denied files that have other names
	for _, at := range candidates {
		info, err := os.Lstat(at)
		if err != nil {
			continue // it is gone
		}
		if info.Mode()&(fs.ModeSocket|fs.ModeNamedPipe) != 0 {
			denied = append(denied, at)
			continue
		}
		place, err := f.Resolve(at, false)
		if err != nil || !place.Denied || info.Mode()&fs.ModeSymlink != 0 {
			continue // a link is only a name: what it leads to is denied itself
		}
		denied = append(denied, at)
		if info.Mode().IsRegular() && linkCount(info) > 1 {
			linked = append(linked, info)
		}
	}
	secrets, _ := f.deniedInodes()
	for _, secret := range secrets { // those of the home directory
		if linkCount(secret) > 1 {
			linked = append(linked, secret)
		}
	}
	if len(linked) > 0 {
		others, err := linkedNames(roots, linked)
		if err != nil {
			return nil, err
		}
		denied = append(denied, others...)
	}
	slices.Sort(denied)
	return slices.Compact(denied), nil
}

// linkedNames finds every name that files have below the roots, by their inodes. It
// looks at all that is there.
func linkedNames(roots []string, files []fs.FileInfo) ([]string, error) {
	return names.New(func(at string, kind fs.FileMode) (found, descend bool) {
		if !kind.IsRegular() {
			return false, kind.IsDir()
		}
		info, err := os.Lstat(at)
		return err == nil && slices.ContainsFunc(files, func(f fs.FileInfo) bool { return os.SameFile(f, info) }), false
	}).Find(roots...)
}
