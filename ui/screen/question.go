package screen

import (
	"bytes"
	"encoding/json"
	"strings"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/tool"
	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

// decision is what a user said of a call, as far as its result line cares.
type decision int

const (
	undecided decision = iota
	applied            // a change allowed once: its result line says so
	denied
	final // the decision is all that its result says
)

// beginAsking makes room for a question. The lock is held.
func (s *Screen) beginAsking() {
	if !s.asking {
		s.asking, s.askedAt = true, s.opt.Now()
	}
	s.hideProgress()
	s.closeReply()
}

// Approval is the question whether a call may be made, or whether what it did lands.
type Approval struct{ agent.Question }

func (q Approval) begin(s *Screen) {
	s.named = q.Call.ID
	if r := s.work.running(q.Call.ID); r != nil {
		r.started = true
	}
	if (s.opt.ErrTTY || s.opt.Conversation) && s.last == status {
		s.emit("\n")
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
		b.last = b.named(permission.Matters(), *q.Effects)
	case a.Command != "":
		b.what = "command"
		b.command(q)
		if a.To != "" {
			b.remark("to " + b.oneRow(a.To)) // the running command that text is typed to
		}
		if dir := lay.elsewhere(q); dir != "" && a.To == "" && (!b.cut || !strings.Contains(lay.askLine(q), " in "+dir+"?")) {
			b.remark("in " + dir)
		}
		b.remark(held(q))
	case a.Diff != "":
		b.what = "change"
		b.change(q)
	default:
		b.other(q)
	}
	if q.Effects == nil {
		b.remark(line(q.Reason))
	}
	if a.Why != q.Reason {
		b.remark(line(a.Why))
	}
}

// held says what confines the command that a question would run; "" where the question's reason
// says it.
func held(q Approval) string {
	sandbox := "runs in the sandbox: no network except loopback, no keys, no home"
	if q.Network {
		sandbox = "runs in the sandbox: no keys, no home; it has the network"
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
		return sandbox + "; artoo judges its changes afterwards"
	case permission.PlaceBackground:
		return sandbox + "; it works on the project itself"
	case permission.PlaceSandbox:
		return sandbox + "; its changes to the project stay"
	}
	return ""
}

// bodyLine is a remark below a call; in rows unless it goes to a pager.
func (lay *layout) bodyLine(text string, rows bool) string {
	first, next := body, body
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

// head is the first line of a question, never cut.
func (lay *layout) head(verb, object string) string {
	if lay.opt.Profile == Spoken {
		return "tool: " + verb + " " + object
	}
	pad := strings.Repeat(" ", max(verbCells-cells(verb), 0))
	return margin + verb + pad + " " + object
}

// asking puts the text above a question together.
type asking struct {
	strings.Builder
	lay  *layout
	cut  bool            // it is shown on the screen; the pager shows all, as it is
	left bool            // a part is left to the pager
	seen sanitize.Hidden // characters that a reader would not have seen
	what string          // "call": the part that may hold them
	last string          // stands last, below their warning
}

// about is what stands above a question, and whether a part of it was left to the pager. cut
// leaves out the middle of what is too long, breaks lines into rows and colours them.
func (lay *layout) about(q Confirmation, cut bool) (text string, left bool) {
	b := asking{lay: lay, cut: cut, what: "text"}
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

// safe are the lines of a text, each safe to show, with what they hide counted.
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
	lines := b.safe(strings.TrimRight(q.Call.Access.Command, "\n"), sanitize.Line)
	verb := callVerb(q.Call)
	switch {
	case b.lay.opt.Profile != Spoken:
		rows := b.lay.fold(lines, b.lay.head(verb, ""), body, b.cut)
		rows[0] = b.dimmed(rows[0], verb)
		b.rows(rows)
	case b.cut && len(lines) == 1 && b.seen.Total() == 0 && strings.Contains(b.lay.askLine(q), `"`+lines[0]+`"`):
		// heard once, in the question that names all of it
	case len(lines) == 1 && !b.lay.tooLong(lines):
		b.WriteString(b.lay.head(verb, lines[0]) + "\n")
	default:
		b.WriteString(b.lay.head(verb, texts.Count(len(lines), "line")) + ":\n")
		b.rows(b.lay.fold(lines, "", "", b.cut))
		b.WriteString("end command.\n")
	}
}

// other shows a call's object, and its whole input where that says more.
func (b *asking) other(q Approval) {
	a := q.Call.Access
	object := b.oneRow(a.Object)
	verb := callVerb(q.Call)
	rows := b.lay.fold([]string{object}, b.lay.head(verb, ""), body, b.cut)
	rows[0] = b.dimmed(rows[0], verb)
	var pretty bytes.Buffer
	whole := a.Kind == tool.KindNetwork && a.Object != ""
	if !whole && json.Indent(&pretty, q.Call.Input, "", "  ") == nil && pretty.Len() > len("{}") {
		text, before := b.lay.words(pretty.String(), spokenInput(q.Call.Input)), b.lay.bodyIndent()
		rows = append(rows, b.lay.fold(b.safe(text, sanitize.Line), before, before, b.cut)...)
	}
	b.rows(rows)
}
