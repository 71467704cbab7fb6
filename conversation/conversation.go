// Package conversation holds the messages and keeps them: the history that
// is sent to the model, its size against the budget, the trimming that makes it
// fit, the shortening of long tool results, and the session file.
package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/provider"
)

// Config sets the limits of a conversation.
type Config struct {
	// MaxContextTokens is the budget of a request without its reply; 0 or less means no budget.
	MaxContextTokens int
	// ToolResultMaxChars bounds a tool result in runes; a longer one goes to a file. 0 or less
	// means no bound.
	ToolResultMaxChars int
	// OutputDir holds these files, absolute; made when needed. "" keeps no files.
	OutputDir string
	// Mask replaces keys in text of the user and of tools, also in older sessions. nil masks nothing.
	Mask func(text string) string
}

// Conversation is the history of one session, for one goroutine at a time.
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
	past    pastWork
	// compactions that can be undone, the last one last.
	compactions []compaction
	reserve     int // tokens above the budget that a request may have at worst
}

// New returns the conversation of s and takes over its history; a session has one. If s is
// nil, only the files of cfg.OutputDir are written.
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
	if isReminder(it.msg) { // It replaces an earlier one.
		left := slices.DeleteFunc(slices.Clone(c.items), func(it item) bool { return isReminder(it.msg) })
		if len(left) < len(c.items) {
			c.shrunk(left, sizeOfAll(left))
		}
	}
	c.items = append(c.items, it)
	c.size = c.size.plus(it.size)
	c.meter.appended(it.msg, it.size, c.size)
}

func (c *Conversation) shrunk(items []item, to size) {
	c.meter.rescale(c.size, to)
	c.items, c.size, c.sent = items, to, min(c.sent, len(items))
}

// Append writes a message to the session, then adds it to the history as a resumed session would
// read it. After an error, a *Error or one of encoding, the history is unchanged. No model takes
// a message without parts: it is ignored.
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

// AppendMasked appends a message from elsewhere with all keys masked and a long result shortened,
// as Append does.
func (c *Conversation) AppendMasked(m provider.Message) error {
	m = masked(m, c.cfg.Mask, true)
	if len(m.Parts) == 1 {
		if r, ok := m.Parts[0].(provider.ToolResult); ok {
			_, err := c.AppendToolResult(r)
			return err
		}
	}
	return c.Append(m)
}

// AppendToolResult adds a call's result as a message and returns it as kept: a text over the
// limit keeps head and tail around a line that names the file with the whole, or says why there
// is none. Errors are those of Append.
func (c *Conversation) AppendToolResult(r provider.ToolResult) (provider.ToolResult, error) {
	return c.appendResult(r, c.cfg.ToolResultMaxChars)
}

// AppendPage appends a result whole: its text names its own omissions.
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

// Messages is a new slice of the messages to send, which must not be changed. Observe refers to it.
func (c *Conversation) Messages() []provider.Message {
	c.sent = len(c.items)
	return c.Kept()
}

