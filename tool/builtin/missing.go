package builtin

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/names"
	"artoo/tool/search"
	"artoo/tool/spelling"
	"artoo/tool/text"
)

// missing is the error for a path where nothing is, with the nearest names and a hint.
func missing(f *files.Files, t files.Place, hint string) error {
	if hint != "" {
		hint = "; " + hint
	}
	dir, name := t, ""
	for {
		up, err := f.Resolve(filepath.Dir(dir.Abs), false)
		if err != nil || up.Refused() != nil || up.Abs == dir.Abs {
			return t.Errorf(nil, "does not exist%s", hint)
		}
		name, dir = filepath.Base(dir.Abs), up
		if _, err := dir.Stat(); err == nil {
			break
		}
	}
	what := "does not exist"
	if dir.Abs != filepath.Dir(t.Abs) {
		what = fmt.Sprintf("does not exist: there is no %s in %s", name, dir.Display)
	}
	entries, _, err := dir.ReadDir(search.MaxEntriesRead)
	if err != nil {
		return t.Errorf(nil, "%s%s", what, hint)
	}
	var names []string
	for _, e := range entries {
		switch {
		case f.HidesName(filepath.Join(dir.Abs, e.Name())):
		case e.IsDir():
			names = append(names, e.Name()+"/")
		default:
			names = append(names, e.Name())
		}
	}
	near := nearest(name, names)
	for i := range near {
		near[i] = filepath.ToSlash(filepath.Join(dir.Display, near[i]))
	}
	if len(near) > 0 {
		what += "; near it: " + strings.Join(near, ", ")
	}
	return t.Errorf(nil, "%s%s", what, hint)
}

// hiddenNote counts the files that an answer leaves out since they are hidden, "" for none.
func hiddenNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("(%s left out)\n", text.Counted(n, "hidden file is", "hidden files are"))
}

// nearNames is how many names are suggested at most.
const nearNames = 4

// nearest returns the names most like name, best first; directories end in a slash.
func nearest(name string, others []string) []string {
	folded := names.Fold(name)
	stem := strings.TrimSuffix(folded, filepath.Ext(folded))
	limit := max(2, len([]rune(folded))/3)
	off := map[string]int{}
	for _, n := range others {
		other := names.Fold(strings.TrimSuffix(n, "/"))
		switch distance := spelling.Distance(folded, other, limit); {
		case distance <= limit:
			off[n] = distance
		case stem != "" && stem == strings.TrimSuffix(other, filepath.Ext(other)),
			len(stem) >= 3 && strings.Contains(other, stem):
			off[n] = limit
		}
	}
	near := slices.SortedFunc(maps.Keys(off), func(a, b string) int { return cmp.Or(off[a]-off[b], cmp.Compare(a, b)) })
	return near[:min(len(near), nearNames)]
}

// elsewhereTimeout bounds the search for a missing file in other directories.
const elsewhereTimeout = time.Second

// elsewhere is the only file of the project with the name of a missing one, for tools; "" where there
// is not one, or the project is too large to search soon.
func elsewhere(ctx context.Context, env *tool.Env, t files.Place) string {
	ctx, cancel := context.WithTimeout(ctx, elsewhereTimeout)
	defer cancel()
	base := filepath.Base(t.Abs)
	l, err := search.List(ctx, env.Files, env.Files.Root(), func(_ *os.File, e fs.DirEntry, _ string) (int64, bool) {
		return 0, e.Name() == base
	})
	if err != nil || l.More {
		return ""
	}
	only := ""
	for _, file := range l.Files {
		place, err := env.Files.Resolve(filepath.Join(env.Files.Root(), filepath.FromSlash(file.Name)), false)
		if err != nil || place.Outside || place.Denied {
			continue
		}
		if only != "" {
			return ""
		}
		only = text.Printable(place.Display)
	}
	return only
}

// missingFile is missing with the one file of that name elsewhere.
func missingFile(ctx context.Context, env *tool.Env, t files.Place, hint string) error {
	if at := elsewhere(ctx, env, t); at != "" {
		hint = "the only file with that name is " + at
	}
	return missing(env.Files, t, hint)
}
