package permission

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Whole names the effects that are never cut, one a row, what matters most first:
// files that others run, new programs and permissions, links, and all that is
// deleted.
func (e Effects) Whole() []string {
	return slices.Concat(labelled("others run it", e.OthersRun), labelled("executable now", e.Executables),
		labelled("permissions", e.Modes), labelled("link", e.Links), labelled("deleted", e.Deleted),
		labelled("never applied", e.Never))
}

// Rest names the other effects, one a row.
func (e Effects) Rest() []string {
	return slices.Concat(labelled("git", e.Git), labelled("modified", e.Modified), labelled("created", e.Created),
		labelled("new directory", e.Directories))
}

func labelled(what string, names []string) []string {
	return each(names, func(name string) string { return what + ": " + name })
}

// Summary counts the effects in words, such as "files: 2 modified, 1 deleted".
func (e Effects) Summary() string {
	var parts []string
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
	text := "nothing that can be applied"
	if len(parts) > 0 {
		text = "files: " + strings.Join(parts, ", ")
	}
	switch {
	case len(e.Git) == 0:
		return text
	case len(parts) == 0:
		return "git: " + strconv.Itoa(len(e.Git)) + " changed"
	}
	return text + "; git: " + strconv.Itoa(len(e.Git)) + " changed"
}
