package agent

import (
	"cmp"
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
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool/git"
	"artoo/tool/names"
	"artoo/tool/repo"
	"artoo/tool/sandbox"
	"artoo/tool/text"
)

// gitReader reads what a line did to the repositories of a project.
type gitReader struct {
	gitEffects
	session *session
	changes confine.Changes
	byPath  map[string]sandbox.Change
	// before are hidden files of the project, by absolute paths; denied is nil until it was asked for.
	before map[string]sandbox.Before
	denied []string
}

// gitEffects looks at each repository that a line changed. A new repository has no view:
// its files are judged one by one. The caller closes what it gets, after an error too.
func (s *session) gitEffects(ctx context.Context, changes confine.Changes) (_ gitEffects, err error) {
	g := gitReader{session: s, changes: changes, byPath: map[string]sandbox.Change{}, before: map[string]sandbox.Before{},
		gitEffects: gitEffects{committed: map[string]committed{}, hidden: map[string]repo.Version{}}}
	byDir := map[string][]sandbox.Change{}
	for _, change := range changes.List() {
		g.byPath[change.Path] = change
		if dir := s.gitDirOf(change); dir != "" {
			byDir[dir] = append(byDir[dir], change)
		}
	}
	if len(byDir) == 0 {
		return g.gitEffects, nil
	}
	if g.temp, err = os.MkdirTemp(s.own().TempDir(), "artoo-git-"); err != nil {
		return g.gitEffects, err
	}
	for dir, list := range byDir {
		r := s.repository(dir)
		view, effects, err := g.open(ctx, r, list)
		switch {
		case errors.Is(err, repo.ErrNoRepository):
			continue
		case ctx.Err() != nil:
			return g.gitEffects, ctx.Err()
		case err != nil: // The line's other changes do not depend on it.
			g.rows = append(g.rows, permission.GitRow{Class: permission.Forbidden,
				Text: text.FirstLine(err.Error()), Object: "git's data"})
		default:
			g.views = append(g.views, view)
			if !view.Removed() {
				list = nil
			}
			g.note(r.WorkTree, effects, list)
			g.bring(r.WorkTree, effects.Hidden)
		}
		g.dirs = append(g.dirs, dir)
	}
	return g.gitEffects, nil
}

// repository is the one whose data a directory holds. It has no git directory where the project's has none.
func (s *session) repository(dir string) repo.Repository {
	r := repo.Repository{WorkTree: filepath.Dir(dir), GitDir: dir, Common: dir, Own: s.own(), Environ: s.opt.Env.Environ}
	if w := s.opt.Workspace; w != nil && w.Project.Common != "" && dir == w.Project.Common {
		r.WorkTree, r.GitDir = w.Project.Root, w.Project.GitDir()
	}
	if top := git.ModuleWorkTree(dir); top != "" {
		r.WorkTree = top
	}
	return r
}

// open opens a repository that is its work tree's own, and judges the changes of its data.
func (g *gitReader) open(ctx context.Context, r repo.Repository, list []sandbox.Change) (*repo.View, repo.Effects, error) {
	if r.GitDir == "" {
		return nil, repo.Effects{}, repo.ErrNoRepository
	}
	var admitted []string
	if w := g.session.opt.Workspace; w != nil {
		admitted = w.Project.GitDirs
	}
	_, _, err := git.Dirs(r.WorkTree, admitted...)
	if _, foreign := errors.AsType[*git.ForeignError](err); foreign {
		return nil, repo.Effects{}, err // git itself may find no repository, or read one that artoo does not see
	}
	view, err := repo.Open(ctx, r, g.temp, gitChanges(list), func(path string) (io.ReadCloser, error) { return g.changes.Open(path) })
	if err != nil {
		return nil, repo.Effects{}, err
	}
	effects, err := view.Effects(ctx, &lineTree{gitReader: g, ctx: ctx, top: r.WorkTree})
	return view, effects, err
}

