package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Texts of repair in the places where something has to stand.
const (
	noResult     = "interrupted, no result"
	noStart      = "(The start of this conversation is not available.)"
	continueText = "Continue."
)

// Repair returns the history in the shape that every API accepts. It begins with a user
// message and does not end with an assistant's. Every call has exactly one result after its
// message, in order: results are moved, made up as errors, or dropped. IDs are unique,
// names valid, inputs objects. Empty parts and messages go; a partial message keeps text
// and its provider's session. Strings are valid UTF-8. Opaque payloads stay. Messages stay
// as they are, and are returned if nothing is wrong. The result for a longer history begins
// with that for a shorter one, so that caches hold. Repair is pure and linear.
func Repair(messages []Message) []Message { return repair(messages, false) }

// RepairPaused is Repair for a history that ends with a reply that a server paused.
func RepairPaused(messages []Message) []Message { return repair(messages, true) }

func repair(messages []Message, paused bool) []Message {
	if len(messages) == 0 {
		return messages
	}
	r := repairer{
		paused:  paused,
		last:    len(messages) - 1,
		used:    make(map[string]bool),
		again:   make(map[string]int),
		waiting: make(map[string][]*slot),
	}
	for _, m := range messages {
		r.add(m)
	}
	return r.finish(messages)
}

type slot struct {
	call   ToolCall
	result *Message // nil until it came
	source int
}

// turn is a message of the repaired history with the results that follow it.
type turn struct {
	message Message
	source  int // index in the original history
	slots   []*slot
}

type repairer struct {
	turns   []turn
	used    map[string]bool    // call ids given out
	again   map[string]int     // how often an id was given out once more
	waiting map[string][]*slot // slots without a result, by the original call ID
	read    int                // messages seen
	last    int                // index of the last message
	paused  bool               // such a reply may be the last message
	changed bool
}

func (r *repairer) add(m Message) {
	source := r.read
	r.read++
	role := m.Role
	switch role {
	case RoleUser, RoleAssistant, RoleTool:
	default:
		role = RoleUser
		r.changed = true
	}
	t := turn{message: m, source: source}
	t.message.Role = role
	var parts []Part
	results, cut := 0, false
	for _, p := range m.Parts {
		if result, ok := p.(ToolResult); ok {
			results++
			r.result(m, result, source, len(m.Parts) == 1 && role == RoleTool)
			continue
		}
		kept, same := r.part(p, &t, m.Partial)
		cut = cut || !same
		if kept != nil {
			parts = append(parts, kept)
		}
	}
	if role == RoleTool {
		if results != 1 || len(m.Parts) != 1 {
			r.changed = true
		}
		return
	}
	if results > 0 || cut {
		r.changed = true
		t.message.Parts = parts
	}
	stays := r.paused && source == r.last && len(t.message.Parts) > 0
	if !stays && !slices.ContainsFunc(t.message.Parts, func(p Part) bool { _, ok := p.(Reasoning); return !ok }) {
		r.changed = true // empty, or nothing but reasoning
		return
	}
	r.turns = append(r.turns, t)
}

// part returns the part as it may be sent, or nil, and whether it is the very same.
func (r *repairer) part(p Part, t *turn, partial bool) (kept Part, same bool) {
	role := t.message.Role
	if role == RoleTool {
		return nil, false
	}
	switch p := p.(type) {
	case Text:
		fixed := p
		fixed.Text = validUTF8(p.Text)
		if partial || role != RoleAssistant {
			fixed.Opaque = "" // a payload is the model's own
		}
		if fixed.Opaque == "" && strings.TrimSpace(fixed.Text) == "" {
			return nil, false
		}
		return fixed, fixed == p
	case Image:
		if role != RoleUser || !usable(p) {
			return nil, false
		}
		return p, true
	case Reasoning:
		if role != RoleAssistant || partial && p.Form != FormSession {
			return nil, false
		}
		fixed := p
		fixed.Text = validUTF8(p.Text)
		return fixed, fixed == p
	case ToolCall:
		if role != RoleAssistant || partial {
			return nil, false
		}
		fixed := r.call(p, t)
		return fixed, fixed.ID == p.ID && fixed.Name == p.Name && fixed.Raw == p.Raw && bytes.Equal(fixed.Input, p.Input)
	}
	return nil, false
}

