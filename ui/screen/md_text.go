package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"artoo/ui/sanitize"
)

// token is a stretch of text in one style; a word is tokens that no row end may part.
type token struct {
	text  string
	style style
	link  string // the address of the web that it leads to; "" for none
}

type word []token

func (w word) cells() int {
	n := 0
	for _, a := range w {
		n += cells(a.text)
	}
	return n
}

// heldWords is a run that is held back while a span in it may still be closed.
type heldWords struct {
	text   []byte
	hot    bool // it has a character that may be markup
	last   rune // the last rune of text
	spaces int  // before it
	fresh  bool // it has got such a character since it was parsed
	parsed inlineRun
}

// maxSpan is the most cells of an open span that are held back, maxCode of one of code.
const (
	maxSpan = 120
	maxCode = 240
)

func (m *Markdown) readText(s string) string {
	for i, r := range s {
		m.size++
		switch {
		case r == '\n':
			m.endRun(true)
			m.endLine()
			return s[i+1:]
		case r == ' ' || r == '\t':
			m.endRun(false)
			m.sentenceEnded()
			switch {
			case m.state != inText:
				return s[i:]
			case len(m.held.text) > 0: // a span is open
				m.held.text = append(m.held.text, ' ')
				m.held.last = ' '
			case m.row.started:
				m.held.spaces++
				m.row.guard.forged(' ') // it is written with the next word, and this one need not wait
			}
			continue
		}
		if len(m.held.text) > 0 && breaksBetween(m.held.last, r) && !m.open() {
			m.putRun()
			m.sentenceEnded()
		}
		m.held.text = utf8.AppendRune(m.held.text, r)
		m.held.last = r
		switch r {
		case '`', '*', '_', '~', '[', ']', '(', ')', '<', '>', '&', '\\':
			m.held.hot, m.held.fresh = true, true
		}
		if len(m.held.text) >= maxHeld {
			run := string(m.held.text)
			m.clearWord()
			m.putWords(run)
			m.state = inCode
			return s[i+utf8.RuneLen(r):]
		}
	}
	return ""
}

func (m *Markdown) open() bool { return m.openAt() >= 0 }

func (m *Markdown) openAt() int {
	if !m.held.hot || m.asSource() {
		return -1
	}
	if m.held.fresh {
		m.scanned += len(m.held.text)
		m.held.parsed, m.held.fresh = m.inlineRun(m.held.text), false
	}
	return m.held.parsed.openAt()
}

// mayGrow reports whether an open span may become longer: written text should be seen. Code may
// be longer, since nearly every backtick opens a span.
func (m *Markdown) mayGrow(at int) bool {
	limit := min(m.row.width, maxSpan)
	if m.opt.Color && m.held.text[at] == '`' {
		limit = maxCode
	}
	return cells(string(m.held.text)) < limit
}

func (m *Markdown) asSource() bool { return m.size > maxBlock || m.spent() }

// endRun puts the word on the screen unless a span in it is open, which the end of a line gives
// up.
func (m *Markdown) endRun(lineEnd bool) {
	if !lineEnd {
		if len(m.held.text) == 0 {
			return
		}
		if at := m.openAt(); at < 0 {
			m.putRun()
		} else if !m.mayGrow(at) {
			m.giveUp()
		}
		return
	}
	for len(m.held.text) > 0 {
		if m.open() {
			m.giveUp()
		} else {
			m.putRun()
		}
	}
}

func (m *Markdown) putRun() {
	run, parsed := string(m.held.text), m.held.parsed
	plain := !m.held.hot || m.asSource()
	m.clearWord()
	switch task := m.spokenTask(run); {
	case plain || task != run:
		m.putWords(task)
	default:
		m.placeAll(splitWords(m.inline(parsed.root, parsed.source, 0)))
	}
}

func (m *Markdown) placeAll(words []word) {
	for i, w := range words {
		if i > 0 {
			m.held.spaces = 1
		}
		m.place(w)
	}
}

// literalMark makes the next character no markup. The sanitiser lets no control character
// through.
const literalMark = '\x01'

// giveUp reads the held text again with the open span's mark as plain characters.
func (m *Markdown) giveUp() {
	run := string(m.held.text)
	m.scanned += len(run)
	at := m.held.parsed.openAt()
	m.clearWord()
	m.size -= len(run)
	end := at + 1
	for end < len(run) && run[end] == run[at] && run[at] != '[' {
		end++ // ** is one mark
	}
	var marked strings.Builder
	marked.WriteString(run[:at])
	for _, c := range run[at:end] {
		marked.WriteRune(literalMark)
		marked.WriteRune(c)
	}
	marked.WriteString(run[end:])
	m.feed(marked.String())
}

func (m *Markdown) clearWord() {
	m.held = heldWords{text: m.held.text[:0], spaces: m.held.spaces}
}

func (m *Markdown) putWords(run string) {
	run = strings.ReplaceAll(run, string(literalMark), "")
	for i, text := range strings.Split(sanitize.Text(run, sanitize.Prose), " ") {
		if i > 0 {
			m.held.spaces++
		}
		if text != "" {
			m.place(word{{text: text}})
		}
	}
}

func (m *Markdown) place(w word) {
	width := w.cells()
	for i := range w {
		w[i].style |= m.base
	}
	switch {
	case !m.row.started:
		m.begin(m.again() + m.head)
	case m.row.col == 0: // something else was printed in between
		m.begin(m.again() + m.hang)
	case m.row.col+m.held.spaces+width > m.row.width-1 && m.row.col > len(m.hang):
		m.row.newline()
		m.begin(m.hang)
	default:
		m.row.between(w, m.held.spaces)
	}
	m.held.spaces = 0
	for _, a := range w {
		m.row.put(a)
	}
}

func (m *Markdown) begin(head string) {
	if head == "" {
		return
	}
	look, bar := style(0), "\u2502"
	if m.opt.ASCII {
		bar = "|"
	}
	if m.opt.Color && strings.Contains(head, ">") {
		head, look = strings.ReplaceAll(head, ">", bar), dim
	}
	m.row.setStyle(look)
	m.row.raw(head)
}

func (m *Markdown) again() string {
	if !m.speech.relabel {
		return ""
	}
	m.speech.relabel = false
	return m.opt.Label
}

func splitWords(tokens []token) []word {
	var words []word
	var w word
	for _, a := range tokens {
		for i, text := range strings.Split(a.text, " ") {
			if i > 0 && len(w) > 0 {
				words, w = append(words, w), nil
			}
			if text != "" {
				w = append(w, token{text, a.style, a.link})
			}
		}
	}
	if len(w) > 0 {
		words = append(words, w)
	}
	return words
}

// breaksBetween reports whether a row may end between two runes: beside ideographs, but not
// before a closing mark, after an opening one, nor beside markup.
func breaksBetween(a, b rune) bool {
	if !isIdeograph(a) && !isIdeograph(b) || a == ' ' {
		return false
	}
	const never = "`*_~[]()<>!\\&\x01"
	return !strings.ContainsRune(never, a) && !strings.ContainsRune(never, b) &&
		!strings.ContainsRune("，。、；：？！）」』】〉》”’…・ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ,.;:?%", b) &&
		!strings.ContainsRune("（「『【〈《“‘$", a) &&
		!sanitize.Invisible(b) && !sanitize.Invisible(a) && !unicode.Is(unicode.M, b)
}

func isIdeograph(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x2e80 &&
		(unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x3000 && r <= 0x303f ||
			r >= 0xff01 && r <= 0xff60)
}
