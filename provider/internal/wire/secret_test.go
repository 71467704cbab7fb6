package wire

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"artoo/provider"
)

func TestAddressesInErrorsHoldNoPassword(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"https://me:hun/ter22@h.example/v1", "https://me:hunter22@h example",
		"https://me:hunter22@[::1"} {
		_, err := Join(base, "v1")
		e := provider.AsError(err)
		if e == nil || strings.Contains(e.Error()+e.Hint, "hun") {
			t.Errorf("%s: %v", base, err)
		}
	}
	for in, want := range map[string]string{
		"https://me:pw@h.example/a?key=1#t": "https://h.example/a", "/login?x=1": "/login", "": "another address",
		"http://[": "another address",
	} {
		if got := redactURL(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := hostOf("http://[me:pw@"); got != "the server" {
		t.Errorf("got %q", got)
	}
}

// TestACauseIsNoWayOut: an error without words of its own shows its cause's.
func TestACauseIsNoWayOut(t *testing.T) {
	t.Parallel()
	broken := errors.New("cannot send: key-0123456789")
	prepare := func(context.Context) (Request, error) {
		return Request{URL: "http://h.example/", Secret: "key-0123456789"}, nil
	}
	for _, cause := range []error{broken, &provider.Error{Kind: provider.KindNetwork, Err: broken}} {
		for _, err := range Stream(t.Context(), Endpoint{Server: provider.Server{Name: "p", HTTP: failing(cause)}},
			prepare, &words{}) {
			if err == nil || strings.Contains(err.Error(), "key-0") || !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		}
	}
}

func TestABadHeaderIsASetting(t *testing.T) {
	t.Parallel()
	prepare := func(context.Context) (Request, error) {
		return Request{URL: "http://127.0.0.1:1/", Header: http.Header{"X-A": {"two\nlines"}}}, nil
	}
	for _, err := range Stream(t.Context(), Endpoint{Server: provider.Server{Name: "p"}}, prepare, &words{}) {
		if e := provider.AsError(err); e == nil || e.Kind != provider.KindConfig || e.Temporary() ||
			!strings.Contains(e.Hint, "extra_headers") {
			t.Errorf("got %v", err)
		}
	}
}
