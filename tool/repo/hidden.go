package repo

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Version is what git makes of a tracked file that the line could not see.
type Version struct {
	Stays bool        // The project's file stays.
	File  string      // It holds the new content, until Close; "" removes the file.
	Mode  fs.FileMode // of the new content
}

// judgeHidden judges what git did to tracked files that the line could not see. The versions that it brings are those
// of its store; commits and index entries are as a merge computes them, or the project's. Else nothing of the line may
// land.
func (j *judge) judgeHidden(ctx context.Context) {
	for _, c := range j.order {
		for _, f := range c.files {
			j.hidden[f.path] = j.hidden[f.path] || j.w.Hidden(f.path)
		}
	}
	maps.DeleteFunc(j.hidden, func(_ string, hidden bool) bool { return !hidden })
	left := j.w.Left()
	if len(j.hidden)+len(left) == 0 {
		return
	}
	if j.index.before == nil { // The line left the index as it was.
		j.v.copy(indexBefore, j.v.own("index"), false)
		j.index.before, _ = j.v.listIndex(ctx, indexBefore)
		j.index.after = j.index.before
	}
	for _, name := range left {
		if j.index.before[name] != (indexed{}) || j.index.after[name] != (indexed{}) {
			j.hidden[name] = true
		}
	}
	paths := slices.Sorted(maps.Keys(j.hidden))
	h := hiddenJudge{judge: j, left: left, known: j.v.history(ctx, paths...),
		now: commitOf(j.v.refs.headNow, j.v.refs.after)}
	h.tree, h.treeNow = j.v.tree(ctx, commitOf(j.v.refs.head, j.v.refs.before), paths), j.v.tree(ctx, h.now, paths)
	for _, path := range paths {
		if why := h.path(ctx, path); why != "" {
			j.p.stops = true
			j.e.Forbidden = append(j.e.Forbidden, Row{Kind: Hidden, Object: path, Left: true, Stops: true,
				Text: path + ", which is hidden here: " + why})
		}
	}
}

// hiddenJudge judges paths.
type hiddenJudge struct {
	*judge
	left          []string
	now           string              // the commit of HEAD
	tree, treeNow map[string]indexed  // HEAD had them before, and has them.
	known         map[string][]change // what the commits before did at the paths
}

// path judges one path, and says why nothing may land.
func (h *hiddenJudge) path(ctx context.Context, path string) (why string) {
	before, after := h.index.before[path], h.index.after[path]
	for _, c := range h.order {
		for _, f := range c.files {
			if f.gone() {
				f.id = ""
			}
			if f.path == path && (f.id != idOf(before) || f.id == "" && before.entries != "") &&
				!h.computes(ctx, path, c.parents, f.id, c.by) {
				return "commit " + short(c.id) + " " + c.subject + " does not have the content that git would put there"
			}
		}
	}
	left := slices.Contains(h.left, path)
	var found stored // the file that the line left there
	if left {
		found = h.stored(ctx, path)
	}
	mode, to, plain := after.plain()
	moved := after.entries != before.entries
	switch {
	case !moved || after.entries == h.treeNow[path].entries:
	case !plain && after.entries != "":
		return "a merge is in conflict there; it can be made outside the sandbox"
	case plain && !slices.Contains(found.ids, to), !h.computes(ctx, path, h.merged(), to, ""):
		return "the index does not have the content that git would put there"
	}
	switch {
	case left && plain && slices.Contains(found.ids, to):
		if !moved {
			h.e.Hidden[path] = Version{Stays: true}
			return ""
		}
	case left && len(found.ids) > 0:
		if h.computes(ctx, path, nil, found.ids[0], "") {
			to, mode = found.ids[0], found.mode
		} else if !moved || !plain {
			return "" // The line's own file never lands.
		}
	case plain, !moved, before.entries == "", h.tree[path].entries != before.entries, h.resets():
		return "" // The change leaves the files alone.
	}
	return h.bring(ctx, path, idOf(before), to, mode)
}

