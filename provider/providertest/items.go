package providertest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"artoo/provider"
)

// Item is a piece of a scripted reply. Anthropic, Chat, Responses, Gemini, Converse and Ollama write
// lists of them in their wire's form, with a fitting stop reason.
type Item struct {
	kind     string
	pieces   []string
	id, name string
	usage    provider.Usage
}

// Text is a part of the answer, one delta per piece.
func Text(pieces ...string) Item { return Item{kind: "text", pieces: pieces} }

// Reason is a part of the reasoning, one delta per piece.
func Reason(pieces ...string) Item { return Item{kind: "reason", pieces: pieces} }

// Call is a tool call; args is its JSON, which is sent in two pieces. Several
// in a row are parallel calls.
func Call(id, name, args string) Item {
	return Item{kind: "call", id: id, name: name, pieces: halves(args)}
}

// Usage is the usage that the reply reports; without it a small count is reported.
func Usage(u provider.Usage) Item { return Item{kind: "usage", usage: u} }

// NoUsage makes the reply report no usage at all.
func NoUsage() Item { return Item{kind: "nousage"} }

// Stop is the stop reason in the wire's own word.
func Stop(word string) Item { return Item{kind: "stop", name: word} }

func halves(s string) []string {
	if len(s) < 2 {
		return []string{s}
	}
	return []string{s[:len(s)/2], s[len(s)/2:]}
}

var usual = provider.Usage{Input: 10, Output: 5}

type script struct {
	parts []Item
	calls int
	usage *provider.Usage
	stop  string
}

func sortOut(items []Item) script {
	u := usual
	s := script{usage: &u}
	for _, it := range items {
		switch it.kind {
		case "usage":
			u := it.usage
			s.usage = &u
		case "nousage":
			s.usage = nil
		case "stop":
			s.stop = it.name
		case "call":
			s.calls++
			s.parts = append(s.parts, it)
		default:
			s.parts = append(s.parts, it)
		}
	}
	return s
}

func (s script) write(text, reason func(piece string), call func(n int, it Item)) {
	calls := 0
	for _, it := range s.parts {
		if it.kind == "call" {
			call(calls, it)
			calls++
			continue
		}
		one := text
		if it.kind == "reason" {
			one = reason
		}
		for _, p := range it.pieces {
			one(p)
		}
	}
}

// word is the word for the end: plain, or that for calls where there are some.
func (s script) word(plain, calls string) string {
	if s.calls > 0 {
		plain = calls
	}
	return cmp.Or(s.stop, plain)
}

// wholeCall is the fields of a call that comes at once. Arguments that are no JSON
// come as a string.
func (it Item) wholeCall(args string) (id, rest string) {
	if it.id != "" {
		id = `"id":` + quote(it.id) + `,`
	}
	rest = `"name":` + quote(it.name)
	if raw := strings.Join(it.pieces, ""); raw != "" {
		if !json.Valid([]byte(raw)) {
			raw = quote(raw)
		}
		rest += `,"` + args + `":` + raw
	}
	return id, rest
}

func quote(s string) string {
	b, err := provider.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(b)
}

// Anthropic writes a reply in the form of the Messages API.
func Anthropic(items ...Item) Reply {
	s := sortOut(items)
	var b strings.Builder
	event := func(name, rest string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", name, name, rest)
	}
	start := ""
	if s.usage != nil {
		start = fmt.Sprintf(
			`,"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":1}`,
			s.usage.Input, s.usage.CacheRead, s.usage.CacheWrite)
	}
	event("message_start",
		`,"message":{"id":"msg_1","type":"message","role":"assistant","model":"test-model","content":[],"stop_reason":null`+start+`}`)
	for i, it := range s.parts {
		anthropicBlock(event, i, it)
	}
	end := ""
	if s.usage != nil {
		end = fmt.Sprintf(`,"usage":{"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d}}`, s.usage.Output,
			s.usage.Reasoning)
	}
	event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null}%s`,
		s.word("end_turn", "tool_use"), end))
	event("message_stop", "")
	return Stream(b.String()).With("Request-Id", "req_test")
}

func anthropicBlock(event func(name, rest string), i int, it Item) {
	start := func(block string) {
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, i, block))
	}
	grow := func(kind, field, piece string) {
		event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":%q,%q:%s}`, i, kind, field, quote(piece)))
	}
	switch it.kind {
	case "text":
		start(`{"type":"text","text":""}`)
		for _, p := range it.pieces {
			grow("text_delta", "text", p)
		}
	case "reason":
		start(`{"type":"thinking","thinking":"","signature":""}`)
		for _, p := range it.pieces {
			grow("thinking_delta", "thinking", p)
		}
		grow("signature_delta", "signature", fmt.Sprintf("sig+/%d==", i))
	case "call":
		start(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quote(it.id), quote(it.name)))
		for _, p := range it.pieces {
			grow("input_json_delta", "partial_json", p)
		}
	}
	event("content_block_stop", fmt.Sprintf(`,"index":%d`, i))
}

