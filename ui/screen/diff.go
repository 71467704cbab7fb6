package screen

import (
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
		b.WriteString(s.wrap(fmt.Sprintf("%s, %s added, %d removed.", s.head(verb, path), texts.Count(a.Added, "line"),
			a.Removed), "", ""))
		if b.left = b.cut && s.tooLong(lines); !b.cut { // the question says how much; `p` reads it
			s.spokenDiff(&b.Builder, lines)
		}
		return
	}
	size := fmt.Sprintf("+%d -%d", a.Added, a.Removed)
	if b.cut && len(margin)+verbCells+1+cells(path)+2+cells(size) < s.width() {
		b.WriteString(s.row(callText{verb: verb, object: path, result: size, edge: rightEdge}) + "\n\n")
	} else if head := s.head(verb, ""); b.cut {
		b.WriteString(b.dimmed(s.wrap(path+"  "+size, head, body), verb) + "\n")
	} else {
		b.WriteString(head + path + "  " + size + "\n\n")
	}
	b.diff(lines)
}

func (b *asking) diff(lines []string) { b.rows(b.diffRows(lines)) }

func (b *asking) diffRows(lines []string) (rows []string) {
	s := b.lay
	for i, l := range lines {
		folded := s.fold([]string{l}, "", "", b.cut)
		if b.cut {
			ink := s.ink(diffStyle(l, namesFile(lines, i)))
			for i, row := range folded {
				folded[i] = ink.Sprint(row)
			}
		}
		rows = append(rows, folded...)
	}
	return rows
}

// namesFile reports whether line i of a diff names a file, and is no removed or added line.
func namesFile(lines []string, i int) bool {
	return i < 2 && (strings.HasPrefix(lines[i], "--- ") || strings.HasPrefix(lines[i], "+++ ")) ||
		strings.HasPrefix(lines[i], "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ") ||
		i > 0 && strings.HasPrefix(lines[i], "+++ ") && strings.HasPrefix(lines[i-1], "--- ")
}

// spokenDiff reads the changed lines out, each with its number, below the file's name.
func (lay *layout) spokenDiff(b *strings.Builder, lines []string) {
	var from, to int
	for i, l := range lines {
		switch {
		case namesFile(lines, i):
			if from, to = 0, 0; i > 1 && strings.HasPrefix(l, "+++ ") {
				name := l
				if l == "+++ /dev/null" {
					name = lines[i-1]
				}
				fmt.Fprintf(b, "file %s:\n", strings.TrimPrefix(strings.TrimPrefix(name[len("+++ "):], "a/"), "b/"))
			}
			continue
		case l != "" && !strings.ContainsAny(l[:1], " +-@\\"): // a file of which no lines are shown
			from, to = 0, 0
			fmt.Fprintf(b, "%s.\n", strings.TrimRight(l, "."))
			continue
		case strings.HasPrefix(l, "@@"):
			_, added, _ := strings.Cut(l, " +")
			if _, err := fmt.Sscanf(l, "@@ -%d", &from); err == nil {
				_, _ = fmt.Sscanf(added, "%d", &to) // it stays where it is no number
			}
			continue
		case from == 0 && to == 0, strings.HasPrefix(l, `\`):
			continue // the names of the files; "no newline at end of file"
		case strings.HasPrefix(l, "+"):
			fmt.Fprintf(b, "added line %d: %s\n", to, strings.TrimSpace(l[1:]))
			to++
		case strings.HasPrefix(l, "-"):
			fmt.Fprintf(b, "removed line %d: %s\n", from, strings.TrimSpace(l[1:]))
			from++
		default:
			from++
			to++
		}
	}
}
