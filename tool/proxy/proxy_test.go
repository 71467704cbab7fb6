package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// shop is a world with one host of plain HTTP and TLS, which tells what it was asked.
func shop(t *testing.T, change func(*Config)) *world {
	t.Helper()
	w := newWorld(t, change)
	tell := func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		for name := range r.Header {
			if strings.HasPrefix(name, "Proxy-") || name == "User-Agent" && r.Header["X-Raw"] != nil {
				t.Errorf("the host was sent %s: %q", name, r.Header[name])
			}
		}
		fmt.Fprintf(rw, "%s %s%s %d", r.Method, r.Host, r.URL, len(body))
	}
	w.name("shop.example", good)
	w.place(good+":80", w.site(false, tell))
	w.place(good+":443", w.site(true, tell))
	w.place(good+":8443", w.site(true, tell))
	return w
}

func TestHostsOfALineAreReached(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	l := w.proxy.Open([]Host{{Name: "shop.example"}})
	client := w.browser(l)
	for address, want := range map[string]string{
		"http://shop.example/a?b=c":    "GET shop.example/a?b=c 0",
		"http://SHOP.example./a":       "GET",
		"https://shop.example/tls":     "GET shop.example/tls 0",
		"http://shop.example:80/x%2fy": "GET shop.example:80/x%2fy 0",
	} {
		if status, text := w.get(client, address); status != 200 || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %d %s", address, status, text)
		}
	}
	status, text := w.get(client, "http://telemetry.example/")
	if status != 403 || text != "artoo: telemetry.example is not one of this line's hosts\n" {
		t.Errorf("%d %q", status, text)
	}
	if _, text := w.get(client, "https://telemetry.example/"); !strings.Contains(text, "Forbidden") {
		t.Errorf("%q", text)
	}
	l.Close()
	r := l.Report()
	if len(r.Reached) != 1 || r.Reached[0].Host != "shop.example" || r.Reached[0].Sent != r.Sent || r.Sent < 1000 {
		t.Fatalf("%+v", r)
	}
	if row := r.Reached[0]; row.Requests < 4 || row.Received < 1000 {
		t.Errorf("%+v", r)
	}
	want := Refused{Host: "telemetry.example", Why: "is not one of this line's hosts", Times: 2, Unlisted: true}
	if len(r.Refused) != 1 || r.Refused[0] != want {
		t.Errorf("%+v", r.Refused)
	}
	if asked, _ := w.log(); strings.Contains(asked, "telemetry") {
		t.Errorf("a name was resolved that no line may reach: %s", asked)
	}
}

