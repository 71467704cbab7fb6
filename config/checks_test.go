package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChecksAreReadByTheirGlobs(t *testing.T) {
	c := mustFile(t, "[check]\n\"*.go\" = \"gofmt -l\"\n\"src/**/*.ts\" = \"npx eslint {}\"\n")
	want := []Check{{"*.go", "gofmt -l"}, {"src/**/*.ts", "npx eslint {}"}}
	if diff := cmp.Diff(want, c.Checks); diff != "" {
		t.Error(diff)
	}
	for text, words := range map[string]string{
		"check = 1":                         "check must be a table",
		"[check]\n\"*.go\" = 1":             "must be a string",
		"[check]\n\"*.go\" = \"\"":          "the command of *.go is empty",
		"[check]\n\"[\" = \"gofmt\"":        "[ is not a glob",
		"[check]\n\"*.go\" = [\"gofmt\"]\n": "must be a string",
	} {
		if _, err := withFile(t, text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
