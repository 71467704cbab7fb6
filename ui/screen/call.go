package screen

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"artoo/agent"
	"artoo/tool"
	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

const (
	// margin is the indent of all status, verbCells the column of verbs after
	// it, rightEdge where results end on a rich terminal, body the indent of
	// what belongs to a call.
	margin    = "  "
	verbCells = 7
	rightEdge = 78
	body      = "          "
	tailLines = 5
	// leastObject is how much of an object stays beside a result; one that
	// leaves less room stands in rows of its own.
	leastObject = 20
)

// A call's verb, or a name that the model made up, has at most so many cells.
const maxVerb = 60

func callVerb(c agent.Call) string {
	verb := cmp.Or(c.Access.Verb, c.Name)
	verb = displaywidth.TruncateString(line(verb[:min(len(verb), 10*maxVerb)]), maxVerb, "...")
	if c.Agent != "" {
		verb = line(c.Agent) + ": " + verb
	}
	return verb
}

// object is what a call works on, in one safe line, as wide as it will be shown.
func (s *Screen) object(c agent.Call) string {
	text := strings.TrimRight(c.Access.Object, "\n")
	first, rest, more := strings.Cut(text, "\n")
	first = s.oneLine(sanitize.Text(s.path(first), sanitize.Line))
	switch n := strings.Count(rest, "\n") + 1; {
	case !more || listed(c):
	case s.opt.Profile == Spoken:
		first += ", and " + texts.Count(n, "more line")
	default:
		first += fmt.Sprintf(" %s %s", s.ellipsis(), texts.Count(n, "more line"))
	}
	return s.ascii(first)
}

// listed reports whether all lines of the object are for the user, as those of
// a plan are, and not just what the call works on.
func listed(c agent.Call) bool { return c.Access.Kind == tool.KindNone && c.Access.Command == "" }

// maxListed is how many lines of an object are shown below its call.
const maxListed = 100

// list is the further lines of an object that is shown whole, one below the
// other.
func (s *Screen) list(c agent.Call) string {
	_, rest, _ := strings.Cut(strings.TrimRight(c.Access.Object, "\n"), "\n")
	if !listed(c) || rest == "" {
		return ""
	}
	before := s.bodyIndent()
	lines := strings.Split(rest, "\n")
	more := ""
	if n := len(lines) - maxListed; n > 0 {
		lines = lines[:maxListed]
		more = s.prose(texts.Count(n, "more line"), before)
	}
	return s.prose(strings.Join(lines, "\n"), before) + more
}

// callLine is the line of a call with its result; "" when it has none yet.
func (s *Screen) callLine(c agent.Call, result string) string { return s.callLineIn(c, result, 0) }

// callLineIn is callLine with a style for the result; 0 is no style.
func (s *Screen) callLineIn(c agent.Call, result string, ink style) string {
	if s.opt.Profile == Spoken {
		return s.spokenCall(c, result)
	}
	l := callText{verb: callVerb(c), object: s.object(c), result: result, edge: rightEdge, ink: ink}
	return s.lay(l) + "\n"
}

// ranLine is the end of a call whose own line stands right above.
func (s *Screen) ranLine(c agent.Call, result string, ink style) string {
	if s.opt.Profile == Spoken {
		return s.spokenCall(c, result)
	}
	return s.lay(callText{verb: callVerb(c), result: result, ink: ink}) + "\n"
}

// callText is what goes into the line of a call; all of it is safe.
type callText struct {
	verb, object, result string
	edge                 int  // the column where the result ends if it can
	bare                 bool // without styles
	ink                  style
}

// lay sets verb, object and result on one line. Where rows are seen, an
// overlong object is cut, and an overlong result goes below.
func (s *Screen) lay(l callText) string {
	at := len(margin) + max(cells(l.verb), verbCells)
	verb := l.verb
	if !l.bare {
		verb = s.ink(dim).Sprint(verb)
	}
	head := margin + verb
	if l.object == "" && l.result == "" {
		return head
	}
	head += strings.Repeat(" ", max(verbCells-cells(l.verb), 0))
	if l.object == "" {
		plain := margin + l.verb + strings.Repeat(" ", max(verbCells-cells(l.verb), 0)) + " "
		return head + " " + s.painted(strings.TrimSuffix(s.wrap(l.result, plain, body), "\n")[len(plain):], l.ink)
	}
	if s.opt.ErrTTY && !l.bare && at+1+min(cells(l.object), leastObject)+2+cells(l.result) >= s.width() {
		head += " " + s.cut(l.object, s.width()-1-at-1)
		return head + "\n" + s.painted(strings.TrimSuffix(s.wrap(l.result, body, body), "\n"), l.ink)
	}
	edge := min(l.edge, s.width()-1)
	object := l.object
	if s.opt.ErrTTY {
		object = s.cut(object, max(s.width()-1-at-1-2-cells(l.result), leastObject))
	}
	at += 1 + cells(object)
	head += " " + object
	switch n := cells(l.result); {
	case n == 0:
		return head
	case s.opt.Profile == Rich && s.opt.ErrTTY && at+2+n <= edge:
		return head + strings.Repeat(" ", edge-at-n) + s.painted(l.result, l.ink)
	}
	return head + "  " + s.painted(l.result, l.ink)
}

// result says how a call ended, in a few words.
func result(r agent.CallResult) string {
	summary := line(r.Summary)
	switch r.Status {
	case agent.CallDenied:
		return prefixed("denied", summary)
	case agent.CallUnanswered:
		return prefixed("denied: no one can answer", "")
	case agent.CallInterrupted:
		return prefixed("interrupted", summary)
	case agent.CallFailed:
		if summary == "" {
			return "failed"
		}
	case agent.CallOK:
		if summary == "" {
			return "ok"
		}
	}
	return summary
}

func prefixed(word, summary string) string {
	switch {
	case summary == "":
		return word
	case strings.HasPrefix(summary, word):
		return summary
	}
	return word + ": " + summary
}

// tail is the end of a failed command's output, without its escape sequences:
// colours would say what the words do not.
func (s *Screen) tail(text string) string { return s.lastLines(text, tailLines) }

// lastLines is the end of an output, at most n of its lines.
func (s *Screen) lastLines(text string, n int) string {
	text = strings.TrimRight(sanitize.Text(sanitize.StripSequences(text), sanitize.Code), "\n")
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	var b strings.Builder
	if s.opt.Profile == Spoken {
		fmt.Fprintf(&b, "tool: output, last %s:\n", texts.Count(len(lines), "line"))
		for _, l := range lines {
			b.WriteString(s.heard(strings.TrimSpace(l)) + "\n")
		}
		return b.String() + "end output.\n"
	}
	for _, l := range lines {
		l = s.ascii(strings.TrimRight(strings.ReplaceAll(l, "\t", "    "), " "))
		if s.opt.ErrTTY {
			l = s.cut(l, s.width()-1-len(body))
		}
		if l != "" {
			b.WriteString(body + l)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Count is a number with its noun.
func Count(n int, noun string) string { return texts.Count(n, noun) }

// maxOneLine is the most bytes of a line that tells of a call or a failure.
const maxOneLine = 2000

// oneLine cuts an overlong line and says so.
func (s *Screen) oneLine(text string) string {
	if len(text) <= maxOneLine {
		return text
	}
	kept := texts.Cut(text, maxOneLine)
	return fmt.Sprintf("%s %s %s", kept, s.ellipsis(), texts.Count(utf8.RuneCountInString(text[len(kept):]), "more character"))
}
