// Package conversation holds the messages and keeps them: the history that
// is sent to the model, its size against the budget, the trimming that makes it
// fit, the shortening of long tool results, and the session file.
package conversation

import (
	"bytes"
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

// longer reports whether s has more than n characters.
func longer(s string, n int) bool {
	return len(s) > n*utf8.UTFMax || len(s) > n && utf8.RuneCountInString(s) > n
}

type item struct {
	id   string // ID of its line in the session file
	msg  provider.Message
	note string // names the messages left out after this user message; sent as its last text
	// summary says that it is no message of the user's: it stands for the messages summed up.
	summary bool
	size    size
	came    size // before anything was left out of it
}

func newItem(id string, msg provider.Message) item {
	it := item{id: id, msg: msg}
	it.measure()
	it.came = it.size
	return it
}

func (it *item) measure() {
	it.size = sizeOf(it.msg)
	if it.note != "" {
		it.size = it.size.plus(sizeOfPart(provider.Text{Text: it.note}))
		it.size.bytes += partBytes
		it.size.tokens[data] += partTokens
	}
}

func (it item) sent() provider.Message {
	m := it.msg
	if it.note != "" {
		m.Parts = append(slices.Clip(m.Parts), provider.Text{Text: it.note})
	}
	return m
}

func sizeOfAll(items []item) size {
	var sum size
	for _, it := range items {
		sum = sum.plus(it.size)
	}
	return sum
}

// step is a model's message with the results of its calls, items[from:to], dropped only whole.
type step struct{ from, to int }

// stepsOf finds the steps in order. A result without a call is a step of its own.
func stepsOf(items []item) []step {
	var steps []step
	open := false
	for i, it := range items {
		switch {
		case it.msg.Role == provider.RoleUser:
			open = false
		case it.msg.Role == provider.RoleTool && open:
			steps[len(steps)-1].to = i + 1
		default:
			steps = append(steps, step{i, i + 1})
			open = true
		}
	}
	return steps
}

const keptSteps = 3

// recentFrom is the index from which on items belong to the last steps.
func recentFrom(items []item, steps []step) int {
	if len(steps) == 0 {
		return len(items)
	}
	return steps[max(0, len(steps)-keptSteps)].from
}

// lastUser is the index of the latest message of the user's own, or -1.
func lastUser(items []item) int {
	for i, it := range slices.Backward(items) {
		if it.msg.Role == provider.RoleUser && !it.summary && !isReminder(it.msg) {
			return i
		}
	}
	return -1
}

// edit replaces the text of a part; an image becomes text. A resumed session sends the same bytes
// in any version.
type edit struct {
	Message string `json:"message"` // id of the message's line
	Part    int    `json:"part"`    // index of the part
	Text    string `json:"text"`
	Add     bool   `json:"add,omitempty"`  // Text is added to the present text
	File    string `json:"file,omitempty"` // becomes the result's file
}

// leftNote sets the text behind a user message after which steps were dropped.
type leftNote struct {
	Message string `json:"message"`
	Text    string `json:"text"`
}

type trimRecord struct {
	Edits  []edit     `json:"edits,omitempty"`
	Drop   []string   `json:"drop,omitempty"` // ids of messages that are not sent any more
	Notes  []leftNote `json:"notes,omitempty"`
	Done   *pastWork  `json:"done,omitempty"` // nil means no change
	Before int        `json:"before"`         // estimated tokens
	After  int        `json:"after"`
	// Factors are those of UsageRecord, which a long session may no longer read.
	Factors map[string]float64 `json:"factors,omitempty"`
}

func (r trimRecord) empty() bool { return len(r.Edits) == 0 && len(r.Drop) == 0 }

// apply makes the edit. It reports false when there is no such part.
func (it *item) apply(e edit) bool {
	if e.Part < 0 || e.Part >= len(it.msg.Parts) {
		return false
	}
	var edited provider.Part
	switch p := it.msg.Parts[e.Part].(type) {
	case provider.Text:
		p.Text, p.Opaque = e.Text, ""
		edited = p
	case provider.Image:
		edited = provider.Text{Text: e.Text}
	case provider.ToolResult:
		p.Images = nil
		if e.Add {
			p.Text += "\n" + e.Text
		} else {
			p.Text = e.Text
		}
		if e.File != "" {
			p.File = e.File
		}
		edited = p
	default:
		return false
	}
	it.msg.Parts = slices.Clone(it.msg.Parts)
	it.msg.Parts[e.Part] = edited
	it.measure()
	return true
}

// replay applies a recorded trim. It ignores messages that the history does not hold.
func replay(items []item, r trimRecord) []item {
	index := make(map[string]int, len(items))
	for i, it := range items {
		index[it.id] = i
	}
	for _, e := range r.Edits {
		if i, ok := index[e.Message]; ok {
			items[i].apply(e)
		}
	}
	for _, n := range r.Notes {
		if i, ok := index[n.Message]; ok {
			items[i].note = n.Text
			items[i].measure()
		}
	}
	drop := make(map[string]bool, len(r.Drop))
	for _, id := range r.Drop {
		drop[id] = true
	}
	return slices.DeleteFunc(items, func(it item) bool { return drop[it.id] })
}

func (c *Conversation) replay(history []entry) {
	for _, e := range history {
		switch p := e.payload.(type) {
		case *messageRecord:
			if len(p.Message.Parts) > 0 {
				c.add(newItem(e.ID, masked(p.Message, c.cfg.Mask, false)))
			}
		case *UsageRecord:
			if c.sent = after(c.items, p.Sent); c.sent > 0 {
				c.meter.factors.restore(p.Factors)
				c.meter.resume(p.Usage, c.sentSize())
			}
		case *trimRecord:
			c.replayTrim(e.ID, compactRecord{trimRecord: *p})
		case *compactRecord:
			c.remember(compaction{id: e.ID, items: slices.Clone(c.items), partial: p.partial})
			c.replayTrim(e.ID, *p)
		case *uncompactRecord:
			if last := len(c.compactions) - 1; last >= 0 && c.compactions[last].id == p.Compact {
				items := c.compactions[last].restored(c.items)
				c.shrunk(items, sizeOfAll(items))
				c.compactions = c.compactions[:last]
			}
		}
	}
	c.sent, c.counted = len(c.items), provider.Usage{}
}

// replayTrim applies a recorded trim or compaction. Its estimate counts if no usage was read before it.
func (c *Conversation) replayTrim(id string, r compactRecord) {
	if c.cfg.Mask != nil {
		r = maskedCompact(r, c.cfg.Mask)
	}
	items := withSummary(replay(c.items, r.trimRecord), id, r)
	if r.Done != nil {
		c.past = *r.Done
	}
	c.shrunk(items, sizeOfAll(items))
	c.meter.factors.restore(r.Factors)
	if !c.meter.anchored && r.After > 0 {
		c.meter.resume(provider.Usage{Input: r.After}, c.size)
	}
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

// after is the number of items up to the one with the ID, 0 if it is not there.
func after(items []item, id string) int {
	for i, it := range slices.Backward(items) {
		if it.id == id {
			return i + 1
		}
	}
	return 0
}

// masked masks keys in the message. The model's own text may be signed and stays, unless replies
// is true.
func masked(m provider.Message, mask func(string) string, replies bool) provider.Message {
	if mask == nil || m.Role == provider.RoleAssistant && !replies {
		return m
	}
	m.Parts = slices.Clone(m.Parts)
	for i, part := range m.Parts {
		switch p := part.(type) {
		case provider.Text:
			p.Text = mask(p.Text)
			m.Parts[i] = p
		case provider.ToolResult:
			p.Text = mask(p.Text)
			if p.Effect != nil {
				effect := *p.Effect
				effect.Command, effect.Decided = mask(effect.Command), mask(effect.Decided)
				p.Effect = &effect
			}
			m.Parts[i] = p
		case provider.ToolCall:
			p.Input, p.Raw = maskedInput(p.Input, mask), mask(p.Raw)
			m.Parts[i] = p
		}
	}
	return m
}

// maskedInput masks the texts in a call's input, or all of it if it is not JSON.
func maskedInput(input json.RawMessage, mask func(string) string) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return json.RawMessage(mask(string(input)))
	}
	found := false
	value = maskedValue(value, func(text string) string {
		masked := mask(text)
		found = found || masked != text
		return masked
	})
	if out, err := provider.Marshal(value); found && err == nil {
		return out
	}
	return input
}

