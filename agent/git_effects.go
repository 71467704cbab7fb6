package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// has reports whether a row stands for the changes of a path.
func (g gitEffects) has(path string) bool {
	_, hidden := g.hidden[path]
	return hidden || slices.ContainsFunc(g.dirs, func(dir string) bool { return names.Within(dir, path) })
}

// Touches implements journal.Layer.
func (e layerEffects) Touches() (paths []string) {
	for _, v := range e.git.views {
		paths = append(paths, v.Touches()...)
	}
	return paths
}

// Replay makes the changes in the project's repositories. After a crash, an error, the journal
// undoes them.
func (e layerEffects) Replay(ctx context.Context) error {
	_, err := guard(func() (none struct{}, err error) {
		for _, v := range e.git.views {
			if err := v.Replay(ctx); err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

func (g gitEffects) close() (err error) {
	for _, v := range g.views {
		err = errors.Join(err, v.Close())
	}
	if g.temp != "" {
		err = errors.Join(err, os.RemoveAll(g.temp))
	}
	return err
}

// gitEffects looks at each repository that a line changed. A new repository has no view:
// its files are judged one by one. The caller closes what it gets, after an error too.
func (c *calls) gitEffects(ctx context.Context, changes confine.Changes) (g gitEffects, err error) {
	g = gitEffects{committed: map[string]committed{}, hidden: map[string]repo.Version{}, before: map[string]sandbox.Before{}}
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
	if g.temp, err = os.MkdirTemp(c.session.own().TempDir(), "artoo-git-"); err != nil {
		return g, err
	}
	for dir, list := range byDir {
		r := c.repository(dir)
		view, effects, err := c.openRepository(ctx, r, &g, list, changes, byPath)
		switch {
		case errors.Is(err, repo.ErrNoRepository):
			continue
		case ctx.Err() != nil:
			return g, ctx.Err()
		case err != nil: // The line's other changes do not depend on it.
			g.rows = append(g.rows, permission.GitRow{Class: permission.Forbidden,
				Text: text.FirstLine(err.Error()), Object: "git's data"})
		default:
			g.views = append(g.views, view)
			if !view.Removed() {
				list = nil
			}
			g.note(c.session.opt.Policy.Root, r.WorkTree, effects, list)
			g.bring(r.WorkTree, effects.Hidden, c.session.isHidden(), c.session.opt.Policy.IsGuarded, c.session.namesOf)
		}
		g.dirs = append(g.dirs, dir)
	}
	return g, nil
}

// repository is the one whose data a directory holds. It has no git directory where the project's has none.
func (c *calls) repository(dir string) repo.Repository {
	r := repo.Repository{WorkTree: filepath.Dir(dir), GitDir: dir, Common: dir, Own: c.session.own(), Environ: c.session.opt.Env.Environ}
	if w := c.session.opt.Workspace; w != nil && w.Project.Common != "" && dir == w.Project.Common {
		r.WorkTree, r.GitDir = w.Project.Root, w.Project.GitDir()
	}
	if top := git.ModuleWorkTree(dir); top != "" {
		r.WorkTree = top
	}
	return r
}

// openRepository opens a repository that is its work tree's own, and judges the changes of its data.
func (c *calls) openRepository(ctx context.Context, r repo.Repository, g *gitEffects, list []sandbox.Change, changes confine.Changes,
	byPath map[string]sandbox.Change) (*repo.View, repo.Effects, error) {
	if r.GitDir == "" {
		return nil, repo.Effects{}, repo.ErrNoRepository
	}
	var admitted []string
	if w := c.session.opt.Workspace; w != nil {
		admitted = w.Project.GitDirs
	}
	_, _, err := git.Dirs(r.WorkTree, admitted...)
	if _, foreign := errors.AsType[*git.ForeignError](err); foreign {
		return nil, repo.Effects{}, err // git itself may find no repository, or read one that artoo does not see
	}
	view, err := repo.Open(ctx, r, g.temp, gitChanges(list), func(path string) (io.ReadCloser, error) { return changes.Open(path) })
	if err != nil {
		return nil, repo.Effects{}, err
	}
	effects, err := view.Effects(ctx, c.workTree(ctx, r.WorkTree, byPath, changes, g))
	return view, effects, err
}

// note adds the rows of a repository. Those of a removed one stand for its files.
func (g *gitEffects) note(root, top string, effects repo.Effects, removed []sandbox.Change) {
	in := "" // the project's own repository needs no name
	if rel, err := filepath.Rel(root, top); err == nil && rel != "." {
		in = "in " + filepath.ToSlash(rel) + ": "
	}
	moved := map[string]bool{} // refs whose new commits show where they are now
	for _, row := range effects.Content {
		if row.Kind == repo.Commit {
			moved[row.Object] = true
			g.commit(top, row)
		}
	}
	for _, group := range []struct {
		class permission.Class
		rows  []repo.Row
	}{{permission.Forbidden, effects.Forbidden}, {permission.Guarded, effects.Guarded}, {permission.Loss, effects.Loss},
		{permission.Content, effects.Content}, {permission.Bookkeeping, effects.Bookkeeping}} {
		for _, row := range group.rows {
			if group.class == permission.Content && row.Kind == repo.RefMoved && moved[row.Object] {
				continue
			}
			if len(row.Files) > 0 && (row.Kind == repo.Commit || row.Kind == repo.Stash) {
				row.Text += ": " + text.UpTo(mostNamed, row.Files)
			}
			g.rows = append(g.rows, permission.GitRow{Class: group.class, Text: in + row.Text, Object: in + row.Object,
				Diff: row.Diff, Left: row.Left, Stops: row.Stops, Files: removed})
		}
	}
}

// commit notes the paths of a new commit.
func (g *gitEffects) commit(top string, row repo.Row) {
	for i, name := range row.Files {
		path := filepath.Join(top, filepath.FromSlash(name))
		does := g.committed[path]
		does.gone = does.gone || slices.Contains(row.Gone, name)
		if i == 0 {
			does.lines += row.Lines
		}
		g.committed[path] = does
	}
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
func (c *calls) workTree(ctx context.Context, top string, byPath map[string]sandbox.Change, changes confine.Changes, g *gitEffects) repo.WorkTree {
	var ignored []string
	asked, isHidden, files := false, c.session.isHidden(), c.session.opt.Env.Files
	var left []string
	for path, change := range byPath {
		hidden := change.Hidden || files != nil && files.HidesName(path)
		if name, err := filepath.Rel(top, path); hidden && err == nil && change.Kind != sandbox.Deleted && filepath.IsLocal(name) {
			left = append(left, filepath.ToSlash(name))
		}
	}
	return repo.WorkTree{
		Left: left,
		Project: func(name string) (io.ReadCloser, fs.FileMode, error) {
			return g.openHidden(filepath.Join(top, filepath.FromSlash(name)))
		},
		Hidden: func(name string) bool { return isHidden(filepath.Join(top, filepath.FromSlash(name))) },
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
			switch {
			case info.Mode()&fs.ModeSymlink != 0:
				to, err := os.Readlink(path)
				return io.NopCloser(strings.NewReader(to)), info.Mode(), err
			case !info.Mode().IsRegular():
				return nil, 0, fmt.Errorf("%s is not a regular file", path) // a FIFO would not open
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
