package tool

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

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

// elsewhereTimeout is how long the name of a missing file is looked for in other
// directories.
const elsewhereTimeout = time.Second

// elsewhere is the only file of the project that has the name of a missing one, as
// a path that tools take; "" for none, for several, and where the project is too
// large to tell soon.
func elsewhere(ctx context.Context, env *Env, t target) string {
	ctx, cancel := context.WithTimeout(ctx, elsewhereTimeout)
	defer cancel()
	base := filepath.Base(t.Abs)
	l, err := list(ctx, env.Files, env.Files.Root(), func(_ *os.File, e fs.DirEntry, _ string) (int64, bool) {
		return 0, e.Name() == base
	})
	if err != nil || l.more {
		return ""
	}
	only := ""
	for _, file := range l.files {
		place, err := env.Files.Resolve(filepath.Join(env.Files.Root(), filepath.FromSlash(file.name)), false)
		if err != nil || place.Outside || place.Denied {
			continue
		}
		if only != "" {
			return ""
		}
		only = printable(place.Display)
	}
	return only
}

// missingFile is missing with the one file of that name elsewhere.
func missingFile(ctx context.Context, env *Env, t target, hint string) error {
	if at := elsewhere(ctx, env, t); at != "" {
		hint = "the only file of that name is " + at
	}
	return env.Files.missing(t, hint)
}

// FoldName brings names together that some file system takes for one: letters of either
// case, characters that are compatible by Unicode's NFKC, and those that are ignored.
func FoldName(name string) string {
	if !strings.ContainsFunc(name, func(c rune) bool { return c >= unicode.MaxASCII || 'A' <= c && c <= 'Z' }) {
		return name // as most are
	}
	var b strings.Builder
	b.Grow(len(name))
	for _, c := range norm.NFKC.String(name) {
		switch {
		case 'A' <= c && c <= 'Z':
			b.WriteByte(byte(c + 'a' - 'A'))
		case c < unicode.MaxASCII:
			b.WriteByte(byte(c))
		case c == 'ß' || c == 'ẞ':
			b.WriteString("ss") // by full folding
		case !unicode.In(c, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			least := c
			for r := unicode.SimpleFold(c); r != c; r = unicode.SimpleFold(r) {
				least = min(least, r)
			}
			b.WriteRune(unicode.ToLower(least))
		}
	}
	return b.String()
}
