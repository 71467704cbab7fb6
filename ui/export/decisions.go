package export

import (
	"fmt"
	"time"

	"artoo/conversation"
	"artoo/tool/text"
	"artoo/ui/sanitize"
)

// Decision is a decision in a line, safe to show: when, the answer, who gave it, on what, by which rule, and the hash
// of the question.
func Decision(d conversation.Decision) string {
	line := fmt.Sprintf("%s  %-7s  %-7s  %-8s  %s %s", d.Time.UTC().Format(time.DateTime), d.Answer, d.From, d.Kind,
		d.Tool, text.Head(d.Object))
	for _, more := range [][2]string{{"agent ", d.Agent}, {"rule ", d.Rule}, {"by ", d.By}, {"because ", d.Reason},
		{"shown ", d.Shown}} {
		if more[1] != "" {
			line += "; " + more[0] + text.Head(more[1])
		}
	}
	return sanitize.Text(line, sanitize.Line)
}

// decisions are those of a session, as a section.
func (p *page) decisions(list []conversation.Decision) {
	if len(list) == 0 {
		return
	}
	p.gap()
	p.line("## Decisions")
	p.gap()
	for _, d := range list {
		p.line("- " + InlineCode(Decision(d)))
	}
}
