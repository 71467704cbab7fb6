package conversation

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"artoo/provider"
)

// content is a kind of content. Models differ in its tokens, so each kind is learned.
type content int

const (
	prose     content = iota // text in Latin letters
	code                     // and listings, logs, tables
	data                     // JSON, and the marks around messages
	cjk                      // Chinese, Japanese, Korean characters, wherever they stand
	alphabets                // other letters than Latin ones, wherever they stand
	picture                  // see provider.Image.Tokens
	kinds
)

var kindNames = [kinds]string{"prose", "code", "json", "cjk", "alphabets", "images"}

// size is the bytes of a part of a request and its guessed tokens by kind.
type size struct {
	bytes  int
	tokens [kinds]int
}

func (s size) plus(t size) size {
	s.bytes += t.bytes
	for k := range s.tokens {
		s.tokens[k] += t.tokens[k]
	}
	return s
}

func (s size) minus(t size) size {
	s.bytes -= t.bytes
	for k := range s.tokens {
		s.tokens[k] -= t.tokens[k]
	}
	return s
}

// guess is how many tokens it has before anything was learned.
func (s size) guess() (sum int) {
	for _, n := range s.tokens {
		sum += n
	}
	return sum
}

// The JSON and role marks around a message and a part, in tokens and bytes.
const (
	messageTokens, partTokens = 3, 2
	messageBytes, partBytes   = 12, 8
)

func sizeOf(msg provider.Message) size {
	s := size{bytes: messageBytes}
	s.tokens[data] = messageTokens
	for _, p := range msg.Parts {
		s = s.plus(sizeOfPart(p))
		s.bytes += partBytes
		s.tokens[data] += partTokens
	}
	return s
}

// sizeOfPart measures a part. A quarter of opaque payloads, base64 and partly not counted, is
// near enough.
func sizeOfPart(p provider.Part) (s size) {
	opaque := func(text string) {
		s.bytes += len(text) / 4
		s.tokens[data] += len(text) / 12
	}
	switch p := p.(type) {
	case provider.Text:
		s = sizeOfText(p.Text)
		opaque(p.Opaque)
	case provider.Reasoning:
		s = sizeOfText(p.Text)
		opaque(p.Opaque)
	case provider.Image:
		s.tokens[picture] = p.Tokens()
	case provider.ToolCall:
		s = sizeOfText(string(p.Input)).plus(sizeOfText(p.Raw)).plus(sizeOfText(p.Name))
		opaque(p.Opaque)
	case provider.ToolResult:
		s = sizeOfText(p.Text)
		for _, img := range p.Images {
			s.tokens[picture] += img.Tokens()
		}
	}
	return s
}

func sizeOfTool(t provider.ToolSpec) size {
	s := sizeOfText(t.Name).plus(sizeOfText(t.Description)).plus(sizeOfText(string(t.Schema)))
	s.tokens[data] += messageTokens
	return s
}

// pieces counts words with the space before them, digits by three, runs of signs and of spaces.
type pieces struct {
	words, more, capitals  int // more letters than five in a word; capitals after the first
	digits                 int // groups of three
	signs, moreSigns       int // runs, and signs after the first of one
	quotes                 int // quotes among the signs
	lines, blanks          int // runs of line ends, of more than one space
	accented               int // Latin letters beyond ASCII
	wide                   int // Chinese, Japanese and Korean
	alphabet, letters, odd int // Cyrillic and Greek; other letters; symbols
}

// sizeOfText measures a text. The weights, in 1/1000 token, were fitted to o200k_base on prose,
// sources, JSON, listings and manuals in five languages: within a tenth for most, a fifth for a
// few.
func sizeOfText(text string) size {
	s := size{bytes: len(text)}
	if text == "" {
		return s
	}
	p := piecesOf(text)
	latin := 940*p.words + 256*p.more + 76*p.capitals + 1540*p.digits + 585*p.signs + 186*p.moreSigns +
		163*p.lines + 1400*p.blanks + 1740*p.accented + 1980*p.odd
	s.tokens[p.content(text)] = (latin + 500) / 1000
	s.tokens[cjk] += (810*p.wide + 500) / 1000
	s.tokens[alphabets] += (360*p.alphabet + 510*p.letters + 500) / 1000
	return s
}

