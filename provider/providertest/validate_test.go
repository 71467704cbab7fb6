package providertest_test

import (
	"slices"
	"strings"
	"testing"

	"artoo/provider/providertest"
)

// refusalTest is a body and the validator's error; "" for a good one.
type refusalTest struct{ name, wire, body, why string }

// These are the beginning of every body of the Responses API, and a turn of the user.
const (
	responsesHead = `"stream":true,"store":false,"include":["reasoning.encrypted_content"],`
	responsesUser = `{"role":"user","content":[{"type":"input_text","text":"x"}]}`
)

// responsesBody is a request of these items.
func responsesBody(head string, items ...string) string {
	return `{"model":"gpt-5",` + head + `"input":[` + strings.Join(items, ",") + `]}`
}

// responsesParameterTests are those of the parameters of the Responses API.
func responsesParameterTests() []refusalTest {
	const head, user = responsesHead, responsesUser
	with, swap := responsesBody, strings.Replace
	return []refusalTest{
		{"responses: an older model", "responses", `{"model":"gpt-4.1","stream":true,"store":false,"input":[` +
			user + `]}`, ""},
		{"responses: stored", "responses", with(swap(head, "false", "true", 1), user), "store"},
		{"responses: nothing said of storing", "responses", with(swap(head, `"store":false,`, "", 1), user), "store"},
		{"responses: reasoning not asked for", "responses", with(`"stream":true,"store":false,`, user), "include"},
		{"responses: input not last", "responses", `{"model":"m","input":[` + user + `],` + head[:len(head)-1] +
			`}`, "last key"},
		{"responses: temperature", "responses", with(head+`"temperature":1,`, user), "temperature"},
		{"responses: short reply", "responses", with(head+`"max_output_tokens":5,`, user), "least"},
		{"responses: strict tool", "responses",
			with(head+
				`"tools":[{"type":"function","name":"n","parameters":{"type":"object","properties":{}},"strict":true}],`, user), "strict"},
		{"responses: strict by default", "responses",
			with(head+`"tools":[{"type":"function","name":"n","parameters":{"type":"object","properties":{}}}],`,
				user), "strict"},
		{"responses: a schema without a type", "responses",
			with(head+`"tools":[{"type":"function","name":"n","strict":false,"parameters":{}}],`, user), "type is none"},
		{"responses: a schema without properties", "responses",
			with(head+`"tools":[{"type":"function","name":"n","strict":false,"parameters":{"type":"object"}}],`, user),
			"missing properties"},
		{"responses: a choice at the root", "responses",
			with(head+
				`"tools":[{"type":"function","name":"n","strict":false,"parameters":{"type":"object","properties":{},"anyOf":[]}}],`, user), "top level"},
		{"responses: a list of nothing", "responses",
			with(head+
				`"tools":[{"type":"function","name":"n","strict":false,"parameters":{"type":"object","properties":{"a":{"anyOf":[{"type":["array","null"]}]}}}}],`, user), "missing items"},
		{"responses: a parameter nobody knows", "responses", with(head+`"max_tokens":99,`, user), "unknown field"},
		{"responses: long cache key", "responses", with(head+`"prompt_cache_key":"`+strings.Repeat("x", 65)+`",`, user),
			"longer than 64"},
	}
}

