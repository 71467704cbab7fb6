package permission

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/names"
	"artoo/tool/sweep"
)

// Deciding writes nothing, and no decision hangs on the words of a reason. The words are shared by all tests, so that
// this one runs alone.
func TestDecidingAnyLineWritesNothingAndComparesNoWords(t *testing.T) {
	root, p := hostileTree(t)
	stamps := func() map[string]names.Stamp {
		all := map[string]names.Stamp{}
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			all[path] = names.StampAt(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	lines := slices.Concat(linesOf(t, "day.txt"), linesOf(t, "harmless.txt"), linesOf(t, "hostile.txt"))
	tried := sweep.Cases(t, 50, len(lines))
	decideAll := func() (all []string) {
		for _, i := range tried {
			text := lines[i]
			kinds := slices.Sorted(maps.Keys(confinements))
			p.Confinement = confinements[kinds[i%len(kinds)]]
			p.Mode = []Mode{ModeAsk, ModeEdits, ModeAuto, ModePlan}[i%4]
			d := p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: text, Dir: root})
			said := fmt.Sprint(text, ": ", d.Verdict, " ", d.Place, d.Own, d.Needs, d.Covers, d.Keep, d.Narrow)
			for _, r := range d.Reasons {
				said += " " + string(r.Code)
			}
			for _, part := range d.Parts {
				said += " " + string(part.Verdict)
			}
			all = append(all, said)
		}
		return all
	}
	before := stamps()
	first := decideAll()
	if now := stamps(); !maps.Equal(now, before) {
		t.Error("deciding changed the project")
	}
	words := maps.Clone(sentences)
	defer maps.Copy(sentences, words)
	for code, text := range words {
		sentences[code] = strings.NewReplacer("it ", "X", "the ", "").Replace(text) + ", in other words"
	}
	for i, said := range decideAll() {
		if said != first[i] {
			t.Errorf("in other words:\n%s\ninstead of\n%s", said, first[i])
		}
	}
}
