package repo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
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

// judgeHidden judges what git did to tracked files that the line could not see. The versions that it brings are those of
// its store; commits and index entries are as a merge computes them, or the project's. Else nothing of the line may land.
func (j *judge) judgeHidden(ctx context.Context) error {
	paths := j.hidden
	for _, c := range j.order {
		for _, f := range c.files {
			if j.w.Hidden(f.path) {
				paths[f.path] = true
			}
		}
	}
	if len(paths)+len(j.w.Left) == 0 {
		return nil
	}
	v := j.v
	if j.index.before == nil { // The line left the index as it was.
		if err := v.copyFile(ctx, indexBefore, filepath.Join(v.r.GitDir, "index"), v.openBefore); err != nil {
			return err
		}
		var err error
		if j.index.before, err = v.listIndex(ctx, indexBefore); err != nil {
			return err
		}
		j.index.after = j.index.before
	}
	for _, name := range j.w.Left {
		if j.index.before[name] != (indexed{}) || j.index.after[name] != (indexed{}) {
			paths[name] = true
		}
	}
	h := hiddenJudge{judge: j, known: map[string][]change{}, was: commitOf(v.refs.head, v.refs.before), now: commitOf(v.refs.headNow, v.refs.after)}
	var err error
	if h.tree, err = v.tree(ctx, h.was, paths); err != nil {
		return err
	}
	if h.treeNow, err = v.tree(ctx, h.now, paths); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		why, err := h.path(ctx, path)
		if err != nil {
			return err
		}
		if why != "" {
			j.p.stops = true
			j.e.Forbidden = append(j.e.Forbidden, Row{Kind: Hidden, Object: path, Left: true, Stops: true, Text: path + ", which is hidden here: " + why})
		}
	}
	return nil
}

// hiddenJudge judges paths. The commits are those of HEAD, before and now.
type hiddenJudge struct {
	*judge
	was, now      string
	tree, treeNow map[string]indexed
	known         map[string][]change
}

// change is one of a path's content: ids, "" for no file, and the author of the commit with the time.
type change struct{ from, to, by string }