func TestHostsAreMatched(t *testing.T) {
	t.Parallel()
	l := &Line{hosts: []Host{{Name: "a.example"}, {Name: "*.b.example"}, {Name: "c.example", Port: "8443"},
		{Name: "1.2.3.4"}, {Name: "*.4"}, {Name: "d.example", Port: "443"}, {Name: "*.e.example", Own: true},
		{Name: "f.example", Own: true}}}
	for text, want := range map[string]string{
		"CONNECT a.example:443":      "yes",
		"GET a.example:80":           "yes",
		"CONNECT a.example:80":       "port",
		"GET a.example:443":          "port",
		"CONNECT x.b.example:443":    "yes",
		"CONNECT y.x.b.example:443":  "yes",
		"CONNECT b.example:443":      "no",
		"CONNECT xb.example:443":     "no",
		"CONNECT c.example:8443":     "yes",
		"GET c.example:8443":         "yes",
		"CONNECT c.example:443":      "port",
		"GET c.example:80":           "port",
		"CONNECT 1.2.3.4:443":        "yes",
		"CONNECT 9.9.9.4:443":        "no",
		"CONNECT a.example.evil:443": "no",
		"GET d.example:443":          "TLS",
		"CONNECT d.example:443":      "yes",
		"CONNECT a.e.example:443":    "yes",
		"CONNECT f.example:443":      "own",
	} {
		method, authority, _ := strings.Cut(text, " ")
		target, ok := parseTarget(authority, "", method == "CONNECT")
		own, err := l.allow(target)
		got := "yes"
		switch {
		case !ok:
			got = "unreadable"
		case err != nil && strings.Contains(err.Error(), "is not one of"):
			got = "no"
		case err != nil && strings.Contains(err.Error(), "this port"):
			got = "port"
		case err != nil:
			got = "TLS"
		case own:
			got = "own"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, h := range []struct {
		Host
		want string
	}{{Host{Name: "example.org"}, "example.org"}, {Host{Name: "example.org", Port: "8443"}, "example.org:8443"},
		{Host{Name: "::1", Port: "80"}, "[::1]:80"}, {Host{Name: "::1"}, "[::1]"}} {
		if h.String() != h.want {
			t.Errorf("%s, want %s", h, h.want)
		}
	}
}

func TestBodiesPassBothWays(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	w.place(good+":80", w.site(false, func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/count":
			n, _ := io.Copy(io.Discard, r.Body)
			fmt.Fprint(rw, n, r.ContentLength)
		case "/chunked":
			for range 3 {
				fmt.Fprint(rw, strings.Repeat("x", 5000))
				rw.(http.Flusher).Flush()
			}
		case "/none":
			rw.WriteHeader(http.StatusNoContent)
		case "/cached":
			rw.WriteHeader(http.StatusNotModified)
		case "/long":
			rw.Header().Set("Content-Length", "700000")
			fmt.Fprint(rw, strings.Repeat("y", 700000))
		}
	}))
	l := w.proxy.Open([]Host{{Name: "shop.example"}})
	client := w.browser(l)
	for path, want := range map[string]string{"/chunked": "200 15000", "/none": "204 0", "/cached": "304 0",
		"/long": "200 700000"} {
		status, text := w.get(client, "http://shop.example"+path)
		if got := fmt.Sprint(status, len(text)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for _, body := range []io.Reader{strings.NewReader("12345"), io.MultiReader(strings.NewReader("12345"))} {
		answer, err := client.Post("http://shop.example/count", "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if string(text) != "5 5" && string(text) != "5 -1" || err != nil {
			t.Errorf("%s %v", text, err)
		}
	}
	head, err := client.Head("http://shop.example/long")
	if err != nil || head.StatusCode != 200 || head.ContentLength != 700000 {
		t.Errorf("%v %v", head, err)
	}
	c := w.wire()
	c.say("POST http://shop.example/count HTTP/1.1\r\nHost: shop.example\r\n" + auth(l) +
		"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
	if status, _ := c.status("POST"); status != 100 {
		t.Errorf("%d", status)
	}
	c.say("abc")
	if status, text := c.status("POST"); status != 200 || text != "3 3" {
		t.Errorf("%d %s", status, text)
	}
}

func TestAnswersAreNotHeldBack(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	next := make(chan bool)
	w.place(good+":80", w.site(false, func(rw http.ResponseWriter, r *http.Request) {
		for range next {
			fmt.Fprint(rw, "tick")
			rw.(http.Flusher).Flush()
		}
	}))
	client := w.browser(w.proxy.Open([]Host{{Name: "shop.example"}}))
	go func() { next <- true }()
	answer, err := client.Get("http://shop.example/")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for range 5 {
		if _, err := io.ReadFull(answer.Body, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		next <- true
	}
	close(next)
}

func TestAConnectionServesOneRequest(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	l := w.proxy.Open([]Host{{Name: "shop.example"}})
	c := w.wire()
	request := "GET http://shop.example/ HTTP/1.1\r\nX-Raw: 1\r\nHost: shop.example\r\n" + auth(l) +
		"Connection: keep-alive\r\n\r\n"
	c.say(request + request)
	if status, text := c.status("GET"); status != 200 || !strings.HasPrefix(text, "GET shop.example") {
		t.Fatal(status, text)
	}
	if rest := c.rest(); rest != "" {
		t.Errorf("%q", rest)
	}
	why := refusedOf(l.Report().Refused, "shop.example")
	if r := l.Report(); r.Reached[0].Requests != 1 || !strings.Contains(why, "with more data") {
		t.Errorf("%+v", r)
	}
	old := w.wire()
	old.say("GET http://shop.example/ HTTP/1.0\r\n" + auth(l) + "\r\n")
	if text := old.rest(); !strings.HasPrefix(text, "HTTP/1.1 200") || !strings.HasSuffix(text, "/ 0") {
		t.Errorf("%q", text)
	}
}

func TestTunnelsAreClosedByHalves(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	up := make(chan string, 1)
	w.place(good+":22", w.serve(func(conn net.Conn) {
		fmt.Fprint(conn, "banner\n")
		text, _ := io.ReadAll(conn)
		up <- string(text)
		fmt.Fprint(conn, "bye")
	}))
	l := w.proxy.Open([]Host{{Name: "shop.example", Port: "22"}})
	c, status, _ := w.connect(l, "shop.example:22")
	if banner, err := c.r.ReadString('\n'); status != 200 || banner != "banner\n" || err != nil {
		t.Fatal(status, banner, err)
	}
	c.say("all of it")
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if text := c.rest(); text != "bye" || <-up != "all of it" {
		t.Errorf("%q", text)
	}
	// The server may end its direction first.
	got := make(chan string, 1)
	w.place(good+":22", w.serve(func(conn net.Conn) {
		fmt.Fprint(conn, "done")
		_ = conn.(countedConn).CloseWrite()
		text, _ := io.ReadAll(conn)
		got <- string(text)
	}))
	c, _, _ = w.connect(l, "shop.example:22")
	if text := c.rest(); text != "done" {
		t.Errorf("%q", text)
	}
	c.say("later")
	c.Close()
	if text := <-got; text != "later" {
		t.Errorf("%q", text)
	}
}

func TestALineEnds(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	w.place(good+":22", w.echo())
	l := w.proxy.Open([]Host{{Name: "shop.example"}, {Name: "shop.example", Port: "22"}})
	other := w.proxy.Open([]Host{{Name: "shop.example", Port: "22"}})
	tunnel, status, text := w.connect(l, "shop.example:22")
	if status != 200 {
		t.Fatal(status, text)
	}
	stays, _, _ := w.connect(other, "shop.example:22")
	l.Close()
	if rest := tunnel.rest(); rest != "" {
		t.Errorf("%q", rest)
	}
	if _, status, text := w.connect(l, "shop.example:22"); status != 407 {
		t.Errorf("%d %s", status, text)
	}
	stays.say("hello")
	if _, err := io.ReadFull(stays.r, make([]byte, 5)); err != nil {
		t.Errorf("another line's connection ended, too: %v", err)
	}
	if why := refusedOf(w.proxy.Strangers(), `"shop.example:22"`); why == "" {
		t.Errorf("%+v", w.proxy.Strangers())
	}
	w.proxy.Close()
	if rest := stays.rest(); rest != "" {
		t.Errorf("%q", rest)
	}
	after := w.wire()
	after.say("GET http://shop.example/ HTTP/1.1\r\n\r\n")
	if rest := after.rest(); rest != "" {
		t.Errorf("%q", rest)
	}
}

func TestBoundsOfTheSystemHold(t *testing.T) {
	t.Parallel()
	w := shop(t, func(c *Config) {
		c.Bound = func(_ context.Context, host string) error {
			switch host {
			case "shop.example:80":
				return errors.New("the system's policy forbids it")
			case "shop.example:8443":
				panic("of a test")
			}
			return nil
		}
	})
	l := w.proxy.Open([]Host{{Name: "shop.example"}, {Name: "shop.example", Port: "8443"}})
	client := w.browser(l)
	status, text := w.get(client, "http://shop.example/")
	if status != 403 || !strings.Contains(text, "policy forbids it") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := w.get(client, "https://shop.example:8443/"); status != 0 {
		t.Errorf("%d %s", status, text)
	}
	if why := refusedOf(l.Report().Refused, "a request"); !strings.Contains(why, "of a test") {
		t.Errorf("a panic is not reported: %+v", l.Report())
	}
	if status, text := w.get(client, "https://shop.example/"); status != 200 {
		t.Errorf("%d %s", status, text)
	}
}

func TestAddressesAreCheckedAndDialled(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	w.place("10.0.0.7:80", w.site(false, func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "private") }))
	w.place("["+good6+"]:80", w.site(false, func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "six") }))
	w.places["151.101.1.1:80"] = "refused"
	w.name("mixed.example", good+" 10.0.0.7")
	w.name("private.example", "10.0.0.7")
	w.name("six.example", good6)
	w.name("several.example", second+" "+good)
	w.name("down.example", second)
	client := w.browser(w.proxy.Open([]Host{{Name: "mixed.example"}, {Name: "six.example"}, {Name: "several.example"},
		{Name: "private.example", Own: true}, {Name: "*.example"}}))
	for name, want := range map[string]string{
		"mixed.example":   "403 artoo: mixed.example is at 10.0.0.7, an address of a private network\n",
		"private.example": "200 private",
		"six.example":     "200 six",
		"several.example": "200 GET several.example/ 0",
		"down.example":    "502 artoo: down.example was not reached: connection refused\n",
		"no.example":      "502 artoo: no.example does not exist\n",
	} {
		status, text := w.get(client, "http://"+name+"/")
		if got := fmt.Sprint(status, " ", text); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if own, err := net.InterfaceAddrs(); err == nil {
		for _, network := range own {
			if a := network.(*net.IPNet).IP; ownAddr(mustAddr(a)) == "" {
				t.Errorf("%s is of this machine", a)
			}
		}
	}
}

func mustAddr(ip net.IP) netip.Addr {
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		panic("no address")
	}
	return a.Unmap()
}

// Any command can open connections, also without a credential. One over the limit is closed, and the others are served.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var open []net.Conn
	said := make(chan string, mostConnections+1)
	for range mostConnections + 1 {
		conn, err := net.Dial("tcp", w.front.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
		go func() {
			answer, _ := io.ReadAll(conn)
			said <- string(answer)
		}()
	}
	if first := <-said; first != "" {
		t.Errorf("one says %q", first)
	}
	for _, conn := range open {
		// The closed one takes nothing.
		_, _ = io.WriteString(conn, "GET http://shop.example/ HTTP/1.1\r\nHost: shop.example\r\n\r\n")
	}
	for range mostConnections {
		if answer := <-said; !strings.HasPrefix(answer, "HTTP/1.1 407 ") {
			t.Fatalf("another says %q", answer)
		}
	}
}
