package openai_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/openai"
	"artoo/provider/providertest"
)

func key(context.Context) (string, error) { return "key-0123456789", nil }

// OpenAI's own list is ids only, of everything it sells.
func TestModelsOfOpenAI(t *testing.T) {
	t.Parallel()
	reply := providertest.JSON(200, `{"object":"list","data":[{"id":"gpt-4.1","created":1},{"id":"text-embedding-3-large","created":9},{"id":"gpt-5.5-2026-04-01","created":5},
		{"id":"gpt-image-2"},{"id":"gpt-9-sol","created":7},{"id":"gpt-4o-mini-tts"},{"id":"sora-3"}]}`)
	for _, base := range []string{"/v1", "/v1/responses", "/v1/responses/"} {
		srv := providertest.NewServer(t, reply)
		got, err := (&openai.Responses{Server: provider.Server{Name: "openai", BaseURL: srv.URL + base, Key: key,
			HTTP: srv.HTTP}}).Models(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range got {
			ids = append(ids, m.ID)
		}
		if diff := cmp.Diff([]string{"gpt-9-sol", "gpt-5.5-2026-04-01", "gpt-4.1"}, ids); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", base, diff)
		}
		if got[1].Price == nil || got[1].Context != 1_050_000 || !got[0].Guess || got[1].Guess {
			t.Errorf("facts %+v", got)
		}
		if r := srv.Requests()[0]; r.Method != "GET" || r.Path != "/v1/models" ||
			r.Header.Get("Authorization") != "Bearer key-0123456789" {
			t.Errorf("%s: asked %+v", base, r)
		}
	}
}

// OpenRouter says more than any catalogue: it wins.
func TestModelsOfOpenRouter(t *testing.T) {
	t.Parallel()
	srv := providertest.NewServer(t, providertest.JSON(200, `{"data":[
		{"id":"anthropic/claude-haiku-4.5","name":"Haiku","context_length":123456,"top_provider":{"max_completion_tokens":7777},
		 "pricing":{"prompt":"0.0000011","completion":"0.0000055","input_cache_read":"0.00000011"},
		 "architecture":{"input_modalities":["text"],"output_modalities":["text"]},"supported_parameters":["tools","reasoning"]},
		{"id":"openrouter/none","context_length":2000000,"pricing":{"prompt":"-1","completion":"-1"},"architecture":{"input_modalities":["text","image"]},"supported_parameters":["temperature"]},
		{"id":"openai/gpt-6-sol","pricing":{"prompt":"0.000002","completion":"0.00001","input_cache_read":"0.0000002"}},
		{"id":"some/painter","architecture":{"output_modalities":["image"]}}]}`))
	p := &openai.Chat{Server: provider.Server{Name: "openrouter", BaseURL: srv.URL + "/api/v1", Key: key,
		HTTP: srv.HTTP}, Quirks: openai.QuirksFor("openrouter")}
	got, err := p.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := provider.Source{Name: provider.FromServer}
	tiered, _ := provider.Lookup("openrouter", "openai/gpt-6-sol") // the server tells nothing of its higher price
	want := []provider.ModelInfo{
		{ID: "anthropic/claude-haiku-4.5", Provider: "openrouter", Name: "Haiku", Context: 123_456, MaxOutput: 7777,
			Price: &provider.Price{Input: 1.1, Output: 5.5, CacheRead: 0.11}, Tools: true, Reasoning: true,
			Efforts: []string{"low", "medium", "high"}, ContextFrom: server, PriceFrom: server},
		{ID: "openrouter/none", Provider: "openrouter", Name: "openrouter/none", Context: 2_000_000, MaxOutput: 8192,
			Images: true, ContextFrom: server},
		{ID: "openai/gpt-6-sol", Provider: "openrouter", Name: "OpenAI: GPT-6 Sol", Context: 1_050_000, MaxOutput: 128_000,
			Price:  &provider.Price{Input: 2, Output: 10, CacheRead: 0.2, Tiers: tiered.Price.Tiers},
			Images: true, Tools: true, Reasoning: true, Patches: true, Efforts: tiered.Efforts, ContextFrom: tiered.ContextFrom, PriceFrom: server},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestModelsOfOtherServers(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"vLLM":            `{"data":[{"id":"my-model","max_model_len":4096}]}`,
		"Mistral":         `{"data":[{"id":"my-model","max_context_length":4096,"capabilities":{"vision":false}}]}`,
		"llama.cpp":       `{"models":[{"name":"my-model"}],"data":[{"id":"my-model","owned_by":"llamacpp","meta":{"n_ctx":4096,"n_ctx_train":32768}}]}`,
		"LM Studio":       `{"data":[{"id":"my-model","type":"llm","max_context_length":131072,"loaded_context_length":4096}]}`,
		"Groq":            `{"data":[{"id":"my-model","active":true,"context_window":4096,"max_completion_tokens":4096}]}`,
		"a bare array":    `[{"id":"my-model","context_length":4096,"created":"soon"}]`,
		"blanks in front": "\n\n" + `{"data":[{"id":"my-model","context_length":4096}]}`,
	} {
		srv := providertest.NewServer(t, providertest.JSON(200, body))
		got, err := (&openai.Chat{Server: provider.Server{Name: "compatible", BaseURL: srv.URL + "/v1",
			HTTP: srv.HTTP}}).Models(t.Context())
		if err != nil || len(got) != 1 || got[0].ID != "my-model" || got[0].Context != 4096 ||
			got[0].MaxOutput != 4096 || got[0].Images || got[0].Price != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, reply := range map[string]providertest.Reply{
		"a page":    providertest.Page(200, "Welcome"),
		"no JSON":   providertest.JSON(200, `{"data":`),
		"not there": providertest.Fail(404, "not_found", "no such path"),
		"too much":  providertest.JSON(200, `{"data":[{"id":"`+strings.Repeat("x", 17<<20)+`"}]}`),
	} {
		srv := providertest.NewServer(t, reply)
		list, err := (&openai.Chat{Server: provider.Server{Name: "compatible", BaseURL: srv.URL + "/v1",
			HTTP: srv.HTTP}}).Models(t.Context())
		if e := provider.AsError(err); e == nil || e.Provider != "compatible" || list != nil {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
	if _, err := (&openai.Chat{Server: provider.Server{Name: "compatible"}}).Models(t.Context()); provider.AsError(
		err) == nil || provider.AsError(err).Provider != "compatible" {
		t.Errorf("without an address: %v", err)
	}
}
