package screen

import (
	"fmt"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"

	"github.com/google/go-cmp/cmp"
)

// Changes that no question named stand below their command: on a rich terminal one a row, else in its summary.
func TestAppliedChangesStandBelowTheirCommand(t *testing.T) {
	t.Parallel()
	e := permission.Effects{By: map[permission.What][]permission.Entry{permission.Modified: {{Path: "notes.txt"}},
		permission.Deleted: {{Path: "old/"}, {Path: "old/draft.txt"}}}, Built: permission.Counts{permission.Created: 3}}
	many := permission.Effects{By: map[permission.What][]permission.Entry{}}
	for i := range 14 {
		many.By[permission.Created] = append(many.By[permission.Created], permission.Entry{Path: fmt.Sprint(i)})
	}
	said := ", applied: files: 1 modified"
	for name, want := range map[string]string{
		"plain": "  run     sed  exit 0 in 1.0s, applied: files: 1 modified\n" +
			"  background command 1 has ended: exit 0, applied: files: 1 modified\n",
		"spoken": "tool: run sed, exit 0 in 1.0s, applied: files: 1 modified.\n" +
			"note: background command 1 has ended: exit 0, applied: files: 1 modified.\n",
		"nocolor": "✓ run   sed                                                    exit 0 in 1.0 s\n" +
			"        D old/\n        D old/draft.txt\n        M notes.txt\n        build output: 3 created\n" +
			"• background command 1 has ended: exit 0\n        A 0\n        A 1\n        A 2\n        A 3\n" +
			"        A 4\n        A 5\n        A 6\n        A 7\n        A 8\n        A 9\n        … 4 more rows\n",
	} {
		r := newRig(profiles()[name])
		c := runCall("1", "sed")
		r.OnToolCall(c)
		result := ok("exit 0 in 1.0s" + said)
		result.Applied = agent.Applied{Effects: &e, Words: said}
		r.OnToolResult(c, result)
		r.OnNotice(agent.Notice{Kind: agent.NoticeInfo, Text: "background command 1 has ended: exit 0" + said,
			Applied: agent.Applied{Effects: &many, Words: said}})
		if diff := cmp.Diff(want, r.err.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
