package providertest

import (
	"testing"
	"time"

	"artoo/provider"
)

// testHTTP2 plays the faults that look different there: a reply is one of many
// streams of a connection, and ends without ending it.
func testHTTP2(t *testing.T, w Wire) {
	whole := w.Build(Reason("hm"), Text("Hello", " world"), Call("c1", "read", `{"path":"a"}`))
	ask := func(t *testing.T, cfg Config, replies ...Reply) (*Server, Result) {
		t.Helper()
		s := ServeTLS(t, Script(replies...))
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
		return s, r
	}
	t.Run("one connection, whatever happens", func(t *testing.T) {
		s, r := ask(t, Config{}, whole.InChunks(9), Fail(500, "api_error", "oops"), whole.Ends(Hang), whole)
		if r.Err != nil || s.Connections() != 1 {
			t.Errorf("%d connections for four requests, want 1 (%v)", s.Connections(), r.Err)
		}
	})
	for name, reply := range map[string]Reply{
		"dropped": Dropped(), "reset": whole.Events(3).Ends(Reset), "cut": whole.Events(3),
		"nothing": {ContentType: whole.ContentType},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := ask(t, Config{}, reply)
			if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindNetwork || !e.Temporary() {
				t.Errorf("got %v, want a temporary error of kind network", r.Err)
			}
		})
	}
	for name, reply := range map[string]Reply{"silence before the head": Silent(),
		"silence in the reply": whole.Events(3).Ends(Hang)} {
		t.Run(name, func(t *testing.T) {
			_, r := ask(t, Config{Idle: 20 * time.Millisecond}, reply)
			if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindTimeout {
				t.Errorf("got %v, want a timeout", r.Err)
			}
		})
		t.Run("canceled in "+name, func(t *testing.T) {
			cancels(t, w, ServeTLS, reply)
		})
	}
}
