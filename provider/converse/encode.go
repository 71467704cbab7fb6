package converse

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/claude"
	"artoo/provider/internal/wire"
)

// body is the request; the address names the model. History comes last, so that a request is a prefix of the next one.
type body struct {
	Inference *inference     `json:"inferenceConfig,omitempty"`
	More      map[string]any `json:"additionalModelRequestFields,omitempty"`
	Output    *outputConfig  `json:"outputConfig,omitempty"`
	Tools     *toolConfig    `json:"toolConfig,omitempty"`
	System    []block        `json:"system,omitempty"`
	Messages  []message      `json:"messages"`
}

type inference struct {
	MaxTokens   int      `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
}

type outputConfig struct {
	Text struct {
		Type      string `json:"type"`
		Structure struct {
			JSON struct {
				Name   string `json:"name"`
				Schema string `json:"schema"` // an object, inside a string
			} `json:"jsonSchema"`
		} `json:"structure"`
	} `json:"textFormat"`
}

// format is the form that an answer is held to, or nil. The API refuses a model that cannot be held; only Claude is
// asked for it, whose limits are known.
func format(req provider.Request, l wire.Learned) *outputConfig {
	if req.Schema == nil || l.Without(wire.Structure) || !claude.Structures(req.Model) {
		return nil
	}
	schema, ok := wire.Structured(req.Schema, wire.Strictness{Object: true})
	if !ok {
		return nil
	}
	var held outputConfig
	held.Text.Type = "json_schema"
	held.Text.Structure.JSON.Name, held.Text.Structure.JSON.Schema = "answer", string(schema)
	return &held
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
	turns := wire.Turns(name, req, l, nameLimit, idLimit, func(r provider.Reasoning) bool { return r.Opaque != "" })
	settings := inference{MaxTokens: l.ReplyTokens(max(0, req.MaxTokens), len(req.Messages))}
	b.More, settings.Temperature = reasons(req, settings.MaxTokens, turns, l)
	b.Output = format(req, l)
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
	for _, t := range turns {
		b.Messages = append(b.Messages, messageOf(t))
	}
	if caches(req.Model) && !l.Without(wire.CacheKey) {
		b.mark()
	}
	return provider.Marshal(b)
}

// reasons are the fields of a model's own that say how hard to think, and the temperature that goes with them.
func reasons(req provider.Request, tokens int, turns []wire.Turn, l wire.Learned) (fields map[string]any, temperature *float64) {
	fields = map[string]any{}
	switch {
	case claude.Is(req.Model):
		if tokens == 0 {
			tokens = claude.MaxTokens
		}
		r := claude.Reason(req, tokens, turns, l)
		if r.Thinking != nil {
			fields["thinking"] = r.Thinking
		}
		if r.Effort != "" {
			fields["output_config"] = map[string]any{"effort": r.Effort}
		}
		if r.Interleaved {
			fields["anthropic_beta"] = []string{claude.InterleavedBeta}
		}
		return fields, r.Temperature
	case req.Effort != "" && req.Effort != provider.EffortOff && strings.Contains(req.Model, "gpt-oss") && !l.Without(wire.Effort):
		effort := req.Effort
		if effort == provider.EffortMax {
			effort = provider.EffortHigh
		}
		fields["reasoning_effort"] = effort
	}
	if l.Without(wire.Temperature) {
		return fields, nil
	}
	return fields, req.Temperature
}

// caches reports whether a model may take cache points: Claude, and a profile that may lead to it.
func caches(model string) bool {
	return claude.Is(model) || strings.Contains(model, "inference-profile")
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

func messageOf(t wire.Turn) message {
	m := message{Role: "user"}
	if t.Model {
		m.Role = "assistant"
	}
	for _, p := range t.Parts {
		switch p := p.(type) {
		case provider.Text:
			m.Content = append(m.Content, block{Text: p.Text})
		case provider.Image:
			m.Content = append(m.Content, imageBlock(p))
		case provider.Reasoning: // byte for byte
			r := &reasoning{Redacted: p.Opaque}
			if p.Form != formRedacted {
				r = &reasoning{Text: &reasoningText{Text: p.Text, Signature: p.Opaque}}
			}
			m.Content = append(m.Content, block{Reasoning: r})
		case provider.ToolCall:
			m.Content = append(m.Content, block{Call: &toolUse{ID: p.ID, Name: p.Name, Input: p.Input}})
		case provider.ToolResult:
			result := &toolResult{ID: p.CallID}
			if p.Text != "" {
				result.Content = append(result.Content, block{Text: p.Text})
			}
			for _, img := range p.Images {
				result.Content = append(result.Content, imageBlock(img))
			}
			if p.IsError {
				result.Status = "error"
			}
			m.Content = append(m.Content, block{Result: result})
		}
	}
	return m
}

// imageBlock is an image, or a word in its place for a format that the API refuses.
func imageBlock(img provider.Image) block {
	if why := wire.LeftOut(img); why != "" {
		return block{Text: why}
	}
	b := block{Image: &image{Format: strings.TrimPrefix(img.MediaType, "image/")}}
	b.Image.Source.Bytes = base64.StdEncoding.EncodeToString(img.Data)
	return b
}
