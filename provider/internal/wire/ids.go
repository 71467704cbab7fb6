package wire

import (
	"bytes"
	"strconv"
	"strings"

	"artoo/provider"
)

// UniqueIDs gives each call an ID that is not in use. New IDs depend only on the history.
func UniqueIDs(calls []provider.ToolCall, history []provider.Message) {
	used := map[string]bool{}
	for _, m := range history {
		for _, p := range m.Parts {
			if c, ok := p.(provider.ToolCall); ok {
				used[c.ID] = true
			}
		}
	}
	n := len(used)
	for i := range calls {
		id := strings.ToValidUTF8(calls[i].ID, "_")
		for id == "" || used[id] {
			n++
			id = "call_" + strconv.Itoa(n)
		}
		used[id] = true
		calls[i].ID = id
	}
}

// IDs maps the ids of other providers' calls to ids this one takes, and all if Exact is set.
type IDs struct {
	Exact int // ids are just so many letters and digits; 0 where they need not be

	provider string // its ids need no change
	model    string
	limit    int // the longest id that is taken
	to       map[string]string
	used     map[string]bool
}

// IDsOf is ready for the history of a request to the provider of the given name.
func IDsOf(name string, req provider.Request, limit int) IDs {
	return IDs{provider: name, model: req.Model, limit: limit, to: map[string]string{}, used: map[string]bool{}}
}

// Own reports whether a message is a whole reply of this very model: its payloads may go back.
func (m *IDs) Own(reply provider.Message) bool {
	return reply.Provider == m.provider && reply.Model == m.model && !reply.Partial
}

// Call returns the id to send for a call. Calls must come in the order of the history.
func (m *IDs) Call(id, from string) string {
	if to, ok := m.to[id]; ok {
		return to
	}
	to := id
	switch {
	case m.Exact > 0:
		to = exactly(id, m.Exact, "")
	case from != m.provider || id == "":
		to = provider.Identifier(id, m.limit)
	}
	for n := 1; to == "" || m.used[to]; n++ {
		if suffix := strconv.Itoa(n); m.Exact > 0 {
			to = exactly(id, m.Exact, suffix)
		} else {
			to = provider.Identifier(id, m.limit-len(suffix)-1) + "_" + suffix
		}
	}
	m.to[id], m.used[to] = to, true
	return to
}

// Result returns the id to send for the result of the call with the given id.
func (m *IDs) Result(id string) string {
	if to, ok := m.to[id]; ok {
		return to
	}
	return provider.Identifier(id, m.limit)
}

// exactly is an id of the given length that ends in suffix: the end of id differs most.
func exactly(id string, length int, suffix string) string {
	word := bytes.Repeat([]byte("0"), length)
	for _, c := range []byte(id) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			word = append(word, c)
		}
	}
	return string(word[len(word)-length+len(suffix):]) + suffix
}
