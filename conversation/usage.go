package conversation

import (
	"math"

	"artoo/provider"
)

// SetOverhead sets the system prompt and the tools, which precede the history. tools is
// called once, when an estimate is needed; it may be nil.
func (c *Conversation) SetOverhead(system string, tools func() []provider.ToolSpec) {
	c.meter.setOverhead(func() size {
		s := sizeOfText(system)
		if tools == nil {
			return s
		}
		for _, t := range tools() {
			s = s.plus(sizeOfTool(t))
		}
		return s
	})
}

// SetBudget changes the budget after a switch of model or when an error named the real
// window; 0 or less means no budget. It forgets limits learned from refusals.
func (c *Conversation) SetBudget(tokens int) {
	c.cfg.MaxContextTokens = tokens
	c.known = known{}
}

// SetReserve sets the tokens of the reply's share that a request may take when even the
// trimmed history is over budget. The default is 0.
func (c *Conversation) SetReserve(tokens int) {
	c.reserve = max(tokens, 0)
}

// Refused notes that the last Messages are too long. prompt is the provider's count, 0 if
// it named none; an implausible one counts as none.
func (c *Conversation) Refused(prompt int) {
	if c.Plausible(prompt) {
		c.count(provider.Usage{Input: prompt})
		c.counted = provider.Usage{}
		return
	}
	if sent := c.sentBytes(); c.known.refused == 0 || sent < c.known.refused {
		c.known.refused = sent
	}
}

// Plausible reports whether the last Messages can have so many tokens.
func (c *Conversation) Plausible(tokens int) bool {
	return tokens > 0 && plausible(tokens, c.sentSize().plus(c.meter.overhead()))
}

// known are limits of the window learned from refusals and answers, in bytes of requests, so that a
// better estimate does not change it.
type known struct {
	refused  int // the smallest that was too long, or 0
	accepted int // the largest that was answered
	budget   int // TrimHard's lower budget, or 0
}

// Window holds the limits learned from refusals and answers, in tokens: refused is too long (0 if none was
// refused), accepted is not.
func (c *Conversation) Window() (refused, accepted int) {
	return int(float64(c.known.refused) * c.perByte()), int(float64(c.known.accepted) * c.perByte())
}

func (c *Conversation) sentBytes() int { return c.bytes(c.sentSize()) }

// sentSize is the size of the history that the last Messages returned.
func (c *Conversation) sentSize() size {
	sent := c.size
	for _, it := range c.items[c.sent:] {
		sent = sent.minus(it.size)
	}
	return sent
}

// bytes is the size of a request with a history of size s, its images as bytes.
func (c *Conversation) bytes(s size) int {
	return s.bytes + c.meter.overhead().bytes + int(float64(s.tokens[picture])*usualBytes)
}

// perByte is about how many tokens a byte of a request is.
func (c *Conversation) perByte() float64 {
	if all := c.bytes(c.size); all > 0 {
		if per := c.meter.tokens(c.size) / float64(all); per > 0 {
			return per
		}
	}
	return 1 / usualBytes
}

// Budget is the budget in tokens, 0 or less for none. TrimHard lowers it.
func (c *Conversation) Budget() int {
	budget := c.cfg.MaxContextTokens
	if c.known.budget > 0 {
		if lowered := int(float64(c.known.budget) * c.perByte()); budget <= 0 || lowered < budget {
			return lowered
		}
	}
	return budget
}

// Observe takes the provider's count of the last Messages and the reply. Call it after each
// reply and before its results are appended. Estimated counts are ignored.
func (c *Conversation) Observe(usage provider.Usage) {
	c.known.accepted = max(c.known.accepted, c.sentBytes())
	c.count(usage)
}

func (c *Conversation) count(usage provider.Usage) {
	c.counted = usage
	c.meter.observe(usage, c.sentSize(), c.size)
}

// Note writes something that no model is sent to the session; where none is kept, nothing happens. It may be called on any
// goroutine.
func (c *Conversation) Note(n Note) error {
	if c.session == nil {
		return nil
	}
	_, err := c.session.append(typeNote, &n)
	return err
}

// RecordUsage writes a request's usage to the session. Usage that Observe was just given is
// marked as this conversation's own. costUSD is nil if a price is unknown.
func (c *Conversation) RecordUsage(model string, usage provider.Usage, costUSD *float64) error {
	record := UsageRecord{Model: model, Usage: usage, CostUSD: costUSD}
	if c.session == nil {
		c.totals.add(record)
		return nil
	}
	if usage.Total() > 0 && sameCounts(usage, c.counted) && c.sent > 0 {
		record.Sent = c.items[c.sent-1].id
		record.Factors = c.meter.factors.byName()
	}
	c.counted = provider.Usage{}
	_, err := c.session.append(typeUsage, &record)
	return err
}

func sameCounts(a, b provider.Usage) bool {
	a.CostUSD, b.CostUSD = nil, nil
	return a == b
}

// Tokens is about the tokens of so many bytes of text.
func (c *Conversation) Tokens(bytes int) int {
	return int(math.Ceil(float64(bytes) * c.perByte()))
}

// Bytes is about how many bytes of text so many tokens are.
func (c *Conversation) Bytes(tokens int) int {
	return int(float64(tokens) / c.perByte())
}

// EstimatedTokens is about the size of the next request without its reply.
func (c *Conversation) EstimatedTokens() int {
	return roundTokens(c.meter.tokens(c.size))
}

// PartTokens is about how many tokens a part of the history is.
func (c *Conversation) PartTokens(p provider.Part) int {
	return roundTokens(c.meter.raw(sizeOfPart(p)))
}

// TextTokens is about the tokens of a text, ToolTokens those of a tool's description.
func (c *Conversation) TextTokens(text string) int {
	return roundTokens(c.meter.raw(sizeOfText(text)))
}

func (c *Conversation) ToolTokens(t provider.ToolSpec) int {
	return roundTokens(c.meter.raw(sizeOfTool(t)))
}

// Totals sums the requests of the session, or of this run without one.
func (c *Conversation) Totals() Totals {
	if c.session == nil {
		return c.totals
	}
	return c.session.Totals()
}

// Cost is the cost of the conversation so far in US dollars, nil when a price is unknown.
func (c *Conversation) Cost() *float64 {
	t := c.Totals()
	if t.Requests == 0 {
		return new(float64)
	}
	return t.CostUSD
}
