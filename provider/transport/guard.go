package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
)

// guard is the offline guard: it connects only to local addresses, which it sees after the lookup.
type guard struct {
	dialer     *net.Dialer
	nameServer string // asked instead of the system's; for tests
}

// DialContext connects like the dialer, or returns an *Error.
func (g *guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if err := known(ctx, host); err != nil {
		return nil, err
	}
	var refused atomic.Pointer[Error] // the first refusal: a resolver asks several servers at a time
	guarded := *g.dialer
	guarded.ControlContext = g.control
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if g.nameServer != "" {
			address = g.nameServer
		}
		plain := net.Dialer{ControlContext: g.control}
		conn, err := plain.DialContext(ctx, network, address)
		if e, ok := errors.AsType[*Error](err); ok {
			refused.CompareAndSwap(nil, e)
		}
		return conn, err
	}
	guarded.Resolver = &net.Resolver{PreferGo: true, Dial: dial}
	conn, err := guarded.DialContext(ctx, network, address)
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		// The resolver keeps only the words of an error.
		if e := refused.Load(); e != nil {
			return nil, &Error{Kind: e.Kind, What: e.What, Hint: e.Hint,
				Err: fmt.Errorf("%s cannot be looked up: the name server is outside: %w", host, e.Err)}
		}
	}
	return conn, err
}

// Offline is an error if a host is not on this machine or network, as far as can be said without asking a name server.
func Offline(ctx context.Context, host string) error {
	if at, err := netip.ParseAddr(host); err == nil && !Private(at) {
		return publicAddress(at)
	}
	return known(ctx, host)
}

func publicAddress(at netip.Addr) error {
	return &Error{Kind: "config", What: "offline", Err: fmt.Errorf("%s is a public address", at),
		Hint: "unset ARTOO_OFFLINE, or use a server on this machine or network"}
}

// known refuses a name that only a public name server can know, without asking one.
func known(ctx context.Context, host string) error {
	if _, err := netip.ParseAddr(host); err == nil || ofThisNetwork(host) {
		return nil
	}
	silent := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no name server may be used")
	}}
	if found, err := silent.LookupHost(ctx, host); err == nil && len(found) > 0 {
		return nil
	}
	return &Error{Kind: "config", What: "offline",
		Err:  fmt.Errorf("%s is not on this machine or network, and is not looked up", host),
		Hint: "unset ARTOO_OFFLINE, or use a server on this machine or network: by its address, or a name in the hosts file"}
}

// ofThisNetwork reports whether a name is private (RFC 6761, 6762, 8375; ICANN for internal).
func ofThisNetwork(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch last {
	case "localhost", "local", "internal", "lan", "home", "test":
		return true
	}
	return last == host || strings.HasSuffix(host, ".home.arpa")
}

func (g *guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if Private(at.Addr()) {
		return nil
	}
	return publicAddress(at.Addr())
}

// Private reports whether an address is this machine's or a private network's.
func Private(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() ||
		a.IsUnspecified() // dialled as loopback
}

// Local reports whether a host is local. Of names only "localhost" and those below it count.
func Local(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return Private(addr)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
