package screen

import (
	"fmt"
	"strings"

	"artoo/agent"
)

func (b *asking) plan(q Approval) {
	verb := callVerb(q.Call)
	b.WriteString(b.lay.callLine(q.Call, "", 0, false))
	if b.lay.opt.Profile != Spoken {
		b.WriteString("\n")
	}
	if !b.cut || !b.lay.opt.ErrTTY {
		b.rows(strings.Split(strings.TrimRight(indented(q.Plan, margin), "\n"), "\n"))
		return
	}
	rows := b.lay.whole(q.Plan, b.lay.width()-len(margin), "")
	lines := strings.Split(strings.TrimRight(rows, "\n"), "\n")
	for i, l := range lines {
		if l != "" && b.lay.opt.Profile != Spoken {
			lines[i] = margin + l
		}
	}
	b.rows(lines)
	if b.lay.opt.Profile == Spoken {
		b.WriteString("end " + verb + ".\n")
	}
}

// Choice prints a question with its choices, also when Quiet is set, and returns the line to
// ask with.
func (s *Screen) Choice(q agent.Question) string {
	s.do(func() {
		s.beginAsking()
		Approval{q}.begin(s)
		s.must(s.layout.prose(q.Text, s.layout.before("question: ")) + s.layout.numbered(q.Choices))
	})
	n, words := len(q.Choices), s.layout.words
	switch {
	case q.Kind == agent.QuestionCompact:
		return answering + fmt.Sprintf(words("[1-%d] (trim) ", "Type a number from 1 to %d. Enter trims. "), n)
	case n > 0:
		return answering + fmt.Sprintf(words("[1-%d, or your words] (none) ",
			"Type a number from 1 to %d, or your own words. Enter means none. "), n)
	}
	return answering + words("[your words] (none) ", "Type your answer. Enter means none. ")
}

// numbered are choices with their numbers.
func (lay *layout) numbered(choices []string) string {
	before := lay.before("") + lay.before("")
	var b strings.Builder
	for i, choice := range choices {
		b.WriteString(lay.wrap(lay.ascii(line(choice)), fmt.Sprintf("%s%d  ", before, i+1), before+"   "))
	}
	return b.String()
}

func planDecided(q agent.Question, a agent.Answer) string {
	switch a.Verdict {
	case agent.Yes:
		return "approved, mode " + string(q.Then)
	case agent.YesForSession:
		return "approved, mode edits"
	case agent.StopTurn:
		return "not approved; turn stopped"
	}
	return prefixed("not approved", line(a.Reason))
}

// OfferCommand asks for the command that a user chose to name.
const OfferCommand = answering + "which command? "

// Offer prints what is offered, with the choices there are, and returns the line to ask with.
// Enter alone takes the last choice.
func (s *Screen) Offer(text string, choices []string) (prompt string) {
	s.do(func() {
		s.must(s.layout.note(text) + s.layout.numbered(choices))
	})
	n, last := len(choices), choices[len(choices)-1]
	choose := s.layout.words("[1-%d] (%s) ", "Type a number from 1 to %d. Enter means %s. ")
	return answering + "which one? " + fmt.Sprintf(choose, n, last)
}
