package search

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

type textPattern struct {
	re *regexp.Regexp
	// needs are texts of which every match holds at least one; nil when
	// nothing is known. Looking for them is far cheaper than matching.
	needs []needle
	multi bool // a match may span lines
	// size is how many instructions the pattern's program has: the steps that each byte may take.
	size int
	// atStart says that only the beginning of the text can match: \A.
	atStart bool
}

// compilePattern compiles RE2 syntax. The error names a valid pattern for the model.
func compilePattern(pattern string, fold, multi bool) (textPattern, error) {
	if pattern == "" {
		return textPattern{}, errors.New("the pattern is empty")
	}
	flags := syntax.Perl
	if fold {
		flags |= syntax.FoldCase
	}
	if multi {
		flags = flags&^syntax.OneLine | syntax.DotNL
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return textPattern{}, patternError(pattern, err)
	}
	if !multi && hasNewline(tree) {
		return textPattern{}, errors.New("the pattern holds a line break, but lines are searched one by one: set " +
			"multiline to true")
	}
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return textPattern{}, patternError(pattern, err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return textPattern{}, patternError(pattern, err)
	}
	if len(program.Inst) > maxPatternSize {
		return textPattern{}, fmt.Errorf("the pattern is too large (%d characters, with repetitions %d steps; the "+
			"limit is %d): search for a part of it", len(pattern), len(program.Inst), maxPatternSize)
	}
	p := textPattern{re: re, size: len(program.Inst), multi: multi,
		atStart: anyPart(tree, func(t *syntax.Regexp) bool { return t.Op == syntax.OpBeginText })}
	for _, lit := range requiredLiterals(tree) {
		p.needs = append(p.needs, newNeedle(lit.text, lit.fold))
		// The only letters outside ASCII that fold to letters inside it.
		if lit.fold && strings.ContainsAny(lit.text, "sS") {
			p.needs = append(p.needs, newNeedle("\u017f", false))
		}
		if lit.fold && strings.ContainsAny(lit.text, "kK") {
			p.needs = append(p.needs, newNeedle("\u212a", false))
		}
	}
	return p, nil
}

// Limits of a search, since matching cannot be interrupted: the steps between
// two looks at the clock are a second's work at most.
const (
	maxPatternSize = 10_000
	maxPieceWork   = 64 << 20
	maxMultiWork   = 4 << 30
)

// piece is how much is searched at a time, in bytes.
func (p *textPattern) piece() int {
	return max(2*p.size, min(grepChunk, max(maxPieceWork/max(p.size, 1), 4<<10)))
}

func patternError(pattern string, err error) error {
	const (
		noPerl = "the syntax is RE2: lookahead, lookbehind and atomic groups do not exist (a named group is (?P<name>...)); " +
			"search for the plain text and look at the lines, or use bash with grep -P"
		parentheses = `write \( and \) for parentheses themselves`
		bracket     = `write \[ for a bracket itself`
		smaller     = "make it smaller"
	)
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return err
	}
	hint := map[syntax.ErrorCode]string{
		syntax.ErrInvalidPerlOp: noPerl, syntax.ErrInvalidNamedCapture: noPerl,
		syntax.ErrInvalidEscape:   `the syntax is RE2: backreferences (\1), \K, \R, \h do not exist; write \\ for a backslash itself`,
		syntax.ErrInvalidRepeatOp: `possessive and double repetitions do not exist; write \+ or \* for the character itself`,
		syntax.ErrMissingParen:    parentheses, syntax.ErrUnexpectedParen: parentheses,
		syntax.ErrMissingBracket: bracket, syntax.ErrInvalidCharClass: bracket, syntax.ErrInvalidCharRange: bracket,
		syntax.ErrMissingRepeatArgument: `write \* \+ \? for the characters themselves`,
		syntax.ErrInvalidRepeatSize:     "a repetition counts to 1000 at most",
		syntax.ErrTrailingBackslash:     `write \\ for a backslash itself`,
		syntax.ErrLarge:                 smaller, syntax.ErrNestingDepth: smaller,
	}[bad.Code]
	hint = cmp.Or(hint, "the syntax is RE2")
	return fmt.Errorf("the pattern %q is not valid: %s: %q: %s", pattern, bad.Code, bad.Expr, hint)
}

// hasNewline says whether the pattern spells out a line break.
func hasNewline(re *syntax.Regexp) bool {
	return anyPart(re, func(t *syntax.Regexp) bool {
		return t.Op == syntax.OpLiteral && slices.Contains(t.Rune, '\n')
	})
}

// anyPart says whether is holds for re or a part of it.
func anyPart(re *syntax.Regexp, is func(*syntax.Regexp) bool) bool {
	return is(re) || slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return anyPart(sub, is) })
}

// literal is a text that is part of a match.
type literal struct {
	text string
	fold bool // ignores case
}

// maxAlternatives bounds the texts that are looked for at once.
const maxAlternatives = 8

