package screen

import (
	"strings"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/ui/sanitize"
)

// effects shows what a command did on a layer: counts and names first, then the text
// that changed. What matters most is not among it: it stands last, see questionText.
func (b *asking) effects(q agent.Question) {
	e := q.Effects
	head := "ran in a throwaway copy; it would change " + e.Summary()
	if e.There {
		head = "ran in the sandbox, on the project itself; n moves away the files that programs run automatically"
	}
	b.WriteString(b.s.bodyLine(head, b.cut))
	if names := b.named(permission.Others(), *e); names != "" {
		b.rows(strings.Split(strings.TrimSuffix(names, "\n"), "\n"))
	}
	if q.Diff == "" {
		return
	}
	lines := b.safe(strings.TrimRight(q.Diff, "\n"), sanitize.Source)
	if b.s.opt.Profile == Spoken {
		if b.left = b.left || b.cut && b.s.tooLong(lines); !b.cut {
			b.s.spokenDiff(&b.Builder, lines)
		}
		return
	}
	b.diff(lines)
}

// named are the names of effects, one a row. In a question many of them are summed up by
// directory; the pager has each.
func (b *asking) named(kinds []permission.What, e permission.Effects) string {
	var text strings.Builder
	for _, row := range e.Rows(b.cut, kinds...) {
		text.WriteString(b.s.bodyLine(b.oneRow(row), b.cut))
	}
	return text.String()
}