// content classes the text that is neither cjk nor of other alphabets.
func (p pieces) content(text string) content {
	text = strings.TrimLeft(text, " \t\r\n")
	switch {
	case text != "" && (text[0] == '{' || text[0] == '[') && p.quotes*40 >= len(text):
		return data
	case (p.signs+p.blanks)*2 > p.words:
		return code
	}
	return prose
}

func piecesOf(s string) (p pieces) {
	for i := 0; i < len(s); {
		j := i + 1
		switch c := s[i]; {
		case isLower(c) || isUpper(c):
			for j = i; j < len(s) && isUpper(s[j]); j++ {
			}
			capitals := j - i
			for ; j < len(s) && isLower(s[j]); j++ {
			}
			p.words++
			p.capitals += max(0, capitals-1)
			p.more += max(0, j-i-capitals-5)
		case isDigit(c):
			for ; j < len(s) && j < i+3 && isDigit(s[j]); j++ {
			}
			p.digits++
		case c == '\n' || c == '\r':
			for ; j < len(s) && (s[j] == '\n' || s[j] == '\r'); j++ {
			}
			p.lines++
		case c == ' ' || c == '\t':
			for ; j < len(s) && (s[j] == ' ' || s[j] == '\t'); j++ {
			}
			if j > i+1 || c == '\t' {
				p.blanks++
			}
		case c < utf8.RuneSelf:
			for j = i; j < len(s) && isSign(s[j]); j++ {
				if s[j] == '"' {
					p.quotes++
				}
			}
			j = max(j, i+1) // a control character
			p.signs++
			p.moreSigns += j - i - 1
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			p.rune(r)
			j = i + n
		}
		i = j
	}
	return p
}

// rune counts a character beyond ASCII.
func (p *pieces) rune(r rune) {
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul),
		r >= 0x3000 && r <= 0x303f, r >= 0xff00 && r <= 0xffef: // includes their punctuation
		p.wide++
	case unicode.Is(unicode.Latin, r):
		p.accented++
	case unicode.In(r, unicode.Cyrillic, unicode.Greek):
		p.alphabet++
	case unicode.IsLetter(r), unicode.IsMark(r):
		p.letters++
	default:
		p.odd++
	}
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isSign(c byte) bool {
	return c > ' ' && c < 0x7f && !isLower(c) && !isUpper(c) && !isDigit(c)
}

const (
	// usualBytes are the bytes of a token without counts to learn it from.
	usualBytes = 3.5
	// minSample is the least text in tokens that corrects the estimate: in less, unknown marks
	// weigh too much.
	minSample = 100
	// A count below implausible or above manifold times the guess is ignored: some servers count
	// only tokens that they had not cached.
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

// tokens estimates the guessed part.
func (f *factors) tokens(guess [kinds]int) (sum float64) {
	for k, n := range guess {
		sum += f.of[k] * float64(n)
	}
	return sum
}

// learn corrects the factors by the server's count. A kind takes its share of the error, or all
// of it the first time.
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

// meter estimates the history: the provider's last count plus an estimate of the messages since.
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

// raw estimates the messages that no count covers.
func (m *meter) raw(s size) float64 { return m.factors.tokens(s.tokens) }

// tokens estimates a history of this size.
func (m *meter) tokens(s size) float64 {
	if !m.anchored {
		return m.raw(s.plus(m.overhead()))
	}
	before := m.overhead() // it may set anchorOverhead
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

// setOverhead sets count as the measure of the text before the history, used on demand.
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

// plausible reports whether a request of this size can have so many tokens; a server may add some
// to it.
func plausible(tokens int, all size) bool {
	guess := float64(all.guess())
	return float64(tokens) >= implausible*guess && float64(tokens) <= manifold*max(guess, 1000)
}

// learn takes the count of the messages since the last count, or of a first request with few images.
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

// resume takes a count from a file: the text before the history is not known.
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
