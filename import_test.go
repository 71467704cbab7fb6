package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowed says which packages of artoo a package may import, tests included. The
// first row that matches counts. docs/dev/architecture.md says what each package does.
var allowed = []struct {
	pkg     string
	imports []string
}{
	{"artoo", []string{"artoo/ui/cli"}},
	{"artoo/config", []string{"artoo/provider", "artoo/tool/atomicfile", "artoo/tool/extension", "artoo/tool/frontmatter",
		"artoo/tool/shell", "artoo/tool/spelling"}},
	{"artoo/config/bundle", []string{"artoo/tool/atomicfile", "artoo/tool/extension", "artoo/tool/git",
		"artoo/tool/skill"}},
	{"artoo/config/keyring", nil},
	{"artoo/config/trust", []string{"artoo/tool/atomicfile", "artoo/tool/extension"}},
	{"artoo/provider", nil},
	{"artoo/provider/redact", nil},
	{"artoo/provider/telemetry", nil},
	{"artoo/provider/telemetry/internal/otlp", []string{"artoo/provider/telemetry"}},
	{"artoo/provider/transport", []string{"artoo/provider/redact", "artoo/provider/telemetry"}},
	{"artoo/provider/registry", []string{"artoo/provider", "artoo/provider/*"}},
	{"artoo/provider/internal/*", []string{"artoo/provider", "artoo/provider/internal/*", "artoo/provider/redact"}},
	{"artoo/provider/cli", []string{"artoo/provider", "artoo/tool/shell"}},
	{"artoo/provider/*", []string{"artoo/provider", "artoo/provider/internal/*", "artoo/provider/providertest"}},
	{"artoo/tool", []string{"artoo/tool/*"}},
	// The list of the tools; it makes them of everything below.
	{"artoo/tool/builtin", []string{"artoo/tool", "artoo/tool/*"}},
	{"artoo/tool/files", []string{"artoo/tool/git"}},
	{"artoo/tool/git/gittest", []string{"artoo/tool/git"}},
	{"artoo/tool/search", []string{"artoo/tool/files", "artoo/tool/git"}},
	{"artoo/tool/project", []string{"artoo/tool/files", "artoo/tool/git"}},
	{"artoo/tool/edit", []string{"artoo/tool/files", "artoo/tool/git"}},
	{"artoo/tool/patch", []string{"artoo/tool/git"}},
	{"artoo/tool/changes", []string{"artoo/tool/git", "artoo/tool/project"}},
	{"artoo/tool/sandbox", []string{"artoo/tool/atomicfile", "artoo/tool/sandbox/launcher", "artoo/tool/tempdir"}},
	{"artoo/tool/journal", []string{"artoo/tool/sandbox"}},
	{"artoo/tool/lsp", []string{"artoo/tool/shell", "artoo/tool/lsp/lsptest"}},
	{"artoo/tool/mcp", []string{"artoo/tool/atomicfile", "artoo/tool/extension", "artoo/tool/schemas", "artoo/tool/shell", "artoo/tool/mcp/mcptest"}},
	{"artoo/tool/skill", []string{"artoo/tool/extension", "artoo/tool/files",
		"artoo/tool/frontmatter"}},
	{"artoo/tool/repo", []string{"artoo/tool/git", "artoo/tool/project"}},
	{"artoo/tool/proxy", []string{"artoo/tool/web"}},
	{"artoo/tool/web", []string{"artoo/tool/pdf", "artoo/tool/pdf/pdftest"}},
	{"artoo/tool/pdf", []string{"artoo/tool/pdf/pdftest"}},
	{"artoo/tool/registry", []string{"artoo/tool/proxy"}},
	{"artoo/tool/*", nil},
	{"artoo/conversation", []string{"artoo/provider"}},
	// A module of its own, of tests only: the whole loop, and a map, against a tokenizer.
	{"artoo/conversation/internal/tokenizer", []string{"artoo/agent", "artoo/conversation", "artoo/provider",
		"artoo/provider/openai", "artoo/provider/providertest", "artoo/tool", "artoo/tool/builtin", "artoo/tool/files"}},
	{"artoo/conversation/foreign", []string{"artoo/provider"}},
	{"artoo/agent/confine", []string{"artoo/agent/permission", "artoo/tool", "artoo/tool/*"}},
	{"artoo/agent/ledger", []string{"artoo/provider"}},
	{"artoo/agent/permission/line", nil},
	{"artoo/agent/permission", []string{"artoo/agent/permission/line", "artoo/tool", "artoo/tool/files", "artoo/tool/project", "artoo/tool/proxy",
		"artoo/tool/sandbox", "artoo/tool/spelling", "artoo/tool/web"}},
	{"artoo/agent/instructions", []string{"artoo/tool/files", "artoo/tool/frontmatter"}},
	{"artoo/agent", []string{"artoo/provider", "artoo/conversation", "artoo/provider/telemetry", "artoo/tool", "artoo/tool/*",
		"artoo/agent/confine", "artoo/agent/instructions", "artoo/agent/ledger", "artoo/agent/permission"}},
	{"artoo/ui/cli", []string{"*"}},
	{"artoo/ui/doctor", []string{"artoo/agent/instructions", "artoo/provider", "artoo/tool/sandbox"}},
	{"artoo/ui/sanitize", nil},
	{"artoo/ui/export", []string{"artoo/conversation", "artoo/provider", "artoo/ui/sanitize"}},
	{"artoo/ui/screen", []string{"artoo/agent", "artoo/agent/permission", "artoo/conversation", "artoo/provider",
		"artoo/tool", "artoo/tool/mcp", "artoo/ui/sanitize"}},
	// config: a setting and a choice of model are shown as they are, without a copy of their types.
	{"artoo/ui", []string{"artoo/agent", "artoo/agent/permission", "artoo/config", "artoo/conversation", "artoo/provider",
		"artoo/provider/redact",
		"artoo/tool", "artoo/tool/atomicfile", "artoo/tool/builtin", "artoo/tool/changes",
		"artoo/tool/edit", "artoo/tool/extension", "artoo/tool/files", "artoo/tool/journal", "artoo/tool/mcp",
		"artoo/tool/project", "artoo/tool/repo", "artoo/tool/search", "artoo/tool/shell", "artoo/tool/skill",
		"artoo/tool/spelling", "artoo/ui/prompt", "artoo/ui/screen", "artoo/ui/sanitize", "artoo/ui/export", "artoo/ui/doctor"}},
	{"artoo/ui/prompt", []string{"artoo/provider/redact", "artoo/tool/atomicfile", "artoo/ui/sanitize"}},
	// result: the result of a call is the object that ends a headless run.
	{"artoo/ui/mcpserve", []string{"artoo/agent", "artoo/agent/permission", "artoo/provider", "artoo/tool", "artoo/tool/mcp", "artoo/ui/result", "artoo/ui/sanitize"}},
	// edit: a patch of the history is shown as the diffs that it says.
	{"artoo/ui/acp", []string{"artoo/agent", "artoo/agent/permission", "artoo/conversation", "artoo/provider", "artoo/tool", "artoo/tool/edit",
		"artoo/ui/sanitize"}},
	// changes: the findings of a review are reported as they are.
	{"artoo/ui/headless", []string{"artoo/agent", "artoo/agent/permission", "artoo/conversation", "artoo/provider",
		"artoo/tool", "artoo/tool/changes", "artoo/ui/result", "artoo/ui/sanitize", "artoo/ui/screen"}},
	{"artoo/ui/*", []string{"artoo/agent", "artoo/agent/permission", "artoo/conversation", "artoo/provider",
		"artoo/tool", "artoo/ui/result", "artoo/ui/sanitize", "artoo/ui/screen"}},
}

