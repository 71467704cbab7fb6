package shell

import (
	"fmt"
	"strings"
)

const (
	// maxOutput is how much of a command's output is kept, in bytes: what the
	// file for the model may hold.
	maxOutput = 50 << 20
	// spoolBlock is the unit in which output is kept and dropped.
	spoolBlock = 64 << 10
)

// spool keeps the first and the last part of what is written to it.
type spool struct {
	max     int // bytes kept
	blocks  [][]byte
	current int // the block that is written to
	head    int // blocks that are never dropped; those behind them go round
	oldest  int // the next of those to be dropped, once one was
	size    int
	dropped int // bytes
}

// newSpool keeps max bytes, half of them from the beginning.
func newSpool(max int) *spool { return &spool{max: max} }

// Write implements io.Writer; it cannot fail.
func (s *spool) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if len(s.blocks) == 0 || len(s.blocks[s.current]) == cap(s.blocks[s.current]) {
			s.grow()
		}
		b := s.blocks[s.current]
		n := copy(b[len(b):cap(b)], rest)
		s.blocks[s.current] = b[:len(b)+n]
		s.size += n
		rest = rest[n:]
	}
	return len(p), nil
}

// grow makes an empty block the current one: a new one, or the oldest of the
// tail when all room is taken. The first block is small, because most output is.
func (s *spool) grow() {
	block := min(spoolBlock, max(s.max/4, 1))
	if len(s.blocks) == 0 {
		block = min(block, 4<<10)
	}
	if s.dropped == 0 && s.size+block <= s.max {
		s.blocks = append(s.blocks, make([]byte, 0, block))
		s.current = len(s.blocks) - 1
		return
	}
	if s.dropped == 0 {
		s.head = (len(s.blocks) + 1) / 2
		s.oldest = s.head
	}
	s.current = s.oldest
	s.dropped += len(s.blocks[s.current])
	s.size -= len(s.blocks[s.current])
	s.blocks[s.current] = s.blocks[s.current][:0]
	if s.oldest++; s.oldest == len(s.blocks) {
		s.oldest = s.head
	}
}

// String is what was kept, with a line that says how much is missing and where.
// It is valid UTF-8 whatever was written.
func (s *spool) String() string {
	var b strings.Builder
	b.Grow(s.size + 80)
	write := func(blocks [][]byte) {
		for _, block := range blocks {
			b.Write(block)
		}
	}
	if s.dropped == 0 {
		write(s.blocks)
	} else {
		write(s.blocks[:s.head])
		fmt.Fprintf(&b, "\n[%d bytes are missing here: only the first and the last part were kept]\n", s.dropped)
		write(s.blocks[s.oldest:])
		write(s.blocks[s.head:s.oldest])
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}
