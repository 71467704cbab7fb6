package screen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/tool"
	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

// decision is a user's answer about a call, as far as its result line cares.
type decision int

const (
	undecided decision = iota
	applied            // a change allowed once: its result line says so
	denied
	final // the decision is all that its result says
)

// beginAsking makes room for a question.
func (t *transcript) beginAsking() {
	if !t.asking {
		t.asking, t.askedAt = true, t.opt.Now()
	}
	t.hideProgress()
	t.closeReply()
}

// Approval is the question whether a call may be made, or whether its changes land.
type Approval struct{ agent.Question }

func (q Approval) begin(t *transcript) {
	t.named = q.Call.ID
	if r := t.work.running(q.Call.ID); r != nil {
		r.started = true
	}
	if (t.opt.ErrTTY || t.opt.Conversation) && (t.last == status || t.last == block) {
		t.emit("\n")
	}
}

func (q Approval) prompt(lay *layout) string { return lay.ascii(lay.askLine(q)) }

func (q Approval) show(b *asking) {
	a, lay := q.Call.Access, b.lay
	b.what = "call"
	switch {
	case q.Kind == agent.QuestionPlan:
		b.what = "plan"
		b.plan(q)
	case q.Effects != nil:
		b.what = "change"
		b.command(q)
		b.effects(q)
		b.last = b.named(permission.Matters(), *q.Effects, q.Diff)
	case a.Command != "":
		b.what = "command"
		b.command(q)
		if a.To != "" {
			b.remark("to " + b.oneRow(a.To)) // the running command that text is typed to
		}
		if dir := lay.elsewhere(q); dir != "" && a.To == "" && (!b.cut || !strings.Contains(lay.askLine(q), " in "+dir+"?")) {
			b.remark("in " + dir)
		}
		b.remark(b.held(q))
	case a.Diff != "":
		b.what = "change"
		b.change(q)
	case a.Kind == tool.KindServer:
		b.server(q)
	case q.Kind == agent.QuestionMemory:
		b.what = "line"
		b.other(q)
	default:
		b.other(q)
	}
	if q.Effects == nil && !(b.short && q.onlyOwnPrograms()) {
		b.remark(line(q.Reason))
	}
	if a.Why != q.Reason {
		b.remark(line(a.Why))
	}
}

func (q Approval) onlyOwnPrograms() bool { return q.OwnPrograms() && len(q.Reasons) == 1 }

// held is what the question says of the sandbox. In short it leaves out only what the command cannot do.
func (b *asking) held(q Approval) string {
	full := held(q)
	if !b.short || full == "" || q.Kind == agent.QuestionOutside || q.Kind == agent.QuestionWhole {
		return full
	}
	text := "confined: no network, keys or home"
	if q.Network {
		text = "confined: no keys or home; it has the network"
	}
	if len(q.Hosts) > 0 {
		text = "confined: no keys or home, no network except " + line(texts.UpTo(8, q.Hosts)) + ", to which it can send what it reads"
	}
	if q.onlyOwnPrograms() {
		text = "the project's own programs, " + text
	}
	switch q.Place {
	case permission.PlaceBackground:
		text += "; it works directly on the project"
	case permission.PlaceSandbox:
		text += "; its changes to the project are kept"
	}
	return text
}

// held describes the confinement of the command that a question would run; "" where the question's reason
// says it.
func held(q Approval) string {
	sandbox := "runs in the sandbox: no network except loopback, no keys, no home"
	if q.Network {
		sandbox = "runs in the sandbox: no keys, no home; it has the network"
	}
	if len(q.Hosts) > 0 {
		sandbox = "runs in the sandbox: no keys, no home, no network except " + line(texts.UpTo(8, q.Hosts)) +
			", to which it can send what it reads"
	}
	switch {
	case q.Kind == agent.QuestionOutside:
		return "outside the sandbox it has the network, your keys and your home"
	case q.Kind == agent.QuestionWhole:
		return sandbox + "; it may write all of the project except files that programs run automatically"
	case q.Call.Access.To != "":
		return ""
	}
	switch q.Place {
	case permission.PlaceLayer:
		return sandbox + "; artoo checks its changes afterwards"
	case permission.PlaceBackground:
		return sandbox + "; it works directly on the project"
	case permission.PlaceSandbox:
		return sandbox + "; its changes to the project are kept"
	}
	return ""
}

// bodyLine is a remark below a call; in rows unless it goes to a pager.
func (lay *layout) bodyLine(text string, rows bool) string {
	first, next := lay.body(), lay.body()
	if lay.opt.Profile == Spoken {
		first, next, text = "tool: ", "", text+"."
	}
	if !rows {
		return first + text + "\n"
	}
	return lay.wrap(text, first, next)
}

