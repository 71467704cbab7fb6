package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/provider"
)

// Reply is what every decoder gathers of one reply.
type Reply struct {
	Usage   provider.Usage
	Pending []provider.Event // events of the last Feed

	provider, model string
	history         []provider.Message
}

// ReplyTo is ready for the reply to a request by the provider of the given name.
func ReplyTo(name string, req provider.Request) Reply {
	return Reply{provider: name, model: req.Model, history: req.Messages}
}

// Text appends a piece of the answer to b, and its event; nothing where it is empty.
func (r *Reply) Text(b *strings.Builder, piece string) {
	if piece != "" {
		b.WriteString(piece)
		r.Pending = append(r.Pending, provider.TextDelta{Text: piece})
	}
}

// Reason does the same with a piece of the reasoning.
func (r *Reply) Reason(b *strings.Builder, piece string) {
	if piece != "" {
		b.WriteString(piece)
		r.Pending = append(r.Pending, provider.ReasoningDelta{Text: piece})
	}
}

// Called appends the event of a call that began, or of so many bytes of its
// arguments. All of one call have the same number.
func (r *Reply) Called(tool string, call, bytes int) {
	r.Pending = append(r.Pending, provider.CallDelta{Tool: toolName(tool), Call: call, Bytes: bytes})
}

// OnlyText is the text of the pending events, if it is all they hold.
func (r *Reply) OnlyText() string {
	if len(r.Pending) != 1 {
		return ""
	}
	delta, _ := r.Pending[0].(provider.TextDelta)
	return delta.Text
}

// Message is the model's message of these parts. A call with the ID, name and arguments of
// an earlier one was sent twice and is left out; every other gets its own ID.
func (r *Reply) Message(parts []provider.Part) provider.Message {
	m := provider.Message{Role: provider.RoleAssistant, Provider: r.provider, Model: r.model}
	var calls []provider.ToolCall
	for _, p := range parts {
		call, ok := p.(provider.ToolCall)
		if !ok {
			m.Parts = append(m.Parts, p)
			continue
		}
		for _, c := range several(call) {
			same := func(d provider.ToolCall) bool {
				return d.ID == c.ID && d.Name == c.Name && d.Raw == c.Raw && bytes.Equal(d.Input, c.Input)
			}
			if !slices.ContainsFunc(calls, same) {
				calls, m.Parts = append(calls, c), append(m.Parts, c)
			}
		}
	}
	UniqueIDs(calls, r.history)
	for i, p := range m.Parts {
		if _, ok := p.(provider.ToolCall); ok {
			m.Parts[i], calls = calls[0], calls[1:]
		}
	}
	return m
}

// Unreadable makes a reply of one that the server gave up for an unreadable call: the model
// is shown what it wrote, since the same request would most likely get the same call. parts
// came before it.
func (r *Reply) Unreadable(
	e *provider.Error, parts []provider.Part, raw string, tools []provider.ToolSpec,
) provider.Done {
	call := provider.ToolCall{Name: LikelyTool(raw, tools), Input: json.RawMessage("{}"),
		Raw: strings.ToValidUTF8(raw, "\uFFFD")}
	return provider.Done{Message: r.Message(append(parts, call)), Stop: provider.StopToolUse, Detail: e.Message,
		Usage: e.Usage, RequestID: e.RequestID, Tries: 1}
}

// Nonsense is the error of a piece of a reply, or of a list, that cannot be read.
func Nonsense(what string, err error) *provider.Error {
	return &provider.Error{Kind: provider.KindProvider, Message: what + " makes no sense: " + err.Error(), Err: err}
}

// Reported is the error that an event tells of in its field "error", nil where that
// is missing or says nothing. Where the event is surely one, it is never nil.
func Reported(field json.RawMessage, event string, surely bool) *provider.Error {
	if !surely && !Present(field) {
		return nil
	}
	e := Failure([]byte(event))
	if e == nil && surely {
		e = &provider.Error{Kind: provider.KindProvider, Message: "the server reports an error without a word"}
	}
	return e
}

// Present reports whether a value was sent and is not null.
func Present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// Text is a JSON string's content, or another value as it is written; "" for null
// and nothing. Some servers send an object where a string with one is due.
func Text(raw json.RawMessage) string {
	var s string
	switch n := len(raw); {
	case n >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw):
		return string(raw[1 : n-1]) // most pieces of a stream have no escapes
	case !Present(raw) || json.Unmarshal(raw, &s) == nil:
		return s
	}
	return string(raw)
}
