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
	// the rows that belong to a call.
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

func (lay *layout) object(c agent.Call) string {
	text := strings.TrimRight(c.Access.Object, "\n")
	first, rest, more := strings.Cut(text, "\n")
	first = lay.oneLine(sanitize.Text(lay.path(first), sanitize.Line))
	if more && !listed(c) {
		first += lay.words(" "+lay.ellipsis()+" ", ", and ") + texts.Count(strings.Count(rest, "\n")+1, "more line")
	}
	return lay.ascii(first)
}

// listed reports whether all lines of the object are for the user, as a plan's are.
func listed(c agent.Call) bool { return c.Access.Kind == tool.KindNone && c.Access.Command == "" }

const maxListed = 100

func (lay *layout) list(c agent.Call) string {
	_, rest, _ := strings.Cut(strings.TrimRight(c.Access.Object, "\n"), "\n")
	if !listed(c) || rest == "" {
		return ""
	}
	before := lay.bodyIndent()
	lines := strings.Split(rest, "\n")
	more := ""
	if n := len(lines) - maxListed; n > 0 {
		lines = lines[:maxListed]
		more = lay.prose(texts.Count(n, "more line"), before)
	}
	return lay.prose(strings.Join(lines, "\n"), before) + more
}

// callLine is the line of a call with its result; "" when it has none yet.
func (lay *layout) callLine(c agent.Call, result string, ink style, named bool) string {
	if lay.opt.Profile == Spoken {
		return lay.spokenCall(c, result, named)
	}
	return lay.row(callText{verb: callVerb(c), object: lay.object(c), result: result, edge: rightEdge, ink: ink}) + "\n"
}

func (lay *layout) ranLine(c agent.Call, result string, ink style) string {
	if lay.opt.Profile == Spoken {
		return lay.spokenCall(c, result, true)
	}
	return lay.row(callText{verb: callVerb(c), result: result, ink: ink}) + "\n"
}

type callText struct {
	verb, object, result string
	edge                 int // the column where the result ends if it can
	bare                 bool
	ink                  style
}

// row sets verb, object and result on one line. Where rows are seen, an overlong object is cut,
// and an overlong result goes below.
func (lay *layout) row(l callText) string {
	at := len(margin) + max(cells(l.verb), verbCells)
	verb := l.verb
	if !l.bare {
		verb = lay.ink(dim).Sprint(verb)
	}
	head := margin + verb
	if l.object == "" && l.result == "" {
		return head
	}
	head += strings.Repeat(" ", max(verbCells-cells(l.verb), 0))
	if l.object == "" {
		plain := margin + l.verb + strings.Repeat(" ", max(verbCells-cells(l.verb), 0)) + " "
		return head + " " + lay.painted(strings.TrimSuffix(lay.wrap(l.result, plain, body), "\n")[len(plain):], l.ink)
	}
	if lay.opt.ErrTTY && !l.bare && at+1+min(cells(l.object), leastObject)+2+cells(l.result) >= lay.width() {
		head += " " + lay.cut(l.object, lay.width()-1-at-1)
		return head + "\n" + lay.painted(strings.TrimSuffix(lay.wrap(l.result, body, body), "\n"), l.ink)
	}
	edge := min(l.edge, lay.width()-1)
	object := l.object
	if lay.opt.ErrTTY {
		object = lay.cut(object, max(lay.width()-1-at-1-2-cells(l.result), leastObject))
	}
	at += 1 + cells(object)
	head += " " + object
	switch n := cells(l.result); {
	case n == 0:
		return head
	case lay.opt.Profile == Rich && lay.opt.ErrTTY && at+2+n <= edge:
		return head + strings.Repeat(" ", edge-at-n) + lay.painted(l.result, l.ink)
	}
	return head + "  " + lay.painted(l.result, l.ink)
}

func result(r agent.CallResult) string {
	summary := line(r.Summary)
	switch r.Status {
	case agent.CallDenied:
		return prefixed("denied", summary)
	case agent.CallUnanswered:
		return "denied: no one can answer"
	case agent.CallInterrupted:
		return prefixed("interrupted", summary)
	case agent.CallFailed:
		return cmp.Or(summary, "failed")
	case agent.CallOK:
		return cmp.Or(summary, "ok")
	}
	return summary
}

// prefixed is the event, and behind it why, if that is known and does not say it itself.
func prefixed(what, why string) string {
	switch {
	case why == "":
		return what
	case strings.HasPrefix(why, what):
		return why
	}
	return what + ": " + why
}

// lastLines is the end of an output, at most n of its lines, without its escape sequences:
// colours would add a meaning that plain text lacks.
func (lay *layout) lastLines(text string, n int) string {
	text = strings.TrimRight(sanitize.Text(sanitize.StripSequences(text), sanitize.Code), "\n")
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	var b strings.Builder
	if lay.opt.Profile == Spoken {
		fmt.Fprintf(&b, "tool: output, last %s:\n", texts.Count(len(lines), "line"))
		for _, l := range lines {
			b.WriteString(lay.heard(strings.TrimSpace(l)) + "\n")
		}
		return b.String() + "end output.\n"
	}
	for _, l := range lines {
		l = lay.ascii(strings.TrimRight(strings.ReplaceAll(l, "\t", "    "), " "))
		if lay.opt.ErrTTY {
			l = lay.cut(l, lay.width()-1-len(body))
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

const maxOneLine = 2000

func (lay *layout) oneLine(text string) string {
	if len(text) <= maxOneLine {
		return text
	}
	kept := texts.Cut(text, maxOneLine)
	return fmt.Sprintf("%s %s %s", kept, lay.ellipsis(), texts.Count(utf8.RuneCountInString(text[len(kept):]), "more character"))
}
