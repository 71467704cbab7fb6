package conversation

import (
	"math"
	"slices"

	"artoo/provider"
)

const (
	// usualBytes are the bytes of a token where there is nothing to tell it from.
	usualBytes = 3.5
	// minSample is the least text in tokens that corrects the estimate: in less, unknown marks weigh too much.
	minSample = 100
	// A count below implausible or above manifold times the guess is ignored: some servers count only what they had not cached.
	implausible = 0.3
	manifold    = 2 * mostFactor
	// uncertain is the share by which a text may have more tokens than estimated.
	uncertain = 0.15
)

const (
	// firstFactor is rather too high: too low an estimate costs a refusal.
	firstFactor = 1.1
	leastFactor = 0.45
	mostFactor  = 6   // small local models may count a token a byte
	learnRate   = 0.6 // the share of an error that a count corrects
)

// factors are how many tokens of each kind a model counts for one that was guessed.
type factors struct {
	of   [kinds]float64
	seen [kinds]bool // a count included the kind
}

func newFactors() (f factors) {
	for k := range f.of {
		f.of[k] = firstFactor
	}
	f.of[picture] = 1
	return f
}

// tokens estimates what was guessed.
func (f *factors) tokens(guess [kinds]int) (sum float64) {
	for k, n := range guess {
		sum += f.of[k] * float64(n)
	}
	return sum
}

// learn corrects the factors by the server's count. A kind takes its share of the error, or all of it the first time.
func (f *factors) learn(guess [kinds]int, counted float64) {
	var share [kinds]float64
	all, squares := 0.0, 0.0
	for k, n := range guess {
		share[k] = f.of[k] * math.Abs(float64(n))
		all += share[k]
		squares += share[k] * share[k]
	}
	expected := f.tokens(guess)
	if expected <= 0 {
		return
	}
	off := counted/expected - 1
	for k := range f.of {
		rate := learnRate * share[k] * all / squares
		if !f.seen[k] && content(k) != picture {
			rate = 1
		}
		f.seen[k] = f.seen[k] || share[k] > 0.1*all
		f.of[k] = min(max(f.of[k]*(1+rate*off), leastFactor), mostFactor)
	}
}

// byName are the factors for a session file, nil before any were learned.
func (f *factors) byName() map[string]float64 {
	if f.of == newFactors().of {
		return nil
	}
	named := make(map[string]float64, kinds)
	for k, name := range kindNames {
		named[name] = math.Round(f.of[k]*1000) / 1000
	}
	return named
}

func (f *factors) restore(named map[string]float64) {
	for k, name := range kindNames {
		if of, ok := named[name]; ok {
			f.of[k], f.seen[k] = min(max(of, leastFactor), mostFactor), true
		}
	}
}

// meter estimates the history: the provider's last count plus an estimate of what came since.
type meter struct {
	factors factors
	before  size        // the system prompt and tools, once they are counted
	count   func() size // counts them; nil when before holds

	anchored       bool
	anchorTokens   float64
	anchorSize     size
	anchorOverhead size // overhead when the anchor was set
	anchorForeign  bool // the anchor comes from a file: its overhead is not known yet
	output         int  // tokens of the reply that was counted and not yet appended
	reasoning      int  // the part of output that is reasoning

	// The last request that was counted, its overhead included, 0 before one.
	countedTokens int
	countedSize   size
}

// raw estimates what no count covers.
func (m *meter) raw(s size) float64 { return m.factors.tokens(s.tokens) }

// tokens estimates a history of this size.
func (m *meter) tokens(s size) float64 {
	if !m.anchored {
		return m.raw(s.plus(m.overhead()))
	}
	before := m.overhead() // it may be what tells anchorOverhead
	since := s.minus(m.anchorSize).plus(before.minus(m.anchorOverhead))
	return max(0, m.anchorTokens+m.raw(since))
}