// responsesItemTests are those of the items of its input.
func responsesItemTests() []refusalTest {
	const (
		user    = responsesUser
		answer  = `{"type":"message","role":"assistant","id":"msg_1","status":"completed","phase":"final_answer","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"x"}]}`
		said    = `{"type":"message","role":"assistant","phase":"final_answer","content":"x"}`
		thought = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}`
		call    = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"n","arguments":"{}"}`
		other   = `{"type":"function_call","id":"fc_2","call_id":"c2","name":"n","arguments":"{}"}`
		output  = `{"type":"function_call_output","call_id":"c1","output":"x"}`
	)
	input := func(items ...string) string { return responsesBody(responsesHead, items...) }
	swap := strings.Replace
	return []refusalTest{
		{"responses: good", "responses", input(user, thought, call, output, swap(thought, "rs_1", "rs_2", 1),
			answer, user), ""},
		{"responses: parallel calls", "responses",
			input(user, thought, call, other, output, swap(output, "c1", "c2", 1)), ""},
		{"responses: lone reasoning", "responses", input(user, thought, user), "required following item"},
		{"responses: hollow reasoning", "responses", input(user, swap(thought, `"e"`, `""`, 1), answer, user),
			"its content"},
		{"responses: id of another kind", "responses", input(user, swap(call, "fc_1", "call_1", 1), output),
			"begins with 'fc'"},
		{"responses: long id", "responses", input(user, swap(answer, "msg_1", "msg_"+strings.Repeat("x", 64), 1),
			user), "64 long"},
		{"responses: no result", "responses", input(user, call), "without a result"},
		{"responses: late result", "responses", input(user, call, user, output), "comes before the results"},
		{"responses: result of nothing", "responses", input(user, output), "answers"},
		{"responses: call id twice", "responses", input(user, call, output, call, output), "used twice"},
		{"responses: arguments no string", "responses", input(user, swap(call, `"{}"`, `{}`, 1), output),
			"must be a string"},
		{"responses: arguments no object", "responses", input(user, swap(call, `"{}"`, `"[]"`, 1), output),
			"no JSON object"},
		{"responses: blank output", "responses", input(user, call, swap(output, `"x"`, `" "`, 1)), "blank"},
		{"responses: text of the wrong kind", "responses",
			input(user, swap(answer, "output_text", "input_text", 1), user), "input_text"},
		{"responses: a phase of its own", "responses",
			input(user, swap(answer, "final_answer", "musing", 1), user), "phase"},
		{"responses: an id twice", "responses", input(user, answer, user, answer, user), "duplicate item"},
		{"responses: the same call said twice", "responses",
			input(user, call, output, swap(call, "c1", "c2", 1), swap(output, "c1", "c2", 1)), "duplicate item"},
		{"responses: no ids at all", "responses",
			input(user, swap(thought, `"id":"rs_1",`, "", 1), swap(call, `"id":"fc_1",`, "", 1), output), ""},
		{"responses: reasoning alone without an id", "responses",
			input(user, swap(thought, `"id":"rs_1",`, "", 1), call, output), "missing required parameter: 'id'"},
		{"responses: plain words of the model", "responses", input(user, said, user), ""},
		{"responses: plain words with an id", "responses",
			input(user, swap(said, `"role"`, `"id":"msg_1","role"`, 1), user), "has none"},
		{"responses: a message without an id", "responses", input(user, swap(answer, `"id":"msg_1",`, "", 1), user),
			"has an id and a status"},
		{"responses: a message without a status", "responses",
			input(user, swap(answer, `"status":"completed",`, "", 1), user), "has an id and a status"},
		{"responses: a text without annotations", "responses",
			input(user, swap(answer, `"annotations":[],`, "", 1), user), "has annotations"},
		{"responses: a text without logprobs", "responses",
			input(user, swap(answer, `"logprobs":[],`, "", 1), user), "has annotations and logprobs"},
		{"responses: a status", "responses", input(user, swap(thought, `"id"`, `"status":"completed","id"`, 1),
			call, output), "unknown parameter: 'status'"},
		{"responses: a key nobody knows", "responses", input(swap(user, `"role"`, `"novel":1,"role"`, 1)), "unknown field"},
		{"responses: ends with the model", "responses", input(user, answer), "ends neither"},
	}
}

// anthropicTests are those of the Messages API.
func anthropicTests() []refusalTest {
	anthropic := func(messages string) string {
		return `{"model":"m","max_tokens":9,"stream":true,"messages":[` + messages + `]}`
	}
	const (
		user     = `{"role":"user","content":[{"type":"text","text":"x"}]}`
		use      = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]}`
		answered = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}]}]}`
	)
	return []refusalTest{
		{"good", "anthropic", anthropic(user + "," + use + "," + answered), ""},
		{"no stream", "anthropic", `{"model":"m","max_tokens":9,"messages":[` + user + `]}`, "stream false"},
		{"no reply length", "anthropic", `{"model":"m","stream":true,"messages":[` + user + `]}`, "max_tokens 0"},
		{"large budget", "anthropic",
			`{"model":"m","max_tokens":2000,"stream":true,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[` + user + `]}`, "budget"},
		{"thinking and temperature", "anthropic",
			`{"model":"m","max_tokens":9,"stream":true,"temperature":1,"thinking":{"type":"adaptive"},"messages":[` +
				user + `]}`, "temperature"},
		{"a loop without a thought", "anthropic",
			`{"model":"m","max_tokens":3000,"stream":true,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[` + user + `,` + use + `,` + answered + `]}`, "found `tool_use`"},
		{"an earlier loop without one", "anthropic",
			`{"model":"m","max_tokens":3000,"stream":true,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[` + user + `,` + use + `,` + answered + `,{"role":"assistant","content":[{"type":"text","text":"x"}]},` + user + `]}`, ""},
		{"bad tool name", "anthropic",
			`{"model":"m","max_tokens":9,"stream":true,"tools":[{"name":"a.b","input_schema":{}}],"messages":[` + user +
				`]}`, "character"},
		{"tool twice", "anthropic",
			`{"model":"m","max_tokens":9,"stream":true,"tools":[{"name":"a","input_schema":{}},{"name":"a","input_schema":{}}],"messages":[` + user + `]}`, "two tools"},
		{"two users", "anthropic", anthropic(user + "," + user), "take turns"},
		{"prefill", "anthropic", anthropic(user + `,{"role":"assistant","content":[{"type":"text","text":"x"}]}`),
			"does not end"},
		{"empty content", "anthropic", anthropic(`{"role":"user","content":[]}`), "no content"},
		{"blank text", "anthropic", anthropic(`{"role":"user","content":[{"type":"text","text":" \n"}]}`), "blank"},
		{"no result", "anthropic", anthropic(user + "," + use + "," + user), "without a result"},
		{"result of nothing", "anthropic", anthropic(answered), "answers no call"},
		{"result after text", "anthropic", anthropic(user + "," + use +
			`,{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a"}]}`),
			"after something else"},
		{"id twice", "anthropic", anthropic(user + "," + use + "," + answered + "," + use + "," + answered), "used twice"},
		{"input no object", "anthropic", anthropic(user +
			`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":"{}"}]},` + answered),
			"no JSON object"},
		{"thought without signature", "anthropic",
			anthropic(user + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]},` + user), "signature"},
		{"bad image", "anthropic",
			anthropic(
				`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AA=="}}]}`), "image"},
		{"five marks", "anthropic", anthropic(`{"role":"user","content":[` +
			strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5),
				",") + `]}`), "5 cache marks"},
	}
}

