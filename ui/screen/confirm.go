package screen

import (
	"fmt"
	"strings"

	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

// Confirmation is a question that the keys in its last line answer: an Approval, UndoQuestion,
// TrustQuestion, ExtensionsQuestion, ExtensionQuestion, BundleQuestion, DefinitionsQuestion,
// MemoryQuestion, TryQuestion or RuleQuestion.
type Confirmation interface {
	show(b *asking)            // shows the object of the question
	prompt(lay *layout) string // the line to ask with, safe and without escapes
	keys() [][2]string         // the answers, each with its meaning; "" goes on with the one above
}

// YesNo is a Confirmation that a yes or a no decides.
type YesNo interface {
	Confirmation
	decided(yes bool) string // the line printed for the answer
}

// Keys are the keys that answer a question, except for the question mark.
func Keys(q Confirmation) (keys []string) {
	for _, row := range q.keys() {
		if row[0] != "" {
			keys = append(keys, row[0])
		}
	}
	return keys
}

// Confirm prints the subject of a question, also when Quiet is set, without the middle of a very
// long one. It returns the line to ask with (`approve: run "make"? [y,n,…] (n) `), safe and
// without escapes. left says that a part was left to the pager: nothing may be allowed before
// ConfirmAll was shown. The progress line stays away until the answer is printed.
func (s *Screen) Confirm(q Confirmation) (prompt string, left bool) {
	s.do(func(t *transcript) { left = t.about(q) })
	return q.prompt(s.layout), left
}

// about begins a question with its subject.
func (t *transcript) about(q Confirmation) (left bool) {
	t.beginAsking()
	if a, ok := q.(Approval); ok {
		a.begin(t)
	}
	text, left := t.layout.about(q, true, t.knows(q))
	t.must(text)
	if a, ok := q.(Approval); ok && t.layout.rich() {
		t.lastRun = a.Call.ID
	}
	return left
}

// Unasked prints the subject of a question that is not asked. by says what answers it with yes in the user's place,
// such as a flag, and stands before the decision: no one was asked to approve. "" answers nothing.
func (s *Screen) Unasked(q Confirmation, by string) {
	s.do(func(t *transcript) {
		t.about(q)
		t.endAsking()
		decided := "allowed once"
		if q, ok := q.(YesNo); ok {
			decided = q.decided(true)
		}
		if by != "" {
			t.must(s.layout.said(markDone, by+": "+decided))
		}
	})
}

// ConfirmAll is all that a question is about, for a pager: safe, without colour and not cut.
func (s *Screen) ConfirmAll(q Confirmation) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, _ := s.layout.about(q, false, false)
	return text
}

// ConfirmHelp explains the answers.
func (s *Screen) ConfirmHelp(q Confirmation) {
	s.do(func(t *transcript) {
		rows := s.layout.keyRows(append(q.keys(), enterMeansNo))
		if a, ok := q.(Approval); ok && t.knows(q) && held(a) != "" {
			rows += s.layout.wrap(held(a), "      ", "      ")
		}
		t.must(rows)
	})
}

// knows reports whether a question may say in short what the sandbox is.
func (t *transcript) knows(q Confirmation) bool {
	a, ok := q.(Approval)
	if !ok || t.explain == nil || !t.layout.rich() || held(a) == "" {
		return false
	}
	if t.explained != a.Call.ID {
		t.explained, t.known = a.Call.ID, !t.explain()
	}
	return t.known
}

// Confirmed prints whether the user said yes.
func (s *Screen) Confirmed(q YesNo, yes bool) {
	s.do(func(t *transcript) {
		t.endAsking()
		// What was undone shows a yes.
		if _, undo := q.(UndoQuestion); !undo || !yes || !s.layout.rich() {
			t.must(s.layout.decidedLine(s.layout.ascii(q.decided(yes)), either(yes, markDone, markFailed)))
		}
	})
}

// enterMeansNo ends the help of every question.
var enterMeansNo = [2]string{"?", "this text; Enter alone means no"}

func (lay *layout) keyRows(rows [][2]string) string {
	var b strings.Builder
	for _, r := range rows {
		text := line(r[1])
		b.WriteString(lay.wrap(lay.words(text, text+"."), lay.words(fmt.Sprintf("  %-3s ", r[0]), spokenKey(r[0])+": "), "      "))
	}
	return b.String()
}

