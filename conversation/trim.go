package conversation

import (
	"slices"
	"strconv"
	"strings"

	"artoo/provider"
	"artoo/tool/text"
)

// Shares of the budget and of the last request.
const (
	trimShare = 0.75 // Trim goes down to this part of the budget in one go
	hardShare = 0.6  // TrimHard to this part of the request that did not fit
	hardLimit = 0.9  // and fails when it stays above this part of it
	userShare = 0.5  // share of the budget for the user's messages, except the latest
	userKept  = 2000 // tokens that are kept of each of them, within that
	textKept  = 200  // characters that are kept of an old text of the model
	nextSteps = 10   // steps that are to follow before the next trim
	nextShare = 0.5  // the least goal of Trim where so many steps cannot follow, and the goal of Compact
	textLong  = 400  // characters above which it is shortened
	pastShare = 24   // part of the budget that the line of past work may have
	worth     = 200  // bytes that shrinking a result must save
)

// leastCut is the last size in characters to which recent results are shortened, for windows of
// 4,096 tokens.
const leastCut = 250

// Trim brings a history over budget down in one go to three quarters of it, or further if ten
// steps like the last ten would not fit then, so that the cached prefix breaks rarely. In this
// order: old images and results become a line, old texts and the user's long messages are
// shortened, old steps go, recent results and answers are shortened, the user's old messages go.
// It is recorded before it holds. A *FullError would not fit even so. After any error the history
// is unchanged.
func (c *Conversation) Trim() (Trimmed, error) {
	budget := c.Budget()
	before := c.meter.tokens(c.size)
	if !c.OverBudget() {
		return Trimmed{}, nil
	}
	goal := min(trimShare*float64(budget), float64(budget)-c.nextSteps())
	if goal < c.kept() { // they cannot follow, whatever goes
		goal = max(goal, nextShare*float64(budget))
	}
	return c.trim(trimming{before: before, goal: goal, limit: float64(budget)})
}

// OverBudget reports whether Trim has something to do.
func (c *Conversation) OverBudget() bool {
	budget := c.Budget()
	return budget > 0 && roundTokens(c.meter.most(c.size)) > budget
}

// kept is about the tokens that always stay: overhead, the user's latest message, the last steps.
func (c *Conversation) kept() float64 {
	recent, latest := recentFrom(c.items, stepsOf(c.items)), lastUser(c.items)
	s := c.meter.overhead().plus(sizeOfAll(c.items[recent:]))
	if latest >= 0 && latest < recent {
		s = s.plus(c.items[latest].size)
	}
	return c.meter.raw(s)
}

// nextSteps is about how many tokens ten steps like the last ten take.
func (c *Conversation) nextSteps() float64 {
	steps := stepsOf(c.items)
	steps = steps[max(0, len(steps)-nextSteps):]
	var sum size
	for _, s := range steps {
		for _, it := range c.items[s.from:s.to] {
			sum = sum.plus(it.came) // the size before trimming
		}
	}
	return c.meter.raw(sum)
}

// trimming is where a trim starts, its goal, and the limit above which it does its utmost.
type trimming struct {
	before, goal, limit float64
	all                 bool // the last steps may go too; a trim that does not suffice is made even so
}

// TrimHard makes the history fit after a provider refused it as too long, whatever the estimate
// says. It lowers the budget if the refusal says something about it: believed. If the provider named its window, call
// SetBudget first. Errors are those of Trim.
func (c *Conversation) TrimHard(believed bool) (Trimmed, error) {
	before := c.meter.tokens(c.size)
	goal, limit := hardShare*before, hardLimit*before
	budget := c.Budget()
	if budget > 0 {
		goal, limit = min(goal, trimShare*float64(budget)), min(limit, float64(budget))
	}
	t, err := c.trim(trimming{before: before, goal: goal, limit: limit})
	// Images may be refused for their bytes: that says nothing about tokens.
	if err == nil && believed && t.Images == 0 && (budget <= 0 || roundTokens(limit) < budget) {
		c.known.budget = int(limit / c.perByte())
	}
	return t, err
}

// Compact makes room for a message that did not fit: it trims to half, the last steps included, between two turns.
// Uncompact undoes it. Errors are those of Trim, except *FullError.
func (c *Conversation) Compact() (Trimmed, error) {
	before := c.meter.tokens(c.size)
	goal := nextShare * before
	if budget := float64(c.Budget()); budget > 0 {
		goal = min(goal, nextShare*budget)
	}
	return c.trim(trimming{before: before, goal: goal, limit: goal, all: true})
}

