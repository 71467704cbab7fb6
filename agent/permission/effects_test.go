package permission

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"artoo/tool/sandbox"
)

func some(paths ...string) (list []Entry) {
	for _, path := range paths {
		list = append(list, Entry{Path: path})
	}
	return list
}

// However many paths a group has, directories stand for all of them in a few rows.
func TestManyNamesAreSummedUpByDirectory(t *testing.T) {
	t.Parallel()
	var deep []string
	for i := range 12_000 {
		deep = append(deep, fmt.Sprintf("a%d/b%d/c%d/x", i%3, i%7, i))
	}
	for _, c := range []struct {
		what    What
		entries []Entry
		want    []string
	}{
		{Deleted, some("a", "b/", "c/d", "c/e/"), []string{"deleted: ./ (2 paths)", "deleted: c/ (2 paths)"}},
		{Linked, []Entry{{"x/a", "→ /etc"}, {"x/b → y/c", "→ z"}, {"x/y/d", "→ e"}, {"x/y/f", "→ g"}},
			[]string{"linked: x/ (1 path)", "linked: x/b → y/ (1 path)", "linked: x/y/ (2 paths)"}},
		{Deleted, some(deep...), []string{"deleted: a0/ (4000 paths)", "deleted: a1/ (4000 paths)",
			"deleted: a2/ (4000 paths)"}},
		{Deleted, some("/a/b", "/c/d", "/e/f", "/g"), []string{"deleted: / (4 paths)"}},
	} {
		var got []string
		for _, e := range byDirectory(c.entries, 3) {
			got = append(got, fmt.Sprintf("%s: %s", c.what, e))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// In short more than sixty names are summed up, except where each has to be seen.
func TestRowsAreShort(t *testing.T) {
	t.Parallel()
	e := Effects{By: map[What][]Entry{Deleted: some("old"), RunsAutomatically: nil}}
	for i := range 70 {
		e.By[RunsAutomatically] = append(e.By[RunsAutomatically], Entry{fmt.Sprintf("a/%d", i), "(x)"})
	}
	if got := e.Short(); len(got) != 71 || got[70] != "deleted: old" {
		t.Errorf("%d rows, the last is %q", len(got), got[len(got)-1])
	}
	for i := range 70 {
		e.By[Created] = append(e.By[Created], Entry{Path: fmt.Sprintf("d/%d", i)})
	}
	if got := e.Short(); len(got) != 72 || got[71] != "created: d/ (70 paths)" {
		t.Errorf("%d rows, the last is %q", len(got), got[len(got)-1])
	}
	if got := e.Rows(false, Others()...); len(got) != 70 {
		t.Errorf("%d rows are not all", len(got))
	}
}

// Each effect has one row, a mode apart, and each change is counted once.
func TestEachEffectHasOneRow(t *testing.T) {
	t.Parallel()
	p := &Policy{Root: "/p", Mode: ModeAsk}
	change := func(path string, kind sandbox.Kind, now, before fs.FileMode) []sandbox.Change {
		return []sandbox.Change{judged(p.Root, path, kind, now, before)}
	}
	builds := func(paths []string) map[string]bool {
		ignored := map[string]bool{}
		for _, path := range paths {
			ignored[path] = strings.HasPrefix(path, "/p/dist")
		}
		return ignored
	}
	facts := Facts{Ignored: builds}
	link := change("hooks", sandbox.Created, fs.ModeSymlink|0o777, 0)
	link[0].Target = ".github/workflows"
	for _, row := range []struct {
		changes []sandbox.Change
		git     []GitRow
		rows    []string
		summary string
	}{
		{change(".npmrc", sandbox.Created, 0o644, 0), nil,
			[]string{"runs automatically: .npmrc (.npmrc, which a package manager or build runs or obeys)"},
			"files: 1 created"},
		{change(".npmrc", sandbox.Deleted, 0o644, 0o644), nil, []string{"deleted: .npmrc"}, "files: 1 deleted"},
		{link, nil, []string{"runs automatically: hooks → .github/workflows (a link: " +
			".github/workflows, which a build service runs or obeys)"}, "files: 1 linked"},
		{change("notes", sandbox.Deleted, 0o644, 0o644), nil, []string{"deleted: notes"}, "files: 1 deleted"},
		{append(change("d", sandbox.Deleted, fs.ModeDir|0o755, fs.ModeDir|0o755), change("d/a", sandbox.Deleted, 0o644,
			0o644)...), nil, []string{"deleted: d/", "deleted: d/a"}, "files: 1 deleted, 1 directory deleted"},
		{change("a.txt", sandbox.Mode, 0o755, 0o644), nil, []string{"executable now: a.txt"},
			"files: 1 with new permissions"},
		{append(change("d", sandbox.Created, fs.ModeDir|0o755, 0), change("e", sandbox.Created, fs.ModeDir|0o755,
			0)...), nil,
			[]string{"new directory: d/", "new directory: e/"}, "files: 2 new directories"},
		{change("d", sandbox.Created, fs.ModeDir|0o755, 0), nil, []string{"new directory: d/"},
			"files: 1 new directory"},
		{append(change("dist/a.o", sandbox.Deleted, 0o644, 0o644), change("dist/b.o", sandbox.Created, 0o644,
			0)...), nil,
			[]string{"build output: 1 deleted, 1 created"}, "build output: 1 deleted, 1 created"},
		{append(change("dist/node_modules/x", sandbox.Created, 0o644, 0), change("x", sandbox.Created, 0o644,
			0)...), nil,
			[]string{"created: dist/node_modules/x", "created: x"}, "files: 2 created (1 ignored by git)"},
		{nil, []GitRow{{Class: Guarded, Text: "configuration: a.b = c"}, {Class: Loss,
			Text: "refs/heads/x: deleted, was 1"},
			{Class: Content, Text: "refs/heads/main: commit 2 x"}},
			[]string{"git itself: configuration: a.b = c", "lost from git: refs/heads/x: deleted, was 1",
				"git: refs/heads/main: commit 2 x"},
			"git: 3 changed"},
	} {
		facts.Git = row.git
		j := p.Judge(t.Context(), Decision{Builds: true}, row.changes, facts)
		if got := j.Effects.Short(); !slices.Equal(got, row.rows) || j.Effects.Summary() != row.summary {
			t.Errorf("got %q, %q\nwant %q, %q", got, j.Effects.Summary(), row.rows, row.summary)
		}
	}
}

// Reasons of one kind name their common part once.
func TestReasonsOfOneKindAreSaidOnce(t *testing.T) {
	t.Parallel()
	d := Decision{Reasons: []Reason{{Code: Outside, Object: "it needs the network"}, {Code: Outside,
		Object: "it pushes"},
		{Code: Outside, Object: "it needs the network"}}}
	if got := d.Reason(); got != "runs outside the sandbox (network, keys, home): it needs the network; it pushes" {
		t.Error(got)
	}
}
