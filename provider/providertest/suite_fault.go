package providertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"artoo/provider"
)

func testStatuses(t *testing.T, w Wire) {
	tests := []struct {
		name  string
		reply Reply
		kind  provider.ErrorKind
		retry bool
		check func(*provider.Error) bool
	}{
		{"400", Fail(400, "invalid_request_error", "messages: no"), provider.KindInvalid, false, nil},
		{"401", Fail(401, "authentication_error", "bad key key-0123456789"), provider.KindAuth, false,
			func(e *provider.Error) bool { return !strings.Contains(e.Error(), "key-0123456789") }},
		{"402", Fail(402, "billing_error", "no credit"), provider.KindBilling, false, nil},
		{"403", Fail(403, "permission_error", "not yours"), provider.KindAuth, false, nil},
		{"404 model", Fail(404, "not_found_error", "model: test-model"), provider.KindConfig, false,
			func(e *provider.Error) bool { return strings.Contains(e.Hint, "test-model") }},
		{"404 path", Page(404, "Not Found"), provider.KindConfig, false,
			func(e *provider.Error) bool { return strings.Contains(e.Hint, "ARTOO_BASE_URL") }},
		{"408", Fail(408, "timeout", "slow"), provider.KindTimeout, true, nil},
		{"409", Fail(409, "conflict_error", "again"), provider.KindProvider, true, nil},
		{"413 by the front", Page(413, "Payload Too Large"), provider.KindContext, false, nil},
		{"422", Fail(422, "invalid_request_error", "no"), provider.KindInvalid, false, nil},
		{"429", Fail(429, "rate_limit_error", "slow down").With("Retry-After", "7"), provider.KindRateLimit, true,
			func(e *provider.Error) bool { return e.RetryAfter == 7*time.Second }},
		{"429 in milliseconds", Fail(429, "rate_limit_error", "slow down").With("Retry-After", "7").With("Retry-After-Ms",
			"1500.5"),
			provider.KindRateLimit, true, func(e *provider.Error) bool { return e.RetryAfter == 1500500*time.Microsecond }},
		{"429 quota", Fail(429, "insufficient_quota", "check your plan"), provider.KindBilling, false, nil},
		{"500", Fail(500, "api_error", "oops"), provider.KindProvider, true, nil},
		{"502 page", Page(502, "Bad Gateway"), provider.KindProvider, true,
			func(e *provider.Error) bool { return strings.Contains(e.Message, "Bad Gateway") }},
		{"503", Fail(503, "unavailable", "later"), provider.KindOverloaded, true, nil},
		{"504", Fail(504, "timeout_error", "slow"), provider.KindTimeout, true, nil},
		{"529", Fail(529, "overloaded_error", "busy"), provider.KindOverloaded, true, nil},
		{"500 final", Fail(500, "api_error", "oops").With("X-Should-Retry", "false"), provider.KindProvider, false, nil},
		{"too long", Fail(400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
			provider.KindContext, false,
			func(e *provider.Error) bool { return e.Window == 200000 && e.Requested == 213462 }},
		{"too long as 500", Fail(500, "server_error", "Context size has been exceeded."), provider.KindContext, false, nil},
		{"200 page", Page(200, "Log in to the hotel"), provider.KindProvider, true,
			func(e *provider.Error) bool { return strings.Contains(e.Message, "Log in to the hotel") }},
		{"redirect", Reply{Status: 302}.With("Location", "https://elsewhere.example/v1?key=x"), provider.KindConfig, false,
			func(e *provider.Error) bool {
				return strings.Contains(e.Message, "elsewhere.example") && !strings.Contains(e.Message, "key=") &&
					strings.Contains(e.Hint, "browser")
			}},
		{"200 error document", Fail(200, "overloaded_error", "busy"), provider.KindOverloaded, true, nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, w, Config{}, tc.reply.With("Request-Id", "req_42"))
			e := b.fails(t, question(), tc.kind)
			if e.Temporary() != tc.retry {
				t.Errorf("temporary %v, want %v", e.Temporary(), tc.retry)
			}
			if e.RequestID != "req_42" || tc.reply.Status > 299 && e.Status != tc.reply.Status {
				t.Errorf("request id %q, status %d", e.RequestID, e.Status)
			}
			if tc.check != nil && !tc.check(e) {
				t.Errorf("wrong in a detail: %+v", e)
			}
		})
	}
}

