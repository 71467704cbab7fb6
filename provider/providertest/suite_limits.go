package providertest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"artoo/provider"
)

// testLeaks plays proxies and servers that quote the request. No error
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

// testLong plays a task of 80 steps. Each request begins with the one
// before, grows by no more than the step, and costs in proportion to its size.
func testLong(t *testing.T, w Wire) {
	const steps = 80
	s := Serve(t, ToolLoop(w.Build, steps, "read", `{"path":"go.mod"}`, "Done."))
	p := s.connect(w, Config{})
	req := question()
	cost := make([]uint64, steps+1)
	for i := range cost {
		before := allocated()
		r := Collect(p.Stream(t.Context(), req))
		cost[i] = allocated() - before
		if err := r.Check(); err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		req.Messages = append(req.Messages, r.Done.Message)
		for _, c := range r.Done.Message.Calls() {
			req.Messages = append(req.Messages, result(c, "module artoo"))
		}
		if done := len(r.Done.Message.Calls()) == 0; done != (i == steps) {
			t.Fatalf("step %d: the end came: %v", i, done)
		}
	}
	var sizes []int
	var last []byte
	for i, seen := range s.Requests() {
		now := w.Unmark(seen.Body)
		if !bytes.HasPrefix(now, bytes.TrimRight(last, "]}")) {
			t.Fatalf("request %d is no prefix of the next", i-1)
		}
		last = now
		sizes = append(sizes, len(now))
	}
	if err := w.Validate(s.Requests()[steps].Body); err != nil {
		t.Error(err)
	}
	early, late := sizes[20]-sizes[10], sizes[steps]-sizes[steps-10]
	if late > early+early/4 {
		t.Errorf("ten steps add %d bytes at first and %d at last", early, late)
	}
	sum := func(from, to int) (n uint64) {
		for _, c := range cost[from:to] {
			n += c
		}
		return n
	}
	// Twice the history may cost twice, and the same again for noise.
	if half, all := sum(steps/2-10, steps/2), sum(steps-10, steps); all > 4*half {
		t.Errorf("ten requests allocate %d bytes after %d steps and %d after %d", half, steps/2, all, steps)
	}
}

// testHTTP2 plays the faults that look different there: a reply is one of many
// streams of a connection, and ends without ending it.
func testHTTP2(t *testing.T, w Wire) {
	whole := w.Build(Reason("hm"), Text("Hello", " world"), Call("c1", "read", `{"path":"a"}`))
	ask := func(t *testing.T, s *Server, cfg Config, replies int) Result {
		t.Helper()
		p := s.connect(w, cfg)
		var r Result
		for range replies {
			r = Collect(p.Stream(t.Context(), question()))
			if err := r.Check(); err != nil {
				t.Error(err)
			}
		}
		for _, seen := range s.Requests() {
			if seen.Proto != "HTTP/2.0" {
				t.Errorf("spoke %s", seen.Proto)
			}
		}
		return r
	}
	t.Run("one connection, whatever happens", func(t *testing.T) {
		// The stream that hangs is given some seconds to end.
		synctest.Test(t, func(t *testing.T) {
			s := ServeTLSInMemory(t, Script(whole.InChunks(9), Fail(500, "api_error", "oops"), whole.Ends(Hang), whole))
			if r := ask(t, s, Config{}, 4); r.Err != nil || s.Connections() != 1 {
				t.Errorf("%d connections for four requests, want 1 (%v)", s.Connections(), r.Err)
			}
		})
	})
	for name, reply := range map[string]Reply{
		"dropped": Dropped(), "reset": whole.Events(3).Ends(Reset), "cut": whole.Events(3),
		"nothing": {ContentType: whole.ContentType},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(t, ServeTLS(t, Script(reply)), Config{}, 1)
			if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindNetwork || !e.Temporary() {
				t.Errorf("got %v, want a temporary error of kind network", r.Err)
			}
		})
	}
	for name, reply := range map[string]Reply{"silence before the head": Silent(),
		"silence in the reply": whole.Events(3).Ends(Hang)} {
		t.Run(name, func(t *testing.T) {
			r := ask(t, ServeTLS(t, Script(reply)), Config{Idle: 20 * time.Millisecond}, 1)
			if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindTimeout {
				t.Errorf("got %v, want a timeout", r.Err)
			}
		})
		t.Run("canceled in "+name, func(t *testing.T) {
			cancels(t, w, ServeTLS, reply)
		})
	}
}