func warning(h sanitize.Hidden, what string) string {
	switch {
	case h.Total() == 0:
		return ""
	case h.Others == 0:
		return "warning: " + texts.Count(h.Marks, "invisible direction mark") + " in this " + what
	}
	return "warning: " + texts.Count(h.Total(), "hidden character") + " in this " + what
}

// begun is the first line of a question, never cut.
func (lay *layout) begun(verb, object string) string {
	if lay.opt.Profile == Spoken {
		return "tool: " + verb + " " + object
	}
	return lay.head(markBegun, verb) + object
}

// asking puts the text above a question together.
type asking struct {
	strings.Builder
	lay *layout
	// short says that the user knows the sandbox, unified that a diff is a unified one in every profile.
	short, unified bool
	cut            bool            // it is shown on the screen; the pager shows all, as it is
	left           bool            // a part is left to the pager
	seen           sanitize.Hidden // characters that a reader would not have seen
	what           string          // "call": the part that may hold them
	last           string          // stands last, below their warning
}

// about is the text above a question, and whether a part of it was left to the pager. cut
// leaves out the middle of long text, breaks lines into rows and colours them. short says that the user
// knows the sandbox.
func (lay *layout) about(q Confirmation, cut, short bool) (text string, left bool) {
	b := asking{lay: lay, cut: cut, short: short, what: "text"}
	q.show(&b)
	b.remark(warning(b.seen, b.what))
	return b.String() + b.last, b.left
}

// remark adds a line below a call; "" adds none.
func (b *asking) remark(text string) {
	if text != "" {
		b.WriteString(b.lay.bodyLine(text, b.cut))
	}
}

// safe are the lines of a text, each safe to show, with their hidden characters counted.
func (b *asking) safe(text string, where sanitize.Context) []string {
	z := sanitize.Stream{Where: where}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = b.lay.heard(z.Write(l) + z.Close())
	}
	seen := z.Hidden
	b.seen.Marks += seen.Marks
	b.seen.Others += seen.Others
	return lines
}

// command shows all lines of a command, or says them between two sentences, so that its end is
// heard.
func (b *asking) command(q Approval) {
	text, where := strings.TrimRight(q.Call.Access.Command, "\n"), sanitize.Line
	// A Makefile or a Go file that the command writes is indented by tabs.
	if strings.Contains(text, "\n") {
		where = sanitize.Lines
	}
	lines := b.safe(text, where)
	verb := callVerb(q.Call)
	switch {
	case b.lay.opt.Profile != Spoken:
		rows := b.lay.fold(lines, b.lay.begun(verb, ""), b.lay.body(), b.cut)
		rows[0] = b.dimmed(rows[0], verb)
		b.rows(rows)
	case b.cut && len(lines) == 1 && b.seen.Total() == 0 && strings.Contains(b.lay.askLine(q), `"`+lines[0]+`"`):
		// heard once, in the question that names all of it
	case len(lines) == 1 && !b.lay.tooLong(lines):
		b.WriteString(b.lay.begun(verb, lines[0]) + "\n")
	default:
		b.WriteString(b.lay.begun(verb, texts.Count(len(lines), "line")) + ":\n")
		b.rows(b.lay.fold(lines, "", "", b.cut))
		b.WriteString("end command.\n")
	}
}

// other shows a call's object, and its whole input where that says more.
func (b *asking) other(q Approval) {
	a := q.Call.Access
	object := b.oneRow(a.Object)
	verb := callVerb(q.Call)
	rows := b.lay.fold([]string{object}, b.lay.begun(verb, ""), b.lay.body(), b.cut)
	rows[0] = b.dimmed(rows[0], verb)
	if q.Kind != agent.QuestionMemory && (a.Kind != tool.KindNetwork || a.Object == "") {
		rows = append(rows, b.input(q.Call.Input)...)
	}
	b.rows(rows)
}

// input are the rows of a call's whole input; none for an empty one.
func (b *asking) input(input []byte) []string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, input, "", "  ") != nil || pretty.Len() <= len("{}") {
		return nil
	}
	text, before := b.lay.words(pretty.String(), spokenInput(input)), b.lay.bodyIndent()
	return b.lay.fold(b.safe(text, sanitize.Line), before, before, b.cut)
}

