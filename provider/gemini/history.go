package gemini

import (
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// history gathers the contents. The results of a message's calls are one content, the user's
// words another.
type history struct {
	family   family
	learned  wire.Learned
	ids      wire.IDs
	names    map[string]string // call names by ID
	contents []content
	results  []part // IDs of the calls in the last content
	images   []part // images of these results that cannot stand inside
}

func (h *history) add(m provider.Message) {
	if m.Role == provider.RoleAssistant {
		h.flush()
		h.push("model", h.assistant(m))
		return
	}
	var parts []part
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			if !wire.Blank(p.Text) {
				parts = append(parts, textPart(p.Text))
			}
		case provider.Image:
			parts = append(parts, image(p))
		case provider.ToolResult:
			h.result(p)
		}
	}
	if len(parts) > 0 {
		h.flush()
		h.push("user", parts)
	}
}

func (h *history) flush() {
	h.push("user", h.results)
	h.push("user", h.images)
	h.results, h.images = nil, nil
}

func (h *history) push(role string, parts []part) {
	if len(parts) == 0 {
		return
	}
	if n := len(h.contents); n > 0 && role == "model" && h.contents[n-1].Role == role {
		h.contents[n-1].Parts = append(h.contents[n-1].Parts, parts...)
		return
	}
	h.contents = append(h.contents, content{Role: role, Parts: parts})
}

// assistant rebuilds a reply: a signature belongs to its very part.
func (h *history) assistant(m provider.Message) []part {
	own := h.ids.Own(m)
	var parts []part
	first := true
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			if sig := h.signature(p.Opaque, own); sig != "" || !wire.Blank(p.Text) {
				parts = append(parts, part{Text: &p.Text, Signature: sig})
			}
		case provider.Reasoning:
			if sig := h.signature(p.Opaque, own); sig != "" {
				parts = append(parts, part{Text: &p.Text, Thought: true, Signature: sig})
			}
		case provider.ToolCall:
			if m.Partial {
				continue
			}
			args, _ := wire.Object(p.Input)
			call := &functionCall{ID: h.id(h.ids.Call(p.ID, m.Provider)), Name: functionName(p.Name), Args: args}
			h.names[p.ID] = call.Name
			sig := h.signature(p.Opaque, own)
			if sig == "" && (first && h.family.needsSignatures() || h.learned.Without(wire.UnsignedCalls)) {
				sig = noSignature
			}
			first = false
			parts = append(parts, part{Call: call, Signature: sig})
		}
	}
	return parts
}

// signature goes back with a part, or is "".
func (h *history) signature(opaque string, own bool) string {
	if !own || h.learned.Forgotten(opaque) {
		return ""
	}
	return opaque
}

// id is the id to send: some servers do not know the field.
func (h *history) id(id string) string {
	if h.learned.Without(wire.CallIDs) {
		return ""
	}
	return id
}

func (h *history) result(r provider.ToolResult) {
	text := r.Text
	var images []part
	for _, img := range r.Images {
		if p := image(img); p.Inline != nil {
			images = append(images, p)
		} else {
			text = strings.TrimPrefix(text+"\n"+*p.Text, "\n")
		}
	}
	switch {
	case !wire.Blank(text):
	case len(images) > 0:
		text = "(see the image)"
	default:
		text = "(no output)"
	}
	name, ok := h.names[r.CallID]
	if !ok {
		name = functionName(r.Name)
	}
	resp := &functionResponse{ID: h.id(h.ids.Result(r.CallID)), Name: name, Response: responseObject{Output: &text}}
	if r.IsError {
		resp.Response = responseObject{Error: &text}
	}
	if h.family.nestsImages() {
		resp.Parts = images
	} else {
		h.images = append(h.images, images...)
	}
	h.results = append(h.results, part{Response: resp})
}
