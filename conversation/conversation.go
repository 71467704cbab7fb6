// Package conversation holds what has been said and keeps it: the history that
// is sent to the model, its size against the budget, the trimming that makes it
// fit, the shortening of long tool results, and the session file.
package conversation

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/provider"
)

// Config sets the limits of a conversation.
type Config struct {
	// MaxContextTokens is the budget of a request in tokens, the reply not
	// included. 0 or less: none.
	MaxContextTokens int
	// ToolResultMaxChars is the longest tool result in characters (runes); what
	// is longer is cut, and the whole goes to a file. 0 or less: none.
	ToolResultMaxChars int
	// OutputDir is where those files go, absolute. It is made when the first
	// one is written. "" keeps no files.
	OutputDir string
	// Mask puts marks in place of keys in what a session holds of the user's and
	// of tools' text: it may be older than a key is known. nil masks nothing.
	Mask func(text string) string
}

// Conversation is the history of one session. It is used by one goroutine at a
// time, as the agent is.
type Conversation struct {
	cfg     Config
	session *Session // nil: nothing is kept
	files   outputs

	items   []item
	size    size
	meter   meter
	sent    int            // items that the last Messages returned
	totals  Totals         // only without a session
	counted provider.Usage // the last Observe, until RecordUsage takes it
	nextID  int            // numbers items without a session
	known   known
	before  *checkpoint // the history before the user's latest message; nil once it is answered
	done    done
	// compactions that can be taken back, the last one last.
	compactions []compaction
	reserve     int // tokens above the budget that a request may have at worst
}

// New returns the conversation of s, with the history s was opened with, which
// it takes over. A nil
// s is an ephemeral conversation: nothing is written but the files of
// cfg.OutputDir. A session has one conversation.
func New(cfg Config, s *Session) *Conversation {
	c := &Conversation{
		cfg:     cfg,
		session: s,
		meter:   meter{factors: newFactors()},
		files:   outputs{dir: cfg.OutputDir},
	}
	if s != nil {
		c.replay(s.history)
		c.files.next = len(s.history)
		s.history = nil
	}
	return c
}

func (c *Conversation) add(it item) {
	if isReminder(it.msg) {
		c.dropReminders()
	}
	c.items = append(c.items, it)
	c.size = c.size.plus(it.size)
	c.meter.appended(it.msg, it.size, c.size)
}

// shrunk puts a history in the place of a longer one.
func (c *Conversation) shrunk(items []item, to size) {
	c.meter.rescale(c.size, to)
	c.items, c.size, c.sent = items, to, min(c.sent, len(items))
}

// Append adds a message: first its line goes to the kernel, then it is part of
// the history. After an error the history is as it was; the error is a
// *Error, or tells that the message has no JSON. What is
// kept is what a resumed session would read, so that both send the same bytes.
// A message without parts is not kept, since no model takes one.
func (c *Conversation) Append(m provider.Message) error {
	if len(m.Parts) == 0 {
		return nil
	}
	m, err := normal(m)
	if err != nil {
		return fmt.Errorf("message: %w", err)
	}
	id, err := c.writeLine(typeMessage, &messageRecord{m})
	if err != nil {
		return err
	}
	switch {
	case m.Role != provider.RoleUser:
		c.before = nil
	case !isReminder(m):
		c.before = c.checkpoint()
	}
	c.add(newItem(id, m))
	return nil
}

// AppendMasked appends a message from elsewhere: keys in it are masked, also in what a
// model wrote, and a long result is shortened. Errors are those of Append.
func (c *Conversation) AppendMasked(m provider.Message) error {
	m = c.masked(m, true)
	if len(m.Parts) == 1 {
		if r, ok := m.Parts[0].(provider.ToolResult); ok {
			_, err := c.AppendToolResult(r)
			return err
		}
	}
	return c.Append(m)
}

// AppendToolResult adds the result of a call as a message of its own. A text
// over the limit keeps its head and tail, with a line between them that names
// the file with the whole and how to read it. It returns what was kept. Errors
// are those of Append; a file that cannot be written is no error, the text
// says so.
func (c *Conversation) AppendToolResult(r provider.ToolResult) (provider.ToolResult, error) {
	return c.appendResult(r, c.cfg.ToolResultMaxChars)
}

// AppendPage appends a result that says itself what it leaves out, as
// AppendToolResult does but whole.
func (c *Conversation) AppendPage(r provider.ToolResult) (provider.ToolResult, error) {
	return c.appendResult(r, 0)
}

// appendResult cuts a result at limit characters; 0 is no limit.
func (c *Conversation) appendResult(r provider.ToolResult, limit int) (provider.ToolResult, error) {
	if strings.TrimSpace(r.Text) == "" && len(r.Images) == 0 {
		r.Text = "(no output)"
	}
	if !utf8.ValidString(r.Text) { // quick, and it may be very long
		r.Text = strings.ToValidUTF8(r.Text, "\ufffd")
	}
	if limit > 0 && longer(r.Text, limit) {
		place := c.files.keep(r.Name, ".txt", r.Text)
		r.Text = shorten(r.Text, limit, place)
		r.File = place.path
	}
	if err := c.Append(provider.Message{Role: provider.RoleTool, Parts: []provider.Part{r}}); err != nil {
		return r, err
	}
	if kept, ok := c.items[len(c.items)-1].msg.Parts[0].(provider.ToolResult); ok {
		r = kept
	}
	return r, nil
}

// Messages is what to send: a fresh slice whose messages must not be changed.
// It remembers what it returned as what was sent, for Observe.
func (c *Conversation) Messages() []provider.Message {
	c.sent = len(c.items)
	out := make([]provider.Message, len(c.items))
	for i, it := range c.items {
		out[i] = it.sent()
	}
	return out
}

// MessageCount is the number of messages that would be sent.
func (c *Conversation) MessageCount() int {
	return len(c.items)
}

// Session is the conversation's session, nil when it is ephemeral.
func (c *Conversation) Session() *Session { return c.session }

// Sync marks the end of a turn and waits until the session file is on the disk.
func (c *Conversation) Sync() error {
	if c.session == nil {
		return nil
	}
	return c.session.Sync()
}

// noteWithdrawn is the kind of the note that stands where a message was
// withdrawn.
const noteWithdrawn = "withdrawn"

// checkpoint is a history to which it can go back.
type checkpoint struct {
	items []item
	size  size
	sent  int
	done  done
	mark  mark

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
