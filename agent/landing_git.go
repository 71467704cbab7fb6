package agent

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool/git"
	"artoo/tool/names"
	"artoo/tool/repo"
	"artoo/tool/sandbox"
	"artoo/tool/text"
)

func (g *gitEffects) has(path string) bool {
	return slices.ContainsFunc(g.dirs, func(dir string) bool { return names.Within(dir, path) })
}

func (g *gitEffects) touches() (paths []string) {
	for _, v := range g.views {
		paths = append(paths, v.Touches()...)
	}
	return paths
}

// replay makes the changes in the project's repositories. After a crash, an error, the journal
// undoes them.
func (g *gitEffects) replay(ctx context.Context) error {
	_, err := guard(func() (none struct{}, err error) {
		for _, v := range g.views {
			if err := v.Replay(ctx); err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

func (g *gitEffects) close() (err error) {
	for _, v := range g.views {
		err = errors.Join(err, v.Close())
	}
	if g.temp != "" {
		err = errors.Join(err, os.RemoveAll(g.temp))
	}
	return err
}

// gitEffects looks at each repository that a line changed. A new repository has no view:
// its files are judged one by one.
func (c *calls) gitEffects(ctx context.Context, changes confine.Changes) (g *gitEffects, err error) {
	g = &gitEffects{committed: map[string]committed{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	byDir := map[string][]sandbox.Change{}
	byPath := map[string]sandbox.Change{}
	for _, change := range changes.List() {
		byPath[change.Path] = change
		if dir := c.gitDirOf(change); dir != "" {
			byDir[dir] = append(byDir[dir], change)
		}
	}
	if len(byDir) == 0 {
		return g, nil
	}
	if g.temp, err = os.MkdirTemp("", "artoo-git-"); err != nil {
		return g, err
	}
	open := func(path string) (io.ReadCloser, error) { return changes.Open(path) }
	for dir, list := range byDir {
		r := repo.Repository{WorkTree: filepath.Dir(dir), GitDir: dir, Common: dir, Environ: c.session.opt.Env.Environ}
		if w := c.session.opt.Workspace; w != nil && w.Project.Common != "" && dir == w.Project.Common {
			if r.WorkTree, r.GitDir, err = w.Project.Root, w.Project.GitDir(), nil; r.GitDir == "" {
				continue
			}
		}
		if top := git.ModuleWorkTree(dir); top != "" {
			r.WorkTree = top
		}
		view, err := repo.Open(ctx, r, g.temp, gitChanges(list), open)
		if errors.Is(err, repo.ErrNoRepository) {
			continue
		}
		if errors.Is(err, repo.ErrRefStorage) {
			g.dirs = append(g.dirs, dir)
			g.rows = append(g.rows, permission.GitRow{Class: permission.Forbidden, Text: err.Error()})
			continue
		}
		if err != nil {
			return g, err
		}
		g.views, g.dirs = append(g.views, view), append(g.dirs, dir)
		in := "" // the project's own repository needs no name
		if rel, err := filepath.Rel(c.session.opt.Policy.Root, r.WorkTree); err == nil && rel != "." {
			in = "in " + filepath.ToSlash(rel) + ": "
		}
		var removed []sandbox.Change
		if view.Removed() {
			removed = list
		}
		effects, err := view.Effects(ctx, c.workTree(ctx, r.WorkTree, byPath, changes))
		if err != nil {
			return g, err
		}
		for _, group := range []struct {
			class permission.Class
			rows  []repo.Row
		}{{permission.Forbidden, effects.Forbidden}, {permission.Guarded, effects.Guarded}, {permission.Loss, effects.Loss},
			{permission.Content, effects.Content}, {permission.Bookkeeping, effects.Bookkeeping}} {
			for _, row := range group.rows {
				for i, name := range row.Files {
					if row.Kind == repo.Commit {
						path := filepath.Join(r.WorkTree, filepath.FromSlash(name))
						does := g.committed[path]
						does.gone = does.gone || slices.Contains(row.Gone, name)
						if i == 0 {
							does.lines += row.Lines
						}
						g.committed[path] = does
					}
				}
				switch {
				case row.Kind == repo.RefMoved && group.class == permission.Content && slices.ContainsFunc(group.rows, func(r repo.Row) bool {
					return r.Kind == repo.Commit && r.Object == row.Object
				}):
					continue // the row of the commit shows where the ref is now
				case len(row.Files) > 0 && (row.Kind == repo.Commit || row.Kind == repo.Stash):
					row.Text += ": " + text.UpTo(mostNamed, row.Files)
				}
				g.rows = append(g.rows, permission.GitRow{Class: group.class, Text: in + row.Text, Diff: row.Diff,
					Left: row.Left, Stops: row.Stops, Files: removed})
			}
		}
	}
	return g, nil
}

func gitChanges(list []sandbox.Change) (changes []repo.Change) {
	for _, c := range list {
		gone := c.Kind == sandbox.Deleted
		change := repo.Change{Path: c.Path, Gone: gone}
		if !gone {
			change.Mode = c.Mode
		}
		changes = append(changes, change)
	}
	return changes
}

// gitDirOf is the git directory that a path lies in, "" for none.
func (c *calls) gitDirOf(change sandbox.Change) string {
	path, at := change.Path, cmp.Or(change.Dir, c.session.opt.Policy.Root)
	if w := c.session.opt.Workspace; w != nil && w.Project.Common != "" && names.Within(w.Project.Common, path) {
		return w.Project.Common
	}
	rel, err := filepath.Rel(at, path)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	end := len(path) - len(rel)
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		end += len(part) + 1
		if names.Fold(part) != ".git" {
			continue
		}
		at = path[:end-1]
		if info, err := os.Lstat(at); err == nil && info.IsDir() {
			return moduleOf(at, path)
		}
		return ""
	}
	return ""
}

// moduleOf is the git directory of the submodule that a path below dir belongs to, or dir.
func moduleOf(dir, path string) string {
	rest, inModule := strings.CutPrefix(path, filepath.Join(dir, "modules")+string(filepath.Separator))
	if !inModule {
		return dir
	}
	at := filepath.Join(dir, "modules")
	for part := range strings.SplitSeq(rest, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		if info, err := os.Lstat(filepath.Join(at, "HEAD")); err == nil && info.Mode().IsRegular() {
			return moduleOf(at, path)
		}
	}
	return dir
}

// workTree is a repository's work tree as it will be once the line's files have landed.
func (c *calls) workTree(ctx context.Context, top string, byPath map[string]sandbox.Change, changes confine.Changes) repo.WorkTree {
	var ignored []string
	asked := false
	return repo.WorkTree{
		Open: func(name string) (io.ReadCloser, fs.FileMode, error) {
			path := filepath.Join(top, filepath.FromSlash(name))
			if change, changed := byPath[path]; changed {
				switch {
				case change.Kind == sandbox.Deleted:
					return nil, 0, fs.ErrNotExist
				case change.Mode&fs.ModeSymlink != 0:
					return io.NopCloser(strings.NewReader(change.Target)), change.Mode, nil
				case change.Kind != sandbox.Mode && change.Mode.IsRegular():
					file, err := changes.Open(path)
					return file, change.Mode, err
				}
			}
			info, err := os.Lstat(path)
			if err != nil {
				return nil, 0, err
			}
			if info.Mode()&fs.ModeSymlink != 0 {
				to, err := os.Readlink(path)
				return io.NopCloser(strings.NewReader(to)), info.Mode(), err
			}
			file, err := os.Open(path)
			return file, info.Mode(), err
		},
		Guarded: func(name string) bool {
			return c.session.opt.Policy.IsGuarded(filepath.Join(top, filepath.FromSlash(name)))
		},
		Ignored: func(name string) bool {
			w := c.session.opt.Workspace
			if w == nil || top != w.Project.Root {
				return false
			}
			if !asked {
				asked = true
				var err error
				if ignored, err = w.Project.Ignored(ctx, c.session.opt.Env.Environ); err != nil {
					ignored = []string{""} // Unknown counts as ignored, so the user is asked.
				}
			}
			return slices.ContainsFunc(ignored, func(rule string) bool {
				return rule == "" || rule == name || strings.HasSuffix(rule, "/") && strings.HasPrefix(name, rule)
			})
		},
	}
}
