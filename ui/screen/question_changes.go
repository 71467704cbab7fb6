package screen

import (
	"strings"

	"artoo/agent"
	"artoo/ui/sanitize"
)

// effects shows what a command did on a layer: first, never cut, what matters most,
// then the text that changed.
func (b *asking) effects(q agent.Question) {
	e := q.Effects
	head := "it ran on a throwaway layer, and did: " + e.Summary()
	if e.There {
		head = "it ran in the sandbox, and made what others run; a no removes it again: " + e.Summary()
	}
	b.WriteString(b.s.bodyLine(head, b.cut))
	for _, row := range e.Whole() {
		b.WriteString(b.s.bodyLine(b.oneRow(row), b.cut))
	}
	var rows []string
	for _, row := range e.Git {
		rows = append(rows, strings.TrimSuffix(b.s.bodyLine("git: "+b.oneRow(row), b.cut), "\n"))
	}
	b.rows(rows)
	if q.Diff == "" {
		return
	}
	lines := b.safe(strings.TrimRight(q.Diff, "\n"), sanitize.Source)
	if b.s.opt.Profile == Spoken {
		if b.left = b.cut && b.s.tooLong(lines); !b.cut {
			b.s.spokenDiff(&b.Builder, lines)
		}
		return
	}
	b.diff(lines)
}
