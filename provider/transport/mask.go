package transport

import (
	"net/http"
	"net/url"
	"strings"

	"artoo/provider/redact"
)

// mask hides a request's own keys, and whatever else looks like a key.
func mask(own redact.Known, text string) string { return redact.Mask(own.Hide(text)) }

// headers masks what may hold a key.
func headers(h http.Header, own redact.Known) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		value := redact.Hidden
		if redact.PlainHeader(name) {
			value = mask(own, strings.Join(values, ", "))
		}
		out[strings.ToLower(name)] = value
	}
	return out
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
				pieces[i] = redact.Hidden
			case !redact.PlainQuery(name):
				pieces[i] = name + "=" + redact.Hidden
			}
		}
		u.RawQuery = strings.Join(pieces, "&")
	}
	return redact.Mask(u.String())
}
