package ollama

import (
	"cmp"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

const (
	defaultHost = "127.0.0.1"
	defaultPort = "11434"
)

// Address makes the base URL of an address in any form that OLLAMA_HOST takes: a
// host, a port, both, with or without a scheme and a path; "" is the usual
// server of this machine. An address to listen on (0.0.0.0) becomes one to ask.
// A path that ends in /v1 or /api, of the server's other faces, loses that.
func Address(host string) string {
	host = strings.Trim(strings.TrimSpace(host), `"'`)
	scheme, rest, found := strings.Cut(host, "://")
	port := defaultPort
	switch {
	case !found && host == "ollama.com":
		scheme, rest, port = "https", host, "443"
	case !found:
		scheme, rest = "http", host
	case scheme == "https":
		port = "443"
	case scheme == "http":
		port = "80"
	}
	rest, path, _ := strings.Cut(rest, "/")
	path = strings.TrimRight("/"+path, "/")
	for _, face := range []string{"/v1", "/api"} {
		path = strings.TrimSuffix(path, face)
	}
	name, given, err := net.SplitHostPort(rest)
	if err != nil {
		name, given = strings.Trim(rest, "[]"), ""
	}
	if n, err := strconv.Atoi(given); err == nil && n >= 0 && n <= 65535 {
		port = given
	}
	name = cmp.Or(name, defaultHost)
	if addr, err := netip.ParseAddr(name); err == nil && addr.IsUnspecified() {
		if name = defaultHost; addr.Is6() {
			name = "::1"
		}
	}
	return scheme + "://" + net.JoinHostPort(name, port) + path
}
