package shell

import (
	"fmt"
	"slices"
)

const (
	// maxOutput is how much of a command's output is kept, in bytes.
	maxOutput = 50 << 20
	// spoolBlock is the unit in which output is dropped.
	spoolBlock = 64 << 10
	// spoolRoom is for remarks about the output, in its middle and behind it.
	spoolRoom = 4 << 10
)

// Spool keeps the first and the last part of all writes, in one piece of memory: output that comes when it
// is full takes the place of the oldest block behind the first half.
type Spool struct {
	kept    []byte
	first   int // bytes of the first block: all others are longer
	block   int // bytes of the others
	most    int // bytes kept: the first block and as many others as fit
	at, end int // where the next byte goes once all is full, and where its block ends
	dropped int // bytes
}

// NewSpool keeps max bytes at most, half of them from the beginning.
func NewSpool(max int) *Spool {
	block := min(spoolBlock, max/4)
	s := &Spool{block: block, first: min(block, 4<<10)}
	s.most = s.first + (max-s.first)/block*block
	return s
}

// head is the number of bytes that are never dropped.
func (s *Spool) head() int { return s.first + (s.most-s.first)/s.block/2*s.block }

// Write implements io.Writer; it cannot fail.
func (s *Spool) Write(p []byte) (int, error) {
	room := min(s.most-len(s.kept), len(p))
	if room > 0 {
		s.grow(len(s.kept) + room)
		s.kept = append(s.kept, p[:room]...)
	}
	for rest := p[max(room, 0):]; len(rest) > 0; {
		if s.at == s.end {
			s.drop()
		}
		n := copy(s.kept[s.at:s.end], rest)
		s.at += n
		rest = rest[n:]
	}
	return len(p), nil
}

// grow makes room for so many bytes. Most output is short; for longer output it makes room for all at once, since
// memory that is not written to is not taken from the system, and the old memory stays until it is collected.
func (s *Spool) grow(size int) {
	room := max(cap(s.kept), s.first)
	for room < size {
		room *= 16
	}
	if room > s.most/8 {
		room = s.most + spoolRoom
	}
	if room > cap(s.kept) {
		s.kept = append(make([]byte, 0, room), s.kept...)
	}
}

// drop makes the oldest block the one that is written to.
func (s *Spool) drop() {
	if s.dropped == 0 || s.end == len(s.kept) {
		s.end = s.head()
	}
	s.at = s.end
	s.end += s.block
	s.dropped += s.block
}

const missing = "\n[%d bytes are missing here: only the first and the last part were kept]\n"

// String is the kept output, with a line for the missing part, in valid UTF-8.
func (s *Spool) String() string {
	other := *s
	other.kept = slices.Clone(s.kept)
	return string(other.take())
}

// take is String in the memory of the spool, which must not be used any more.
func (s *Spool) take() []byte {
	text := s.kept
	if s.dropped > 0 {
		head, newer := s.head(), s.at-s.head()
		text = append(text[:s.at], text[s.end:]...)
		// The older part stands behind the newer one: they change places.
		tail := text[head:]
		slices.Reverse(tail[:newer])
		slices.Reverse(tail[newer:])
		slices.Reverse(tail)
		text = slices.Insert(text, head, fmt.Appendf(nil, missing, s.dropped)...)
	}
	s.kept = nil
	return toValid(text)
}
