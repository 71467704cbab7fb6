package providertest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Gemini writes a reply in the form of streamGenerateContent. Calls come whole;
// the first one carries a signature. Arguments that are no JSON come as a
// string.
func Gemini(items ...Item) Reply {
	s := sortOut(items)
	var b strings.Builder
	event := func(candidate, rest string) {
		fmt.Fprintf(&b, "data: {\"candidates\":[{%s\"index\":0}]%s,\"modelVersion\":\"test-model\"}\n\n", candidate, rest)
	}
	part := func(p string) { event(`"content":{"role":"model","parts":[`+p+`]},`, "") }
	part(`{"text":""}`)
	calls := 0
	for _, it := range s.parts {
		switch it.kind {
		case "text":
			for _, p := range it.pieces {
				part(`{"text":` + quote(p) + `}`)
			}
		case "reason":
			for _, p := range it.pieces {
				part(`{"text":` + quote(p) + `,"thought":true}`)
			}
		case "call":
			part(geminiCall(it, calls))
			calls++
		}
	}
	stop := s.stop
	if stop == "" {
		stop = "STOP"
	}
	usage := ""
	if u := s.usage; u != nil {
		usage = fmt.Sprintf(`,"usageMetadata":{"promptTokenCount":%d,"cachedContentTokenCount":%d,"candidatesTokenCount":%d,"thoughtsTokenCount":%d,"totalTokenCount":%d}`,
			u.Prompt(), u.CacheRead, u.Output-u.Reasoning, u.Reasoning, u.Total())
	}
	event(`"finishReason":`+quote(stop)+`,`, usage)
	return Stream(b.String()).With("X-Request-Id", "req_test")
}

func geminiCall(it Item, n int) string {
	id, args, signature := "", "", ""
	if it.id != "" {
		id = `"id":` + quote(it.id) + `,`
	}
	if raw := strings.Join(it.pieces, ""); raw != "" {
		if !json.Valid([]byte(raw)) {
			raw = quote(raw)
		}
		args = `,"args":` + raw
	}
	if n == 0 {
		signature = `,"thoughtSignature":"sig+/0=="`
	}
	return fmt.Sprintf(`{"functionCall":{%s"name":%s%s}%s}`, id, quote(it.name), args, signature)
}
