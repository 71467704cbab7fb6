package anthropic_test

import (
	"net/http"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/providertest"
)

// learner is a model of its own server, which refuses a request once and takes
// all that follow.
func learner(t *testing.T, refusal providertest.Reply) (*anthropic.Provider, *providertest.Server) {
	t.Helper()
	ok := providertest.Anthropic(providertest.Text("ok"))
	s := providertest.NewServer(t, refusal, ok, ok)
	return &anthropic.Provider{Server: provider.Server{Name: "anthropic", BaseURL: s.URL, HTTP: s.HTTP}}, s
}

// askTwice sends the request twice and returns the user's notices. Each of the
// three bodies that the server sees must be one that it takes.
func askTwice(t *testing.T, p provider.Provider, s *providertest.Server, req provider.Request) []string {
	t.Helper()
	var told []string
	for range 2 {
		r := providertest.Collect(p.Stream(t.Context(), req))
		if err := r.Check(); err != nil || r.Err != nil {
			t.Fatalf("%v %v", err, r.Err)
		}
		for _, ev := range r.Events {
			if n, ok := ev.(provider.Notice); ok {
				told = append(told, n.Text)
			}
		}
	}
	for i, seen := range s.Requests() {
		if err := providertest.Validate(providertest.WireAnthropic, seen.Body); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests, want 3: what is known needs no second refusal", n)
	}
	return told
}

func bad(message string) providertest.Reply {
	return providertest.Fail(http.StatusBadRequest, "invalid_request_error", message)
}

func hello(model string, effort provider.Effort) provider.Request {
	return provider.Request{Options: provider.Options{Model: model, Effort: effort, MaxTokens: 64_000},
		Messages: []provider.Message{provider.UserText("hi")}}
}

// TestWhatIsRefusedIsLeftOut: the table of families cannot know every
// model. The lesson of the first refusal holds from then on, and is reported once,
// where something is lost.
func TestWhatIsRefusedIsLeftOut(t *testing.T) {
	t.Parallel()
	heat := 0.5
	for _, tc := range []struct {
		name, message, model   string
		effort                 provider.Effort
		temperature            *float64
		before, after, without string
		told                   int
	}{
		{name: "the newer way", model: "claude-opus-4-5", effort: provider.EffortHigh, before: `"type":"enabled"`,
			after: `"type":"adaptive"`, without: "budget_tokens",
			message: `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`},
		{name: "the older way", model: "claude-opus-6", effort: provider.EffortHigh, before: `"type":"adaptive"`,
			after: `"type":"enabled","budget_tokens"`, without: "output_config",
			message: "adaptive thinking is not supported on this model"},
		{name: "cannot be switched off", model: "claude-opus-6", effort: provider.EffortOff,
			before: `"type":"disabled"`, after: `"effort":"low"`, without: "disabled", told: 1,
			message: `"thinking.type.disabled" is not supported for this model.`},
		{name: "no effort", model: "claude-sonnet-4-6", effort: provider.EffortLow, before: `"effort":"low"`,
			after: `"type":"adaptive"`, without: "output_config", told: 1,
			message: "This model does not support the effort parameter."},
		{name: "no temperature", model: "claude-haiku-4-5", temperature: &heat, before: `"temperature":0.5`,
			after: `"model"`, without: "temperature", told: 1,
			message: "`temperature` is deprecated for this model."},
		{name: "a shorter reply", model: "claude-haiku-4-5", before: `"max_tokens":64000`, after: `"max_tokens":32000`,
			without: "64000", told: 1,
			message: "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-haiku-4-5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, s := learner(t, bad(tc.message))
			req := hello(tc.model, tc.effort)
			req.Temperature = tc.temperature
			if told := askTwice(t, p, s, req); len(told) != tc.told {
				t.Errorf("told %q, want %d lines", told, tc.told)
			}
			for i, seen := range s.Requests() {
				body := string(seen.Body)
				if i == 0 && !strings.Contains(body, tc.before) ||
					i > 0 && (!strings.Contains(body, tc.after) || strings.Contains(body, tc.without)) {
					t.Errorf("request %d: %s", i, body)
				}
			}
		})
	}
	t.Run("another model", func(t *testing.T) {
		p, s := learner(t, bad("`temperature` is deprecated for this model."))
		req := hello("claude-haiku-4-5", "")
		req.Temperature = &heat
		providertest.Collect(p.Stream(t.Context(), req))
		req.Model = "claude-opus-4-1"
		providertest.Collect(p.Stream(t.Context(), req))
		if body := s.Requests()[2].Body; !strings.Contains(string(body), "temperature") {
			t.Errorf("what one model refuses is left out for another: %s", body)
		}
	})
	t.Run("about the history", func(t *testing.T) {
		p, s := learner(t,
			bad(
				"messages.1.content.0.type: Expected `thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block."))
		if e := provider.AsError(providertest.Collect(p.Stream(t.Context(),
			hello("claude-haiku-4-5", provider.EffortHigh))).Err); e == nil || len(s.Requests()) != 1 {
			t.Errorf("%v after %d requests: that says nothing of the model", e, len(s.Requests()))
		}
	})
	t.Run("not sent", func(t *testing.T) {
		for _, message := range []string{"temperature: no", "thinking: no", "effort: no", "max_tokens: no",
			"thinking blocks cannot be modified"} {
			p, s := learner(t, bad(message))
			if e := provider.AsError(providertest.Collect(p.Stream(t.Context(),
				hello("claude-haiku-4-5", ""))).Err); e == nil || e.Kind != provider.KindInvalid || len(s.Requests()) != 1 {
				t.Errorf("%s: %v after %d requests, want one refusal", message, e, len(s.Requests()))
			}
		}
	})
}