// merged are HEAD's commit and those that a merge which goes on merges into it.
func (h *hiddenJudge) merged() []string {
	list := []string{h.now}
	for _, m := range h.p.messages {
		if m.name == "MERGE_HEAD" {
			list = append(list, m.commits()...)
		}
	}
	return list
}

// bring plans to give the project another version of a file, where it is as the index has it.
func (h *hiddenJudge) bring(ctx context.Context, path, before, to, mode string) (why string) {
	version := Version{Mode: 0o644}
	is := h.store(ctx, path, h.w.Project)
	same := func(id string) bool { return id == "" && is.none || slices.Contains(is.ids, id) }
	switch {
	case same(to):
		version.Stays = true
	case !same(before) || to != "" && !strings.HasPrefix(mode, "100"):
		return "conflict: the file differs from the index, and the line would replace it"
	case to != "":
		if mode == "100755" {
			version.Mode = 0o755
		}
		version.File = h.v.save(ctx, to)
	}
	h.e.Hidden[path] = version
	return ""
}

// resets reports whether a reset moved HEAD, which may leave the files alone.
func (h *hiddenJudge) resets() bool {
	added, grown := h.v.added("HEAD")
	return !grown || slices.ContainsFunc(strings.Split(string(added), "\n"), func(line string) bool {
		ids := strings.Fields(line)
		return strings.Contains(line, "\treset: ") && ids[0] != ids[1]
	})
}

// idOf is the id of an entry's content, "" for none.
func idOf(i indexed) string {
	_, id, _ := i.plain()
	return id
}

// computes reports whether git gives a path this content, "" for no file: a commit that a ref reached before the line
// has it there, or it comes of merging the other commits into the first, or, as in a rebase, a change of this author's.
func (h *hiddenJudge) computes(ctx context.Context, path string, commits []string, to, by string) bool {
	if to != "" && had(h.known[path], to) {
		return true
	}
	if len(commits) == 0 {
		return false
	}
	content := func(commit string) string { return idOf(h.v.tree(ctx, commit, []string{path})[path]) }
	var merges []change
	for _, c := range h.known[path] {
		if len(commits) == 1 && c.by == by {
			merges = append(merges, c)
		}
	}
	for _, commit := range commits[1:] {
		var bases []string
		h.v.ask(ctx, h.v.git, nil, '\n', func(base string) { bases = append(bases, base) }, "merge-base", "--all",
			commits[0], commit)
		for _, base := range bases {
			merges = append(merges, change{from: content(base), to: content(commit)})
		}
	}
	ours := content(commits[0])
	return slices.ContainsFunc(merges, func(c change) bool {
		id, ok := h.merge(ctx, ours, c)
		return ok && id == to
	})
}

// merge makes a change in content that may differ, as git does; ok is false in a conflict.
func (h *hiddenJudge) merge(ctx context.Context, ours string, c change) (id string, ok bool) {
	switch base, theirs := c.from, c.to; {
	case base == ours:
		return theirs, true
	case base == theirs || ours == theirs:
		return ours, true
	case base == "" || ours == "" || theirs == "":
		return "", false
	}
	var merged string // It has no NUL: git merges no such files.
	ok = h.v.ask(ctx, h.v.git, nil, 0, func(all string) { merged = all }, "merge-file", "-p", "-q",
		h.v.save(ctx, ours), h.v.save(ctx, c.from), h.v.save(ctx, c.to))
	return h.v.format.blob([]byte(merged)), ok
}

// save writes a blob to a file of the view.
func (v *View) save(ctx context.Context, id string) (path string) {
	var data []byte
	err := v.git.Pipe(ctx, nil, func(out io.Reader) (err error) {
		data, err = io.ReadAll(out)
		return err
	}, "cat-file", "blob", id)
	v.err = cmp.Or(v.err, err)
	v.write("blob-"+id, data)
	return filepath.Join(v.dir, "blob-"+id)
}
