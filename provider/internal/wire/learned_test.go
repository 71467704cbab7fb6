package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"artoo/provider"
)

// exchange asks for all that can be refused; the body shows the remaining parts.
func exchange(api API) Exchange {
	heat := 0.5
	return Exchange{API: api, Endpoint: Endpoint{Server: provider.Server{Name: "p"}}, Memory: &Memory{},
		Request: provider.Request{
			Options: provider.Options{Model: "m", MaxTokens: 64_000, Effort: provider.EffortHigh, Temperature: &heat},
			Tools:   []provider.ToolSpec{{Name: "read"}, {Name: "edit"}},
			Messages: []provider.Message{provider.UserText("hi"),
				{Role: provider.RoleAssistant, Provider: "p", Model: "m",
					Parts: []provider.Part{provider.Reasoning{Text: "hm", Opaque: "proof"}}}},
		},
		Encode: func(l Learned, _ http.Header) ([]byte, error) {
			return fmt.Append(nil, l.Omitted, l.ReplyTokens(64_000, 2), l.Forgotten("proof"), l.Schema("read"),
				l.Schema("edit")), nil
		}}
}

const reasoning = "the reasoning of this conversation"

// lessons are those of each refusal.
var lessons = []struct {
	api     API
	status  int // 0 for 400
	code    string
	message string
	omitted Omission // 0 where nothing is learned
	notice  string   // a part of it, "" for none
}{
	{api: Messages, message: "input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000",
		omitted: fullWindow, notice: "at most 49304 tokens"},
	{api: Messages, message: "input length and `max_tokens` exceed context limit: 199900 + 64000 > 200000"},
	{api: Chat, message: "This model's maximum context length is 65,536 tokens. However, you requested 73,000 tokens " +
		"(9,000 in the messages, 64,000 in the completion).", omitted: fullWindow, notice: "at most 49469 tokens"},
	{api: Chat, message: "'max_tokens' is too large: 64000. This model's maximum context length is 65536 tokens and " +
		"your request has 9000 input tokens", omitted: fullWindow, notice: "49469"},
	{api: Chat, message: "This model's maximum context length is 65536 tokens. However, your prompt contains at " +
		"least 1537 input tokens", omitted: fullWindow, notice: "28000"},
	{api: Chat, message: "`inputs` tokens + `max_new_tokens` must be <= 65536. Given: 9000 `inputs` tokens",
		omitted: fullWindow, notice: "49469"},
	{api: Messages, message: "max_tokens: 64000 > 32000, which is the maximum", omitted: longReply,
		notice: "at most 32000 tokens in a reply"},
	{api: Chat, message: "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", omitted: longReply,
		notice: "8192"},
	{api: Chat, message: "max_tokens: at most 99999"},
	{api: Chat, message: "Unsupported parameter: 'max_tokens'", omitted: LengthField},
	{api: Chat, message: "'max_tokens' is unsupported", omitted: LengthField},
	{api: Messages, message: "`thinking` blocks cannot be modified", omitted: oldReasoning | ReasoningEcho,
		notice: reasoning},
	{api: Responses, status: 404, message: "Item with id 'rs_1' not found.", omitted: ItemIDs},
	{api: Responses, message: "Duplicate item found with id msg_1.", omitted: ItemIDs},
	{api: Responses, message: "Item 'rs_1' was provided without its required following item.", omitted: oldReasoning,
		notice: reasoning},
	{api: Responses, code: "invalid_encrypted_content", message: "no", omitted: oldReasoning, notice: reasoning},
	{api: Responses, message: "Encrypted content is not supported", omitted: EncryptedReasoning},
	{api: Gemini, message: "Function call is missing a thought_signature", omitted: UnsignedCalls},
	{api: Gemini, message: "Corrupted thought signature."}, // the first time, it is only sent again
	{api: Gemini, message: "a thought and a signature"},
	{api: Responses, message: "Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.", omitted: Structure},
	{api: Chat, message: "This response_format type is unavailable now", omitted: Structure},
	{api: Chat, message: "Cannot use custom grammar constraints with tools.", omitted: Structure},
	{api: Chat, status: 404, message: "No endpoints found that can handle the requested parameters.", omitted: Structure},
	{api: Messages, message: "output_config.format.schema: For 'object' type, 'additionalProperties' must be false", omitted: Structure},
	{api: Converse, message: "The model does not support the outputConfig.textFormat field.", omitted: Structure},
	{api: Gemini, message: "Function calling with a response mime type: 'application/json' is unsupported", omitted: Structure},
	{api: Gemini, message: `Unknown name "responseJsonSchema" at 'generation_config'`, omitted: Structure},
	{api: Ollama, message: `invalid "format": expected a schema`, omitted: Structure},
	{api: Ollama, status: 500, message: "failed to load model vocabulary required for format", omitted: Structure},
	{api: Messages, message: "Unexpected value for `anthropic-beta`", omitted: Interleaving},
	{api: Messages, message: `"thinking.type.enabled" is not supported`, omitted: FixedThinking},
	{api: Messages, message: "adaptive thinking is not supported", omitted: AdaptiveThinking},
	{api: Messages, message: `"thinking.type.disabled" is not supported`, omitted: NotThinking,
		notice: "does not take the effort high"},
	{api: Messages, message: "thinking is not supported", omitted: Thinking, notice: "does not take the effort high"},
	{api: Messages, message: "Expected `thinking`, but found `tool_use`"},
	{api: Responses, message: "Your organization must be verified to generate reasoning summaries.", omitted: Summary},
	{api: Responses, message: "Unsupported parameter: 'temperature'", omitted: Temperature,
		notice: "m does not take a temperature: it is left out"},
	{api: Messages, message: "does not support the effort parameter", omitted: Effort,
		notice: "m does not take the effort high"},
	{api: Chat, message: "Reasoning is not supported", omitted: Thinking, notice: "does not take the effort high"},
	{api: Chat, message: "Unknown field: stream_options", omitted: StreamOptions},
	{api: Chat, message: "Unknown parameter: 'parallel_tool_calls'", omitted: ParallelCalls},
	{api: Chat, message: "Unrecognized: prompt_cache_key", omitted: CacheKey},
	{api: Chat, message: "bad schema", omitted: RichSchemas},
	{api: Chat, status: 500, message: "failed to parse grammar", omitted: RichSchemas},
	{api: Chat, status: 500, message: "temperature"},
	{api: Chat, message: "Tool call id was x but must be a-z with a length of 9", omitted: LongCallIDs},
	{api: Chat, message: "Unexpected role 'user' after role 'tool'", omitted: UserAfterTool},
	{api: Chat, message: "Unexpected message role.", omitted: DeveloperRole},
	{api: Chat, message: "The reasoning_content must be passed back", omitted: BareCalls},
	{api: Chat, message: "unknown field reasoning_content", omitted: ReasoningEcho},
	{api: Gemini, message: `Unknown name "parametersJsonSchema"`, omitted: RichSchemas},
	{api: Gemini, message: `Unknown name "id" at 'contents[1].parts[0].function_call'`, omitted: CallIDs},
	{api: Gemini, message: "tools[0].function_declarations[1].parameters: no", omitted: namedTools},
	{api: Gemini, message: "Thinking is not enabled for this model", omitted: Thinking,
		notice: "does not take the effort high"},
	{api: Ollama, message: "m does not support tools", omitted: Tools},
	{api: Ollama, message: "m does not support thinking", omitted: Thinking},
	{api: Ollama, message: `think value "high" is not supported`, omitted: ThinkingLevels},
	{api: Ollama, message: "temperature", omitted: Temperature, notice: "temperature"},
	{api: Chat, status: 401, message: "temperature"},
	{api: Converse, message: "You invoked an unsupported model or your request did not allow prompt caching.", omitted: CacheKey},
	{api: Converse, status: 403, message: "You invoked an unsupported model or your request did not allow prompt caching.", omitted: CacheKey},
}

