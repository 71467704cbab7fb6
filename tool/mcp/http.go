package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// openHTTP connects to an HTTP server: by the transport of both newer eras, else by the old one.
func (s *server) openHTTP(ctx context.Context) (*link, error) {
	address, err := s.address()
	if err != nil {
		return nil, s.fail(KindConfig, "url", err)
	}
	origin, err := url.Parse(address)
	if err != nil {
		return nil, s.fail(KindConfig, "url", errors.New("is not an address"))
	}
	kept := s.catalogue()
	if !s.SSE && !kept.Old {
		version := ""
		if kept.Protocol != "" && kept.Protocol < modern {
			version = legacy
		}
		w := &web{s: s, origin: origin}
		l, err := s.connect(ctx, &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: w}, MaxEventSize: maxMessage}, version)
		if err != nil && version != "" && ctx.Err() == nil && !isAuth(err) {
			l, err = s.connect(ctx, &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: w}, MaxEventSize: maxMessage}, "")
		}
		if err == nil {
			return l, nil
		}
		if status := w.status.Load(); isAuth(err) || ctx.Err() != nil || status < 400 || status >= 500 || status == http.StatusTooManyRequests {
			return nil, err
		}
	}
	w := &web{s: s, origin: origin, old: true}
	l, err := s.connect(ctx, &sdk.SSEClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: w}}, legacy)
	if err != nil {
		if status := w.status.Load(); status >= 400 && !isAuth(err) {
			err = fmt.Errorf("it answers %d %s: %w", status, http.StatusText(int(status)), err)
		}
		return nil, err
	}
	l.old = true
	return l, nil
}

func isAuth(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == KindAuth
}

// web makes the requests to one server: it adds the headers and the token, which go to no other
// origin, and bounds the answers.
type web struct {
	s      *server
	origin *url.URL
	old    bool         // the transport of 2024-11-05
	status atomic.Int32 // the last answer's
	listen atomic.Int32 // how often the server was listened to
	writes atomic.Int32 // requests that have no answer yet
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != w.origin.Scheme || req.URL.Host != w.origin.Host {
		return nil, fmt.Errorf("redirects to another server, %s, which artoo does not follow", req.URL.Host)
	}
	if w.old && req.Method == http.MethodGet {
		return w.lasting(req)
	}
	if req.Method == http.MethodGet && req.Header.Get("Last-Event-ID") == "" {
		return w.listening(req)
	}
	defer w.writes.Add(-1)
	if w.writes.Add(1) > maxWrites {
		return nil, errUnread
	}
	return w.allowed(req)
}

// allowed sends a request, and again after a token was renewed or the user logged in.
func (w *web) allowed(req *http.Request) (*http.Response, error) {
	resp, token, err := w.send(req)
	if err == nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
		again, authErr := w.s.authorize(req, resp, token)
		switch {
		case authErr != nil:
			resp.Body.Close()
			return nil, authErr
		case again:
			resp.Body.Close()
			resp, _, err = w.send(req)
		}
	}
	if err != nil {
		return nil, err
	}
	w.status.Store(int32(resp.StatusCode))
	if resp.StatusCode == http.StatusUnauthorized {
		resp.Body.Close()
		return nil, w.s.needsLogin("refuses the login")
	}
	return w.adapted(resp), nil
}

// send sends a request once, and returns the token that went along, "" for none.
func (w *web) send(req *http.Request) (resp *http.Response, token string, err error) {
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{WroteHeaders: func() { markSent(req.Context()) }})
	out := req.Clone(ctx)
	if req.GetBody != nil {
		if out.Body, err = req.GetBody(); err != nil {
			return nil, "", err
		}
	}
	for name, value := range w.s.Headers {
		if value, err = w.s.expand(value); err != nil {
			return nil, "", w.s.fail(KindConfig, "header "+name, err)
		}
		out.Header.Set(name, value)
	}
	if token, err = w.s.bearer(req.Context()); err != nil {
		return nil, "", err
	}
	if token != "" {
		out.Header.Set("Authorization", "Bearer "+token)
	}
	base := w.s.m.httpClient().Transport
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err = base.RoundTrip(out)
	return resp, token, err
}

// adapted bounds the messages of an answer and makes them ones that the library passes on.
func (w *web) adapted(resp *http.Response) *http.Response {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	switch strings.TrimSpace(kind) {
	case "text/event-stream":
		resp.Body = &lineBody{body: resp.Body, lines: bufio.NewReaderSize(resp.Body, 16<<10)}
	default:
		resp.Body = &wholeBody{body: resp.Body}
	}
	return resp
}

