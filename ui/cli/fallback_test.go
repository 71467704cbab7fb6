package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"artoo/provider/providertest"
	"artoo/ui/result"
)

// TestFallbackKinds is the bar: after four kinds of failure another provider's model answers, after six
// none is asked. Content for the first provider alone is not sent to the second.
func TestFallbackKinds(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct {
		reply    providertest.Reply
		switches bool
	}{
		"overloaded": {providertest.Fail(529, "overloaded_error", "busy"), true},
		"provider":   {providertest.Fail(500, "api_error", "out of order"), true},
		"network":    {providertest.Dropped(), true},
		"timeout":    {providertest.Silent(), true},
		"rate_limit": {providertest.Fail(429, "rate_limit_error", "too many requests"), false},
		"auth":       {providertest.Fail(401, "authentication_error", "invalid x-api-key"), false},
		"billing":    {providertest.Fail(402, "billing_error", "no credit"), false},
		"invalid":    {providertest.Fail(400, "invalid_request_error", "messages: unexpected value"), false},
		"context":    {providertest.Fail(400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum"), false},
		"refused":    {providertest.Anthropic(providertest.Text("No."), providertest.Stop("refusal")), false},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			thought := providertest.Anthropic(providertest.Reason("hm"), providertest.Call("c1", "ls", `{"path":"."}`))
			first := &providertest.Handler{NoList: true, Next: func(n int, _ providertest.Request) providertest.Reply {
				if n == 0 {
					return thought
				}
				return c.reply
			}}
			second := &providertest.Handler{NoList: true, Next: func(int, providertest.Request) providertest.Reply {
				return providertest.Responses(providertest.Text("The second."))
			}}
			at, other := providertest.Serve(t, first), providertest.Serve(t, second)
			env := home(t, "container=test", "ARTOO_MODEL=anthropic/test-model", "ANTHROPIC_BASE_URL="+at.URL, "ANTHROPIC_API_KEY=sk-test-0123456789",
				"OPENAI_BASE_URL="+other.URL+"/v1/responses", "OPENAI_API_KEY=sk-test-9876543210", "ARTOO_FALLBACK=openai/gpt-test",
				"ARTOO_MAX_RETRY_TIME=0", "ARTOO_REQUEST_TIMEOUT=3s")
			said, _ := ran(t, t.TempDir(), env, "", "-p", "-o", "json", "look")
			var got result.Result
			if err := json.NewDecoder(strings.NewReader(said[max(0, strings.Index(said, "{")):])).Decode(&got); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			asked := second.Requests()
			switch {
			case !c.switches && (got.Error == nil || got.Error.Kind != kind || len(asked) > 0):
				t.Errorf("%d requests to the second\n%s", len(asked), said)
			case c.switches && (got.Result != "The second." || got.Provider != "openai" || len(asked) != 1):
				t.Errorf("%d requests to the second\n%s", len(asked), said)
			case c.switches && (bytes.Contains(asked[0].Body, []byte("signature")) || !bytes.Contains(asked[0].Body, []byte(`"function_call_output"`))):
				t.Errorf("the second was sent %s", asked[0].Body)
			}
			if kind == "refused" {
				return
			}
			sent := first.Requests()
			if last := sent[len(sent)-1]; !bytes.Contains(last.Body, []byte(`"signature"`)) {
				t.Errorf("this test shows nothing: the first was sent %s", last.Body)
			}
		})
	}
}
