package permission

import (
	"testing"

	"artoo/tool"
)

// A tool that no rule can name could never be allowed, asked for or denied.
func TestRulesCanNameEveryTool(t *testing.T) {
	for _, built := range tool.BuiltIn(tool.BashOptions{Path: "/bin/sh"}) {
		if _, ok := toolNamed(built.Name, false); !ok {
			t.Errorf("%s is in tool.BuiltIn and not in namedTools, so no rule can name it", built.Name)
		}
	}
}
