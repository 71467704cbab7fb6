package screen

import (
	"fmt"
	"strings"

	"artoo/agent"
)

// changeText shows a change of a file: the line of the call, then its diff.
func (s *Screen) changeText(b *strings.Builder, q agent.Question, cut bool) Hidden {
	a := q.Call.Access
	object, seen := safeLines(s.path(a.Object), Line)
	verb, path := callVerb(q.Call), strings.Join(object, "^J")
	lines, more := safeLines(strings.TrimRight(a.Diff, "\n"), Code)
	seen.Marks += more.Marks
	seen.Others += more.Others
	if s.opt.Profile == Spoken {
		b.WriteString(s.wrap(fmt.Sprintf("%s, %s added, %d removed.", s.head(verb, path), count(a.Added, "line"), a.Removed), "", ""))
		if !cut { // the question says how much; `p` reads it
			s.spokenDiff(b, lines)
		}
		return seen
	}
	size := fmt.Sprintf("+%d -%d", a.Added, a.Removed)
	if cut && len(margin)+verbCells+1+cells(path)+2+cells(size) < s.width() {
		b.WriteString(s.lay(callText{verb: verb, object: path, result: size, edge: rightEdge}) + "\n\n")
	} else {
		b.WriteString(s.head(verb, path) + "  " + size + "\n\n")
	}
	shown := lines
	if cut && len(lines) > maxDiffLines {
		shown = lines[:maxDiffLines]
	}
	for i, l := range shown {
		text := s.short(l, cut)
		// The first two lines name the files; they begin with - and + too.
		switch {
		case !cut || i < 2:
		case strings.HasPrefix(l, "+"):
			text = s.ink.green.Sprint(text)
		case strings.HasPrefix(l, "-"):
			text = s.ink.red.Sprint(text)
		}
		b.WriteString(text + "\n")
	}
	s.more(b, len(lines)-len(shown))
	return seen
}

// spokenDiff reads the changed lines out, each with its number.
func (s *Screen) spokenDiff(b *strings.Builder, lines []string) {
	var from, to int
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "@@"):
			var a, c int
			// Forms without a count ("@@ -1 +1 @@") leave the count out.
			if fields := strings.Fields(l); len(fields) > 2 {
				if _, err := fmt.Sscanf(fields[1], "-%d", &a); err == nil {
					from = a
				}
				if _, err := fmt.Sscanf(fields[2], "+%d", &c); err == nil {
					to = c
				}
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
