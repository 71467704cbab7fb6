package openai

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

// Responses asks OpenAI's models through the Responses API. Nothing is stored at the
// server: each request has the whole history. Its fields must not change once it is in use;
// several goroutines may use it; it must not be copied.
type Responses struct {
	provider.Server // BaseURL up to /v1, or /responses behind it

	learned wire.Memory
	facts   listing.Facts
}

var _ provider.Structurer = (*Responses)(nil)

// SpeaksResponses reports whether the server at address speaks the Responses API: OpenAI
// itself, also for "", and any address that ends in /responses.
func SpeaksResponses(address string) bool {
	if address == "" {
		return true
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") || // the latter are its regions
		strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/responses")
}

// Structures implements provider.Structurer.
func (p *Responses) Structures(req provider.Request) bool {
	return textFormat(req, p.learned.Of(req.Model)) != nil
}

// textFormat is the form that an answer is held to, or nil.
func textFormat(req provider.Request, l wire.Learned) *responsesText {
	if req.Schema == nil || l.Without(wire.Structure) {
		return nil
	}
	schema, ok := strict(req.Schema)
	if !ok {
		return nil
	}
	return &responsesText{responsesFormat{"json_schema", schema}}
}

// Stream implements provider.Provider.
func (p *Responses) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return wire.RetryAdapted(ctx, wire.Exchange{
		Endpoint: wire.Endpoint{Server: p.Server}, API: wire.Responses, Request: req, Memory: &p.learned,
		Prepare: func(ctx context.Context) (wire.Request, error) {
			return wire.Ask(ctx, p.Server, p.Base(), provider.AuthBearer, "responses")
		},
		Encode: func(l wire.Learned, _ http.Header) ([]byte, error) { return encodeResponses(p.Name, req, l) },
		Decoder: func() wire.Decoder {
			return &responsesDecoder{Reply: wire.ReplyTo(p.Name, req), most: outputTokens(req)}
		},
	})
}

// responsesBody is the request. Input comes last, so that a request is a prefix of the next
// one.
type responsesBody struct {
	Model             string              `json:"model"`
	Stream            bool                `json:"stream"`
	Store             bool                `json:"store"` // false, and said so: the server's default is true
	Include           []string            `json:"include,omitempty"`
	MaxOutputTokens   int                 `json:"max_output_tokens,omitempty"`
	Temperature       *float64            `json:"temperature,omitempty"`
	Reasoning         *responsesReasoning `json:"reasoning,omitempty"`
	ParallelToolCalls *bool               `json:"parallel_tool_calls,omitempty"`
	PromptCacheKey    string              `json:"prompt_cache_key,omitempty"`
	Tools             []responsesTool     `json:"tools,omitempty"`
	Instructions      string              `json:"instructions,omitempty"`
	Input             []json.RawMessage   `json:"input"`
	// These stand behind the history, which stays a prefix so.
	ToolChoice string         `json:"tool_choice,omitempty"`
	Text       *responsesText `json:"text,omitempty"`
}

type responsesText struct {
	Format responsesFormat `json:"format"`
}

type responsesFormat struct {
	Type string `json:"type"`
	*jsonSchema
}

type responsesReasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// responsesTool is flat. Strict is sent though false: the default would rewrite the schema.
type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// The shortest reply that may be asked for, the longest id and the longest cache key.
const (
	minOutputTokens  = 16
	responsesIDLimit = 64
	cacheKeyLimit    = 64
)

const includeEncrypted = "reasoning.encrypted_content"

// encodeResponses makes the body of a request without fields the server is known to refuse.
func encodeResponses(name string, req provider.Request, l wire.Learned) ([]byte, error) {
	b := responsesBody{Model: req.Model, Stream: true, Instructions: req.System, PromptCacheKey: req.SessionID}
	if wire.Blank(req.System) {
		b.Instructions = ""
	}
	if len(b.PromptCacheKey) > cacheKeyLimit {
		b.PromptCacheKey = ""
	}
	b.MaxOutputTokens = outputTokens(req)
	b.think(req, l)
	for _, t := range req.Tools {
		b.Tools = append(b.Tools, responsesTool{Type: "function", Name: t.Name, Description: t.Description,
			Parameters: parameters(t.Schema)})
	}
	if req.NoCalls && len(b.Tools) > 0 {
		b.ToolChoice = "none"
	}
	if len(b.Tools) > 0 {
		b.ParallelToolCalls = new(true)
	}
	h := responsesHistory{learned: l, ids: wire.IDsOf(name, req, responsesIDLimit), used: map[string]bool{}}
	for _, m := range req.Messages {
		if err := h.add(m); err != nil {
			return nil, err
		}
	}
	b.Input, b.Text = h.input, textFormat(req, l)
	return provider.Marshal(b)
}

