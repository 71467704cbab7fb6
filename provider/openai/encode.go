package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// body is the request. History comes last, so that a request is a prefix of the next one.
// Only one of the two length fields is set.
type body struct {
	Model               string         `json:"model"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	Usage               *usageOptions  `json:"usage,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	Thinking            *thinking      `json:"thinking,omitempty"`
	Reasoning           *reasoning     `json:"reasoning,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	ParallelToolCalls   *bool          `json:"parallel_tool_calls,omitempty"`
	PromptCacheKey      string         `json:"prompt_cache_key,omitempty"`
	Tools               []wire.Tool    `json:"tools,omitempty"`
	Messages            []message      `json:"messages"`
	// These stand behind the history, which stays a prefix so.
	ToolChoice     string          `json:"tool_choice,omitempty"`
	ResponseFormat *responseFormat `json:"response_format,omitempty"`
	Routing        *routing        `json:"provider,omitempty"`
}

// responseFormat is the form of the answer; the Responses API has the fields of the schema flat.
type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema,omitempty"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// routing has OpenRouter ask only servers that know all fields.
type routing struct {
	RequireParameters bool `json:"require_parameters"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type usageOptions struct {
	Include bool `json:"include"`
}

type thinking struct {
	Type string `json:"type"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Enabled *bool  `json:"enabled,omitempty"`
}

// The longest name of a function, and the longest id that another provider made.
const (
	nameLimit = 64
	idLimit   = 40
)

// encode makes the body of a request as the model was found to take it.
func encode(name string, q Quirks, req provider.Request, l wire.Learned) ([]byte, error) {
	q = q.without(l)
	b := body{Model: req.Model, Stream: true}
	if !l.Without(wire.Temperature) {
		b.Temperature = req.Temperature
	}
	if q.StreamOptions {
		b.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if q.UsageInclude {
		b.Usage = &usageOptions{Include: true}
	}
	if most := l.ReplyTokens(max(0, req.MaxTokens), len(req.Messages)); q.MaxTokensField == maxCompletion {
		b.MaxCompletionTokens = most
	} else {
		b.MaxTokens = most
	}
	if q.PromptCacheKey {
		b.PromptCacheKey = req.SessionID
	}
	b.think(q, req.Effort)
	for _, t := range req.Tools {
		params := wire.Schema(t.Schema)
		if l.Without(wire.RichSchemas) {
			params = wire.Subset(params, true)
		}
		b.Tools = append(b.Tools, wire.NewTool(t, params))
	}
	if req.NoCalls && len(b.Tools) > 0 {
		b.ToolChoice = "none"
	}
	if q.ParallelCalls && len(b.Tools) > 0 {
		b.ParallelToolCalls = new(true)
	}
	if b.ResponseFormat = q.format(req, l); b.ResponseFormat != nil && q.Structure == StructureRouted {
		b.Routing = &routing{RequireParameters: true}
	}
	h := history{
		quirks: q,
		blocks: q.CacheControl && strings.Contains(strings.ToLower(req.Model), "claude"),
		ids:    wire.IDsOf(name, req, idLimit), bridges: l.Without(wire.UserAfterTool),
	}
	if l.Without(wire.LongCallIDs) {
		h.ids.Exact = 9
	}
	h.system(req.System)
	for _, m := range req.Messages {
		h.add(m)
	}
	h.flush()
	if h.blocks {
		mark(h.messages)
	}
	b.Messages = h.messages
	return provider.Marshal(b)
}

// strict are the schemas that OpenAI's own models can be held to.
func strict(schema json.RawMessage) (*jsonSchema, bool) {
	held, ok := wire.Structured(schema, wire.Strictness{Object: true, Required: true, Recursive: true})
	return &jsonSchema{Name: "answer", Schema: held, Strict: true}, ok
}

// format is the form that an answer is held to, or nil.
func (q Quirks) format(req provider.Request, l wire.Learned) *responseFormat {
	if req.Schema == nil || l.Without(wire.Structure) {
		return nil
	}
	form := &responseFormat{Type: "json_schema"}
	switch q.Structure {
	case StructureStrict, StructureRouted:
		var ok bool
		if form.JSONSchema, ok = strict(req.Schema); ok {
			return form
		}
	case StructureLast:
		if len(req.Tools) == 0 || req.NoCalls {
			form.JSONSchema = &jsonSchema{Name: "answer", Schema: req.Schema, Strict: true}
			return form
		}
	}
	return nil
}

// think says how hard to think, in the server's form. An unset effort sends nothing.
func (b *body) think(q Quirks, effort provider.Effort) {
	word := q.EffortWords[effort]
	if effort == "" || word == "" {
		return
	}
	off := effort == provider.EffortOff
	switch q.Effort {
	case EffortField:
		b.ReasoningEffort = word
	case EffortObject:
		b.Reasoning = &reasoning{Effort: word}
		if off {
			b.Reasoning = &reasoning{Enabled: new(false)}
		}
	case EffortThinking:
		b.Thinking = &thinking{Type: "disabled"}
		if !off {
			b.Thinking.Type, b.ReasoningEffort = "enabled", word
		}
	}
}

func dataURL(img provider.Image) string {
	return "data:" + img.MediaType + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
}