func testBroken(t *testing.T, w Wire) {
	whole := w.Build(Reason("hm"), Text("Hello", " world"), Stop(aMax(w)))
	calls := w.Build(Call("c1", "read", `{"path":"a"}`), Stop(aMax(w)))
	events := len(whole.split())
	cases := map[string]Reply{
		"nothing at all": {ContentType: whole.ContentType},
		"dropped":        Dropped(),
		"reset":          whole.Events(3).Ends(Reset),
		"reset in event": whole.Cut(len(whole.Body) / 2).Ends(Reset),
	}
	for name, cut := range map[string]Reply{"cut before the arguments": calls.Events(2),
		"cut in the arguments": calls.Events(3)} {
		if !strings.Contains(string(cut.Body), aMax(w)) { // where calls come whole, there is no such place
			cases[name] = cut
		}
	}
	for n := range events {
		cut := whole.Events(n)
		if !strings.Contains(string(cut.Body), aMax(w)) {
			cases["cut after event "+string(rune('a'+n))] = cut
		}
	}
	for name, reply := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, w, Config{}, reply)
			e := b.fails(t, question(), provider.KindNetwork)
			if !e.Temporary() {
				t.Error("final, want temporary")
			}
			if reply.End == Close && !errors.Is(e, io.ErrUnexpectedEOF) {
				t.Errorf("%v does not wrap io.ErrUnexpectedEOF", e)
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		for _, body := range []string{"", "data: [DONE]\n\n"} {
			if body != "" && (w.Build().ContentType == lines || w.Build().ContentType == frames) {
				continue
			}
			b := newBench(t, w, Config{}, Reply{ContentType: whole.ContentType, Body: []byte(body)})
			if e := b.fails(t, question(), provider.KindNetwork); !e.Empty || !e.Temporary() {
				t.Errorf("%q is not known as empty: %+v", body, e)
			}
		}
		b := newBench(t, w, Config{}, whole.Events(1))
		if e := b.fails(t, question(), provider.KindNetwork); e.Empty {
			t.Errorf("a reply that began is empty: %+v", e)
		}
	})
	t.Run("refused", func(t *testing.T) {
		b := newBench(t, w, Config{Local: true})
		b.Close()
		if e := b.fails(t, question(), provider.KindNetwork); e.Hint == "" || !e.Local {
			t.Errorf("no hint, or not local: %+v", e)
		}
	})
}

func aMax(w Wire) string {
	for word, stop := range w.Stops {
		if stop == provider.StopMaxTokens {
			return word
		}
	}
	return ""
}

func testInStream(t *testing.T, w Wire) {
	whole := w.Build(Text("Hello", " world"), Usage(provider.Usage{Input: 50, Output: 5}))
	tests := []struct {
		code, message string
		kind          provider.ErrorKind
	}{
		{"overloaded_error", "Overloaded", provider.KindOverloaded},
		{"api_error", "oops", provider.KindProvider},
		{"server_error", "oops", provider.KindProvider},
		{"rate_limit_error", "slow down", provider.KindRateLimit},
		{"invalid_request_error", "no", provider.KindInvalid},
		{"authentication_error", "who?", provider.KindAuth},
		{"server_error", "the request exceeds the available context size", provider.KindContext},
		{"a_new_error", "what?", provider.KindProvider},
	}
	for _, tc := range tests {
		t.Run(tc.code+" "+tc.message, func(t *testing.T) {
			b := newBench(t, w, Config{}, whole.Break(3, tc.code, tc.message))
			e := b.fails(t, question(), tc.kind)
			if e.Message != tc.message || e.Code != tc.code {
				t.Errorf("message %q, code %q", e.Message, e.Code)
			}
		})
	}
	t.Run("a refusal", func(t *testing.T) {
		for _, code := range []string{"unsupported_value", "invalid_request_error"} {
			for at, shown := range []bool{false, true} {
				b := newBench(t, w, Config{}, whole.Break(3*at, code, "temperature is deprecated for this model"), whole)
				req := question()
				req.Temperature = new(0.5)
				if shown {
					if e := b.fails(t, req, provider.KindInvalid); !e.Temporary() {
						t.Errorf("%s behind text: final, want a request without the field", code)
					}
				}
				b.done(t, req)
				seen := b.Requests()
				if len(seen) != 2 || !bytes.Contains(seen[0].Body, []byte(`"temperature"`)) ||
					bytes.Contains(seen[1].Body, []byte(`"temperature"`)) {
					t.Errorf("%s: %d requests, the last: %s", code, len(seen), seen[len(seen)-1].Body)
				}
			}
		}
	})
	t.Run("at once", func(t *testing.T) {
		newBench(t, w, Config{}, whole.Break(0, "overloaded_error", "busy")).fails(t, question(), provider.KindOverloaded)
	})
	t.Run("no JSON", func(t *testing.T) {
		newBench(t, w, Config{}, Stream("data: {\"broken\n\n")).fails(t, question(), provider.KindProvider)
	})
}

