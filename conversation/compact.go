package conversation

import (
	"errors"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/tool/text"
)

// Limits of a summary.
const (
	leastOld     = 300  // tokens that are worth one
	mostSummary  = 2500 // tokens of one
	leastSummary = 150
	summaryRoom  = 6    // a summary takes at most 1/6 of the budget without the prompt
	summaryShare = 3    // and 1/3 of the text it replaces
	lastShare    = 0.25 // Between turns last steps above this part of the budget may be part of it.
	// keptCompactions bounds the compactions that can be undone; their messages stay in memory.
	keptCompactions = 8
)

const summaryHead = "[Summary, no message of the user's: to save room it stands for what you said and did up to here. " +
	"The user's own messages are above."

// compactRecord is an undoable trim with the summary that replaces it in requests.
type compactRecord struct {
	trimRecord
	Summary string `json:"summary,omitempty"` // the whole text of that message, or ""
	Next    string `json:"next,omitempty"`    // id of the message that it is sent before

	partial bool // not all that it leaves out was read
}

type uncompactRecord struct {
	Compact string `json:"compact"` // id of its line
	Before  int    `json:"before"`  // estimated tokens
	After   int    `json:"after"`
}

type compaction struct {
	id      string // ID of its line and of the summary
	items   []item // the history before it
	partial bool   // some of it was too old to be read
}

// restored undoes the compaction. A newer reminder replaces an older one.
func (p compaction) restored(now []item) []item {
	had := make(map[string]bool, len(p.items))
	for _, it := range p.items {
		had[it.id] = true
	}
	reminded := slices.ContainsFunc(now, func(it item) bool { return isReminder(it.msg) && !had[it.id] })
	items := slices.DeleteFunc(slices.Clone(p.items), func(it item) bool { return reminded && isReminder(it.msg) })
	for _, it := range now {
		if !had[it.id] && it.id != p.id {
			items = append(items, it)
		}
	}
	return items
}

func (c *Conversation) remember(p compaction) {
	c.compactions = append(c.compactions, p)
	if old := len(c.compactions) - keptCompactions; old > 0 {
		c.compactions = slices.Clone(c.compactions[old:])
	}
}

// Old is the part of the history that a summary can replace: all before the last steps.
type Old struct {
	Messages []provider.Message // empty where a summary is not worth it
	Tokens   int                // about how many a request with them has
	Summary  int                // how many tokens the summary may have
	After    int                // about how many the next request has with it
	cut      int
}

// Old finds it. Between turns some of the last steps, except the very last, may be part of it.
func (c *Conversation) Old(between bool) Old { return c.old(c.oldUntil(between)) }

// AllOld is Old with all before the last step.
func (c *Conversation) AllOld() Old {
	steps := stepsOf(c.items)
	if len(steps) == 0 {
		return Old{}
	}
	return c.old(steps[len(steps)-1].from)
}

func (c *Conversation) old(cut int) Old {
	var gone size
	for _, it := range c.items[:cut] {
		if it.msg.Role != provider.RoleUser || it.summary {
			gone = gone.plus(it.size)
		}
	}
	left := c.meter.raw(gone)
	most := min(mostSummary, max(leastSummary, int(left)/summaryShare))
	if budget := c.Budget(); budget > 0 {
		most = min(most, max(leastSummary, (budget-int(c.meter.raw(c.meter.overhead())))/summaryRoom))
	}
	if left < max(leastOld, 2*float64(most)) {
		return Old{}
	}
	old := Old{Summary: most, cut: cut}
	old.After = roundTokens(c.meter.tokens(c.size)*c.meter.share(c.size, c.size.minus(gone))) + most
	for _, it := range c.items[:cut] {
		old.Messages = append(old.Messages, it.sent())
	}
	old.Tokens = roundTokens(c.meter.tokens(c.size) * c.meter.share(c.size, sizeOfAll(c.items[:cut])))
	return old
}

// oldUntil is the index up to which a summary can stand for the history.
func (c *Conversation) oldUntil(between bool) int {
	steps := stepsOf(c.items)
	kept := min(keptSteps, len(steps))
	from := func() int { return steps[len(steps)-kept].from }
	for between && kept > 1 {
		large := c.Budget() > 0 && c.meter.raw(sizeOfAll(c.items[from():])) > lastShare*float64(c.Budget())
		if len(steps) > keptSteps && !large {
			break
		}
		kept--
	}
	if kept == 0 {
		return 0
	}
	return from()
}

// Compacted reports the effect of a compaction, or of taking one back.
type Compacted struct {
	Messages      int // messages replaced by the summary, or sent again
	Before, After int // estimated tokens
}