// wrapped are libraries that one package alone may import, since it corrects them.
var wrapped = map[string]string{"github.com/aymanbagabas/go-udiff": "artoo/tool/diff"}

// testDoubles may be imported by the tests of rooms above the provider.
var testDoubles = []string{"artoo/provider/fake", "artoo/provider/providertest", "artoo/tool/lsp/lsptest", "artoo/tool/mcp/mcptest",
	"artoo/tool/pdf/pdftest", "artoo/tool/builtin", "artoo/ui/prompt/prompttest"}

// testHelpers may be imported by any test, and by each other; what ships imports none of them.
var testHelpers = []string{"artoo/tool/needs", "artoo/tool/needs/pipes", "artoo/tool/needs/testlog", "artoo/tool/sweep",
	"artoo/tool/git/gittest"}

// shared are packages that any other may import. They import nothing of artoo.
var shared = []string{"artoo/tool/diff", "artoo/tool/environ", "artoo/tool/names", "artoo/tool/text"}

func TestImports(t *testing.T) {
	files, imports := 0, map[string][]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != ".") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(name, ".go") {
			files++
			pkg, imported := checkFile(t, name)
			imports[pkg] = append(imports[pkg], imported...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("looked at %d files only: the walk is wrong", files)
	}
	const most = 9
	if chain := longestChain("artoo", imports, map[string][]string{}); len(chain) > most {
		t.Errorf("a chain of %d packages, over %d: %s", len(chain), most, strings.Join(chain, ", "))
	}
}

