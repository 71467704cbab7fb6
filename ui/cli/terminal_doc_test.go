package cli

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTerminalDoc keeps docs/terminal.md what the rows and their tests say. A
// row without a test, a test of a row that does not exist, and a test that does
// not say what turns it red are errors.
func TestTerminalDoc(t *testing.T) {
	sections := terminalRows(t)
	proofs := terminalProofs(t)
	path := filepath.Join(moduleDir, "docs", "terminal.md")
	want := terminalDoc(t, sections, proofs)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("go test ./ui/cli -update rewrites it:\n%s", diff)
	}
}

// terminalSection is a group of rows.
type terminalSection struct {
	title string
	rows  []terminalRow
}

type terminalRow struct{ id, text, note string }

// terminalRows reads the rows; the format stands at the file's head.
func terminalRows(t *testing.T) []terminalSection {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(moduleDir, "testdata", "terminal_rows.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var sections []terminalSection
	title := regexp.MustCompile(`^# [A-W] (.+)$`)
	row := regexp.MustCompile(`^([A-W][0-9]) (.+)$`)
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if m := title.FindStringSubmatch(line); m != nil {
			sections = append(sections, terminalSection{title: m[1]})
			continue
		}
		switch m := row.FindStringSubmatch(line); {
		case m != nil:
			last := &sections[len(sections)-1]
			last.rows = append(last.rows, terminalRow{id: m[1], text: m[2]})
		case strings.HasPrefix(line, "! "):
			rows := sections[len(sections)-1].rows
			rows[len(rows)-1].note = line[2:]
		case line != "" && !strings.HasPrefix(line, "#"):
			t.Fatalf("terminal_rows.txt: %q is no row", line)
		}
	}
	return sections
}

// terminalProof is a test of rows, and the change of the code that turns it red.
type terminalProof struct{ name, place, red string }

// proofName finds the rows a test's name begins with; those with Tmux need one.
var proofName = regexp.MustCompile(`^(?:Test(?:Tmux)?|Fuzz)?((?:[A-W][0-9]_)+)`)

// terminalProofs finds the tests of each row: Go's, those for tmux included,
// and scripts.
func terminalProofs(t *testing.T) map[string][]terminalProof {
	t.Helper()
	proofs := map[string][]terminalProof{}
	add := func(rows string, p terminalProof) {
		for id := range strings.SplitSeq(strings.Trim(rows, "_"), "_") {
			proofs[id] = append(proofs[id], p)
		}
		if p.red == "" {
			t.Errorf("%s: %s does not say what turns it red", p.place, p.name)
		}
	}
	testFuncs(t, func(file string, f *ast.FuncDecl) {
		if m := proofName.FindStringSubmatch(f.Name.Name); m != nil {
			add(m[1], terminalProof{f.Name.Name, filepath.ToSlash(filepath.Dir(file)), redLine(f.Doc.Text())})
		}
	})
	scripts, err := filepath.Glob(filepath.Join(moduleDir, "testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		base := filepath.Base(name)
		if m := proofName.FindStringSubmatch(base); m != nil {
			add(m[1], terminalProof{"script " + strings.TrimSuffix(base, ".txtar"), filepath.ToSlash(name), scriptRed(t, name)})
		}
	}
	return proofs
}

// testFuncs calls visit with all tests of the module, those with build tags
// included.
func testFuncs(t *testing.T, visit func(file string, f *ast.FuncDecl)) {
	t.Helper()
	goFiles(t, func(name, path string) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				visit(name, f)
			}
		}
	})
}

// redLine is what follows "Red:" in a comment, to the next empty line.
func redLine(comment string) string {
	_, rest, found := strings.Cut("\n"+comment, "\nRed:")
	if !found {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "\n\n")
	return strings.Join(strings.Fields(rest), " ")
}

// scriptRed is the same for the comments of a script.
func scriptRed(t *testing.T, name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var comment strings.Builder
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "#"); ok {
			comment.WriteString(strings.TrimPrefix(text, " "))
			continue
		}
		comment.WriteString("\n")
	}
	return redLine(comment.String())
}

func terminalDoc(t *testing.T, sections []terminalSection, proofs map[string][]terminalProof) []byte {
	var b bytes.Buffer
	b.WriteString(terminalHead)
	known := map[string]bool{}
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n", s.title)
		for _, r := range s.rows {
			known[r.id] = true
			fmt.Fprintf(&b, "\n**%s** %s\n", r.id, r.text)
			if r.note != "" {
				fmt.Fprintf(&b, "*%s*\n", r.note)
			}
			of := proofs[r.id]
			if len(of) == 0 {
				t.Errorf("%s has no test", r.id)
			}
			slices.SortFunc(of, func(a, b terminalProof) int { return strings.Compare(a.place+a.name, b.place+b.name) })
			b.WriteString("\n")
			for _, p := range of {
				fmt.Fprintf(&b, "- `%s` (%s): %s\n", p.name, p.place, p.red)
			}
		}
	}
	for id, of := range proofs {
		if !known[id] {
			t.Errorf("%s is tested by %s and is no row", id, of[0].name)
		}
	}
	return b.Bytes()
}

const terminalHead = `<!-- Made by TestTerminalDoc from testdata/terminal_rows.txt and the tests; go test ./ui/cli -update rewrites it. -->

# The terminal, row by row

What artoo promises of the terminal. Each row names the tests that hold it and, for each, the one change of the code that
was seen to turn it red. Tests run with ` + "`make test`" + `; those whose name begins with TestTmux with ` + "`make test-tmux`" + `.
Lines in italics say where artoo differs from the convention, and why.
`