// adapt is a message in the form that the library passes on.
func adapt(message []byte) []byte {
	many := manyParts(message)
	if !many && !bytes.Contains(message, []byte(`"resultType"`)) {
		return message
	}
	msg, err := jsonrpc.DecodeMessage(message)
	r, ok := msg.(*jsonrpc.Response)
	switch {
	case many && !ok:
		return nil
	case err != nil || !ok:
		return message
	case many:
		r.Result, r.Error = nil, errParts()
	default:
		carried := passable(r.Result)
		if len(carried) == len(r.Result) && bytes.Equal(carried, r.Result) {
			return message
		}
		r.Result = carried
	}
	if out, err := jsonrpc.EncodeMessage(r); err == nil {
		return out
	}
	return message
}

// wholeBody is a body of one message, read when it is asked for.
type wholeBody struct {
	body io.ReadCloser
	rest *bytes.Reader
}

// Read implements io.Reader.
func (b *wholeBody) Read(into []byte) (int, error) {
	if b.rest == nil {
		data, err := io.ReadAll(io.LimitReader(b.body, maxMessage+1))
		if err == nil && len(data) > maxMessage {
			err = errTooLong
		}
		if err != nil {
			return 0, err
		}
		b.rest = bytes.NewReader(adapt(data))
	}
	return b.rest.Read(into)
}

// Close implements io.Closer.
func (b *wholeBody) Close() error { return b.body.Close() }

// lineBody is a stream of events, line by line as they come.
type lineBody struct {
	body  io.ReadCloser
	lines *bufio.Reader
	rest  []byte
	err   error
}

// Read implements io.Reader.
func (b *lineBody) Read(into []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		var line []byte
		line, b.err = readLine(b.lines)
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			line = append([]byte("data: "), adapt(bytes.TrimSpace(data))...)
		}
		if b.rest = line; b.err == nil {
			b.rest = append(b.rest, '\n')
		}
	}
	n := copy(into, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (b *lineBody) Close() error { return b.body.Close() }

const (
	listenWait = 3 * time.Second // A stream that is only listened to sends its headers in this time.
	maxListens = 3
)

// listening opens the stream on which an old server may report changes. The library waits for its
// headers before anything else, and gives a connection up for a stream that fails: so a server
// that does not offer one, is silent or cuts it again and again gets a stream without events.
func (w *web) listening(req *http.Request) (*http.Response, error) {
	first := w.listen.Add(1)
	if first > maxListens {
		return silence(req), nil
	}
	ctx, cancel := context.WithCancel(req.Context())
	type answer struct {
		resp *http.Response
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		resp, _, err := w.send(req.Clone(ctx))
		got <- answer{resp, err}
	}()
	timer := time.NewTimer(listenWait)
	defer timer.Stop()
	select {
	case a := <-got:
		if a.err == nil && a.resp.StatusCode == http.StatusOK {
			stop := context.AfterFunc(w.s.m.closing, cancel)
			a.resp = w.adapted(a.resp)
			a.resp.Body = &closing{a.resp.Body, func() { stop(); cancel() }}
			return a.resp, nil
		}
		if a.err == nil {
			a.resp.Body.Close()
		}
	case <-timer.C:
		go func() {
			if a := <-got; a.err == nil {
				a.resp.Body.Close()
			}
		}()
	}
	cancel()
	return silence(req), nil
}

// lasting opens the stream of the old transport, which lives on when the start, whose context the
// library uses for it, is over.
func (w *web) lasting(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(req.Context()))
	starting := context.AfterFunc(req.Context(), cancel)
	resp, err := w.allowed(req.Clone(ctx))
	if err != nil || !starting() {
		cancel()
		return resp, err
	}
	stop := context.AfterFunc(w.s.m.closing, cancel)
	resp.Body = &closing{resp.Body, func() { stop(); cancel() }}
	return resp, nil
}

// closing is a body that does something more when it is closed.
type closing struct {
	io.ReadCloser
	after func()
}

// Close implements io.Closer.
func (c *closing) Close() error {
	defer c.after()
	return c.ReadCloser.Close()
}

// silence is a stream without events, until the request ends.
func silence(req *http.Request) *http.Response {
	r, w := io.Pipe()
	context.AfterFunc(req.Context(), func() { w.Close() })
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r, Request: req}
}