// requiredLiterals finds texts of which every match of re holds at least one; nil for none.
func requiredLiterals(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return literalRun(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiterals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiterals(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if lits := requiredLiterals(sub); rarity(lits) > rarity(best) {
				best = lits
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			lits := requiredLiterals(sub)
			if lits == nil || len(all)+len(lits) > maxAlternatives {
				return nil
			}
			all = append(all, lits...)
		}
		return all
	}
	return nil
}

// literalRun is the longest part of a literal that matches only as it is written: invalid UTF-8
// matches U+FFFD too, and letters outside ASCII change their length with their case.
func literalRun(runes []rune, fold bool) []literal {
	best := ""
	for _, run := range strings.FieldsFunc(string(runes), func(r rune) bool {
		return r == utf8.RuneError || fold && r >= utf8.RuneSelf
	}) {
		if len(run) > len(best) {
			best = run
		}
	}
	if best == "" {
		return nil
	}
	return []literal{{best, fold}}
}

// rarity guesses how seldom one of lits occurs: the shortest counts.
func rarity(lits []literal) int {
	if len(lits) == 0 {
		return 0
	}
	shortest := len(lits[0].text)
	for _, lit := range lits {
		shortest = min(shortest, len(lit.text))
	}
	return shortest*maxAlternatives - len(lits) + 1
}

// commonBytes are those that texts and programs are made of, the most common first,
// as counted in Go, Python, JavaScript, C and Markdown. Others are rarer.
const commonBytes = " etrnsiao\nlc\td,upf.\"mh()g=:_by0/'Axwv{}kESCT1I-2R;DPFON[]\\" +
	"BL*3M4`6H85#|UG97+q!&jQ>WzK%V<YJX?$@~Z^"

// rarityOf a byte: the higher, the rarer.
func rarityOf(c byte) int {
	if i := strings.IndexByte(commonBytes, c); i >= 0 {
		return i
	}
	return len(commonBytes)
}

// needle is a text to look for.
type needle struct {
	text []byte // lower case where fold is set
	fold bool   // its letters, which are ASCII, stand for both cases
	// rare is the offset of its rarest byte, which is looked for: to pass over
	// 100 bytes takes bytes.IndexByte 5 ns, and to stop 3.
	rare int
}

func newNeedle(text string, fold bool) needle {
	n := needle{text: []byte(text), fold: fold}
	if fold {
		lowerASCII(n.text)
	}
	best := -1
	for i, c := range n.text {
		worth := rarityOf(c)
		if fold {
			worth = min(worth, rarityOf(upperASCII(c)))
		}
		if worth > best {
			best, n.rare = worth, i
		}
	}
	return n
}

// isAt says whether the needle begins at offset at of text.
func (n *needle) isAt(text []byte, at int) bool {
	if at < 0 || at+len(n.text) > len(text) {
		return false
	}
	text = text[at : at+len(n.text)]
	if !n.fold {
		return bytes.Equal(text, n.text)
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != n.text[i] {
			return false
		}
	}
	return true
}

// needSearch finds where one of some needles comes next in a text.
type needSearch struct {
	text []byte
	each []needleSearch
}

type needleSearch struct {
	needle *needle
	at     int    // where it begins next; len(text) when it does not
	bytes  [2]int // where each case of its rare byte comes next
}

// start begins a search of text.
func (s *needSearch) start(needles []needle, text []byte) {
	s.text = text
	s.each = s.each[:0]
	for i := range needles {
		s.each = append(s.each, needleSearch{needle: &needles[i], at: -1, bytes: [2]int{-1, -1}})
	}
}

// next is the least offset, from at on, where a needle begins; -1 for none. at never goes back.
func (s *needSearch) next(at int) int {
	nowhere := len(s.text)
	best := nowhere
	for i := range s.each {
		n := &s.each[i]
		if n.at < at {
			n.at = n.find(s.text, at)
		}
		best = min(best, n.at)
	}
	if best == nowhere {
		return -1
	}
	return best
}

// find is where the needle begins in text, from at on; len(text) when it does not.
func (s *needleSearch) find(text []byte, at int) int {
	rare := s.needle.text[s.needle.rare]
	both := [2]byte{rare, rare}
	if s.needle.fold {
		both[1] = upperASCII(rare)
	}
	for at += s.needle.rare; at < len(text); at++ {
		for i, c := range both {
			switch {
			case i == 1 && c == rare:
				s.bytes[1] = len(text)
			case s.bytes[i] < at:
				s.bytes[i] = len(text)
				if j := bytes.IndexByte(text[at:], c); j >= 0 {
					s.bytes[i] = at + j
				}
			}
		}
		at = min(s.bytes[0], s.bytes[1])
		if s.needle.isAt(text, at-s.needle.rare) {
			return at - s.needle.rare
		}
	}
	return len(text)
}

// lowerASCII makes A to Z lower case. Other letters stay: their length could change.
func lowerASCII(text []byte) {
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			text[i] = c + 'a' - 'A'
		}
	}
}

func upperASCII(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}
