package conversation

import (
	"math"
	"slices"

	"artoo/provider"
)

// Bounds of the estimate. Bytes per token are measured in UTF-8 bytes because
// they vary less between languages than characters do: English prose is near
// 4.5, code 3.3, Chinese 2.5, base64 and JSON near 2. Small models of one's own
// may count a token a byte, and the marks around each message besides.
const (
	defaultRatio = 3.5
	minRatio     = 0.8
	maxRatio     = 8.0
	// minSample is the smallest prompt in tokens that corrects the ratio; below
	// it the fixed parts of a request weigh too much.
	minSample = 500
	// slowly bounds how much more a ratio may promise than the last count showed:
	// too low an estimate costs a refusal, too high a one only some room.
	slowly = 1.35
	// implausible is the bytes per token above which a provider's count is not
	// believed: some local servers count only what their cache did not hold.
	implausible = 16
	// messageBytes and partBytes stand for the JSON and role marks around them.
	messageBytes, partBytes = 12, 8
)

// size is what estimates are made from: bytes of text, and the tokens of images.
type size struct{ bytes, images int }

func (s size) plus(t size) size  { return size{s.bytes + t.bytes, s.images + t.images} }
func (s size) minus(t size) size { return size{s.bytes - t.bytes, s.images - t.images} }

// meter estimates the tokens of the history. It starts from the provider's own
// count of the last request and adds an estimate for what came since.
type meter struct {
	ratio    float64 // bytes per token
	overhead int     // bytes of the system prompt and tools

	anchored       bool
	anchorTokens   float64
	anchorSize     size
	anchorOverhead int  // overhead when the anchor was set
	anchorForeign  bool // the anchor comes from a file: its overhead is not known yet
	output         int  // tokens of the reply that was counted and not yet appended
	reasoning      int  // of them reasoning
}

func (m *meter) raw(s size) float64 {
	return float64(s.bytes)/m.ratio + float64(s.images)
}

// tokens estimates a history of this size.
func (m *meter) tokens(s size) float64 {
	if !m.anchored {
		return m.raw(s.plus(size{bytes: m.overhead}))
	}
	since := s.minus(m.anchorSize).plus(size{bytes: m.overhead - m.anchorOverhead})
	return max(0, m.anchorTokens+m.raw(since))
}

func (m *meter) setOverhead(n int) {
	m.overhead = n
	if m.anchorForeign {
		m.anchorForeign = false
		m.anchorOverhead = n
	}
}

// anchor takes tokens as the truth for a history of this size.
func (m *meter) anchor(tokens float64, s size) {
	m.anchored = true
	m.anchorTokens, m.anchorSize, m.anchorOverhead = tokens, s, m.overhead
}

// observe corrects the meter by a provider's count. sent is the size of the
// history that was sent, now that of the history as it is. foreign counts come
// from a file: what stood before the history is not known.
func (m *meter) observe(u provider.Usage, sent, now size, foreign bool) {
	m.output = 0
	prompt := u.Prompt()
	if u.Estimated || prompt <= 0 {
		return
	}
	all := sent
	if !foreign {
		all.bytes += m.overhead
	}
	if all.bytes > implausible*prompt {
		return
	}
	// What stands before the history must be known to tell the ratio, and
	// images, whose size is a guess, must be few.
	images := all.images
	if text := prompt - images; !foreign && m.overhead > 0 && text >= minSample && images <= prompt/4 {
		fit := min(max(float64(all.bytes)/float64(text), minRatio), maxRatio)
		m.ratio = min((m.ratio+fit)/2, fit*slowly)
	}
	m.anchor(float64(prompt), sent)
	m.anchorForeign = foreign
	if now != sent {
		return // the reply is already in the history, and estimated
	}
	m.output, m.reasoning = u.Output, u.Reasoning
}

// appended tells of a message that was added; now includes it. The reply that
// was just counted is taken at the provider's count.
func (m *meter) appended(msg provider.Message, s, now size) {
	output := m.output
	m.output = 0
	if output <= 0 || msg.Role != provider.RoleAssistant {
		return
	}
	if !slices.ContainsFunc(msg.Parts, func(p provider.Part) bool { _, ok := p.(provider.Reasoning); return ok }) {
		output -= m.reasoning // it is not sent back
	}
	// A message that was cut down before it was appended is far smaller than
	// what the model wrote; then the estimate is nearer.
	if raw := m.raw(s); float64(output) > 3*raw+100 {
		return
	}
	m.anchor(m.tokens(now.minus(s))+float64(max(output, 0)), now)
}

// rescale tells that the history was cut from one size to another: what the
// provider counted shrinks in proportion.
func (m *meter) rescale(before, after size) {
	if m.anchored {
		m.anchor(m.tokens(before)*m.share(before, after), after)
	}
}

func (m *meter) share(before, after size) float64 {
	over := size{bytes: m.overhead}
	whole := m.raw(before.plus(over))
	if whole <= 0 {
		return 1
	}
	return m.raw(after.plus(over)) / whole
}

func roundTokens(f float64) int { return int(math.Round(f)) }

// sizeOf measures a message.
func sizeOf(msg provider.Message) size {
	s := size{bytes: messageBytes}
	for _, p := range msg.Parts {
		bytes, images := PartSize(p)
		s = s.plus(size{partBytes + bytes, images})
	}
	return s
}

// PartSize is about how large a part is: bytes of text, and tokens of images.
// Opaque payloads are base64 of something shorter, and partly not counted by the
// providers at all: a quarter is near enough.
func PartSize(p provider.Part) (bytes, images int) {
	switch p := p.(type) {
	case provider.Text:
		return len(p.Text) + len(p.Opaque)/4, 0
	case provider.Reasoning:
		return len(p.Text) + len(p.Opaque)/4, 0
	case provider.Image:
		return 0, p.Tokens()
	case provider.ToolCall:
		return len(p.Name) + len(p.Input) + len(p.Raw) + len(p.Opaque)/4, 0
	case provider.ToolResult:
		for _, img := range p.Images {
			images += img.Tokens()
		}
		return len(p.Text), images
	}
	return 0, 0
}
