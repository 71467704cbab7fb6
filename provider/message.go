package provider

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Role is the author of a message.
type Role string

// The three roles. The system prompt is a field of Request, not a message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // holds exactly one ToolResult; wires join neighbours as their protocol wants
)

// Message is one entry of the history. Its JSON is stable, since session files hold it.
type Message struct {
	Role  Role
	Parts []Part
	// Provider and Model made an assistant message; only they get its payloads back.
	Provider string
	Model    string
	// Answered is the model that the server says it was, where it is another; or "".
	Answered string
	// InsteadOf is the provider/model that was asked first, where this one answered in its place; or "".
	InsteadOf string
	// Partial marks an assistant message that broke off; it holds text only.
	Partial bool
}

// Part is a piece of a message: Text, Reasoning, Image, ToolCall or ToolResult.
// The set is sealed.
type Part interface{ partType() string }

// Text is plain words. Opaque is a payload that the wire wants back byte for byte. Note
// marks artoo's own words in the user's place; no wire sends it.
type Text struct {
	Note   Note   `json:"note,omitempty"`
	Text   string `json:"text"`
	Opaque string `json:"opaque,omitempty"`
	// Skill is the name of the skill that the user loads with it; "" for none. No wire sends it.
	Skill string `json:"skill,omitempty"`
}

// Note is the subject of artoo's own note to a model.
type Note string

// The notes. Their texts are the words of session files.
const (
	NoteMode         Note = "mode"         // the approval mode is another one now
	NoteSettings     Note = "settings"     // so are other facts of the prompt
	NoteInstructions Note = "instructions" // instruction files that have changed
	NoteGit          Note = "git"          // the repository as the session begins
	NoteBackground   Note = "background"   // background commands that have ended
	NoteServers      Note = "servers"      // tools of MCP servers that have changed
	NoteUndo         Note = "undo"         // files that the user brought back
	NoteReview       Note = "review"       // findings of a review that the user asked for
	NoteHook         Note = "hook"         // hooks add it
	NoteSchema       Note = "schema"       // the schema that the answer has to fit, or how it did not
	NoteReminder     Note = "reminder"     // said between two steps; the newest alone is sent
	NoteSummary      Note = "summary"      // stands for messages no longer sent
)

// Reasoning is the model's thought. Text may be "" (withheld). Opaque is the wire's proof
// of it (signature, encrypted content), kept byte for byte. Form is the wire's word for its
// shape, such as "thinking".
type Reasoning struct {
	Text   string `json:"text,omitempty"`
	Form   string `json:"form,omitempty"`
	Opaque string `json:"opaque,omitempty"`
}

// FormSession is the Form of a part with a provider's own session: a broken reply keeps it.
const FormSession = "cli_session"

// ToolCall is the model's wish to run a tool. Input is always a JSON object without
// duplicate keys. If the model sent another text, Raw keeps it, Input is {} or has the last
// values, and the call is answered with the problem and never run.
type ToolCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Raw    string          `json:"raw,omitempty"`
	Opaque string          `json:"opaque,omitempty"`
}

// ToolResult answers the call with the same id.
type ToolResult struct {
	CallID  string  `json:"call_id"`
	Name    string  `json:"name"`
	Text    string  `json:"text"`
	Images  []Image `json:"images,omitempty"`
	IsError bool    `json:"is_error,omitempty"`
	File    string  `json:"file,omitempty"` // where the whole output is, when Text was cut
	By      string  `json:"by,omitempty"`   // the hook that answered the question about the call; no wire sends it
	// Effect is that of the call, or nil; no wire sends it.
	Effect *Effect `json:"effect,omitempty"`
}

// Effect lists the effects of a tool's call apart from its result.
type Effect struct {
	Files   []string `json:"files,omitempty"`   // the files it changed
	Command string   `json:"command,omitempty"` // the command it ran
	End     string   `json:"end,omitempty"`     // how the command ended, a few words
	// Decided is the user's decision, one sentence: an answer, a call refused.
	Decided string `json:"decided,omitempty"`
}

func (Text) partType() string       { return "text" }
func (Reasoning) partType() string  { return "reasoning" }
func (Image) partType() string      { return "image" }
func (ToolCall) partType() string   { return "tool_call" }
func (ToolResult) partType() string { return "tool_result" }

// UserText makes a user message of text followed by the attachments.
func UserText(text string, attachments ...Part) Message {
	return Message{Role: RoleUser, Parts: append([]Part{Text{Text: text}}, attachments...)}
}

