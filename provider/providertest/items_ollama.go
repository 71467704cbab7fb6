package providertest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Ollama writes a reply in the form of /api/chat: one object a line. Calls come
// whole.
func Ollama(items ...Item) Reply {
	s := sortOut(items)
	var b strings.Builder
	line := func(message, rest string) {
		fmt.Fprintf(&b,
			`{"model":"test-model","created_at":"2026-01-02T03:04:05.%09dZ","message":{"role":"assistant",%s}%s}`+"\n",
			b.Len(), message, rest)
	}
	line(`"content":""`, `,"done":false`)
	s.write(func(p string) { line(`"content":`+quote(p), `,"done":false`) },
		func(p string) { line(`"content":"","thinking":`+quote(p), `,"done":false`) },
		func(_ int, it Item) {
			id, rest := it.wholeCall("arguments")
			line(`"content":"","tool_calls":[{`+id+`"function":{`+rest+`}}]`, `,"done":false`)
		})
	usage := ""
	if u := s.usage; u != nil {
		usage = fmt.Sprintf(`,"total_duration":5,"load_duration":1,"prompt_eval_count":%d,"eval_count":%d`, u.Prompt(),
			u.Output)
	}
	line(`"content":""`, `,"done":true,"done_reason":`+quote(s.word("stop", "stop"))+usage)
	return Reply{ContentType: lines, Body: []byte(b.String())}.With("X-Request-Id", "req_test")
}

// OllamaShow is the answer of /api/show for a model with the given window and
// capabilities (tools, thinking, vision, …).
func OllamaShow(window int, capabilities ...string) Reply {
	if capabilities == nil {
		capabilities = []string{}
	}
	list, err := json.Marshal(capabilities)
	if err != nil {
		panic(err) // strings always marshal
	}
	return JSON(200,
		fmt.Sprintf(
			`{"details":{"family":"test"},"model_info":{"general.architecture":"test","test.context_length":%d},"capabilities":%s}`, window, list))
}
