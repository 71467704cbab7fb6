package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"artoo/provider"
	"artoo/provider/internal/claude"
	"artoo/provider/internal/wire"
)

// body is the request. History comes last, so that a request is a prefix of the next one.
type body struct {
	Version      string           `json:"anthropic_version,omitempty"` // on Vertex, where the address names the model
	Model        string           `json:"model,omitempty"`
	MaxTokens    int              `json:"max_tokens"`
	Stream       bool             `json:"stream"`
	Temperature  *float64         `json:"temperature,omitempty"`
	Thinking     *claude.Thinking `json:"thinking,omitempty"`
	OutputConfig *outputConfig    `json:"output_config,omitempty"`
	Tools        []tool           `json:"tools,omitempty"`
	System       []block          `json:"system,omitempty"`
	Messages     []message        `json:"messages"`
	ToolChoice   *toolChoice      `json:"tool_choice,omitempty"` // behind the history, which stays a prefix so
}

type toolChoice struct {
	Type string `json:"type"`
}

type outputConfig struct {
	Effort provider.Effort `json:"effort,omitempty"`
	Format *outputFormat   `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// format is the form that an answer is held to, or nil.
func format(req provider.Request, l wire.Learned) *outputFormat {
	if req.Schema == nil || l.Without(wire.Structure) || !claude.Structures(req.Model) {
		return nil
	}
	schema, ok := wire.Structured(req.Schema, wire.Strictness{Object: true})
	if !ok {
		return nil
	}
	return &outputFormat{Type: "json_schema", Schema: schema}
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *cacheControl   `json:"cache_control,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is any content block. Cache stands last: a mark changes no bytes before it.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	Source    *source         `json:"source,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []block         `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type cacheControl struct {
	Type string `json:"type"`
}

// The API's limits for names and ids.
const (
	nameLimit = 128
	idLimit   = 64
)

// vertexVersion is the version of the Messages API that Vertex speaks.
const vertexVersion = "vertex-2023-10-16"

// betaHeader names the features beyond the version, with commas between.
const betaHeader = "Anthropic-Beta"

// encode makes the body without fields the model was found not to take, and sets its beta.
func encode(s provider.Server, req provider.Request, l wire.Learned, h http.Header) ([]byte, error) {
	tokens := req.MaxTokens
	if tokens <= 0 {
		tokens = claude.MaxTokens
	}
	b := body{Model: req.Model, MaxTokens: l.ReplyTokens(tokens, len(req.Messages)), Stream: true}
	for _, t := range req.Tools {
		b.Tools = append(b.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: wire.Schema(t.Schema)})
	}
	if !wire.Blank(req.System) {
		b.System = []block{{Type: "text", Text: req.System}}
	}
	turns := wire.Turns(s.Name, req, l, nameLimit, idLimit, func(r provider.Reasoning) bool {
		// Claude refuses a thought without a signature.
		return r.Opaque != "" && (r.Form == formRedacted || r.Form == formThinking) || r.Form == formThinking && !claude.Is(req.Model)
	})
	for _, t := range turns {
		b.Messages = append(b.Messages, messageOf(t))
	}
	if req.NoCalls && len(b.Tools) > 0 {
		b.ToolChoice = &toolChoice{Type: "none"}
	}
	reasoning := claude.Reason(req, b.MaxTokens, turns, l)
	b.Thinking, b.Temperature = reasoning.Thinking, reasoning.Temperature
	if out := (outputConfig{Effort: reasoning.Effort, Format: format(req, l)}); out != (outputConfig{}) {
		b.OutputConfig = &out
	}
	b.mark()
	if reasoning.Interleaved {
		wanted := claude.InterleavedBeta
		if own := h.Get(betaHeader); own != "" {
			wanted = own + "," + wanted
		}
		h.Set(betaHeader, wanted)
	}
	if s.Auth == provider.AuthGoogle {
		b.Version, b.Model = vertexVersion, ""
	}
	return provider.Marshal(b)
}

func messageOf(t wire.Turn) message {
	m := message{Role: "user"}
	if t.Model {
		m.Role = "assistant"
	}
	for _, p := range t.Parts {
		switch p := p.(type) {
		case provider.Text:
			m.Content = append(m.Content, text(p.Text))
		case provider.Image:
			m.Content = append(m.Content, image(p))
		case provider.Reasoning: // byte for byte
			if p.Form == formRedacted {
				m.Content = append(m.Content, block{Type: formRedacted, Data: p.Opaque})
			} else {
				m.Content = append(m.Content, block{Type: formThinking, Thinking: &p.Text, Signature: &p.Opaque})
			}
		case provider.ToolCall:
			m.Content = append(m.Content, block{Type: "tool_use", ID: p.ID, Name: p.Name, Input: p.Input})
		case provider.ToolResult:
			result := block{Type: "tool_result", ToolUseID: p.CallID, IsError: p.IsError}
			if p.Text != "" {
				result.Content = append(result.Content, text(p.Text))
			}
			for _, img := range p.Images {
				result.Content = append(result.Content, image(img))
			}
			m.Content = append(m.Content, result)
		}
	}
	return m
}

func text(s string) block { return block{Type: "text", Text: s} }

// image is an image block, or a word in its place for a format that the API refuses.
func image(img provider.Image) block {
	if why := wire.LeftOut(img); why != "" {
		return text(why)
	}
	return block{Type: "image", Source: &source{Type: "base64", MediaType: img.MediaType,
		Data: base64.StdEncoding.EncodeToString(img.Data)}}
}

// maxMarks is how many cache breakpoints the Messages API takes in one request.
const maxMarks = 4

// mark sets the cache breakpoints: one behind tools and system prompt, the others behind
// the last user messages. The last writes the cache that the next request reads; the one before is
// where the previous request wrote: the API looks back only 20 blocks.
func (b *body) mark() {
	ephemeral := &cacheControl{Type: "ephemeral"}
	left := maxMarks
	switch {
	case len(b.System) > 0:
		b.System[len(b.System)-1].Cache = ephemeral
		left--
	case len(b.Tools) > 0:
		b.Tools[len(b.Tools)-1].Cache = ephemeral
		left--
	}
	for i := len(b.Messages) - 1; i >= 0 && left > 0; i-- {
		if m := b.Messages[i]; m.Role == "user" {
			m.Content[len(m.Content)-1].Cache = ephemeral
			left--
		}
	}
}