// longestChain is the longest chain of packages that import each other, from pkg down, without those that any may import.
// known has those that were found.
func longestChain(pkg string, imports, known map[string][]string) []string {
	if chain, ok := known[pkg]; ok {
		return chain
	}
	var below []string
	for _, imported := range imports[pkg] {
		if slices.Contains(shared, imported) {
			continue
		}
		if chain := longestChain(imported, imports, known); len(chain) > len(below) {
			below = chain
		}
	}
	known[pkg] = append([]string{pkg}, below...)
	return known[pkg]
}

// moduleName is what go.mod calls the module: whoever publishes it may have given
// it another name.
func moduleName(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(data), "\n")
	name, ok := strings.CutPrefix(first, "module ")
	if !ok {
		t.Fatalf("go.mod begins with %q", first)
	}
	return name
}

// checkFile returns the file's package, and the packages that it imports; none for a test.
func checkFile(t *testing.T, name string) (pkg string, imports []string) {
	pkg = path.Join("artoo", filepath.ToSlash(filepath.Dir(name)))
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	test := strings.HasSuffix(name, "_test.go")
	module := moduleName(t)
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if rest, ok := strings.CutPrefix(imported, module); ok && (rest == "" || rest[0] == '/') {
			imported = "artoo" + rest // the name that the table has
		}
		if only := wrapped[imported]; only != "" && pkg != only {
			t.Errorf("%s: %s is for %s alone", name, imported, only)
		}
		if imported != "artoo" && !strings.HasPrefix(imported, "artoo/") || imported == pkg {
			continue
		}
		if !mayImport(pkg, imported, test) {
			t.Errorf("%s: %s may not import %s", name, pkg, imported)
		}
		if !test {
			imports = append(imports, imported)
		}
	}
	if file.Name.Name != "main" && !test {
		checkStreams(t, name, file)
		checkSurroundings(t, name, file)
	}
	if test && pkg != "artoo/tool/needs" {
		checkSkips(t, name, file)
	}
	return pkg, imports
}

func mayImport(pkg, imported string, test bool) bool {
	if slices.Contains(shared, imported) {
		return true
	}
	if slices.Contains(testHelpers, imported) {
		return test || slices.Contains(testHelpers, pkg) || slices.Contains(testDoubles, pkg) || strings.HasPrefix(pkg, "artoo/tool/needs/")
	}
	for _, row := range allowed {
		if !matches(row.pkg, pkg) {
			continue
		}
		for _, pattern := range row.imports {
			if matches(pattern, imported) {
				return true
			}
		}
		if test && (strings.HasPrefix(pkg, "artoo/agent") || strings.HasPrefix(pkg, "artoo/ui") ||
			strings.HasPrefix(pkg, "artoo/provider")) {
			for _, double := range testDoubles {
				if imported == double {
					return true
				}
			}
		}
		// The loopback server's own tests play it to the wires.
		return test && pkg == "artoo/provider/providertest" && strings.HasPrefix(imported, "artoo/provider/")
	}
	return false
}

