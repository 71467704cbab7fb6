package wire

import (
	"errors"
	"net/url"
	"strings"
)

// maxMessage is how much of a server's words an error keeps, in characters.
const maxMessage = 600

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
