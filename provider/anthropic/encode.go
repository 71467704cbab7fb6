package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// body is the request. History comes last, so that a request is a prefix of the next one.
type body struct {
	Version      string        `json:"anthropic_version,omitempty"` // on Vertex, where the address names the model
	Model        string        `json:"model,omitempty"`
	MaxTokens    int           `json:"max_tokens"`
	Stream       bool          `json:"stream"`
	Temperature  *float64      `json:"temperature,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Tools        []tool        `json:"tools,omitempty"`
	System       []block       `json:"system,omitempty"`
	Messages     []message     `json:"messages"`
	ToolChoice   *toolChoice   `json:"tool_choice,omitempty"` // behind the history, which stays a prefix so
}

type toolChoice struct {
	Type string `json:"type"`
}

type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// format is the form that an answer is held to, or nil. Only Claude is known to be held: other servers may
// drop the field without a word.
func format(req provider.Request, l wire.Learned) *outputFormat {
	f := parseFamily(req.Model)
	if req.Schema == nil || l.Without(wire.Structure) || !f.claude || f.major > 0 && f.major < 4 {
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

// The API's limits for names and ids, and the reply's length where the caller sets none.
const (
	nameLimit        = 128
	idLimit          = 64
	defaultMaxTokens = 8192
)

// vertexVersion is the version of the Messages API that Vertex speaks.
const vertexVersion = "vertex-2023-10-16"

// betaHeader names the features beyond the version, with commas between.
const betaHeader = "Anthropic-Beta"

// encode makes the body without fields the model was found not to take, and sets its beta.
func encode(s provider.Server, req provider.Request, l wire.Learned, h http.Header) ([]byte, error) {
	b := fill(s.Name, req, l)
	if b.interleaves(l) {
		wanted := interleavedBeta
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

// Reasoning are the fields by which a model of Anthropic's is told how hard to think, for a server that passes them on;
// nil where there is nothing to tell. temperature is the request's, or nil where the model takes none.
func Reasoning(name string, req provider.Request, l wire.Learned) (fields map[string]any, temperature *float64) {
	req.Schema = nil
	b := fill(name, req, l)
	fields = map[string]any{}
	if b.Thinking != nil {
		fields["thinking"] = b.Thinking
	}
	if b.OutputConfig != nil {
		fields["output_config"] = b.OutputConfig
	}
	if b.interleaves(l) {
		fields["anthropic_beta"] = []string{interleavedBeta}
	}
	if len(fields) == 0 {
		fields = nil
	}
	return fields, b.Temperature
}

// IsClaude reports whether a model is one of Anthropic's.
func IsClaude(model string) bool { return isClaude(model) }

func fill(name string, req provider.Request, l wire.Learned) body {
	if req.MaxTokens <= 0 {
		req.MaxTokens = defaultMaxTokens
	}
	b := body{Model: req.Model, MaxTokens: l.ReplyTokens(req.MaxTokens, len(req.Messages)), Stream: true}
	if !l.Without(wire.Temperature) {
		b.Temperature = req.Temperature
	}
	for _, t := range req.Tools {
		b.Tools = append(b.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: wire.Schema(t.Schema)})
	}
	if !wire.Blank(req.System) {
		b.System = []block{{Type: "text", Text: req.System}}
	}
	h := history{model: req.Model, ids: wire.IDsOf(name, req, idLimit), learned: l}
	for _, m := range req.Messages {
		h.add(m)
	}
	b.Messages = h.messages
	if req.NoCalls && len(b.Tools) > 0 {
		b.ToolChoice = &toolChoice{Type: "none"}
	}
	b.think(req.Effort, h.messages, l)
	if held := format(req, l); held != nil {
		if b.OutputConfig == nil {
			b.OutputConfig = &outputConfig{}
		}
		b.OutputConfig.Format = held
	}
	b.mark()
	return b
}

// history joins neighbours of one role: the roles must take turns.
type history struct {
	model    string
	ids      wire.IDs
	learned  wire.Learned
	messages []message
}

func (h *history) add(m provider.Message) {
	var blocks []block
	role := "user"
	switch m.Role {
	case provider.RoleAssistant:
		role = "assistant"
		blocks = h.assistant(m)
	default:
		blocks = h.user(m)
	}
	if len(blocks) == 0 {
		return
	}
	if n := len(h.messages); n > 0 && h.messages[n-1].Role == role {
		last := &h.messages[n-1]
		last.Content = joinBlocks(last.Content, blocks)
		return
	}
	h.messages = append(h.messages, message{Role: role, Content: blocks})
}

// joinBlocks appends, but keeps tool results in front of everything else, as the API wants.
func joinBlocks(have, more []block) []block {
	at := len(have)
	if more[0].Type == "tool_result" {
		for at > 0 && have[at-1].Type != "tool_result" {
			at--
		}
	}
	joined := append([]block{}, have[:at]...)
	joined = append(joined, more...)
	return append(joined, have[at:]...)
}

func (h *history) user(m provider.Message) []block {
	var results, rest []block
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			rest = appendText(rest, p.Text)
		case provider.Image:
			rest = append(rest, image(p))
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
			if own && !h.learned.Forgotten(p.Opaque) {
				blocks = appendReasoning(blocks, p, h.model)
			}
		case provider.ToolCall:
			if m.Partial {
				continue
			}
			input, _ := wire.Object(p.Input)
			blocks = append(blocks, block{Type: "tool_use", ID: h.ids.Call(p.ID, m.Provider),
				Name: provider.ToolName(p.Name, nameLimit), Input: input})
		}
	}
	return blocks
}

// appendReasoning returns reasoning byte for byte. Claude refuses a thought without a signature.
func appendReasoning(blocks []block, r provider.Reasoning, model string) []block {
	switch {
	case r.Form == formRedacted && r.Opaque != "":
		return append(blocks, block{Type: formRedacted, Data: r.Opaque})
	case r.Form == formThinking && (r.Opaque != "" || !isClaude(model)):
		return append(blocks, block{Type: formThinking, Thinking: &r.Text, Signature: &r.Opaque})
	}
	return blocks
}

func (h *history) result(r provider.ToolResult) block {
	var content []block
	content = appendText(content, r.Text)
	for _, img := range r.Images {
		content = append(content, image(img))
	}
	if len(content) == 0 {
		content = appendText(content, "(no output)")
	}
	return block{Type: "tool_result", ToolUseID: h.ids.Result(r.CallID), Content: content, IsError: r.IsError}
}

// image is an image block, or a word in its place for a format that the API refuses.
func image(img provider.Image) block {
	switch img.MediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return block{Type: "image", Source: &source{Type: "base64", MediaType: img.MediaType,
			Data: base64.StdEncoding.EncodeToString(img.Data)}}
	}
	return block{Type: "text", Text: "(an image of type " + img.MediaType +
		" was left out: this model takes JPEG, PNG, GIF and WebP)"}
}

// appendText leaves out blank text: the API refuses empty text blocks.
func appendText(blocks []block, text string) []block {
	if wire.Blank(text) {
		return blocks
	}
	return append(blocks, block{Type: "text", Text: text})
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
