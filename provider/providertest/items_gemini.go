package providertest

import (
	"fmt"
	"strings"
)

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