// most allows for an estimate that is too low since the last count.
func (m *meter) most(s size) float64 {
	tokens := m.tokens(s)
	if since := tokens - m.anchorTokens; m.anchored && since > 0 {
		tokens += uncertain * since
	}
	return tokens
}

// setOverhead has count tell what stands before the history, when that is asked for.
func (m *meter) setOverhead(count func() size) {
	if m.anchorForeign {
		m.overhead() // counted now, for the request in the file
	}
	m.count = count
}

func (m *meter) overhead() size {
	if m.count == nil {
		return m.before
	}
	m.before, m.count = m.count(), nil
	if m.anchorForeign {
		m.anchorForeign = false
		m.anchorOverhead = m.before
		m.countedSize = m.countedSize.plus(m.before)
	}
	return m.before
}

// anchor takes tokens as the truth for a history of this size.
func (m *meter) anchor(tokens float64, s size) {
	m.anchored = true
	m.anchorTokens, m.anchorSize, m.anchorOverhead = tokens, s, m.overhead()
}

// observe takes a provider's count of a history of size sent; now is its size now.
func (m *meter) observe(u provider.Usage, sent, now size) {
	m.output = 0
	prompt := u.Prompt()
	all := sent.plus(m.overhead())
	if u.Estimated || prompt <= 0 || !plausible(prompt, all) {
		return
	}
	m.learn(prompt, all)
	m.anchor(float64(prompt), sent)
	m.countedTokens, m.countedSize, m.anchorForeign = prompt, all, false
	if now != sent {
		return // the reply is already in the history, and estimated
	}
	m.output, m.reasoning = u.Output, u.Reasoning
}

// plausible reports whether a request of this size can have so many tokens; a server may add some to it.
func plausible(tokens int, all size) bool {
	guess := float64(all.guess())
	return float64(tokens) >= implausible*guess && float64(tokens) <= manifold*max(guess, 1000)
}

// learn takes the count of what was added since the last count, or of a first request with few images.
func (m *meter) learn(prompt int, all size) {
	if m.countedTokens > 0 {
		prompt, all = prompt-m.countedTokens, all.minus(m.countedSize)
	} else if m.overhead().bytes == 0 || all.tokens[picture] > prompt/4 {
		return
	}
	if all.guess() >= minSample {
		m.factors.learn(all.tokens, float64(prompt))
	}
}

// resume takes a count from a file: what stood before the history is not known.
func (m *meter) resume(u provider.Usage, sent size) {
	if prompt := u.Prompt(); !u.Estimated && prompt > 0 {
		m.anchor(float64(prompt), sent)
		m.countedTokens, m.countedSize, m.anchorForeign = prompt, sent, true
		m.output, m.reasoning = u.Output, u.Reasoning
	}
}

// appended takes an added message; now includes it. The reply just counted has the provider's count.
func (m *meter) appended(msg provider.Message, s, now size) {
	output := m.output
	m.output = 0
	if output <= 0 || msg.Role != provider.RoleAssistant {
		return
	}
	if !slices.ContainsFunc(msg.Parts, func(p provider.Part) bool { _, ok := p.(provider.Reasoning); return ok }) {
		output -= m.reasoning // it is not sent back
	}
	// A message that was shortened is far smaller than the model wrote: then estimate it.
	if raw := m.raw(s); float64(output) > 3*raw+100 {
		return
	}
	m.anchor(m.tokens(now.minus(s))+float64(max(output, 0)), now)
}

// rescale shrinks the provider's count in proportion to a trim.
func (m *meter) rescale(before, after size) {
	if m.anchored {
		m.anchor(m.tokens(before)*m.share(before, after), after)
	}
}

func (m *meter) share(before, after size) float64 {
	whole := m.raw(before.plus(m.overhead()))
	if whole <= 0 {
		return 1
	}
	return m.raw(after.plus(m.overhead())) / whole
}

func roundTokens(f float64) int { return int(math.Round(f)) }
