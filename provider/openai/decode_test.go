package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/openai"
	"artoo/provider/providertest"
)

func ask(t *testing.T, name string, reply providertest.Reply) providertest.Result {
	t.Helper()
	s := providertest.NewServer(t, reply)
	p := &openai.Chat{Server: provider.Server{Name: name, BaseURL: s.URL + "/v1", HTTP: s.HTTP},
		Quirks: openai.QuirksFor(name)}
	r := providertest.Collect(p.Stream(t.Context(),
		provider.Request{Options: provider.Options{Model: "m"}, Messages: []provider.Message{provider.UserText("hi")}}))
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	return r
}

// stream makes a reply of deltas; a string that begins with "{" is the delta of
// the only choice, "!" before it a whole chunk.
func stream(deltas ...string) providertest.Reply {
	var b strings.Builder
	for _, d := range deltas {
		if whole, ok := strings.CutPrefix(d, "!"); ok {
			b.WriteString("data: " + whole + "\n\n")
			continue
		}
		b.WriteString(`data: {"choices":[{"index":0,"delta":` + d + `}]}` + "\n\n")
	}
	return providertest.Stream(b.String())
}

const (
	done  = `![DONE]`
	stop  = `!{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	noEnd = ""
)

func calls(fragments string) string { return `{"tool_calls":[` + fragments + `]}` }

func call(id, input string) provider.ToolCall {
	return provider.ToolCall{ID: id, Name: "read", Input: json.RawMessage(input)}
}

func TestCallsAreToldApart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		deltas []string
		want   []provider.ToolCall
	}{
		{"one index, different ids", []string{
			calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}`),
			calls(`{"index":0,"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}`)},
			[]provider.ToolCall{call("a", `{"n":1}`), call("b", `{"n":2}`)}},
		{"one index, ids that take turns", []string{
			calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\""}}`),
			calls(`{"index":0,"id":"b","function":{"name":"read","arguments":"{\"n\""}}`),
			calls(`{"index":0,"id":"a","function":{"arguments":":1}"}}`),
			calls(`{"index":0,"id":"b","function":{"arguments":":2}"}}`)},
			[]provider.ToolCall{call("a", `{"n":1}`), call("b", `{"n":2}`)}},
		{"one index, no ids", []string{
			calls(`{"index":0,"function":{"name":"read","arguments":"{\"n\":1}"}}`),
			calls(`{"index":0,"function":{"name":"read","arguments":"{\"n\":2}"}}`)},
			[]provider.ToolCall{call("call_1", `{"n":1}`), call("call_2", `{"n":2}`)}},
		{"neither index nor id", []string{
			calls(
				`{"function":{"name":"read","arguments":"{\"n\":1}"}},{"function":{"name":"read","arguments":"{\"n\":2}"}}`)},
			[]provider.ToolCall{call("call_1", `{"n":1}`), call("call_2", `{"n":2}`)}},
		{"no index, with ids", []string{
			calls(`{"id":"a","function":{"name":"read","arguments":""}}`), calls(`{"function":{"arguments":"{\"n\":1}"}}`),
			calls(`{"id":"b","function":{"name":"read","arguments":"{}"}}`)},
			[]provider.ToolCall{call("a", `{"n":1}`), call("b", `{}`)}},
		{"same id for all", []string{
			calls(`{"index":0,"id":"read","function":{"name":"read","arguments":"{\"n\":1}"}}`),
			calls(`{"index":1,"id":"read","function":{"name":"read","arguments":"{\"n\":2}"}}`)},
			[]provider.ToolCall{call("read", `{"n":1}`), call("call_1", `{"n":2}`)}},
		{"interleaved by index", []string{
			calls(
				`{"index":0,"id":"a","function":{"name":"read","arguments":""}},{"index":1,"id":"b","function":{"name":"read","arguments":""}}`),
			calls(`{"index":1,"function":{"arguments":"{\"n\":2}"}}`),
			calls(`{"index":0,"function":{"arguments":"{\"n\":1}"}}`)},
			[]provider.ToolCall{call("a", `{"n":1}`), call("b", `{"n":2}`)}},
		{"id and name in every fragment", []string{
			calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\""}}`),
			calls(`{"index":0,"id":"a","function":{"name":"read","arguments":":1"}}`),
			calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"}"}}`)},
			[]provider.ToolCall{call("a", `{"n":1}`)}},
		{"the id comes late", []string{
			calls(`{"index":0,"function":{"name":"read","arguments":""}}`),
			calls(`{"index":0,"id":"a","function":{"arguments":"{}"}}`)},
			[]provider.ToolCall{call("a", `{}`)}},
		{"a valid beginning", []string{
			calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}`),
			calls(`{"index":0,"function":{"arguments":"  "}}`)},
			[]provider.ToolCall{call("a", `{"n":1}`)}},
		{"arguments as an object", []string{calls(`{"index":0,"id":"a","function":{"name":"read","arguments":{"n":1}}}`)},
			[]provider.ToolCall{call("a", `{"n":1}`)}},
		{"empty fragments", []string{calls(`{"index":0}`),
			calls(`{"index":0,"id":"a","function":{"name":"read","arguments":null}}`), `{"tool_calls":null}`},
			[]provider.ToolCall{call("a", `{}`)}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(t, "compatible", stream(append(tc.deltas, stop, done)...))
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if diff := cmp.Diff(tc.want, r.Done.Message.Calls()); diff != "" || r.Done.Stop != provider.StopToolUse {
				t.Errorf("stop %s, calls (-want +got):\n%s", r.Done.Stop, diff)
			}
		})
	}
}

