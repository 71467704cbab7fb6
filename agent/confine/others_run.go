package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"artoo/agent/permission"
	"artoo/tool/names"
)

// othersRun finds the files of a project that others run, see permission.OthersRun.
type othersRun struct {
	roots  []string
	finder *names.Finder
	named  func() []string // directories that git's configuration names; may be nil
}

func newOthersRun(roots []string, named func() []string) *othersRun {
	byName := permission.OthersRunByName()
	finder := names.New(func(at string, kind fs.FileMode) (found, descend bool) {
		for _, root := range roots {
			if rel, err := filepath.Rel(root, at); err == nil && filepath.IsLocal(rel) && byName(rel) {
				return kind&fs.ModeSymlink == 0, false // a link is only a name
			}
		}
		return false, kind.IsDir()
	})
	return &othersRun{roots: roots, finder: finder, named: named}
}

// list is what there is now, absolute and sorted.
func (o *othersRun) list() ([]string, error) {
	found, err := o.finder.Find(o.roots...)
	if err != nil || o.named == nil {
		return found, err
	}
	for _, dir := range o.named() {
		inside := slices.ContainsFunc(o.roots, func(root string) bool { return dir != root && within(root, dir) })
		if _, err := os.Lstat(dir); err == nil && inside {
			found = append(found, dir)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// since lists what there is now and was not before.
func (o *othersRun) since(before []string) ([]string, error) {
	now, err := o.list()
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
