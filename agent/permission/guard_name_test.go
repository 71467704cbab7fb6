package permission

import (
	"strings"
	"testing"
)

// TestASearchFindsEveryGuardedName asks the quick check of names, which a search through
// a tree uses, about a name for each row of the list.
func TestASearchFindsEveryGuardedName(t *testing.T) {
	byName := autoExecutedByName()
	for _, row := range autoExecuted {
		for pattern := range strings.FieldsSeq(row.names) {
			name := strings.ReplaceAll(pattern, "*", "any")
			if !byName(name) || !byName("sub/"+strings.ToUpper(name)) {
				t.Errorf("%s, of %s, is not found", name, pattern)
			}
		}
	}
}

// TestLookalikesOfGuardedNames asks about names that a file system may take for guarded ones.
func TestLookalikesOfGuardedNames(t *testing.T) {
	byName := autoExecutedByName()
	for _, name := range []string{".ｇｉｔ/config", "．git/config", ".g\u00adit/x", ".git\u2060/x", ".gi\ufe0ft/x", "ＡGENTS.md", ".ｅnvrc",
		".vscode\u180e/x", ".\U0001d420it/x", ".git\u034f/x", "WARP\u3164.md", ".gⁱt/x", ".envrc\U000e0001", "JenKinsﬁle", "agentſ.md"} {
		if !byName(name) {
			t.Errorf("%q is not guarded", name)
		}
	}
}
