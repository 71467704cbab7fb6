package frontmatter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// A head read without YAML is the same as with it.
func FuzzSimple(f *testing.F) {
	keys := []string{"name", "description"}
	simples := 0
	for _, text := range []string{
		"name: a", "name: a \ndescription: Uses a, b – and c's.", "name: \"a: b\"\ndescription: 'c # d'", "name: a:b\nother: 1.0", "name: \"\"",
		"name: a: b", "name: a #b", "name: a:", "name: NULL", "name: ~", "name:", "name: 'it''s'", `name: "a\n"`, "name: 'a' b", "name: [a]", "name: a\n  b",
		"name: a\n- b", "name: - a", "name: a\n\ndescription: b", "name: a\tb", "name: a\u2028b", "1: a", "name : a", "name: \"a", "name: '", "...: a", "name: a\n...",
	} {
		f.Add(text)
		if _, ok := simple("\n"+text, keys); ok {
			simples++
		}
	}
	if simples != 5 {
		f.Errorf("%d of these are simple", simples)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		got, ok := simple("\n"+text, keys)
		if !ok {
			return
		}
		var node yaml.Node
		if err := yaml.Unmarshal([]byte("\n"+text), &node); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if diff := cmp.Diff(values(&node, keys), got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	})
}
