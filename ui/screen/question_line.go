package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/ui/sanitize"
)

// ending is how the last line of a question ends: with its keys, and the meaning of Enter.
func (lay *layout) ending(q Confirmation) string {
	if lay.opt.Profile != Spoken {
		return lay.endingSeen(q)
	}
	keys := Keys(q)
	for i, key := range keys {
		keys[i] = spokenKey(key)
	}
	return " Type " + strings.Join(keys, ", ") + ", or ? for help. Enter means no. "
}

func (lay *layout) endingSeen(q Confirmation) string {
	switch {
	case !lay.rich():
		return " " + shortAnswers(q) + " (n) "
	case lay.width() < usualWidth:
		return "  " + shortAnswers(q) + " (n) "
	}
	return "  " + answerWords(q) + " (n) "
}

// asks is the mark of a question.
func (lay *layout) asks() string { return either(lay.rich(), lay.lead(markAsk), "") }

// usual is how many cells of a wide terminal the last line of a question takes.
func (lay *layout) usual() int { return either(lay.rich(), proseWidth, usualWidth) }

const (
	// leastAsked is how many cells of an object a question's last line has room
	// for, however narrow the terminal is, and leastDir how many of a directory.
	leastAsked = 48
	leastDir   = 12
	// answerRoom is the room behind a question for its answer.
	answerRoom = 4
	usualWidth = 80
)

// askLine is the last line of a question. It names the act once more, in one
// row where there is room. Without room the choices have a row of their own. A long object
// loses a part here; all of it stands above.
func (lay *layout) askLine(q Approval) string {
	number, spoken := "", ""
	if q.Of > 1 {
		number, spoken = fmt.Sprintf(" %d/%d", q.Number, q.Of), fmt.Sprintf(" Question %d of %d.", q.Number, q.Of)
	}
	ask := lay.asks() + approve
	end := number + lay.endingSeen(q)
	room := min(lay.width(), lay.usual()) - 1 - cells(ask+end) - answerRoom
	if lay.opt.Profile == Spoken { // the same object: long text stands above
		end = spoken + lay.ending(q)
	}
	asked := lay.asked(q, room)
	if cells(asked+"?") > room+answerRoom {
		asked = lay.asked(q, min(lay.width(), lay.usual())-1-cells(ask))
	}
	return ask + unforged(asked) + "?" + end
}

// asked names the act of a call, in room cells if that is enough.
func (lay *layout) asked(q Approval, room int) string {
	a := q.Call.Access
	verb := callVerb(q.Call)
	switch {
	case q.Kind == agent.QuestionPlan:
		return "carry out this plan, in mode " + string(q.Then)
	case a.Kind == tool.KindRun || a.Command != "":
		head, end, in := verb+` "`, `"`, " in "
		switch agentOf := strings.TrimSuffix(verb, a.Verb); {
		case q.Effects != nil && q.Effects.There:
			head, end = agentOf+`keep the files that "`, `" made`
		case q.Kind == agent.QuestionChanges:
			head = agentOf + lay.keep() + ` the changes of "`
		case q.Kind == agent.QuestionWhole:
			head, end, in = agentOf+`start "`, `" again, to write the whole project`, ", in "
		case outside(q):
			end, in = `" outside the sandbox`, ", in "
		}
		command := lay.ascii(sanitize.Text(strings.TrimRight(a.Command, "\n"), sanitize.Line))
		if a.To != "" {
			to := lay.ascii(sanitize.Text(a.To, sanitize.Line))
			end = `" to "` + lay.middle(to, max(room-cells(head+command)-len(`" to ""`)-1, room/2, leastDir)) + `"`
		} else if dir := lay.elsewhere(q); dir != "" {
			free := room - cells(head+command+end+in) - 1
			end += in + lay.shortDir(dir, max(free, room/3, leastDir))
		}
		return head + lay.middle(command, max(room-cells(head+end)-1, leastAsked)) + end
	case a.Object != "":
		object := lay.ascii(sanitize.Text(lay.path(a.Object), sanitize.Line))
		return verb + " " + lay.middle(object, max(room-cells(verb)-2, leastAsked))
	}
	return "allow " + lay.middle(lay.ascii(verb), max(room-len("allow "), leastAsked))
}

// outside reports whether a yes runs the command outside the sandbox.
func outside(q Approval) bool {
	return q.Kind == agent.QuestionOutside ||
		slices.ContainsFunc(q.Reasons, func(r permission.Reason) bool { return r.Code == permission.Outside })
}

// elsewhere is where a command would run, safe; "" for the directory that artoo works in.
func (lay *layout) elsewhere(q Approval) string {
	dir := q.Call.Access.Dir
	if dir == q.Dir {
		return ""
	}
	return lay.ascii(sanitize.Text(lay.home(dir), sanitize.Line))
}

// shortDir shortens a safe directory to n cells: whole elements go from behind its first one.
func (lay *layout) shortDir(dir string, n int) string {
	if cells(dir) <= n {
		return dir
	}
	first, rest, _ := strings.Cut(dir, "/")
	for {
		_, end, more := strings.Cut(rest, "/")
		if !more {
			return lay.middle(dir, n)
		}
		rest = end
		if short := first + "/" + lay.ellipsis() + "/" + rest; cells(short) <= n {
			return short
		}
	}
}

// middle shortens a safe text to n cells: its beginning and its end stay.
func (lay *layout) middle(text string, n int) string {
	if cells(text) <= n {
		return text
	}
	gap := " " + lay.ellipsis() + " "
	n = max(n-cells(gap), 2)
	head := displaywidth.TruncateString(text, n-n/2, "")
	var tail []string
	for g := displaywidth.StringGraphemes(text[len(head):]); g.Next(); {
		tail = append(tail, g.Value())
	}
	from, used := len(tail), 0
	for from > 0 && used+cells(tail[from-1]) <= n/2 {
		from--
		used += cells(tail[from])
	}
	return strings.TrimRight(head, " ") + gap + strings.TrimLeft(strings.Join(tail[from:], ""), " ")
}
