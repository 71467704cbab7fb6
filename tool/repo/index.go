package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/environ"
	"artoo/tool/names"
	"artoo/tool/text"
)

// The names of indexes in the view.
const (
	indexBefore = "before.index"
	indexAfter  = "after.index"
	indexNext   = "next.index"
)

// copyIndexes puts both indexes into the view, where the line changed it.
func (v *View) copyIndexes(ctx context.Context) error {
	if !v.sorted.index {
		return nil
	}
	path := filepath.Join(v.r.GitDir, "index")
	if err := v.copyFile(ctx, indexBefore, path, v.openBefore); err != nil {
		return err
	}
	if err := v.copyFile(ctx, indexAfter, path, v.openAfter); err != nil {
		return err
	}
	// A split index refers to others by a hash of their content.
	shared, err := fs.Glob(os.DirFS(v.r.GitDir), "sharedindex.*")
	if err != nil {
		return err
	}
	for _, name := range shared {
		if err := v.copyFile(ctx, "git/"+name, filepath.Join(v.r.GitDir, name), v.openBefore); err != nil {
			return err
		}
	}
	for path, c := range v.changed {
		if name, ok := below(v.r.GitDir, path); ok && strings.HasPrefix(name, "sharedindex.") && !c.Gone && !names.Exists(path) {
			if err := v.copyFile(ctx, "git/"+name, path, v.open); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyFile copies a file into the view; one that is not there is left out.
func (v *View) copyFile(ctx context.Context, name, path string, open func(string) (io.ReadCloser, error)) error {
	from, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	copied := filepath.Join(v.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
		return err
	}
	to, err := os.OpenFile(copied, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, text.Reader(ctx, from))
	return errors.Join(err, to.Close())
}

// indexed is the place of a path in an index.
type indexed struct {
	flags   string // Git ls-files -v says S for skip-worktree, else H; a small letter means assume-unchanged.
	entries string // Each is "MODE ID STAGE"; a newline separates several.
}

// plain is the mode and id of an entry that is not in conflict.
func (i indexed) plain() (mode, id string, ok bool) {
	parts := strings.Fields(i.entries)
	if len(parts) != 3 || parts[2] != "0" {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// listIndex reads an index of the view.
func (v *View) listIndex(ctx context.Context, name string) (map[string]indexed, error) {
	list := map[string]indexed{}
	g := v.git.With("GIT_INDEX_FILE=" + filepath.Join(v.dir, name))
	err := g.Run(ctx, nil, 0, func(piece string) error {
		what, path, ok := strings.Cut(piece, "\t")
		if !ok || len(what) < 3 {
			return fmt.Errorf("git ls-files says %q", piece)
		}
		flags, place := what[:1], what[2:]
		if flags == "M" { // The path is in conflict.
			flags = "H"
		} else if flags == "m" {
			flags = "h"
		}
		if old, there := list[path]; there {
			place = old.entries + "\n" + place
		}
		list[path] = indexed{flags, place}
		return nil
	}, "ls-files", "-s", "-v", "-z")
	return list, err
}

// mostNamed is how many paths git is given as arguments.
const mostNamed = 200

// tree lists the files of a commit, nothing for "": those named at least.
func (v *View) tree(ctx context.Context, commit string, names map[string]bool) (map[string]indexed, error) {
	list := map[string]indexed{}
	if commit == "" {
		return list, nil
	}
	args := []string{"ls-tree", "-r", "-z", "--full-tree", commit}
	if len(names) <= mostNamed {
		args = append(append(args, "--"), slices.Sorted(maps.Keys(names))...)
	}
	err := v.git.Run(ctx, nil, 0, func(piece string) error {
		what, path, _ := strings.Cut(piece, "\t")
		fields := strings.Fields(what)
		if len(fields) != 3 {
			return fmt.Errorf("git ls-tree says %q", piece)
		}
		list[path] = indexed{"H", fields[0] + " " + fields[2] + " 0"}
		return nil
	}, args...)
	return list, err
}

// validPath reports whether git takes a path into an index.
func validPath(path string) bool {
	return path != "" && !slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool {
		folded := strings.TrimRight(strings.ToLower(part), ". ")
		return part == "" || part == "." || part == ".." || folded == ".git" || folded == "git~1"
	})
}

// IsIndex reports whether a path, absolute, is the index of a git directory.
func IsIndex(path string) bool {
	dir := filepath.Dir(path)
	return filepath.Base(path) == "index" && names.Exists(filepath.Join(dir, "HEAD")) &&
		(names.Exists(filepath.Join(dir, "objects")) || names.Exists(filepath.Join(dir, "commondir")))
}

// MergeIndex makes in an index of the git directory gitDir, which holds now, the changes that lead from the index from
// to the index to: of each path that is in now as in from. left names the paths that are otherwise in it. File times
// and sizes in an index do not count. A nil index is none.
func MergeIndex(ctx context.Context, gitDir string, own environ.Vars, vars []string, from, to, now []byte) (merged []byte,
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
	v := &View{r: Repository{GitDir: gitDir, Common: common, Own: own, Environ: vars}}
	if v.dir, err = os.MkdirTemp(own.TempDir(), "artoo-index-"); err != nil {
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
	if err := v.copyFile(ctx, indexNext, filepath.Join(v.dir, indexBefore), v.openBefore); err != nil {
		return nil, nil, err
	}
	if err := v.changeIndex(ctx, filepath.Join(v.dir, indexNext)); err != nil {
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
		return fmt.Errorf("index: %q cannot be staged by git", path)
	}
	if err := os.MkdirAll(filepath.Join(v.r.WorkTree, filepath.FromSlash(filepath.Dir(path))), 0o700); err != nil {
		return err
	}
	return v.write("files/"+path, "")
}