// Text joins the message's text parts.
func (m Message) Text() string {
	if len(m.Parts) == 1 { // most answers; they can be long, so no copy is made
		t, _ := m.Parts[0].(Text)
		return t.Text
	}
	var b strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Own reports whether artoo itself says the message, in the user's place.
func (m Message) Own() bool {
	if m.Role != RoleUser || len(m.Parts) == 0 {
		return false
	}
	t, _ := m.Parts[0].(Text)
	return t.Note != ""
}

// Calls lists the message's tool calls in order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

type messageJSON[P any] struct {
	Role      Role   `json:"role"`
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model,omitempty"`
	Answered  string `json:"answered,omitempty"`
	InsteadOf string `json:"instead_of,omitempty"`
	Partial   bool   `json:"partial,omitempty"`
	Parts     []P    `json:"parts"`
}

// MarshalJSON writes each part as an object whose first key is "type".
func (m Message) MarshalJSON() ([]byte, error) {
	out := messageJSON[Part]{Role: m.Role, Provider: m.Provider, Model: m.Model, Answered: m.Answered,
		InsteadOf: m.InsteadOf, Partial: m.Partial, Parts: []Part{}}
	line, err := Marshal(out)
	if err != nil {
		return nil, err
	}
	// The parts are put between the brackets by hand: a long answer would be
	// copied three times more if each level were encoded on its own.
	line = line[:len(line)-len("]}")]
	for i, p := range m.Parts {
		if i > 0 {
			line = append(line, ',')
		}
		if line, err = appendPart(line, p); err != nil {
			return nil, err
		}
	}
	return append(line, "]}"...), nil
}

// UnmarshalJSON reads the form of MarshalJSON. A part of an unknown type is an error.
func (m *Message) UnmarshalJSON(data []byte) error {
	var in messageJSON[partJSON]
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*m = Message{Role: in.Role, Provider: in.Provider, Model: in.Model, Answered: in.Answered, InsteadOf: in.InsteadOf, Partial: in.Partial}
	if len(in.Parts) > 0 {
		m.Parts = make([]Part, len(in.Parts))
	}
	for i := range in.Parts {
		var err error
		if m.Parts[i], err = in.Parts[i].part(); err != nil {
			return err
		}
	}
	return nil
}

// partJSON has the fields of every kind of part, so that a message is read in one pass.
type partJSON struct {
	Type      string          `json:"type"`
	Note      Note            `json:"note"`
	Text      string          `json:"text"`
	Form      string          `json:"form"`
	Opaque    string          `json:"opaque"`
	Skill     string          `json:"skill"`
	MediaType string          `json:"media_type"`
	Data      []byte          `json:"data"`
	Bytes     int             `json:"bytes"`
	SHA256    string          `json:"sha256"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Raw       string          `json:"raw"`
	CallID    string          `json:"call_id"`
	Images    []Image         `json:"images"`
	IsError   bool            `json:"is_error"`
	File      string          `json:"file"`
	By        string          `json:"by"`
	Effect    *Effect         `json:"effect"`
}

func (p *partJSON) part() (Part, error) {
	switch p.Type {
	case "text":
		return Text{Note: p.Note, Text: p.Text, Opaque: p.Opaque, Skill: p.Skill}, nil
	case "reasoning":
		return Reasoning{Text: p.Text, Form: p.Form, Opaque: p.Opaque}, nil
	case "image":
		return Image{MediaType: p.MediaType, Data: p.Data, Name: p.Name, Bytes: p.Bytes, SHA256: p.SHA256}, nil
	case "tool_call":
		return ToolCall{ID: p.ID, Name: p.Name, Input: p.Input, Raw: p.Raw, Opaque: p.Opaque}, nil
	case "tool_result":
		return ToolResult{CallID: p.CallID, Name: p.Name, Text: p.Text, Images: p.Images, IsError: p.IsError, File: p.File,
			By: p.By, Effect: p.Effect}, nil
	}
	return nil, fmt.Errorf("unknown message part %q", p.Type)
}

func appendPart(line []byte, p Part) ([]byte, error) {
	body, err := Marshal(p)
	if err != nil {
		return nil, err
	}
	line = fmt.Appendf(line, `{"type":%q`, p.partType())
	if string(body) != "{}" {
		line = append(line, ',')
	}
	return append(line, body[1:]...), nil
}