// confirmLine is the line that asks for a yes or a no, safe and without escapes.
func (lay *layout) confirmLine(q Confirmation, verb, about string) string {
	end := lay.ending(q)
	ask := lay.asks()
	room := min(lay.width(), lay.usual()) - 1 - cells(ask+approve+verb+" ?")
	object := lay.ascii(sanitize.Text(about, sanitize.Line))
	if whole := room - cells(end) - answerRoom; cells(object) <= whole || whole >= leastAsked {
		room = whole
	}
	return lay.ascii(ask + approve + verb + " " + unforged(lay.middle(object, room)) + "?" + end)
}

// BundleQuestion asks whether a plugin bundle is added, or with a Diff whether its newer version
// takes the place of the one there is. Its texts may come from outside.
type BundleQuestion struct {
	Name  string
	Lines []string // its servers, hooks and the like, commands in full, and its files
	Diff  string   // its changes to the present version; "" for a bundle that is added
	All   string   // the files whose content Diff does not show, with their content
}

func (q BundleQuestion) show(b *asking) {
	b.changes(q.Diff)
	b.trust("it supplies:", q.Lines)
	b.files("its files", q.All)
}

// files shows files whole; where they are long, y counts only after p.
func (b *asking) files(named, all string) {
	if all == "" {
		return
	}
	indent := b.lay.words(b.lay.body()+"  ", "")
	rows := b.lay.fold(b.safe(strings.TrimRight(all, "\n"), sanitize.Source), indent, indent, b.cut)
	if b.cut && len(rows) > mostDiffRows {
		b.left = true
		b.remark(named + ":")
		b.rows(rows[:mostDiffRows/2])
		b.remark(named + " have " + texts.Count(len(rows), "row") + ": p " + b.lay.words("shows", "reads") + " all; y counts after that")
		return
	}
	b.remark(named + ":")
	b.rows(rows)
}

func (q BundleQuestion) prompt(lay *layout) string {
	if q.Diff != "" {
		return lay.confirmLine(q, "update the bundle", q.Name)
	}
	return lay.confirmLine(q, "add the bundle", q.Name)
}

func (q BundleQuestion) keys() [][2]string {
	return [][2]string{{"y", "use it as it is now; its servers and hooks run confined"}, {"n", "leave everything as it is"},
		{"p", "show all of it in the pager"}}
}

func (q BundleQuestion) decided(yes bool) string {
	switch {
	case !yes:
		return "nothing changed"
	case q.Diff != "":
		return "updated"
	}
	return "added; artoo bundle rm " + q.Name + " removes it"
}

// DefinitionsQuestion asks whether the tools of a server, which have changed, are used as they are now. Its texts come
// from outside.
type DefinitionsQuestion struct {
	Server string
	Diff   string
	N      int // so many tools have changed
}

func (q DefinitionsQuestion) show(b *asking) { b.changes(q.Diff) }

func (q DefinitionsQuestion) prompt(lay *layout) string {
	return lay.confirmLine(q, "accept "+texts.Count(q.N, "changed definition")+" of", q.Server)
}

func (q DefinitionsQuestion) keys() [][2]string {
	return [][2]string{{"y", "rules cover these tools as they are now"}, {"n", "no rule covers them until you accept them"},
		{"p", "show all changes in the pager"}}
}

func (q DefinitionsQuestion) decided(yes bool) string {
	if yes {
		return "yes"
	}
	return "nothing changed"
}

// MemoryQuestion asks whether a line is added to an instruction file, or to memory. Its texts may come from
// outside.
type MemoryQuestion struct {
	File string
	Diff string
	Own  bool // the file is the project's memory, outside the project
}

func (q MemoryQuestion) show(b *asking)            { b.changes(q.Diff) }
func (q MemoryQuestion) prompt(lay *layout) string { return lay.confirmLine(q, "remember in", q.File) }

func (q MemoryQuestion) keys() [][2]string {
	return [][2]string{{"y", "add the line"}, {"n", "leave the file as it is"}, {"p", "show all of it in the pager"}}
}

func (q MemoryQuestion) decided(yes bool) string {
	if yes && q.Own {
		return "added; the model gets it with your next message; /memory edit changes it"
	}
	if yes {
		return "added; the model gets it with your next message; /undo removes it"
	}
	return "not added"
}
