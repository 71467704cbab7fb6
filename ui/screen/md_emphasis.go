package screen

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// inlineParser reads a run of words with code, links and emphasis. HTML stays text.
var inlineParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1)),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 1),
			util.Prioritized(parser.NewLinkParser(), 2),
			util.Prioritized(parser.NewAutoLinkParser(), 3),
			util.Prioritized(emphasisParser{}, 4),
		))
})

// inlineRun is a run of words that was parsed.
type inlineRun struct {
	source []byte   // the run; the marks that were given up are escaped
	root   ast.Node // its paragraph, without children where the run is empty
}

func (m *Markdown) inlineRun(run []byte) inlineRun {
	source := bytes.ReplaceAll(run, []byte{literalMark}, []byte{'\\'})
	root := inlineParser().Parse(text.NewReader(source), parser.WithContext(m.context))
	if root.FirstChild() != nil {
		root = root.FirstChild()
	}
	return inlineRun{source, root}
}

// emphasisParser reads *, _ and ~~ as CommonMark does, except that * between two letters of
// ASCII opens nothing, and closes only the last opened one: 2*3*4 is mostly a product. Scripts
// without spaces do begin emphasis right after a character.
type emphasisParser struct{}

// Trigger implements goldmark's InlineParser.
func (emphasisParser) Trigger() []byte { return []byte("*_~") }

// Parse implements goldmark's InlineParser.
func (emphasisParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d, within := emphasisMark(line, before)
	run := segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	if within {
		d.CanClose = d.CanClose && innermost(pc.LastDelimiter(), d)
	}
	if d.Char == '~' && d.OriginalLength != 2 || !d.CanOpen && !d.CanClose {
		return ast.NewTextSegment(run)
	}
	d.Segment = run
	pc.PushDelimiter(d)
	return d
}

// emphasisMark reads the marks that a text begins with; within says that they stand between
// letters.
func emphasisMark(line []byte, before rune) (d *parser.Delimiter, within bool) {
	d = parser.ScanDelimiter(line, before, 1, pairing{struck: line[0] == '~'})
	after, _ := utf8.DecodeRune(line[d.OriginalLength:])
	if within = d.Char == '*' && isWordASCII(before) && isWordASCII(after); within {
		d.CanOpen = false
	}
	return d, within
}

// innermost reports whether the span that was opened last has the marks of d.
func innermost(last, d *parser.Delimiter) bool {
	for closed := 0; last != nil; last = last.PreviousDelimiter {
		switch {
		case !last.CanOpen:
			closed++
		case closed > 0:
			closed--
		default:
			return last.Char == d.Char && last.OriginalLength == d.OriginalLength
		}
	}
	return false
}

// pairing makes a span of two marks.
type pairing struct{ struck bool }

// IsDelimiter implements goldmark's DelimiterProcessor.
func (pairing) IsDelimiter(b byte) bool { return b == '*' || b == '_' || b == '~' }

// CanOpenCloser implements goldmark's DelimiterProcessor.
func (pairing) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch implements goldmark's DelimiterProcessor.
func (p pairing) OnMatch(consumes int) ast.Node {
	if p.struck {
		return extensionast.NewStrikethrough()
	}
	return ast.NewEmphasis(consumes)
}

// openAt is where the first span begins that later text may close, -1 without one.
func (r inlineRun) openAt() int {
	for n := r.root.FirstChild(); n != nil; n = n.NextSibling() {
		t, ok := n.(*ast.Text)
		if !ok {
			continue // it is closed
		}
		if at := openIn(r.source, t.Segment.Start, t.Segment.Stop); at >= 0 {
			return at
		}
	}
	return -1
}

// openIn is where the first mark that opens a span stands between two places, or -1.
func openIn(source []byte, from, to int) int {
	for i := from; i < to; i++ {
		switch c := source[i]; {
		case c == '\\':
			i++
		case c == '`', c == '[' && bracketOpen(source[i:]):
			return i
		case c == '*' || c == '_' || c == '~':
			before, _ := utf8.DecodeLastRune(source[:i])
			if i == 0 {
				before = ' '
			}
			d, _ := emphasisMark(source[i:], before)
			if d.CanOpen && (c != '~' || d.OriginalLength == 2) {
				return i
			}
			i += d.OriginalLength - 1
		}
	}
	return -1
}

// codeSource is a code span with its backticks.
func codeSource(code *ast.CodeSpan, source []byte) string {
	first, last := code.FirstChild().(*ast.Text).Segment, code.LastChild().(*ast.Text).Segment
	from, to := first.Start, last.Stop
	for _, marks := range []string{" ", "`"} { // one space at either end is no part of the code
		for from > 0 && strings.IndexByte(marks, source[from-1]) >= 0 {
			from--
		}
		for to < len(source) && strings.IndexByte(marks, source[to]) >= 0 {
			to++
		}
	}
	return string(source[from:to])
}

func isWordASCII(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// bracketOpen reports whether the bracket that a text begins with, or its address, is not
// closed.
func bracketOpen(s []byte) bool {
	end := closing(s)
	return end < 0 || end+1 < len(s) && s[end+1] == '(' && closing(s[end+1:]) < 0
}

// closing is where the bracket that a text begins with is closed, or -1.
func closing(s []byte) int {
	open, shut, depth := s[0], byte(']'), 0
	if open == '(' {
		shut = ')'
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
