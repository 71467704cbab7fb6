package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"artoo/provider"
)

// fail turns any error of this call into the provider's one error type.
func (c *call) fail(err error, usage provider.Usage) *provider.Error {
	e := provider.AsError(err)
	if e == nil {
		e = c.fault(err)
	}
	out := *e // a decoder or key source may keep its own value
	out.Provider, out.Local = c.Name, c.Local
	// A key source begins with the provider's name, which Error puts there too.
	out.Message = strings.TrimPrefix(out.Message, c.Name+": ")
	out.RequestID = cmp.Or(out.RequestID, c.requestID)
	if out.Usage == (provider.Usage{}) {
		out.Usage = usage
	}
	if out.Hint == "" && out.Kind == provider.KindNetwork {
		out.Hint = "check the network, HTTPS_PROXY and ARTOO_BASE_URL"
	}
	if out.Hint == "" && out.Status == http.StatusUnauthorized {
		out.Hint = c.KeyHint
	}
	out.Hint = c.naming(out.Hint)
	c.redact(&out)
	return &out
}

// naming puts the setting that names the address into a hint.
func (e Endpoint) naming(hint string) string {
	if e.Setting == "" {
		return hint
	}
	return strings.NewReplacer("ARTOO_BASE_URL (or base_url)", e.Setting, "ARTOO_BASE_URL or base_url in config.toml",
		e.Setting,
		"ARTOO_BASE_URL", e.Setting).Replace(hint)
}

// redact takes keys out of an error, and shortens a server's long text.
func (c *call) redact(e *provider.Error) {
	if e.Message == "" && e.Err != nil {
		if why := e.Err.Error(); c.secrets.Hide(why) != why {
			e.Message = why
		}
	}
	e.Message = shorten(c.secrets.Hide(e.Message), maxMessage)
	e.Code, e.RequestID = shorten(c.secrets.Hide(e.Code), 100), shorten(c.secrets.Hide(e.RequestID), 200)
	e.Hint = c.secrets.Hide(e.Hint)
}

// fault sorts failures below the protocol. The cause that ended the request is looked at first.
func (c *call) fault(err error) *provider.Error {
	if c.parent.Err() != nil {
		cause := context.Cause(c.parent)
		if !errors.Is(cause, c.parent.Err()) {
			cause = fmt.Errorf("%w: %w", c.parent.Err(), cause)
		}
		return &provider.Error{Kind: provider.KindCanceled, Err: cause}
	}
	cause := context.Cause(c.ctx)
	var idle idleError
	switch {
	case errors.As(cause, &idle):
		return &provider.Error{Kind: provider.KindTimeout, Err: idle,
			Hint: "again, or allow more silence with ARTOO_IDLE_TIMEOUT"}
	case cause != nil && (errors.Is(cause, errRequestTimeout) || errors.Is(c.ctx.Err(), context.DeadlineExceeded)):
		return &provider.Error{Kind: provider.KindTimeout,
			Err:  fmt.Errorf("not done after %s: %w", c.RequestTimeout, context.DeadlineExceeded),
			Hint: "again, or allow more time with ARTOO_REQUEST_TIMEOUT"}
	}
	switch {
	case errors.Is(err, ErrEventTooLarge), errors.Is(err, ErrReplyTooLarge):
		return &provider.Error{Kind: provider.KindProvider, Err: err, Retry: new(false)}
	case errors.Is(err, ErrCut), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e := &provider.Error{Kind: provider.KindNetwork, Message: ErrCut.Error(),
			Err: fmt.Errorf("%w: %w", ErrCut, io.ErrUnexpectedEOF)}
		var mark Missing
		switch {
		case c.resp == nil:
			e.Message = "the server closed the connection without an answer"
		case !c.started && errors.Is(err, ErrCut):
			e.Message, e.Empty = "the server's reply is empty", true
		case errors.As(err, &mark):
			e.Message, e.Missing = mark.Error(), string(mark)
		}
		return e
	}
	return c.transport(err)
}

// kinded is an error that already has its kind.
type kinded interface {
	error
	ErrorKind() string
	ErrorHint() string
}

