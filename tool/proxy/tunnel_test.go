package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestHandshakesInPiecesAreRead(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	w.place(good+":443", w.echo())
	w.place(good+":8443", w.echo())
	l := w.proxy.Open([]Host{{Name: "shop.example"}, {Name: "shop.example", Port: "8443"}, {Name: good}})
	whole := hello("ShoP.example")
	for name, pieces := range map[string][][]byte{
		"whole":           {whole},
		"bytes":           split(whole, 1),
		"records":         {records(whole, 10)},
		"records, pieces": split(records(whole, 1), 7),
		"more behind it":  {append(whole[:len(whole):len(whole)], "more"...)},
	} {
		for _, port := range []string{"443", "8443"} {
			c, status, _ := w.connect(l, "shop.example:"+port)
			sent := ""
			for _, piece := range pieces {
				c.say(string(piece))
				sent += string(piece)
			}
			got := make([]byte, len(sent))
			if _, err := io.ReadFull(c.r, got); status != 200 || err != nil || string(got) != sent {
				t.Errorf("%s: %d %v", name, status, err)
			}
		}
	}
	c, _, _ := w.connect(l, good+":443")
	c.say(string(hello("")))
	if _, err := io.ReadFull(c.r, make([]byte, 100)); err != nil {
		t.Errorf("an address needs no name: %v", err)
	}
	c, _, _ = w.connect(l, "shop.example:8443")
	c.say("no TLS")
	if _, err := io.ReadFull(c.r, make([]byte, 6)); err != nil {
		t.Errorf("a port of its own needs no TLS: %v", err)
	}
	if r := l.Report(); len(r.Refused) > 0 {
		t.Errorf("%+v", r)
	}
}

func split(data []byte, n int) (pieces [][]byte) {
	for len(data) > 0 {
		pieces = append(pieces, data[:min(n, len(data))])
		data = data[min(n, len(data)):]
	}
	return pieces
}

