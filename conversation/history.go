package conversation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/provider"
)

// item is a message of the history as it is sent.
type item struct {
	id   string // ID of its line in the session file
	msg  provider.Message
	note string // tells what was left out after this user message; sent as its last text
	// summary says that it is no message of the user's: it stands for what was summed up.
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

// sent is the message with its note.
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

// step is a model's message with the results of its calls: items[from:to]. It
// is dropped whole or not at all.
type step struct{ from, to int }

// stepsOf finds the steps in order. A result without a message before it is a
// step of its own: no wire takes it, and nothing is lost with it.
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

// keptSteps is how many of the last steps are never dropped.
const keptSteps = 3

// recentFrom is the index from which on items belong to the last steps.
func recentFrom(items []item, steps []step) int {
	if len(steps) == 0 {
		return len(items)
	}
	return steps[max(0, len(steps)-keptSteps)].from
}

// lastUser is the index of the latest message of the user's own, -1 when there is none.
func lastUser(items []item) int {
	for i, it := range slices.Backward(items) {
		if it.msg.Role == provider.RoleUser && !it.summary && !isReminder(it.msg) {
			return i
		}
	}
	return -1
}

// edit replaces the text of one part of a message. An image becomes a text; the
// images of a result go, and a file names where the whole is. It is recorded in
// the session file as it is, so that a resumed session sends the same bytes
// whatever later versions would write.
type edit struct {
	Message string `json:"message"` // id of the message's line
	Part    int    `json:"part"`    // index of the part
	Text    string `json:"text"`
	Add     bool   `json:"add,omitempty"`  // Text is added to what is there
	File    string `json:"file,omitempty"` // becomes the result's file
}

// leftNote sets the text that follows a user message after which steps were
// dropped.
type leftNote struct {
	Message string `json:"message"`
	Text    string `json:"text"`
}

// trimRecord is a trim as the session file keeps it.
type trimRecord struct {
	Edits  []edit     `json:"edits,omitempty"`
	Drop   []string   `json:"drop,omitempty"` // ids of messages that are not sent any more
	Notes  []leftNote `json:"notes,omitempty"`
	Done   *done      `json:"done,omitempty"` // nil means no change
	Before int        `json:"before"`         // estimated tokens
	After  int        `json:"after"`
	// Factors are those of UsageRecord: the count that taught them is older than
	// what a long session is gone on with.
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

// replay applies a recorded trim. missing counts what it names and the history
// does not hold.
func replay(items []item, r trimRecord) (after []item, missing int) {
	index := make(map[string]int, len(items))
	for i, it := range items {
		index[it.id] = i
	}
	for _, e := range r.Edits {
		if i, ok := index[e.Message]; !ok || !items[i].apply(e) {
			missing++
		}
	}
	for _, n := range r.Notes {
		i, ok := index[n.Message]
		if !ok {
			missing++
			continue
		}
		items[i].note = n.Text
		items[i].measure()
	}
	drop := make(map[string]bool, len(r.Drop))
	for _, id := range r.Drop {
		if _, ok := index[id]; !ok {
			missing++
		}
		drop[id] = true
	}
	return slices.DeleteFunc(items, func(it item) bool { return drop[it.id] }), missing
}

// replay brings the conversation to where its file left it.
func (c *Conversation) replay(history []entry) {
	for _, e := range history {
		switch p := e.payload.(type) {
		case *messageRecord:
			if len(p.Message.Parts) > 0 {
				c.add(newItem(e.ID, c.masked(p.Message, false)))
			}
		case *UsageRecord:
			if c.sent = c.after(p.Sent); c.sent > 0 {
				c.recount(p)
			}
		case *trimRecord:
			// What a damaged file no longer holds was told when it was loaded.
			trim := c.maskedTrim(*p)
			items, _ := replay(c.items, trim)
			if trim.Done != nil {
				c.done = *trim.Done
			}
			c.shrunk(items, sizeOfAll(items))
			c.meter.factors.restore(trim.Factors)
			c.anchorAt(trim.After)
		case *compactRecord:
			record := c.maskedCompact(*p)
			c.remember(compaction{id: e.ID, items: slices.Clone(c.items), partial: record.partial})
			items, _ := replayCompact(c.items, e.ID, record)
			if record.Done != nil {
				c.done = *record.Done
			}
			c.shrunk(items, sizeOfAll(items))
			c.meter.factors.restore(record.Factors)
			c.anchorAt(record.After)
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

// anchorAt takes an estimate from the file where no count before it was read; 0 is
// none.
func (c *Conversation) anchorAt(tokens int) {
	if !c.meter.anchored && tokens > 0 {
		c.meter.resume(provider.Usage{Input: tokens}, c.size)
	}
}

// recount takes a count from the file, with what was learned until then.
func (c *Conversation) recount(u *UsageRecord) {
	c.meter.factors.restore(u.Factors)
	c.meter.resume(u.Usage, c.sentSize())
}

// masked is the message without keys. What the model wrote stays as it is, since some of
// it is signed, unless replies are meant, too.
func (c *Conversation) masked(m provider.Message, replies bool) provider.Message {
	if c.cfg.Mask == nil || m.Role == provider.RoleAssistant && !replies {
		return m
	}
	m.Parts = slices.Clone(m.Parts)
	for i, part := range m.Parts {
		switch p := part.(type) {
		case provider.Text:
			p.Text = c.cfg.Mask(p.Text)
			m.Parts[i] = p
		case provider.ToolResult:
			p.Text = c.cfg.Mask(p.Text)
			if p.Effect != nil {
				effect := *p.Effect
				effect.Command, effect.Decided = c.cfg.Mask(effect.Command), c.cfg.Mask(effect.Decided)
				p.Effect = &effect
			}
			m.Parts[i] = p
		case provider.ToolCall:
			p.Input, p.Raw = maskedInput(p.Input, c.cfg.Mask), c.cfg.Mask(p.Raw)
			m.Parts[i] = p
		}
	}
	return m
}

// maskedInput is the input of a call without keys in its texts. One that is no JSON is
// masked as it stands.
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

// maskedValue masks the texts in a decoded JSON value.
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

// maskedTrim is the trim without keys in what it puts in the place of others.
func (c *Conversation) maskedTrim(r trimRecord) trimRecord {
	if c.cfg.Mask == nil {
		return r
	}
	r.Edits, r.Notes = slices.Clone(r.Edits), slices.Clone(r.Notes)
	for i := range r.Edits {
		r.Edits[i].Text = c.cfg.Mask(r.Edits[i].Text)
	}
	for i := range r.Notes {
		r.Notes[i].Text = c.cfg.Mask(r.Notes[i].Text)
	}
	if r.Done != nil {
		did := *r.Done
		did.Commands = slices.Clone(did.Commands)
		for i := range did.Commands {
			did.Commands[i].Line = c.cfg.Mask(did.Commands[i].Line)
		}
		did.Decided = slices.Clone(did.Decided)
		for i := range did.Decided {
			did.Decided[i] = c.cfg.Mask(did.Decided[i])
		}
		r.Done = &did
	}
	return r
}

// after is the number of items up to the one with the id, 0 when there is none.
// It is looked for from the end, where it is.
func (c *Conversation) after(id string) int {
	if id == "" {
		return 0
	}
	for i, it := range slices.Backward(c.items) {
		if it.id == id {
			return i + 1
		}
	}
	return 0
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

// onlyText reports whether a message is sure to be read back as it is, so that
// several copies of an answer, which can be long, need not be made to see.
func onlyText(m provider.Message) bool {
	for _, p := range m.Parts {
		t, ok := p.(provider.Text)
		if !ok || !utf8.ValidString(t.Text) || !utf8.ValidString(t.Opaque) {
			return false
		}
	}
	return utf8.ValidString(string(m.Role) + m.Provider + m.Model + m.Answered)
}
