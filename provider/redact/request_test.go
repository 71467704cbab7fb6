package redact_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"artoo/provider/redact"
)

func TestSecretsOfARequest(t *testing.T) {
	t.Parallel()
	u, err := url.Parse("https://me:hunter22@h.example/v1?api-version=2024-10-21&api_key=querykey-1&x=plain")
	if err != nil {
		t.Fatal(err)
	}
	s := redact.OfRequest("given-key", http.Header{
		"Authorization":  {"Bearer headerkey-1"},
		"X-Gateway":      {"0123456789abcdefghijklmnopqrstuvwxyz"},
		"X-Session-Code": {"abc123"},
		"X-Route":        {"anthropic"},
		"Http-Referer":   {"https://example.org/a/long/address"},
		"Content-Type":   {"application/json; charset=utf-8"},
	}, u)
	for _, hidden := range []string{"given-key", "headerkey-1", "Bearer headerkey-1",
		"0123456789abcdefghijklmnopqrstuvwxyz", "abc123", "hunter22", "bWU6aHVudGVyMjI=", "querykey-1"} {
		if got := s.Hide("a " + hidden + " b"); got != "a *** b" {
			t.Errorf("%s: %q", hidden, got)
		}
	}
	for _, plain := range []string{"2024-10-21", "plain", "anthropic", "https://example.org/a/long/address",
		"application/json", "Bearer"} {
		if got := s.Hide("a " + plain + " b"); got != "a "+plain+" b" {
			t.Errorf("%s: %q", plain, got)
		}
	}
	if got := redact.OfRequest("x", http.Header{}, &url.URL{}).Hide("a text with an x"); got != "a text with an x" {
		t.Errorf("a dummy key: %q", got)
	}
	if got := redact.OfRequest(`k<y"1`, http.Header{},
		&url.URL{}).Hide(`{"k":"k\u003cy\"1"}`); strings.Contains(got, "u003cy") {
		t.Errorf("quoted in JSON: %q", got)
	}
}
