package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"artoo/tool/web"
)

// refusal is a request that is not let through.
type refusal struct {
	Refused
	// status is of the answer; 0 is 403.
	status int
}

// Error is the text of the answer.
func (r *refusal) Error() string { return "artoo: " + r.Host + " " + r.Why }

// target is the host that a request is for.
type target struct {
	name, port string
	connect    bool
}

// String is the host as reports name it.
func (t target) String() string {
	if t.port == t.usual() {
		return Host{Name: t.name}.String()
	}
	return Host{Name: t.name, Port: t.port}.String()
}

// usual is the port of a host that is named without one.
func (t target) usual() string {
	if t.connect {
		return "443"
	}
	return "80"
}

func (t target) refuse(format string, values ...any) error {
	return &refusal{Refused: Refused{Host: t.String(), Why: fmt.Sprintf(format, values...)}}
}

// parseTarget reads a host with its port, or with the one given where it has none. It takes one spelling alone, besides
// case and a dot at the end: servers and resolvers read others in several ways.
func parseTarget(authority, port string, connect bool) (target, bool) {
	host, given := web.SplitHost(authority)
	spelled := Host{Name: strings.TrimSuffix(host, "."), Port: given}.String()
	canonical, err := web.ParseHost(authority)
	name, _ := web.SplitHost(canonical)
	t := target{name: name, port: cmp.Or(given, port), connect: connect}
	brackets := strings.HasPrefix(authority, "[") == strings.Contains(host, ":")
	return t, err == nil && brackets && same(canonical, spelled) && t.port != ""
}

// same compares names as DNS does: the length keeps letters from being equal that are so in Unicode alone.
func same(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

// isAddress reports whether the name of a target is an IP address.
func (t target) isAddress() bool {
	_, err := netip.ParseAddr(t.name)
	return err == nil
}

// allow finds the host of the line that a target is; own says that it may be at an address of this machine.
func (l *Line) allow(t target) (own bool, err error) {
	found, why := false, "is not one of this line's hosts"
	for _, h := range l.hosts {
		below, any := strings.CutPrefix(h.Name, "*.")
		switch {
		case h.Name != t.name && !(any && strings.HasSuffix(t.name, "."+below) && !t.isAddress()):
		case cmp.Or(h.Port, t.usual()) != t.port:
			why = "is one of this line's hosts, but not with this port"
		default:
			found, own = true, own || h.Own && !any
		}
	}
	switch {
	case !found:
		return false, &refusal{Refused: Refused{Host: t.String(), Why: why, Unlisted: true}}
	case t.port == "443" && !t.connect:
		return false, t.refuse("was requested without TLS, which port 443 needs")
	}
	return own, nil
}

// way is how a target is reached: through the user's own proxy, or at one of the addresses.
type way struct {
	upstream  *url.URL
	addresses []netip.Addr
}

// way finds the way to a target, whose name is resolved once and here.
func (p *Proxy) way(ctx context.Context, t target, own bool) (w way, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	address := net.JoinHostPort(t.name, t.port)
	if p.config.Bound != nil {
		if err := p.config.Bound(ctx, address); err != nil {
			return w, t.refuse("may not be reached: %v", err)
		}
	}
	if literal, err := netip.ParseAddr(t.name); err == nil {
		w.addresses = []netip.Addr{literal}
	} else if why := web.Own(t.name); why != "" && !own {
		return w, t.refuse("may not be reached: %s", why)
	}
	if err := p.public(t, w, own); err != nil {
		return w, err
	}
	if p.config.Upstream != nil {
		u := &url.URL{Scheme: "http", Host: address}
		if t.connect {
			u.Scheme = "https"
		}
		w.upstream, err = p.config.Upstream(&http.Request{Method: http.MethodGet, URL: u, Host: address})
	}
	switch {
	case err != nil:
	case w.upstream != nil:
		w.addresses = nil
	case w.addresses == nil:
		w.addresses, err = p.resolver.LookupNetIP(ctx, "ip", t.name)
	}
	if err != nil {
		return w, t.failed(err)
	}
	return w, p.public(t, w, own)
}

// public refuses a target that is not at public addresses alone, unless it may be at others.
func (p *Proxy) public(t target, w way, own bool) error {
	for _, a := range w.addresses {
		if why := p.config.OwnAddr(a); why != "" && !own {
			return t.refuse("is at %s, %s", a.Unmap(), why)
		}
	}
	return nil
}

// failed is a target that is not reached for another reason than the rules; nil for none.
func (t target) failed(err error) error {
	var name *net.DNSError
	var refused *refusal
	if err == nil || errors.As(err, &refused) {
		return err
	}
	why := "was not reached: " + err.Error()
	if errors.As(err, &name) && name.IsNotFound {
		why = "does not exist"
	}
	return &refusal{status: http.StatusBadGateway, Refused: Refused{Host: t.String(), Why: why}}
}
