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

func (t *transcript) print(lines string) {
	t.closeReply()
	t.gap(status)
	t.put(lines)
}

// aside puts whole lines into the transcript; an open reply goes on in the next row.
func (t *transcript) aside(lines string) {
	if t.open.md != nil && !t.open.shown { // all of the reply is still held back
		t.gap(status)
		t.put(lines)
		return
	}
	if !t.open.replying() {
		t.print(lines)
		return
	}
	last := t.last
	if t.open.md != nil && t.opt.ErrTTY {
		t.breakRow()
	}
	t.put(lines)
	t.last = last
}

func (t *transcript) must(lines string) {
	quiet := t.opt.Quiet
	t.opt.Quiet = false
	t.print(lines)
	t.opt.Quiet = quiet
}

func (t *transcript) put(lines string) {
	if !t.opt.Quiet && lines != "" {
		t.emit(t.layout.ascii(lines))
		t.last, t.lastRun = status, ""
	}
}

// emit writes safe text to Err whatever the settings, marked against forged rows.
func (t *transcript) emit(text string) {
	t.hideProgress()
	if t.prompt {
		t.prompt = false
		t.outputs.writeErr(t.opt.Now(), "\n")
	}
	t.outputs.writeErr(t.opt.Now(), t.layout.marked(text))
}

func (t *transcript) gap(next section) {
	if !t.opt.ErrTTY && !t.opt.Conversation {
		return
	}
	var need bool
	switch next {
	case status:
		need = t.last == promptLine || t.last == answer
	case answer:
		need = t.last == promptLine || t.last == status || t.last == block
	case promptLine:
		need = t.last == answer || t.last == banner
	}
	if need && !t.opt.Quiet {
		t.emit("\n")
	}
}

func (lay *layout) ascii(text string) string {
	if lay.opt.UTF8 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r == '…':
			b.WriteString("...")
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// line makes one safe line of untrusted text.
func line(text string) string {
	return sanitize.Text(strings.Join(strings.Fields(text), " "), sanitize.Line)
}

func indented(text, margin string) string {
	text = strings.TrimRight(sanitize.Text(text, sanitize.Code), "\n")
	if text == "" {
		return ""
	}
	var b strings.Builder
	for _, l := range strings.Split(text, "\n") {
		if l != "" {
			b.WriteString(margin)
			b.WriteString(l)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (lay *layout) path(p string) string {
	if rel, ok := below(p, lay.opt.Root); ok && rel != "" {
		return rel
	}
	return lay.home(p)
}

func (lay *layout) home(p string) string {
	if rel, ok := below(p, lay.opt.Home); ok {
		return strings.TrimSuffix("~/"+rel, "/")
	}
	return p
}

// below is a path relative to a directory above it, or "" for the directory itself. Nothing is
// below the root.
func below(p, dir string) (string, bool) {
	dir = strings.TrimRight(dir, "/") + "/"
	rel, ok := strings.CutPrefix(p+"/", dir)
	return strings.TrimSuffix(rel, "/"), ok && dir != "/"
}

// printCall prints the line of a call. On a rich terminal an empty row parts it from rows that belong to the one
// before.
func (t *transcript) printCall(c agent.Call, result string, m mark) {
	named := t.named == c.ID
	t.named = c.ID
	t.part()
	t.print(t.layout.callLine(c, result, m, named))
}

func (t *transcript) part() {
	if t.last == block && !t.opt.Quiet {
		t.closeReply()
		t.emit("\n")
		t.last = status
	}
}

// belongs puts rows below the line of a call, which they belong to.
func (t *transcript) belongs(c agent.Call, rows string) {
	t.print(rows)
	if t.layout.rich() && !t.opt.Quiet {
		t.last, t.lastRun = block, c.ID
	}
}

// cells is the width of a text without escapes.
func cells(s string) int { return displaywidth.String(s) }

const (
	// margin is the indent of all status, rightEdge where results end on a rich terminal.
	margin    = "  "
	rightEdge = 78
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
func (lay *layout) callLine(c agent.Call, result string, m mark, named bool) string {
	if lay.opt.Profile == Spoken {
		return lay.spokenCall(c, result, named)
	}
	text := callText{mark: m, verb: callVerb(c), object: lay.object(c), result: result, edge: rightEdge}
	if lay.rich() && (c.Access.Kind == tool.KindRead || c.Access.Kind == tool.KindWrite) {
		text.look = pathStyle
	}
	return lay.row(text) + "\n"
}

// ranLine is the result of a call whose line stands above.
func (lay *layout) ranLine(c agent.Call, result string, m mark) string {
	switch {
	case lay.opt.Profile == Spoken:
		return lay.spokenCall(c, result, true)
	case lay.rich():
		return lay.below(m, result)
	}
	return lay.row(callText{mark: m, verb: callVerb(c), result: result}) + "\n"
}

type callText struct {
	mark                 mark
	verb, object, result string
	edge                 int // the column where the result ends if it can
	bare                 bool
	// look is the style of the object.
	look style
}

// ink is the style of the result: what was fine is small.
func (lay *layout) resultInk(m mark) style {
	if lay.rich() && m == markDone {
		return dim
	}
	return m.text()
}

// row sets verb, object and result on one line. Where rows are seen, an overlong object is cut,
// and an overlong result goes below.
func (lay *layout) row(l callText) string {
	plain, ink := lay.head(l.mark, l.verb), lay.resultInk(l.mark)
	head := plain
	if !l.bare {
		head = lay.styledHead(l.mark, l.verb)
	}
	at := aligned(plain)
	switch {
	case l.object == "" && l.result == "":
		return strings.TrimRight(head, " ")
	case l.object == "":
		return head + lay.painted(strings.TrimSuffix(lay.wrap(l.result, plain, lay.body()), "\n")[len(plain):], ink)
	case lay.opt.ErrTTY && !l.bare && at+min(aligned(l.object), leastObject)+2+aligned(l.result) >= lay.width():
		head += lay.ink(l.look).Sprint(lay.cut(l.object, lay.width()-1-at))
		return head + "\n" + lay.painted(strings.TrimSuffix(lay.wrap(l.result, lay.body(), lay.body()), "\n"), ink)
	}
	edge := min(l.edge, lay.width()-1)
	object := l.object
	if lay.opt.ErrTTY {
		object = lay.cut(object, max(lay.width()-1-at-2-aligned(l.result), leastObject))
	}
	at += aligned(object)
	if !l.bare {
		head += lay.ink(l.look).Sprint(object)
	} else {
		head += object
	}
	switch n := aligned(l.result); {
	case n == 0:
		return head
	case lay.opt.Profile == Rich && lay.opt.ErrTTY && at+2+n <= edge:
		return head + strings.Repeat(" ", edge-at-n) + lay.painted(l.result, ink)
	}
	return head + "  " + lay.painted(l.result, ink)
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
			l = lay.cut(l, lay.width()-1-lay.column())
		}
		if l != "" {
			b.WriteString(lay.body() + l)
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
