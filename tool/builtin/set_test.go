package builtin

import (
	"slices"
	"testing"
)

func TestUsualNamesWhatAModelGets(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"", "/bin/sh"} {
		var names []string
		for _, made := range Tools(BashOptions{Path: shell, Confined: true, Ask: true}) {
			if err := made.Check([]byte(`{`)); err == nil {
				t.Errorf("%s takes what is not JSON", made.Name)
			}
			if len(made.Schema()) == 0 {
				t.Errorf("%s has no schema", made.Name)
			}
			if !made.Optional && made.Instead == "" && made.For == "" {
				names = append(names, made.Name)
			}
		}
		if got := Usual(shell); !slices.Equal(got, names) {
			t.Errorf("Usual(%q) is %v, the model gets %v", shell, got, names)
		}
	}
}
