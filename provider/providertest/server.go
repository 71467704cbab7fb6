package providertest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"artoo/tool/needs/pipes"
)

// Request is one request the server saw.
type Request struct {
	Method string
	Path   string
	Query  string // unchanged
	Proto  string // HTTP/1.1 or HTTP/2.0
	Header http.Header
	Body   []byte
}

// Handler answers requests with scripted replies and keeps the requests.
// It may be used by several requests at a time.
type Handler struct {
	// Next chooses the reply of the n-th request, from 0. It is called by one
	// request at a time.
	Next func(n int, r Request) Reply
	// NoList answers that there is no list of models when one is asked for. Such
	// requests are neither counted nor kept.
	NoList bool

	mu       sync.Mutex
	requests []Request
}

// Script answers with one reply after the other; a request too many gets a 500
// that says so.
func Script(replies ...Reply) *Handler {
	return &Handler{Next: func(n int, _ Request) Reply {
		if n >= len(replies) {
			return JSON(http.StatusInternalServerError,
				fmt.Sprintf(`{"error":{"message":"the script has only %d replies","type":"script"}}`, len(replies))).
				With("X-Should-Retry", "false")
		}
		return replies[n]
	}}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.NoList && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left in the middle of its request
	}
	got := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Proto: r.Proto, Header: r.Header.Clone(),
		Body: body}
	h.mu.Lock()
	n := len(h.requests)
	h.requests = append(h.requests, got)
	reply := h.Next(n, got)
	h.mu.Unlock()
	reply.play(w, r)
}

// Requests returns the requests so far.
func (h *Handler) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// Server is a Handler behind a loopback address.
type Server struct {
	*Handler
	URL  string
	HTTP *http.Client // a client of its own, so that no test sees another's connections
	srv  *httptest.Server

	conns atomic.Int64
}

// NewServer starts a server that plays the replies in order. It stops with the
// test, or at Close.
func NewServer(t testing.TB, replies ...Reply) *Server {
	t.Helper()
	return Serve(t, Script(replies...))
}

// Serve starts a server with the given handler.
func Serve(t testing.TB, h *Handler) *Server {
	t.Helper()
	s := unstarted(t, h)
	s.srv.Start()
	s.URL, s.HTTP = s.srv.URL, &http.Client{Transport: &http.Transport{}}
	return s
}

// ServeTLS starts one that speaks HTTP/2 over TLS, as the real ones do; its
// client trusts it.
func ServeTLS(t testing.TB, h *Handler) *Server {
	t.Helper()
	s := unstarted(t, h)
	s.srv.EnableHTTP2 = true
	s.srv.StartTLS()
	s.URL, s.HTTP = s.srv.URL, s.srv.Client()
	return s
}

// ServeInMemory starts one without a network: a clock of synctest can move it and its client.
func ServeInMemory(t testing.TB, h *Handler) *Server {
	t.Helper()
	s := unstarted(t, h)
	listener := s.inMemory(t)
	s.srv.Start()
	s.URL, s.HTTP = s.srv.URL, &http.Client{Transport: &http.Transport{DialContext: listener.Dial}}
	return s
}

// ServeTLSInMemory is ServeTLS without a network.
func ServeTLSInMemory(t testing.TB, h *Handler) *Server {
	t.Helper()
	s := unstarted(t, h)
	listener := s.inMemory(t)
	s.srv.EnableHTTP2 = true
	s.srv.StartTLS()
	s.HTTP = s.srv.Client()
	transport := s.HTTP.Transport.(*http.Transport)
	transport.DialContext = listener.Dial
	// The certificate is for this name.
	s.URL = "https://example.com"
	return s
}

// inMemory replaces the listener of a server that has not started.
func (s *Server) inMemory(t testing.TB) *pipes.Listener {
	t.Helper()
	loopback, listener := s.srv.Listener, pipes.Listen()
	s.srv.Listener = listener
	if err := loopback.Close(); err != nil {
		t.Fatal(err)
	}
	return listener
}

func unstarted(t testing.TB, h *Handler) *Server {
	s := &Server{Handler: h, srv: httptest.NewUnstartedServer(h)}
	s.srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	t.Cleanup(s.Close)
	return s
}

// Connections is how many connections were opened so far.
func (s *Server) Connections() int { return int(s.conns.Load()) }

// Close ends all connections and waits for the handlers. It may be called twice.
func (s *Server) Close() {
	s.srv.CloseClientConnections()
	s.srv.Close()
	s.HTTP.CloseIdleConnections()
}
