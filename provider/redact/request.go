package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Hidden stands for a key of a request.
const Hidden = "***"

// Known are texts that must not be shown, longest first.
type Known []string

// OfRequest gathers the possible keys of a request: of its headers and its address.
func OfRequest(key string, h http.Header, u *url.URL) Known {
	var k Known
	k.add(key, 4)
	for name, values := range h {
		for _, v := range values {
			_, word, _ := strings.Cut(v, " ") // the word after Bearer or Basic
			switch {
			case telling(name):
				k.add(v, 6)
				k.add(word, 6)
			case !PlainHeader(name):
				k.addLikely(v)
				k.addLikely(word)
			}
		}
	}
	if password, ok := u.User.Password(); ok {
		k.add(password, 4)
		k.add(base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)), 4)
	}
	k.add(u.User.Username(), 8)
	// Not by url.Values, which drops parts that it cannot read.
	for _, piece := range strings.FieldsFunc(u.RawQuery, func(c rune) bool { return c == '&' || c == ';' }) {
		name, value, found := strings.Cut(piece, "=")
		plain, err := url.QueryUnescape(value)
		if err != nil {
			plain = value
		}
		switch {
		case PlainQuery(name):
		case !found:
			k.add(name, 8)
		case telling(name):
			k.add(value, 4)
			k.add(plain, 4)
		default:
			k.addLikely(value)
			k.addLikely(plain)
		}
	}
	for _, credential := range Credentials(u.Scheme + "://" + u.Host + u.EscapedPath()) {
		k.add(credential, 8)
	}
	return k.With(nil)
}

// With has other keys, too.
func (k Known) With(keys []string) Known {
	for _, key := range keys {
		k.add(key, 4)
	}
	slices.SortFunc(k, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return k
}

// add takes a text of at least the given length: shorter ones are dummies.
func (k *Known) add(text string, least int) {
	if len(text) < least || slices.Contains(*k, text) {
		return
	}
	*k = append(*k, text)
	if quoted, err := json.Marshal(text); err == nil && len(quoted) != len(text)+2 {
		*k = append(*k, string(quoted[1:len(quoted)-1])) // the form in a JSON text
	}
}

// addLikely takes values that may be keys though their names do not say so.
func (k *Known) addLikely(text string) {
	if strings.ContainsAny(text, "0123456789") {
		k.add(text, 8)
	}
	k.add(text, 16)
}

// Hide puts Hidden in place of all that is known.
func (k Known) Hide(text string) string {
	for _, known := range k {
		text = strings.ReplaceAll(text, known, Hidden)
	}
	return text
}

// Longest is the length of the longest, in bytes.
func (k Known) Longest() int {
	if len(k) == 0 {
		return 0
	}
	return len(k[0])
}

// telling reports whether the name of a header or parameter says that it is a key.
func telling(name string) bool {
	name = strings.ToLower(name)
	words := []string{"key", "token", "secret", "auth", "cookie", "pass", "credential", "sig", "session"}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// PlainHeader reports whether a header is one that holds no key.
func PlainHeader(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "content-type", "content-length", "accept", "user-agent", "date", "server", "transfer-encoding", "connection",
		"retry-after", "retry-after-ms", "request-id", "x-request-id", "anthropic-version", "anthropic-beta",
		"x-should-retry", "cf-ray", "via", "content-encoding", "x-generation-id", "http-referer", "referer", "x-title":
		return true
	}
	return strings.HasPrefix(name, "anthropic-ratelimit-") || strings.HasPrefix(name, "x-ratelimit-")
}

// PlainQuery reports whether a parameter of an address is one that holds no key.
func PlainQuery(name string) bool {
	return slices.Contains([]string{"alt", "api-version", "limit", "pageSize"}, name)
}
