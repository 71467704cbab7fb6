package conversation

import (
	"slices"

	"artoo/provider"
)

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
