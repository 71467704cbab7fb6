package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/conversation"
	texts "artoo/tool/text"
)

// part is a fact of the row after a turn.
type part struct {
	text string
	look style
}

// On a terminal that is narrower than leastWhole the row after a turn keeps only what it has room for, and its first
// leastParts in any case.
const (
	leastWhole = 60
	leastParts = 2
)

// receipt is the row after a turn on a rich terminal: the changes, what left the sandbox, the cost and the way back; ""
// for a turn that neither changed nor spent anything.
func (lay *layout) receipt(info StatusInfo) string {
	parts := lay.receiptParts(info)
	if parts == nil {
		return ""
	}
	between, lead := lay.glyph(" \u00b7 ", ", "), lay.glyph("\u2500\u2500 ", "-- ")
	wide := func(parts []part) (n int) {
		for i, p := range parts {
			if n += cells(p.text); i > 0 {
				n += cells(between)
			}
		}
		return n
	}
	room := lay.width() - 1 - cells(lead)
	for lay.opt.ErrTTY && lay.width() < leastWhole && len(parts) > leastParts && wide(parts) > room {
		parts = parts[:len(parts)-1]
	}
	rows := []part{{lead, dim}}
	from := 0
	for i, p := range parts {
		switch {
		case i == 0:
		case lay.opt.ErrTTY && wide(parts[from:i+1]) > room:
			rows = append(rows, part{"\n" + strings.Repeat(" ", cells(lead)), 0})
			from = i
		default:
			rows = append(rows, part{between, dim})
		}
		rows = append(rows, p)
	}
	var b strings.Builder
	for i, p := range rows {
		if i+1 < len(rows) && rows[i+1].look == p.look {
			rows[i+1].text = p.text + rows[i+1].text
			continue
		}
		b.WriteString(lay.painted(p.text, p.look))
	}
	return b.String() + "\n"
}

func (lay *layout) receiptParts(info StatusInfo) (parts []part) {
	small := func(text string) { parts = append(parts, part{text, dim}) }
	if text := line(info.Line); text != "" {
		return []part{{text, dim}}
	}
	u, r, done := info.Usage, info.Reach, cmp.Or(info.Outcome, OutcomeDone) == OutcomeDone
	network := slices.Concat(r.Network, r.Networked)
	if done && u.Total() == 0 && r.Changed() == 0 && len(r.Outside)+len(network) == 0 && info.CostUSD == nil {
		return nil
	}
	switch changed := changedFiles(r); {
	case !done && r.Changed() > 0:
		parts = append(parts, part{string(info.Outcome) + "; kept: " + changed, 0})
	case !done:
		parts = append(parts, part{string(info.Outcome) + "; " + changed, 0})
	default:
		small(changed)
	}
	switch {
	case len(r.Outside) > 0:
		label := either(info.NoWalls, "not confined: ", "left the sandbox: ")
		parts = append(parts, part{lay.few(label, r.Outside), askStyle})
	case info.NoWalls:
		small("no sandbox")
	case len(r.Networked) == 0:
		small("nothing left the sandbox")
	}
	if len(network) > 0 {
		parts = append(parts, part{lay.few("network: ", network), askStyle})
	}
	full := lay.opt.Status == StatusFull
	if u.Total() > 0 {
		cost := "cost unknown"
		if info.CostUSD != nil {
			cost = texts.Dollars(*info.CostUSD)
		}
		small(cost)
		if info.Small != nil {
			small(texts.Dollars(*info.Small) + bySmall)
		}
		if full {
			small(conversation.Tokens(u.Prompt()) + " in")
			small(conversation.Tokens(u.Output) + " out")
		}
	}
	if full && info.Model != "" {
		small(line(info.Model))
	}
	small(cmp.Or(lay.passed(info.Elapsed.Round(time.Second)), "under 1 s"))
	if info.Context >= 0 {
		small(fmt.Sprintf("context %d %%", info.Context))
	}
	if r.Changed() > 0 {
		parts = append(parts, part{"/undo", 0})
	}
	return parts
}

// changedFiles says how many files a turn changed.
func changedFiles(r agent.Reach) string {
	var all []string
	for _, c := range []struct {
		n    int
		verb string
	}{{r.Modified, "changed"}, {r.Created, "created"}, {r.Deleted, "deleted"}} {
		switch {
		case c.n == 0:
		case all == nil:
			all = append(all, texts.Count(c.n, "file")+" "+c.verb)
		default:
			all = append(all, texts.Grouped(c.n)+" "+c.verb)
		}
	}
	if all == nil {
		return "nothing changed"
	}
	return strings.Join(all, ", ")
}

// few are the first of several names behind a label, shortened to a row.
func (lay *layout) few(label string, names []string) string {
	const most, longest = 2, 30
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], " and "+texts.Grouped(n)+" more"
	}
	short := slices.Clone(names)
	for i, name := range short {
		short[i] = lay.middle(lay.ascii(line(name)), longest)
	}
	text := label + strings.Join(short, ", ") + more
	if lay.opt.ErrTTY {
		text = lay.middle(text, lay.width()-1-cells("-- "))
	}
	return text
}