// Chat writes a reply in the form of Chat Completions.
func Chat(items ...Item) Reply {
	s := sortOut(items)
	var b strings.Builder
	chunk := func(choices, rest string) {
		fmt.Fprintf(&b,
			"data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"test-model\",\"choices\":[%s]%s}\n\n", choices, rest)
	}
	delta := func(d string) { chunk(`{"index":0,"delta":`+d+`,"finish_reason":null}`, "") }
	delta(`{"role":"assistant","content":null}`)
	s.write(func(p string) { delta(`{"content":` + quote(p) + `}`) },
		func(p string) { delta(`{"reasoning_content":` + quote(p) + `}`) },
		func(n int, it Item) { chatCall(delta, n, it) })
	chunk(`{"index":0,"delta":{},"finish_reason":`+quote(s.word("stop", "tool_calls"))+`}`, "")
	if s.usage != nil {
		u := s.usage
		chunk("",
			fmt.Sprintf(
				`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
				u.Prompt(), u.Output, u.Total(), u.CacheRead, u.CacheWrite, u.Reasoning))
	}
	b.WriteString("data: [DONE]\n\n")
	return Stream(b.String()).With("X-Request-Id", "req_test")
}

func chatCall(delta func(string), index int, it Item) {
	delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`,
		index, quote(it.id), quote(it.name)))
	for _, p := range it.pieces {
		delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, index, quote(p)))
	}
}

// errorBody is the usual form of an error document, of all these wires.
func errorBody(kind, message string) string {
	b, err := json.Marshal(map[string]any{"type": "error",
		"error": map[string]any{"type": kind, "code": kind, "message": message}})
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

// Fail is an error reply with a status, in the form of all these wires.
func Fail(status int, kind, message string) Reply { return JSON(status, errorBody(kind, message)) }

const lines = "application/x-ndjson"

func (r Reply) end() string {
	if r.ContentType == lines {
		return "\n"
	}
	return "\n\n"
}

// Events keeps the first n events of a stream, or all but the last -n.
func (r Reply) Events(n int) Reply {
	events := r.split()
	if n < 0 {
		n = len(events) + n
	}
	r.Body = []byte(strings.Join(events[:min(max(n, 0), len(events))], ""))
	return r
}

// split is the reply's events, each with its end but the last.
func (r Reply) split() (events []string) {
	if r.ContentType != frames {
		return strings.SplitAfter(strings.TrimSuffix(string(r.Body), r.end()), r.end())
	}
	for rest := string(r.Body); len(rest) > 4; {
		n := min(int(binary.BigEndian.Uint32([]byte(rest[:4]))), len(rest))
		events, rest = append(events, rest[:n]), rest[n:]
	}
	return events
}

// Break ends a stream with an error event after its first n events.
func (r Reply) Break(n int, kind, message string) Reply {
	r = r.Events(n)
	if r.ContentType == frames {
		r.Body = append(r.Body, eventFrame("exception", kind, `{"message":`+quote(message)+`}`)...)
		return r
	}
	head := "event: error\ndata: "
	if r.ContentType == lines {
		head = ""
	}
	r.Body = append(r.Body, head+errorBody(kind, message)+r.end()...)
	return r
}

const frames = "application/vnd.amazon.eventstream"

// eventFrame is a message of AWS's event stream.
func eventFrame(kind, name, payload string) []byte {
	field := ":event-type"
	if kind == "exception" {
		field = ":exception-type"
	}
	var m eventstream.Message
	m.Headers.Set(":message-type", eventstream.StringValue(kind))
	m.Headers.Set(field, eventstream.StringValue(name))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	m.Payload = []byte(payload)
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		panic(err) // only a message above 16 MiB
	}
	return b.Bytes()
}

