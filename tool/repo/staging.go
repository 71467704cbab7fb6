package repo

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
)

// staging compares the index before and after the line.
type staging struct {
	before, after map[string]indexed
	tree, treeNow map[string]indexed // HEAD has them before and after.
	ids           map[string]bool    // The changed entries of after hold them.
	kinds         map[string]string
	committed     map[string]bool // New commits hold the files with these keys.
	intended      map[string]bool // These paths are only to be added later.
}

// judgeIndex judges the entries of the index that changed.
func (j *judge) judgeIndex(ctx context.Context) error {
	v := j.v
	if !v.sorted.index {
		return nil
	}
	if !names.Exists(filepath.Join(v.dir, indexAfter)) {
		j.e.Loss = append(j.e.Loss, Row{Kind: StagedLost, Object: "index", Text: "the index is removed", Left: true})
		return nil
	}
	s := staging{ids: map[string]bool{}, committed: map[string]bool{}, intended: map[string]bool{}}
	var err error
	if s.before, err = v.listIndex(ctx, indexBefore); err != nil {
		return err
	}
	if s.after, err = v.listIndex(ctx, indexAfter); err != nil {
		if !exited(err) || ctx.Err() != nil {
			return err
		}
		j.e.Forbidden = append(j.e.Forbidden, Row{Kind: BadEntry, Object: "index", Text: "git cannot read the index", Left: true})
		return nil
	}
	j.index = s
	changed := map[string]bool{}
	for path, now := range s.after {
		if s.before[path] != now && j.w.Hidden(path) { // On the layer it was marked, and in the project it stays as it was.
			now.flags = indexFlags(s.before[path])
			s.after[path] = now
		}
		if s.before[path] != now {
			changed[path] = true
			for line := range strings.Lines(now.entries) {
				s.ids[strings.Fields(line)[1]] = true
			}
		}
	}
	for path := range s.before {
		if _, there := s.after[path]; !there {
			changed[path] = true
		}
	}
	for path := range changed {
		if j.w.Hidden(path) {
			j.hidden[path] = true
		}
	}
	if len(changed) == 0 {
		return nil // Only the index's stamps of the files changed.
	}
	if err := j.askStaging(ctx, &s, changed); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		if err := j.staged(ctx, s, path); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.ids)) {
		if s.kinds[id] == "blob" {
			j.p.objects = append(j.p.objects, id)
		}
	}
	return nil
}

// askStaging asks git for the trees of HEAD and for the entries' objects.
func (j *judge) askStaging(ctx context.Context, s *staging, names map[string]bool) (err error) {
	r := j.v.refs
	before, now := commitOf(r.head, r.before), commitOf(r.headNow, r.after)
	if s.tree, err = j.v.tree(ctx, before, names); err != nil {
		return err
	}
	s.treeNow = s.tree
	if now != before {
		if s.treeNow, err = j.v.tree(ctx, now, names); err != nil {
			return err
		}
	}
	if s.kinds, err = j.v.kinds(ctx, slices.Sorted(maps.Keys(s.ids))); err != nil {
		return err
	}
	for _, c := range j.order {
		for _, f := range c.files {
			s.committed[f.key()] = true
		}
	}
	return j.askIntended(ctx, s, names, now)
}

// askIntended finds the paths that are only to be added later (git add -N): their
// entries look like those of empty files.
func (j *judge) askIntended(ctx context.Context, s *staging, names map[string]bool, now string) error {
	empty := j.v.format.blob(nil)
	for path := range names {
		if _, id, _ := s.after[path].plain(); id == empty && s.after[path].entries != s.treeNow[path].entries {
			s.intended[path] = true
		}
	}
	if len(s.intended) == 0 {
		return nil
	}
	if now == "" {
		now = j.v.format.emptyTree()
	}
	g := j.v.git.With("GIT_INDEX_FILE=" + filepath.Join(j.v.dir, indexAfter))
	status := "" // It belongs to the path that comes next.
	return g.Run(ctx, nil, 0, func(piece string) error {
		switch {
		case status == "":
			status = piece
			return nil
		case status != "D": // The path is staged.
			delete(s.intended, piece)
		}
		status = ""
		return nil
	}, "diff-index", "--cached", "--ita-invisible-in-index", "--no-renames", "--name-status", "-z", now)
}

