package providertest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Ollama writes a reply in the form of /api/chat: one object a line. Calls come
// whole. Arguments that are no JSON come as a string.
func Ollama(items ...Item) Reply {
	s := sortOut(items)
	var b strings.Builder
	line := func(message, rest string) {
		fmt.Fprintf(&b, `{"model":"test-model","created_at":"2026-01-02T03:04:05.%09dZ","message":{"role":"assistant",%s}%s}`+"\n", b.Len(), message, rest)
	}
	line(`"content":""`, `,"done":false`)
	for _, it := range s.parts {
		switch it.kind {
		case "text":
			for _, p := range it.pieces {
				line(`"content":`+quote(p), `,"done":false`)
			}
		case "reason":
			for _, p := range it.pieces {
				line(`"content":"","thinking":`+quote(p), `,"done":false`)
			}
		case "call":
			line(`"content":"","tool_calls":[`+ollamaCall(it)+`]`, `,"done":false`)
		}
	}
	stop, usage := s.stop, ""
	if stop == "" {
		stop = "stop"
	}
	if u := s.usage; u != nil {
		usage = fmt.Sprintf(`,"total_duration":5,"load_duration":1,"prompt_eval_count":%d,"eval_count":%d`, u.Prompt(), u.Output)
	}
	line(`"content":""`, `,"done":true,"done_reason":`+quote(stop)+usage)
	return Reply{ContentType: lines, Body: []byte(b.String())}.With("X-Request-Id", "req_test")
}

func ollamaCall(it Item) string {
	id, args := "", ""
	if it.id != "" {
		id = `"id":` + quote(it.id) + `,`
	}
	if raw := strings.Join(it.pieces, ""); raw != "" {
		if !json.Valid([]byte(raw)) {
			raw = quote(raw)
		}
		args = `,"arguments":` + raw
	}
	return fmt.Sprintf(`{%s"function":{"name":%s%s}}`, id, quote(it.name), args)
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
	return JSON(200, fmt.Sprintf(`{"details":{"family":"test"},"model_info":{"general.architecture":"test","test.context_length":%d},"capabilities":%s}`, window, list))
}