// trim plans, records and applies. A trim that does not reach the limit is not done at all.
func (c *Conversation) trim(how trimming) (Trimmed, error) {
	p := &planner{c: c, items: slices.Clone(c.items), size: c.size, past: c.past, trimming: how}
	p.run()
	before, after := how.before, p.tokens()
	if most := how.limit + float64(c.reserve); min(before, after) > most && !how.all {
		p.discard()
		return Trimmed{}, c.full(p.items, p.size, roundTokens(min(before, after)), int(most))
	}
	if after >= before || p.record.empty() { // a note longer than the step it stands for
		p.discard()
		return Trimmed{Before: roundTokens(before), After: roundTokens(before)}, nil
	}
	shrunk := c.meter // a copy, so that rounding is the same
	shrunk.rescale(c.size, p.size)
	p.did.Before, p.did.After = roundTokens(before), roundTokens(shrunk.tokens(p.size))
	p.record.Before, p.record.After = p.did.Before, p.did.After
	p.record.Factors = c.meter.factors.byName()
	if err := c.recordTrim(p); err != nil {
		p.discard()
		return Trimmed{}, err
	}
	c.shrunk(p.items, p.size)
	c.past, c.sent = p.past, len(p.items)
	return p.did, nil
}

// recordTrim writes a trim's line. One at the user's wish can be undone.
func (c *Conversation) recordTrim(p *planner) error {
	if !p.all {
		_, err := c.writeLine(typeTrim, &p.record)
		return err
	}
	id, err := c.writeLine(typeCompact, &compactRecord{trimRecord: p.record})
	if err == nil {
		c.remember(compaction{id: id, items: slices.Clone(c.items)})
	}
	return err
}

// writeLine writes a line of the session and returns its ID; without a session it only counts.
func (c *Conversation) writeLine(kind string, payload any) (id string, err error) {
	if c.session != nil {
		return c.session.append(kind, payload)
	}
	c.nextID++
	return strconv.Itoa(c.nextID), nil
}

// Full is the error of the history as it is.
func (c *Conversation) Full() *FullError {
	return c.full(c.items, c.size, roundTokens(c.meter.tokens(c.size)), c.Budget()+c.reserve)
}

// full is the error of a history that takes so many tokens.
func (c *Conversation) full(items []item, s size, tokens, most int) *FullError {
	e := &FullError{Tokens: tokens, Budget: most}
	if all := c.meter.raw(s.plus(c.meter.overhead())); all > 0 {
		e.Overhead = roundTokens(float64(tokens) * c.meter.raw(c.meter.overhead()) / all)
		if i := lastUser(items); i >= 0 {
			e.Latest = roundTokens(float64(tokens) * c.meter.raw(items[i].size) / all)
		}
	}
	return e
}

// Trimmed reports the effect of a trim. The zero value means none.
type Trimmed struct {
	Images  int // replaced by a sentence
	Results int // old tool results shrunk to a line
	Texts   int // old texts of the model shortened
	Users   int // long messages of the user shortened
	Steps   int // whole old steps left out
	// Messages are old messages of the user left out since nothing else was left.
	Messages int
	// Summaries are those of messages summed up, left out last of all.
	Summaries int
	Recent    int // tool results of the last steps shortened, since nothing else was left
	// RecentTexts are shortened answers in the last steps, before the user's last message.
	RecentTexts int
	// Before and After are the estimated tokens.
	Before, After int
}

// String is the notice for the user, "" if nothing was done.
func (t Trimmed) String() string {
	var did []string
	tell := func(n int, noun, change string) {
		if n > 0 {
			did = append(did, text.Count(n, noun)+" "+change)
		}
	}
	tell(t.Images, "image", "left out")
	tell(t.Results, "old tool result", "shrunk to a line")
	tell(t.Texts, "old text", "shortened")
	tell(t.Users, "long message", "of yours shortened")
	tell(t.Steps, "old step", "left out")
	tell(t.Messages, "old message", "of yours left out")
	tell(t.Summaries, "summary text", "left out")
	tell(t.Recent, "recent tool result", "shortened")
	tell(t.RecentTexts, "recent answer", "shortened")
	if len(did) == 0 {
		return ""
	}
	return "the context was trimmed from about " + Tokens(t.Before) + " to " + Tokens(t.After) + " tokens: " +
		strings.Join(did, ", ")
}