// Kept is the same for other readers: nothing refers to it.
func (c *Conversation) Kept() []provider.Message {
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

// These kinds of notes replace parts removed from the history: a withdrawn message, and an exchange beside it.
const (
	noteWithdrawn = "withdrawn"
	noteAside     = "aside"
)

type checkpoint struct {
	items []item
	size  size
	sent  int
	past  pastWork
	mark  mark

	compactions []compaction
}

// checkpoint is the history before the message that was just written.
func (c *Conversation) checkpoint() *checkpoint {
	p := &checkpoint{slices.Clone(c.items), c.size, c.sent, c.past, mark{}, slices.Clone(c.compactions)}
	if c.session != nil {
		p.mark = c.session.beforeLast()
	}
	return p
}

// Withdraw takes back the user's latest message while it is unanswered, and restores messages
// trimmed for it. The message stays in the file. After an error of Append nothing has changed.
func (c *Conversation) Withdraw() (withdrawn, restored bool, err error) {
	p := c.before
	if p == nil {
		return false, false, nil
	}
	if c.session != nil {
		if err := c.session.rewind(p.mark, noteWithdrawn, "the last message could not be sent, and is not part of the next request"); err != nil {
			return false, false, err
		}
	}
	last := lastUser(c.items)
	restored = c.size.minus(c.items[last].size) != p.size
	c.shrunk(p.items, p.size)
	c.sent, c.past, c.compactions, c.before = p.sent, p.past, p.compactions, nil
	return true, restored, nil
}

// Aside begins an exchange beside the history. The returned func removes the later messages from it: they stay in the
// file and are never sent again. Its errors are those of Append.
func (c *Conversation) Aside() (end func() error) {
	p := c.checkpoint()
	if c.session != nil {
		p.mark = c.session.now()
	}
	return func() error {
		if c.session != nil {
			if err := c.session.rewind(p.mark, noteAside, "the exchange before this was beside the history, and is not part of the next request"); err != nil {
				return err
			}
		}
		c.shrunk(p.items, p.size)
		c.sent, c.past, c.compactions, c.before = p.sent, p.past, p.compactions, nil
		return nil
	}
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

func (s *Session) now() mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return mark{last: s.last, turn: s.turn}
}

// rewind continues from m. Later lines stay in the file, not in the history, and a note says why.
func (s *Session) rewind(m mark, kind, why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := mark{last: s.last, turn: s.turn}
	s.last, s.turn = m.last, m.turn
	note := &Note{Kind: kind, Text: why}
	if _, err := s.appendLocked(typeNote, note); err != nil {
		s.last, s.turn = now.last, now.turn
		return err
	}
	return nil
}

// Remind appends a message of artoo's own to the model, of which only the newest is sent. Errors
// are those of Append.
func (c *Conversation) Remind(text string) error {
	return c.Append(provider.Message{Role: provider.RoleUser,
		Parts: []provider.Part{provider.Text{Note: provider.NoteReminder, Text: "[Not from the user: " + text + "]"}}})
}

func isReminder(m provider.Message) bool {
	if m.Role != provider.RoleUser || len(m.Parts) != 1 {
		return false
	}
	t, _ := m.Parts[0].(provider.Text)
	return t.Note == provider.NoteReminder
}

// unmarkedReminder begins the reminders of files in which notes have no mark.
const unmarkedReminder = "[Not from the user: "

// markNotes marks the notes in messages of older files, recognised by their first words.
func markNotes(m *provider.Message) {
	if m.Role != provider.RoleUser {
		return
	}
	for i, p := range m.Parts {
		t, ok := p.(provider.Text)
		if !ok || t.Note != "" {
			continue
		}
		if t.Note = unmarkedNote(t.Text, i == 0); t.Note != "" {
			m.Parts[i] = t
		}
	}
}

func unmarkedNote(text string, first bool) provider.Note {
	if first {
		if strings.HasPrefix(text, unmarkedReminder) {
			return provider.NoteReminder
		}
		return ""
	}
	for _, old := range []struct {
		begins string
		note   provider.Note
	}{
		{"(The approval mode is now ", provider.NoteMode},
		{"(The settings are not those that this session began with. Now they are:\n", provider.NoteSettings},
		{"(The instruction", provider.NoteInstructions}, {"(Git, as the session begins: ", provider.NoteGit},
		{"(In the background: ", provider.NoteBackground}, {"(The user undid changes of yours: ", provider.NoteUndo},
		{"(The user redid changes of yours: ", provider.NoteUndo},
	} {
		if strings.HasPrefix(text, old.begins) {
			return old.note
		}
	}
	return ""
}

// normal returns the message as it would be read back from its line.
func normal(m provider.Message) (provider.Message, error) {
	for i, p := range m.Parts {
		call, ok := p.(provider.ToolCall)
		if !ok || isObject(call.Input) {
			continue
		}
		// One broken call must not make the whole history unwritable.
		call.Raw = cmp.Or(call.Raw, string(call.Input))
		call.Input = json.RawMessage("{}")
		parts := append([]provider.Part(nil), m.Parts...)
		parts[i] = call
		m.Parts = parts
	}
	if onlyText(m) {
		m.Parts = slices.Clone(m.Parts)
		return m, nil
	}
	line, err := provider.Marshal(m)
	if err != nil {
		return m, err
	}
	var back provider.Message
	err = json.Unmarshal(line, &back)
	return back, err
}

func isObject(raw json.RawMessage) bool {
	return strings.HasPrefix(strings.TrimLeft(string(raw), " \t\r\n"), "{") && json.Valid(raw)
}

// onlyText reports whether a message reads back unchanged, which saves copies of a long answer.
func onlyText(m provider.Message) bool {
	for _, p := range m.Parts {
		t, ok := p.(provider.Text)
		if !ok || !utf8.ValidString(t.Text) || !utf8.ValidString(t.Opaque) {
			return false
		}
	}
	return utf8.ValidString(string(m.Role) + m.Provider + m.Model + m.Answered + m.InsteadOf)
}
