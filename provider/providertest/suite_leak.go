package providertest

import (
	"fmt"
	"strings"
	"testing"

	"artoo/provider"
)

// testLeaks plays proxies and servers that quote what they were sent. No error
// may show the key, nor the first half of it where a long text was cut.
func testLeaks(t *testing.T, w Wire) {
	const key = "key-0123456789"
	quoted := "refused: Authorization: Bearer " + key + ", X-Api-Key: " + key
	far := func(n int) string { return strings.Repeat("x", n) + " " + key } // cut within the key
	begun := w.Build(Text("Hello"))
	for name, reply := range map[string]Reply{
		"message":        Fail(401, "authentication_error", quoted),
		"type":           Fail(400, key, "no"),
		"page":           Page(403, quoted),
		"a page cut":     Page(502, far(154)),
		"200 page":       Page(200, far(154)),
		"text":           {Status: 400, ContentType: "text/plain", Body: []byte(far(189))},
		"router":         JSON(502, fmt.Sprintf(`{"error":{"message":"upstream","metadata":{"raw":%q}}}`, far(580))),
		"another object": JSON(200, fmt.Sprintf(`{"hello":%q}`, far(560))),
		"request id":     Fail(500, "api_error", "no").With("X-Request-Id", "for "+key),
		"redirect": {Status: 307, Header: map[string][]string{"Location": {"https://h.example/" + key + "?" + key +
			"#" + key}}},
		"in the stream":   begun.Break(2, "server_error", quoted),
		"no JSON at all":  Stream("data: {" + key + "\n\n"),
		"very long":       Fail(400, "invalid_request_error", strings.Repeat("word ", 10_000)+key),
		"spread by lines": Fail(400, "invalid_request_error", "a\n\n"+key+"\n\nb"),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, w, Config{}, reply)
			e := provider.AsError(b.ask(t, question()).Err)
			if e == nil {
				t.Fatal("no error")
			}
			shown := fmt.Sprintf("%v|%s|%s|%s|%s", e, e.Message, e.Code, e.Hint, e.RequestID)
			if strings.Contains(shown, key[:8]) {
				t.Errorf("the key shows: %s", shown)
			}
			if len(shown) > 4000 || strings.ContainsAny(e.Message, "\n\r") {
				t.Errorf("a message of %d bytes or several lines", len(e.Message))
			}
		})
	}
}
