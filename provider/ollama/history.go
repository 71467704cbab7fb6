package ollama

import (
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

type history struct {
	facts    facts
	ids      wire.IDs
	names    map[string]string // call names by ID
	messages []message
	images   []string // images of tool results, due in a user message after the last result
}

const (
	seeImages = "(see the image that follows)"
	noImages  = "(an image was left out: this model takes none)"
)

func (h *history) add(m provider.Message) {
	if m.Role != provider.RoleTool {
		h.flush()
	}
	if m.Role == provider.RoleAssistant {
		h.assistant(m)
		return
	}
	out := message{Role: "user"}
	var texts []string
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			if !wire.Blank(p.Text) {
				texts = append(texts, p.Text)
			}
		case provider.Image:
			if h.facts.maySee() {
				out.Images = append(out.Images, encoded(p))
			} else {
				texts = append(texts, noImages)
			}
		case provider.ToolResult:
			h.result(p)
		}
	}
	out.Content = strings.Join(texts, "\n\n")
	if out.Content != "" || out.Images != nil {
		h.messages = append(h.messages, out)
	}
}

// flush sends the images that tools returned as the user's: templates look only there.
func (h *history) flush() {
	if len(h.images) > 0 {
		h.messages = append(h.messages, message{Role: "user", Images: h.images})
		h.images = nil
	}
}

func (h *history) assistant(m provider.Message) {
	own := h.ids.Own(m)
	out := message{Role: "assistant"}
	var text, thinking strings.Builder
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			text.WriteString(p.Text)
		case provider.Reasoning:
			if own && p.Form == wire.FormThinking {
				thinking.WriteString(p.Text)
			}
		case provider.ToolCall:
			if m.Partial {
				continue
			}
			args, _ := wire.Object(p.Input)
			call := toolCall{ID: h.ids.Call(p.ID, m.Provider),
				Function: functionCall{Index: len(out.ToolCalls), Name: provider.ToolName(p.Name, nameLimit),
					Arguments: args}}
			h.names[p.ID] = call.Function.Name
			out.ToolCalls = append(out.ToolCalls, call)
		}
	}
	if !wire.Blank(text.String()) {
		out.Content = text.String()
	}
	if out.Content == "" && out.ToolCalls == nil {
		return
	}
	out.Thinking = thinking.String()
	// Two replies in a row, one of them broken, become one message: templates refuse two.
	if n := len(h.messages); n > 0 && h.messages[n-1].Role == "assistant" && h.messages[n-1].ToolCalls == nil {
		before := h.messages[n-1]
		out.Content = strings.TrimSpace(before.Content + "\n\n" + out.Content)
		out.Thinking = before.Thinking + out.Thinking
		h.messages = h.messages[:n-1]
	}
	h.messages = append(h.messages, out)
}

func (h *history) result(r provider.ToolResult) {
	text := r.Text
	switch {
	case len(r.Images) > 0 && h.facts.maySee():
		for _, img := range r.Images {
			h.images = append(h.images, encoded(img))
		}
		if wire.Blank(text) {
			text = seeImages
		}
	case len(r.Images) > 0:
		text = strings.TrimSpace(text + "\n" + noImages)
	case wire.Blank(text):
		text = "(no output)"
	}
	name, ok := h.names[r.CallID]
	if !ok {
		name = provider.ToolName(r.Name, nameLimit)
	}
	h.messages = append(h.messages, message{Role: "tool", ToolName: name, ToolCallID: h.ids.Result(r.CallID),
		Content: text})
}
