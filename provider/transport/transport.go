// Package transport makes the HTTP client that all wires share: certificates,
// proxy, the offline guard, and a record of what is sent and received with the
// keys masked.
package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// Options configure the client. The zero value is an ordinary one.
type Options struct {
	CAFile string // PEM file of further root certificates
	// Offline refuses every address that is neither loopback, private nor that
	// of a host in Listed.
	Offline bool
	Listed  []string
	Log     *Log // nil records nothing
}

// Error is a setting that cannot hold, or a connection the settings forbid.
type Error struct {
	Kind, What, Hint string
	Err              error
}

// Error says what and why.
func (e *Error) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind names the kind for the exit table.
func (e *Error) ErrorKind() string { return e.Kind }

// ErrorHint is the text after "try:".
func (e *Error) ErrorHint() string { return e.Hint }

// New makes the client. It has no timeout of its own: a stream may last, and
// the wires watch over silence. The error is a CA file that cannot be read.
func New(o Options) (*http.Client, error) {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	if o.Offline {
		dialer.ControlContext = guard(o.Listed)
	}
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          10,
	}
	if o.CAFile != "" {
		pool, err := roots(o.CAFile)
		if err != nil {
			return nil, &Error{Kind: "config", What: "ARTOO_CA_FILE " + o.CAFile, Err: err, Hint: "a PEM file with certificates, or unset ARTOO_CA_FILE"}
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	if o.Log != nil {
		return &http.Client{Transport: &recording{next: t, log: o.Log}}, nil
	}
	return &http.Client{Transport: t}, nil
}

func roots(path string) (*x509.CertPool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(data) {
		return nil, errors.New("holds no certificate")
	}
	return pool, nil
}

// guard refuses public addresses. It sees the address after the name was
// looked up, so a name cannot lead out; a proxy is an address like any other.
func guard(listed []string) func(ctx context.Context, network, address string, c syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if Private(at.Addr()) {
			return nil
		}
		for _, l := range listed {
			if addr, err := netip.ParseAddr(l); err == nil && addr.Unmap() == at.Addr().Unmap() {
				return nil
			}
		}
		return &Error{Kind: "config", What: "offline", Err: fmt.Errorf("%s is a public address", at.Addr()), Hint: "unset ARTOO_OFFLINE, or use a server on this machine or network"}
	}
}

// Private reports whether an address is this machine's or a private network's.
func Private(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
}

// Local reports whether a host, a name or an address without port, is this
// machine or in a private network. Names are not looked up: only "localhost"
// and those below it count.
func Local(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return Private(addr) || addr.IsUnspecified()
	}
	return host == "localhost" || len(host) > 10 && host[len(host)-10:] == ".localhost"
}
