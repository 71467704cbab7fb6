package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Entry is a path, and what became of it.
type Entry struct{ Path, Detail string }

// String is path and detail in words.
func (e Entry) String() string { return e.Path + " " + e.Detail }

// Group is the effects of one kind.
type Group struct {
	Label string
	Names []string
	// Paths are those of the names, where directories with counts may stand for them; nil
	// where each name has to be seen.
	Paths []string
}

// Rows are the names of a group, one a row.
func (g Group) Rows() []string {
	return each(g.Names, func(name string) string { return g.Label + ": " + name })
}

// ByDirectory are the directories of a group, one a row, with how many paths each stands
// for: no more rows than most, which is 1 at least. A group without paths has its Rows.
func (g Group) ByDirectory(most int) []string {
	if g.Paths == nil || len(g.Names) <= most {
		return g.Rows()
	}
	depth := 0
	for _, p := range g.Paths {
		depth = max(depth, strings.Count(p, "/"))
	}
	for ; ; depth-- {
		var dirs []string
		counts := map[string]int{}
		for _, p := range g.Paths {
			dir := directoryOf(p, depth)
			if counts[dir]++; counts[dir] == 1 {
				dirs = append(dirs, dir)
			}
		}
		if len(dirs) <= most || depth <= 0 {
			slices.Sort(dirs)
			return each(dirs, func(dir string) string {
				row := fmt.Sprintf("%s: %s (%d paths)", g.Label, dir, counts[dir])
				if counts[dir] == 1 {
					row = fmt.Sprintf("%s: %s (1 path)", g.Label, dir)
				}
				return row
			})
		}
	}
}

// directoryOf is the directory of a path, or the one above it at that depth.
func directoryOf(p string, depth int) string {
	parts := strings.Split(path.Dir(path.Clean(p)), "/")
	if parts[0] == "." || depth <= 0 {
		if path.IsAbs(p) {
			return "/"
		}
		return "./"
	}
	return strings.Join(parts[:min(depth, len(parts))], "/") + "/"
}

// Matters are the effects that a question shows last and never cuts, the strictest first.
func (e Effects) Matters() []Group {
	return named(
		Group{"runs automatically", e.Guarded, nil}, Group{"cannot be undone", e.Lost, nil},
		Group{"uncommitted work", e.Uncommitted, e.Uncommitted}, Group{"deleted", e.Deleted, e.Deleted},
		entries("link", e.Links), Group{"executable now", e.Executables, e.Executables},
		entries("permissions", e.Modes), Group{"never applied", e.Never, nil})
}

// Others are the other effects, except build output, which is only counted.
func (e Effects) Others() []Group {
	return named(Group{"git", e.Git, nil}, Group{"modified", e.Modified, e.Modified},
		Group{"created", e.Created, e.Created}, Group{"new directory", e.Directories, e.Directories})
}

func named(groups ...Group) []Group {
	return slices.DeleteFunc(groups, func(g Group) bool { return len(g.Names) == 0 })
}

func entries(label string, list []Entry) Group {
	return Group{label, each(list, Entry.String), each(list, func(e Entry) string { return e.Path })}
}

// Whole names the effects that are never cut, one a row, the strictest first.
func (e Effects) Whole() []string { return rowsOf(e.Matters()) }

// Rest names the other effects, one a row.
func (e Effects) Rest() []string {
	rows := rowsOf(e.Others())
	if len(e.Output) > 0 {
		rows = append(rows, fmt.Sprintf("build output: %d entries", len(e.Output)))
	}
	return rows
}

func rowsOf(groups []Group) (rows []string) {
	for _, g := range groups {
		rows = append(rows, g.Rows()...)
	}
	return rows
}

// worst names the first effect of the class that decides.
func (e Effects) worst(class Class) string {
	list, what := slices.Concat(e.Git, e.Modified, e.Created, e.Deleted, each(e.Links, Entry.String),
		each(e.Modes, Entry.String), e.Directories), "it changes "
	switch class {
	case Guarded:
		list, what = e.Guarded, "it writes "
	case Loss:
		list, what = slices.Concat(e.Lost, e.Never), "it takes away for good "
	case Uncommitted:
		list, what = e.Uncommitted, "it takes away uncommitted work: "
	}
	if len(list) == 0 {
		return ""
	}
	return what + list[0]
}

// Summary counts the effects in words, such as "files: 2 modified, 1 deleted".
func (e Effects) Summary() string {
	var parts, all []string
	for _, row := range []struct {
		n    int
		what string
	}{
		{len(e.Created), "created"}, {len(e.Modified), "modified"}, {len(e.Deleted), "deleted"}, {len(e.Links), "linked"},
		{len(e.Modes), "with other permissions"}, {len(e.Directories), "new directories"},
	} {
		if row.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", row.n, row.what))
		}
	}
	if len(parts) > 0 {
		all = append(all, "files: "+strings.Join(parts, ", "))
	}
	if len(e.Git) > 0 {
		all = append(all, fmt.Sprintf("git: %d changed", len(e.Git)))
	}
	if len(e.Output) > 0 {
		all = append(all, fmt.Sprintf("build output: %d entries", len(e.Output)))
	}
	if len(all) == 0 {
		return "nothing that can be applied"
	}
	return strings.Join(all, "; ")
}
