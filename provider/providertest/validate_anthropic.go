package providertest

import (
	"encoding/json"
	"fmt"
	"slices"
)

type anthropicBody struct {
	Model       string   `json:"model"`
	MaxTokens   int      `json:"max_tokens"`
	Stream      bool     `json:"stream"`
	Temperature *float64 `json:"temperature"`
	Thinking    *struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	OutputConfig struct {
		Effort string `json:"effort"`
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	Tools []struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"input_schema"`
		Cache       json.RawMessage `json:"cache_control"`
	} `json:"tools"`
	System   []anthropicContent `json:"system"`
	Messages []struct {
		Role    string             `json:"role"`
		Content []anthropicContent `json:"content"`
	} `json:"messages"`
}

type anthropicContent struct {
	Type      string             `json:"type"`
	Text      string             `json:"text"`
	Thinking  *string            `json:"thinking"`
	Signature *string            `json:"signature"`
	Data      string             `json:"data"`
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Input     json.RawMessage    `json:"input"`
	ToolUseID string             `json:"tool_use_id"`
	Content   []anthropicContent `json:"content"`
	Source    *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"`
	} `json:"source"`
	Cache json.RawMessage `json:"cache_control"`
}

func (v *validator) anthropic(body []byte) {
	var b anthropicBody
	if err := json.Unmarshal(body, &b); err != nil {
		v.bad("the body is no Messages request: %w", err)
		return
	}
	v.anthropicHead(b)
	marks := 0
	count := func(c json.RawMessage) {
		if c != nil {
			marks++
		}
	}
	for _, t := range b.Tools {
		count(t.Cache)
	}
	for _, c := range b.System {
		v.text("system", c.Text)
		count(c.Cache)
	}
	var open []string // calls of the message before
	for i, m := range b.Messages {
		want := "user"
		if i%2 == 1 {
			want = "assistant"
		}
		what := fmt.Sprintf("message %d", i)
		if m.Role != want {
			v.bad("%s: role %q, want %q: they take turns", what, m.Role, want)
		}
		if len(m.Content) == 0 {
			v.bad("%s: no content", what)
		}
		for _, c := range m.Content {
			count(c.Cache)
		}
		open = v.anthropicMessage(what, m.Role, m.Content, open)
	}
	v.ended(open)
	v.anthropicLoop(b)
	if marks > 4 {
		v.bad("%d cache marks, 4 are taken", marks)
	}
	if n := len(b.Messages); n == 0 || b.Messages[n-1].Role != "user" {
		v.bad("the history does not end with a user message")
	}
}

func (v *validator) anthropicHead(b anthropicBody) {
	if b.Model == "" || b.MaxTokens < 1 || !b.Stream {
		v.bad("model %q, max_tokens %d, stream %v: all three are needed", b.Model, b.MaxTokens, b.Stream)
	}
	if th := b.Thinking; th != nil && th.Type == "enabled" && (th.Budget < 1024 || th.Budget >= b.MaxTokens) {
		v.bad("a thinking budget of %d with max_tokens %d", th.Budget, b.MaxTokens)
	}
	if b.Thinking != nil && b.Thinking.Type != "disabled" && b.Temperature != nil {
		v.bad("thinking together with a temperature")
	}
	if f := b.OutputConfig.Format; f != nil {
		v.structured(f.Type, f.Schema, strictness{object: true})
	}
	for _, t := range b.Tools {
		v.tool(t.Name, 128)
		v.object("the schema of "+t.Name, t.InputSchema)
	}
}

// anthropicLoop checks that the tool loop in which the history ends began with a
// thought, where reasoning is asked for.
func (v *validator) anthropicLoop(b anthropicBody) {
	if b.Thinking == nil || b.Thinking.Type != "enabled" {
		return
	}
	begin := ""
	for i := len(b.Messages) - 1; i >= 1; i -= 2 {
		asked, got := b.Messages[i-1].Content, b.Messages[i].Content
		spoke := func(c anthropicContent) bool { return c.Type != "tool_result" }
		if len(asked) == 0 || len(got) == 0 || spoke(got[0]) || i < len(b.Messages)-1 && slices.ContainsFunc(got, spoke) {
			break // the user spoke: the loop began after it
		}
		begin = asked[0].Type
	}
	if begin != "" && begin != "thinking" && begin != "redacted_thinking" {
		v.bad(
			"expected `thinking` or `redacted_thinking`, but found `%s`: when thinking is enabled, a loop must start with it", begin)
	}
}

// anthropicMessage checks one message against the calls the one before it left
// open, and returns the calls it leaves open itself.
func (v *validator) anthropicMessage(what, role string, content []anthropicContent, open []string) []string {
	var calls []string
	results := true // only results so far
	for i, c := range content {
		at := fmt.Sprintf("%s block %d (%s)", what, i, c.Type)
		switch {
		case c.Type == "text":
			v.text(at, c.Text)
			results = false
		case c.Type == "image" && role == "user":
			v.anthropicImage(at, c)
			results = false
		case c.Type == "tool_result" && role == "user":
			if !results {
				v.bad("%s: a result after something else", at)
			}
			n := slices.Index(open, c.ToolUseID)
			if n < 0 {
				v.bad("%s: answers no call of the message before: %q", at, c.ToolUseID)
			} else {
				open = slices.Delete(slices.Clone(open), n, n+1)
			}
			v.anthropicResult(at, c)
		case c.Type == "tool_use" && role == "assistant":
			v.callID(at, c.ID)
			v.name(at, c.Name, 128)
			v.object(at+" input", c.Input)
			calls = append(calls, c.ID)
		case c.Type == "thinking" && role == "assistant":
			if c.Thinking == nil || c.Signature == nil || c.Cache != nil {
				v.bad("%s: needs thinking and signature, takes no cache mark", at)
			}
		case c.Type == "redacted_thinking" && role == "assistant":
			if c.Data == "" || c.Cache != nil {
				v.bad("%s: needs data, takes no cache mark", at)
			}
		default:
			v.bad("%s: not allowed in a %s message", at, role)
		}
	}
	if role == "user" && len(open) > 0 {
		v.bad("%s: calls without a result: %q", what, open)
	}
	return calls
}

func (v *validator) anthropicResult(at string, c anthropicContent) {
	for _, inner := range c.Content {
		switch inner.Type {
		case "text":
			v.text(at, inner.Text)
		case "image":
			v.anthropicImage(at, inner)
		default:
			v.bad("%s: holds a %s", at, inner.Type)
		}
	}
}

func (v *validator) anthropicImage(at string, c anthropicContent) {
	if c.Source == nil || c.Source.Type != "base64" || len(c.Source.Data) == 0 ||
		!slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, c.Source.MediaType) {
		v.bad("%s: not a base64 image of a type that is taken", at)
	}
}
