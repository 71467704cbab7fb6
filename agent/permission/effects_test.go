package permission

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// However many paths a group has, directories stand for all of them in a few rows.
func TestManyNamesAreSummedUpByDirectory(t *testing.T) {
	var deep []string
	for i := range 12_000 {
		deep = append(deep, fmt.Sprintf("a%d/b%d/c%d/x", i%3, i%7, i))
	}
	for _, c := range []struct {
		group Group
		want  []string
	}{
		{Group{"deleted", []string{"a", "b/"}, []string{"a", "b/"}}, []string{"deleted: a", "deleted: b/"}},
		{Group{"guarded", []string{"a", "b", "c", "d"}, nil}, []string{"guarded: a", "guarded: b", "guarded: c", "guarded: d"}},
		{Group{"deleted", []string{"a", "b/", "c/d", "c/e/"}, []string{"a", "b/", "c/d", "c/e/"}},
			[]string{"deleted: ./ (2 paths)", "deleted: c/ (2 paths)"}},
		{entries("link", []Entry{{"x/a", "→ /etc"}, {"x/b → y/c", "→ z"}, {"x/y/d", "→ e"}, {"x/y/f", "→ g"}}),
			[]string{"link: x/ (1 path)", "link: x/b → y/ (1 path)", "link: x/y/ (2 paths)"}},
		{Group{"deleted", deep, deep}, []string{"deleted: a0/ (4000 paths)", "deleted: a1/ (4000 paths)", "deleted: a2/ (4000 paths)"}},
		{Group{"deleted", []string{"/a/b", "/c/d", "/e/f", "/g"}, []string{"/a/b", "/c/d", "/e/f", "/g"}}, []string{"deleted: / (4 paths)"}},
	} {
		if got := c.group.ByDirectory(3); !slices.Equal(got, c.want) {
			t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