func (r *repairer) call(c ToolCall, t *turn) ToolCall {
	fixed := c
	fixed.ID = r.id(c.ID)
	fixed.Name = ToolName(c.Name, 128)
	fixed.Raw = validUTF8(c.Raw)
	if !isObject(c.Input) {
		if c.Raw == "" {
			fixed.Raw = validUTF8(string(c.Input))
		}
		fixed.Input = json.RawMessage("{}")
	} else {
		fixed.Input = CleanJSON(c.Input)
	}
	// A later result answers this message's calls, not an earlier one's with the same id.
	if open := r.waiting[c.ID]; len(open) > 0 && !slices.Contains(t.slots, open[0]) {
		delete(r.waiting, c.ID)
	}
	s := &slot{call: fixed}
	t.slots = append(t.slots, s)
	r.waiting[c.ID] = append(r.waiting[c.ID], s)
	return fixed
}

// result puts a result into the oldest slot that waits for it. alone: m holds nothing else.
func (r *repairer) result(m Message, result ToolResult, source int, alone bool) {
	open := r.waiting[result.CallID]
	if len(open) == 0 {
		r.changed = true
		return
	}
	s := open[0]
	r.waiting[result.CallID] = open[1:]
	fixed := result
	fixed.CallID, fixed.Name = s.call.ID, s.call.Name
	fixed.Text = validUTF8(result.Text)
	if slices.ContainsFunc(result.Images, func(img Image) bool { return !usable(img) }) {
		fixed.Images = slices.DeleteFunc(slices.Clone(result.Images), func(img Image) bool { return !usable(img) })
	}
	same := fixed.CallID == result.CallID && fixed.Name == result.Name && fixed.Text == result.Text &&
		len(fixed.Images) == len(result.Images)
	s.source = source
	if same && alone {
		s.result = &m
		return
	}
	r.changed = true
	s.result = &Message{Role: RoleTool, Parts: []Part{fixed}}
}

func (r *repairer) finish(original []Message) []Message {
	out := make([]Message, 0, len(original)+2)
	emit := func(m Message, source int) {
		if source != len(out) {
			r.changed = true // moved, or something before it came or went
		}
		out = append(out, m)
	}
	if len(r.turns) > 0 && r.turns[0].message.Role != RoleUser {
		emit(UserText(noStart), -1)
	}
	for _, t := range r.turns {
		emit(t.message, t.source)
		for _, s := range t.slots {
			if s.result == nil {
				missing := ToolResult{CallID: s.call.ID, Name: s.call.Name, Text: noResult, IsError: true}
				emit(Message{Role: RoleTool, Parts: []Part{missing}}, -1)
				continue
			}
			emit(*s.result, s.source)
		}
	}
	if n := len(out); n == 0 || out[n-1].Role == RoleAssistant && !r.paused {
		emit(UserText(continueText), -1)
	}
	if !r.changed {
		return original
	}
	return out
}

// id returns an unused call ID, which depends only on the earlier calls.
func (r *repairer) id(id string) string {
	stem := cmp.Or(strings.ToValidUTF8(id, "_"), "unknown")
	id = stem
	for r.used[id] {
		r.again[stem]++
		id = stem + "-" + strconv.Itoa(r.again[stem]+1)
	}
	r.used[id] = true
	return id
}

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func isObject(raw json.RawMessage) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(raw)
}

// Identifier is s cut to most bytes, with _ for all but ASCII letters, digits, _ and -.
func Identifier(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), most)]
}

// ToolName is a tool's name as an API takes it; models call tools by any name.
func ToolName(name string, most int) string { return cmp.Or(Identifier(name, most), "unknown") }