// server shows a call of an MCP server's tool: the server with its command or address, the whole
// input, and the server's description of the tool, marked as the server's words.
func (b *asking) server(q Approval) {
	a := q.Call.Access
	verb := callVerb(q.Call)
	rows := b.lay.fold([]string{b.oneRow(a.Object)}, b.lay.begun(verb, ""), b.lay.body(), b.cut)
	rows[0] = b.dimmed(rows[0], verb)
	b.rows(rows)
	b.remark("server " + b.oneRow(a.Server) + ": " + b.oneRow(a.Address))
	b.rows(b.input(q.Call.Input))
	if a.Claims != "" {
		b.remark(`the server says "` + b.oneRow(a.Claims) + `"; artoo does not rely on that`)
	}
	if a.Changed != "" {
		b.remark("its definition is not the accepted one")
		b.changedText(a.Changed)
	}
}

// effects shows a command's changes on a layer: counts and names, then the text that changed, if
// it has at most mostDiffRows. The most important rows stand last, see Approval.show. Counts are
// said again below where the first row has moved up.
func (b *asking) effects(q Approval) {
	e, began := q.Effects, strings.Count(b.String(), "\n")
	head := "ran in a throwaway copy; it would change" + either(b.lay.rich(), ":", ": "+e.Summary())
	if e.There {
		head = "ran in the sandbox, on the project itself; n moves away the files that programs run automatically"
	}
	b.remark(head)
	if names := b.named(permission.Others(), *e, q.Diff); names != "" {
		b.rows(strings.Split(strings.TrimSuffix(names, "\n"), "\n"))
	}
	if q.Diff != "" {
		b.changedText(q.Diff)
	}
	if b.cut && strings.Count(b.String(), "\n")-began > repeatAfter {
		b.remark("in all: " + b.lay.counted(*e))
	}
}

const (
	mostDiffRows = 60
	repeatAfter  = 20 // rows between the two places of the counts
)

func (b *asking) changedText(diff string) {
	lines := b.safe(strings.TrimRight(diff, "\n"), sanitize.Source)
	switch rows, hidden := b.diffRows(lines, false); {
	case b.cut && len(rows) > mostDiffRows:
		b.left = true
		b.remark(texts.Count(len(rows), "row") + " of changed text: p " + b.lay.words("shows", "reads") + " all; y counts after that")
	case b.lay.opt.Profile != Spoken:
		b.diffShown(rows, hidden, mostDiffRows)
	case !b.cut:
		b.lay.spokenDiff(&b.Builder, lines)
	}
}

// named are the names of effects, one a row. A question sums many of them up by directory.
func (b *asking) named(kinds []permission.What, e permission.Effects, diff string) string {
	var text strings.Builder
	size := sizes(diff)
	// A short diff names its files itself.
	named := b.lay.rich() && b.cut && strings.Count(diff, "\n") <= repeatAfter
	for _, row := range e.Rows(b.cut, kinds...) {
		what, path, _ := strings.Cut(row, ": ")
		switch n, shown := size[path]; {
		case !b.lay.rich():
			text.WriteString(b.lay.bodyLine(b.oneRow(row), b.cut))
		case !shown || !named || changeLetters[permission.What(what)] == "":
			text.WriteString(b.changed(permission.What(what), path, n))
		}
	}
	return text.String()
}

// did are the rows of all changes that a command made.
func (b *asking) did(e permission.Effects, diff string) {
	b.WriteString(b.named(append(permission.Matters(), permission.Others()...), e, diff))
	if len(e.Built) > 0 {
		b.remark(e.Output())
	}
}

// mostApplied is how many rows of applied changes stand below a call.
const mostApplied = 10

// applied takes the words for applied changes out of a text on a rich terminal, where rows say the same.
func (lay *layout) applied(text string, a agent.Applied) (rest, rows string) {
	if a.Effects == nil || !lay.rich() {
		return text, ""
	}
	b := asking{lay: lay, cut: true}
	b.did(*a.Effects, "")
	all := strings.SplitAfter(b.String(), "\n")
	if more := len(all) - 1 - mostApplied; more > 0 {
		all = append(all[:mostApplied], lay.bodyLine(lay.ellipsis()+" "+texts.Count(more, "more row"), true))
	}
	return strings.Replace(text, a.Words, "", 1), strings.Join(all, "")
}

// changeLetters stand for what became of a path.
var changeLetters = map[permission.What]string{permission.Modified: "M ", permission.Created: "A ",
	permission.NewDirectory: "A ", permission.Deleted: "D "}

