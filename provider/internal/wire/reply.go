package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/provider"
)

// Piece is a part of a reply that is being gathered.
type Piece struct {
	Form     string          // FormText, FormCall or a form of reasoning; "" for an omitted part
	Text     strings.Builder // a call has its arguments here
	ID, Name string          // a call has both
	Whole    string          // its arguments, if none came piece by piece
	Opaque   string

	index int  // see Reply.Block
	open  bool // a block whose end has not come
}

// The forms that all wires have.
const (
	FormText = "text"
	FormCall = "call"
)

// Reply gathers one reply for every decoder.
type Reply struct {
	Usage   provider.Usage
	Pending []provider.Event // events that Events has not taken yet
	Parts   []*Piece         // have the model's order

	begun bool
	over  bool // [DONE] came
	think Thinker

	provider, model string
	history         []provider.Message
}

// ReplyTo is ready for the reply to a request by the provider of the given name.
func ReplyTo(name string, req provider.Request) Reply {
	return Reply{provider: name, model: req.Model, history: req.Messages}
}

// Events implements Decoder.
func (r *Reply) Events() []provider.Event {
	events := r.Pending
	r.Pending = r.Pending[:0]
	return events
}

// Begin appends the event of the reply's begin, once.
func (r *Reply) Begin(model, id string) {
	if !r.begun {
		r.begun = true
		r.Pending = append(r.Pending, provider.Started{Model: model, RequestID: id})
	}
}

// Part is the last part, if it is of the given form and neither has a payload, else a new one.
func (r *Reply) Part(form, opaque string) *Piece {
	if n := len(r.Parts); n > 0 && r.Parts[n-1].Form == form && r.Parts[n-1].Opaque == "" && opaque == "" {
		return r.Parts[n-1]
	}
	p := &Piece{Form: form, Opaque: opaque}
	r.Parts = append(r.Parts, p)
	return p
}

// Block is the part with the server's index, and of the given form if it is new. Blocks may come interleaved; the parts
// have the order of their indexes.
func (r *Reply) Block(index int, form string) *Piece {
	i, found := slices.BinarySearchFunc(r.Parts, index, func(p *Piece, index int) int { return cmp.Compare(p.index, index) })
	if !found {
		r.Parts = slices.Insert(r.Parts, i, &Piece{Form: form, index: index, open: true})
	}
	return r.Parts[i]
}

// EndBlock takes the end of the block with the server's index.
func (r *Reply) EndBlock(index int) {
	for _, p := range r.Parts {
		if p.index == index {
			p.open = false
		}
	}
}

// Open reports whether the end of a block has not come.
func (r *Reply) Open() bool {
	return slices.ContainsFunc(r.Parts, func(p *Piece) bool { return p.open })
}

// Over implements Decoder.
func (r *Reply) Over() {
	r.EndAnswer()
	r.over = true
}

// IsOver reports whether [DONE] came.
func (r *Reply) IsOver() bool { return r.over }

// Closed reports whether the reply says something, and all of it is whole: a mark for its end may then lack the reason.
func (r *Reply) Closed() bool {
	said := false
	for _, p := range r.Parts {
		args := cmp.Or(p.Text.String(), p.Whole, "{}")
		if p.Form == FormCall && !json.Valid([]byte(args)) {
			return false
		}
		said = said || p.Form == FormCall || p.Form == FormText && !Blank(p.Text.String())
	}
	return said && !r.Open()
}

// Answer adds a piece of the answer; marked reasoning in it becomes reasoning of the form FormThinking. EndAnswer adds
// text that looked like the beginning of a mark.
func (r *Reply) Answer(piece string) { r.Said(r.think.Split(piece)) }

// EndAnswer ends the answer, see Answer.
func (r *Reply) EndAnswer() { r.Said(r.think.End()) }

// FormThinking is the form of reasoning between marks.
const FormThinking = "thinking"

// Said adds pieces of the reasoning and of the answer, each of which may be "".
func (r *Reply) Said(thought, answer string) {
	if thought != "" {
		r.Reason(&r.Part(FormThinking, "").Text, thought)
	}
	if answer != "" {
		r.Text(&r.Part(FormText, "").Text, answer)
	}
}

// Held is about how much of the reply is kept by now, in bytes.
func (r *Reply) Held() (n int) {
	for _, p := range r.Parts {
		n += p.Text.Len() + len(p.Name) + len(p.Opaque) + len(p.Whole)
	}
	return n
}

// Gathered are the parts as a message holds them.
func (r *Reply) Gathered() (parts []provider.Part) {
	for _, p := range r.Parts {
		switch text := p.Text.String(); p.Form {
		case "":
		case FormText:
			if text != "" || p.Opaque != "" {
				parts = append(parts, provider.Text{Text: text, Opaque: p.Opaque})
			}
		case FormCall:
			call := NewCall(p.ID, p.Name, cmp.Or(text, p.Whole))
			call.Opaque = p.Opaque
			parts = append(parts, call)
		default:
			parts = append(parts, provider.Reasoning{Text: text, Form: p.Form, Opaque: p.Opaque})
		}
	}
	return parts
}

