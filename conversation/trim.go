package conversation

import (
	"errors"
	"slices"
)

// Shares of the budget and of what was sent.
const (
	trimShare = 0.75 // Trim goes down to this part of the budget in one go
	hardShare = 0.6  // TrimHard to this part of what did not fit
	hardLimit = 0.9  // and fails when it stays above this part of it
	userShare = 0.5  // of the budget, that the user's messages but the latest may have
	userKept  = 2000 // tokens that are kept of each of them, within that
	smallest  = 0.25 // Compact goes down to this part of the budget
	textKept  = 200  // characters that are kept of an old text of the model
	textLong  = 400  // characters above which it is shortened
	worth     = 200  // bytes that shrinking a result must save
)

// recentCuts are the sizes in characters to which the results of the last steps
// are cut, one after another, when nothing else is left. They are never
// replaced by a line. The last of them only keeps small windows (4,096 tokens,
// of which half are prompt and tools) from being full: it goes no further than
// the limit.
func recentCuts() []int { return []int{8000, 2000, 700, leastCut} }

const leastCut = 250

// Trim makes the history fit the budget before a request. Under the budget it
// does nothing and returns the zero Trimmed. Else it goes down to three
// quarters of it in one go, so that the prefix providers cache breaks rarely:
// old images become a sentence, old tool results a line that names their file
// (also those of the newest turn), the model's old texts and the user's long
// ones are shortened, and whole old steps go. The user's messages and the last
// three steps stay; only if that is still too much, the results of these steps
// are shortened too, then their texts that answer earlier messages, and last the
// user's old messages go. At worst a request has the reserve besides the budget.
//
// What is done is recorded in the session before it holds, so that a resumed
// session sends the same. Nothing leaves the file. A *FullError (errors.Is
// ErrFull) tells that it does not fit even so; the Trimmed returned with it
// holds what was done. After any other error the history is as it was.
func (c *Conversation) Trim() (Trimmed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	budget := c.budget()
	before := c.meter.tokens(c.size)
	if budget <= 0 || roundTokens(before) <= budget {
		return Trimmed{}, nil
	}
	return c.trim(trimming{before: before, goal: trimShare * float64(budget), limit: float64(budget)})
}

// trimming is what a trim starts from, where it goes to, and above which number
// of tokens it goes to the utmost.
type trimming struct {
	before, goal, limit float64
	all                 bool // the last steps may go too
}

// TrimHard makes the history fit after a provider said that it is too long,
// whatever the estimate says: it goes well below what was just sent. When the
// provider named its window, call SetBudget with it (less the reply) first.
// The budget is lowered so that the same does not happen again at once. Errors
// are those of Trim.
func (c *Conversation) TrimHard() (Trimmed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.meter.tokens(c.size)
	goal, limit := hardShare*before, hardLimit*before
	budget := c.budget()
	if budget > 0 {
		goal, limit = min(goal, trimShare*float64(budget)), min(limit, float64(budget))
	}
	t, err := c.trim(trimming{before: before, goal: goal, limit: limit})
	// Images may be refused for their bytes: that says nothing about tokens.
	if err == nil && t.Images == 0 && (budget <= 0 || roundTokens(limit) < budget) {
		c.known.budget = int(limit / c.perByte())
	}
	return t, err
}

// Compact makes the history as small as it can be made without a model that sums
// it up: to a quarter of the budget, the last steps included. It is for between
// two turns, at the user's wish. Errors are those of Trim, but for ErrFull.
func (c *Conversation) Compact() (Trimmed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.meter.tokens(c.size)
	goal := smallest * before
	if budget := float64(c.budget()); budget > 0 {
		goal = min(goal, smallest*budget)
	}
	t, err := c.trim(trimming{before: before, goal: goal, limit: goal, all: true})
	if errors.Is(err, ErrFull) {
		err = nil
	}
	return t, err
}

// trim plans, records and applies. Above the limit and the reserve it fails.
func (c *Conversation) trim(how trimming) (Trimmed, error) {
	p := &planner{c: c, items: slices.Clone(c.items), size: c.size, trimming: how}
	p.run()
	before, after := how.before, p.tokens()
	if after >= before { // a note longer than the step it stands for
		p.record, p.did, after = trimRecord{}, Trimmed{}, before
	}
	p.did.Before, p.did.After = roundTokens(before), roundTokens(after)
	if !p.record.empty() {
		p.record.Before, p.record.After = p.did.Before, p.did.After
		if c.session != nil {
			if _, err := c.session.append(typeTrim, &p.record); err != nil {
				return Trimmed{}, err
			}
		}
		c.meter.rescale(c.size, p.size)
		c.items, c.size, c.sent = p.items, p.size, len(p.items)
	}
	if most := how.limit + float64(c.reserve); after > most {
		return p.did, c.full(p.did.After, int(most))
	}
	return p.did, nil
}

// Full is the error of the history as it is, where most tokens are too many.
func (c *Conversation) Full(most int) *FullError {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.full(roundTokens(c.meter.tokens(c.size)), most)
}

// full is the error of a history that takes so many tokens even trimmed.
func (c *Conversation) full(tokens, most int) *FullError {
	e := &FullError{Tokens: tokens, Budget: most}
	whole := c.size.plus(size{bytes: c.meter.overhead})
	if all := c.meter.raw(whole); all > 0 {
		e.Overhead = roundTokens(float64(tokens) * c.meter.raw(size{bytes: c.meter.overhead}) / all)
		if i := lastUser(c.items); i >= 0 {
			e.Latest = roundTokens(float64(tokens) * c.meter.raw(c.items[i].size) / all)
		}
	}
	return e
}
