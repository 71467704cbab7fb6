package wire

import (
	"bufio"
	"fmt"
	"math"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
)

// head has headers, each a name and a value.
func head(kv ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(kv); i += 2 {
		h.Set(kv[i], kv[i+1])
	}
	return h
}

// headers are lines of a reply's head. SECONDS and MILLIS are a time three hours after now, since 1970.
func headers(t *testing.T, lines string, now time.Time) http.Header {
	t.Helper()
	later := now.Add(3 * time.Hour)
	times := strings.NewReplacer("SECONDS", fmt.Sprint(later.Unix()), "MILLIS", fmt.Sprint(later.UnixMilli()))
	lines = times.Replace(lines)
	h, err := textproto.NewReader(bufio.NewReader(strings.NewReader(lines + "\n\n"))).ReadMIMEHeader()
	if err != nil {
		t.Fatal(err)
	}
	return http.Header(h)
}

// The headers are those that the servers send.
func TestRateLimitsOfReplies(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 26, 19, 59, 0, 0, time.UTC)
	limit := func(name string, most, left int, resets time.Duration) provider.RateLimit {
		l := provider.RateLimit{Name: name, Limit: most, Remaining: left}
		if resets > 0 {
			l.Resets = now.Add(resets)
		}
		return l
	}
	for name, tc := range map[string]struct {
		head string
		want []provider.RateLimit
		wait time.Duration
	}{
		"Anthropic": {`anthropic-ratelimit-requests-limit: 5
anthropic-ratelimit-requests-remaining: 0
anthropic-ratelimit-requests-reset: 2026-03-26T20:00:00Z
anthropic-ratelimit-tokens-limit: 25000
anthropic-ratelimit-tokens-remaining: 16000
anthropic-ratelimit-tokens-reset: 2026-03-26T19:59:30Z
x-should-retry: true`, []provider.RateLimit{limit("requests", 5, 0, time.Minute),
			limit("tokens", 25000, 16000, 30*time.Second)}, time.Minute},
		"Anthropic's subscriptions": {`anthropic-ratelimit-unified-status: rejected
anthropic-ratelimit-unified-reset: SECONDS
anthropic-ratelimit-unified-5h-status: rejected
anthropic-ratelimit-unified-5h-utilization: 1.08
anthropic-ratelimit-unified-5h-reset: SECONDS
anthropic-ratelimit-unified-7d-status: allowed
anthropic-ratelimit-unified-7d-utilization: 0.42
anthropic-ratelimit-unified-fallback-percentage: 0.5`, []provider.RateLimit{limit("unified", 0, 0, 3*time.Hour),
			limit("unified-5h", 100, 0, 3*time.Hour), limit("unified-7d", 100, 58, 0)}, 3 * time.Hour},
		"OpenAI": {`x-ratelimit-limit-requests: 60
x-ratelimit-remaining-requests: 59
x-ratelimit-reset-requests: 1s
x-ratelimit-limit-tokens: 150000
x-ratelimit-remaining-tokens: 0
x-ratelimit-reset-tokens: 6m0s`, []provider.RateLimit{limit("requests", 60, 59, time.Second),
			limit("tokens", 150000, 0, 6*time.Minute)}, 6 * time.Minute},
		"OpenRouter, in milliseconds": {`x-ratelimit-limit: 20
x-ratelimit-remaining: 0
x-ratelimit-reset: MILLIS`, []provider.RateLimit{limit("requests", 20, 0, 3*time.Hour)}, 3 * time.Hour},
		"nonsense": {`x-ratelimit-remaining-tokens: many
x-ratelimit-limit-tokens: 1e300
x-ratelimit-reset-tokens: soon
anthropic-ratelimit-odd: 1`, []provider.RateLimit{limit("tokens", 1<<40, 0, 0)}, 0},
		"nothing": {`x-ratelimit-reset-tokens: 1s
retry-after: 7`, nil, 0},
	} {
		got := limits(headers(t, tc.head, now), now)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if wait := resets(got, now); math.Abs((wait - tc.wait).Seconds()) > 0.5 {
			t.Errorf("%s: it waits %s, want %s", name, wait, tc.wait)
		}
	}
}

func TestFewRateLimitsAreKept(t *testing.T) {
	t.Parallel()
	many := http.Header{}
	for i := range 3 * mostLimits {
		many.Set(fmt.Sprintf("X-Ratelimit-Remaining-%d", i), "1")
	}
	if n := len(limits(many, time.Now())); n != mostLimits {
		t.Errorf("%d limits are kept", n)
	}
}