// stops are the words by which servers end a reply for another reason than its end.
var stops = map[string]provider.StopReason{
	"length": provider.StopMaxTokens, "max_tokens": provider.StopMaxTokens, "MAX_TOKENS": provider.StopMaxTokens,
	"content_filtered": provider.StopRefusal, "guardrail_intervened": provider.StopRefusal, // Bedrock's
	"content_filter": provider.StopRefusal, "sensitive": provider.StopRefusal, "refusal": provider.StopRefusal,
	"model_context_window_exceeded": provider.StopContext, "pause_turn": provider.StopPause,
	// Google's
	"SAFETY": provider.StopRefusal, "RECITATION": provider.StopRefusal, "LANGUAGE": provider.StopRefusal,
	"BLOCKLIST": provider.StopRefusal, "PROHIBITED_CONTENT": provider.StopRefusal, "SPII": provider.StopRefusal,
	"IMAGE_SAFETY": provider.StopRefusal, "IMAGE_PROHIBITED_CONTENT": provider.StopRefusal,
	"IMAGE_RECITATION": provider.StopRefusal, "IMAGE_OTHER": provider.StopRefusal, "NO_IMAGE": provider.StopRefusal,
	"MODEL_ARMOR": provider.StopRefusal,
}

// Stop maps a server's word for the end of a reply. The calls themselves show whether there are any to run; only a
// reply that was cut or refused must not run them.
func Stop(word string, calls bool) provider.StopReason {
	if stop, ok := stops[word]; ok || !calls {
		return cmp.Or(stop, provider.StopComplete)
	}
	return provider.StopToolUse
}

// Text appends a piece of the answer to b, and its event; nothing where it is empty.
func (r *Reply) Text(b *strings.Builder, piece string) {
	r.add(b, piece, provider.TextDelta{Text: piece})
}

// Reason does the same with a piece of the reasoning.
func (r *Reply) Reason(b *strings.Builder, piece string) {
	r.add(b, piece, provider.ReasoningDelta{Text: piece})
}

func (r *Reply) add(b *strings.Builder, piece string, e provider.Event) {
	if piece != "" {
		b.WriteString(piece)
		r.Pending = append(r.Pending, e)
	}
}

// Called appends the event of a call that began, or of so many bytes of its arguments.
func (r *Reply) Called(tool string, call, bytes int) {
	r.Pending = append(r.Pending, provider.CallDelta{Tool: toolName(tool), Call: call, Bytes: bytes})
}

// Call adds a call that comes whole.
func (r *Reply) Call(id, name, opaque string, arguments json.RawMessage) {
	r.Called(name, len(r.Parts), len(arguments))
	r.Parts = append(r.Parts, &Piece{Form: FormCall, ID: id, Name: name, Opaque: opaque, Whole: Text(arguments)})
}

// OnlyText is the text of the pending events, if it is all they hold.
func (r *Reply) OnlyText() string {
	if len(r.Pending) != 1 {
		return ""
	}
	delta, _ := r.Pending[0].(provider.TextDelta)
	return delta.Text
}

// Message is the model's message of these parts. A call that was sent twice is left out; every
// other gets its own ID.
func (r *Reply) Message(parts []provider.Part) provider.Message {
	m := provider.Message{Role: provider.RoleAssistant, Provider: r.provider, Model: r.model}
	var calls []provider.ToolCall
	seen := map[[4]string]bool{}
	for _, p := range parts {
		call, ok := p.(provider.ToolCall)
		if !ok {
			m.Parts = append(m.Parts, p)
			continue
		}
		for _, c := range several(call) {
			if key := [4]string{c.ID, c.Name, c.Raw, string(c.Input)}; !seen[key] {
				seen[key] = true
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
// is shown its own text, since the same request would most likely get the same call.
func (r *Reply) Unreadable(e *provider.Error, raw string, tools []provider.ToolSpec) provider.Done {
	call := provider.ToolCall{Name: LikelyTool(raw, tools), Input: json.RawMessage("{}"),
		Raw: strings.ToValidUTF8(raw, "\uFFFD")}
	return provider.Done{Message: r.Message(append(r.Gathered(), call)), Stop: provider.StopToolUse, Detail: e.Message,
		Usage: e.Usage, RequestID: e.RequestID, Tries: 1}
}

// Present reports whether a value was sent and is not null.
func Present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// Text is a JSON string's content, or another value as it is written; "" for null.
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

// MaxCalls is how many calls of one reply count: thousands come of a loop.
const MaxCalls = 128

// Object returns raw as a compact, valid JSON object. ok is false, and it is empty, if it is none.
func Object(raw json.RawMessage) (clean json.RawMessage, ok bool) {
	var b bytes.Buffer
	if t := bytes.TrimLeft(raw, " \t\r\n"); len(t) == 0 || t[0] != '{' || json.Compact(&b, raw) != nil {
		return json.RawMessage("{}"), false
	}
	return provider.CleanJSON(eachOnce(b.Bytes())), true
}

// Extent follows a JSON value piece by piece and knows when it has come to its end.
type Extent struct {
	Begun           bool // something except spaces came
	depth           int
	quoted, escaped bool // inside a string; after a backslash
	bare            bool // it is a number or a word, whose end cannot be seen
}

// Add takes the next piece.
func (e *Extent) Add(piece string) {
	for i := range len(piece) {
		c := piece[i]
		switch {
		case e.escaped:
			e.escaped = false
		case e.quoted:
			e.escaped, e.quoted = c == '\\', c != '"'
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		case c == '"':
			e.quoted = true
		case c == '{' || c == '[':
			e.depth++
		case c == '}' || c == ']':
			e.depth--
		default:
			e.bare = e.bare || e.depth == 0
		}
		e.Begun = true
	}
}

// Ended reports whether the value is whole.
func (e *Extent) Ended() bool { return e.Begun && !e.bare && !e.quoted && e.depth <= 0 }
