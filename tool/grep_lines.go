package tool

import (
	"bytes"
	"context"
	"io"
	"unicode/utf8"
)

type hitLine struct {
	num  int // from 1
	text string
	kind hitKind
}

type hitKind byte

const (
	hitContext hitKind = iota // it stands before or after a match
	hitStart                  // a match begins on it
	hitRest                   // a match goes on
)

type fileHits struct {
	count int // matching lines, or with multiline matches
	lines []hitLine
	more  bool // the search stopped at its limit, before the end
}

// grepChunk is how much of a file is searched at a time, in bytes. A longer
// line is searched in pieces.
const grepChunk = 256 << 10

// lineSearch searches a stream line by line in constant memory. One is used
// for many files by one goroutine.
type lineSearch struct {
	pattern textPattern
	context int  // lines shown before and after a match
	first   bool // stop at the first match

	buf     []byte
	lowered []byte // where text may be kept
	text    []byte // the region being searched, in lower case for patterns that fold
	next    []int  // where in text each of pattern.needs comes next

	keep  int // matches whose lines are still kept
	hits  fileHits
	after int // lines of context still owed to the last match
	shown int // offset in buf up to which lines were shown
	seen  int // offset in buf up to which line breaks were counted
	line  int // number of the line at seen
}

// search reads r until it has keep matches with their context, or the first one
// when that is enough.
func (s *lineSearch) search(ctx context.Context, r io.Reader, keep int) (fileHits, error) {
	if s.buf == nil {
		s.buf = make([]byte, s.pattern.piece())
	}
	s.keep, s.hits, s.after, s.shown, s.seen, s.line = keep, fileHits{}, 0, 0, 0, 1
	have, from := 0, 0 // buf[:have] is filled, buf[:from] was searched
	for {
		if err := ctx.Err(); err != nil {
			return s.hits, err
		}
		n, err := io.ReadFull(r, s.buf[have:])
		have += n
		ended := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !ended {
			return s.hits, err
		}
		end := have
		if !ended {
			if i := bytes.LastIndexByte(s.buf[from:have], '\n'); i >= 0 {
				end = from + i + 1
			}
		}
		s.region(from, end)
		if ended || s.first && s.hits.count > 0 {
			return s.hits, nil
		}
		if s.keep == 0 && s.after == 0 {
			s.hits.more = true
			return s.hits, nil
		}
		from, have = s.shift(end, have)
	}
}

// shift makes room in the buffer behind end, keeping the lines before it that
// may become context.
func (s *lineSearch) shift(end, have int) (int, int) {
	keep := s.linesBack(end, s.context, max(s.shown, end-len(s.buf)/2))
	s.count(keep)
	copy(s.buf, s.buf[keep:have])
	s.shown = max(0, s.shown-keep)
	s.seen -= keep
	return end - keep, have - keep
}

// linesBack is the offset where the n-th line before offset at begins, but not
// before floor.
func (s *lineSearch) linesBack(at, n, floor int) int {
	for ; n > 0 && at > floor; n-- {
		at = floor + bytes.LastIndexByte(s.buf[floor:at-1], '\n') + 1
	}
	return at
}

// count brings the line number up to offset at.
func (s *lineSearch) count(at int) {
	s.line += bytes.Count(s.buf[s.seen:at], []byte{'\n'})
	s.seen = at
}

func (s *lineSearch) region(from, end int) {
	filter := s.keep > 0 && s.prefilter(from, end)
	for at := from; at < end && s.keep > 0; {
		if filter {
			next := s.nextNeed(at - from)
			if next < 0 {
				break
			}
			at += bytes.LastIndexByte(s.buf[at:from+next], '\n') + 1
		}
		stop := s.lineEnd(at, end)
		if where := s.pattern.re.FindIndex(chomp(s.buf[at:stop])); where != nil {
			s.hit(at, stop, where[0])
			if s.first {
				return
			}
			s.hits.more = s.keep == 0 && stop < end
		}
		at = stop
	}
	s.owed(end)
}

