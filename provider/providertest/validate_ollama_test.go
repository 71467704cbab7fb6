package providertest_test

import (
	"strings"
	"testing"

	"artoo/provider/providertest"
)

func TestTheOllamaValidatorRefuses(t *testing.T) {
	const head = `{"model":"m","stream":true,"truncate":false,"shift":false,`
	chat := func(messages string) string { return head + `"messages":[` + messages + `]}` }
	const (
		user   = `{"role":"user","content":"x"}`
		call   = `{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"index":0,"name":"n","arguments":{}}}]}`
		answer = `{"role":"tool","tool_name":"n","tool_call_id":"a","content":"x"}`
	)
	declare := func(parameters string) string {
		return head + `"tools":[{"type":"function","function":{"name":"n","parameters":` + parameters +
			`}}],"messages":[` + user + `]}`
	}
	for _, tc := range []struct{ name, body, why string }{
		{"good", chat(`{"role":"system","content":"s"},` + user + "," + call + "," + answer), ""},
		{"messages not last", `{"model":"m","stream":true,"truncate":false,"shift":false,"messages":[` + user +
			`],"tools":[]}`, "last key"},
		{"no stream", `{"model":"m","truncate":false,"shift":false,"messages":[` + user + `]}`, "no stream"},
		{"may cut", `{"model":"m","stream":true,"shift":false,"messages":[` + user + `]}`, "in silence"},
		{"may shift", `{"model":"m","stream":true,"truncate":false,"shift":true,"messages":[` + user + `]}`, "in silence"},
		{"reply fills the window", head + `"options":{"num_ctx":4096,"num_predict":4096},"messages":[` + user + `]}`,
			"in a window of 4096"},
		{"think", head + `"think":"off","messages":[` + user + `]}`, "think is"},
		{"keep alive", head + `"keep_alive":"30","messages":[` + user + `]}`, "missing unit"},
		{"no messages", chat(``), "ends neither"},
		{"ends with the model", chat(user + `,{"role":"assistant","content":"x"}`), "ends neither"},
		{"model twice", chat(user + `,{"role":"assistant","content":"x"},{"role":"assistant","content":"x"},` + user),
			"twice in a row"},
		{"late system", chat(user + `,{"role":"system","content":"x"},` + user), "first message"},
		{"blank", chat(`{"role":"user","content":" "}`), "blank"},
		{"another role", chat(`{"role":"developer","content":"x"}`), "unknown role"},
		{"no result", chat(user + "," + call + "," + user), "comes before the results"},
		{"no result at the end", chat(user + "," + call), "without a result"},
		{"result of another", chat(user + "," + call + "," +
			strings.Replace(answer, `"tool_call_id":"a"`, `"tool_call_id":"b"`, 1)), "answers"},
		{"id twice", chat(user + "," + call + "," + answer + "," + call + "," + answer), "used twice"},
		{"arguments in a string", chat(user + "," + strings.Replace(call, `{}`, `"{}"`, 1) + "," + answer),
			"no JSON object"},
		{"index", chat(user + "," + strings.Replace(call, `"index":0`, `"index":1`, 1) + "," + answer), "has the index"},
		{"image address", chat(`{"role":"user","content":"x","images":["data:image/png;base64,AA=="]}`), "no base64"},
		{"reasoning of the user", chat(`{"role":"user","content":"x","thinking":"y"}`), "reasoning"},
		{"parameters without properties", declare(`{"type":"object"}`), "are no object"},
		{"a property that is none", declare(`{"type":"object","properties":{"a":true}}`), "cannot unmarshal"},
		{"required without a name", declare(`{"type":"object","properties":{"a":{"type":"string","required":true}}}`),
			"cannot unmarshal"},
		{"a choice that is no schema", declare(`{"type":"object","properties":{"a":{"anyOf":[true]}}}`),
			"cannot unmarshal"},
		{"types",
			declare(
				`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":"array","items":true}}}`), ""},
		{"a list of types", declare(`{"type":["object"],"properties":{}}`), "cannot unmarshal"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := providertest.Validate(providertest.WireOllama, []byte(tc.body))
			switch {
			case tc.why == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.why != "" && (err == nil || !strings.Contains(err.Error(), tc.why)):
				t.Errorf("got %v, want something about %q", err, tc.why)
			}
		})
	}
}
