package transport

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"artoo/provider/redact"
)

const masked = "***"

// secrets are what may be a key in a request: they are blotted out wherever a
// server quotes them. Longest first.
type secrets []string

func secretsOf(r *http.Request) secrets {
	var s secrets
	add := func(v string) {
		if len(v) >= 8 && !slices.Contains(s, v) { // shorter ones are dummies; blotting them out garbles the text
			s = append(s, v)
		}
	}
	for name, values := range r.Header {
		if harmless(strings.ToLower(name)) {
			continue
		}
		for _, v := range values {
			_, word, _ := strings.Cut(v, " ") // the word after Bearer or Basic
			add(v)
			add(word)
		}
	}
	if user := r.URL.User; user != nil {
		add(user.Username())
		password, _ := user.Password()
		add(password)
	}
	// Not by url.Values, which drops what it cannot read.
	for _, word := range strings.FieldsFunc(r.URL.RawQuery, func(c rune) bool { return c == '&' || c == ';' || c == '=' }) {
		add(word)
		if plain, err := url.QueryUnescape(word); err == nil {
			add(plain)
		}
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return s
}

// mask blots out the request's own keys, and whatever else looks like a key.
func (s secrets) mask(text string) string { return redact.Mask(s.known(text)) }

// known blots out the request's own keys.
func (s secrets) known(text string) string {
	for _, key := range s {
		text = strings.ReplaceAll(text, key, masked)
	}
	return text
}

// longest is the length of the longest secret.
func (s secrets) longest() int {
	if len(s) == 0 {
		return 0
	}
	return len(s[0])
}

// headers masks what may hold a key: everything but what is known to be
// harmless.
func headers(h http.Header, s secrets) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		lower := strings.ToLower(name)
		value := s.mask(strings.Join(values, ", "))
		if !harmless(lower) {
			value = masked
		}
		out[lower] = value
	}
	return out
}

func harmless(name string) bool {
	switch name {
	case "content-type", "content-length", "accept", "user-agent", "date", "server", "transfer-encoding", "connection",
		"retry-after", "retry-after-ms", "request-id", "x-request-id", "anthropic-version", "anthropic-beta", "x-should-retry",
		"cf-ray", "via", "content-encoding", "x-generation-id", "http-referer", "x-title":
		return true
	}
	return strings.HasPrefix(name, "anthropic-ratelimit-") || strings.HasPrefix(name, "x-ratelimit-")
}

// maskURL leaves out user information, query values and what looks like a key in
// the path, where some gateways want it.
func maskURL(in *url.URL) string {
	u := *in
	u.User = nil
	if u.RawQuery != "" {
		pieces := strings.Split(u.RawQuery, "&")
		for i, piece := range pieces {
			name, _, found := strings.Cut(piece, "=")
			switch {
			case !found:
				pieces[i] = masked
			case name != "alt" && name != "api-version":
				pieces[i] = name + "=" + masked
			}
		}
		u.RawQuery = strings.Join(pieces, "&")
	}
	return redact.Mask(u.String())
}
