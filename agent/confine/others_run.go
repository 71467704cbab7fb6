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
		return isBare(at) || kind.IsRegular() && names.Linked(at), kind.IsDir()
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
		if isBare(at) {
			found = append(found, bareEntries(filepath.Dir(at))...)
		} else if o.is(at) {
			found = append(found, at)
		} else {
			outside = append(outside, at)
		}
	}
	outside = o.gathered(names.Outside(outside))
	if o.named != nil {
		for _, dir := range o.named() {
			inside := slices.ContainsFunc(o.roots, func(root string) bool { return dir != root && within(root, dir) })
			if inside && exists(dir) {
				found = append(found, dir)
			}
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

// Appeared returns a func that lists what others run in a project, by now and not
// before. named lists the directories that git's configuration names, and may be nil.
func Appeared(root string, named func() []string) func(before []string) ([]string, error) {
	o := newOthersRun([]string{root}, named)
	return o.since
}

// since lists what there is now and was not before.
func (o *othersRun) since(before []string) ([]string, error) {
	now, _, err := o.look()
	was := func(path string) bool { _, ok := slices.BinarySearch(before, path); return ok }
	return slices.DeleteFunc(now, func(path string) bool {
		head := filepath.Join(filepath.Dir(path), "HEAD")
		_, listed := slices.BinarySearch(now, head)
		// Of a repository that was none before, HEAD alone: without it the rest, which may
		// be the user's, is a directory like any other.
		return was(path) || listed && path != head && !was(head) && !o.is(path)
	}), err
}

// isBare reports whether a path is the HEAD of what git would take for a bare
// repository, and obey.
func isBare(at string) bool {
	if filepath.Base(at) != "HEAD" {
		return false
	}
	dir := filepath.Dir(at)
	return exists(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "refs"))
}

// bareEntries are the files and directories of a bare repository that git reads.
func bareEntries(dir string) (found []string) {
	for name := range strings.FieldsSeq("HEAD commondir config config.worktree hooks info objects packed-refs refs") {
		if path := filepath.Join(dir, name); exists(path) {
			found = append(found, path)
		}
	}
	return found
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
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
