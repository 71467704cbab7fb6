package screen

import (
	"strings"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/ui/sanitize"
)

// More names than mostNames are summed up by directory: each kind then takes no more
// than mostDirs rows.
const (
	mostNames = 60
	mostDirs  = 10
)

// effects shows what a command did on a layer: counts and names first, then the text
// that changed. What matters most is not among it: it stands last, see questionText.
func (b *asking) effects(q agent.Question) {
	e := q.Effects
	head := "ran in a throwaway copy; it would change "
	if e.There {
		head = "ran in the sandbox, on the project itself; n moves away the files that programs run automatically: "
	}
	b.WriteString(b.s.bodyLine(head+e.Summary(), b.cut))
	if names := b.named(e.Others()); names != "" {
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
func (b *asking) named(groups []permission.Group) string {
	names := 0
	for _, g := range groups {
		names += len(g.Names)
	}
	var text strings.Builder
	for _, g := range groups {
		rows := g.Rows()
		if b.cut && names > mostNames {
			rows = g.ByDirectory(mostDirs)
		}
		for _, row := range rows {
			text.WriteString(b.s.bodyLine(b.oneRow(row), b.cut))
		}
	}
	return text.String()
}
