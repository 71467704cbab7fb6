package openai

import (
	"strings"

	"artoo/provider"
)

// refusesItems reports whether a server says that it cannot make anything of the
// items it made itself: reasoning that was encrypted for another organisation or
// key, an item without the one it goes with, one that stands there twice. Sent
// again, they would be refused for ever.
func refusesItems(e *provider.Error) bool {
	said := strings.ToLower(e.Message)
	for _, words := range []string{"duplicate item found", "without its required"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return e.Code == "invalid_encrypted_content" ||
		strings.Contains(said, "encrypted content") && (strings.Contains(said, "verified") || strings.Contains(said, "decrypted"))
}

// spend notes the payloads of a history as such that the server no longer takes.
// It reports whether there were any that it had not noted yet.
func (p *Responses) spend(messages []provider.Message) (learned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spent == nil {
		p.spent = map[string]bool{}
	}
	for _, m := range messages {
		for _, part := range m.Parts {
			if payload := itemOf(part); payload != "" && !p.spent[payload] {
				p.spent[payload], learned = true, true
			}
		}
	}
	return learned
}

// current is the history as far as the server takes it: a message with a payload
// that is spent goes without its reasoning and the ids of its items. Messages
// stay as they are.
func (p *Responses) current(messages []provider.Message) []provider.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.spent) == 0 {
		return messages
	}
	out := make([]provider.Message, len(messages))
	for i, m := range messages {
		for _, part := range m.Parts {
			if p.spent[itemOf(part)] {
				m.Parts = bare(m.Parts)
				break
			}
		}
		out[i] = m
	}
	return out
}

// itemOf is the payload by which the server knows an item, "" where it is none.
func itemOf(part provider.Part) string {
	switch part := part.(type) {
	case provider.Reasoning:
		if _, ok := replayable(part); ok {
			return part.Opaque
		}
	case provider.Text:
		if readMark(part.Opaque, "msg").ID != "" {
			return part.Opaque
		}
	case provider.ToolCall:
		if readMark(part.Opaque, "fc").ID != "" {
			return part.Opaque
		}
	}
	return ""
}

// bare leaves the reasoning out, and of the payloads all but a text's phase.
func bare(parts []provider.Part) []provider.Part {
	var out []provider.Part
	for _, part := range parts {
		switch p := part.(type) {
		case provider.Reasoning:
			continue
		case provider.Text:
			p.Opaque = ""
			if phase := readMark(part.(provider.Text).Opaque, "msg").Phase; phase != "" {
				p.Opaque = `{"phase":"` + phase + `"}`
			}
			part = p
		case provider.ToolCall:
			p.Opaque = ""
			part = p
		}
		out = append(out, part)
	}
	return out
}