// TestEachRefusalTeachesWhatItSays takes every row of the table once: the parts left out, and the notice to the user.
func TestEachRefusalTeachesWhatItSays(t *testing.T) {
	t.Parallel()
	covered := make([]bool, len(refusals))
	for _, tc := range lessons {
		d := detail{Message: tc.message, Code: tc.code}
		e := classify(cmp.Or(tc.status, 400), d, Request{})
		e.Status = cmp.Or(tc.status, 400)
		x := exchange(tc.api)
		_, notice := x.learn(e, Learned{})
		if got := x.Memory.Of("m").Omitted; got != tc.omitted || (notice != "") != (tc.notice != "") ||
			!strings.Contains(notice, tc.notice) {
			t.Errorf("%s: %b and %q, want %b and %q", tc.message, got, notice, tc.omitted, tc.notice)
		}
		for i, r := range refusals {
			if _, ok := patterns()[i].find(strings.ToLower(tc.message)); ok && r.is(tc.api, e) {
				covered[i] = true
			}
		}
	}
	for i, ok := range covered {
		if !ok {
			t.Errorf("no refusal is tried for %+v", refusals[i])
		}
	}
}

// TestWhatMakesNoOtherRequestIsNotLearned: a refusal that comes again is final.
func TestWhatMakesNoOtherRequestIsNotLearned(t *testing.T) {
	t.Parallel()
	x := exchange(Chat)
	e := &provider.Error{Kind: provider.KindInvalid, Status: 400, Message: "temperature: no"}
	if ok, _ := x.learn(e, x.Memory.Of("m")); !ok {
		t.Fatal("nothing is learned")
	}
	if ok, notice := x.learn(e, x.Memory.Of("m")); ok || notice != "" {
		t.Errorf("learned twice, %q", notice)
	}
}

// TestNamedToolsFallBackOneByOne: first to the plain form of the schema, then they
// are left out, and the user is notified.
func TestNamedToolsFallBackOneByOne(t *testing.T) {
	t.Parallel()
	x := exchange(Gemini)
	for i, tc := range []struct {
		named      string
		read, edit SchemaForm
		notice     string
	}{
		{"function_declarations[1] and function_declarations[1]", SchemaWhole, SchemaPlain, ""},
		{"functionDeclarations[0]", SchemaPlain, SchemaPlain, ""},
		{"functionDeclarations[0]", SchemaNone, SchemaPlain,
			"m refuses the schema of read: left out, the model cannot call it"},
		{"functionDeclarations[0]", SchemaNone, SchemaNone,
			"m refuses the schema of edit: left out, the model cannot call it"},
	} {
		e := &provider.Error{Kind: provider.KindInvalid, Status: 400, Message: tc.named}
		ok, notice := x.learn(e, x.Memory.Of("m"))
		l := x.Memory.Of("m")
		if !ok || notice != tc.notice || l.Schema("read") != tc.read || l.Schema("edit") != tc.edit {
			t.Errorf("step %d: %v %q %v %v", i, ok, notice, l.Schema("read"), l.Schema("edit"))
		}
	}
}
