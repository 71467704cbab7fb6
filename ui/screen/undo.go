package screen

import (
	"fmt"
	"strings"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/ui/sanitize"
)

// UndoQuestion asks whether to take back what was changed, or to bring it back. All
// its texts may come from outside.
type UndoQuestion struct {
	Verb   string   // "undo" or "redo"
	Object string   // what it is done to, for the last line
	Steps  []string // what was done, the last first; of many only some are shown before the pager
	Head   string   // what it comes to, in numbers
	Rows   []UndoRow
	Diff   string // what the contents will become, for the pager
}

// UndoRow is what becomes of a path. More of them than permission.MostNames are summed up
// by verb and directory before the pager.
type UndoRow struct {
	Verb, Path string // "delete" and the path; a row without a path is always shown
	Text       string // all of it, in words
}

// stepsShown is how many steps the question names.
const stepsShown = 4

// undoChoices is how the question ends.
const undoChoices = "[y,n,p,?] (n) "

// Undo prints what an undo would do and returns the line to ask with, safe and
// without escapes. left says that a part was left to the pager. It prints even when
// Quiet is set.
func (s *Screen) Undo(q UndoQuestion) (prompt string, left bool) {
	s.do(func() {
		s.startAsking()
		s.hideProgress()
		s.closeReply()
		b := asking{s: s, cut: true}
		b.undo(q)
		if text := warning(b.seen, "list"); text != "" {
			b.WriteString(s.bodyLine(text, true))
		}
		left = b.left
		s.must(b.String())
	})
	return s.confirmLine(q.Verb, q.Object), left
}

// confirmLine is the line that asks for a yes or a no, safe and without escapes.
func (s *Screen) confirmLine(verb, about string) string {
	end := " " + undoChoices
	room := min(s.width(), usualWidth) - 1 - cells(approve+verb+" ?")
	if s.opt.Profile == Spoken {
		end = " Type y, n, p, or ? for help. Enter means no. "
	}
	object := s.ascii(sanitize.Text(about, sanitize.Line))
	if whole := room - cells(end) - answerRoom; cells(object) <= whole || whole >= leastAsked {
		object = s.middle(object, whole)
	} else {
		object = s.middle(object, room)
	}
	return s.ascii(approve + verb + " " + unforged(object) + "?" + end)
}

// undo shows what an undo would do.
func (b *asking) undo(q UndoQuestion) {
	text := q.Head
	if len(q.Steps) > 0 {
		most := len(q.Steps)
		if b.cut && most > stepsShown {
			most = stepsShown
		}
		text = tool.ListUpTo(most, q.Steps)
		if most < len(q.Steps) {
			text += " (p shows all)"
		}
		text += ": " + q.Head
	}
	head := b.s.wrap(b.oneRow(text), b.s.head(q.Verb, ""), b.s.bodyIndent())
	b.WriteString(b.dimmed(strings.TrimSuffix(head, "\n"), q.Verb) + "\n")
	for _, row := range undoTexts(q.Rows, b.cut) {
		b.WriteString(b.s.bodyLine(b.oneRow(row), b.cut))
	}
}

// undoTexts are the rows in words; in short, many of a verb are those of their directories.
func undoTexts(rows []UndoRow, short bool) (texts []string) {
	groups := map[string][]permission.Entry{}
	for _, r := range rows {
		if r.Path != "" {
			groups[r.Verb] = append(groups[r.Verb], permission.Entry{Path: r.Path})
		}
	}
	for _, r := range rows {
		group := groups[r.Verb]
		switch {
		case r.Path == "" || !short || len(rows) <= permission.MostNames:
			texts = append(texts, r.Text)
		case group != nil: // the first of its verb stands for all
			for _, e := range permission.ByDirectory(group) {
				texts = append(texts, r.Verb+" "+e.String())
			}
			groups[r.Verb] = nil
		}
	}
	return texts
}

// oneRow is a text that stays one row whatever is in it.
func (b *asking) oneRow(text string) string {
	return strings.Join(b.safe(text, sanitize.Line), "^J")
}

// UndoAll is all that Undo is about, with what the contents will become: safe, for a
// pager.
func (s *Screen) UndoAll(q UndoQuestion) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := asking{s: s}
	b.undo(q)
	b.WriteString("\n")
	b.changes(q.Diff)
	return b.String()
}

// Changes prints a unified diff of several files as questions show it. It reports
// false, and prints nothing, where that would take more rows than the terminal has:
// ChangesAll is for the pager.
func (s *Screen) Changes(diff string, rows int) (shown bool) {
	s.do(func() {
		b := asking{s: s, cut: true}
		b.changes(diff)
		if shown = !b.left && strings.Count(b.String(), "\n") < rows; shown {
			s.print(b.String())
		}
	})
	return shown
}

// ChangesAll is a unified diff of several files, safe, for a pager.
func (s *Screen) ChangesAll(diff string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := asking{s: s}
	b.changes(diff)
	return b.String()
}

func (b *asking) changes(diff string) {
	if diff == "" {
		return
	}
	lines := b.safe(strings.TrimRight(diff, "\n"), sanitize.Source)
	if b.s.opt.Profile == Spoken {
		b.s.spokenDiff(&b.Builder, lines)
		return
	}
	b.diff(lines)
}

// UndoHelp says what the answers mean.
func (s *Screen) UndoHelp(q UndoQuestion) {
	s.do(func() {
		rows := [][2]string{
			{"y", q.Verb + " it as it is shown"},
			{"n", "change nothing"},
			{"p", "show all of it in the pager, with what the files will hold"},
			{"?", "this text; Enter alone means no"},
		}
		if s.opt.Profile == Spoken {
			s.must(s.spokenKeys(rows))
			return
		}
		for _, r := range rows {
			s.must(s.wrap(r[1], fmt.Sprintf("  %-3s ", r[0]), "      "))
		}
	})
}

// UndoDecided prints what the user said.
func (s *Screen) UndoDecided(q UndoQuestion, yes bool) {
	s.do(func() {
		s.endAsking()
		text := "nothing was changed"
		if yes {
			text = q.Verb + " " + s.ascii(sanitize.Text(q.Object, sanitize.Line))
		}
		s.must(s.decidedLine(text))
	})
}
