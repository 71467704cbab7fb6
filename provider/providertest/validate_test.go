package providertest_test

import (
	"strings"
	"testing"

	"artoo/provider/providertest"
)

// TestTheValidatorRefuses: a validator that likes everything would make every
// other test worthless.
func TestTheValidatorRefuses(t *testing.T) {
	anthropic := func(messages string) string {
		return `{"model":"m","max_tokens":9,"stream":true,"messages":[` + messages + `]}`
	}
	chat := func(messages string) string { return `{"model":"m","stream":true,"messages":[` + messages + `]}` }
	const (
		user     = `{"role":"user","content":[{"type":"text","text":"x"}]}`
		use      = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]}`
		answered = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}]}]}`
		chatUser = `{"role":"user","content":"x"}`
		chatUse  = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"n","arguments":"{}"}}]}`
		chatTool = `{"role":"tool","tool_call_id":"a","content":"x"}`
	)
	tests := []struct{ name, wire, body, why string }{
		{"good", "anthropic", anthropic(user + "," + use + "," + answered), ""},
		{"good", "chat", chat(chatUser + "," + chatUse + "," + chatTool), ""},
		{"other wire", "novel", `{"messages":[]}`, "no validator"},
		{"no object", "chat", `[]`, "no JSON object"},
		{"messages not last", "chat", `{"model":"m","messages":[` + chatUser + `],"stream":true}`, "last key"},
		{"a key twice", "chat", `{"model":"m","model":"m","stream":true,"messages":[` + chatUser + `]}`, "stands twice"},
		{"invalid UTF-8", "chat", chat("{\"role\":\"user\",\"content\":\"\xff\"}"), "UTF-8"},
		{"half a surrogate", "chat", chat(`{"role":"user","content":"\ud83d x"}`), "surrogate"},
		{"a whole pair", "chat", chat(`{"role":"user","content":"\ud83d\ude00 \\ud83d"}`), ""},
		{"no stream", "anthropic", `{"model":"m","max_tokens":9,"messages":[` + user + `]}`, "stream false"},
		{"no reply length", "anthropic", `{"model":"m","stream":true,"messages":[` + user + `]}`, "max_tokens 0"},
		{"large budget", "anthropic", `{"model":"m","max_tokens":2000,"stream":true,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[` + user + `]}`, "budget"},
		{"thinking and temperature", "anthropic", `{"model":"m","max_tokens":9,"stream":true,"temperature":1,"thinking":{"type":"adaptive"},"messages":[` + user + `]}`, "temperature"},
		{"bad tool name", "anthropic", `{"model":"m","max_tokens":9,"stream":true,"tools":[{"name":"a.b","input_schema":{}}],"messages":[` + user + `]}`, "character"},
		{"tool twice", "anthropic", `{"model":"m","max_tokens":9,"stream":true,"tools":[{"name":"a","input_schema":{}},{"name":"a","input_schema":{}}],"messages":[` + user + `]}`, "two tools"},
		{"two users", "anthropic", anthropic(user + "," + user), "take turns"},
		{"prefill", "anthropic", anthropic(user + `,{"role":"assistant","content":[{"type":"text","text":"x"}]}`), "does not end"},
		{"empty content", "anthropic", anthropic(`{"role":"user","content":[]}`), "no content"},
		{"blank text", "anthropic", anthropic(`{"role":"user","content":[{"type":"text","text":" \n"}]}`), "blank"},
		{"no result", "anthropic", anthropic(user + "," + use + "," + user), "without a result"},
		{"result of nothing", "anthropic", anthropic(answered), "answers no call"},
		{"result after text", "anthropic", anthropic(user + "," + use + `,{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a"}]}`), "after something else"},
		{"id twice", "anthropic", anthropic(user + "," + use + "," + answered + "," + use + "," + answered), "used twice"},
		{"input no object", "anthropic", anthropic(user + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":"{}"}]},` + answered), "no JSON object"},
		{"thought without signature", "anthropic", anthropic(user + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]},` + user), "signature"},
		{"bad image", "anthropic", anthropic(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AA=="}}]}`), "image"},
		{"five marks", "anthropic", anthropic(`{"role":"user","content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5), ",") + `]}`), "5 cache marks"},
		{"chat: no result", "chat", chat(chatUser + "," + chatUse), "without a result"},
		{"chat: late result", "chat", chat(chatUser + "," + chatUse + "," + chatUser + "," + chatTool), "comes before the results"},
		{"chat: result of nothing", "chat", chat(chatUser + "," + chatTool), "answers"},
		{"chat: empty content", "chat", chat(`{"role":"user","content":""}`), "blank"},
		{"chat: arguments no string", "chat", chat(chatUser + "," + strings.Replace(chatUse, `"{}"`, `{}`, 1) + "," + chatTool), "must be a string"},
		{"chat: arguments no object", "chat", chat(chatUser + "," + strings.Replace(chatUse, `"{}"`, `"[]"`, 1) + "," + chatTool), "no JSON object"},
		{"chat: says nothing", "chat", chat(chatUser + `,{"role":"assistant","content":null},` + chatUser), "neither content nor calls"},
		{"chat: late system", "chat", chat(chatUser + `,{"role":"system","content":"x"}`), "first message"},
		{"chat: ends with the model", "chat", chat(chatUser + `,{"role":"assistant","content":"x"}`), "ends neither"},
		{"chat: two limits", "chat", `{"model":"m","stream":true,"max_tokens":1,"max_completion_tokens":1,"messages":[` + chatUser + `]}`, "two limits"},
	}
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