func matches(pattern, pkg string) bool {
	if pattern == "*" {
		return true
	}
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(pkg, prefix)
	}
	return pattern == pkg
}

// checkSkips refuses skips that do not name what the machine lacks: package needs makes those that do.
func checkSkips(t *testing.T, name string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
			return true
		}
		if on, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "tb", "f"}, on.Name) {
			t.Errorf("%s: %s.%s leaves open what is lacking; try: package needs", name, on.Name, sel.Sel.Name)
		}
		return true
	})
}

// checkStreams refuses the process's own streams and exit outside main: they
// are passed in, so that every room can be tested and none can talk behind the
// terminal's back.
func checkStreams(t *testing.T, name string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		use := pkg.Name + "." + sel.Sel.Name
		switch {
		case use == "os.Stdin", use == "os.Stdout", use == "os.Stderr", use == "os.Exit",
			use == "fmt.Print", use == "fmt.Println", use == "fmt.Printf",
			pkg.Name == "log" && (strings.HasPrefix(sel.Sel.Name, "Fatal") || strings.HasPrefix(sel.Sel.Name, "Print")):
			t.Errorf("%s: %s is for a program's main alone", name, use)
		}
		return true
	})
}

// ofTheProcess read what a process has: its variables, its working directory, and by PATH its programs. main hands the
// first two to ui/cli, so that several runs fit into one process.
var ofTheProcess = []string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "os.Setenv", "os.Unsetenv", "os.Clearenv",
	"os.Getwd", "os.Chdir", "os.UserHomeDir", "os.UserCacheDir", "os.UserConfigDir", "os.TempDir", "filepath.Abs", "exec.LookPath",
	"http.ProxyFromEnvironment"}

// mayAskTheProcess are the files that use them all the same, or a relative name that means the same, each for a reason.
var mayAskTheProcess = map[string]string{
	"tool/environ/vars.go":        "without variables it is as os/exec, for tests; an absolute path needs none",
	"tool/sandbox/probe_linux.go": "it tries the sandbox of this process",
	"tool/git/gittest/gittest.go": "for tests",
	"tool/needs/needs.go":         "for tests",
	"tool/sweep/sweep.go":         "for tests",
	"tool/lsp/lsptest/server.go":  "is a process of its own",
	"tool/mcp/mcptest/server.go":  "is a process of its own",
	"ui/cli/workspace.go":         "looks at an absolute path",
}

// checkSurroundings refuses them outside main, and calls that ask for them by a word: temporary files in "", and a
// program without a path.
func checkSurroundings(t *testing.T, name string, file *ast.File) {
	if mayAskTheProcess[filepath.ToSlash(name)] != "" {
		return
	}
	words := map[string]int{"os.MkdirTemp": 0, "os.CreateTemp": 0, "exec.Command": 0, "exec.CommandContext": 1}
	nameOf := func(n ast.Node) string {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok {
				return pkg.Name + "." + sel.Sel.Name
			}
		}
		return ""
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if use := nameOf(n); slices.Contains(ofTheProcess, use) {
			t.Errorf("%s: %s is of the process: use what main hands to ui/cli", name, use)
		}
		if call, ok := n.(*ast.CallExpr); ok {
			at, asks := words[nameOf(call.Fun)]
			if !asks {
				return true
			}
			if word, ok := call.Args[at].(*ast.BasicLit); ok && !strings.Contains(word.Value, "/") {
				t.Errorf("%s: %s(%s) is of the process: use what main hands to ui/cli", name, nameOf(call.Fun), word.Value)
			}
		}
		return true
	})
}
