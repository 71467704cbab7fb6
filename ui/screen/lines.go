package screen

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/text/unicode/norm"

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
		need = t.last == promptLine || t.last == status
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

func (t *transcript) printCall(c agent.Call, result string, ink style) {
	named := t.named == c.ID
	t.named = c.ID
	t.print(t.layout.callLine(c, result, ink, named))
}

// cells is the width of a text without escapes.
func cells(s string) int { return displaywidth.String(s) }

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

const (
	// guardMark begins a row of untrusted text that would begin with a word of
	// artoo's own.
	guardMark = "| "
	// ours begins a line of artoo's own, which needs no mark. It is never written, and the
	// sanitiser lets no control character through.
	ours = '\x02'
	// maxUndecided is how many bytes of a row are read before it is taken to be forged.
	maxUndecided = 1 << 10
)

// ownWords begin lines of artoo's own, and no others, in every profile.
var ownWords = []string{"you:", "you[", "approve:", "answer:"}

// spokenWords are those of a transcript that is heard.
var spokenWords = []string{"you:", "you[", "approve:", "answer:", "tool:", "note:", "error:", "status:"}

// rowGuard puts guardMark before the rows of untrusted text that begin with one of artoo's own
// words, or with a text that looks like one: behind spaces, marks and invisible characters, in
// any case, in letters of other scripts. A terminal breaks a line that is too long into rows,
// which count too. Text is appended to a buffer, in pieces of any size: the bytes are the same.
type rowGuard struct {
	words []string
	width int // cells of a row; 0 means that no terminal breaks lines

	decided bool   // nothing more is to be done in this row
	at      int    // where in the buffer the row begins, until it is decided
	read    []rune // the letters that the row begins with
	col     int    // cells of the row
}

func (g *rowGuard) begin(n int) {
	g.decided, g.at, g.read, g.col = false, n, g.read[:0], 0
}

// trust lets a row pass whose beginning, of so many cells, is artoo's own.
func (g *rowGuard) trust(cells int) { g.decided, g.col = true, cells }

// safe is how many of n bytes no mark can come into any more.
func (g *rowGuard) safe(n int) int {
	if g.decided {
		return n
	}
	return min(g.at, n)
}

func (g *rowGuard) cut(n int) { g.at = max(g.at-n, 0) }

// text appends safe text of one line, and returns how many cells of marks came in.
func (g *rowGuard) text(buf []byte, s string) (out []byte, marks int) {
	if g.decided && (g.width == 0 || sanitize.IsPlainASCII(s) && !strings.Contains(s, "\t") && g.col+len(s) <= g.width) {
		g.col += len(s)
		return append(buf, s...), 0
	}
	for _, r := range s {
		wide := displaywidth.Rune(r)
		switch {
		case r == '\t' && g.width > 0:
			g.col = min(g.col+tabStop-g.col%tabStop, g.width-1)
		case g.width > 0 && g.col+wide > g.width:
			g.begin(len(buf))
			g.col = wide
		default:
			g.col += wide
		}
		buf = append(buf, string(r)...)
		if g.decided || !g.forged(r) && len(buf)-g.at < maxUndecided {
			continue
		}
		g.decided = true
		buf = append(buf[:g.at], append([]byte(guardMark), buf[g.at:]...)...)
		g.col += len(guardMark)
		marks += len(guardMark)
	}
	return buf, marks
}

// forged reads the next character, and reports whether the row now begins with an own word.
func (g *rowGuard) forged(r rune) bool {
	if r < 0x80 {
		return g.letter(r)
	}
	for _, part := range norm.NFKD.String(string(r)) {
		if g.letter(part) {
			return true
		}
	}
	return false
}