// path judges one path, and says why nothing may land.
func (h *hiddenJudge) path(ctx context.Context, path string) (why string, err error) {
	before, after := h.index.before[path], h.index.after[path]
	for _, c := range h.order {
		for _, f := range c.files {
			if f.gone() {
				f.id = ""
			}
			if f.path != path || f.id == idOf(before) && (f.id != "" || before.entries == "") {
				continue
			}
			if ok, err := h.commits(ctx, path, c.id, f.id); err != nil || !ok {
				return "commit " + short(c.id) + " " + c.subject + " has other content there than git computes", err
			}
		}
	}
	left := slices.Contains(h.w.Left, path)
	var found stored // the file that the line left there
	if left {
		if found, err = h.stored(ctx, path); err != nil {
			return "", err
		}
	}
	mode, to, plain := after.plain()
	moved := after.entries != before.entries
	switch {
	case !moved || after.entries == h.treeNow[path].entries:
	case !plain && after.entries != "":
		return "a merge is in conflict there; it can be made outside the sandbox", nil
	default:
		ok := !plain || slices.Contains(found.ids, to)
		if ok {
			ok, err = h.computes(ctx, path, h.merged(), to, "")
		}
		if err != nil || !ok {
			return "the index has other content there than git computes", err
		}
	}
	switch {
	case left && plain && slices.Contains(found.ids, to):
		if !moved {
			h.e.Hidden[path] = Version{Stays: true}
			return "", nil
		}
	case left && len(found.ids) > 0:
		brought, err := h.computes(ctx, path, nil, found.ids[0], "")
		if brought {
			to, mode = found.ids[0], found.mode
		} else if err != nil || !moved || !plain {
			return "", err // The line's own file never lands.
		}
	case plain, before.entries == "", h.tree[path].entries != before.entries, h.treeNow[path].entries != "", h.resets():
		return "", nil // The change leaves the files alone.
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
func (h *hiddenJudge) bring(ctx context.Context, path, before, to, mode string) (why string, err error) {
	version := Version{Mode: 0o644}
	is, err := h.store(ctx, path, h.w.Project)
	if err != nil {
		return "", err
	}
	same := func(id string) bool { return id == "" && is.none || slices.Contains(is.ids, id) }
	switch {
	case same(to):
		version.Stays = true
	case !same(before) || to != "" && !strings.HasPrefix(mode, "100"):
		return "conflict: the file differs from the index, and the line brings another version of it", nil
	case to != "":
		if mode == "100755" {
			version.Mode = 0o755
		}
		if version.File, err = h.v.save(ctx, to); err != nil {
			return "", err
		}
	}
	h.e.Hidden[path] = version
	return "", nil
}

// resets reports whether the line reset HEAD, which may leave the files alone.
func (h *hiddenJudge) resets() bool {
	before, err := h.v.before(h.v.logPath("HEAD"))
	after, errAfter := h.v.after(h.v.logPath("HEAD"))
	added, grown := bytes.CutPrefix(after, before)
	return err != nil || errAfter != nil || !grown || bytes.Contains(added, []byte("\treset: "))
}

// idOf is the id of an entry's content, "" for none.
func idOf(i indexed) string {
	_, id, _ := i.plain()
	return id
}

// computes reports whether git gives a path this content, "" for no file: a commit that a ref reached before the line has it
// there, or it comes of merging the other commits into the first, or, as in a rebase, a change of this author's.
func (h *hiddenJudge) computes(ctx context.Context, path string, commits []string, to, by string) (bool, error) {
	known, err := h.changes(ctx, path)
	if err != nil || len(commits) == 0 && to == "" {
		return false, err
	}
	if to != "" && slices.ContainsFunc(known, func(c change) bool { return c.from == to || c.to == to }) {
		return true, nil
	}
	var contents []string
	for _, commit := range commits {
		tree, err := h.v.tree(ctx, commit, map[string]bool{path: true})
		if err != nil {
			return false, err
		}
		contents = append(contents, idOf(tree[path]))
	}
	var merges []change
	for _, c := range known {
		if len(commits) == 1 && c.by == by {
			merges = append(merges, c)
		}
	}
	for i := 1; i < len(commits); i++ {
		if _, err := answer(ctx, h.v.git.Run(ctx, nil, '\n', func(base string) error {
			tree, err := h.v.tree(ctx, base, map[string]bool{path: true})
			merges = append(merges, change{from: idOf(tree[path]), to: contents[i]})
			return err
		}, "merge-base", "--all", commits[0], commits[i])); err != nil {
			return false, err
		}
	}
	for _, c := range merges {
		if id, ok, err := h.merge(ctx, contents[0], c); err != nil || ok && id == to {
			return err == nil, err
		}
	}
	return false, nil
}

// changes finds the changes of a path in the commits that a ref reached before the line.
func (h *hiddenJudge) changes(ctx context.Context, path string) (list []change, err error) {
	if known, ok := h.known[path]; ok || len(h.v.refs.excluded) == 0 || strings.Contains(path, "\n") {
		return known, nil
	}
	var input []string
	for _, tip := range h.v.refs.excluded {
		input = append(input, strings.TrimPrefix(tip, "^"))
	}
	by := ""
	id := func(id string) string { return strings.Replace(id, h.v.format.none(), "", 1) }
	err = h.v.log(ctx, append(input, "--", path), func(line string) { by = line }, func(now file, was []string) error {
		for _, was := range was {
			list = append(list, change{id(was), id(now.id), by})
		}
		return nil
	}, "-m", "--full-history", "--format="+authored)
	h.known[path] = list
	return list, err
}

// authored is a format of git's that a rebase keeps.
const authored = "%an <%ae> %at"

// commits reports whether a new commit may have this content at a path.
func (h *hiddenJudge) commits(ctx context.Context, path, commit, to string) (ok bool, err error) {
	var parents []string
	by := ""
	if err := h.v.git.Run(ctx, nil, '\n', func(line string) error {
		var ids string
		ids, by, _ = strings.Cut(line, "\t")
		parents = strings.Fields(ids)
		return nil
	}, "show", "-s", "--format=%P%x09"+authored, commit); err != nil {
		return false, err
	}
	return h.computes(ctx, path, parents, to, by)
}

// merge makes a change in content that may differ, as git does; ok is false in a conflict.
func (h *hiddenJudge) merge(ctx context.Context, ours string, c change) (id string, ok bool, err error) {
	switch base, theirs := c.from, c.to; {
	case base == ours:
		return theirs, true, nil
	case base == theirs || ours == theirs:
		return ours, true, nil
	case base == "" || ours == "" || theirs == "":
		return "", false, nil
	}
	args := []string{"merge-file", "-p", "-q"}
	for _, id := range []string{ours, c.from, c.to} {
		file, err := h.v.save(ctx, id)
		if err != nil {
			return "", false, err
		}
		args = append(args, file)
	}
	var merged []byte
	ok, err = answer(ctx, h.v.git.Pipe(ctx, nil, func(out io.Reader) (err error) {
		merged, err = io.ReadAll(io.LimitReader(out, mostFile))
		return err
	}, args...))
	return h.v.format.blob(merged), ok, err
}

// save writes a blob to a file of the view.
func (v *View) save(ctx context.Context, id string) (path string, err error) {
	f, err := os.CreateTemp(v.dir, "blob-")
	if err != nil {
		return "", err
	}
	err = v.git.Pipe(ctx, nil, func(out io.Reader) error {
		_, err := io.Copy(f, out)
		return err
	}, "cat-file", "blob", id)
	return f.Name(), errors.Join(err, f.Close())
}
