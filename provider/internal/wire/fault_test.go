package wire

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"artoo/provider"
)

// words is a decoder of nothing: each event's data is a text, "end" ends.
type words struct {
	ended  bool
	held   int
	events []provider.Event
}

func (w *words) Feed(data string) (Progress, error) {
	w.events = nil
	switch data {
	case "end":
		w.ended = true
		return Complete, nil
	case "last":
		w.ended = true
		return End, nil
	}
	w.held += len(data)
	w.events = []provider.Event{provider.TextDelta{Text: data}}
	return More, nil
}

func (w *words) Whole(data []byte) error {
	w.ended, w.events = true, []provider.Event{provider.TextDelta{Text: string(data)}}
	return nil
}

func (w *words) Events() []provider.Event { return w.events }

func (w *words) Held() int { return w.held }

func (w *words) Over() {}

func (w *words) Done() (provider.Done, error) {
	if !w.ended {
		return provider.Done{Usage: provider.Usage{Input: 3}}, ErrCut
	}
	return provider.Done{}, nil
}

func ask(ctx context.Context, e Endpoint, address string) (text string, done bool, err error) {
	prepare := func(context.Context) (Request, error) { return Request{URL: address, Body: []byte("{}")}, nil }
	for ev, err := range Stream(ctx, e, prepare, &words{}) {
		switch ev := ev.(type) {
		case provider.TextDelta:
			text += ev.Text
		case provider.Done:
			done = true
		}
		if err != nil {
			return text, done, err
		}
	}
	return text, done, nil
}

func TestTransportFaultsNameTheFix(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the test makes handshakes fail
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	mail, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mail.Close()
	go func() {
		for conn, err := mail.Accept(); err == nil; conn, err = mail.Accept() {
			io.WriteString(conn, "220 mail.example ready\r\n")
			conn.Close()
		}
	}()
	late := trusting(secure)
	late.Transport.(*http.Transport).TLSClientConfig.Time = func() time.Time { return time.Date(2222, 2, 2, 0, 0, 0, 0, time.UTC) }
	refusing := func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:1") }
	tests := []struct {
		name    string
		client  *http.Client
		address string
		kind    provider.ErrorKind
		retry   bool
		message string
		hint    string
	}{
		{"a certificate of an unknown authority", &http.Client{Transport: &http.Transport{}}, secure.URL, provider.KindNetwork, false, "issuer: O=Acme Co", "ARTOO_CA_FILE"},
		{"a certificate for another name", trusting(secure), "https://other.example", provider.KindNetwork, false, "issuer: O=Acme Co", "another name"},
		{"plain HTTP", &http.Client{Transport: &http.Transport{}}, strings.Replace(plain.URL, "http:", "https:", 1), provider.KindConfig, false, "HTTP response", "http://"},
		{"no TLS at all", &http.Client{Transport: &http.Transport{}}, "https://" + mail.Addr().String(), provider.KindConfig, false, "does not speak TLS", "http://"},
		{"a certificate that has expired", late, secure.URL, provider.KindNetwork, false, "issuer: O=Acme Co", "clock"},
		{"a proxy that is not there", &http.Client{Transport: &http.Transport{Proxy: refusing}}, "https://api.example/v1", provider.KindNetwork, true, "proxy", "HTTPS_PROXY"},
		{"no such host", failing(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "api.example", Err: "no such host", IsNotFound: true}}), "https://api.example/v1", provider.KindNetwork, true, "no such host: api.example", "ARTOO_BASE_URL"},
		{"no name server", failing(&net.DNSError{Name: "api.example", Err: "server misbehaving"}), "https://api.example/v1", provider.KindNetwork, true, "server misbehaving", "network"},
		{"a broken HTTP/2 stream", failing(errors.New("stream error: stream ID 1; INTERNAL_ERROR; received from peer")), "https://api.example/v1", provider.KindNetwork, true, "INTERNAL_ERROR", ""},
		{"GOAWAY", failing(errors.New("http2: server sent GOAWAY and closed the connection")), "https://api.example/v1", provider.KindNetwork, true, "GOAWAY", ""},
		{"a timeout below us", failing(&net.OpError{Op: "dial", Err: timeoutError{}}), "https://api.example/v1", provider.KindTimeout, true, "does not answer", ""},
		{"a connection that closes without a word", failing(io.EOF), "https://api.example/v1", provider.KindNetwork, true, "closed the connection without an answer", ""},
		{"an address that is not allowed", failing(offline{}), "https://api.example/v1", provider.KindConfig, false, "offline", "ARTOO_OFFLINE"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			defer tc.client.CloseIdleConnections()
			_, _, err := ask(t.Context(), Endpoint{Server: provider.Server{Name: "p", HTTP: tc.client}}, tc.address)
			e := provider.AsError(err)
			if e == nil {
				t.Fatalf("got %v", err)
			}
			if e.Kind != tc.kind || e.Temporary() != tc.retry || !strings.Contains(e.Message, tc.message) || !strings.Contains(e.Hint, tc.hint) {
				t.Errorf("kind %s, temporary %v, message %q, hint %q", e.Kind, e.Temporary(), e.Message, e.Hint)
			}
			if e.Usage.Input != 3 {
				t.Error("what the decoder knew of the usage is lost")
			}
		})
	}
}