// note adds the rows of a repository. Those of a removed one stand for its files.
func (g *gitReader) note(top string, effects repo.Effects, removed []sandbox.Change) {
	in := "" // the project's own repository needs no name
	if rel, err := filepath.Rel(g.session.opt.Policy.Root, top); err == nil && rel != "." {
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
func (g *gitReader) commit(top string, row repo.Row) {
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

// bring notes what git makes of hidden files in the work tree at top, with a row for each that it changes.
func (g *gitReader) bring(top string, found map[string]repo.Version) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		version, path := found[name], filepath.Join(top, filepath.FromSlash(name))
		if g.hidden[path] = version; version.Stays {
			continue
		}
		before := g.before[path]
		change := sandbox.Change{Path: path, Dir: top, Kind: sandbox.Modified, Mode: version.Mode, Before: before}
		class, does := permission.Content, "git would write another version of it"
		switch {
		case version.File == "":
			change.Kind, change.Mode, does = sandbox.Deleted, before.Mode, "git deletes it"
		case !before.Exists():
			change.Kind = sandbox.Created
		default: // A file for its owner alone stays so.
			change.Mode = before.Mode&^0o111 | version.Mode&0o111&(before.Mode>>2)
		}
		if info, err := os.Stat(version.File); err == nil {
			change.Size = info.Size()
		}
		if change.Kind != sandbox.Deleted && g.session.opt.Policy.IsGuarded(path) {
			class = permission.Guarded
		}
		changes, name := append(g.hiddenAbove(top, path), change), g.session.namesOf([]string{path})[0]
		g.rows = append(g.rows, permission.GitRow{Class: class,
			Text: name + ", which is hidden here: " + does, Object: name, Files: changes})
	}
}

// hiddenAbove makes the hidden directories above a hidden file that are missing.
func (g *gitReader) hiddenAbove(top, path string) (made []sandbox.Change) {
	for dir := filepath.Dir(path); dir != top && g.hides(dir); dir = filepath.Dir(dir) {
		if _, known := g.hidden[dir]; known {
			continue
		}
		g.hidden[dir] = repo.Version{Stays: true}
		if !names.Exists(dir) {
			g.hidden[dir] = repo.Version{Mode: fs.ModeDir}
			made = slices.Insert(made, 0, sandbox.Change{Path: dir, Dir: top, Kind: sandbox.Created, Mode: fs.ModeDir | 0o755})
		}
	}
	return made
}

func gitChanges(list []sandbox.Change) (changes []repo.Change) {
	for _, c := range list {
		changes = append(changes, repo.Change{Path: c.Path, Mode: c.Mode, Gone: c.Kind == sandbox.Deleted})
	}
	return changes
}

// gitDirOf is the git directory that a path lies in, "" for none.
func (s *session) gitDirOf(change sandbox.Change) string {
	path, at := change.Path, cmp.Or(change.Dir, s.opt.Policy.Root)
	if w := s.opt.Workspace; w != nil && w.Project.Common != "" && names.Within(w.Project.Common, path) {
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

// lineTree is a repository's work tree as it will be once the line's files have landed.
type lineTree struct {
	*gitReader
	ctx context.Context
	top string
	// ignored is nil until git was asked.
	ignored []string
}

func (l *lineTree) abs(name string) string { return filepath.Join(l.top, filepath.FromSlash(name)) }

// Open implements repo.WorkTree.
func (l *lineTree) Open(name string) (io.ReadCloser, fs.FileMode, error) {
	path := l.abs(name)
	if change, changed := l.byPath[path]; changed {
		switch {
		case change.Kind == sandbox.Deleted:
			return nil, 0, fs.ErrNotExist
		case change.Mode&fs.ModeSymlink != 0:
			return io.NopCloser(strings.NewReader(change.Target)), change.Mode, nil
		case change.Kind != sandbox.Mode && change.Mode.IsRegular():
			file, err := l.changes.Open(path)
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
}

// Guarded implements repo.WorkTree.
func (l *lineTree) Guarded(name string) bool { return l.session.opt.Policy.IsGuarded(l.abs(name)) }

// Ignored implements repo.WorkTree.
func (l *lineTree) Ignored(name string) bool {
	w := l.session.opt.Workspace
	if w == nil || l.top != w.Project.Root {
		return false
	}
	if l.ignored == nil {
		list, err := w.Project.Ignored(l.ctx, l.session.opt.Env.Environ)
		if l.ignored = append([]string{}, list...); err != nil {
			l.ignored = []string{""} // Unknown counts as ignored, so the user is asked.
		}
	}
	return slices.ContainsFunc(l.ignored, func(rule string) bool {
		return rule == "" || rule == name || strings.HasSuffix(rule, "/") && strings.HasPrefix(name, rule)
	})
}

// Hidden implements repo.WorkTree.
func (l *lineTree) Hidden(name string) bool { return l.hides(l.abs(name)) }

// hides reports whether commands cannot see an absolute path of the project, or could not if it were there.
func (g *gitReader) hides(path string) bool {
	files := g.session.opt.Env.Files
	if files == nil {
		return false
	}
	if g.denied == nil {
		list, err := g.session.opt.Policy.World.Denied()
		if g.denied = append([]string{}, list...); err != nil {
			g.denied = []string{g.session.opt.Policy.Root} // Each path may be one, so none lands.
		}
	}
	return files.Hides(path) || slices.ContainsFunc(g.denied, func(at string) bool { return names.Within(at, path) })
}

// Left implements repo.WorkTree.
func (l *lineTree) Left() (left []string) {
	files := l.session.opt.Env.Files
	for path, change := range l.byPath {
		hidden := change.Hidden || files != nil && files.HidesName(path)
		if name, err := filepath.Rel(l.top, path); hidden && err == nil && change.Kind != sandbox.Deleted && filepath.IsLocal(name) {
			left = append(left, filepath.ToSlash(name))
		}
	}
	return left
}

// Project implements repo.WorkTree. It notes what the hidden file is before the landing.
func (l *lineTree) Project(name string) (io.ReadCloser, fs.FileMode, error) {
	path := l.abs(name)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, 0, err
	}
	var st unix.Stat_t
	info, err := f.Stat()
	if err = cmp.Or(err, unix.Fstat(int(f.Fd()), &st)); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	l.before[path] = sandbox.Before{Mode: info.Mode(), Size: info.Size(), Inode: st.Ino, Changed: time.Unix(st.Ctim.Unix())}
	return f, info.Mode(), nil
}
