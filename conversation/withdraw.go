package conversation

import "slices"

// noteWithdrawn is the kind of the note that stands where a message was
// withdrawn.
const noteWithdrawn = "withdrawn"

// checkpoint is a history to which it can go back.
type checkpoint struct {
	items []item
	size  size
	sent  int
	done  done
	mark  mark // in the session's file

	compactions []compaction
}

// checkpoint is the history as it is, before the message whose line was written
// just now.
func (c *Conversation) checkpoint() *checkpoint {
	p := &checkpoint{slices.Clone(c.items), c.size, c.sent, c.done, mark{}, slices.Clone(c.compactions)}
	if c.session != nil {
		p.mark = c.session.beforeLast()
	}
	return p
}

// Withdraw takes the user's latest message out of what is sent, unless something
// answers it, and brings back what was trimmed for it: one that cannot be sent
// must not keep the next ones from being sent, nor cost anything. It stays in the
// file. withdrawn reports whether there was such a message, restored whether
// anything came back. Errors are those of Append; the history is then as it was.
func (c *Conversation) Withdraw() (withdrawn, restored bool, err error) {
	p := c.before
	if p == nil {
		return false, false, nil
	}
	if c.session != nil {
		if err := c.session.rewind(p.mark); err != nil {
			return false, false, err
		}
	}
	last := lastUser(c.items)
	restored = c.size.minus(c.items[last].size) != p.size
	c.shrunk(p.items, p.size)
	c.sent, c.done, c.compactions, c.before = p.sent, p.done, p.compactions, nil
	return true, restored, nil
}

// mark is a place in a session's file, from which its history can go on.
type mark struct {
	last string // id of the line
	turn turnRecord
}

// beforeLast is the place before the last line, which is a message of the user.
func (s *Session) beforeLast() mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := s.turn
	turn.Messages--
	return mark{last: s.parent, turn: turn}
}

// rewind goes on from m: what was appended since stays in the file and is no part
// of the history. A line says so, which has its place before it holds.
func (s *Session) rewind(m mark) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := mark{last: s.last, turn: s.turn}
	s.last, s.turn = m.last, m.turn
	note := &Note{Kind: noteWithdrawn, Text: "the last message could not be sent, and is no part of what is sent next"}
	if _, err := s.appendLocked(typeNote, note); err != nil {
		s.last, s.turn = now.last, now.turn
		return err
	}
	return nil
}
