package providertest

import (
	"encoding/json"
	"fmt"
)

type converseBody struct {
	Inference *struct {
		MaxTokens   int      `json:"maxTokens"`
		Temperature *float64 `json:"temperature"`
	} `json:"inferenceConfig"`
	More   json.RawMessage `json:"additionalModelRequestFields"`
	Output *struct {
		Text struct {
			Type      string `json:"type"`
			Structure struct {
				JSON struct {
					Name   string `json:"name"`
					Schema string `json:"schema"`
				} `json:"jsonSchema"`
			} `json:"structure"`
		} `json:"textFormat"`
	} `json:"outputConfig"`
	Tools *struct {
		Tools []struct {
			Spec *struct {
				Name        string  `json:"name"`
				Description *string `json:"description"`
				Schema      struct {
					JSON json.RawMessage `json:"json"`
				} `json:"inputSchema"`
			} `json:"toolSpec"`
			Cache *conversePoint `json:"cachePoint"`
		} `json:"tools"`
	} `json:"toolConfig"`
	System   []conversePart `json:"system"`
	Messages []struct {
		Role    string         `json:"role"`
		Content []conversePart `json:"content"`
	} `json:"messages"`
}

type conversePoint struct {
	Type string `json:"type"`
}

type conversePart struct {
	Text  *string `json:"text"`
	Image *struct {
		Format string `json:"format"`
		Source struct {
			Bytes []byte `json:"bytes"`
		} `json:"source"`
	} `json:"image"`
	Call *struct {
		ID    string          `json:"toolUseId"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"toolUse"`
	Result *struct {
		ID      string         `json:"toolUseId"`
		Content []conversePart `json:"content"`
		Status  string         `json:"status"`
	} `json:"toolResult"`
	Reasoning *struct {
		Text *struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
		} `json:"reasoningText"`
		Redacted []byte `json:"redactedContent"`
	} `json:"reasoningContent"`
	Cache *conversePoint `json:"cachePoint"`
}

func (v *validator) converse(body []byte) {
	var b converseBody
	if err := strictly(body, &b); err != nil {
		v.bad("the body is no Converse request: %w", err)
		return
	}
	marks := 0
	if b.Tools != nil {
		for _, t := range b.Tools.Tools {
			switch {
			case t.Cache != nil:
				marks++
			case t.Spec == nil:
				v.bad("a tool that is neither a tool nor a cache point")
			default:
				v.tool(t.Spec.Name, 64)
				v.object("the schema of "+t.Spec.Name, t.Spec.Schema.JSON)
				if t.Spec.Description != nil {
					v.text("the description of "+t.Spec.Name, *t.Spec.Description)
				}
			}
		}
	}
	for _, c := range b.System {
		marks += v.conversePart("system", c)
	}
	var open []string
	for i, m := range b.Messages {
		what := fmt.Sprintf("message %d", i)
		if want := [2]string{"user", "assistant"}[i%2]; m.Role != want {
			v.bad("%s: role %q, want %q: they take turns", what, m.Role, want)
		}
		if len(m.Content) == 0 || m.Content[0].Cache != nil {
			v.bad("%s: no content", what)
		}
		rest := false
		for _, c := range m.Content {
			marks += v.conversePart(what, c)
			switch {
			case c.Call != nil && m.Role == "assistant":
				if b.Tools == nil {
					v.bad("%s: a call in a request without tools", what)
				}
				v.callID(what, c.Call.ID)
				open = append(open, c.Call.ID)
			case c.Call != nil, c.Result != nil && (m.Role != "user" || rest):
				v.bad("%s: a call of the user's, or a result behind other content", what)
			case c.Result != nil:
				open = v.answered(what, c.Result.ID, open)
			default:
				rest = true
			}
		}
		if m.Role == "user" {
			v.ended(open)
		}
	}
	v.ended(open)
	if marks > 4 {
		v.bad("%d cache points, 4 are taken", marks)
	}
	if n := len(b.Messages); n == 0 || b.Messages[n-1].Role != "user" {
		v.bad("the history does not end with a user message")
	}
}

// conversePart checks a block that has exactly one field, and counts cache points.
func (v *validator) conversePart(what string, c conversePart) (marks int) {
	fields := 0
	if c.Text != nil {
		fields++
		v.text(what, *c.Text)
	}
	if c.Image != nil {
		fields++
		if len(c.Image.Source.Bytes) == 0 || c.Image.Format == "" {
			v.bad("%s: an image without bytes or format", what)
		}
	}
	if c.Call != nil {
		fields++
		v.name(what, c.Call.Name, 64)
		v.object(what+": input", c.Call.Input)
	}
	if r := c.Result; r != nil {
		fields++
		if len(r.Content) == 0 || r.Status != "" && r.Status != "error" && r.Status != "success" {
			v.bad("%s: a result without content, or with the status %q", what, r.Status)
		}
		for _, inner := range r.Content {
			v.conversePart(what, inner)
			if inner.Text == nil && inner.Image == nil {
				v.bad("%s: a result with more than text and images", what)
			}
		}
	}
	if c.Reasoning != nil {
		fields++
		if t := c.Reasoning.Text; (t == nil) == (c.Reasoning.Redacted == nil) || t != nil && t.Signature == "" {
			v.bad("%s: reasoning without a proof", what)
		}
	}
	if c.Cache != nil {
		fields++
		marks++
	}
	if fields != 1 {
		v.bad("%s: a block with %d fields", what, fields)
	}
	return marks
}
