package converse_test

import (
	"testing"

	"artoo/provider"
	"artoo/provider/providertest"
	"artoo/tool/sweep"
)

// TestAReplyCutAtAnyByte is a broken connection wherever the terminal event has not come, as on every other wire.
func TestAReplyCutAtAnyByte(t *testing.T) {
	t.Parallel()
	build := func() providertest.Reply {
		return providertest.Converse(providertest.Reason("hm"), providertest.Text("Hello"), providertest.Call("c1", "read", `{"path":"a"}`))
	}
	whole := build()
	terminal := len(whole.Body) - len(whole.Events(-1).Body) // the size of the last event, which has the usage
	for _, n := range sweep.Cases(t, 50, len(whole.Body)) {
		s := providertest.NewServer(t, build().Cut(n))
		p := suite().New(providertest.Config{Name: "bench", URL: s.URL, HTTP: s.HTTP})
		r := providertest.Collect(p.Stream(t.Context(), provider.Request{Options: provider.Options{Model: "m"},
			Messages: []provider.Message{provider.UserText("hi")}}))
		e := provider.AsError(r.Err)
		switch {
		case n >= len(whole.Body)-terminal:
			if r.Err != nil || len(r.Done.Message.Calls()) != 1 {
				t.Errorf("cut at %d, behind the terminal event: %v", n, r.Err)
			}
		case e == nil || e.Kind != provider.KindNetwork || !e.Temporary():
			t.Errorf("cut at %d: %v, want a temporary error of kind network", n, r.Err)
		}
		s.Close()
	}
}

// TestAnEventWithAWrongSumIsNoEvent wherever a byte of it changed.
func TestAnEventWithAWrongSumIsNoEvent(t *testing.T) {
	t.Parallel()
	reply := providertest.Converse(providertest.Text("Hello"))
	for at := 8; at < len(reply.Body)/2; at += 5 {
		changed := providertest.Converse(providertest.Text("Hello"))
		changed.Body[at] ^= 0x20
		s := providertest.NewServer(t, changed)
		p := suite().New(providertest.Config{Name: "bench", URL: s.URL, HTTP: s.HTTP})
		r := providertest.Collect(p.Stream(t.Context(), provider.Request{Options: provider.Options{Model: "m"},
			Messages: []provider.Message{provider.UserText("hi")}}))
		if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindProvider && e.Kind != provider.KindNetwork {
			t.Errorf("byte %d: %v", at, r.Err)
		}
		s.Close()
	}
}

func TestExceptionsInTheMiddleHaveTheirKind(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]provider.ErrorKind{
		"throttlingException": provider.KindRateLimit, "serviceUnavailableException": provider.KindOverloaded,
		"internalServerException": provider.KindProvider, "modelStreamErrorException": provider.KindProvider,
		"validationException": provider.KindInvalid, "modelTimeoutException": provider.KindTimeout,
	} {
		s := providertest.NewServer(t, providertest.Converse(providertest.Text("Hello", " world")).Break(2, name, "no"))
		p := suite().New(providertest.Config{Name: "bench", URL: s.URL, HTTP: s.HTTP})
		r := providertest.Collect(p.Stream(t.Context(), provider.Request{Options: provider.Options{Model: "m"},
			Messages: []provider.Message{provider.UserText("hi")}}))
		if e := provider.AsError(r.Err); e == nil || e.Kind != kind || e.Code != name {
			t.Errorf("%s: %+v, want the kind %s", name, r.Err, kind)
		}
	}
}
