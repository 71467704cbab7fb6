package providertest_test

import "strings"

// ollamaTests are those of Ollama's own API.
func ollamaTests() []refusalTest {
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
	return []refusalTest{
		{"ollama: good", "ollama", chat(`{"role":"system","content":"s"},` + user + "," + call + "," + answer), ""},
		{"ollama: messages not last", "ollama", `{"model":"m","stream":true,"truncate":false,"shift":false,"messages":[` + user +
			`],"tools":[]}`, "last key"},
		{"ollama: no stream", "ollama", `{"model":"m","truncate":false,"shift":false,"messages":[` + user + `]}`, "no stream"},
		{"ollama: may cut", "ollama", `{"model":"m","stream":true,"shift":false,"messages":[` + user + `]}`, "in silence"},
		{"ollama: may shift", "ollama", `{"model":"m","stream":true,"truncate":false,"shift":true,"messages":[` + user + `]}`, "in silence"},
		{"ollama: reply fills the window", "ollama", head + `"options":{"num_ctx":4096,"num_predict":4096},"messages":[` + user + `]}`,
			"in a window of 4096"},
		{"ollama: think", "ollama", head + `"think":"off","messages":[` + user + `]}`, "think is"},
		{"ollama: keep alive", "ollama", head + `"keep_alive":"30","messages":[` + user + `]}`, "missing unit"},
		{"ollama: no messages", "ollama", chat(``), "ends neither"},
		{"ollama: ends with the model", "ollama", chat(user + `,{"role":"assistant","content":"x"}`), "ends neither"},
		{"ollama: model twice", "ollama", chat(user + `,{"role":"assistant","content":"x"},{"role":"assistant","content":"x"},` + user),
			"twice in a row"},
		{"ollama: late system", "ollama", chat(user + `,{"role":"system","content":"x"},` + user), "first message"},
		{"ollama: blank", "ollama", chat(`{"role":"user","content":" "}`), "blank"},
		{"ollama: another role", "ollama", chat(`{"role":"developer","content":"x"}`), "unknown role"},
		{"ollama: no result", "ollama", chat(user + "," + call + "," + user), "comes before the results"},
		{"ollama: no result at the end", "ollama", chat(user + "," + call), "without a result"},
		{"ollama: result of another", "ollama", chat(user + "," + call + "," +
			strings.Replace(answer, `"tool_call_id":"a"`, `"tool_call_id":"b"`, 1)), "answers"},
		{"ollama: id twice", "ollama", chat(user + "," + call + "," + answer + "," + call + "," + answer), "used twice"},
		{"ollama: arguments in a string", "ollama", chat(user + "," + strings.Replace(call, `{}`, `"{}"`, 1) + "," + answer),
			"no JSON object"},
		{"ollama: index", "ollama", chat(user + "," + strings.Replace(call, `"index":0`, `"index":1`, 1) + "," + answer), "has the index"},
		{"ollama: image address", "ollama", chat(`{"role":"user","content":"x","images":["data:image/png;base64,AA=="]}`), "no base64"},
		{"ollama: reasoning of the user", "ollama", chat(`{"role":"user","content":"x","thinking":"y"}`), "reasoning"},
		{"ollama: parameters without properties", "ollama", declare(`{"type":"object"}`), "are no object"},
		{"ollama: a property that is none", "ollama", declare(`{"type":"object","properties":{"a":true}}`), "cannot unmarshal"},
		{"ollama: required without a name", "ollama", declare(`{"type":"object","properties":{"a":{"type":"string","required":true}}}`),
			"cannot unmarshal"},
		{"ollama: a choice that is no schema", "ollama", declare(`{"type":"object","properties":{"a":{"anyOf":[true]}}}`),
			"cannot unmarshal"},
		{"ollama: types", "ollama",
			declare(
				`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":"array","items":true}}}`), ""},
		{"ollama: a list of types", "ollama", declare(`{"type":["object"],"properties":{}}`), "cannot unmarshal"},
	}
}
