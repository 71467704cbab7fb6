package files

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"artoo/tool/names"
)

// docs/privacy.md lists all the denied names, and no others.
func TestTheDocsListWhatIsDenied(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "privacy.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, listed, _ := strings.Cut(string(data), "## Denied files")
	_, listed, _ = strings.Cut(listed, ":\n\n")
	listed, _, _ = strings.Cut(listed, "\nNot denied: ")
	rows := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(listed, -1)
	if len(rows) < 50 {
		t.Fatalf("%d names", len(rows))
	}
	for _, name := range rows {
		at := names.Fold(strings.NewReplacer("NAME", "secret.yml", "*", "x").Replace(name[1]))
		if strings.HasSuffix(at, "/") {
			at += "x"
		}
		if SecretName(at, "/"+at) == "" {
			t.Errorf("%s is not denied", name[1])
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "secrets.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed = names.Fold(string(data))
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "secret") && f.Name.Name != "openEnv" && f.Name.Name != "ofCopy" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				word, err := strconv.Unquote(text.Value)
				if word == ".-_" {
					return true
				}
				if err != nil || !strings.Contains(listed, strings.TrimPrefix(word, "/")) {
					t.Errorf("%s of %s is not listed: %v", text.Value, f.Name.Name, err)
				}
			}
			return true
		})
	}
	for _, base := range []string{".envs", ".envrc"} {
		for _, end := range []string{".x", "-x", "_x"} {
			if SecretName(base+end, "/"+base+end) == "" {
				t.Errorf("%s is not denied", base+end)
			}
		}
	}
	for _, open := range []string{".envrc2", ".environment", ".envoy.yaml", ".env.example", ".envrc.sample", "id_rsa.pub"} {
		if why := SecretName(open, "/p/"+open); why != "" {
			t.Errorf("%s: %s", open, why)
		}
	}
}