// thinker is a history of a step with a thought.
func thinker() []provider.Message {
	call := provider.ToolCall{ID: "t1", Name: "read", Input: []byte(`{}`)}
	return []provider.Message{
		provider.UserText("hi"),
		{Role: provider.RoleAssistant, Provider: "anthropic", Model: "claude-opus-4-5", Parts: []provider.Part{
			provider.Reasoning{Text: "hm", Form: "thinking", Opaque: "sig-one"},
			provider.Reasoning{Form: "redacted_thinking", Opaque: "sig-two"}, provider.Text{Text: "I look."},
			provider.Reasoning{Text: "so", Form: "thinking", Opaque: "sig-three"}, call}},
		{Role: provider.RoleTool, Parts: []provider.Part{provider.ToolResult{CallID: "t1", Name: "read", Text: "x"}}},
	}
}

// TestThoughtsThatAreNoLongerTaken are left out, all of them, and the
// request goes once more.
func TestThoughtsThatAreNoLongerTaken(t *testing.T) {
	t.Parallel()
	p, s := learner(t,
		bad(
			"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."))
	req := hello("claude-opus-4-5", provider.EffortHigh)
	req.Messages = thinker()
	if told := askTwice(t, p, s, req); len(told) != 1 {
		t.Errorf("told %q, want one line", told)
	}
	for i, seen := range s.Requests() {
		body := string(seen.Body)
		if got := strings.Contains(body, "sig-"); got != (i == 0) {
			t.Errorf("request %d: reasoning is there: %v\n%s", i, got, body)
		}
		if got := strings.Contains(body, "budget_tokens"); got != (i == 0) {
			t.Errorf("request %d: thinks in a loop that began without a thought: %v", i, got)
		}
	}
	refused := bad("thinking blocks cannot be modified")
	s2 := providertest.NewServer(t, refused, refused)
	p = &anthropic.Provider{Server: provider.Server{Name: "anthropic", BaseURL: s2.URL, HTTP: s2.HTTP}}
	if e := provider.AsError(providertest.Collect(p.Stream(t.Context(), req)).Err); e == nil || len(s2.Requests()) != 2 {
		t.Errorf("%v after %d requests, want the refusal after 2", e, len(s2.Requests()))
	}
}

