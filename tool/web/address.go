// Package web fetches pages and asks search engines for a model: a server's answer is bounded in bytes and time and
// made into text. It connects to no address of this machine or of a private network that was not allowed. It knows
// nothing of tools or of permission.
package web

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// maxAddress is the longest address in bytes: the user has to read all of it.
const maxAddress = 4000

// Parse reads the address of a page and writes it as it will be asked for: the host
// in ASCII, lower case and one spelling, without a default port and fragment. One
// without a scheme is taken as https, and as http where its host is this machine.
func Parse(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxAddress {
		return nil, fmt.Errorf("the address has %d bytes, more than %d", len(text), maxAddress)
	}
	bare := !strings.Contains(text, "://")
	if bare {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("not an address like https://go.dev/doc: %w", errors.Unwrap(err))
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s addresses are not fetched, only http and https", u.Scheme)
	case u.User != nil:
		return nil, errors.New("an address with a user or password is not fetched")
	}
	if u.Host, err = ParseHost(u.Host); err != nil {
		return nil, err
	}
	if bare && Own(u.Host) != "" {
		u.Scheme = "http"
	}
	u.Host = strings.TrimSuffix(u.Host, ":"+defaultPort(u.Scheme))
	u.Path = cmp.Or(u.Path, "/")
	u.Fragment, u.RawFragment = "", ""
	if n := len(u.String()); n > maxAddress {
		return nil, fmt.Errorf("the address has %d bytes once encoded, more than %d", n, maxAddress)
	}
	return u, nil
}

// HostPort is the host and port that an address of Parse leads to.
func HostPort(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), defaultPort(u.Scheme)))
}

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

func canonicalPort(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("%.20s is not a port", text)
	}
	return strconv.FormatUint(n, 10), nil
}

// canonicalHost is a host as names are looked up, or an IP address in its one
// spelling. It refuses others: some programs take 0x7f.1 or 2130706433 for 127.0.0.1,
// and a proxy may be one of them.
func canonicalHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" {
			return "", fmt.Errorf("%.60q is not a host", host)
		}
		return a.Unmap().String(), nil
	}
	profile := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))
	name, err := profile.ToASCII(host)
	if err == nil {
		// What is not UTF-8, or has thousands of letters, becomes a name that is none when it is read again.
		_, err = profile.ToASCII(name)
	}
	name = strings.TrimSuffix(name, ".")
	foreign := func(r rune) bool { return !strings.ContainsRune(hostRunes, r) }
	if err != nil || name == "" || strings.ContainsFunc(name, foreign) || strings.Contains("."+name, "..") {
		return "", fmt.Errorf("%.60q is not a host", host)
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x") {
		return name, nil
	}
	a, err := netip.ParseAddr(name) // no name ends in a number (url.spec.whatwg.org)
	if err != nil {
		return "", fmt.Errorf("%.60q is not a host", host)
	}
	return a.String(), nil
}

const hostRunes = "abcdefghijklmnopqrstuvwxyz0123456789-_."

// SplitHost parts a host from its port, "" for none. An IPv6 address may have brackets.
func SplitHost(text string) (host, port string) {
	if h, p, err := net.SplitHostPort(text); err == nil {
		return h, p
	}
	return strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), ""
}

// Own says why the spelling of a host, with or without port, is none of the public internet's; ""
// for no reason. No name is looked up.
func Own(host string) string {
	host, _ = SplitHost(strings.ToLower(host))
	host = strings.TrimSuffix(host, ".")
	if isLocalhost(host) {
		return host + " is this machine"
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return ""
	}
	if why := OwnAddr(a); why != "" {
		return host + " is " + why
	}
	return ""
}

// isLocalhost reports whether a name always stands for this machine (RFC 6761).
func isLocalhost(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// The words for addresses that are none of the public internet's.
const (
	ofThisMachine = "an address of this machine"
	ofAPrivate    = "an address of a private network"
	linkLocal     = "a link-local address, where clouds give out a machine's credentials"
	notPublic     = "not an address of the public internet"
)

// OwnAddr says why an address, or the one it carries, is none of the public internet's; "" for no
// reason.
func OwnAddr(a netip.Addr) string {
	a = a.WithZone("").Unmap()
	switch {
	case a.IsLoopback(), a.IsUnspecified(): // the latter is dialled as loopback
		return ofThisMachine
	case a.IsPrivate():
		return ofAPrivate
	case a.IsLinkLocalUnicast():
		return linkLocal
	case a.Is4() && within(a, "0.0.0.0/8"):
		return ofThisMachine
	case a.Is4() && within(a, "100.64.0.0/10"):
		return ofAPrivate
	case a.Is4() && within(a, reserved4...), a.Is6() && within(a, reserved6...):
		return notPublic
	case a.Is4():
		return ""
	}
	if carried, ok := carriedIPv4(a); ok {
		return OwnAddr(carried)
	}
	if !within(a, "2000::/3") {
		return notPublic
	}
	return ""
}

// Addresses that IANA's special-purpose registries keep from the public, besides
// those that net/netip knows; 168.63.129.16 answers within every machine of one cloud.
var (
	reserved4 = []string{"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/3", "168.63.129.16/32"}
	reserved6 = []string{"2001::/23", "2001:db8::/32", "3fff::/20", "64:ff9b:1::/48"}
)

func within(a netip.Addr, prefixes ...string) bool {
	for _, p := range prefixes {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return false
}

// carriedIPv4 is the IPv4 address in one of NAT64 (RFC 6052), 6to4 (RFC 3056) or ISATAP (RFC 5214).
func carriedIPv4(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	tail := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case within(a, "64:ff9b::/96"):
		return tail, true
	case within(a, "2002::/16"):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return tail, OwnAddr(tail) != ""
	}
	return netip.Addr{}, false
}

// ParseHost reads a host with or without a port, and writes it as Parse does.
func ParseHost(text string) (string, error) {
	host, port := SplitHost(strings.TrimSpace(text))
	host, err := canonicalHost(host)
	if err != nil {
		return "", err
	}
	if port, err = canonicalPort(port); err != nil {
		return "", err
	}
	switch {
	case port != "":
		return net.JoinHostPort(host, port), nil
	case strings.Contains(host, ":"):
		return "[" + host + "]", nil
	}
	return host, nil
}

// HostOf is the host and port that an address leads to.
func HostOf(address string) (string, error) {
	u, err := Parse(address)
	if err != nil {
		return "", err
	}
	return HostPort(u), nil
}
