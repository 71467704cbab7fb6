package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"artoo/tool/environ"
	"artoo/tool/git"
	"artoo/tool/project"
	"artoo/tool/text"
)

// Describe explains changes of the data of repositories in the project at root, as git sees them: refs from
// where to where, with the subjects of their commits, and the paths whose place in the index changes.
// before opens the old content of a file, and is nil if nothing has been done yet: then the files hold it
// themselves. after opens the new content of a file. Git gets vars. No program that the repository
// names runs.
func Describe(ctx context.Context, vars environ.Vars, root string, changes []Change,
	before, after func(path string) (io.ReadCloser, error)) (rows []string) {
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
		v := newView(Repository{WorkTree: filepath.Dir(path), GitDir: path, Common: path, Own: vars, Environ: vars},
			repositories[dir], after)
		v.was = before
		err := v.load(ctx, "")
		var found []string
		if err == nil {
			found, err = v.describe(ctx)
		}
		if err = errors.Join(err, v.Close()); err != nil || len(found) == 0 {
			found = []string{fmt.Sprintf("%d of git's own files", len(repositories[dir]))}
		}
		for _, row := range found {
			if name, ok := below(root, path); !ok || name != ".git" {
				row = name + ": " + row
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// describe describes the changes of refs, the index and objects.
func (v *View) describe(ctx context.Context) (rows []string, err error) {
	r := v.refs
	r.before["HEAD"], r.after["HEAD"] = r.head, r.headNow
	for _, name := range v.sorted.messages {
		if before, after, err := v.message(name); err == nil && namesCommits(name) {
			r.before[name], r.after[name] = v.refValue(before), v.refValue(after)
		}
	}
	var names []string
	tips := map[string]bool{}
	for _, name := range keysOf(r.before, r.after) {
		if from, to := r.before[name], r.after[name]; from != to {
			names = append(names, name)
			tips[from], tips[to] = true, true
		}
	}
	subjects, err := v.subjects(ctx, tips)
	if err != nil {
		return nil, err
	}
	shown := func(value string) string {
		if branch, ok := strings.CutPrefix(value, "ref: "); ok {
			return strings.TrimPrefix(branch, "refs/heads/")
		}
		return strings.TrimSpace(short(value) + " " + subjects[value])
	}
	for _, name := range names {
		switch from, to := r.before[name], r.after[name]; {
		case from == "":
			rows = append(rows, name+": new, "+shown(to))
		case to == "":
			rows = append(rows, name+": deleted, was "+shown(from))
		default:
			rows = append(rows, name+": "+shown(from)+" → "+shown(to))
		}
	}
	rows = append(rows, v.describeIndex(ctx)...)
	n := 0
	for path, c := range v.changed {
		if name, _ := below(v.r.GitDir, path); c.Gone && strings.HasPrefix(name, "objects/") {
			n++
		}
	}
	if n > 0 {
		rows = append(rows, fmt.Sprintf("files of the object store that go: %d", n))
	}
	return rows, nil
}

// subjects are the first lines of the messages of commits and tags.
func (v *View) subjects(ctx context.Context, tips map[string]bool) (map[string]string, error) {
	maps.DeleteFunc(tips, func(tip string, _ bool) bool { return !v.format.isID(tip) })
	kinds, err := v.kinds(ctx, slices.Sorted(maps.Keys(tips)))
	maps.DeleteFunc(kinds, func(_, kind string) bool { return kind != "commit" && kind != "tag" })
	if err != nil || len(kinds) == 0 {
		return nil, err
	}
	var out strings.Builder
	err = v.git.Run(ctx, lines(slices.Sorted(maps.Keys(kinds))), '\n', func(line string) error {
		out.WriteString(line + "\n")
		return nil
	}, "cat-file", "--batch")
	said := map[string]string{}
	for all := out.String(); all != ""; {
		head, rest, _ := strings.Cut(all, "\n")
		fields := strings.Fields(head) // id, type, size
		size, sizeErr := strconv.Atoi(fields[len(fields)-1])
		if sizeErr != nil || size >= len(rest) {
			break
		}
		_, message, _ := strings.Cut(rest[:size], "\n\n")
		line, _, _ := strings.Cut(message, "\n")
		said[fields[0]], all = text.Clip(strings.TrimSpace(line), 60), rest[size+1:]
	}
	return said, err
}

// describeIndex names the paths whose entries in the index change.
func (v *View) describeIndex(ctx context.Context) (rows []string) {
	switch {
	case !v.sorted.index:
		return nil
	case v.isGone(filepath.Join(v.r.GitDir, "index")):
		return []string{"the index: deleted"}
	}
	before, err := v.listIndex(ctx, indexBefore)
	after, errAfter := v.listIndex(ctx, indexAfter)
	if errors.Join(err, errAfter) != nil {
		return []string{"the index changes"}
	}
	for _, name := range keysOf(before, after) {
		was, there := before[name]
		switch is, stays := after[name]; {
		case !stays:
			rows = append(rows, "gone from the index: "+name)
		case !there:
			rows = append(rows, "staged, new: "+name)
		case was.entries != is.entries:
			rows = append(rows, "staged: "+name)
		}
	}
	return rows
}
