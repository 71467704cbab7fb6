package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"artoo/provider"
)

// closer is a server that answers the first request of each connection, keeps it
// open, and closes it when the next one begins to arrive, or when it has arrived and
// was worked on for a while.
type closer struct {
	works time.Duration // time on a request before the close; 0 closes before it is read

	mu       sync.Mutex
	answered int
	keys     []string // Idempotency-Key headers that came
}

func (s *closer) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	if !s.read(r) {
		return
	}
	s.mu.Lock()
	s.answered++
	s.mu.Unlock()
	const body = "data: hello\n\ndata: last\n\n"
	_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "+
		strconv.Itoa(len(body))+"\r\n\r\n"+body)
	if err != nil {
		return
	}
	if s.works == 0 {
		_, _ = r.Peek(1) // the next request begins, or the client has gone
		return
	}
	if s.read(r) {
		<-time.After(s.works) // uses the clock of the test
	}
}

func (s *closer) read(r *bufio.Reader) bool {
	req, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	s.mu.Lock()
	s.keys = append(s.keys, req.Header["Idempotency-Key"]...)
	s.mu.Unlock()
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

// TestAKeptConnectionThatTheServerClosed costs nothing: the request goes out on a
// fresh one, and is answered once.
func TestAKeptConnectionThatTheServerClosed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &closer{}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { s.serve(conn) })
		}
	})
	client := &http.Client{Transport: &http.Transport{}}
	const turns = 25
	for turn := range turns {
		text, done, err := ask(t.Context(), Endpoint{Server: provider.Server{Name: "x", HTTP: client}},
			"http://"+l.Addr().String())
		if text != "hello" || !done || err != nil {
			t.Errorf("turn %d: %q %v", turn, text, err)
		}
	}
	client.CloseIdleConnections()
	l.Close()
	open.Wait()
	if s.answered != turns || len(s.keys) > 0 {
		t.Errorf("%d answers to %d requests, keys %q", s.answered, turns, s.keys)
	}
}

// TestARequestThatTheServerWorkedOnIsNotRepeatedSilently: a server that dies over a
// request is no closed connection.
func TestARequestThatTheServerWorkedOnIsNotRepeatedSilently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &closer{works: 10 * time.Second}
		dials := 0
		dial := func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			dials++
			go s.serve(far)
			return near, nil
		}
		client := &http.Client{Transport: &http.Transport{DialContext: dial}}
		e := Endpoint{Server: provider.Server{Name: "x", HTTP: client}}
		if _, done, err := ask(t.Context(), e, "http://server.test"); !done || err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the connection is kept
		_, _, err := ask(t.Context(), e, "http://server.test")
		if e := provider.AsError(err); e == nil || !errors.Is(err, io.ErrUnexpectedEOF) || !e.Temporary() ||
			!strings.Contains(e.Message, "without an answer") {
			t.Errorf("got %v", err)
		}
		if dials != 1 {
			t.Errorf("%d connections: the request was sent again", dials)
		}
		client.CloseIdleConnections()
	})
}
