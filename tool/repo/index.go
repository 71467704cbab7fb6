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

	"artoo/tool/environ"
	"artoo/tool/git"
	"artoo/tool/names"
)

// The names of indexes in the view.
const (
	indexBefore = "before.index"
	indexAfter  = "after.index"
	indexFrom   = "from.index" // MergeIndex compares it with the one after.
)

// copyIndexes puts both indexes into the view, where the line changed it.
func (v *View) copyIndexes() {
	if v.sorted[index] == nil || v.err != nil {
		return
	}
	v.before(v.own("index"))
	v.before(v.own("index.lock"))
	v.copy(indexBefore, v.own("index"), false)
	v.copy(indexAfter, v.own("index"), true)
	// A split index refers to others by a hash of their content.
	parts, err := fs.Glob(os.DirFS(v.r.GitDir), "sharedindex.*")
	v.err = errors.Join(v.err, err)
	for _, name := range append(parts, v.sorted[shared]...) {
		v.copy("git/"+name, v.own(name), true)
		v.copy("git/"+name, v.own(name), false)
	}
}

// indexed is the place of a path in an index. The zero value is none.
type indexed struct {
	entries      string // Each is "MODE ID STAGE"; a newline separates several.
	skip, assume bool   // Git takes the file for unchanged.
	later        bool   // The path is only to be added later (git add -N). The entry looks like that of an empty file.
}

// plain is the mode and id of an entry that is not in conflict.
func (i indexed) plain() (mode, id string, ok bool) {
	parts := strings.Fields(i.entries)
	if len(parts) != 3 || parts[2] != "0" {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// listIndex reads an index of the view. ok says that git could, or that there is none. Git writes S for skip-worktree,
// and a small letter for assume-unchanged.
func (v *View) listIndex(ctx context.Context, name string) (list map[string]indexed, ok bool) {
	list = map[string]indexed{}
	g := v.git.With("GIT_INDEX_FILE=" + filepath.Join(v.dir, name))
	return list, v.ask(ctx, g, nil, 0, func(piece string) {
		what, path, _ := strings.Cut(piece, "\t")
		flag, place, _ := strings.Cut(what, " ")
		list[path] = indexed{entries: strings.TrimPrefix(list[path].entries+"\n"+place, "\n"),
			skip: strings.EqualFold(flag, "S"), assume: flag == strings.ToLower(flag)}
	}, "ls-files", "-s", "-v", "-z")
}

// compare lists two indexes of the view, and the paths that differ.
func (v *View) compare(ctx context.Context, from, to string) (before, after map[string]indexed, changed []string,
	ok bool) {
	before, ok = v.listIndex(ctx, from)
	after, readable := v.listIndex(ctx, to)
	empty, later := v.format.blob(nil), map[string]bool{}
	for _, path := range keysOf(before, after) {
		if before[path] == after[path] {
			continue
		}
		changed = append(changed, path)
		if _, id, _ := after[path].plain(); id == empty {
			later[path] = true
		}
	}
	if len(later) > 0 {
		g := v.git.With("GIT_INDEX_FILE=" + filepath.Join(v.dir, to))
		v.run(ctx, g, nil, 0, func(path string) { delete(later, path) }, "diff-index", "--cached",
			"--ita-invisible-in-index", "--no-renames", "--name-only", "-z", v.format.emptyTree())
	}
	for path := range later {
		entry := after[path]
		entry.later = true
		after[path] = entry
	}
	return before, after, changed, ok && readable
}

// mostNamed is how many paths git is given as arguments.
const mostNamed = 200

// tree lists the files of a commit, nothing for "": those named at least.
func (v *View) tree(ctx context.Context, commit string, paths []string) map[string]indexed {
	list := map[string]indexed{}
	if commit == "" {
		return list
	}
	args := []string{"ls-tree", "-r", "-z", "--full-tree", commit, "--"}
	if len(paths) <= mostNamed {
		args = append(args, paths...)
	}
	v.run(ctx, v.git, nil, 0, func(piece string) {
		what, path, _ := strings.Cut(piece, "\t")
		mode, object, _ := strings.Cut(what, " ")
		_, id, _ := strings.Cut(object, " ")
		list[path] = indexed{entries: mode + " " + id + " 0"}
	}, args...)
	return list
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
func MergeIndex(ctx context.Context, gitDir string, own environ.Vars, vars []string,
	from, to, now []byte) (merged []byte, left []string, err error) {
	common, err := git.Common(gitDir)
	if err != nil {
		return nil, nil, err
	}
	v := newView(Repository{GitDir: gitDir, Common: common, Own: own, Environ: vars}, nil, nil)
	v.prepare(ctx, own.TempDir())
	defer func() { err = errors.Join(err, v.Close()) }()
	for name, data := range map[string][]byte{indexFrom: from, indexAfter: to, indexBefore: now} {
		if data != nil {
			v.write(name, data)
		}
	}
	was, shall, changed, ok := v.compare(ctx, indexFrom, indexAfter)
	is, readable := v.listIndex(ctx, indexBefore)
	next := maps.Clone(is)
	v.plan, v.r.WorkTree = &plan{}, filepath.Join(v.dir, "files")
	for _, path := range changed {
		wanted := shall[path]
		switch {
		case is[path] == wanted:
			continue
		case is[path] != was[path]:
			left = append(left, path)
			continue
		case wanted.later && !validPath(path):
			return nil, nil, fmt.Errorf("index: %q cannot be staged by git", path)
		case wanted.later: // Git says only of a file that it is to be added later.
			v.write("files/"+path, nil)
		}
		v.plan.index = append(v.plan.index, entryChange{path, wanted})
		wanted.later = false
		if next[path] = wanted; wanted == (indexed{}) {
			delete(next, path)
		}
	}
	if v.err == nil && (!ok || !readable) {
		v.err = errors.New("git cannot read the index")
	}
	if v.err != nil || len(v.plan.index) == 0 {
		return now, left, v.err
	}
	v.write("files/.kept", nil)
	v.changeIndex(ctx, filepath.Join(v.dir, indexBefore))
	// A path takes the place of those below it, which the user may have staged.
	if list, _ := v.listIndex(ctx, indexBefore); v.err == nil && !maps.Equal(list, next) {
		return nil, nil, ErrMoved
	}
	return v.read(filepath.Join(v.dir, indexBefore), false), left, v.err
}