// replace changes the words of a reply.
func (r Reply) replace(from, to string) Reply {
	if r.ContentType != frames {
		r.Body = bytes.ReplaceAll(r.Body, []byte(from), []byte(to))
		return r
	}
	var b bytes.Buffer
	for _, event := range r.split() {
		m, err := eventstream.NewDecoder().Decode(strings.NewReader(event), nil)
		if err != nil {
			panic(err) // only of a reply that was changed otherwise
		}
		b.Write(eventFrame(m.Headers.Get(":message-type").String(), m.Headers.Get(":event-type").String(),
			strings.ReplaceAll(string(m.Payload), from, to)))
	}
	r.Body = b.Bytes()
	return r
}

// Converse writes a reply in the form of Bedrock's ConverseStream.
func Converse(items ...Item) Reply {
	s := sortOut(items)
	var b bytes.Buffer
	event := func(name, payload string) { b.Write(eventFrame("event", name, payload)) }
	event("messageStart", `{"role":"assistant"}`)
	for i, it := range s.parts {
		converseBlock(event, i, it)
	}
	event("messageStop", `{"stopReason":`+quote(s.word("end_turn", "tool_use"))+`}`)
	usage := ""
	if u := s.usage; u != nil {
		usage = fmt.Sprintf(`"usage":{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d,"cacheReadInputTokens":%d,"cacheWriteInputTokens":%d},`,
			u.Input, u.Output, u.Total(), u.CacheRead, u.CacheWrite)
	}
	event("metadata", `{`+usage+`"metrics":{"latencyMs":7},"p":"abcdefgh"}`)
	return Reply{ContentType: frames, Body: b.Bytes()}.With("X-Amzn-Requestid", "req_test")
}

func converseBlock(event func(name, payload string), i int, it Item) {
	grow := func(delta string) {
		event("contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":%s,"p":"abcd"}`, i, delta))
	}
	switch it.kind {
	case "text":
		for _, p := range it.pieces {
			grow(`{"text":` + quote(p) + `}`)
		}
	case "reason":
		for _, p := range it.pieces {
			grow(`{"reasoningContent":{"text":` + quote(p) + `}}`)
		}
		grow(fmt.Sprintf(`{"reasoningContent":{"signature":"sig+/%d=="}}`, i))
	case "call":
		event("contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"start":{"toolUse":{"toolUseId":%s,"name":%s}}}`,
			i, quote(it.id), quote(it.name)))
		for _, p := range it.pieces {
			grow(`{"toolUse":{"input":` + quote(p) + `}}`)
		}
	}
	event("contentBlockStop", fmt.Sprintf(`{"contentBlockIndex":%d}`, i))
}

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

// Gemini writes a reply in the form of streamGenerateContent. Calls come whole;
// the first one carries a signature.
func Gemini(items ...Item) Reply {
	s := sortOut(items)
	var b strings.Builder
	event := func(candidate, rest string) {
		fmt.Fprintf(&b, "data: {\"candidates\":[{%s\"index\":0}]%s,\"modelVersion\":\"test-model\"}\n\n", candidate, rest)
	}
	part := func(p string) { event(`"content":{"role":"model","parts":[`+p+`]},`, "") }
	part(`{"text":""}`)
	s.write(func(p string) { part(`{"text":` + quote(p) + `}`) },
		func(p string) { part(`{"text":` + quote(p) + `,"thought":true}`) },
		func(n int, it Item) {
			id, rest := it.wholeCall("args")
			signature := ""
			if n == 0 {
				signature = `,"thoughtSignature":"sig+/0=="`
			}
			part(`{"functionCall":{` + id + rest + `}` + signature + `}`)
		})
	usage := ""
	if u := s.usage; u != nil {
		usage = fmt.Sprintf(
			`,"usageMetadata":{"promptTokenCount":%d,"cachedContentTokenCount":%d,"candidatesTokenCount":%d,"thoughtsTokenCount":%d,"totalTokenCount":%d}`,
			u.Prompt(), u.CacheRead, u.Output-u.Reasoning, u.Reasoning, u.Total())
	}
	event(`"finishReason":`+quote(s.word("STOP", "STOP"))+`,`, usage)
	return Stream(b.String()).With("X-Request-Id", "req_test")
}
