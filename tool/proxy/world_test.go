package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// world is a proxy on loopback with an internet of its own: names have the addresses that a test gives them, and
// addresses lead to servers of the test. All other addresses lead to one server, which should never be reached.
type world struct {
	t     testing.TB
	proxy *Proxy
	front net.Listener
	evil  *server

	mu sync.Mutex
	// names are the addresses of a name, one answer for each time that it is asked for.
	names map[string][]string
	// places are where a server of the internet listens here.
	places  map[string]string
	asked   []string
	dialled []string
}

// Addresses of the internet that tests use.
const (
	good   = "93.184.216.34"
	good6  = "2606:2800:220:1::1"
	second = "151.101.1.1"
)

func newWorld(t testing.TB, change func(*Config)) *world {
	t.Helper()
	w := &world{t: t, names: map[string][]string{}, places: map[string]string{}}
	config := Config{Resolver: &net.Resolver{PreferGo: true, Dial: w.nameServer}}
	if change != nil {
		change(&config)
	}
	w.evil = w.serve(func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	w.proxy = New(config)
	w.proxy.dial = w.dial
	w.front = listen(t, "127.0.0.1:0")
	var served sync.WaitGroup
	go func() {
		for {
			conn, err := w.front.Accept()
			if err != nil {
				return
			}
			served.Go(func() { w.proxy.Serve(conn) })
		}
	}()
	t.Cleanup(func() {
		w.front.Close()
		w.proxy.Close()
		served.Wait()
	})
	return w
}

func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	w.mu.Unlock()
	place := w.at(address)
	switch place {
	case "":
		place = w.evil.address
	case "refused":
		return nil, fmt.Errorf("connection refused")
	}
	return (&net.Dialer{}).DialContext(ctx, network, place)
}

// dials is how many connections were begun.
func (w *world) dials() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dialled)
}

// strayed reports whether a connection was begun that leads to no server of the test.
func (w *world) strayed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.dialled, func(address string) bool { return w.places[address] == "" })
}

// at is where the server of an address listens here.
func (w *world) at(address string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.places[address]
}

func (w *world) log() (asked, dialled string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.asked, " "), strings.Join(w.dialled, " ")
}

func (w *world) name(name string, addresses ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[name] = addresses
}

func (w *world) place(address string, s *server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places[address] = s.address
}

// server counts its connections.
type server struct {
	address     string
	connections atomic.Int64
	bytes       atomic.Int64
}

type counted struct {
	net.Listener
	*server
}

type countedConn struct {
	net.Conn
	*server
}

func (l counted) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.connections.Add(1)
	return countedConn{conn, l.server}, nil
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (c countedConn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// serve is a server that speaks in its own way.
func (w *world) serve(handle func(net.Conn)) *server {
	l := listen(w.t, "127.0.0.1:0")
	s := &server{address: l.Addr().String()}
	var served sync.WaitGroup
	go func() {
		for {
			conn, err := counted{l, s}.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	}()
	w.t.Cleanup(func() {
		l.Close()
		if w.proxy != nil {
			w.proxy.Close()
		}
		served.Wait()
	})
	return s
}

// site is a server of HTTP, with TLS or without.
func (w *world) site(secure bool, handler http.HandlerFunc) *server {
	l := listen(w.t, "127.0.0.1:0")
	s := &server{address: l.Addr().String()}
	h := httptest.NewUnstartedServer(handler)
	h.Listener.Close()
	h.Listener = counted{l, s}
	if secure {
		h.StartTLS()
	} else {
		h.Start()
	}
	w.t.Cleanup(h.Close)
	return s
}

// echo answers with what it gets.
func (w *world) echo() *server { return w.serve(func(conn net.Conn) { _, _ = io.Copy(conn, conn) }) }

func (w *world) nameServer(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	go w.serveNames(there)
	// A pipe has no packets: each message has its length before it.
	return here, nil
}

func (w *world) serveNames(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		packed := make([]byte, int(size[0])<<8|int(size[1]))
		if _, err := io.ReadFull(conn, packed); err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(packed) != nil {
			return
		}
		w.answer(&m)
		answer, err := m.Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...)); err != nil {
			return
		}
	}
}