// pool is a transport that fails and counts how often it is emptied.
type pool struct{ emptied int }

func (p *pool) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "read", Err: syscall.ECONNRESET}
}

func (p *pool) CloseIdleConnections() { p.emptied++ }

// TestAFaultEmptiesThePool: where one kept connection is stale, the others
// are too, and would take a try each.
func TestAFaultEmptiesThePool(t *testing.T) {
	t.Parallel()
	p := &pool{}
	if _, _, err := ask(t.Context(), Endpoint{Server: provider.Server{Name: "p", HTTP: &http.Client{Transport: p}}}, "https://api.example/v1"); p.emptied != 1 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("emptied %d times: %v", p.emptied, err)
	}
}

// trusting is a client of the server, by whatever name that is called.
func trusting(s *httptest.Server) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	tr := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}}
	tr.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	tr.TLSClientConfig.RootCAs = pool
	return &http.Client{Transport: tr}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

type offline struct{}

func (offline) Error() string     { return "offline: api.example is not listed" }
func (offline) ErrorKind() string { return "config" }
func (offline) ErrorHint() string { return "unset ARTOO_OFFLINE" }

// roundTripper plays a reply without a network, so that synctest's clock runs.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func failing(err error) *http.Client {
	return &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, err })}
}

// piped is a client whose reply is written by write, which may sleep.
func piped(write func(w io.Writer)) *http.Client {
	return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		pr, pw := io.Pipe()
		context.AfterFunc(r.Context(), func() { pr.CloseWithError(r.Context().Err()) })
		go func() { write(pw); pw.Close() }()
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: pr, Request: r}, nil
	})}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	pause := func(d time.Duration) func(io.Writer) {
		return func(w io.Writer) {
			io.WriteString(w, "data: a\n\n")
			<-time.After(d)
			io.WriteString(w, "data: b\n\ndata: end\n\n")
		}
	}
	late := func(d time.Duration) func(io.Writer) {
		return func(w io.Writer) { <-time.After(d); io.WriteString(w, "data: a\n\ndata: end\n\n") }
	}
	comments := func(w io.Writer) {
		for range 30 {
			<-time.After(4 * time.Minute)
			io.WriteString(w, ": still here\n")
		}
		io.WriteString(w, "data: a\n\ndata: end\n\n")
	}
	tests := []struct {
		name  string
		e     Endpoint
		write func(io.Writer)
		ok    bool
	}{
		{"4m59 are fine", Endpoint{}, pause(5*time.Minute - time.Second), true},
		{"5m01 are not", Endpoint{}, pause(5*time.Minute + time.Second), false},
		{"9m59 before the first byte are fine", Endpoint{}, late(10*time.Minute - time.Second), true},
		{"10m01 are not", Endpoint{}, late(10*time.Minute + time.Second), false},
		{"comments count", Endpoint{}, comments, true},
		{"a local server may take hours", Endpoint{Server: provider.Server{Local: true}}, late(10 * time.Hour), true},
		{"unless told otherwise", Endpoint{Server: provider.Server{Local: true, Idle: time.Hour}}, late(10 * time.Hour), false},
		{"no limit asked for", Endpoint{Server: provider.Server{Idle: -1}}, pause(10 * time.Hour), true},
		{"but one for the request", Endpoint{Server: provider.Server{Idle: -1, RequestTimeout: time.Hour}}, pause(10 * time.Hour), false},
		{"a reply that goes on", Endpoint{Server: provider.Server{RequestTimeout: time.Hour}}, comments, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.e.HTTP = piped(tc.write)
				_, done, err := ask(t.Context(), tc.e, "http://h/")
				if done != tc.ok {
					t.Errorf("done %v, error %v", done, err)
				}
				if e := provider.AsError(err); !tc.ok && (e == nil || e.Kind != provider.KindTimeout || !errors.Is(err, context.DeadlineExceeded)) {
					t.Errorf("got %v, want a timeout", err)
				}
				<-time.After(24 * time.Hour) // lets the writer end
			})
		})
	}
}

func TestASlowReaderIsNotTheServersSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := Endpoint{Server: provider.Server{HTTP: piped(func(w io.Writer) {
			for _, event := range []string{"data: a\n\n", "data: b\n\n", "data: end\n\n"} {
				io.WriteString(w, event)
			}
		})}}
		prepare := func(context.Context) (Request, error) { return Request{URL: "http://h/"}, nil }
		for _, err := range Stream(t.Context(), e, prepare, &words{}) {
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour)
		}
	})
}

// TestTheEndOfACompleteReplyIsNotWaitedForLong: keep-alives after the terminal
// event must not keep the turn from ending.
func TestTheEndOfACompleteReplyIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, done, err := ask(t.Context(), Endpoint{Server: provider.Server{HTTP: piped(func(w io.Writer) {
			io.WriteString(w, "data: a\n\ndata: end\n\n")
			for {
				<-time.After(time.Second)
				if _, err := io.WriteString(w, ": keep-alive\n\n"); err != nil {
					return
				}
			}
		})}}, "http://h/")
		if took := time.Since(start); !done || err != nil || took > 6*time.Second {
			t.Errorf("done %v after %s: %v", done, took, err)
		}
		<-time.After(time.Minute) // lets the writer end
	})
}

// TestTheBodyIsReadToItsEnd: only then can the connection be used again.
func TestTheBodyIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]bool{drainGrace / 2: true, 2 * drainGrace: false} {
		synctest.Test(t, func(t *testing.T) {
			hc := piped(func(w io.Writer) {
				io.WriteString(w, "data: a\n\ndata: last\n\n")
				<-time.After(wait)
			})
			var body *watchedEnd
			inner := hc.Transport
			hc.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				resp, err := inner.RoundTrip(r)
				body = &watchedEnd{ReadCloser: resp.Body}
				resp.Body = body
				return resp, err
			})
			if _, done, err := ask(t.Context(), Endpoint{Server: provider.Server{HTTP: hc}}, "http://h/"); !done || err != nil {
				t.Errorf("done %v, error %v", done, err)
			}
			if body.end != want {
				t.Errorf("an end after %s was seen: %v, want %v", wait, body.end, want)
			}
			<-time.After(time.Hour) // lets the writer end
		})
	}
}

// watchedEnd reports whether the body was read to its end.
type watchedEnd struct {
	io.ReadCloser
	end bool
}

func (b *watchedEnd) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.end = b.end || err == io.EOF
	return n, err
}

