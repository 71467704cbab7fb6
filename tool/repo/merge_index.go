package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// IsIndex reports whether a path, absolute, is the index of a git directory.
func IsIndex(path string) bool {
	dir := filepath.Dir(path)
	return filepath.Base(path) == "index" && exists(filepath.Join(dir, "HEAD")) &&
		(exists(filepath.Join(dir, "objects")) || exists(filepath.Join(dir, "commondir")))
}

// MergeIndex makes in an index of the git directory gitDir, which holds now, the changes
// that lead from the index from to the index to: of each path that is in now as in from.
// left names the paths that are otherwise in it. What an index knows of files does not
// count. A nil index is none.
func MergeIndex(ctx context.Context, gitDir string, environ []string, from, to, now []byte) (merged []byte,
	left []string, err error) {
	common := gitDir
	switch data, err := os.ReadFile(filepath.Join(gitDir, "commondir")); {
	case err == nil:
		if common = strings.TrimRight(string(data), "\r\n"); !filepath.IsAbs(common) {
			common = filepath.Join(gitDir, common)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, nil, err
	}
	v := &View{r: Repository{GitDir: gitDir, Common: common, Environ: environ}}
	if v.dir, err = os.MkdirTemp("", "artoo-index-"); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if err := v.prepare(ctx); err != nil {
		return nil, nil, err
	}
	const indexFrom = "from.index"
	lists := map[string]map[string]indexed{}
	for name, data := range map[string][]byte{indexFrom: from, indexAfter: to, indexBefore: now} {
		if data != nil {
			if err := v.write(name, string(data)); err != nil {
				return nil, nil, err
			}
		}
		if lists[name], err = v.listIndex(ctx, name); err != nil {
			return nil, nil, err
		}
	}
	was, shall, is := lists[indexFrom], lists[indexAfter], lists[indexBefore]
	names := maps.Clone(was)
	maps.Copy(names, shall)
	maps.DeleteFunc(names, func(path string, _ indexed) bool { return was[path] == shall[path] || is[path] == shall[path] })
	if len(names) == 0 {
		return now, nil, nil
	}
	changed := map[string]bool{}
	for path := range names {
		changed[path] = true
	}
	s := staging{after: shall, intended: map[string]bool{}}
	if err := (&judge{v: v}).askIntended(ctx, &s, changed, ""); err != nil {
		return nil, nil, err
	}
	v.plan, v.r.WorkTree = &plan{}, filepath.Join(v.dir, "files")
	next := maps.Clone(is)
	for _, path := range slices.Sorted(maps.Keys(names)) {
		if is[path] != was[path] {
			left = append(left, path)
			continue
		}
		c := entryChange{path, is[path], shall[path]}
		if s.intended[path] { // Git says only of a file that it is to be added later.
			c.now, v.plan.intended = indexed{}, append(v.plan.intended, path)
			if err := v.placeholder(path); err != nil {
				return nil, nil, err
			}
		}
		v.plan.index = append(v.plan.index, c)
		if next[path] = shall[path]; shall[path] == (indexed{}) {
			delete(next, path)
		}
	}
	if err := v.changeIndex(ctx); err != nil {
		return nil, nil, err
	}
	// A path takes the place of those below it, which the user may have staged.
	if list, err := v.listIndex(ctx, indexNext); err != nil {
		return nil, nil, err
	} else if !maps.Equal(list, next) {
		return nil, nil, ErrMoved
	}
	merged, err = os.ReadFile(filepath.Join(v.dir, indexNext))
	return merged, left, err
}

// placeholder makes an empty file in the view's own work tree.
func (v *View) placeholder(path string) error {
	if !validPath(path) {
		return fmt.Errorf("index: %q is not what git would stage", path)
	}
	if err := os.MkdirAll(filepath.Join(v.r.WorkTree, filepath.FromSlash(filepath.Dir(path))), 0o700); err != nil {
		return err
	}
	return v.write("files/"+path, "")
}
