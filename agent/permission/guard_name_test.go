package permission

import (
	"strings"
	"testing"
)

// TestASearchFindsEveryGuardedName asks the quick check of names, which a search through
// a tree uses, about a name for each row of the list.
func TestASearchFindsEveryGuardedName(t *testing.T) {
	byName := OthersRunByName()
	for _, row := range othersRun {
		for pattern := range strings.FieldsSeq(row.names) {
			name := strings.ReplaceAll(pattern, "*", "any")
			if !byName(name) || !byName("sub/"+strings.ToUpper(name)) {
				t.Errorf("%s, of %s, is not found", name, pattern)
			}
		}
	}
}