// chatTests are those of chat completions, and of any body at all.
func chatTests() []refusalTest {
	chat := func(messages string) string { return `{"model":"m","stream":true,"messages":[` + messages + `]}` }
	const (
		chatUser = `{"role":"user","content":"x"}`
		chatUse  = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"n","arguments":"{}"}}]}`
		chatTool = `{"role":"tool","tool_call_id":"a","content":"x"}`
	)
	return []refusalTest{
		{"good", "chat", chat(chatUser + "," + chatUse + "," + chatTool), ""},
		{"other wire", "novel", `{"messages":[]}`, "no validator"},
		{"no object", "chat", `[]`, "no JSON object"},
		{"messages not last", "chat", `{"model":"m","messages":[` + chatUser + `],"stream":true}`, "last key"},
		{"a key twice", "chat", `{"model":"m","model":"m","stream":true,"messages":[` + chatUser + `]}`, "stands twice"},
		{"invalid UTF-8", "chat", chat("{\"role\":\"user\",\"content\":\"\xff\"}"), "UTF-8"},
		{"half a surrogate", "chat", chat(`{"role":"user","content":"\ud83d x"}`), "surrogate"},
		{"a whole pair", "chat", chat(`{"role":"user","content":"\ud83d\ude00 \\ud83d"}`), ""},
		{"chat: no result", "chat", chat(chatUser + "," + chatUse), "without a result"},
		{"chat: late result", "chat", chat(chatUser + "," + chatUse + "," + chatUser + "," + chatTool),
			"comes before the results"},
		{"chat: result of nothing", "chat", chat(chatUser + "," + chatTool), "answers"},
		{"chat: empty content", "chat", chat(`{"role":"user","content":""}`), "blank"},
		{"chat: arguments no string", "chat",
			chat(chatUser + "," + strings.Replace(chatUse, `"{}"`, `{}`, 1) + "," + chatTool), "must be a string"},
		{"chat: arguments no object", "chat",
			chat(chatUser + "," + strings.Replace(chatUse, `"{}"`, `"[]"`, 1) + "," + chatTool), "no JSON object"},
		{"chat: says nothing", "chat", chat(chatUser + `,{"role":"assistant","content":null},` + chatUser),
			"neither content nor calls"},
		{"chat: late system", "chat", chat(chatUser + `,{"role":"system","content":"x"}`), "first message"},
		{"chat: ends with the model", "chat", chat(chatUser + `,{"role":"assistant","content":"x"}`), "ends neither"},
		{"chat: two limits", "chat",
			`{"model":"m","stream":true,"max_tokens":1,"max_completion_tokens":1,"messages":[` + chatUser + `]}`,
			"two limits"},
	}
}

// TestTheValidatorRefuses: a validator that likes everything would make every
// other test worthless.
func TestTheValidatorRefuses(t *testing.T) {
	t.Parallel()
	tests := slices.Concat(anthropicTests(), chatTests(), responsesParameterTests(), responsesItemTests(), geminiTests(),
		ollamaTests())
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			err := providertest.Validate(tc.wire, []byte(tc.body))
			switch {
			case tc.why == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.why != "" && (err == nil || !strings.Contains(err.Error(), tc.why)):
				t.Errorf("got %v, want something about %q", err, tc.why)
			}
		})
	}
}
