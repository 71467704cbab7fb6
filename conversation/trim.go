package conversation

import (
	"slices"
)

// Shares of the budget and of what was sent.
const (
	trimShare = 0.75 // Trim goes down to this part of the budget in one go
	hardShare = 0.6  // TrimHard to this part of what did not fit
	hardLimit = 0.9  // and fails when it stays above this part of it
	userKept  = 2000 // tokens that are kept of each of the user's messages but the latest
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
// are shortened too, and then their texts that answer earlier messages.
//
// What is done is recorded in the session before it holds, so that a resumed
// session sends the same. Nothing leaves the file. A *FullError (errors.Is
// ErrFull) tells that it does not fit even so; the Trimmed returned with it
// holds what was done. After any other error the history is as it was.
func (c *Conversation) Trim() (Trimmed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	budget := c.cfg.MaxContextTokens
	before := c.meter.tokens(c.size)
	if budget <= 0 || roundTokens(before) <= budget {
		return Trimmed{}, nil
	}
	return c.trim(before, trimShare*float64(budget), float64(budget))
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
	budget := c.cfg.MaxContextTokens
	if budget > 0 {
		goal, limit = min(goal, trimShare*float64(budget)), min(limit, float64(budget))
	}
	t, err := c.trim(before, goal, limit)
	// Images may be refused for their bytes: that says nothing about tokens.
	if lower := roundTokens(limit); err == nil && t.Images == 0 && (budget <= 0 || lower < budget) {
		c.cfg.MaxContextTokens = lower
	}
	return t, err
}

// trim plans, records and applies. Above limit it fails.
func (c *Conversation) trim(before, goal, limit float64) (Trimmed, error) {
	p := &planner{c: c, items: slices.Clone(c.items), size: c.size, before: before, goal: goal}
	p.run(limit)
	after := p.tokens()
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
	if after > limit {
		return p.did, &FullError{Tokens: p.did.After, Budget: int(limit)}
	}
	return p.did, nil
}
