package converse

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/internal/wire"
)

// body is the request; the address names the model. History comes last, so that a request is a prefix of the next one.
type body struct {
	Inference *inference     `json:"inferenceConfig,omitempty"`
	More      map[string]any `json:"additionalModelRequestFields,omitempty"`
	Tools     *toolConfig    `json:"toolConfig,omitempty"`
	System    []block        `json:"system,omitempty"`
	Messages  []message      `json:"messages"`
}

type inference struct {
	MaxTokens   int      `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
}

type toolConfig struct {
	Tools []tool `json:"tools"`
}

type tool struct {
	Spec  *toolSpec   `json:"toolSpec,omitempty"`
	Cache *cachePoint `json:"cachePoint,omitempty"`
}

type toolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Schema      struct {
		JSON json.RawMessage `json:"json"`
	} `json:"inputSchema"`
}

type cachePoint struct {
	Type string `json:"type"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is one of its fields.
type block struct {
	Text      string      `json:"text,omitempty"`
	Image     *image      `json:"image,omitempty"`
	Call      *toolUse    `json:"toolUse,omitempty"`
	Result    *toolResult `json:"toolResult,omitempty"`
	Reasoning *reasoning  `json:"reasoningContent,omitempty"`
	Cache     *cachePoint `json:"cachePoint,omitempty"`
}

type image struct {
	Format string `json:"format"`
	Source struct {
		Bytes string `json:"bytes"`
	} `json:"source"`
}

type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	ID      string  `json:"toolUseId"`
	Content []block `json:"content"`
	Status  string  `json:"status,omitempty"`
}

type reasoning struct {
	Text     *reasoningText `json:"reasoningText,omitempty"`
	Redacted string         `json:"redactedContent,omitempty"`
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

// The API's limits for names and ids, and the two shapes of reasoning.
const (
	nameLimit    = 64
	idLimit      = 64
	formText     = "reasoningText"
	formRedacted = "redactedContent"
)

// encode makes the body of a request by the provider of the given name. The API has no word for NoCalls: where the
// history has calls it wants their tools.
func encode(name string, req provider.Request, l wire.Learned) ([]byte, error) {
	var b body
	settings := inference{MaxTokens: l.ReplyTokens(max(0, req.MaxTokens), len(req.Messages)), Temperature: req.Temperature}
	b.More, settings.Temperature = reasons(name, req, l)
	if l.Without(wire.Temperature) {
		settings.Temperature = nil
	}
	if settings != (inference{}) {
		b.Inference = &settings
	}
	if !wire.Blank(req.System) {
		b.System = []block{{Text: req.System}}
	}
	for _, t := range req.Tools {
		spec := &toolSpec{Name: provider.ToolName(t.Name, nameLimit), Description: t.Description}
		spec.Schema.JSON = wire.Schema(t.Schema)
		if b.Tools == nil {
			b.Tools = &toolConfig{}
		}
		b.Tools.Tools = append(b.Tools.Tools, tool{Spec: spec})
	}
	h := history{ids: wire.IDsOf(name, req, idLimit), learned: l}
	for _, m := range req.Messages {
		h.add(m)
	}
	b.Messages = h.messages
	if caches(req.Model) && !l.Without(wire.CacheKey) {
		b.mark()
	}
	return provider.Marshal(b)
}

// reasons are the fields of a model's own that say how hard to think, and the temperature that goes with them.
func reasons(name string, req provider.Request, l wire.Learned) (fields map[string]any, temperature *float64) {
	switch {
	case anthropic.IsClaude(req.Model):
		return anthropic.Reasoning(name, req, l)
	case req.Effort != "" && req.Effort != provider.EffortOff && strings.Contains(req.Model, "gpt-oss") && !l.Without(wire.Effort):
		effort := req.Effort
		if effort == provider.EffortMax {
			effort = provider.EffortHigh
		}
		fields = map[string]any{"reasoning_effort": effort}
	}
	return fields, req.Temperature
}

// caches reports whether a model may take cache points: Claude, and a profile that may lead to it.
func caches(model string) bool {
	return anthropic.IsClaude(model) || strings.Contains(model, "inference-profile")
}

// maxMarks is how many cache points a request may have.
const maxMarks = 4

// mark sets the cache points, see the package anthropic: behind tools and system prompt, and behind the last user messages.
func (b *body) mark() {
	point := &cachePoint{Type: "default"}
	left := maxMarks
	switch {
	case len(b.System) > 0:
		b.System = append(b.System, block{Cache: point})
		left--
	case b.Tools != nil:
		b.Tools.Tools = append(b.Tools.Tools, tool{Cache: point})
		left--
	}
	for i := len(b.Messages) - 1; i >= 0 && left > 0; i-- {
		if m := &b.Messages[i]; m.Role == "user" {
			m.Content = append(m.Content, block{Cache: point})
			left--
		}
	}
}

// history joins neighbours of one role: the roles must take turns.
type history struct {
	ids      wire.IDs
	learned  wire.Learned
	messages []message
}

func (h *history) add(m provider.Message) {
	role, blocks := "user", h.user(m)
	if m.Role == provider.RoleAssistant {
		role, blocks = "assistant", h.assistant(m)
	}
	if len(blocks) == 0 {
		return
	}
	if n := len(h.messages); n > 0 && h.messages[n-1].Role == role {
		last := &h.messages[n-1]
		last.Content = join(last.Content, blocks)
		return
	}
	h.messages = append(h.messages, message{Role: role, Content: blocks})
}

// join appends, but keeps results in front of everything else.
func join(have, more []block) []block {
	at := len(have)
	if more[0].Result != nil {
		for at > 0 && have[at-1].Result == nil {
			at--
		}
	}
	joined := append([]block{}, have[:at]...)
	return append(append(joined, more...), have[at:]...)
}

func (h *history) user(m provider.Message) []block {
	var results, rest []block
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			rest = appendText(rest, p.Text)
		case provider.Image:
			rest = append(rest, imageBlock(p))
		case provider.ToolResult:
			results = append(results, h.result(p))
		}
	}
	return append(results, rest...)
}