func TestUploadIsBounded(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	sink := w.serve(func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	w.place(good+":22", sink)
	hosts := []Host{{Name: "shop.example", Port: "22"}, {Name: "shop.example"}}
	l := w.proxy.Open(hosts)
	c, _, _ := w.connect(l, "shop.example:22")
	c.say(strings.Repeat("x", lineBytes+2*requestBytes))
	if rest := c.rest(); rest != "" {
		t.Errorf("%q", rest)
	}
	r := l.Report()
	n, most := sink.bytes.Load(), int64(lineBytes+requestBytes)
	if n > most || r.Sent > most || !strings.Contains(r.Bound, "1 MB") {
		t.Errorf("%d bytes came, %+v", n, r)
	}
	if why := refusedOf(r.Refused, "shop.example:22"); !strings.Contains(why, "1 MB") {
		t.Errorf("%+v", r.Refused)
	}
	if _, status, text := w.connect(l, "shop.example:22"); status != 403 || !strings.Contains(text, "1 MB") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := w.get(w.browser(l), "http://shop.example/"); status != 403 || !strings.Contains(text, "1 MB") {
		t.Errorf("%d %s", status, text)
	}
	// Bodies count, too.
	l = w.proxy.Open(hosts)
	body := strings.NewReader(strings.Repeat("x", lineBytes+requestBytes))
	answer, err := w.browser(l).Post("http://shop.example/", "text/plain", body)
	if err == nil {
		answer.Body.Close()
	}
	if r := l.Report(); r.Bound == "" || err == nil && answer.StatusCode != 403 {
		t.Errorf("%v %+v", err, r)
	}
	// Other lines are free until all have sent too much.
	for n := range 20 {
		l = w.proxy.Open(hosts)
		c, status, text := w.connect(l, "shop.example:22")
		if status != 200 {
			if n < 6 || !strings.Contains(text, "8 MB") {
				t.Errorf("line %d: %d %s", n, status, text)
			}
			break
		}
		c.say(strings.Repeat("x", lineBytes))
		// It may have been cut.
		_ = c.Conn.(*net.TCPConn).CloseWrite()
		c.rest()
		l.Close()
	}
	if bound := l.Report().Bound; !strings.Contains(bound, "8 MB") {
		t.Errorf("%q", bound)
	}
	if n := sink.bytes.Load(); n > allBytes {
		t.Errorf("%d bytes came", n)
	}
}

func TestEachRequestMaySendMore(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	l := w.proxy.Open([]Host{{Name: "shop.example"}})
	pad := "X-Pad: " + strings.Repeat("x", requestBytes-300) + "\r\n"
	for n := range 400 {
		c := w.wire()
		c.say("GET http://shop.example/ HTTP/1.1\r\nHost: shop.example\r\n" + auth(l) + pad + "\r\n")
		if status, text := c.status("GET"); status != 200 {
			t.Fatal(n, status, text)
		}
	}
	if r := l.Report(); r.Sent < lineBytes || r.Bound != "" {
		t.Errorf("%+v", r)
	}
	// So may what is asked for within a tunnel.
	w.place(good+":22", w.echo())
	l = w.proxy.Open([]Host{{Name: "shop.example", Port: "22"}})
	c, _, _ := w.connect(l, "shop.example:22")
	for n := range 400 {
		c.say(strings.Repeat("x", requestBytes-300))
		if _, err := io.ReadFull(c.r, make([]byte, requestBytes-300)); err != nil {
			t.Fatal(n, err)
		}
	}
	if r := l.Report(); r.Sent < lineBytes || r.Bound != "" || r.Reached[0].Requests != 1 {
		t.Errorf("%+v", r)
	}
}

// office is a proxy of the user's own, which keeps what it is asked.
type office struct {
	*httptest.Server
	t     *testing.T
	world *world

	mu   sync.Mutex
	seen []string
}

func (o *office) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.seen = append(o.seen, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
	o.mu.Unlock()
	switch host, port, _ := strings.Cut(r.Host, ":"); {
	case r.Method != http.MethodConnect:
		fmt.Fprint(rw, "forwarded "+r.Host)
	case host != "shop.example":
		rw.WriteHeader(http.StatusTeapot)
	default:
		o.tunnel(rw, o.world.at(good+":"+port))
	}
}

func (o *office) tunnel(rw http.ResponseWriter, address string) {
	there, err := net.Dial("tcp", address)
	if err != nil {
		o.t.Error(err)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		o.t.Error(err)
		return
	}
	defer here.Close()
	fmt.Fprint(here, "HTTP/1.1 200 yes\r\n\r\n")
	go func() {
		_, _ = io.Copy(there, buffered)
		_ = closeWrite(there)
	}()
	_, _ = io.Copy(here, there)
}

// newOffice is a world behind such a proxy.
func newOffice(t *testing.T, secure bool) (*office, *world) {
	t.Helper()
	o := &office{t: t}
	o.Server = httptest.NewUnstartedServer(o)
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if secure {
		o.StartTLS()
		config.RootCAs.AddCert(o.Certificate())
	} else {
		o.Start()
	}
	t.Cleanup(o.Close)
	address, err := url.Parse(strings.Replace(o.URL, "://", "://me:secret@", 1))
	if err != nil {
		t.Fatal(err)
	}
	w := shop(t, func(c *Config) {
		c.TLS, c.Upstream = config, func(r *http.Request) (*url.URL, error) {
			if r.URL.Hostname() == "direct.example" {
				return nil, nil
			}
			return address, nil
		}
	})
	w.places[address.Host] = address.Host
	o.world = w
	return o, w
}

func TestTheUsersProxyIsUsed(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		o, w := newOffice(t, secure)
		w.place(good+":22", w.serve(func(conn net.Conn) {
			fmt.Fprint(conn, "banner\n")
			_, _ = io.Copy(conn, conn)
		}))
		w.name("direct.example", good)
		l := w.proxy.Open([]Host{{Name: "shop.example"}, {Name: "shop.example", Port: "22"}, {Name: "other.example"},
			{Name: "direct.example"}, {Name: "10.0.0.1"}, {Name: "a.localhost"}})
		client := w.browser(l)
		for ask, want := range map[string]string{
			"https://shop.example/a":  "200 GET shop.example/a 0",
			"http://shop.example/b":   "200 forwarded shop.example",
			"http://direct.example/c": "200 GET direct.example/c 0",
			"http://a.localhost/":     "403 artoo: a.localhost may not be reached: a.localhost is this machine\n",
			"http://10.0.0.1/":        "403 artoo: 10.0.0.1 is at 10.0.0.1, an address of a private network\n",
		} {
			status, text := w.get(client, ask)
			if got := fmt.Sprint(status, " ", text); got != want {
				t.Errorf("%s: %q, want %q", ask, got, want)
			}
		}
		c, _, _ := w.connect(l, "shop.example:22")
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if text := c.rest(); text != "banner\n" {
			t.Errorf("%q", text)
		}
		c, _, _ = w.connect(l, "other.example:443")
		c.say(string(hello("other.example")))
		if rest := c.rest(); rest != "" {
			t.Errorf("%q", rest)
		}
		if why := refusedOf(l.Report().Refused, "other.example"); !strings.Contains(why, "teapot") {
			t.Errorf("%+v", l.Report().Refused)
		}
		o.mu.Lock()
		all := strings.Join(o.seen, "\n")
		o.mu.Unlock()
		if n := strings.Count(all, "Basic bWU6c2VjcmV0"); n != 4 || strings.Count(all, "\n") != 3 {
			t.Errorf("%s", all)
		}
		if asked, _ := w.log(); strings.Contains(asked, "shop") {
			t.Errorf("a name was resolved that the other proxy resolves: %s", asked)
		}
	}
}

