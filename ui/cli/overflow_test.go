package cli

import (
	"fmt"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/providertest"
)

// tooLongWords are the words with which servers say that a request does not fit. In
// some of them they name a window.
func tooLongWords() map[string]providertest.Reply {
	all := map[string]providertest.Reply{
		"413 without a body": {Status: 413}, "400 without a body": {Status: 400},
		"a code alone": {Status: 400, Body: []byte(`{"error":{"message":"bad","code":"context_length_exceeded"}}`)},
		"a type alone": {Status: 400, Body: []byte(`{"error":{"message":"bad","type":"exceed_context_size_error"}}`)},
	}
	for _, words := range []string{
		"prompt is too long: 213462 tokens > 200000 maximum",
		"Input is too long for requested model.",
		"Your input exceeds the context window of this model",
		"the request exceeds context limit", "messages exceed the context length",
		"input length and `max_tokens` exceed context limit: 14365 + 6400 > 20000, decrease input length or `max_tokens`",
		"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
		"Please reduce the length of the messages or completion.",
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens",
		"maximum context length of 8192 is exceeded",
		"prompt token count of 9000 exceeds the limit of 8192",
		"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
		"Context size has been exceeded.",
		"the number of tokens is greater than the context length",
		"The context window is full",
		"Your request exceeded model token limit: 8192",
		"Prompt contains 9000 tokens, too large for model with 8192 maximum context length",
		"Range of input length should be [1, 8192]",
		"input too long: 9000", "the input length exceeds the context length",
		"too many tokens in the request",
	} {
		body := fmt.Sprintf(`{"error":{"message":%q}}`, words)
		all[words] = providertest.Reply{Status: 400, Body: []byte(body)}
		all["in the stream: "+words] = providertest.Reply{Status: 200, ContentType: "text/event-stream",
			Body: []byte("data: " + body + "\n\n")}
	}
	return all
}

// Whatever the words, a request that is too long leads to one trim and one retry. If
// that does not help, the error names a remedy, and the remedy works.
func TestEveryWordingOfAnOverflowLeadsToOneTrimAndOneRetry(t *testing.T) {
	t.Parallel()
	for words, refusal := range tooLongWords() {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			refuses, sizes := 0, []int(nil)
			server := providertest.Serve(t, &providertest.Handler{Next: func(_ int, r providertest.Request) providertest.Reply {
				if err := providertest.Validate("chat", r.Body); err != nil {
					t.Error(err)
				}
				sizes = append(sizes, len(r.Body))
				if refuses > 0 {
					refuses--
					return refusal
				}
				return providertest.Chat(providertest.Text(strings.Repeat("noted ", 200)))
			}})
			window := 200_000
			if words == "400 without a body" { // that may mean anything, but where the window is nearly full
				window = 10_000
			}
			a := chatAgent(t, server.URL, agent.Options{MaxContextTokens: 150_000,
				Model: agent.Model{Info: provider.ModelInfo{Context: window, Tools: true},
					Defaults: provider.Options{MaxTokens: 8192}}})
			told := &tellings{}
			say := func() error {
				_, err := a.SendMessage(t.Context(), "and this: "+strings.Repeat("words ", 300), told)
				return err
			}
			for range 10 {
				if err := say(); err != nil {
					t.Fatal(err)
				}
			}
			refuses = 1
			err := say()
			if strings.Contains(words, "input length and") { // then it is the reply's limit that is lowered
				if err != nil || len(sizes) != 12 {
					t.Errorf("%v after %d requests", err, len(sizes))
				}
				return
			}
			if err != nil || told.trims != 1 || len(sizes) != 12 || sizes[11] >= sizes[10] {
				t.Fatalf("%v, %d trims, requests of %d bytes", err, told.trims, sizes)
			}
			refuses = 2
			failure := agent.Classify(say())
			if failure == nil || failure.Kind != agent.KindContext || failure.Kind.ExitCode() != 8 ||
				!strings.Contains(failure.Hint, "/compact") || !strings.Contains(failure.Hint, "/clear") || len(sizes) != 14 {
				t.Fatalf("%+v after %d requests", failure, len(sizes))
			}
			if _, err := a.Conversation().Compact(); err != nil {
				t.Error(err)
			}
			if err := say(); err != nil {
				t.Errorf("after /compact: %v", err)
			}
			if _, err := a.Clear(); err != nil {
				t.Error(err)
			}
			if err := say(); err != nil || len(sizes) != 16 {
				t.Errorf("after /clear: %v", err)
			}
		})
	}
}

// tellings counts the notices of trims.
type tellings struct {
	agent.NopCallbacks
	trims int
}

func (t *tellings) OnNotice(n agent.Notice) {
	if n.Kind == agent.NoticeTrimmed {
		t.trims++
	}
}
