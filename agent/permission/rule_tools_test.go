package permission

import (
	"testing"

	"artoo/tool/builtin"
)

// A tool that no rule can name could never be allowed, asked for or denied.
func TestRulesCanNameEveryTool(t *testing.T) {
	t.Parallel()
	for _, built := range builtin.Tools(builtin.BashOptions{Path: "/bin/sh"}) {
		if _, ok := toolNamed(built.Name); !ok {
			t.Errorf("%s is in builtin.Tools and not in namedTools, so no rule can name it", built.Name)
		}
	}
}
