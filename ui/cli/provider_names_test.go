package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"artoo/provider"
)

// ordinary are names of providers that are words of their own: only a literal that
// is nothing else can mean the provider.
var ordinary = []string{provider.Compatible, "demo"}

// TestOnlyTheProvidersKnowTheirNames looks at every string of the code outside
// provider/: knowledge about a provider belongs in its facts.
func TestOnlyTheProvidersKnowTheirNames(t *testing.T) {
	whole, words := map[string]bool{}, []string{}
	for _, f := range provider.Known() {
		whole[f.Name] = true
		names := []string{f.Name}
		if f.Program != "" {
			whole[f.Program] = true
		}
		if u, err := url.Parse(f.BaseURL); err == nil && u.Host != "" {
			names = append(names, u.Host)
		}
		for _, v := range slices.Concat(f.KeyVariables(), f.Secrets, []string{f.URLVar}) {
			if v != "" {
				names = append(names, v)
			}
		}
		for _, name := range names {
			if !slices.Contains(ordinary, name) {
				words = append(words, regexp.QuoteMeta(name))
			}
		}
	}
	word := regexp.MustCompile(`(?i)(^|[^\w./-])(` + strings.Join(words, "|") + `)($|[^\w.-]|[.-](\W|$))`)
	if !word.MatchString("start Ollama, or") || !word.MatchString("set OPENAI_API_KEY.") ||
		word.MatchString("a GEMINI.md and .gemini/x") {
		t.Fatal("the pattern is wrong")
	}
	read := 0
	goFiles(t, func(name, path string) {
		if strings.HasPrefix(name, "provider/") || strings.HasSuffix(name, "_test.go") {
			return
		}
		read++
		for _, text := range literals(t, path) {
			if name == "config/hooks.go" && text == "claude" {
				continue // the form of hooks, whichever model answers
			}
			if whole[text] || word.MatchString(text) {
				t.Errorf("%s: %q names a provider: its facts should", name, text)
			}
		}
	})
	if read < 100 {
		t.Errorf("%d files were read", read)
	}
}

// literals are the strings of a file but its imports.
func literals(t *testing.T, path string) (texts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				text, err := strconv.Unquote(n.Value)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}
