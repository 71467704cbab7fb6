package screen

import (
	"strings"

	"artoo/agent/permission"
	"artoo/tool/text"
	"artoo/ui/sanitize"
)

// UndoQuestion asks whether to undo changes, or to redo them. Its texts may come from outside.
type UndoQuestion struct {
	Verb   string   // "undo" or "redo"
	Object string   // the files or the turn, for the last line
	Steps  []string // the changes, the last first; of many only some are shown before the pager
	Head   string   // the changes in numbers
	Rows   []UndoRow
	Diff   string // new contents of the files, for the pager
}

// UndoRow is the change of a path. More of them than permission.MostNames are summed up by
// verb and directory before the pager.
type UndoRow struct {
	Verb, Path string // "delete" and the path; a row without a path is always shown
	Text       string // all of it, in words
}

const stepsShown = 4

func (q UndoQuestion) prompt(lay *layout) string { return lay.confirmLine(q, q.Verb, q.Object) }

func (q UndoQuestion) keys() [][2]string {
	return [][2]string{
		{"y", q.Verb + " it as shown"},
		{"n", "change nothing"},
		{"p", "show all of it in the pager, with the files as they will be"},
	}
}

func (q UndoQuestion) decided(yes bool) string {
	if yes {
		return q.Verb + " " + sanitize.Text(q.Object, sanitize.Line)
	}
	return "nothing was changed"
}

// show shows the changes of an undo; the pager also has the new contents.
func (q UndoQuestion) show(b *asking) {
	said := q.Head
	if len(q.Steps) > 0 {
		most := len(q.Steps)
		if b.cut && most > stepsShown {
			most = stepsShown
		}
		said = text.UpTo(most, q.Steps)
		if most < len(q.Steps) {
			said += " (p shows all)"
		}
		said += ": " + q.Head
	}
	head := b.lay.wrap(b.oneRow(said), b.lay.begun(q.Verb, ""), b.lay.bodyIndent())
	b.WriteString(b.dimmed(strings.TrimSuffix(head, "\n"), q.Verb) + "\n")
	for _, row := range undoTexts(q.Rows, b.cut) {
		b.remark(b.oneRow(row))
	}
	if !b.cut {
		b.WriteString("\n")
		b.changes(q.Diff)
	}
}

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

// Changes prints a unified diff of several files. Where that takes more
// than rows it prints nothing, and all is for the pager.
func (s *Screen) Changes(diff string, rows int) (shown bool, all string) {
	s.do(func(t *transcript) {
		b := asking{lay: s.layout, cut: true, unified: true}
		b.changes(diff)
		if shown = !b.left && strings.Count(b.String(), "\n") < rows; shown {
			t.print(b.String())
			return
		}
		b = asking{lay: s.layout}
		b.changes(diff)
		all = b.String()
	})
	return shown, all
}

func (b *asking) changes(diff string) {
	if diff == "" {
		return
	}
	lines := b.safe(strings.TrimRight(diff, "\n"), sanitize.Source)
	if b.lay.opt.Profile == Spoken {
		b.lay.spokenDiff(&b.Builder, lines)
		return
	}
	b.diff(lines, false)
}

// TryQuestion asks whether to keep the changes that a command made on a layer. Its texts may come from outside.
type TryQuestion struct {
	Command string
	Effects permission.Effects
	Diff    string
}

func (q TryQuestion) show(b *asking) {
	b.did(q.Effects, q.Diff)
	b.changes(q.Diff)
}

func (q TryQuestion) prompt(lay *layout) string {
	return lay.confirmLine(q, "keep the changes of", q.Command)
}

func (q TryQuestion) keys() [][2]string {
	return [][2]string{{"y", "make these changes in the project; artoo undo reverts them"}, {"n", "throw them away"},
		{"p", "show all of them in the pager"}}
}

func (q TryQuestion) decided(yes bool) string {
	if yes {
		return "changes kept; to revert them: artoo undo"
	}
	return "changes thrown away"
}

// RuleQuestion asks whether an allow rule is kept for the project.
type RuleQuestion struct{ Rule string }

func (q RuleQuestion) show(*asking) {}

func (q RuleQuestion) prompt(lay *layout) string {
	return lay.confirmLine(q, "allow in this project, permanently,", q.Rule)
}

func (q RuleQuestion) keys() [][2]string {
	return [][2]string{{"y", "save it in your config file, for this project"}, {"n", "leave it out"}}
}

func (q RuleQuestion) decided(yes bool) string {
	if yes {
		return "rule saved in your config file, for this project"
	}
	return "rule left out"
}
