package tool

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/spelling"
)

// missing is the error for a path where nothing is, with the nearest names. hint
// says what else may help, "" for nothing.
func (f *Files) missing(t target, hint string) error {
	dir, name := t, ""
	for {
		up, err := f.resolve(filepath.Dir(dir.Abs), false)
		if err != nil || up.refused() != nil || up.Abs == dir.Abs {
			return t.errorf(nil, "does not exist%s", also(hint))
		}
		name, dir = filepath.Base(dir.Abs), up
		if _, err := dir.stat(); err == nil {
			break
		}
	}
	what := "does not exist"
	if dir.Abs != filepath.Dir(t.Abs) {
		what = fmt.Sprintf("does not exist: there is no %s in %s", name, dir.Display)
	}
	entries, _, err := dir.readDir(maxEntriesRead)
	if err != nil {
		return t.errorf(nil, "%s%s", what, also(hint))
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
		if e.IsDir() {
			names[i] += "/"
		}
	}
	near := nearest(name, names)
	for i := range near {
		near[i] = filepath.ToSlash(filepath.Join(dir.Display, near[i]))
	}
	if len(near) > 0 {
		what += "; near it: " + strings.Join(near, ", ")
	}
	return t.errorf(nil, "%s%s", what, also(hint))
}

func also(hint string) string {
	if hint == "" {
		return ""
	}
	return "; " + hint
}

// nearNames is how many names are suggested at most.
const nearNames = 4

// nearest returns the names most like name, best first; directories end in a
// slash. A name of another kind of file with the same stem is near too.
func nearest(name string, names []string) []string {
	type scored struct {
		name string
		off  int
	}
	var near []scored
	folded := FoldName(name)
	stem := strings.TrimSuffix(folded, filepath.Ext(folded))
	limit := max(2, len([]rune(folded))/3)
	for _, n := range names {
		other := FoldName(strings.TrimSuffix(n, "/"))
		off := spelling.Distance(folded, other, limit)
		if off > limit {
			switch {
			case stem != "" && stem == strings.TrimSuffix(other, filepath.Ext(other)):
			case len(stem) >= 3 && strings.Contains(other, stem):
			default:
				continue
			}
			off = limit
		}
		near = append(near, scored{n, off})
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.name, b.name))
	})
	near = near[:min(len(near), nearNames)]
	best := make([]string, len(near))
	for i, s := range near {
		best[i] = s.name
	}
	return best
}
