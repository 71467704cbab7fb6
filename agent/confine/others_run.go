package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/permission"
	"artoo/tool/names"
)

// othersRun finds the files of a project that others run, see permission.OthersRun,
// and those that have names outside of it.
type othersRun struct {
	roots  []string
	finder *names.Finder
	byName func(path string) bool // of a path below a root
	named  func() []string        // directories that git's configuration names; may be nil
}

func newOthersRun(roots []string, named func() []string) *othersRun {
	o := &othersRun{roots: roots, byName: permission.OthersRunByName(), named: named}
	o.finder = names.New(func(at string, kind fs.FileMode) (found, descend bool) {
		if o.is(at) {
			return kind&fs.ModeSymlink == 0, false // a link is only a name
		}
		return kind.IsRegular() && names.Linked(at), kind.IsDir()
	})
	return o
}

// is reports whether others run a file by its name.
func (o *othersRun) is(at string) bool {
	for _, root := range o.roots {
		if rel, err := filepath.Rel(root, at); err == nil && filepath.IsLocal(rel) && o.byName(rel) {
			return true
		}
	}
	return false
}

// look lists what others run and what leads outside, as it is now, absolute and
// sorted.
func (o *othersRun) look() (found, outside []string, err error) {
	all, err := o.finder.Find(o.roots...)
	if err != nil {
		return nil, nil, err
	}
	for _, at := range all {
		if o.is(at) {
			found = append(found, at)
		} else {
			outside = append(outside, at)
		}
	}
	outside = o.gathered(names.Outside(outside))
	if o.named == nil {
		return found, outside, nil
	}
	for _, dir := range o.named() {
		inside := slices.ContainsFunc(o.roots, func(root string) bool { return dir != root && within(root, dir) })
		if _, err := os.Lstat(dir); err == nil && inside {
			found = append(found, dir)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), outside, nil
}

// maxOutside is how many files and directories are made read-only one by one since
// they lead outside: each costs a mount, some 20 µs, in every command's file tree.
const maxOutside = 500

// gathered names the directories that hold the paths, the deepest first, until there
// are few enough of them. Package managers link whole trees of packages.
func (o *othersRun) gathered(paths []string) []string {
	depth := func(path string) int { return strings.Count(path, string(filepath.Separator)) }
	for len(paths) > maxOutside {
		deepest := 0
		for _, path := range paths {
			if !slices.Contains(o.roots, filepath.Dir(path)) {
				deepest = max(deepest, depth(path))
			}
		}
		if deepest == 0 {
			break // so much in the root itself
		}
		for i, path := range paths {
			if depth(path) == deepest {
				paths[i] = filepath.Dir(path)
			}
		}
		slices.Sort(paths)
		paths = slices.Compact(paths)
	}
	return paths
}

// since lists what there is now and was not before.
func (o *othersRun) since(before []string) ([]string, error) {
	now, _, err := o.look()
	return slices.DeleteFunc(now, func(path string) bool { _, ok := slices.BinarySearch(before, path); return ok }), err
}

// remove takes files and directories away that are below the roots.
func (o *othersRun) remove(paths []string) (err error) {
	for _, path := range paths {
		for _, dir := range o.roots {
			if within(dir, path) && dir != path {
				err = errors.Join(err, removeBelow(dir, path))
				break
			}
		}
	}
	return err
}

// removeBelow follows no link out of a directory.
func removeBelow(dir, path string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	return root.RemoveAll(rel)
}
