package tool

import (
	"artoo/tool/names"
	"artoo/tool/spelling"
	"artoo/tool/text"
	"artoo/tool/web"
)

// OwnHost says in words why a host, with or without port, is this machine or in a
// private network, as far as its spelling tells; "" for one of the internet.
func OwnHost(host string) string { return web.Own(host) }

// SplitHost parts a host from its port, "" where there is none.
func SplitHost(text string) (host, port string) { return web.SplitHost(text) }

// ParseHost brings a host, with or without port, into the spelling of Access.Host.
func ParseHost(text string) (string, error) { return web.ParseHost(text) }

// HostOf is the host and port that an address leads to.
func HostOf(address string) (string, error) {
	u, err := web.Parse(address)
	if err != nil {
		return "", err
	}
	return web.HostPort(u), nil
}

// FoldName is names.Fold.
func FoldName(name string) string { return names.Fold(name) }

// NearestName is spelling.Nearest.
func NearestName(word string, names []string) string { return spelling.Nearest(word, names) }

// ListUpTo is text.UpTo.
func ListUpTo(n int, names []string) string { return text.UpTo(n, names) }
