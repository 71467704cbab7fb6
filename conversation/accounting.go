package conversation

import (
	"math"

	"artoo/provider"
)

// SetOverhead tells how many bytes of system prompt and tools (names,
// descriptions, schemas) go with every request. Without it they are part of the
// estimate only after the first reply.
func (c *Conversation) SetOverhead(chars int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meter.setOverhead(chars)
}

// SetBudget changes the budget, after a switch of model or when a provider's
// error named its real window. 0 or less: none.
func (c *Conversation) SetBudget(tokens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cfg.MaxContextTokens = tokens
}

// Budget is the budget in tokens, 0 or less for none. TrimHard lowers it.
func (c *Conversation) Budget() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg.MaxContextTokens
}

// Observe takes the provider's count for what the last Messages returned and
// the reply to it. It is called after each reply, before or after the reply is
// appended, and before its results are. Estimated counts are ignored.
func (c *Conversation) Observe(usage provider.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(usage, false)
}

func (c *Conversation) count(usage provider.Usage, foreign bool) {
	c.counted = usage
	sent := c.size
	for _, it := range c.items[c.sent:] {
		sent = sent.minus(it.size)
	}
	c.meter.observe(usage, sent, c.size, foreign)
}

// RecordUsage keeps what a request used in the session file. Usage that Observe
// was just given is marked as this conversation's own; other requests (of
// sub-agents, failed tries) count for Session.Totals only. costUSD is nil when
// a price is unknown.
func (c *Conversation) RecordUsage(model string, usage provider.Usage, costUSD *float64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return nil
	}
	record := UsageRecord{Model: model, Usage: usage, CostUSD: costUSD}
	if usage.Total() > 0 && sameCounts(usage, c.counted) && c.sent > 0 {
		record.Sent = c.items[c.sent-1].id
	}
	c.counted = provider.Usage{}
	_, err := c.session.append(typeUsage, &record)
	return err
}

func sameCounts(a, b provider.Usage) bool {
	a.CostUSD, b.CostUSD = nil, nil
	return a == b
}

// RecordNote keeps something about the session that no model is sent.
func (c *Conversation) RecordNote(kind, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return nil
	}
	_, err := c.session.append(typeNote, &Note{Kind: kind, Text: text})
	return err
}

// Tokens is about how many tokens so many bytes of text are to the model that
// answers.
func (c *Conversation) Tokens(bytes int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int(math.Ceil(float64(bytes) / c.meter.ratio))
}

// EstimatedTokens is about how large the next request would be, without its
// reply.
func (c *Conversation) EstimatedTokens() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return roundTokens(c.meter.tokens(c.size))
}
