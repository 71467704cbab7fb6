package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"artoo/config"
)

// TestConfigurationDoc compares the reference of settings with the tables.
func TestConfigurationDoc(t *testing.T) {
	madeFromTables(t, "configuration.md", configurationDoc(t))
}

// madeFromTables compares a page of docs with want, which is made from the tables;
// -update rewrites the page.
func madeFromTables(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(moduleDir, "docs", name)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("go test ./ui/cli -update rewrites it:\n%s", diff)
	}
}

// TestThePermissionsPageIsShort bounds the words that a user has to read before the
// first approval: signs between words do not count.
func TestThePermissionsPageIsShort(t *testing.T) {
	words := slices.DeleteFunc(strings.Fields(docsPage(t, "permissions.md")), func(word string) bool {
		return !strings.ContainsFunc(word, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
	})
	if len(words) > 900 {
		t.Errorf("docs/permissions.md has %d words, more than 900", len(words))
	}
}

// stumbling are words that readers stumble over.
var stumbling = regexp.MustCompile(`(?i)\b(mend(s|ed)?|anew|but\s+for|whoever|nobody\s+is\s+there|(is|are)\s+told|outside\s+of)\b`)

// TestEachWordOfHelpLeadsToAHeading looks for the heading that each word of `artoo help WORD` stands for.
func TestEachWordOfHelpLeadsToAHeading(t *testing.T) {
	l := commandLine{newApp(&session{process: Process{Docs: os.DirFS(moduleDir)}})}
	var headings []string
	for _, s := range l.sections() {
		headings = append(headings, s.page+"#"+s.title)
	}
	for word, heading := range wordsOf() {
		if !slices.Contains(headings, heading) {
			t.Errorf("artoo help %s: no page has the heading %s", word, heading)
		}
	}
}

// TestPlainWords keeps words that readers stumble over out of pages and help.
func TestPlainWords(t *testing.T) {
	texts := map[string]string{"help": output(t, "--help"), "help environment": output(t, "help environment"), "manual": manPage()}
	for _, path := range pages(t) {
		texts[path] = pageText(t, path)
	}
	for name, text := range texts {
		for _, found := range stumbling.FindAllString(text, -1) {
			t.Errorf("%s says %q", name, found)
		}
	}
}

// TestPlainWordsInMessages keeps these words out of every string in the code, and so out of all
// texts for users and models.
func TestPlainWordsInMessages(t *testing.T) {
	texts := 0
	goFiles(t, func(name, path string) {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			texts++
			for _, found := range stumbling.FindAllString(lit.Value, -1) {
				t.Errorf("%s says %q", name, found)
			}
			return true
		})
	})
	if texts < 5000 {
		t.Errorf("found %d texts only: the search is wrong", texts)
	}
}

// docsPage is the text of a page of docs.
func docsPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(moduleDir, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestVariablesAreDocumented finds the variables that the code outside config asks
// the environment for by name: each must be in one of the tables, and so in
// `artoo help environment`, which is printed by both spellings and fits.
func TestVariablesAreDocumented(t *testing.T) {
	known := map[string]bool{}
	pages := [2]string{output(t, "help environment"), output(t, "--help environment")}
	if pages[0] != pages[1] {
		t.Error("help environment and --help environment differ")
	}
	for _, v := range config.ForeignVariables() {
		known[v.Name] = true
		if !strings.Contains(pages[0], "\n  "+v.Name) {
			t.Errorf("the help does not name %s", v.Name)
		}
	}
	for _, o := range config.Options() {
		known[o.Env] = true
	}
	for _, line := range strings.Split(pages[0], "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("%q has more than 80 columns", line)
		}
	}
	found := 0
	goFiles(t, func(name, path string) {
		if strings.HasPrefix(name, "config/") || strings.Contains(name, "testdata/") ||
			strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, variable := range variablesIn(t, path) {
			found++
			if !known[variable] {
				t.Errorf("%s reads %s, which is in no table", name, variable)
			}
		}
	})
	if found < 10 {
		t.Errorf("found %d variables only: the search is wrong", found)
	}
}

// TestTheHelpNamesTheSectionOfEachKey holds `artoo help environment` and the manual to it:
// a key outside its section is an error.
func TestTheHelpNamesTheSectionOfEachKey(t *testing.T) {
	heading := regexp.MustCompile(`(?m), \[([a-z]+)\]:?$`)
	for name, page := range map[string]string{"help": output(t, "help environment"), "manual": manPage()} {
		for _, o := range config.Options() {
			if o.NoFile {
				continue
			}
			at := regexp.MustCompile(`(?m)^(  |\\fB)` + o.Env + `\b`).FindStringIndex(page)
			if at == nil {
				t.Errorf("the %s does not name %s", name, o.Env)
				continue
			}
			headings := heading.FindAllStringSubmatch(page[:at[0]], -1)
			if len(headings) == 0 || headings[len(headings)-1][1] != o.Section {
				t.Errorf("the %s does not name the section of %s", name, o.Env)
			}
		}
	}
}

// variablesIn are the names in calls that ask the environment: of os.Getenv and
// os.LookupEnv, and of a func or field whose name says that it stands for one of
// them. The name may be written in the call, or come from a list of names that a
// loop goes through.
func variablesIn(t *testing.T, name string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	lists := map[string][]string{} // by the loop's variable
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if value, ok := n.Value.(*ast.Ident); ok {
				lists[value.Name] = textsIn(t, n.X)
			}
		case *ast.CallExpr:
			if len(n.Args) == 0 || !readsEnvironment(n.Fun) {
				return true
			}
			last := n.Args[len(n.Args)-1]
			if ident, ok := last.(*ast.Ident); ok {
				names = append(names, lists[ident.Name]...)
			}
			names = append(names, textsIn(t, last)...)
		}
		return true
	})
	return names
}

// textsIn are the strings that an expression is, or a list of them holds.
func textsIn(t *testing.T, e ast.Expr) []string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			if err != nil {
				t.Fatal(err)
			}
			return []string{text}
		}
	case *ast.CompositeLit:
		var all []string
		for _, element := range e.Elts {
			all = append(all, textsIn(t, element)...)
		}
		return all
	}
	return nil
}

func readsEnvironment(fun ast.Expr) bool {
	switch f := fun.(type) {
	case *ast.Ident:
		switch strings.ToLower(f.Name) {
		case "env", "getenv", "lookupenv", "lookup":
			return true
		}
	case *ast.SelectorExpr:
		switch f.Sel.Name {
		case "Getenv", "LookupEnv", "Env", "env":
			return true
		}
	}
	return false
}