// prefilter prepares looking for the pattern's needs; false when every line has
// to be matched.
func (s *lineSearch) prefilter(from, end int) bool {
	p := &s.pattern
	if p.needs == nil {
		return false
	}
	s.text = s.buf[from:end]
	if p.fold {
		// The only letters outside ASCII that fold to letters inside it: the
		// long s and the Kelvin sign.
		if bytes.Contains(s.text, []byte("\u017f")) || bytes.Contains(s.text, []byte("\u212a")) {
			return false
		}
		if cap(s.lowered) < len(s.text) {
			s.lowered = make([]byte, len(s.buf))
		}
		s.lowered = s.lowered[:len(s.text)]
		lowerASCII(s.lowered, s.text)
		s.text = s.lowered
	}
	s.next = s.next[:0]
	for range p.needs {
		s.next = append(s.next, -1)
	}
	return true
}

// nextNeed is the offset in text, at or after at, where the next of the needed
// texts begins; -1 when there is none.
func (s *lineSearch) nextNeed(at int) int {
	nowhere := len(s.text)
	best := nowhere
	for i, need := range s.pattern.needs {
		if s.next[i] < at {
			s.next[i] = nowhere
			if j := bytes.Index(s.text[at:], need); j >= 0 {
				s.next[i] = at + j
			}
		}
		best = min(best, s.next[i])
	}
	if best == nowhere {
		return -1
	}
	return best
}

// lineEnd is the offset behind the line that begins at at, end where it has no
// line break before.
func (s *lineSearch) lineEnd(at, end int) int {
	if i := bytes.IndexByte(s.buf[at:end], '\n'); i >= 0 {
		return at + i + 1
	}
	return end
}

// add puts the line buf[at:stop] into the answer; if it is long, what is around
// column col of it.
func (s *lineSearch) add(at, stop, col int, kind hitKind) {
	s.count(at)
	s.hits.lines = append(s.hits.lines, hitLine{s.line, clip(chomp(s.buf[at:stop]), col), kind})
	s.shown = stop
}

// hit notes the match at column col of the line buf[at:stop], with the context
// before it.
func (s *lineSearch) hit(at, stop, col int) {
	s.hits.count++
	s.owed(at)
	s.keep--
	if s.first {
		return
	}
	s.show(s.linesBack(at, s.context, s.shown), at)
	s.add(at, stop, col, hitStart)
	s.after = s.context
}

// owed shows the context that the last match still has to get from the lines
// before offset end.
func (s *lineSearch) owed(end int) {
	at := s.shown
	for s.after > 0 && at < end {
		stop := s.lineEnd(at, end)
		s.show(at, stop)
		at = stop
		s.after--
	}
}

// show adds the lines buf[at:end] as context.
func (s *lineSearch) show(at, end int) {
	for at < end {
		stop := s.lineEnd(at, end)
		s.add(at, stop, 0, hitContext)
		at = stop
	}
}

// maxHitLine is how much of a line is shown, in bytes.
const maxHitLine = 500

// chomp takes the line break off.
func chomp(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

// clip makes a line fit to be shown: long ones are cut around offset at, bytes
// that are no text are replaced.
func clip(line []byte, at int) string {
	if len(line) <= maxHitLine {
		return plainText(line)
	}
	from := 0
	if at > maxHitLine*3/4 {
		from = min(at-maxHitLine/4, len(line)-maxHitLine)
	}
	to := from + maxHitLine
	for from > 0 && from < to && !utf8.RuneStart(line[from]) {
		from++
	}
	for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
		to--
	}
	text := plainText(line[from:to])
	if from > 0 {
		text = "… " + text
	}
	if to < len(line) {
		text += " …"
	}
	return text
}

// plainText shows control characters as ^X and broken UTF-8 as U+FFFD.
func plainText(line []byte) string {
	if bytes.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f }) < 0 {
		return string(line)
	}
	out := make([]byte, 0, len(line)+16)
	for _, c := range bytes.ToValidUTF8(line, []byte("\ufffd")) {
		if c != '\t' && c < ' ' || c == 0x7f {
			out = append(out, '^')
			c ^= 0x40
		}
		out = append(out, c)
	}
	return string(out)
}