func TestSlowClientsAreCut(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":        "",
		"half a head":    "GET http://shop.example/ HTTP/1.1\r\nHost: shop",
		"half a hello":   "CONNECT 1.2.3.4:443 HTTP/1.1\r\nHost: 1.2.3.4:443\r\nAUTH\r\n\r\n\x16\x03\x01\x02\x00\x01",
		"nothing at all": "CONNECT 1.2.3.4:22 HTTP/1.1\r\nHost: 1.2.3.4:22\r\nAUTH\r\n\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			p := New(Config{})
			quiet, server := net.Pipe()
			defer server.Close()
			p.dial = dialPipe(quiet)
			defer p.Close()
			l := p.Open([]Host{{Name: "1.2.3.4", Port: "22"}, {Name: "1.2.3.4"}})
			here, there := net.Pipe()
			go p.Serve(there)
			go func() { _, _ = io.WriteString(here, strings.Replace(text, "AUTH\r\n", auth(l), 1)) }()
			begun := time.Now()
			_, _ = io.ReadAll(here)
			took, want := time.Since(begun), headTime
			if strings.Contains(text, ":22") {
				want = idleTime
			}
			if took != want {
				t.Errorf("%s: cut after %s, want %s: %+v", name, took, want, l.Report())
			}
			here.Close()
		})
	}
}

func TestAThousandConnections(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("world", func(t *testing.T) {
		w := shop(t, nil)
		w.place(good+":22", w.echo())
		l := w.proxy.Open([]Host{{Name: "shop.example", Port: "22"}})
		var tunnels sync.WaitGroup
		for range 1000 {
			tunnels.Go(func() {
				c, status, text := w.connect(l, "shop.example:22")
				if status != 200 {
					t.Error(status, text)
					return
				}
				c.say("hello")
				if _, err := io.ReadFull(c.r, make([]byte, 5)); err != nil {
					t.Error(err)
				}
			})
		}
		tunnels.Wait()
		if r := l.Report(); len(r.Reached) != 1 || r.Reached[0].Requests != 1000 {
			t.Errorf("%+v", r)
		}
		l.Close()
	})
}
