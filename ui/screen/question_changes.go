package screen

import (
	"strings"

	"artoo/agent/permission"
	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

// effects shows what a command did on a layer: counts and names, then the text that changed, if
// it has at most mostDiffRows. What matters most stands last, see Approval.show. Counts are
// said again below where the first row has moved up.
func (b *asking) effects(q Approval) {
	e, began := q.Effects, strings.Count(b.String(), "\n")
	head := "ran in a throwaway copy; it would change " + e.Summary()
	if e.There {
		head = "ran in the sandbox, on the project itself; n moves away the files that programs run automatically"
	}
	b.remark(head)
	if names := b.named(permission.Others(), *e); names != "" {
		b.rows(strings.Split(strings.TrimSuffix(names, "\n"), "\n"))
	}
	if q.Diff != "" {
		b.changedText(q.Diff)
	}
	if b.cut && strings.Count(b.String(), "\n")-began > repeatAfter {
		b.remark("in all: " + e.Summary())
	}
}

const (
	mostDiffRows = 60
	repeatAfter  = 20 // rows between the two places of the counts
)

func (b *asking) changedText(diff string) {
	lines := b.safe(strings.TrimRight(diff, "\n"), sanitize.Source)
	switch n := len(b.diffRows(lines)); {
	case b.cut && n > mostDiffRows:
		b.left = true
		b.remark(texts.Count(n, "row") + " of changed text: p " + b.lay.words("shows", "reads") + " all, and only then y counts")
	case b.lay.opt.Profile != Spoken:
		b.diff(lines)
	case !b.cut:
		b.lay.spokenDiff(&b.Builder, lines)
	}
}

// named are the names of effects, one a row. A question sums many of them up by directory.
func (b *asking) named(kinds []permission.What, e permission.Effects) string {
	var text strings.Builder
	for _, row := range e.Rows(b.cut, kinds...) {
		text.WriteString(b.lay.bodyLine(b.oneRow(row), b.cut))
	}
	return text.String()
}
