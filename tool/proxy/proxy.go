// Package proxy lets confined commands reach the hosts that were named for them, and nothing else. It is an HTTP
// proxy that admits only the credential of a line that runs, matches names before it resolves them, dials the address
// that it checked, and compares what TLS and HTTP say of the host with what was asked for. It decrypts nothing, so it
// cannot see which host of a shared server a request within TLS is for.
package proxy

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"artoo/tool/web"
)

// Host is a host that a line may reach.
type Host struct {
	// Name is in lower case and as DNS has it: "example.org", "*.example.org" for the names below it, or an IP address.
	Name string
	// Port is the only port that may be reached; "" stands for 80 with plain HTTP and 443 with TLS.
	Port string
	// Own says that the host may be at an address of this machine or of a private network. It counts for an exact name.
	Own bool
}

// String writes a host with its port, if it has one: "example.org", "[::1]:8443".
func (h Host) String() string {
	switch {
	case h.Port != "":
		return net.JoinHostPort(h.Name, h.Port)
	case strings.Contains(h.Name, ":"):
		return "[" + h.Name + "]"
	}
	return h.Name
}

// Config is what a Proxy is made of. Its funcs are called from several goroutines.
type Config struct {
	// Bound is an error for a host, as "name:port", that no line may reach. nil bounds nothing.
	Bound func(ctx context.Context, host string) error
	// Upstream is the user's own proxy for a request, as http.Transport has it; nil stands for the direct way. That
	// proxy resolves names: the address of a host is not checked then, unless the host is named by its address.
	Upstream func(*http.Request) (*url.URL, error)
	// TLS is for the way to the user's own proxy; nil trusts the certificates of the system.
	TLS *tls.Config
	// Resolver resolves names; nil is the system's.
	Resolver *net.Resolver
	// OwnAddr says why an address is none of the public internet's, "" if it is one; nil asks web.OwnAddr and the
	// interfaces of this machine.
	OwnAddr func(netip.Addr) string
}

// Proxy serves the lines of a session.
type Proxy struct {
	config Config
	gate   *gate
	dial   dialFunc
	tls    *tls.Config
	// resolver is the system's if it is nil.
	resolver *net.Resolver

	mu    sync.Mutex
	lines []*Line
	// sent is by all lines together.
	sent int64

	strangers tally
	// places are those of connections that are served.
	places chan struct{}
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// New makes a proxy, which serves until Close.
func New(config Config) *Proxy {
	dialer := &net.Dialer{Timeout: dialTime}
	p := &Proxy{config: config, gate: newGate(context.Background()), strangers: newTally(), dial: dialer.DialContext,
		tls: config.TLS, resolver: config.Resolver, places: make(chan struct{}, mostConnections)}
	if p.tls == nil {
		p.tls = &tls.Config{}
	}
	if config.OwnAddr == nil {
		p.config.OwnAddr = ownAddr
	}
	return p
}

// ownAddr says why an address is none of the public internet's or one of this machine.
func ownAddr(a netip.Addr) string {
	if why := web.OwnAddr(a); why != "" {
		return why
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "which cannot be compared with those of this machine: " + err.Error()
	}
	for _, network := range own {
		if prefix, err := netip.ParsePrefix(network.String()); err == nil && prefix.Addr().Unmap() == a.Unmap() {
			return "an address of this machine"
		}
	}
	return ""
}

// Close ends all lines and connections, and returns when they have ended.
func (p *Proxy) Close() error {
	p.gate.shut()
	return nil
}

// Strangers are the requests that came without the credential of a line that runs.
func (p *Proxy) Strangers() []Refused { return p.strangers.refusals() }

// Line is a command line that may reach some hosts, from Open to Close. Its methods may be called from any goroutine.
type Line struct {
	tally

	proxy      *Proxy
	hosts      []Host
	credential string
	gate       *gate
}

// Open begins a line that may reach these hosts, with a credential of its own.
func (p *Proxy) Open(hosts []Host) *Line {
	l := &Line{tally: newTally(), proxy: p, hosts: slices.Clone(hosts), credential: rand.Text()}
	l.gate = newGate(p.gate.ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, l)
	return l
}

// URL is what the variable http_proxy and its like hold for the line, whose proxy listens on a port of its loopback.
func (l *Line) URL(port int) string {
	return fmt.Sprintf("http://%s:%s@127.0.0.1:%d", user, l.credential, port)
}

// user is the name that goes with each credential.
const user = "artoo"

// Close ends the line: its credential is refused from now on. It returns when all its connections have ended.
func (l *Line) Close() {
	p := l.proxy
	p.mu.Lock()
	p.lines = slices.DeleteFunc(p.lines, func(other *Line) bool { return other == l })
	p.mu.Unlock()
	l.gate.shut()
}

// lineOf is the open line whose credential the Proxy-Authorization headers of a request have, nil for none.
func (p *Proxy) lineOf(headers []string) (found *Line) {
	given := []byte(strings.Join(headers, ","))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		want := base64.StdEncoding.EncodeToString([]byte(user + ":" + l.credential))
		if subtle.ConstantTimeCompare(given, []byte("Basic "+want)) == 1 {
			found = l
		}
	}
	return found
}

// gate lets goroutines in until it is shut, which ends their context and waits for them.
type gate struct {
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	inside sync.WaitGroup
}

func newGate(above context.Context) *gate {
	ctx, cancel := context.WithCancel(above)
	return &gate{ctx: ctx, cancel: cancel}
}

// enter reports whether the gate is open; leave is due then.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		return false
	}
	g.inside.Add(1)
	return true
}

func (g *gate) leave() { g.inside.Done() }

func (g *gate) shut() {
	g.mu.Lock()
	g.cancel()
	g.mu.Unlock()
	g.inside.Wait()
}
