package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"artoo/agent"
	"artoo/tool"
)

// decision is what a person said of a call, as far as its result line cares.
type decision int

const (
	undecided decision = iota
	applied            // a change allowed once: its result line says so
	denied
)

// Questions show at most this much at once; the pager has all of it.
const (
	maxCommandLines = 60
	maxDiffLines    = 200
	maxLineBytes    = 2000
)

// Question prints what a call would do, all of it as far as it is not overlong,
// and returns the line to ask with (`approve: run "make" in ~/src/shop? [y,n,…] (n) `),
// safe and without escapes, for the caller to show and wait at. The transient
// line stays away until Decided. It prints even when Quiet is set.
func (s *Screen) Question(q agent.Question) string {
	s.do(func() {
		s.startAsking()
		s.named = q.Call.ID
		s.hideTransient()
		s.closeReply()
		if r := s.running(q.Call.ID); r != nil {
			r.started = true
		}
		if (s.opt.ErrTTY || s.opt.Conversation) && s.last == chrome {
			s.emit("\n")
		}
		s.must(s.questionText(q, true))
	})
	return s.ascii(s.askLine(q))
}

// QuestionAll is everything that a question is about, for a pager: safe,
// without colour and not cut.
func (s *Screen) QuestionAll(q agent.Question) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.questionText(q, false)
}

// questionText is what stands above the question. cut leaves overlong parts to
// the pager and colours the rest.
func (s *Screen) questionText(q agent.Question, cut bool) string {
	a := q.Call.Access
	var b strings.Builder
	var seen Hidden
	what := "call"
	switch {
	case a.Command != "":
		what = "command"
		seen = s.commandText(&b, q, cut)
	case a.Diff != "":
		what = "change"
		seen = s.changeText(&b, q, cut)
	default:
		seen = s.otherText(&b, q, cut)
	}
	if q.Reason != "" {
		b.WriteString(s.bodyLine(line(q.Reason), cut))
	}
	if a.Why != "" && a.Why != q.Reason {
		b.WriteString(s.bodyLine(line(a.Why), cut))
	}
	if text := warning(seen, what); text != "" {
		b.WriteString(s.bodyLine(text, cut))
	}
	return b.String()
}

// bodyLine is a remark below a call; in rows unless it goes to a pager.
func (s *Screen) bodyLine(text string, rows bool) string {
	first, next := body, body
	if s.opt.Profile == Spoken {
		first, next, text = "tool: ", "", text+"."
	}
	if !rows {
		return first + text + "\n"
	}
	return s.wrap(text, first, next)
}

// warning tells of characters that a reader would not have seen.
func warning(h Hidden, what string) string {
	switch {
	case h.Total() == 0:
		return ""
	case h.Others == 0:
		return "warning: " + count(h.Marks, "invisible direction mark") + " in this " + what
	}
	return "warning: " + count(h.Total(), "hidden character") + " in this " + what
}

// head is the first line of a question, never cut.
func (s *Screen) head(verb, object string) string {
	if s.opt.Profile == Spoken {
		return "tool: " + verb + " " + object
	}
	pad := strings.Repeat(" ", max(verbCells-cells(verb), 0))
	return margin + s.ink.dim.Sprint(verb) + pad + " " + object
}

func (s *Screen) commandText(b *strings.Builder, q agent.Question, cut bool) Hidden {
	lines, seen := safeLines(strings.TrimRight(q.Call.Access.Command, "\n"), Line)
	shown := lines
	if cut && len(lines) > maxCommandLines {
		shown = lines[:maxCommandLines]
	}
	if s.opt.Profile == Spoken {
		if cut && len(lines) == 1 && seen.Total() == 0 && strings.Contains(s.askLine(q), `"`+lines[0]+`"`) {
			return seen // heard once, in the question that names all of it
		}
		s.spokenCommand(b, callVerb(q.Call), shown, len(lines)-len(shown), cut)
		return seen
	}
	for i, l := range shown {
		l = s.short(l, cut)
		if i == 0 {
			b.WriteString(s.head(callVerb(q.Call), l) + "\n")
			continue
		}
		b.WriteString(s.indent(l))
	}
	s.more(b, len(lines)-len(shown))
	return seen
}

// indent puts a line below the head of a question.
func (s *Screen) indent(l string) string {
	if s.opt.Profile == Spoken {
		return l + "\n"
	}
	return strings.TrimRight(body+l, " ") + "\n"
}

func (s *Screen) more(b *strings.Builder, n int) {
	if n > 0 && s.opt.Profile == Spoken {
		fmt.Fprintf(b, "%s, p reads all.\n", count(n, "more line"))
	} else if n > 0 {
		b.WriteString(s.indent(fmt.Sprintf("%s %s, p shows all", s.ellipsis(), count(n, "more line"))))
	}
}

// short cuts an overlong line and says so.
func (s *Screen) short(l string, cut bool) string {
	if !cut || len(l) <= maxLineBytes {
		return l
	}
	keep := maxLineBytes
	for keep > 0 && l[keep]&0xc0 == 0x80 {
		keep--
	}
	more := count(len([]rune(l[keep:])), "more character")
	if s.opt.Profile == Spoken {
		return l[:keep] + ", and " + more + ", p reads all"
	}
	return fmt.Sprintf("%s %s %s, p shows all", l[:keep], s.ellipsis(), more)
}

// otherText shows a call that is neither a command nor a change of a file: its
// object, and its whole input where that says more.
func (s *Screen) otherText(b *strings.Builder, q agent.Question, cut bool) Hidden {
	object, seen := safeLines(q.Call.Access.Object, Line)
	b.WriteString(s.head(callVerb(q.Call), s.short(strings.Join(object, "^J"), cut)) + "\n")
	if q.Call.Access.Kind == tool.KindNetwork && q.Call.Access.Object != "" {
		return seen
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, q.Call.Input, "", "  ") != nil || pretty.Len() <= len("{}") {
		return seen
	}
	text := pretty.String()
	if s.opt.Profile == Spoken {
		text = spokenInput(q.Call.Input)
	}
	lines, more := safeLines(text, Line)
	seen.Marks += more.Marks
	seen.Others += more.Others
	shown := lines
	if cut && len(lines) > maxCommandLines {
		shown = lines[:maxCommandLines]
	}
	for _, l := range shown {
		b.WriteString(s.indent(s.short(l, cut)))
	}
	s.more(b, len(lines)-len(shown))
	return seen
}

// safeLines sanitises text line by line.
func safeLines(text string, where Context) ([]string, Hidden) {
	z := Sanitizer{Where: where}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = z.Write(l) + z.Close()
	}
	return lines, z.Hidden()
}
