package permission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestSuggest has lines with what was said to them: y typed, n refused, - not asked.
func TestSuggest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		said [][2]string
		want []Suggestion
	}{
		"one line, however often": {[][2]string{{"y", "go vet ./a"}, {"y", "go vet ./a"}},
			[]Suggestion{{Rule: "bash(go vet ./a)", Questions: 2, Calls: []string{"go vet ./a"}}}},
		"two lines share their beginning": {
			[][2]string{{"y", "npm run lint"}, {"y", "npm run test"}, {"-", "npm run build"}, {"-", "npm ci"}},
			[]Suggestion{{Rule: "bash(npm run:*)", Questions: 2, Calls: []string{"npm run lint", "npm run test"},
				Also: []string{"npm run build"}, Remark: "whatever package.json says"}}},
		"a refused line keeps the wider rule away": {
			[][2]string{{"y", "npm run lint"}, {"y", "npm run test"}, {"n", "cd x && npm run deploy"}},
			[]Suggestion{{Rule: "bash(npm run lint)", Questions: 1, Calls: []string{"npm run lint"}},
				{Rule: "bash(npm run test)", Questions: 1, Calls: []string{"npm run test"}}}},
		"a line that was refused once": {[][2]string{{"y", "make all"}, {"n", "make all"}}, nil},
		"what throws work away gets no wider rule": {[][2]string{{"y", "rm -rf a"}, {"y", "rm -rf b"}},
			[]Suggestion{{Rule: "bash(rm -rf a)", Questions: 1, Calls: []string{"rm -rf a"}},
				{Rule: "bash(rm -rf b)", Questions: 1, Calls: []string{"rm -rf b"}}}},
		"an interpreter neither": {[][2]string{{"y", "python3 gen.py a"}, {"y", "python3 gen.py b"}},
			[]Suggestion{{Rule: "bash(python3 gen.py a)", Questions: 1, Calls: []string{"python3 gen.py a"}},
				{Rule: "bash(python3 gen.py b)", Questions: 1, Calls: []string{"python3 gen.py b"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &Policy{Mode: ModeAsk, Root: t.TempDir()}
			p.Dir = p.Root
			var said []Said
			for _, s := range test.said {
				said = append(said, Said{Tool: "bash", Object: s[1], Dir: p.Root, Narrow: "bash(" + s[1] + ")",
					Yes: s[0] == "y", No: s[0] == "n"})
			}
			got := p.Suggest(said)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Suggestion{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A call gets no rule where that would be for outside, for every page of a host, or for every call of a server.
func TestSuggestLeavesOut(t *testing.T) {
	t.Parallel()
	p := &Policy{Mode: ModeAsk, Root: t.TempDir()}
	p.Dir = p.Root
	for _, s := range []Said{
		{Tool: "bash", Object: "git push", Narrow: "bash!(git push)"},
		{Tool: "bash", Object: "make deploy"},
		{Tool: "web_fetch", Object: "https://go.dev/x", Narrow: "web_fetch(go.dev)"},
		{Tool: "mcp__db__drop", Object: "all", Narrow: "mcp__db__drop"},
	} {
		s.Yes, s.Dir = true, p.Root
		if got := p.Suggest([]Said{s}); len(got) > 0 {
			t.Errorf("%+v: %+v", s, got)
		}
	}
	edit := Said{Tool: "edit", Object: "a.go", Dir: p.Root, Narrow: "edit(a.go)", Yes: true}
	if got := p.Suggest([]Said{edit, edit}); len(got) != 1 || got[0].Rule != "edit(a.go)" || got[0].Questions != 2 {
		t.Errorf("%+v", got)
	}
	edit.Yes, edit.No = false, true
	yes := edit
	yes.Yes, yes.No = true, false
	if got := p.Suggest([]Said{yes, edit}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