// Bounds of the notes on dropped steps; the newest count.
const (
	pastFiles    = 60
	pastCommands = 30
	pastDecided  = 12
	pastSaid     = 8
	pastChars    = 120  // also of a sentence
	pastLeast    = 200  // bytes of the line on it, in the smallest windows
	pastMost     = 1500 // bytes of it in large ones
)

// pastWork is the work in the steps that are no longer sent, a value.
type pastWork struct {
	Files    []string  `json:"files,omitempty"`    // changed, the last one last
	Commands []command `json:"commands,omitempty"` // run, the last one last
	Decided  []string  `json:"decided,omitempty"`  // the user's decisions, the last one last
	Said     []string  `json:"said,omitempty"`     // how the model's texts begin
	// OldFiles and OldCommands count those that are no longer named.
	OldFiles    int `json:"old_files,omitempty"`
	OldCommands int `json:"old_commands,omitempty"`
}

type command struct {
	Line string `json:"line"`
	End  string `json:"end,omitempty"`
}

func (d pastWork) empty() bool {
	return len(d.Files) == 0 && len(d.Commands) == 0 && len(d.Decided) == 0 && len(d.Said) == 0
}

// and adds a call's effect. A repeated file or command moves to the end.
func (d pastWork) and(e provider.Effect) pastWork {
	d.Files, d.Commands = slices.Clone(d.Files), slices.Clone(d.Commands)
	for _, name := range e.Files {
		d.Files = append(slices.DeleteFunc(d.Files, func(f string) bool { return f == name }), name)
	}
	if line := firstLine(e.Command); line != "" {
		d.Commands = append(slices.DeleteFunc(d.Commands, func(c command) bool { return c.Line == line }),
			command{line, e.End})
	}
	d.Decided = withLast(d.Decided, e.Decided, pastDecided)
	if old := len(d.Files) - pastFiles; old > 0 {
		d.Files, d.OldFiles = d.Files[old:], d.OldFiles+old
	}
	if old := len(d.Commands) - pastCommands; old > 0 {
		d.Commands, d.OldCommands = d.Commands[old:], d.OldCommands+old
	}
	return d
}

// saying adds the beginning of a text of the model.
func (d pastWork) saying(text string) pastWork {
	d.Said = withLast(d.Said, sentence(text), pastSaid)
	return d
}

// withLast is the list with a sentence at its end, at most so many; "" adds nothing.
func withLast(list []string, text string, most int) []string {
	if text = firstLine(text); text == "" {
		return list
	}
	list = append(slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == text }), text)
	return list[max(0, len(list)-most):]
}

func sentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	return text
}

func firstLine(command string) string {
	line := strings.Join(strings.Fields(text.FirstLine(command)), " ")
	if strings.Contains(strings.TrimSpace(command), "\n") {
		line += " …"
	}
	return text.Clip(line, pastChars)
}

type pastList struct {
	head, between, noun string
	list                []string
	old                 int // number of entries dropped from it
}

// text is a sentence of about most bytes with the newest work, or "". A list may use room that
// others left.
func (d pastWork) text(most int) string {
	most = min(max(most, pastLeast), pastMost)
	ran := make([]string, len(d.Commands))
	for i, c := range d.Commands {
		if ran[i] = c.Line; c.End != "" {
			ran[i] += " (" + c.End + ")"
		}
	}
	lists := []pastList{
		{"you changed ", ", ", "file", d.Files, d.OldFiles},
		{"you ran ", "; ", "command", ran, d.OldCommands},
		{"the user decided: ", "; ", "one", d.Decided, 0},
		{"you said: ", " / ", "text", d.Said, 0},
	}
	lists = slices.DeleteFunc(lists, func(l pastList) bool { return len(l.list) == 0 })
	var parts []string
	for i, l := range lists {
		parts = append(parts, l.head+l.newest(most/(len(lists)-i)))
		most -= len(parts[i])
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.Join(parts, ", and "), ".") + "."
}

// newest names the last of the list within most bytes, at least one, and counts the others.
func (l pastList) newest(most int) string {
	from := len(l.list) - 1
	for size := len(l.list[from]); from > 0; from-- {
		if size += len(l.between) + len(l.list[from-1]); size > most {
			break
		}
	}
	named := strings.Join(l.list[from:], l.between)
	if old := l.old + from; old > 0 {
		named = text.Count(old, "other "+l.noun) + l.between + named
	}
	return named
}
