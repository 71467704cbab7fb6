package permission

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/sandbox"
)

// Any line may delete build output that this session made, and nothing else, unasked.
func TestAnyLineMayDeleteOutputOfTheSession(t *testing.T) {
	t.Parallel()
	root, p := confinedPolicy(t, ModeAsk)
	facts := Facts{
		Ignored: func(paths []string) map[string]bool {
			ignored := map[string]bool{}
			for _, path := range paths {
				ignored[filepath.Clean(path)] = !strings.Contains(path, "kept")
			}
			return ignored
		},
		Made: func(c sandbox.Change) bool { return strings.Contains(c.Path, "made") },
	}
	const file, dir, link = fs.FileMode(0o644), fs.ModeDir | 0o755, fs.ModeSymlink | 0o777
	const gone = sandbox.Deleted
	type change struct {
		path string
		kind sandbox.Kind
		is   fs.FileMode
	}
	for what, row := range map[string]struct {
		changes []change
		want    Verdict
	}{
		"made by this session":     {[]change{{"dist/made.js", gone, file}}, Run},
		"with its directory":       {[]change{{"dist/made.js", gone, file}, {"dist", gone, dir}}, Run},
		"made before it":           {[]change{{"dist/x.js", gone, file}}, Ask},
		"one of both":              {[]change{{"out/made", gone, file}, {"out/x", gone, file}}, Ask},
		"a link":                   {[]change{{"dist/made", gone, link}}, Ask},
		"changed, and not deleted": {[]change{{"dist/made.js", sandbox.Modified, file}}, Ask},
		"in no place for output":   {[]change{{"made.db", gone, file}}, Ask},
		"not ignored by git":       {[]change{{"out/kept-made", gone, file}}, Ask},
		"beside content":           {[]change{{"out/made", gone, file}, {"kept", sandbox.Modified, file}}, Ask},
		"an installed package":     {[]change{{"node_modules/made/dist/i.js", gone, file}}, Ask},
	} {
		var changes []sandbox.Change
		for _, c := range row.changes {
			changes = append(changes, judged(root, c.path, c.kind, c.is, c.is))
		}
		if j := p.Judge(t.Context(), Decision{}, changes, facts); j.Verdict != row.want {
			t.Errorf("%s: %s (%s)", what, j.Verdict, j.Reason())
		}
	}
}
