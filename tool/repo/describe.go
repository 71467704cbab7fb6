package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"artoo/tool/environ"
	"artoo/tool/git"
	"artoo/tool/project"
)

// Describe explains changes of the data of repositories in the project at root, as git sees them: refs from
// where to where, with the subjects of their commits, and the paths whose place in the index changes.
// open opens the content of a changed file that the project does not have: the new one, or the old one where
// done says that the changes are made. Git gets vars. No program that the repository names runs.
func Describe(ctx context.Context, vars environ.Vars, root string, changes []Change, done bool,
	open func(path string) (io.ReadCloser, error)) (rows []string) {
	ctx, cancel := context.WithTimeout(ctx, git.Timeout)
	defer cancel()
	repositories := map[string][]Change{}
	for _, c := range changes {
		if dir, _, ok := project.SplitGit(filepath.ToSlash(c.Path)); ok {
			repositories[dir] = append(repositories[dir], c)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(repositories)) {
		path := filepath.FromSlash(dir)
		in := ""
		if name, ok := below(root, path); !ok || name != ".git" {
			in = name + ": "
		}
		v := newView(Repository{WorkTree: filepath.Dir(path), GitDir: path, Common: path, Own: vars, Environ: vars},
			repositories[dir], open)
		v.done = done
		v.load(ctx, "")
		var e Effects
		if v.err == nil {
			e, v.err = v.Effects(ctx, noTree{})
		}
		said := len(rows)
		for _, row := range slices.Concat(e.Loss, e.Guarded, e.Content, e.Bookkeeping) {
			if !slices.Contains([]Kind{Commit, Reflog, Objects, Unknown}, row.Kind) {
				rows = append(rows, in+row.Text)
			}
		}
		if err := errors.Join(v.err, v.Close()); err != nil || len(rows) == said {
			rows = append(rows[:said], fmt.Sprintf("%s%d of git's own files", in, len(repositories[dir])))
		}
	}
	return rows
}