// String is the notice for the user of a summary, without a full stop.
func (d Compacted) String() string {
	return "the context was compacted from about " + Tokens(d.Before) + " to " + Tokens(d.After) +
		" tokens: a summary replaces " + text.Count(d.Messages, "message")
}

// ErrNoGain is a summary that is as long as the messages it replaces.
var ErrNoGain = errors.New("the summary is no shorter than the turns it replaces")

// Summarize replaces old, which Old returned just now, by a summary. The user's messages stay,
// trimmed to half of the budget. After an error, ErrNoGain or one of Append, the history is
// unchanged.
func (c *Conversation) Summarize(old Old, summary string) (Compacted, error) {
	before := c.meter.tokens(c.size)
	goal := before
	if budget := c.Budget(); budget > 0 {
		goal = nextShare * float64(budget)
	}
	p := &planner{c: c, items: slices.Clone(c.items), size: c.size, past: c.past,
		trimming: trimming{before: before, goal: goal, limit: goal}}
	record := compactRecord{Next: p.items[old.cut].id}
	did := Compacted{Messages: p.replace(old.cut)}
	record.Summary = p.summary(summary)
	p.size = p.size.plus(summaryItem("", record.Summary).size)
	latest := lastUser(p.items)
	p.images(len(p.items), latest)
	p.users(latest)
	shrunk := c.meter // a copy, so that rounding is the same
	shrunk.rescale(c.size, p.size)
	did.Before, did.After = roundTokens(before), roundTokens(shrunk.tokens(p.size))
	if did.After >= did.Before {
		p.discard()
		return Compacted{}, ErrNoGain
	}
	p.record.Done, p.record.Before, p.record.After = &p.past, did.Before, did.After
	p.record.Factors = c.meter.factors.byName()
	record.trimRecord = p.record
	id, err := c.writeLine(typeCompact, &record)
	if err != nil {
		p.discard()
		return Compacted{}, err
	}
	c.remember(compaction{id: id, items: slices.Clone(c.items)})
	items := withSummary(p.items, id, record)
	c.shrunk(items, p.size)
	c.past, c.sent = p.past, len(items)
	return did, nil
}

// replace leaves out the first n messages, except the user's, and returns how many.
func (p *planner) replace(n int) (dropped int) {
	kept := make([]item, 0, len(p.items))
	for i, it := range p.items {
		if it.msg.Role == provider.RoleUser && !it.summary && !(i < n && isReminder(it.msg)) || i >= n {
			kept = append(kept, it)
			continue
		}
		p.drop(i)
		dropped++
	}
	p.items = kept
	for i := range p.items {
		p.setNote(i, "") // the summary says the same
	}
	p.past.Said = nil // the summary has it
	return dropped
}

// summary is the text to send, with the known changes and commands.
func (p *planner) summary(text string) string {
	head := summaryHead
	if did := p.past.text(p.bytes(float64(p.c.Budget()) / pastShare)); did != "" {
		head += " In all of that " + did
	}
	return strings.ToValidUTF8(head+"]\n\n"+strings.TrimSpace(text), "\ufffd")
}

func summaryItem(id, text string) item {
	it := newItem(id, provider.Message{Role: provider.RoleUser,
		Parts: []provider.Part{provider.Text{Note: provider.NoteSummary, Text: text}}})
	it.summary = true
	return it
}

// withSummary is the history with the summary in its place, if there is one.
func withSummary(items []item, id string, r compactRecord) []item {
	if r.Summary == "" {
		return items
	}
	at := slices.IndexFunc(items, func(it item) bool { return it.id == r.Next })
	if at < 0 { // it is no longer sent, and neither is what came after it
		at = len(items)
	}
	return slices.Insert(items, at, summaryItem(id, r.Summary))
}

// Uncompact undoes the last compaction; ok is false if there is none. After an error of Append
// nothing has changed.
func (c *Conversation) Uncompact() (did Compacted, ok bool, err error) {
	last := len(c.compactions) - 1
	if last < 0 || c.compactions[last].partial {
		return Compacted{}, false, nil
	}
	p := c.compactions[last]
	items := p.restored(c.items)
	to := sizeOfAll(items)
	before := c.meter.tokens(c.size)
	did = Compacted{Before: roundTokens(before), After: roundTokens(before * c.meter.share(c.size, to))}
	for _, it := range p.items {
		if !slices.ContainsFunc(c.items, func(now item) bool { return now.id == it.id }) {
			did.Messages++
		}
	}
	if _, err := c.writeLine(typeUncompact, &uncompactRecord{p.id, did.Before, did.After}); err != nil {
		return Compacted{}, false, err
	}
	c.shrunk(items, to)
	c.sent, c.compactions = len(items), c.compactions[:last]
	return did, true, nil
}