// TestThoughtsKeepTheirPlace: blocks go back in the order in which they
// came, a withheld thought behind a text or a call too, and only to the model
// that made them.
func TestThoughtsKeepTheirPlace(t *testing.T) {
	t.Parallel()
	ok := providertest.Anthropic(providertest.Text("ok"))
	s := providertest.NewServer(t, ok, ok)
	p := &anthropic.Provider{Server: provider.Server{Name: "anthropic", BaseURL: s.URL, HTTP: s.HTTP}}
	req := hello("claude-opus-4-5", "")
	req.Messages = thinker()
	providertest.Collect(p.Stream(t.Context(), req))
	body := string(s.Requests()[0].Body)
	last := -1
	for _, word := range []string{"sig-one", "sig-two", "I look.", "sig-three", `"tool_use"`, `"tool_result"`} {
		at := strings.Index(body, word)
		if at <= last {
			t.Errorf("%s is out of place: %s", word, body)
		}
		last = at
	}
	req.Model = "claude-opus-4-1"
	providertest.Collect(p.Stream(t.Context(), req))
	if body := s.Requests()[1].Body; strings.Contains(string(body), "sig-") ||
		strings.Contains(string(body), `"thinking"`) {
		t.Errorf("reasoning went to another model: %s", body)
	}
}

// TestAShorterReplyFits: where prompt and reply together are too long, the
// reply is made shorter. When the history has become shorter, it is not any more.
func TestAShorterReplyFits(t *testing.T) {
	t.Parallel()
	p, s := learner(t,
		bad(
			"input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000, decrease input length or `max_tokens` and try again"))
	req := hello("claude-sonnet-4-5", "")
	req.Messages = thinker()
	if told := askTwice(t, p, s, req); len(told) != 1 || !strings.Contains(told[0], "49304") {
		t.Errorf("told %q", told)
	}
	for i, seen := range s.Requests() {
		want := `"max_tokens":49304,` // seven eighths of 200,000 - 143,653
		if i == 0 {
			want = `"max_tokens":64000,`
		}
		if !strings.Contains(string(seen.Body), want) {
			t.Errorf("request %d has not %s: %.200s", i, want, seen.Body)
		}
	}
	p, s = learner(t, bad("input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000"))
	providertest.Collect(p.Stream(t.Context(), req))
	req.Messages = req.Messages[:1]
	providertest.Collect(p.Stream(t.Context(), req))
	if body := s.Requests()[2].Body; !strings.Contains(string(body), `"max_tokens":64000,`) {
		t.Errorf("the short history is still short of room: %.200s", body)
	}
	for _, message := range []string{"input length and `max_tokens` exceed context limit: 199900 + 64000 > 200000",
		"prompt is too long: 213462 tokens > 200000 maximum"} {
		p, s := learner(t, bad(message))
		if e := provider.AsError(providertest.Collect(p.Stream(t.Context(), req)).Err); e == nil ||
			e.Kind != provider.KindContext || len(s.Requests()) != 1 {
			t.Errorf("%s: %v after %d requests, want one of kind context", message, e, len(s.Requests()))
		}
	}
}

// TestCapsThatDoNotPass has the tier's monthly cap, a 429 that names no time, and
// the user's own spend limit, a 400. A request may be retried after the first, and
// never after the second.
func TestCapsThatDoNotPass(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reply     providertest.Reply
		kind      provider.ErrorKind
		temporary bool
		hint      string
	}{
		{providertest.Fail(429, "rate_limit_error", "This request would exceed your organization's monthly limit."),
			provider.KindRateLimit, true, "spend"},
		{bad("You have reached your specified API usage limits. You will regain access on 2026-12-01."),
			provider.KindBilling, false, ""},
		{bad("Your credit balance is too low to access the Anthropic API."), provider.KindBilling, false, ""},
		{providertest.Fail(402, "billing_error", "no credit"), provider.KindBilling, false, ""},
	} {
		p, _ := learner(t, tc.reply)
		e := provider.AsError(providertest.Collect(p.Stream(t.Context(), hello("claude-opus-5", ""))).Err)
		if e == nil || e.Kind != tc.kind || e.Temporary() != tc.temporary || e.RetryAfter != 0 ||
			!strings.Contains(e.Hint, tc.hint) {
			t.Errorf("%s: %+v, want %s", tc.reply.Body, e, tc.kind)
		}
	}
	p, _ := learner(t, providertest.Fail(429, "rate_limit_error", "slow").With("Retry-After", "7"))
	if e := provider.AsError(providertest.Collect(p.Stream(t.Context(), hello("claude-opus-5", ""))).Err); e == nil ||
		e.RetryAfter == 0 || e.Hint != "" {
		t.Errorf("a limit that passes: %+v", e)
	}
}
