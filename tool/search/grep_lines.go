package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
	"unicode/utf8"
)

// HitLine is a line that was found.
type HitLine struct {
	Num  int // counts from 1
	Text string
	Kind HitKind
}

// HitKind says why a line was found.
type HitKind byte

const (
	HitContext HitKind = iota // It stands before or after a match
	HitStart                  // a match begins on it
	HitRest                   // a match goes on
)

type fileHits struct {
	count int // matching lines, or with multiline matches
	lines []HitLine
	more  bool // the search stopped at its limit, before the end
	// binary says that the rest of the file was not searched: it is no text.
	binary bool
}

// grepChunk is how much is searched at a time, in bytes; a longer line is searched in pieces.
const grepChunk = 256 << 10

// lineSearch searches a stream line by line in constant memory. One is used
// for many files by one goroutine.
type lineSearch struct {
	pattern textPattern
	context int  // lines shown before and after a match
	first   bool // stop at the first match
	quit    bool // stop at a NUL byte
	// patience is how long a file may take after its first piece, 0 for ever.
	patience time.Duration

	buf   []byte
	needs needSearch

	keep  int // matches whose lines are still kept
	hits  fileHits
	after int // lines of context still owed to the last match
	shown int // offset in buf up to which lines were shown
	seen  int // offset in buf up to which line breaks were counted
	line  int // number of the line at seen
}

// begin makes ready for the next file.
func (s *lineSearch) begin(keep int) {
	if s.buf == nil {
		s.buf = make([]byte, s.pattern.piece())
	}
	s.keep, s.hits, s.after, s.shown, s.seen, s.line = keep, fileHits{}, 0, 0, 0, 1
}

// fill reads on behind buf[:have].
func (s *lineSearch) fill(r io.Reader, have int) (now int, ended bool, err error) {
	n, err := io.ReadFull(r, s.buf[have:])
	ended = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !ended {
		return have, false, err
	}
	return have + n, ended, nil
}

// from searches buf[from:have] and the rest of r, unless it has ended.
func (s *lineSearch) from(ctx context.Context, r io.Reader, from, have int, ended bool) (fileHits, error) {
	s.shown, s.seen = from, from
	var began time.Time
	for fresh := from; ; {
		if err := ctx.Err(); err != nil {
			return s.hits, err
		}
		if i := bytes.IndexByte(s.buf[fresh:have], 0); s.quit && i >= 0 {
			have, ended, s.hits.binary = fresh+i, true, true
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
		// Most files are of one piece and need no clock.
		if began.IsZero() {
			began = time.Now()
		} else if s.patience > 0 && time.Since(began) > s.patience {
			return s.hits, errSlow
		}
		from, have = s.shift(end, have)
		fresh = have
		var err error
		if have, ended, err = s.fill(r, have); err != nil {
			return s.hits, err
		}
	}
}

// shift makes room in the buffer behind end, and keeps the lines before it for context.
func (s *lineSearch) shift(end, have int) (int, int) {
	keep := s.linesBack(end, s.context, max(s.shown, end-len(s.buf)/2))
	s.count(keep)
	copy(s.buf, s.buf[keep:have])
	s.shown = max(0, s.shown-keep)
	s.seen -= keep
	return end - keep, have - keep
}

// linesBack is where the n-th line before offset at begins, but not before floor.
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
	s.needs.start(s.pattern.needs, s.buf[:end])
	for at := from; at < end && s.keep > 0; {
		if s.pattern.needs != nil {
			next := s.needs.next(at)
			if next < 0 {
				break
			}
			at += bytes.LastIndexByte(s.buf[at:next], '\n') + 1
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

// lineEnd is the offset behind the line that begins at at, at most end.
func (s *lineSearch) lineEnd(at, end int) int {
	if i := bytes.IndexByte(s.buf[at:end], '\n'); i >= 0 {
		return at + i + 1
	}
	return end
}

// add puts the line buf[at:stop] into the answer, a long one around column col.
func (s *lineSearch) add(at, stop, col int, kind HitKind) {
	s.count(at)
	s.hits.lines = append(s.hits.lines, HitLine{s.line, clip(chomp(s.buf[at:stop]), col), kind})
	s.shown = stop
}

// hit notes the match at column col of the line buf[at:stop].
func (s *lineSearch) hit(at, stop, col int) {
	s.hits.count++
	s.owed(at)
	s.keep--
	if s.first {
		return
	}
	s.show(s.linesBack(at, s.context, s.shown), at)
	s.add(at, stop, col, HitStart)
	s.after = s.context
}

// owed shows the last match's context that stands before offset end.
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
		s.add(at, stop, 0, HitContext)
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

// clip makes a line fit to be shown, a long one around offset at.
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
