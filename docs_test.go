package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/config"
	"artoo/ui/cli"
)

// TestConfigurationDoc keeps the reference of settings what the tables say.
func TestConfigurationDoc(t *testing.T) {
	madeFromTables(t, "configuration.md", cli.ConfigurationDoc(new(app).deps()))
}

// madeFromTables compares a page of docs with what the tables make of it; -update
// rewrites it.
func madeFromTables(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join("docs", name)
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
		t.Errorf("go test . -update rewrites it:\n%s", diff)
	}
}

// TestVariablesAreDocumented finds the variables that the code outside of config
// asks the environment for by name: each must be in one of the tables, and so in
// the documentation.
func TestVariablesAreDocumented(t *testing.T) {
	known := map[string]bool{"USERPROFILE": true} // HOME's name on Windows
	for _, v := range config.ForeignVariables() {
		known[v.Name] = true
	}
	for _, o := range config.Options() {
		known[o.Env] = true
	}
	found := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "config" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "."):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		for _, variable := range variablesIn(t, name) {
			found++
			if !known[variable] {
				t.Errorf("%s reads %s, which is in no table", name, variable)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("found %d variables only: the search is wrong", found)
	}
}

// variablesIn are the names in calls of os.Getenv, os.LookupEnv, and of a func
// called env or lookup that stands for one of them.
func variablesIn(t *testing.T, name string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		literal, ok := call.Args[0].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING || !readsEnvironment(call.Fun) {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, text)
		return true
	})
	return names
}

func readsEnvironment(fun ast.Expr) bool {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name == "env" || f.Name == "getenv"
	case *ast.SelectorExpr:
		pkg, ok := f.X.(*ast.Ident)
		return ok && pkg.Name == "os" && (f.Sel.Name == "Getenv" || f.Sel.Name == "LookupEnv")
	}
	return false
}
