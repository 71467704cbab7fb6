package conversation

import (
	"slices"

	"artoo/provider"
)

// item is a message of the history as it is sent.
type item struct {
	id   string // of its line in the session file
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
	Done   *done      `json:"done,omitempty"` // in all that is not sent any more; nil: as before
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
