package screen

import (
	"cmp"
	"fmt"
	"strings"

	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

// change shows the line of a call that changes a file, then its diff.
func (b *asking) change(q Approval) {
	s, a := b.lay, q.Call.Access
	verb, path := callVerb(q.Call), b.oneRow(s.path(a.Object))
	lines := b.safe(strings.TrimRight(a.Diff, "\n"), sanitize.Source)
	if s.opt.Profile == Spoken {
		b.WriteString(s.wrap(fmt.Sprintf("%s, %s added, %d removed.", s.begun(verb, path), texts.Count(a.Added, "line"),
			a.Removed), "", ""))
		if b.left = b.cut && s.tooLong(lines); !b.cut { // the question says how much; `p` reads it
			s.spokenDiff(&b.Builder, lines)
		}
		return
	}
	size, head, apart := s.size(a.Added, a.Removed), s.begun(verb, ""), either(s.rich(), "", "\n")
	switch {
	case b.cut && aligned(head+path)+2+aligned(size) < s.width():
		b.WriteString(s.row(callText{mark: markBegun, verb: verb, object: path, result: size, look: pathStyle,
			edge: either(s.rich(), 0, rightEdge)}) + "\n" + apart)
	case b.cut:
		b.WriteString(b.dimmed(s.wrap(path+"  "+size, head, s.body()), verb) + apart)
	default:
		b.WriteString(head + path + "  " + size + "\n" + apart)
	}
	b.diff(lines, true)
}

// diff shows a unified diff: on a rich screen as people read it, else as it is. named says that the name of its only
// file stands above.
func (b *asking) diff(lines []string, named bool) {
	rows, hidden := b.diffRows(lines, named)
	b.diffShown(rows, hidden, maxRows)
}

// diffShown shows the rows of a diff, which leave out hidden lines. Over most of both y counts only after the pager.
func (b *asking) diffShown(rows []string, hidden, most int) {
	b.rows(rows)
	if hidden > 0 && len(rows)+hidden > most {
		b.left = true
		b.remark(texts.Count(hidden, "line") + " of whole files: p shows all; y counts after that")
	}
}

// diffRows are the rows of a diff, and how many lines of whole files they leave out.
func (b *asking) diffRows(lines []string, named bool) (rows []string, hidden int) {
	s := b.lay
	if b.cut && !b.unified && s.opt.Profile == Rich {
		v := diffView{lay: s, lexers: map[string]*highlighter{}}
		v.files(filesOf(parseDiff(strings.Split(s.ascii(strings.Join(lines, "\n")), "\n"))), named)
		return v.rows, v.hidden
	}
	all := parseDiff(lines)
	for i, l := range lines {
		folded := s.fold([]string{l}, "", "", b.cut)
		if b.cut {
			ink := s.ink(all[i].style())
			for i, row := range folded {
				folded[i] = ink.Sprint(row)
			}
		}
		rows = append(rows, folded...)
	}
	return rows, 0
}

// spokenDiff reads the changed lines out, each with its number, below the file's name.
func (lay *layout) spokenDiff(b *strings.Builder, lines []string) {
	for i, d := range parseDiff(lines) {
		switch {
		case d.kind == fileLine:
			if i > 1 && strings.HasPrefix(d.text, "+++ ") {
				fmt.Fprintf(b, "file %s:\n", cmp.Or(fileName(d.text), fileName(lines[i-1])))
			}
		case d.kind == noteLine:
			fmt.Fprintf(b, "%s.\n", strings.TrimRight(d.text, "."))
		case d.from+d.to == 0:
		case d.kind == addedLine:
			fmt.Fprintf(b, "added line %d: %s\n", d.to, strings.TrimSpace(d.text[1:]))
		case d.kind == removedLine:
			fmt.Fprintf(b, "removed line %d: %s\n", d.from, strings.TrimSpace(d.text[1:]))
		}
	}
}