func (h *history) assistant(m provider.Message) []block {
	own := h.ids.Own(m)
	var blocks []block
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			blocks = appendText(blocks, p.Text)
		case provider.Reasoning:
			if own && p.Opaque != "" && !h.learned.Forgotten(p.Opaque) {
				blocks = append(blocks, thought(p))
			}
		case provider.ToolCall:
			if m.Partial {
				continue
			}
			input, _ := wire.Object(p.Input)
			blocks = append(blocks, block{Call: &toolUse{ID: h.ids.Call(p.ID, m.Provider),
				Name: provider.ToolName(p.Name, nameLimit), Input: input}})
		}
	}
	return blocks
}

// thought returns reasoning byte for byte.
func thought(r provider.Reasoning) block {
	if r.Form == formRedacted {
		return block{Reasoning: &reasoning{Redacted: r.Opaque}}
	}
	return block{Reasoning: &reasoning{Text: &reasoningText{Text: r.Text, Signature: r.Opaque}}}
}

func (h *history) result(r provider.ToolResult) block {
	content := appendText(nil, r.Text)
	for _, img := range r.Images {
		content = append(content, imageBlock(img))
	}
	if len(content) == 0 {
		content = appendText(content, "(no output)")
	}
	out := &toolResult{ID: h.ids.Result(r.CallID), Content: content}
	if r.IsError {
		out.Status = "error"
	}
	return block{Result: out}
}

// imageBlock is an image, or a word in its place for a format that the API refuses.
func imageBlock(img provider.Image) block {
	switch format := strings.TrimPrefix(img.MediaType, "image/"); format {
	case "jpeg", "png", "gif", "webp":
		b := block{Image: &image{Format: format}}
		b.Image.Source.Bytes = base64.StdEncoding.EncodeToString(img.Data)
		return b
	}
	return block{Text: "(an image of type " + img.MediaType + " was left out: this model takes JPEG, PNG, GIF and WebP)"}
}

// appendText leaves out blank text: the API refuses empty blocks.
func appendText(blocks []block, text string) []block {
	if wire.Blank(text) {
		return blocks
	}
	return append(blocks, block{Text: text})
}
