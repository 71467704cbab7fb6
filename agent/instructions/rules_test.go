package instructions_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent/instructions"
)

// withRules has the Markdown files of a directory of rules below the project's root as its rules.
func withRules(t *testing.T, p instructions.Places, dir string) instructions.Places {
	t.Helper()
	var rules []instructions.Rule
	paths, err := filepath.Glob(filepath.Join(p.Root, dir, "*.md"))
	must(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must(t, err)
		rules = append(rules, instructions.NewRule(path, p.Root, data))
	}
	p.Rules = &instructions.Rules{List: rules}
	return p
}

// A rule is sent when a file is touched that one of its globs matches, once, without its front matter.
func TestARuleIsForTheFilesOfItsGlobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule    string
		touched string
		// want is what becomes of it as the file is touched, "" for nothing.
		want string
	}{
		"a list": {"---\npaths:\n  - \"docs/**\"\n  - src/api/**/*.ts\n---\nText.", "src/api/v1/x.ts",
			"used: Text."},
		"a list in one line":       {`---` + "\n" + `paths: ["*.go", "*.md"]` + "\n---\nText.", "x.go", "used: Text."},
		"a text":                   {"---\npaths: src/**/*.ts\n---\nText.", "src/x.ts", "used: Text."},
		"a text with commas":       {"---\npaths: docs/**, src/*.{ts,tsx}\n---\nText.", "src/x.tsx", "used: Text."},
		"a glob that YAML refuses": {"---\npaths: **/*.ts\n---\nText.", "src/x.ts", "used: Text."},
		"braces that it refuses":   {"---\npaths: {src,lib}/**/*.ts, t/**\n---\nText.", "lib/a/x.ts", "used: Text."},
		"from here":                {"---\npaths: ./src/**\n---\nText.", "src/x.ts", "used: Text."},
		"in the root only":         {"---\npaths: '*.md'\n---\nText.", "docs/x.md", ""},
		"another file":             {"---\npaths: src/**\n---\nText.", "srcs/x.ts", ""},
		"the project itself":       {"---\npaths: '**/*'\n---\nText.", ".", ""},
		"only spaces":              {"---\npaths: src/**\n---\n\n", "src/x.ts", "empty"},
		"an import":                {"---\npaths: src/**\n---\n@../../a.md x", "src/x.ts", "used: @../../a.md x"},
		"not a glob":               {"---\npaths: 'src/[a'\n---\nText.", "src/x.ts", ""},
	} {
		p := tree(t, map[string]string{"p/.claude/rules/r.md": c.rule, "p/a.md": "imported"})
		p = withRules(t, p, ".claude/rules")
		n := instructions.NewNested(p, instructions.Read(p))
		var want []string
		if c.want != "" {
			want = []string{".claude/rules/r.md " + c.want}
		}
		if name == "an import" {
			want = append(want, "a.md used: imported")
		}
		touched := filepath.Join(p.Root, c.touched)
		if diff := cmp.Diff(want, lines(n.Touch(touched))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if again := n.Touch(touched); again != nil {
			t.Errorf("%s: again %v", name, lines(again))
		}
	}
}

// At the beginning a rule for all files is read, and the others are listed with what they wait for.
func TestRulesAtTheBeginning(t *testing.T) {
	t.Parallel()
	p := withRules(t, tree(t, map[string]string{"p/AGENTS.md": "Root. @.artoo/rules/d.md",
		"p/.artoo/rules/a.md": "---\ndescription: x\n---\nAlways.",
		"p/.artoo/rules/b.md": "---\npaths: src/**, *.go\n---\nSometimes.",
		"p/.artoo/rules/c.md": "---\npaths: '[x'\n---\nNever.",
		"p/.artoo/rules/d.md": "---\npaths: x/**\n---\nImported.",
		"p/.artoo/rules/e.md": "---\npaths: {a: b}\n---\nTable."}), ".artoo/rules")
	list := instructions.Read(p)
	want := []string{"AGENTS.md used: Root. @.artoo/rules/d.md", ".artoo/rules/d.md used: Imported.",
		".artoo/rules/a.md used: Always.", ".artoo/rules/b.md waiting",
		".artoo/rules/c.md malformed", ".artoo/rules/e.md malformed"}
	if diff := cmp.Diff(want, lines(list)); diff != "" {
		t.Fatal(diff)
	}
	said := map[int]string{3: "not used yet: it is for src/**, *.go", 4: `not used: "[x" in paths is not a glob`,
		5: "not used: paths is a table"}
	for i, want := range said {
		if list[i].Said != want || list[i].Wrong() != (i > 3) {
			t.Errorf("%s: %s", list[i].Name, list[i].Said)
		}
	}
	found := instructions.NewNested(p, list).Touch(filepath.Join(p.Root, "x.go"))
	if len(found) != 1 || found[0].Said != "used, 10 bytes; for src/**, *.go, which x.go matches" {
		t.Errorf("%+v", found)
	}
	if p.Rules = nil; len(instructions.Read(p)) != 2 {
		t.Errorf("without trust: %v", lines(instructions.Read(p)))
	}
}