func TestTheCallersCauseIsKept(t *testing.T) {
	t.Parallel()
	cause := errors.New("a cap was reached")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, _, err := ask(ctx, Endpoint{Server: provider.Server{HTTP: piped(func(io.Writer) {})}}, "http://h/")
	if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) || provider.AsError(err).Kind != provider.KindCanceled {
		t.Errorf("got %v", err)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	give := func(key string, err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return key, err }
	}
	if k, err := Key(t.Context(), nil); k != "" || err != nil {
		t.Errorf("no func: %q %v", k, err)
	}
	if k, err := Key(t.Context(), give(" sk-1\n", nil)); k != "sk-1" || err != nil {
		t.Errorf("blanks around: %q %v", k, err)
	}
	for name, tc := range map[string]struct {
		key  string
		err  error
		kind provider.ErrorKind
	}{
		"line break inside": {"sk\n1", nil, provider.KindAuth},
		"plain error":       {"", errors.New("no key"), provider.KindAuth},
		"classified error":  {"", offline{}, provider.KindConfig},
	} {
		_, err := Key(t.Context(), give(tc.key, tc.err))
		if e := provider.AsError(err); e == nil || e.Kind != tc.kind || strings.Contains(e.Error(), "sk\n1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		base, want string
		path       []string
	}{
		{"https://api.anthropic.com", "https://api.anthropic.com/v1/messages", []string{"v1", "messages"}},
		{"https://h/anthropic/", "https://h/anthropic/v1/messages", []string{"v1", "messages"}},
		{"https://h/v1/", "https://h/v1/messages", []string{"v1", "messages"}},
		{"https://h/v1/messages", "https://h/v1/messages", []string{"v1", "messages"}},
		{"http://h:8080/v1", "http://h:8080/v1/chat/completions", []string{"chat", "completions"}},
		{"http://h:8080/v1/chat/completions", "http://h:8080/v1/chat/completions", []string{"chat", "completions"}},
		{"https://h/d?api-version=1", "https://h/d/chat/completions?api-version=1", []string{"chat", "completions"}},
	} {
		if got, err := Join(tc.base, tc.path...); got != tc.want || err != nil {
			t.Errorf("%s: %s %v, want %s", tc.base, got, err, tc.want)
		}
	}
	for _, bad := range []string{"", "localhost:8080", "ftp://h", "http://", "http://[::1"} {
		_, err := Join(bad, "x")
		if e := provider.AsError(err); e == nil || e.Kind != provider.KindConfig || e.Hint == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTooLargeAnEventHasAName(t *testing.T) {
	t.Parallel()
	endless := io.MultiReader(strings.NewReader("data: "), io.LimitReader(repeat('x'), MaxEvent+1))
	var last error
	for _, err := range Events(endless) {
		last = err
	}
	if !errors.Is(last, ErrEventTooLarge) {
		t.Errorf("got %v", last)
	}
}

// repeat is an endless stream of one byte.
type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte{byte(r)}, len(p))), nil
}

// TestAReplyWithoutEndEnds: a server caught in a loop must not fill the memory.
func TestAReplyWithoutEndEnds(t *testing.T) {
	t.Parallel()
	event := "data: " + strings.Repeat("x", 1<<10) + "\n\n"
	hc := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(&looped{text: event}), Request: r}, nil
	})}
	prepare := func(context.Context) (Request, error) { return Request{URL: "http://h/"}, nil }
	held := 0
	for ev, err := range Stream(t.Context(), Endpoint{Server: provider.Server{HTTP: hc}}, prepare, &words{}) {
		if delta, ok := ev.(provider.TextDelta); ok {
			held += len(delta.Text)
		}
		if err != nil && !errors.Is(err, ErrReplyTooLarge) {
			t.Error(err)
		}
	}
	if held > maxHeld+maxHeld/8 || held < maxHeld {
		t.Errorf("%d bytes were taken", held)
	}
	c := newCall(t.Context(), Endpoint{Server: provider.Server{HTTP: hc}})
	defer c.close()
	if c.most != maxReply {
		t.Errorf("the limit is %d", c.most)
	}
	c.most = 100 << 10
	n := 0
	var last error
	c.run(prepare, &words{}, func(_ provider.Event, err error) bool {
		n++
		last = err
		return n < 1000
	})
	if e := provider.AsError(last); !errors.Is(last, ErrReplyTooLarge) || e.Kind != provider.KindProvider || e.Temporary() || n != 101 {
		t.Errorf("%d events, then %v", n, last)
	}
}

// looped is a text without end.
type looped struct {
	text string
	at   int
}

func (l *looped) Read(p []byte) (int, error) {
	n := copy(p, l.text[l.at:])
	l.at = (l.at + n) % len(l.text)
	return n, nil
}

// TestABrokenConnectionIsSaidInWords: the error names the side that broke it, and no ports.
func TestABrokenConnectionIsSaidInWords(t *testing.T) {
	t.Parallel()
	local, remote := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 35150}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	for want, why := range map[string]error{
		"the connection was reset by model.test:8080":              syscall.ECONNRESET,
		"the connection to model.test:8080 broke: protocol failed": errors.New("protocol failed"),
	} {
		hc := &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "read", Net: "tcp", Source: local, Addr: remote, Err: why}
		})}
		_, _, err := ask(t.Context(), Endpoint{Server: provider.Server{HTTP: hc, Setting: "OPENAI_BASE_URL"}}, "http://model.test:8080/")
		e := provider.AsError(err)
		if e == nil || e.Message != want || e.Kind != provider.KindNetwork || !errors.Is(e, why) || !strings.Contains(e.Hint, "OPENAI_BASE_URL") || strings.Contains(e.Hint, "ARTOO_BASE_URL") {
			t.Errorf("%+v, want %q", e, want)
		}
	}
}
