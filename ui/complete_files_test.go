package ui

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
)

// results are the texts Tab could lead to; the cursor stands at the bar.
func results(t *testing.T, a fileAccess, text string) []string {
	t.Helper()
	cursor := strings.IndexByte(text, '|')
	text = text[:cursor] + text[cursor+1:]
	c := a.complete(text, cursor, time.Hour)
	var got []string
	for _, k := range c.Candidates {
		got = append(got, text[:c.From]+k.Text+text[c.To:])
	}
	return got
}

// Files are completed where an @ word begins, as git sees them, and spaces are
// escaped.
func TestFileNamesAreCompleted(t *testing.T) {
	t.Parallel()
	a := reaching(t, map[string]string{
		".gitignore": "*.log\n", ".env": "", ".github/x.yml": "", "app.log": "", "apple/tree.go": "", "a b.txt": "",
		"internal/cart/week.go":      "",
		"internal/cart/week_test.go": "", `quo"te`: "", "internal/two words/x": "",
	})
	for text, want := range map[string][]string{
		"see @ap|":                  {"see @apple/", "see @app.log "},
		"@a|":                       {`@a\ b.txt `, "@apple/", "@app.log "},
		"@a| then":                  {`@a\ b.txt then`, "@apple/ then", "@app.log then"},
		`@a\ |`:                     {`@a\ b.txt `},
		`@"a |`:                     {`@"a b.txt" `},
		`@"a |" x`:                  {`@"a b.txt" x`},
		"@internal/|":               {"@internal/cart/", `@internal/two\ words/`},
		`@"internal/t|`:             {`@"internal/two words/`},
		`@internal/two\ words/|`:    {`@internal/two\ words/x `},
		"(@./internal/cart/week_|)": {"(@./internal/cart/week_test.go )"},
		"@week.|":                   {"@internal/cart/week.go "},
		"@WEEK|":                    {"@internal/cart/week.go ", "@internal/cart/week_test.go "},
		"@.|":                       {"@.github/", "@.gitignore "},
		"@quo|":                     {`@quo\"te `},
		"@..|":                      {"@../"},
		"@~/app|":                   {"@~/apple/", "@~/app.log "},
		"@nothing|":                 nil,
		"@../|":                     nil,
		"@/etc/|":                   nil,
		"@missing/x|":               nil,
		"app|":                      nil,
		"me@ap|":                    nil,
		`\@ap|`:                     nil,
		`@"apple/"|`:                nil,
		"@apple/ |":                 nil,
	} {
		if diff := cmp.Diff(want, results(t, a, text)); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
	if got := results(t, a, "@|"); len(got) != 5 {
		t.Errorf("@: %q", got)
	}
	if got := results(t, a, "@"+a.env.Dir+"/app|"); len(got) != 2 || got[0] != "@"+a.env.Dir+"/apple/" {
		t.Errorf("an absolute path: %q", got)
	}
	if c := a.complete("@app.l", 6, time.Hour); c.Candidates[0].Help != "ignored" {
		t.Errorf("%+v", c)
	}
	if got := results(t, fileAccess{env: &tool.Env{}}, "@a|"); got != nil {
		t.Errorf("without files: %q", got)
	}
}

// Names start in the working directory, and reach the directories above it within
// the project.
func TestFileNamesFromBelow(t *testing.T) {
	t.Parallel()
	a := reaching(t, map[string]string{"go.mod": "", "cmd/main.go": ""})
	a.env.Dir = filepath.Join(a.env.Dir, "cmd")
	for text, want := range map[string][]string{"@m|": {"@main.go "}, "@../g|": {"@../go.mod "}, "@go|": {"@main.go "},
		"@mod|": nil, "@../../|": nil} {
		if diff := cmp.Diff(want, results(t, a, text)); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

// When the time is over, the names found by then are proposed.
func TestFileNamesEndInTime(t *testing.T) {
	t.Parallel()
	a := reaching(t, map[string]string{"a.go": ""})
	if c := a.complete("@a.go", 5, 1); len(c.Candidates) > 1 {
		t.Errorf("%+v", c)
	}
}
