package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxMessage is how much of a server's words an error keeps, in characters.
const maxMessage = 600

// secrets are the strings that must not stand in an error, longest first:
// proxies and gateways like to quote the request they refuse, headers included.
type secrets []string

// secretsOf gathers what of a request is, or may be, a key: the key itself,
// header values under telling names or as long as keys are, and what the
// address holds of the kind.
func secretsOf(key string, h http.Header, u *url.URL) secrets {
	var s secrets
	s.add(key, 4)
	for name, values := range h {
		for _, v := range values {
			_, word, found := strings.Cut(v, " ") // the word after Bearer or Basic
			switch {
			case secretName(name):
				s.add(v, 6)
				s.add(word, 6)
			case harmlessName(name):
			case !found && len(v) >= 20:
				s.add(v, 20)
			}
		}
	}
	if password, ok := u.User.Password(); ok {
		s.add(password, 4)
		s.add(base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)), 4)
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if secretName(name) {
				s.add(v, 4)
			}
		}
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return s
}

// add takes a secret of at least the given length: blotting out shorter ones,
// which local servers are given as dummies, would only garble the text.
func (s *secrets) add(secret string, least int) {
	if len(secret) < least || slices.Contains(*s, secret) {
		return
	}
	*s = append(*s, secret)
	if quoted, err := json.Marshal(secret); err == nil && len(quoted) != len(secret)+2 {
		*s = append(*s, string(quoted[1:len(quoted)-1])) // as it stands in a JSON text
	}
}

// hide blots the secrets out.
func (s secrets) hide(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "‹key›")
	}
	return text
}

func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"key", "token", "secret", "auth", "cookie", "pass", "credential", "sig", "session"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func harmlessName(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Content-Type", "Accept", "User-Agent", "Anthropic-Version", "Anthropic-Beta", "Http-Referer", "Referer", "X-Title":
		return true
	}
	return false
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "the server"
	}
	return u.Host
}

// redactURL is an address without what may be secret in it.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || raw == "" {
		return "another address"
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	return u.String()
}

// urlProblem says what is wrong with an address. Its parser's words quote a
// part of it, which may be one of a password.
func urlProblem(raw string, err error) string {
	var u *url.Error
	if strings.Contains(raw, "@") || !errors.As(err, &u) {
		return "it is no valid address"
	}
	return u.Err.Error()
}
