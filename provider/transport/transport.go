// Package transport makes the HTTP client that all wires share: certificates, proxy, the offline guard, and
// a record of all traffic with the keys masked.
package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"artoo/provider/redact"
	"artoo/tool/environ"
)

// Options configure the client. The zero value is an ordinary one.
type Options struct {
	// Environ are artoo's own variables, which name proxies. crypto/x509 reads SSL_CERT_FILE of the process.
	Environ environ.Vars
	CAFile  string // PEM file of further root certificates, absolute
	// Offline refuses every public address, and takes no proxy.
	Offline bool
	Log     *Log // nil records nothing
	// Permit refuses a host with an error that explains why; nil permits every host. Any goroutine
	// calls it.
	Permit func(host string) error
}

// Error is a setting that cannot hold, or a connection the settings forbid.
type Error struct {
	Kind, What, Hint string
	Err              error
}

// Error names the host and the reason.
func (e *Error) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind names the kind for the exit table.
func (e *Error) ErrorKind() string { return e.Kind }

// ErrorHint is the text after "try:".
func (e *Error) ErrorHint() string { return e.Hint }

// New makes the client, without a timeout. The error is a CA file that cannot be read.
func New(o Options) (*http.Client, error) {
	t, err := newTransport(o, proxies(o.Environ))
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: o.Around(t)}, nil
}

// Around makes a transport refuse hosts and log its requests, as the options want it.
func (o Options) Around(next http.RoundTripper) http.RoundTripper {
	if o.CAFile == "" {
		next = &rooted{next}
	}
	if o.Permit != nil {
		next = &permitting{next, o.Permit}
	}
	if o.Log != nil {
		next = &recording{next: next, log: o.Log}
	}
	return next
}

// rooted names the cause where no certificate can be checked, since this machine has no root certificates.
type rooted struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t *rooted) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := t.RoundTripper.RoundTrip(r)
	var verify *tls.CertificateVerificationError
	if err == nil || !errors.As(err, &verify) {
		return reply, err
	}
	if pool, failed := x509.SystemCertPool(); failed != nil || pool.Equal(x509.NewCertPool()) {
		err = &Error{Kind: "network", What: "the certificate of " + r.URL.Host + " cannot be checked",
			Err: errors.New("no root certificates are installed on this machine"),
			Hint: "install the package ca-certificates, or set ARTOO_CA_FILE to a PEM file; " +
				"look at SSL_CERT_FILE and SSL_CERT_DIR too"}
	}
	return nil, err
}

// CloseIdleConnections passes the call on.
func (t *rooted) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// permitting refuses hosts, those of redirects too.
type permitting struct {
	next   http.RoundTripper
	permit func(host string) error
}

// RoundTrip implements http.RoundTripper.
func (t *permitting) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.permit(r.URL.Host); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a refused request has no other error than the refusal
		}
		return nil, err
	}
	return t.next.RoundTrip(r)
}

// CloseIdleConnections passes the call on.
func (t *permitting) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Plain is New's transport without the record and the offline guard.
func Plain(o Options) (*http.Transport, error) {
	o.Offline = false
	return newTransport(o, proxies(o.Environ))
}

// proxies are those that variables name, as http.ProxyFromEnvironment reads them of the process.
func proxies(vars environ.Vars) proxyFunc {
	either := func(name string) string { return cmp.Or(vars.Get(name), vars.Get(strings.ToLower(name))) }
	config := httpproxy.Config{HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY"),
		CGI: vars.Get("REQUEST_METHOD") != ""}
	find := config.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return find(r.URL) }
}

type proxyFunc func(*http.Request) (*url.URL, error)

func newTransport(o Options, env proxyFunc) (*http.Transport, error) {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		Proxy:                  readable(env),
		OnProxyConnectResponse: proxyRefusal,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		// A connection that died while the computer slept looks alive: only asking it tells.
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          10,
	}
	if o.Offline {
		// A proxy would look up and connect to any host, out of the guard's sight.
		g := &guard{dialer: dialer}
		t.DialContext, t.Proxy = g.DialContext, nil
	}
	if o.CAFile != "" {
		pool, err := roots(o.CAFile)
		if err != nil {
			return nil, &Error{Kind: "config", What: "ARTOO_CA_FILE " + o.CAFile, Err: err,
				Hint: "a PEM file with certificates, or unset ARTOO_CA_FILE"}
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	return t, nil
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

// readable keeps a bad proxy address, and the password in it, out of the error.
func readable(env proxyFunc) proxyFunc {
	return func(r *http.Request) (*url.URL, error) {
		u, err := env(r)
		if err != nil {
			return nil, &Error{Kind: "config", What: "HTTPS_PROXY or HTTP_PROXY", Err: errors.New("is not a valid address"),
				Hint: "write it as http://host:port"}
		}
		return u, nil
	}
}

// proxyRefusal names the proxy that refused a request; net/http says only "Forbidden".
func proxyRefusal(_ context.Context, proxy *url.URL, connect *http.Request, answer *http.Response) error {
	if answer.StatusCode/100 != 4 {
		return nil
	}
	host := connect.Host // the address of a CONNECT names none
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	e := &Error{Kind: "network", What: "the proxy " + proxy.Host,
		Err:  fmt.Errorf("refuses to connect to %s: %s", connect.Host, answer.Status),
		Hint: "check HTTPS_PROXY, or put " + host + " into NO_PROXY"}
	if answer.StatusCode == http.StatusProxyAuthRequired {
		e.Hint = "the proxy wants a user and password: HTTPS_PROXY=http://user:password@" + proxy.Host
	}
	return e
}

// mask hides a request's own keys, and whatever else looks like a key.
func mask(own redact.Known, text string) string { return redact.Mask(own.Hide(text)) }

func headers(h http.Header, own redact.Known) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		value := redact.Hidden
		if redact.PlainHeader(name) {
			value = mask(own, strings.Join(values, ", "))
		}
		out[strings.ToLower(name)] = value
	}
	return out
}
