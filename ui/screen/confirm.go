package screen

import (
	"fmt"
	"strings"

	"artoo/ui/sanitize"
)

// Confirmation is what yes or no decides before something is changed: an UndoQuestion, a
// TrustQuestion or a MemoryQuestion.
type Confirmation interface {
	show(b *asking)
	prompt(lay *layout) string // the line to ask with, safe and without escapes
	keys() [][2]string         // the answers, each with what it means
	decided(yes bool) string
}

// Confirm prints what a question is about and returns the line to ask with, safe and without
// escapes. left says that a part was left to the pager. It prints even when Quiet is set.
func (s *Screen) Confirm(q Confirmation) (prompt string, left bool) {
	s.do(func() {
		s.beginAsking()
		b := asking{lay: s.layout, cut: true}
		q.show(&b)
		if text := warning(b.seen, "text"); text != "" {
			b.WriteString(s.layout.bodyLine(text, true))
		}
		left = b.left
		s.must(b.String())
	})
	return q.prompt(s.layout), left
}

// ConfirmAll is all that a question is about, safe, for a pager.
func (s *Screen) ConfirmAll(q Confirmation) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := asking{lay: s.layout}
	q.show(&b)
	return b.String()
}

// ConfirmHelp prints what the answers mean.
func (s *Screen) ConfirmHelp(q Confirmation) {
	s.do(func() { s.must(s.layout.keyRows(append(q.keys(), enterMeansNo))) })
}

// Confirmed prints what the user decided.
func (s *Screen) Confirmed(q Confirmation, yes bool) {
	s.do(func() {
		s.endAsking()
		s.must(s.layout.decidedLine(s.layout.ascii(q.decided(yes))))
	})
}

// enterMeansNo ends the help of every question.
var enterMeansNo = [2]string{"?", "this text; Enter alone means no"}

// keyRows says what the answers to a question mean, one a row.
func (lay *layout) keyRows(rows [][2]string) string {
	if lay.opt.Profile == Spoken {
		return lay.spokenKeys(rows)
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(lay.wrap(line(r[1]), fmt.Sprintf("  %-3s ", r[0]), "      "))
	}
	return b.String()
}

// confirmLine is the line that asks for a yes or a no, safe and without escapes.
func (lay *layout) confirmLine(verb, about string) string {
	end := " [y,n,p,?] (n) "
	room := min(lay.width(), usualWidth) - 1 - cells(approve+verb+" ?")
	if lay.opt.Profile == Spoken {
		end = " Type y, n, p, or ? for help. Enter means no. "
	}
	object := lay.ascii(sanitize.Text(about, sanitize.Line))
	if whole := room - cells(end) - answerRoom; cells(object) <= whole || whole >= leastAsked {
		object = lay.middle(object, whole)
	} else {
		object = lay.middle(object, room)
	}
	return lay.ascii(approve + verb + " " + unforged(object) + "?" + end)
}

// MemoryQuestion asks whether a line is added to an instruction file. All its texts may come
// from outside.
type MemoryQuestion struct {
	File string
	Diff string
}

func (q MemoryQuestion) show(b *asking)            { b.changes(q.Diff) }
func (q MemoryQuestion) prompt(lay *layout) string { return lay.confirmLine("remember in", q.File) }

func (q MemoryQuestion) keys() [][2]string {
	return [][2]string{{"y", "add the line"}, {"n", "leave the file as it is"}, {"p", "show all of it in the pager"}}
}

func (q MemoryQuestion) decided(yes bool) string {
	if yes {
		return "added; the model gets it with your next message; /undo removes it"
	}
	return "not added"
}