func TestWhenAReplyIsComplete(t *testing.T) {
	t.Parallel()
	text := `{"content":"x"}`
	whole := calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}`)
	half := calls(`{"index":1,"id":"b","function":{"name":"read","arguments":"{\"n\""}}`)
	finish := func(word, native string) string {
		return `!{"choices":[{"index":0,"delta":{},"finish_reason":"` + word + `","native_finish_reason":"` +
			native + `"}]}`
	}
	tests := []struct {
		name   string
		deltas []string
		stop   provider.StopReason
		kind   provider.ErrorKind
	}{
		{"no [DONE]", []string{text, stop}, provider.StopComplete, ""},
		{"only [DONE]", []string{text, done}, provider.StopComplete, ""},
		{"whole calls without a finish_reason", []string{text, whole, done}, provider.StopToolUse, ""},
		{"the same without [DONE], perhaps before another call", []string{whole}, "", provider.KindNetwork},
		{"half a call without a finish_reason", []string{whole, half, done}, "", provider.KindNetwork},
		{"tool_calls without calls", []string{text, finish("tool_calls", "")}, provider.StopComplete, ""},
		{"an error as the reason", []string{text, finish("error", "")}, "", provider.KindProvider},
		{"a lost network", []string{text, finish("stop", "network_error")}, "", provider.KindNetwork},
		{"no resources", []string{text, finish("insufficient_system_resource", "")}, "", provider.KindOverloaded},
		{"an error chunk without choices", []string{text, `!{"choices":[],"error":{"code":502,"message":"upstream"}}`},
			"", provider.KindProvider},
		{"an error chunk after the reason",
			[]string{text, stop, `!{"choices":[],"error":{"code":429,"message":"slow"}}`}, "", provider.KindRateLimit},
		{"an error in the choice",
			[]string{`!{"choices":[{"index":0,"delta":{},"error":{"code":503,"message":"no provider"}}]}`}, "",
			provider.KindOverloaded},
		{"vLLM's form of it", []string{text,
			`!{"object":"error","message":"maximum context length is 4096 tokens","type":"BadRequestError","code":400}`}, "", provider.KindContext},
		{"error null", []string{`!{"error":null,"choices":[{"index":0,"delta":{"content":"x"}}]}`, stop},
			provider.StopComplete, ""},
		{"other choices", []string{`!{"choices":[{"index":1,"delta":{"content":"y"},"finish_reason":"length"}]}`,
			text, stop}, provider.StopComplete, ""},
		{"refused in words", []string{`{"refusal":"I will "}`, `{"refusal":"not"}`, stop}, provider.StopRefusal, ""},
		{"nothing", []string{noEnd + `{}`, stop}, provider.StopComplete, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(t, "openrouter", stream(tc.deltas...))
			if e := provider.AsError(r.Err); tc.kind != "" {
				if e == nil || e.Kind != tc.kind {
					t.Fatalf("got %v, want kind %s", r.Err, tc.kind)
				}
				if tc.name == "only [DONE]" && !errors.Is(e, io.ErrUnexpectedEOF) {
					t.Errorf("%v does not wrap io.ErrUnexpectedEOF", e)
				}
				return
			}
			if r.Err != nil || r.Done.Stop != tc.stop {
				t.Errorf("stop %v, error %v, want %s", r.Done, r.Err, tc.stop)
			}
			if tc.stop == provider.StopRefusal && r.Done.Detail != "I will not" {
				t.Errorf("detail %q", r.Done.Detail)
			}
		})
	}
}

