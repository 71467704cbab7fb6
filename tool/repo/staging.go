package repo

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"artoo/tool/names"
)

// staging compares the index before and after the line.
type staging struct {
	before, after map[string]indexed
	tree, treeNow map[string]indexed // HEAD has them before and after.
	kinds         map[string]string
	committed     map[string]bool // New commits have these paths.
}

// judgeIndex judges the entries of the index that changed.
func (j *judge) judgeIndex(ctx context.Context) {
	if j.v.sorted[index] == nil {
		return
	}
	before, after, changed, ok := j.v.compare(ctx, indexBefore, indexAfter)
	if !ok || !names.Exists(filepath.Join(j.v.dir, indexAfter)) {
		j.e.Forbidden = append(j.e.Forbidden, Row{Kind: BadEntry, Object: "index",
			Text: "the index is removed or damaged", Left: true})
		return
	}
	var paths, ids []string
	for _, path := range changed {
		now := after[path]
		// On the layer a hidden path was marked, and in the project it stays as it was.
		if hidden := j.w.Hidden(path); hidden && now.entries != "" {
			now.skip, now.assume = before[path].skip, before[path].assume
			after[path] = now
		}
		if before[path] == now {
			continue
		}
		paths, j.hidden[path] = append(paths, path), j.w.Hidden(path)
		for line := range strings.Lines(now.entries) {
			ids = append(ids, strings.Fields(line)[1])
		}
	}
	j.index = staging{before: before, after: after, committed: map[string]bool{}, kinds: j.v.kinds(ctx, ids)}
	if len(paths) == 0 {
		return // Only the index's stamps of the files changed.
	}
	was, now := commitOf(j.v.refs.head, j.v.refs.before), commitOf(j.v.refs.headNow, j.v.refs.after)
	j.index.tree = j.v.tree(ctx, was, paths)
	if j.index.treeNow = j.index.tree; was != now {
		j.index.treeNow = j.v.tree(ctx, now, paths)
	}
	for _, c := range j.order {
		for _, f := range c.files {
			j.index.committed[f.path] = true
		}
	}
	for _, path := range paths {
		j.staged(ctx, path)
	}
}

// staged judges one path of the index.
func (j *judge) staged(ctx context.Context, path string) {
	s := j.index
	was, now := s.before[path], s.after[path]
	if !j.takes(path, now) {
		j.e.Forbidden = append(j.e.Forbidden, Row{Kind: BadEntry, Object: path, Left: true,
			Text: "staged: " + path + " cannot be staged by git"})
		return
	}
	j.p.index = append(j.p.index, entryChange{path, now})
	j.touch(j.v.own("index"), j.v.own("index.lock")) // A killed artoo may leave the lock.
	if was.skip != now.skip || was.assume != now.assume {
		j.e.Guarded = append(j.e.Guarded, Row{Kind: IndexFlag, Object: path,
			Text: fmt.Sprintf("%s: skip-worktree %t, assume-unchanged %t: git looks at no file that has one", path,
				now.skip, now.assume)})
	}
	if was.entries == now.entries {
		return
	}
	mode, id, plain := now.plain()
	if plain && j.w.Guarded(path) {
		j.guarded, j.owners = append(j.guarded, file{mode, id, path}), append(j.owners, "the index")
	}
	_, _, wasPlain := was.plain()
	wasStaged := was.entries != s.tree[path].entries
	row, as := Row{Kind: Staged, Object: path, Text: "staged: " + path}, false
	switch {
	case now.entries == s.treeNow[path].entries: // Nothing is staged here now.
		if !wasStaged || s.committed[path] {
			return
		}
		row.Text = "no longer staged or in conflict: " + path
	case now.later:
		row.Text, as = "to be added later: "+path, true
	case now.entries == "":
		row.Text, as = "staged, deleted: "+path, j.holds(ctx, file{mode: deleted, path: path})
	case !plain:
		row.Text = "in conflict: " + path
	default:
		as = j.holds(ctx, file{mode, id, path})
		switch {
		case was.entries == "" && s.tree[path].entries == "" && j.w.Ignored(path):
			row.Text, as = row.Text+" (ignored)", false
		case !as:
			row.Text += " (differs from the file)"
		case wasStaged && wasPlain:
			row.Text, as = row.Text+" (in place of what was staged)", false
		}
	}
	if as && was.skip == now.skip && was.assume == now.assume {
		j.e.Bookkeeping = append(j.e.Bookkeeping, row)
	} else {
		j.e.Content = append(j.e.Content, row)
	}
}

// takes reports whether git would take the entries of a path, and plans to fetch their objects.
func (j *judge) takes(path string, now indexed) bool {
	takes := validPath(path)
	for line := range strings.Lines(now.entries) {
		fields := strings.Fields(line) // A mode of 160000 is for a commit of another repository.
		kind := j.index.kinds[fields[1]]
		takes = takes && (now.later || fields[0] == "160000" || kind == "blob" || kind == "missing" && j.v.promises())
		if kind == "blob" {
			j.p.objects = append(j.p.objects, fields[1])
		}
	}
	return takes
}