// answer has the addresses of a name, of the kind that is asked for. The question for IPv4 moves to the next answer.
func (w *world) answer(m *dnsmessage.Message) {
	m.Response, m.Additionals = true, nil
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.names[name]
	if q.Type == dnsmessage.TypeA {
		w.asked = append(w.asked, name)
	}
	if len(list) == 0 {
		m.RCode = dnsmessage.RCodeNameError
		return
	}
	if len(list) > 1 && q.Type == dnsmessage.TypeA {
		w.names[name] = list[1:]
	}
	for text := range strings.SplitSeq(list[0], " ") {
		a := netip.MustParseAddr(text)
		r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}}
		switch {
		case q.Type == dnsmessage.TypeA && a.Is4():
			r.Body = &dnsmessage.AResource{A: a.As4()}
		case q.Type == dnsmessage.TypeAAAA && a.Is6():
			r.Body = &dnsmessage.AAAAResource{AAAA: a.As16()}
		default:
			continue
		}
		m.Answers = append(m.Answers, r)
	}
}

// url is the proxy with a line's credential.
func (w *world) url(l *Line) *url.URL {
	u, err := url.Parse(l.URL(w.front.Addr().(*net.TCPAddr).Port))
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

// browser is a client of HTTP that uses the proxy.
func (w *world) browser(l *Line) *http.Client {
	transport := &http.Transport{Proxy: http.ProxyURL(w.url(l)), TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DisableCompression: true}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// get is the status and text of a page.
func (w *world) get(client *http.Client, address string) (int, string) {
	w.t.Helper()
	answer, err := client.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Error(err)
	}
	return answer.StatusCode, string(text)
}

// wire is a raw connection to the proxy.
type wire struct {
	net.Conn
	r *bufio.Reader
	t testing.TB
}

func (w *world) wire() *wire {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.front.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		w.t.Fatal(err)
	}
	return &wire{conn, bufio.NewReader(conn), w.t}
}

// auth is the header with the credential of a line.
func auth(l *Line) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, l.credential)
	return "Proxy-Authorization: " + r.Header.Get("Authorization") + "\r\n"
}

// say writes text; the proxy may have gone.
func (w *wire) say(text string) { _, _ = io.WriteString(w.Conn, text) }

// status reads an answer whole, and is 0 where the connection ends before.
func (w *wire) status(method string) (int, string) {
	answer, err := http.ReadResponse(w.r, &http.Request{Method: method})
	if err != nil {
		return 0, err.Error()
	}
	if method == http.MethodConnect && answer.StatusCode == http.StatusOK {
		return answer.StatusCode, ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// connect opens a tunnel.
func (w *world) connect(l *Line, target string) (*wire, int, string) {
	w.t.Helper()
	c := w.wire()
	c.say("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n" + auth(l) + "\r\n")
	status, text := c.status(http.MethodConnect)
	return c, status, text
}

// rest is all that still comes until the other side says no more.
func (w *wire) rest() string {
	data, _ := io.ReadAll(w.r)
	return string(data)
}

// hello is the first message of a TLS client for a name.
func hello(name string) []byte {
	return helloOf(&tls.Config{ServerName: name, InsecureSkipVerify: true})
}

func helloOf(config *tls.Config) []byte {
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		_ = tls.Client(there, config).Handshake()
	}()
	head := make([]byte, 5)
	if _, err := io.ReadFull(here, head); err != nil {
		panic(err)
	}
	body := make([]byte, int(head[3])<<8|int(head[4]))
	if _, err := io.ReadFull(here, body); err != nil {
		panic(err)
	}
	return append(head, body...)
}

// records is a TLS message in records of n bytes each.
func records(message []byte, n int) (all []byte) {
	for body := message[5:]; len(body) > 0; {
		part := body[:min(n, len(body))]
		body = body[len(part):]
		all = append(append(all, 0x16, 3, 1, byte(len(part)>>8), byte(len(part))), part...)
	}
	return all
}

// refusedOf is the report's reason for a host, "" if there is none.
func refusedOf(list []Refused, host string) string {
	for _, r := range list {
		if r.Host == host {
			return r.Why
		}
	}
	return ""
}

// dialPipe leads all addresses to one connection.
func dialPipe(conn net.Conn) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return conn, nil }
}
