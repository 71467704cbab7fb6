package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// message is any message of the history. Content is a string, a list, or null beside calls.
type message struct {
	Role             string          `json:"role"`
	ToolCallID       string          `json:"tool_call_id,omitempty"`
	Content          content         `json:"content"`
	Reasoning        string          `json:"reasoning,omitempty"`
	ReasoningContent *string         `json:"reasoning_content,omitempty"`
	ReasoningText    string          `json:"reasoning_text,omitempty"`
	ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []toolCall      `json:"tool_calls,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// content is a string if parts is nil: some servers know only that form.
type content struct {
	text  string
	parts []part
}

// MarshalJSON writes the one form or the other, null where there is neither.
func (c content) MarshalJSON() ([]byte, error) {
	switch {
	case c.parts != nil:
		return provider.Marshal(c.parts)
	case c.text != "":
		return provider.Marshal(c.text)
	}
	return []byte("null"), nil
}

// part is one piece of a content list. Cache stands last: a mark changes no bytes before it.
type part struct {
	Type     string        `json:"type"`
	Text     string        `json:"text,omitempty"`
	ImageURL *imageURL     `json:"image_url,omitempty"`
	Cache    *cacheControl `json:"cache_control,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type cacheControl struct {
	Type string `json:"type"`
}

type history struct {
	quirks   Quirks
	blocks   bool // contents are lists of parts, so that they can be marked
	ids      wire.IDs
	bridges  bool // a word of the model's stands between results and the user's
	messages []message
	images   []part // images of tool results, due in a user message after the last result
}

func (h *history) system(text string) {
	if wire.Blank(text) {
		return
	}
	role := cmp.Or(h.quirks.SystemRole, "system")
	h.messages = append(h.messages, message{Role: role, Content: h.content([]part{{Type: "text", Text: text}})})
}

func (h *history) add(m provider.Message) {
	if m.Role != provider.RoleTool {
		h.flush()
	}
	if m.Role == provider.RoleAssistant {
		h.assistant(m)
		return
	}
	var parts []part
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			parts = appendText(parts, p.Text)
		case provider.Image:
			parts = append(parts, h.image(p))
		case provider.ToolResult:
			h.result(p)
		}
	}
	h.user(parts)
}

// flush sends the images that tools returned in the user's name: tools return only text.
func (h *history) flush() {
	images := h.images
	h.images = nil
	h.user(images)
}

func (h *history) user(parts []part) {
	if len(parts) == 0 {
		return
	}
	if n := len(h.messages); h.quirks.MergeUsers && n > 0 && h.messages[n-1].Role == "user" {
		h.messages[n-1].Content = h.join(h.messages[n-1].Content, parts)
		return
	}
	if n := len(h.messages); h.bridges && n > 0 && h.messages[n-1].Role == "tool" {
		h.messages = append(h.messages, message{Role: "assistant", Content: h.content([]part{{Type: "text", Text: "OK."}})})
	}
	h.messages = append(h.messages, message{Role: "user", Content: h.content(parts)})
}

// content is a plain string where all parts are text and nothing wants a list.
func (h *history) content(parts []part) content {
	if h.blocks {
		return content{parts: parts}
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Type != "text" {
			return content{parts: parts}
		}
		texts = append(texts, p.Text)
	}
	return content{text: strings.Join(texts, "\n\n")}
}

func (h *history) join(have content, more []part) content {
	parts := have.parts
	if parts == nil {
		parts = []part{{Type: "text", Text: have.text}}
	}
	return h.content(append(parts[:len(parts):len(parts)], more...))
}

func (h *history) result(r provider.ToolResult) {
	text := r.Text
	if len(r.Images) > 0 && !h.quirks.NoImages {
		for _, img := range r.Images {
			h.images = append(h.images, h.image(img))
		}
		if wire.Blank(text) {
			text = "(see the image that follows)"
		}
	}
	if len(r.Images) > 0 && h.quirks.NoImages {
		text = strings.TrimSpace(text + "\n" + noImages)
	}
	if wire.Blank(text) {
		text = "(no output)"
	}
	h.messages = append(h.messages, message{Role: "tool", ToolCallID: h.ids.Result(r.CallID),
		Content: h.content([]part{{Type: "text", Text: text}})})
}