func TestReasoningComesInManyFields(t *testing.T) {
	t.Parallel()
	thought := func(form, text string) []provider.Part {
		return []provider.Part{provider.Reasoning{Text: text, Form: form}, provider.Text{Text: "x"}}
	}
	tests := []struct {
		name   string
		deltas []string
		want   []provider.Part
	}{
		{"DeepSeek", []string{`{"content":null,"reasoning_content":"a"}`, `{"reasoning_content":"b"}`,
			`{"content":"x","reasoning_content":null}`}, thought("reasoning_content", "ab")},
		{"Groq", []string{`{"reasoning":"ab"}`, `{"content":"x"}`}, thought("reasoning", "ab")},
		{"two fields with one text", []string{`{"reasoning":"ab","reasoning_content":"ab"}`, `{"content":"x"}`},
			thought("reasoning_content", "ab")},
		{"Mistral", []string{`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`,
			`{"content":[{"type":"thinking","thinking":"b"},{"type":"text","text":"x"}]}`}, thought("thinking", "ab")},
		{"something else in the field", []string{`{"reasoning":{"a":1},"content":"x"}`},
			[]provider.Part{provider.Text{Text: "x"}}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(t, "compatible", stream(append(tc.deltas, stop)...))
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if diff := cmp.Diff(tc.want, r.Done.Message.Parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDetailsOfOpenRouterAreJoinedAndSentBack(t *testing.T) {
	t.Parallel()
	reply := stream(
		`{"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I ","format":"anthropic-claude-v1","index":0,"signature":null}]}`,
		`{"reasoning":"think","reasoning_details":[{"type":"reasoning.text","text":"think","index":0}]}`,
		`{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln+/==","index":0}]}`,
		`{"reasoning_details":[{"type":"reasoning.encrypted","id":"c1","data":"ZZ==","index":1}]}`,
		`{"reasoning_details":[{"type":"reasoning.encrypted","data":"YY==","index":1}]}`,
		calls(`{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}`), stop, done)
	s := providertest.NewServer(t, reply, providertest.Chat(providertest.Text("ok")))
	p := &openai.Chat{Server: provider.Server{Name: "openrouter", BaseURL: s.URL, HTTP: s.HTTP},
		Quirks: openai.QuirksFor("openrouter")}
	req := provider.Request{Options: provider.Options{Model: "google/gemini"},
		Messages: []provider.Message{provider.UserText("hi")}}
	r := providertest.Collect(p.Stream(t.Context(), req))
	if r.Err != nil || r.Reasoning != "I think" {
		t.Fatalf("%+v", r)
	}
	said := r.Done.Message
	if len(said.Parts) != 2 {
		t.Errorf("parts %+v", said.Parts)
	}
	req.Messages = append(req.Messages, said,
		provider.Message{Role: provider.RoleTool, Parts: []provider.Part{provider.ToolResult{CallID: "c1", Text: "x"}}})
	if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err != nil {
		t.Fatal(r.Err)
	}
	var body struct {
		Messages []struct {
			Details json.RawMessage `json:"reasoning_details"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(s.Requests()[1].Body, &body); err != nil {
		t.Fatal(err)
	}
	want := `[{"format":"anthropic-claude-v1","index":0,"signature":"c2ln+/==","text":"I think","type":"reasoning.text"},` +
		`{"data":"ZZ==","id":"c1","index":1,"type":"reasoning.encrypted"},{"data":"YY==","index":1,"type":"reasoning.encrypted"}]`
	if diff := cmp.Diff(want, string(body.Messages[1].Details)); diff != "" {
		t.Errorf("details sent back (-want +got):\n%s", diff)
	}
}

func TestUsageOfManyServers(t *testing.T) {
	t.Parallel()
	cost := 0.0125
	tests := []struct {
		name, provider, chunk string
		want                  provider.Usage
	}{
		{"OpenAI", "openai",
			`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":6},"completion_tokens_details":{"reasoning_tokens":5}}}`,
			provider.Usage{Input: 30, CacheRead: 64, CacheWrite: 6, Output: 20, Reasoning: 5}},
		{"DeepSeek", "deepseek",
			`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}`,
			provider.Usage{Input: 36, CacheRead: 64, Output: 20}},
		{"OpenRouter", "openrouter",
			`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cost":0.0125}}`,
			provider.Usage{Input: 10, Output: 2, CostUSD: &cost}},
		{"a cost of unknown currency", "compatible",
			`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"cost":0.0125}}`,
			provider.Usage{Input: 10, Output: 2}},
		{"xAI", "compatible",
			`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":19,"completion_tokens_details":{"reasoning_tokens":7}}}`,
			provider.Usage{Input: 10, Output: 9, Reasoning: 7}},
		{"Groq", "compatible", `{"choices":[],"x_groq":{"usage":{"prompt_tokens":10,"completion_tokens":2}}}`,
			provider.Usage{Input: 10, Output: 2}},
		{"Moonshot", "compatible",
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":10,"completion_tokens":2}}]}`, provider.Usage{Input: 10, Output: 2}},
		{"llama.cpp", "compatible", `{"choices":[],"timings":{"cache_n":8,"prompt_n":2,"predicted_n":3}}`,
			provider.Usage{Input: 2, CacheRead: 8, Output: 3}},
		{"nonsense", "compatible",
			`{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":9000000000000000000,"total_tokens":"?","prompt_tokens_details":{"cached_tokens":-1}}}`, provider.Usage{Output: 1 << 40}},
		{"none", "compatible", `{"choices":[],"usage":null}`, provider.Usage{}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(t, tc.provider, stream(`{"content":"x"}`, stop, "!"+tc.chunk, done))
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if diff := cmp.Diff(tc.want, r.Done.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWholeCompletionIsTaken(t *testing.T) {
	t.Parallel()
	r := ask(t, "compatible", providertest.JSON(200, " \n"+
		`{"model":"m2","choices":[{"index":0,"message":{"role":"assistant","content":"x","reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`))
	if r.Err != nil || r.Text != "x" || r.Reasoning != "hm" || r.Done.Stop != provider.StopToolUse ||
		r.Done.Usage.Output != 4 {
		t.Errorf("%+v", r)
	}
	e := provider.AsError(ask(t, "openrouter", providertest.JSON(200, `{"error":{"code":402,"message":"no credits"}}`)).Err)
	if e == nil || e.Kind != provider.KindBilling {
		t.Errorf("an error document with 200: %v", e)
	}
	e = provider.AsError(ask(t, "openrouter", providertest.JSON(200, `{"hello":1}`)).Err)
	if e == nil || e.Kind != provider.KindProvider || !strings.Contains(e.Message, "hello") {
		t.Errorf("another document: %v", e)
	}
}

func TestCreditThatRunningRequestsHoldBackIsWaitedFor(t *testing.T) {
	t.Parallel()
	body := `{"error":{"code":402,"message":"in flight","metadata":{"limit_source":"openrouter_in_flight_budget"}}}`
	e := provider.AsError(ask(t, "openrouter", providertest.JSON(402, body).With("Retry-After", "2")).Err)
	if e == nil || e.Kind != provider.KindRateLimit {
		t.Errorf("with a time to wait: %v", e)
	}
	e = provider.AsError(ask(t, "openrouter", providertest.JSON(402, body)).Err)
	if e == nil || e.Kind != provider.KindBilling {
		t.Errorf("without: %v", e)
	}
}

// TestALongReplyCostsInProportion reads one reply and another of ten times its
// length; a reader that is quadratic anywhere allocates a hundred times as much
// for the latter.
func TestALongReplyCostsInProportion(t *testing.T) {
	cost := func(size int) float64 {
		s := providertest.NewServer(t, providertest.Flood(providertest.Chat, size, 20))
		p := &openai.Chat{Server: provider.Server{Name: "p", BaseURL: s.URL, HTTP: s.HTTP}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := providertest.Collect(p.Stream(t.Context(),
			provider.Request{Messages: []provider.Message{provider.UserText("hi")}}))
		runtime.ReadMemStats(&after)
		if r.Err != nil || len(r.Done.Message.Text()) != size {
			t.Fatalf("%d bytes, error %v, want %d bytes", len(r.Text), r.Err, size)
		}
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	small, large := cost(50_000), cost(500_000)
	if large > 20*small {
		t.Errorf("ten times the reply costs %.1f times the memory", large/small)
	}
}
