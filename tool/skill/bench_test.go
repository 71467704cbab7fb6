package skill_test

import (
	"fmt"
	"strings"
	"testing"

	"artoo/tool/extension"
	"artoo/tool/skill"
)

// BenchmarkThirtySkills finds 30 skills and lists them, as the first request of a session does.
func BenchmarkThirtySkills(b *testing.B) {
	files := map[string]string{}
	for n := range 30 {
		files[fmt.Sprintf("s%d/SKILL.md", n)] = head(fmt.Sprintf("s%d", n), "Fills forms in documents of the office") + strings.Repeat("x", 6000)
	}
	dir := tree(b, files)
	for b.Loop() {
		l := library(extension.KindSkill, dir, "skills")
		if skill.Catalogue(l.Items(extension.KindSkill), 1300, "query finds them") == "" {
			b.Fatal("no catalogue")
		}
	}
}
