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