func (g *rowGuard) letter(r rune) bool {
	switch {
	case g.decided || unicode.Is(unicode.M, r) || sanitize.Invisible(r):
		return false
	case len(g.read) == 0 && r == '|':
		g.decided = true // it is marked already
		return false
	case len(g.read) == 0 && !unicode.IsLetter(r):
		return false
	}
	blank := unicode.IsSpace(r)
	if !blank {
		g.read = append(g.read, r)
	}
	may := false
	for _, w := range g.words {
		if !looksLike(g.read, w) {
			continue
		}
		if len(g.read) == len(w) {
			return true
		}
		may = may || !blank || len(g.read) == len(w)-1 // a blank before its last character
	}
	g.decided = !may
	return false
}

func looksLike(read []rune, word string) bool {
	if len(read) > len(word) {
		return false
	}
	for i, r := range read {
		if c := rune(word[i]); unicode.ToLower(r) != c && !strings.ContainsRune(lookalikes[c], r) {
			return false
		}
	}
	return true
}

// lookalikes look like a letter in usual fonts, and compatibility decomposition does not make
// them that letter.
var lookalikes = [...]string{
	'a': "аАαΑɑᴀᎪꓮⲁⲀ",
	'e': "еЕεΕєЄҽᴇᎬꓰⲉⲈɛ",
	'n': "пηΝՈոɴꓠ",
	'o': "оОοΟσ0øØɵօՕᴏꓳⲟⲞ",
	'p': "рРρΡᴘᏢꓑⲣⲢ",
	'r': "гᴦʀᎡꓣɾ",
	's': "ѕЅꜱᏚꓢ",
	't': "тТτΤᴛᎢꓔⲧⲦ",
	'u': "υսцᴜꓴՍʊ",
	'v': "νΝѵѴᴠᏙꓦυ",
	'w': "ѡѠԝԜᴡᎳꓪɯωա",
	'y': "уУүҮγΥУʏყᎩꓬⲩⲨʎ",
	'[': "⁅❲〔【⟦［",
	':': "∶ː˸։׃܃꞉᠄ꓽ",
}

func (lay *layout) marked(text string) string {
	width := 0
	if lay.opt.ErrTTY {
		width = lay.width()
	}
	return markRows(text, ownWords, width)
}

// heard is an untrusted text with its marks against the words of a transcript that is heard.
func (lay *layout) heard(text string) string {
	if lay.opt.Profile != Spoken {
		return text
	}
	return markRows(text, spokenWords, 0)
}

// markRows marks the rows of a text that may hold artoo's styles and links.
func markRows(text string, words []string, width int) string {
	g := rowGuard{words: words, width: width}
	buf := make([]byte, 0, len(text)+len(guardMark))
	for l := range strings.Lines(text) {
		g.begin(len(buf))
		if l[0] == ours {
			l = l[1:]
			g.trust(0)
		}
		row, end := strings.CutSuffix(l, "\n")
		if buf = g.styled(buf, row); end {
			buf = append(buf, '\n')
		}
	}
	return string(buf)
}

func (g *rowGuard) styled(buf []byte, row string) []byte {
	for row != "" {
		n := strings.IndexByte(row, '\x1b')
		switch {
		case n < 0:
			n = len(row)
			fallthrough
		case n > 0:
			buf, _ = g.text(buf, row[:n])
		default:
			n = max(sanitize.SequenceAt(row), 1)
			buf = append(buf, row[:n]...)
		}
		row = row[n:]
	}
	return buf
}

// unforged is a text within a line of artoo's own, with a mark within each own word: a row of
// the text may begin anywhere.
func unforged(text string) string {
	var b strings.Builder
	marks := map[int]bool{}
	for i, r := range text {
		if n := lastOfOwn(text[i:]); n > 0 && unicode.IsLetter(r) {
			marks[i+n] = true
		}
		if marks[i] {
			b.WriteByte('|')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// lastOfOwn is where the own word that a text begins with has its last character; 0 without
// one.
func lastOfOwn(text string) int {
	g := rowGuard{words: ownWords}
	for i, r := range text {
		if g.forged(r) {
			return i
		}
		if g.decided {
			break
		}
	}
	return 0
}

// Marked is safe text with a mark before each row that begins with an own word.
func (s *Screen) Marked(text string) string {
	return read(s, func(t *transcript) string { return s.layout.marked(text) })
}