const noImages = "(an image was left out: this model takes none)"

func (h *history) image(img provider.Image) part {
	if h.quirks.NoImages {
		return part{Type: "text", Text: noImages}
	}
	return part{Type: "image_url", ImageURL: &imageURL{URL: dataURL(img)}}
}

func (h *history) assistant(m provider.Message) {
	out := message{Role: "assistant"}
	var text strings.Builder
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			text.WriteString(p.Text)
		case provider.ToolCall:
			if m.Partial {
				continue
			}
			args, _ := wire.Object(p.Input)
			out.ToolCalls = append(out.ToolCalls, toolCall{ID: h.ids.Call(p.ID, m.Provider), Type: "function",
				Function: functionCall{Name: provider.ToolName(p.Name, nameLimit), Arguments: string(args)}})
		}
	}
	if !wire.Blank(text.String()) {
		out.Content.text = text.String()
	}
	if out.Content.text == "" && out.ToolCalls == nil {
		return
	}
	h.echo(&out, m)
	if n := len(h.messages); n > 0 && h.messages[n-1].Role == "assistant" && h.messages[n-1].ToolCalls == nil {
		h.messages[n-1] = h.messages[n-1].joined(out)
		return
	}
	h.messages = append(h.messages, out)
}

// joined is one message of two that the model said in a row, which chat templates refuse.
func (m message) joined(next message) message {
	if m.Content.text != "" && next.Content.text != "" {
		m.Content.text += "\n\n"
	}
	m.Content.text += next.Content.text
	m.Reasoning += next.Reasoning
	m.ReasoningText += next.ReasoningText
	switch {
	case m.ReasoningContent == nil:
		m.ReasoningContent = next.ReasoningContent
	case next.ReasoningContent != nil:
		all := *m.ReasoningContent + *next.ReasoningContent
		m.ReasoningContent = &all
	}
	if next.ReasoningDetails != nil {
		m.ReasoningDetails = next.ReasoningDetails
	}
	m.ToolCalls = next.ToolCalls
	return m
}

// echo gives the model its own reasoning back in the form it came in.
func (h *history) echo(out *message, m provider.Message) {
	var texts [3]strings.Builder // one a field, in the order of message
	var details json.RawMessage
	if h.ids.Own(m) {
		for _, p := range m.Parts {
			r, ok := p.(provider.Reasoning)
			if !ok {
				continue
			}
			switch r.Form {
			case "reasoning":
				texts[0].WriteString(r.Text)
			case "reasoning_content":
				texts[1].WriteString(r.Text)
			case "reasoning_text":
				texts[2].WriteString(r.Text)
			}
			if r.Opaque != "" && json.Valid([]byte(r.Opaque)) {
				details = json.RawMessage(r.Opaque)
			}
		}
	}
	switch h.quirks.Echo {
	case EchoToolTurns:
		if out.ToolCalls != nil {
			all := texts[1].String()
			out.ReasoningContent = &all
		}
	case EchoDetails:
		if out.ReasoningDetails = details; details == nil {
			out.Reasoning = texts[0].String()
		}
	case EchoSame:
		out.Reasoning, out.ReasoningText = texts[0].String(), texts[2].String()
		if all := texts[1].String(); all != "" {
			out.ReasoningContent = &all
		}
	}
}

// maxMarks is how many cache breakpoints Anthropic takes in one request.
const maxMarks = 4

// mark sets Anthropic's cache breakpoints where the previous requests ended.
func mark(messages []message) {
	ephemeral := &cacheControl{Type: "ephemeral"}
	left := maxMarks
	set := func(m *message) {
		if n := len(m.Content.parts); n > 0 {
			m.Content.parts[n-1].Cache = ephemeral
			left--
		}
	}
	if len(messages) > 0 && (messages[0].Role == "system" || messages[0].Role == "developer") {
		set(&messages[0])
	}
	for i := len(messages) - 1; i > 0 && left > 0; i-- {
		last := i+1 == len(messages) || messages[i+1].Role == "assistant"
		if role := messages[i].Role; last && (role == "user" || role == "tool") {
			set(&messages[i])
		}
	}
}

func appendText(parts []part, text string) []part {
	if wire.Blank(text) {
		return parts
	}
	return append(parts, part{Type: "text", Text: text})
}