func maskedValue(value any, mask func(string) string) any {
	switch v := value.(type) {
	case string:
		return mask(v)
	case []any:
		for i := range v {
			v[i] = maskedValue(v[i], mask)
		}
	case map[string]any:
		for name := range v {
			v[name] = maskedValue(v[name], mask)
		}
	}
	return value
}

// maskedCompact is the record without keys in its replacements.
func maskedCompact(r compactRecord, mask func(string) string) compactRecord {
	line, err := provider.Marshal(r)
	if err != nil {
		return r
	}
	if masked := maskedInput(line, mask); !bytes.Equal(masked, line) {
		out := compactRecord{partial: r.partial}
		if json.Unmarshal(masked, &out) == nil {
			return out
		}
	}
	return r
}

// eachImage replaces each image of a copy of the message by another or by a sentence. Parts keep
// their index.
func eachImage(m provider.Message, become func(provider.Image) (provider.Image, string)) provider.Message {
	cloned := false
	set := func(i int, p provider.Part) {
		if !cloned {
			m.Parts, cloned = slices.Clone(m.Parts), true
		}
		m.Parts[i] = p
	}
	for i, part := range m.Parts {
		switch p := part.(type) {
		case provider.Image:
			img, instead := become(p)
			if part = img; instead != "" {
				part = provider.Text{Text: instead}
			}
			set(i, part)
		case provider.ToolResult:
			if len(p.Images) == 0 {
				continue
			}
			images := p.Images
			p.Images = nil
			for _, img := range images {
				img, instead := become(img)
				if instead == "" {
					p.Images = append(p.Images, img)
					continue
				}
				if p.Text != "" {
					p.Text += "\n"
				}
				p.Text += instead
			}
			set(i, p)
		}
	}
	return m
}