// parameters is a tool's schema as the API takes it: an object at the root without
// alternatives, and arrays with items. One bad schema would refuse every request. A good one
// stays byte for byte.
func parameters(schema json.RawMessage) json.RawMessage {
	schema = wire.Schema(schema)
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil || root["type"] != "object" || !haveItems(root) {
		return wire.Subset(schema, true)
	}
	_, properties := root["properties"].(map[string]any)
	for _, word := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
		_, there := root[word]
		properties = properties && !there
	}
	if !properties {
		return wire.Subset(schema, true)
	}
	return schema
}

// haveItems reports whether each schema of an array in v has one of its items.
func haveItems(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		kinds, _ := v["type"].([]any)
		if isArray := v["type"] == "array" || slices.Contains(kinds, any("array")); isArray && v["items"] == nil {
			return false
		}
		for _, inner := range v {
			if !haveItems(inner) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(inner any) bool { return !haveItems(inner) })
	}
	return true
}

// outputTokens is how long a reply is asked for, 0 for no limit.
func outputTokens(req provider.Request) int {
	if req.MaxTokens <= 0 {
		return 0
	}
	return max(req.MaxTokens, minOutputTokens)
}

// think sets the effort of thinking and the reasoning to send back. An unset effort sends none.
func (b *responsesBody) think(req provider.Request, l wire.Learned) {
	f := familyOf(req.Model)
	var r responsesReasoning
	if !l.Without(wire.Effort) {
		r.Effort = f.effort(req.Effort)
	}
	if f.reasons && r.Effort != "none" && !l.Without(wire.Summary) {
		r.Summary = "auto"
	}
	if r != (responsesReasoning{}) {
		b.Reasoning = &r
	}
	if (f.reasons || !f.known) && !l.Without(wire.EncryptedReasoning) {
		b.Include = []string{includeEncrypted}
	}
	if !l.Without(wire.Temperature) && f.takesTemperature(r.Effort) {
		b.Temperature = req.Temperature
	}
}

// modelFamily holds the fields that requests to a family of OpenAI's models may have; others get a 400.
type modelFamily struct {
	reasons bool // takes an effort, a summary and the encrypted reasoning
	known   bool // the family is in the table; else the least is assumed that any takes
	off     string
	low     string
	highest string
}

// familyOf reads a model's ID. An unknown gpt- is like the newest.
func familyOf(model string) modelFamily {
	id := strings.TrimPrefix(strings.ToLower(model), "ft:")
	id = id[strings.LastIndexByte(id, '/')+1:]
	isO := len(id) > 1 && id[0] == 'o' && id[1] >= '1' && id[1] <= '9'
	rest, isGPT := strings.CutPrefix(id, "gpt-")
	codex := strings.Contains(id, "codex")
	newest := modelFamily{reasons: true, known: true, off: "none", low: "low", highest: "xhigh"}
	switch {
	case isO, strings.HasPrefix(id, "codex-"), strings.HasPrefix(rest, "oss"):
		return modelFamily{reasons: true, known: true, off: "low", low: "low", highest: "high"}
	case strings.HasPrefix(id, "chatgpt-"), isGPT && (strings.HasPrefix(rest, "3") || strings.HasPrefix(rest, "4")),
		isGPT && strings.Contains(rest, "-chat"):
		return modelFamily{known: true}
	case !isGPT:
		return modelFamily{off: "none", low: "low", highest: "xhigh"}
	case rest == "5-pro" || strings.HasPrefix(rest, "5-pro-"):
		return modelFamily{reasons: true, known: true, off: "high", low: "high", highest: "high"}
	case rest == "5" || strings.HasPrefix(rest, "5-"):
		newest.off, newest.highest = "minimal", "high"
	case strings.HasPrefix(rest, "5.1") && !strings.Contains(rest, "codex-max"):
		newest.highest = "high"
	case strings.Contains(rest, "-pro"):
		newest.off, newest.low = "medium", "medium"
	}
	if codex {
		newest.off = "low"
	}
	return newest
}

// effort is the family's word for an effort, "" where none is sent.
func (f modelFamily) effort(e provider.Effort) string {
	if f.known && !f.reasons {
		return ""
	}
	switch e {
	case provider.EffortOff:
		return f.off
	case provider.EffortLow:
		return f.low
	case provider.EffortMedium:
		if f.low == "high" {
			return f.low // a family that knows no other
		}
		return "medium"
	case provider.EffortHigh:
		return "high"
	case provider.EffortMax:
		return f.highest
	}
	return ""
}

// takesTemperature reports whether a request with this effort may set a temperature.
func (f modelFamily) takesTemperature(effort string) bool {
	return !f.reasons || effort == "none"
}