// staged judges one path of the index.
func (j *judge) staged(ctx context.Context, s staging, path string) error {
	was, now := s.before[path], s.after[path]
	if !j.takes(s, path, now) {
		j.e.Forbidden = append(j.e.Forbidden, Row{Kind: BadEntry, Object: path, Left: true,
			Text: "staged: " + path + " cannot be staged by git"})
		return nil
	}
	if s.intended[path] {
		j.p.intended = append(j.p.intended, path)
		now = indexed{}
	}
	j.p.index = append(j.p.index, entryChange{path, was, now})
	if s.intended[path] {
		j.e.Bookkeeping = append(j.e.Bookkeeping, Row{Kind: Staged, Object: path, Text: "to be added later: " + path})
	}
	if indexFlags(was) != indexFlags(now) {
		look := "no more"
		if indexFlags(now) == "H" {
			look = "again"
		}
		j.e.Guarded = append(j.e.Guarded, Row{Kind: IndexFlag, Object: path, Text: path + ": git is to look " + look + " at this file"})
	}
	if was.entries == now.entries {
		return nil
	}
	mode, id, plain := now.plain()
	if plain && j.w.Guarded(path) {
		j.guarded, j.owners = append(j.guarded, file{mode, id, path}), append(j.owners, "the index")
	}
	lost, err := j.stagedLost(ctx, s, path)
	if err != nil {
		return err
	}
	if lost {
		j.e.Loss = append(j.e.Loss, Row{Kind: StagedLost, Object: path, Text: "staged content is lost: " + path})
	}
	row := Row{Kind: Staged, Object: path, Text: "staged: " + path}
	if now.entries == s.treeNow[path].entries { // Nothing is staged here now.
		_, wasID, _ := was.plain()
		done := s.committed[file{id: wasID, path: path}.key()] || s.committed[file{id: id, path: path}.key()]
		if was.entries != s.tree[path].entries && !done && !lost {
			row.Text = "no longer staged or in conflict: " + path
			j.e.Content = append(j.e.Content, row)
		}
		return nil
	}
	as := false
	switch {
	case now.entries == "":
		row.Text = "staged, deleted: " + path
		if as, err = j.asInWorkTree(ctx, file{mode: deleted, path: path}); err != nil {
			return err
		}
	case plain:
		if as, err = j.holds(ctx, mode, id, path); err != nil {
			return err
		}
		known := was.entries != "" || s.tree[path].entries != ""
		if !known {
			row.Text = "staged, new: " + path
		}
		switch {
		case !known && j.w.Ignored(path):
			row.Text, as = row.Text+" (ignored)", false
		case !as:
			row.Text += " (differs from the file)"
		}
	default:
		row.Text = "in conflict: " + path
	}
	if as && indexFlags(now) == indexFlags(was) && !lost {
		j.e.Bookkeeping = append(j.e.Bookkeeping, row)
	} else {
		j.e.Content = append(j.e.Content, row)
	}
	return nil
}

// takes reports whether git would take the entries of a path.
func (j *judge) takes(s staging, path string, now indexed) bool {
	if !validPath(path) {
		return false
	}
	for line := range strings.Lines(now.entries) {
		fields := strings.Fields(line)
		switch kind := s.kinds[fields[1]]; {
		case fields[0] == "160000": // It is a commit of another repository.
		case kind != "blob" && (kind != "" || !j.v.promises()):
			return false
		}
	}
	return true
}

// stagedLost reports whether content that was staged at a path is nowhere any more: not
// in HEAD, a new commit, the index or the work tree.
func (j *judge) stagedLost(ctx context.Context, s staging, path string) (bool, error) {
	mode, id, plain := s.before[path].plain()
	if !plain || mode == "160000" || s.ids[id] || s.committed[file{id: id, path: path}.key()] {
		return false, nil
	}
	for _, tree := range []map[string]indexed{s.tree, s.treeNow} {
		if _, held, _ := tree[path].plain(); held == id {
			return false, nil
		}
	}
	if j.w.Open == nil {
		return false, nil
	}
	file, err := j.stored(ctx, path)
	return !slices.Contains(file.ids, id), err
}

// indexFlags are an entry's flags; a path that is not in the index has those of most.
func indexFlags(i indexed) string {
	if i.flags == "" {
		return "H"
	}
	return i.flags
}