func (c *call) transport(err error) *provider.Error {
	// The next try must not meet another stale connection of the pool.
	c.client().CloseIdleConnections()
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	host := hostOf(c.req.URL)
	e := &provider.Error{Kind: provider.KindNetwork, Message: err.Error(), Err: err}
	var known kinded
	var dns *net.DNSError
	var noTLS tls.RecordHeaderError
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &known):
		e.Kind, e.Hint, e.Message = provider.ErrorKind(known.ErrorKind()), known.ErrorHint(), known.Error()
		e.Retry = new(false)
	case tlsError(e, err, host):
		e.Retry = new(false)
	case errors.As(err, &noTLS) && noTLS.Conn != nil:
		e.Kind, e.Message = provider.KindConfig, host+" does not speak TLS: "+err.Error()
		e.Hint = "write http:// in ARTOO_BASE_URL if the server speaks plain HTTP, and check its port and HTTPS_PROXY"
	case errors.As(err, &op) && op.Op == "proxyconnect", strings.Contains(err.Error(), "proxyconnect"):
		e.Message, e.Hint = "the proxy does not answer: "+err.Error(), "check HTTPS_PROXY and NO_PROXY"
	case errors.As(err, &dns):
		e.Message = "no such host: " + dns.Name
		if !dns.IsNotFound {
			e.Message = "cannot look up " + dns.Name + ": " + dns.Err
		}
		e.Hint = "check the network, HTTPS_PROXY and ARTOO_BASE_URL"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message, e.Hint = host+" refuses the connection", "is a server running there? Or check ARTOO_BASE_URL"
		if f, _ := provider.FactsOf(c.Name); f.Local != nil {
			e.Hint = "start " + f.Local.Title + " (" + f.Local.Start + "), or check " + cmp.Or(c.Setting, f.URLVar)
		}
	case reset(err):
		e.Message = "the connection was reset by " + host
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Kind, e.Message = provider.KindTimeout, host+" does not answer: "+err.Error()
		e.Err = fmt.Errorf("%w: %w", err, context.DeadlineExceeded)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.Kind, e.Hint = provider.KindConfig, "the server speaks plain HTTP: write http:// in ARTOO_BASE_URL"
	case strings.Contains(err.Error(), "invalid header field"):
		e.Kind, e.Hint = provider.KindConfig, "check extra_headers in config.toml: names are words, values are one line"
	}
	// without both ends' addresses, which help no one
	if known == nil && errors.As(err, &op) && e.Message == err.Error() {
		e.Message = "the connection to " + host + " broke: " + op.Err.Error()
	}
	return e
}

func reset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// tlsError words a certificate that could not be checked. A company's proxy is the usual issuer.
func tlsError(e *provider.Error, err error, host string) bool {
	var verify *tls.CertificateVerificationError
	if !errors.As(err, &verify) {
		return false
	}
	issuer := "unknown"
	if len(verify.UnverifiedCertificates) > 0 {
		last := verify.UnverifiedCertificates[len(verify.UnverifiedCertificates)-1]
		issuer = last.Issuer.String()
	}
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	e.Message = fmt.Sprintf("the certificate of %s is not trusted (issuer: %s): %v", host, issuer, verify.Err)
	switch {
	case errors.As(err, &name):
		e.Hint = "the certificate is for another name: check ARTOO_BASE_URL and HTTPS_PROXY"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		e.Hint = "the certificate has expired or is not valid yet: check this computer's clock, then the server"
	default:
		e.Hint = "if this is your company's or your own authority, set ARTOO_CA_FILE to its certificate (PEM)"
	}
	return true
}

// retryWords reads how long to wait (in any form), and whether to retry.
func retryWords(h http.Header) (wait time.Duration, retry *bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms/1000 <= year {
		wait = seconds(ms / 1000)
	}
	wait = cmp.Or(wait, untilWord(h.Get("Retry-After"), time.Now()))
	if word := h.Get("X-Should-Retry"); word == "true" || word == "false" {
		retry = new(word == "true")
	}
	return wait, retry
}

// untilWord is how long until a time that a server names in any form: seconds, seconds or milliseconds since 1970, a
// duration ("6m0s") or a date. It is 0 for no such word, and for a time in the past.
func untilWord(word string, now time.Time) time.Duration {
	if sec, err := strconv.ParseFloat(word, 64); err == nil {
		for _, unit := range []float64{1, 1000} {
			if left := sec/unit - float64(now.UnixMilli())/1000; math.Abs(left) < year {
				sec = left
			}
		}
		return seconds(sec)
	}
	if d, err := time.ParseDuration(word); err == nil {
		return seconds(d.Seconds())
	}
	at, err := http.ParseTime(word)
	if err != nil {
		if at, err = time.Parse(time.RFC3339, word); err != nil {
			return 0
		}
	}
	return seconds(at.Sub(now).Seconds())
}

// seconds makes a duration of any float, 0 of one in the past.
func seconds(s float64) time.Duration {
	if !(s > 0) { // NaN too
		return 0
	}
	return time.Duration(min(s, 100*year) * float64(time.Second))
}

const year = 366 * 24 * 60 * 60 // seconds

// maxMessage is how much of a server's words an error keeps, in characters.
const maxMessage = 600

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "the server"
	}
	return u.Host
}

func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || raw == "" {
		return "another address"
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	return u.String()
}

// urlProblem describes the fault of an address, without a part that may be a password.
func urlProblem(raw string, err error) string {
	var u *url.Error
	if strings.Contains(raw, "@") || !errors.As(err, &u) {
		return "it is not a valid address"
	}
	return u.Err.Error()
}

// Nonsense is the error of a piece of a reply, or of a list, that cannot be read.
func Nonsense(what string, err error) *provider.Error {
	return &provider.Error{Kind: provider.KindProvider, Message: "cannot read " + what + ": " + err.Error(), Err: err}
}

// NoReply is the error of a document that is no reply: the server's own, if it reports one.
func NoReply(what string, data []byte, err error) *provider.Error {
	if e := Failure(data); e != nil {
		return e
	}
	return &provider.Error{Kind: provider.KindProvider, Message: "the reply is not " + what + ": " + string(data), Err: err}
}

// Reported is the error in an event's field "error", or nil. It is never nil where surely is set.
func Reported(field json.RawMessage, event string, surely bool) *provider.Error {
	if !surely && !Present(field) {
		return nil
	}
	e := Failure([]byte(event))
	if e == nil && surely {
		e = &provider.Error{Kind: provider.KindProvider, Message: "the server reports an error without a message"}
	}
	return e
}