func testCancel(t *testing.T, w Wire) {
	whole := w.Build(Text("Hello", " world"))
	places := map[string]Reply{"before the head": Silent(), "in the reply": whole.Events(3).Ends(Hang)}
	for name, reply := range places {
		t.Run(name, func(t *testing.T) {
			cancels(t, w, Serve, reply)
		})
	}
	t.Run("breaking out of the loop", func(t *testing.T) {
		gone := make(chan struct{})
		srv := NewServer(t, whole.Events(3).Ends(Hang))
		srv.watch(gone)
		for ev, err := range srv.connect(w, Config{}).Stream(t.Context(), question()) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ev.(provider.TextDelta); ok {
				break
			}
		}
		<-gone
	})
	t.Run("the caller's deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		r := Collect(NewServer(t, Silent()).connect(w, Config{}).Stream(ctx, question()))
		if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindCanceled || !errors.Is(r.Err,
			context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline, kind canceled", r.Err)
		}
	})
}

// cancels stops a request when it has arrived at the server, which must see the
// stream close.
func cancels(t *testing.T, w Wire, serve func(testing.TB, *Handler) *Server, reply Reply) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	inner := Script(reply)
	s := serve(t, &Handler{Next: func(n int, r Request) Reply { close(arrived); return inner.Next(n, r) }})
	s.watch(gone)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	at := make(chan time.Time, 1)
	go func() {
		<-arrived
		at <- time.Now()
		cancel()
	}()
	r := Collect(s.connect(w, Config{}).Stream(ctx, question()))
	took := time.Since(<-at)
	e := provider.AsError(r.Err)
	if e == nil || e.Kind != provider.KindCanceled || !errors.Is(r.Err, context.Canceled) || e.Temporary() {
		t.Errorf("got %v, want a final error of kind canceled", r.Err)
	}
	<-gone
	if took > 100*time.Millisecond {
		t.Errorf("took %s, want at most 100ms", took)
	}
}

func (s *Server) watch(gone chan struct{}) {
	inner := s.srv.Config.Handler
	s.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		inner.ServeHTTP(w, r)
	})
}

func testTimeouts(t *testing.T, w Wire) {
	whole := w.Build(Text("Hello", " world"))
	tests := []struct {
		name  string
		cfg   Config
		reply Reply
		hint  string
	}{
		{"silence before the head", Config{Idle: 20 * time.Millisecond}, Silent(), "ARTOO_IDLE_TIMEOUT"},
		{"silence in the reply", Config{Idle: 20 * time.Millisecond, Local: true}, whole.Events(3).Ends(Hang),
			"ARTOO_IDLE_TIMEOUT"},
		{"request", Config{RequestTimeout: 40 * time.Millisecond, Idle: -1}, whole.Events(3).Ends(Hang),
			"ARTOO_REQUEST_TIMEOUT"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, w, tc.cfg, tc.reply)
			e := b.fails(t, question(), provider.KindTimeout)
			if !errors.Is(e, context.DeadlineExceeded) || !strings.Contains(e.Hint, tc.hint) {
				t.Errorf("%v, hint %q", e, e.Hint)
			}
			if e.Temporary() == tc.cfg.Local {
				t.Errorf("temporary %v, local %v", e.Temporary(), tc.cfg.Local)
			}
		})
	}
	t.Run("a complete reply needs no end of the connection", func(t *testing.T) {
		// The connection is given some seconds to end.
		synctest.Test(t, func(t *testing.T) {
			ServeInMemory(t, Script(whole.Ends(Hang))).bench(w, Config{}).done(t, question())
		})
	})
}
