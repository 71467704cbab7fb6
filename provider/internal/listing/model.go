// Package listing reads the lists of models that servers give at /models, and
// the facts that llama.cpp and LM Studio add, for the wires those servers speak.
package listing

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// Model is an entry of GET /models: OpenAI tells the ID, the other fields are those of
// OpenRouter, vLLM, Mistral, llama.cpp, LM Studio and Anthropic.
type Model struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Title      string  `json:"display_name"` // Anthropic
	Created    float64 `json:"created"`
	Window     int     `json:"context_length"`
	GroqWindow int     `json:"context_window"`
	Output     int     `json:"max_completion_tokens"` // Groq
	ModelLen   int     `json:"max_model_len"`         // vLLM
	MaxContext int     `json:"max_context_length"`    // Mistral; LM Studio's is the model's maximum
	Loaded     int     `json:"loaded_context_length"`
	Input      int     `json:"max_input_tokens"` // Anthropic
	Reply      int     `json:"max_tokens"`       // too
	Type       string  `json:"type"`             // LM Studio: llm, vlm, embeddings
	OwnedBy    string  `json:"owned_by"`
	Meta       struct {
		Window int `json:"n_ctx"` // the window set in llama.cpp
	} `json:"meta"`
	TopProvider struct {
		Output int `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Pricing *struct { // US dollars per token, as text
		Prompt     string `json:"prompt"`
		Completion string `json:"completion"`
		CacheRead  string `json:"input_cache_read"`
		CacheWrite string `json:"input_cache_write"`
	} `json:"pricing"`
	Architecture struct {
		Input  []string `json:"input_modalities"`
		Output []string `json:"output_modalities"`
	} `json:"architecture"`
	Parameters   []string `json:"supported_parameters"`
	Capabilities struct {
		Vision *bool `json:"vision"`
		// Anthropic's:
		Images   *capability `json:"image_input"`
		Thinking *capability `json:"thinking"`
		Effort   *struct {
			Low, Medium, High, XHigh, Max capability
		} `json:"effort"`
	} `json:"capabilities"`
}

type capability struct {
	Supported bool `json:"supported"`
}

// Page is an answer, or with Anthropic one of several.
type Page struct {
	Data    []Model `json:"data"`
	HasMore bool    `json:"has_more"`
	LastID  string  `json:"last_id"`
}

// Fetch asks for the list, the newest models first.
func (s Source) Fetch(ctx context.Context) ([]Model, error) {
	s.RequestTimeout = provider.ListTimeout
	r, err := s.Ask(ctx, s.Base, s.Models...)
	if err != nil {
		return nil, err
	}
	return fetch(ctx, s.Server, r)
}

func fetch(ctx context.Context, s provider.Server, r wire.Request) ([]Model, error) {
	data, err := wire.Fetch(ctx, s, r)
	if err != nil {
		return nil, err
	}
	var answer Page
	into := any(&answer)
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '[' { // Together
		into = &answer.Data
	}
	if err := wire.DecodeList(s, data, into); err != nil {
		return nil, err
	}
	slices.SortStableFunc(answer.Data, func(a, b Model) int { return int(min(max(b.Created-a.Created, -1), 1)) })
	return slices.DeleteFunc(answer.Data, func(m Model) bool { return m.ID == "" }), nil
}

// Info is the server's facts, over those of the catalogue.
func (m Model) Info(s provider.Server) provider.ModelInfo {
	info, _ := s.Catalog.Lookup(s.Name, m.ID)
	said := provider.Source{Name: provider.FromServer}
	info.Name = cmp.Or(m.Title, m.Name, info.Name)
	if window := m.Context(); window > 0 {
		info.Context, info.ContextFrom, info.Guess = window, said, false
		info.MaxOutput = min(info.MaxOutput, window)
	}
	if n := wire.Count(max(m.TopProvider.Output, m.Output, m.Reply)); n > 0 {
		info.MaxOutput = n
	}
	if m.Pricing != nil {
		known := info.Price
		info.Price, info.PriceFrom = m.price(), said
		switch {
		case info.Price == nil:
			info.PriceFrom = provider.Source{}
		case known != nil && known.Input == info.Price.Input && known.Output == info.Price.Output:
			info.Price.Tiers = known.Tiers // lists of servers have none
		}
	}
	if in := m.Architecture.Input; len(in) > 0 {
		info.Images = slices.Contains(in, "image")
	}
	c := m.Capabilities
	if c.Vision != nil {
		info.Images = *c.Vision
	}
	if c.Images != nil {
		info.Images = c.Images.Supported
	}
	if c.Thinking != nil {
		info.Reasoning = c.Thinking.Supported
	}
	if e := c.Effort; e != nil {
		info.Efforts = nil
		for i, level := range []capability{e.Low, e.Medium, e.High, e.XHigh, e.Max} {
			if level.Supported {
				info.Efforts = append(info.Efforts, [...]string{"low", "medium", "high", "xhigh", "max"}[i])
			}
		}
	}
	if m.Type == "llm" || m.Type == "vlm" {
		info.Images = m.Type == "vlm"
	}
	if p := m.Parameters; len(p) > 0 {
		info.Tools = slices.Contains(p, "tools")
		info.Reasoning = slices.Contains(p, "reasoning") || slices.Contains(p, "include_reasoning")
	}
	return info
}

// Context is the window that the server gives the model, or 0.
func (m Model) Context() int {
	if m.Loaded > 0 {
		return wire.Count(m.Loaded)
	}
	return wire.Count(max(m.Window, m.GroqWindow, m.ModelLen, m.MaxContext, m.Meta.Window, m.Input))
}

// price is nil where it is not fixed, which -1 means, or not told.
func (m Model) price() *provider.Price {
	perMillion := func(text string) float64 {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f < 0 {
			return -1
		}
		return math.Round(f*1e12) / 1e6 // drops the error of a binary fraction
	}
	p := provider.Price{Input: perMillion(m.Pricing.Prompt), Output: perMillion(m.Pricing.Completion)}
	if p.Input < 0 || p.Output < 0 {
		return nil
	}
	p.CacheRead, p.CacheWrite = max(0, perMillion(m.Pricing.CacheRead)), max(0, perMillion(m.Pricing.CacheWrite))
	return &p
}