// changed is the row of a changed path with a letter for what became of it, or in words.
func (b *asking) changed(what permission.What, path string, size [2]int) string {
	look := pathStyle
	switch what {
	case permission.RunsAutomatically:
		look = askStyle
	case permission.Deleted, permission.GitLoses, permission.Never:
		look = errorStyle
	}
	first := b.lay.body() + cmp.Or(changeLetters[what], string(what)+": ")
	text, lines := b.oneRow(path), ""
	if size != [2]int{} {
		lines = "  " + strings.TrimPrefix(b.lay.size(size[0], size[1]), "+0 ")
	}
	if b.cut {
		rows := b.lay.wrap(text, first, b.lay.body()+margin)
		text = b.lay.painted(strings.TrimSuffix(rows[len(first):], "\n"), look)
	}
	return first + text + lines + "\n"
}

// sizes are the lines that a diff of several files adds and removes, by path.
func sizes(diff string) map[string][2]int {
	all := map[string][2]int{}
	for _, f := range filesOf(parseDiff(strings.Split(diff, "\n"))) {
		all[cmp.Or(f.to, f.from)] = [2]int{f.added, f.removed}
	}
	return all
}

func (b *asking) plan(q Approval) {
	verb := callVerb(q.Call)
	b.WriteString(b.lay.callLine(q.Call, "", markBegun, false))
	if b.lay.opt.Profile != Spoken {
		b.WriteString("\n")
	}
	if !b.cut || !b.lay.opt.ErrTTY {
		b.rows(strings.Split(strings.TrimRight(indented(q.Plan, margin), "\n"), "\n"))
		return
	}
	rows := b.lay.whole(q.Plan, b.lay.width()-len(margin), "")
	lines := strings.Split(strings.TrimRight(rows, "\n"), "\n")
	for i, l := range lines {
		if l != "" && b.lay.opt.Profile != Spoken {
			lines[i] = margin + l
		}
	}
	b.rows(lines)
	if b.lay.opt.Profile == Spoken {
		b.WriteString("end " + verb + ".\n")
	}
}

// Choice prints a question with its choices, also when Quiet is set, and returns the line to
// ask with.
func (s *Screen) Choice(q agent.Question) string {
	s.do(func(t *transcript) {
		t.beginAsking()
		Approval{q}.begin(t)
		text := s.layout.led(markAsk, "", s.layout.prose(q.Text, s.layout.before("question: ")))
		if t.must(text + s.layout.numbered(q.Choices)); s.layout.rich() {
			t.lastRun = q.Call.ID
		}
	})
	n, words, answering := len(q.Choices), s.layout.words, s.layout.asks()+answering
	switch {
	case q.Kind == agent.QuestionCompact:
		return answering + fmt.Sprintf(words("[1-%d] (trim) ", "Type a number from 1 to %d. Enter trims. "), n)
	case n > 0:
		return answering + fmt.Sprintf(words("[1-%d, or your words] (none) ",
			"Type a number from 1 to %d, or your own words. Enter means none. "), n)
	}
	return answering + words("[your words] (none) ", "Type your answer. Enter means none. ")
}

// numbered are choices with their numbers.
func (lay *layout) numbered(choices []string) string {
	before := lay.before("") + lay.before("")
	var b strings.Builder
	for i, choice := range choices {
		b.WriteString(lay.wrap(lay.ascii(line(choice)), fmt.Sprintf("%s%d  ", before, i+1), before+"   "))
	}
	return b.String()
}

func planDecided(q agent.Question, a agent.Answer) string {
	switch a.Verdict {
	case agent.Yes:
		return "approved, mode " + string(q.Then)
	case agent.YesForSession:
		return "approved, mode edits"
	case agent.YesFresh:
		return "approved, mode " + string(q.Then) + ", with a fresh context"
	case agent.StopTurn:
		return "not approved; turn stopped"
	}
	return prefixed("not approved", line(a.Reason))
}

func memoryDecided(a agent.Answer) string {
	switch a.Verdict {
	case agent.Yes:
		return "added; /memory edit changes it"
	case agent.StopTurn:
		return "not added; turn stopped"
	}
	return prefixed("not added", line(a.Reason))
}

// OfferCommand asks for the command that a user chose to name.
const OfferCommand = answering + "which command? "

// Offer prints an offer with its choices, and returns the line to ask with.
// Enter alone takes the last choice.
func (s *Screen) Offer(text string, choices []string) (prompt string) {
	s.do(func(t *transcript) {
		t.must(s.layout.said(markAsk, text) + s.layout.numbered(choices))
	})
	n, last := len(choices), choices[len(choices)-1]
	choose := s.layout.words("[1-%d] (%s) ", "Type a number from 1 to %d. Enter means %s. ")
	return s.layout.asks() + answering + "which one? " + fmt.Sprintf(choose, n, last)
}
