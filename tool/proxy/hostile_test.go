package proxy

import (
	"bufio"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// attempt is one way to reach what a line may not.
type attempt struct {
	kind string
	// ask is sent first, AUTH standing for the line's credential, and then what is to go through a tunnel.
	ask, then string
	// reach is how many connections to hosts of the line are right, before or besides the attempt.
	reach int
	// stranger says that the attempt has no credential of a line, so that the proxy names it and not the line's report.
	stranger bool
}

// get is a request of plain HTTP.
func get(kind, target, host string, headers ...string) attempt {
	more := strings.Join(headers, "") + "\r\n"
	return attempt{kind: kind, ask: "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nAUTH" + more}
}

func connect(kind, target string) attempt {
	return attempt{kind: kind, ask: "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\nAUTH\r\n"}
}

// tunnel sends bytes to a host that may be reached.
func tunnel(kind, target string, then []byte) attempt {
	a := connect(kind, target)
	a.then = string(then)
	return a
}

func each(list string, make func(string) attempt) (all []attempt) {
	for _, word := range strings.Fields(list) {
		all = append(all, make(word))
	}
	return all
}

// lineHosts are those of the line that attempts to reach others.
var lineHosts = []Host{{Name: "shop.example"}, {Name: "api.example", Port: "8443"}, {Name: "*.wild.example"},
	{Name: good}, {Name: "*.own.example", Own: true}, {Name: "localhost"}, {Name: "a.localhost"}, {Name: "127.0.0.1"},
	{Name: "10.0.0.1"}, {Name: "::1"}, {Name: "169.254.169.254"}, {Name: "*"}, {Name: ""}}

func otherHosts() []attempt {
	all := each(`evil.example shop.example.evil.example evil-shop.example wild.example xwild.example example shop
		8.8.8.8 xn--shop.example [2606:4700::1] shop.example.. .shop.example
		api.example.shop`, func(host string) attempt { return connect("other host", host+":443") })
	all = append(all, each(`evil.example/ evil.example/http://shop.example/ evil.example?shop.example wild.example/
		evil.example#shop.example shop.example.evil.example/`, func(rest string) attempt {
		return get("other host", "http://"+rest, rest[:strings.IndexAny(rest, "/?#")])
	})...)
	all = append(all, each(`22 25 53 80 8080 8443 1 65535 0 99999 443443 https +443 0443 -1 443x 0x1bb
		443:443`, func(port string) attempt { return connect("other port", "shop.example:"+port) })...)
	return append(all, get("other port", "http://shop.example:8080/", "shop.example:8080"),
		get("other port", "http://shop.example:443/", "shop.example:443"),
		get("other port", "http://api.example/", "api.example"), connect("other port", "api.example:443"),
		connect("other port", "shop.example"), connect("other port", "shop.example:"))
}

func addresses() []attempt {
	const spelled = `127.0.0.1 127.1 0x7f.1 0x7f000001 2130706433 017700000001 0177.0.0.1 127.0.0.01 [::1] ::1 0.0.0.0 0
		[::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:0:0:1] [::0001] [::] [::1%25lo] [fe80::1%25eth0] 169.254.169.254
		[fd00::1] 10.0.0.1 10.1 [::ffff:10.0.0.1] 93.184.216.034 0x5d.0xb8.0xd8.0x22 1572395042 [::ffff:93.184.216.34]
		[93.184.216.34] [shop.example] localhost a.localhost localhost. ip6-localhost`
	all := each(spelled, func(host string) attempt { return connect("address by spelling", host+":443") })
	all = append(all, each(spelled, func(host string) attempt {
		return get("address by spelling", "http://"+host+"/", host)
	})...)
	for n := range privateAddresses {
		host := fmt.Sprintf("p%d.wild.example", n)
		all = append(all, connect("private address by name", host+":443"),
			get("private address by name", "http://"+host+"/", host))
	}
	return append(all, connect("private address by a name below", "x.own.example:443"))
}

// privateAddresses are of the names below wild.example.
var privateAddresses = strings.Split("10.0.0.1,127.0.0.1,127.8.8.8,169.254.169.254,192.168.1.1,172.16.0.1,100.64.0.1,"+
	"0.0.0.0,::1,fd00::1,fe80::1,::ffff:10.0.0.1,64:ff9b::a00:1,2002:a00:1::,224.0.0.1,168.63.129.16,"+
	good+" 10.0.0.1,"+good+" ::1,10.0.0.1 "+good, ",")

func disagreements() []attempt {
	with := func(lines string) attempt {
		return attempt{kind: "Host that differs", ask: "GET http://shop.example/ HTTP/1.1\r\nAUTH" + lines + "\r\n"}
	}
	all := []attempt{with(""), with("Host: shop.example\r\nHost: shop.example\r\n"),
		with("Host: shop.example\r\nhost: evil.example\r\n"), with("Host : shop.example\r\n"),
		with(" Host: shop.example\r\n"), with("Host: shop.example\r\n evil.example\r\n"),
		with("X: y\r\n\tHost: shop.example\r\n"),
	}
	for _, host := range []string{"evil.example:443", "shop.example:22", "shop.example\r\nHost: evil.example", ""} {
		all = append(all, attempt{kind: "Host that differs from CONNECT",
			ask: "CONNECT shop.example:443 HTTP/1.1\r\nHost: " + host + "\r\nAUTH\r\n"})
	}
	for _, host := range []string{"", "evil.example", "shop.example:81", "shop.example:443",
		"shop.example,evil.example",
		"shop.example evil.example", "u@shop.example", "shop.example/", "http://shop.example", good, "*",
		"shop.example.evil.example", "shop%2eexample", "sub.shop.example", "\u017fhop.example"} {
		all = append(all, with("Host: "+host+"\r\n"))
	}
	return all
}

// handshakes are sent to shop.example, or to another host that is named for the purpose.
func handshakes() (all []attempt) {
	evil := hello("evil.example")
	long := make([]byte, 5+60<<10)
	copy(long, evil[:5])
	copy(long[5:], []byte{1, 0, 240, 0})
	cut := func(data []byte, at int, to byte) []byte {
		changed := append([]byte(nil), data...)
		changed[at] = to
		return changed
	}
	shop := hello("shop.example")
	pieces := records(shop, 100)
	for kind, data := range map[string][]byte{
		"SNI that differs":                        evil,
		"SNI that differs, in records":            records(evil, 40),
		"SNI that differs, in the second record":  records(evil, len(evil)-60),
		"SNI that differs, in records of a byte":  records(evil, 1),
		"SNI below":                               hello("sub.shop.example"),
		"SNI above":                               hello("example"),
		"no SNI":                                  hello(""),
		"encrypted client hello":                  encryptedHello("shop.example", "evil.example"),
		"plain HTTP on 443":                       []byte("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
		"ssh on 443":                              []byte("SSH-2.0-OpenSSH_9.9\r\n"),
		"old handshake":                           append([]byte{0x80, 0x2e, 1, 0, 2}, shop...),
		"alert first":                             append([]byte{0x15, 3, 1, 0, 2, 1, 0}, shop...),
		"application data first":                  append([]byte{0x17, 3, 3, 0, 1, 'x'}, shop...),
		"change of ciphers first":                 append([]byte{0x14, 3, 3, 0, 1, 1}, shop...),
		"empty record first":                      append([]byte{0x16, 3, 1, 0, 0}, shop...),
		"empty records":                           []byte(strings.Repeat("\x16\x03\x01\x00\x00", 1000)),
		"another message":                         cut(shop, 5, 2),
		"a server's message":                      cut(shop, 5, 11),
		"record that is too long":                 cut(shop, 3, 0xff),
		"message that is too long":                records(long, 16<<10),
		"message that is shorter than its fields": cut(shop, 8, shop[8]-20),
		"alert between two records":               slices.Insert(pieces, 105, 0x15, 3, 1, 0, 2, 1, 0),
		"SNI with a zero byte":                    replaced(shop, "shop.example", "shop.exampl\x00"),
		"SNI with a dot at the end":               replaced(shop, "shop.example", "shop.exampl."),
		"SNI with another letter":                 replaced(shop, "shop.example", "shop-example"),
		"SNI that is empty":                       replaced(shop, "\x00\x0cshop.example", "\x00\x00shop.example"),
	} {
		all = append(all, tunnel(kind, "shop.example:443", data))
	}
	named := func(kind string, data []byte) attempt {
		a := tunnel(kind, "api.example:8443", data)
		a.reach = 1
		return a
	}
	return append(all, tunnel("SNI for an address", good+":443", evil),
		tunnel("SNI below a name", "a.wild.example:443", evil),
		named("SNI that differs, on a port of its own", evil), named("no SNI, on a port of its own", hello("")))
}

func replaced(data []byte, old, with string) []byte {
	return []byte(strings.Replace(string(data), old, with, 1))
}

// encryptedHello is the first message to a hidden host, with another one in the open.
func encryptedHello(hidden, open string) []byte {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	config := append([]byte{7, 0, 0x20, 0, 32}, key.PublicKey().Bytes()...)
	config = append(config, 0, 4, 0, 1, 0, 1, 0, byte(len(open)))
	config = append(append(config, open...), 0, 0)
	config = append([]byte{0xfe, 0x0d, 0, byte(len(config))}, config...)
	return helloOf(&tls.Config{ServerName: hidden, MinVersion: tls.VersionTLS13,
		EncryptedClientHelloConfigList: append([]byte{0, byte(len(config))}, config...)})
}

// inner is a request that is to be read within another one.
const inner = "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nAUTH\r\n"

func smuggled() (all []attempt) {
	const post = "POST http://shop.example/ HTTP/1.1\r\nHost: shop.example\r\nAUTH"
	const get = "GET http://shop.example/ HTTP/1.1\r\nHost: shop.example\r\nAUTH"
	const begin = "CONNECT shop.example:443 HTTP/1.1\r\nHost: shop.example:443\r\nAUTH"
	const none = "0\r\n\r\n"
	const chunked = "Transfer-Encoding: chunked\r\n"
	for kind, text := range map[string]string{
		"two lengths, coding last":   post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + none + inner,
		"two lengths, coding first":  post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + none + inner,
		"two lengths that differ":    post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + inner,
		"two lengths of one value":   post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + inner,
		"a list of lengths":          post + "Content-Length: 5, 5\r\n\r\nhello" + inner,
		"length with a sign":         post + "Content-Length: +5\r\n\r\nhello" + inner,
		"length below zero":          post + "Content-Length: -1\r\n\r\n" + inner,
		"length in hexadecimal":      post + "Content-Length: 0x5\r\n\r\nhello" + inner,
		"length that overflows":      post + "Content-Length: 99999999999999999999\r\n\r\nhello" + inner,
		"length that is empty":       post + "Content-Length: \r\n\r\n" + inner,
		"two codings":                post + chunked + chunked + "\r\n" + none + inner,
		"a list of codings":          post + "Transfer-Encoding: gzip, chunked\r\n\r\n" + none + inner,
		"unknown coding":             post + "Transfer-Encoding: xchunked\r\n\r\n" + none + inner,
		"identity coding":            post + "Transfer-Encoding: identity\r\n\r\n" + inner,
		"coding with a tab inside":   post + "Transfer-Encoding: chun\tked\r\n\r\n" + none + inner,
		"coding in HTTP/1.0":         strings.Replace(post, "1.1", "1.0", 1) + chunked + "\r\n" + none,
		"coding with a blank":        post + "Transfer-Encoding : chunked\r\n\r\n" + none + inner,
		"folded header":              post + "X-A: b\r\n c\r\n\r\n" + inner,
		"folded length":              post + "Content-Length:\r\n 5\r\n\r\nhello" + inner,
		"header without a name":      post + ": x\r\n\r\n",
		"header without a colon":     post + "Content-Length 5\r\n\r\n",
		"bare line feed":             post + "X-A: b\nHost: evil.example\r\n\r\n",
		"bare carriage return":       post + "X-A: b\rHost: evil.example\r\n\r\n",
		"zero byte":                  post + "X-A: b\x00c\r\n\r\n",
		"zero byte in a name":        post + "X-\x00A: b\r\n\r\n",
		"four words":                 strings.Replace(get, " HTTP", " http://evil.example/ HTTP", 1) + "\r\n",
		"two blanks":                 strings.Replace(get, " ", "  ", 1) + "\r\n",
		"tab":                        strings.Replace(get, " ", "\t", 1) + "\r\n",
		"two words":                  "GET http://shop.example/\r\nAUTH\r\n",
		"HTTP/1.2":                   strings.Replace(get, "1.1", "1.2", 1) + "\r\n",
		"HTTP/2.0":                   strings.Replace(get, "1.1", "2.0", 1) + "\r\n",
		"http in lower case":         strings.Replace(get, "HTTP", "http", 1) + "\r\n",
		"bad method":                 strings.Replace(get, "GET", "G@T", 1) + "\r\n",
		"CONNECT with a length":      begin + "Content-Length: 3\r\n\r\nabc",
		"CONNECT with a coding":      begin + chunked + "\r\n" + none,
		"break in CONNECT":           "CONNECT shop.example:443\r\nHost: evil.example:443 HTTP/1.1\r\nAUTH\r\n",
		"carriage return in CONNECT": "CONNECT shop.example:443\rx HTTP/1.1\r\nHost: shop.example:443\r\nAUTH\r\n",
		"TRACE":                      strings.Replace(get, "GET", "TRACE", 1) + "\r\n",
		"OPTIONS of the proxy":       "OPTIONS * HTTP/1.1\r\nHost: shop.example\r\nAUTH\r\n",
	} {
		all = append(all, attempt{kind: kind, ask: text})
	}
	all = append(all, attempt{kind: "CONNECT with a body, on a port of its own",
		ask: "CONNECT api.example:8443 HTTP/1.1\r\nHost: api.example:8443\r\nAUTHContent-Length: 3\r\n\r\nabc"})
	return append(all, attempt{kind: "request behind another", ask: get + "\r\n" + inner, reach: 1},
		attempt{kind: "preface of HTTP/2", ask: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", stranger: true},
		attempt{kind: "TLS to the proxy", ask: string(hello("shop.example")), stranger: true},
		attempt{kind: "SOCKS5", ask: "\x05\x01\x00", stranger: true},
		attempt{kind: "SOCKS4", ask: "\x04\x01\x01\xbb\x08\x08\x08\x08\x00", stranger: true},
		attempt{kind: "blank line first", ask: "\r\n" + get + "\r\n"},
		attempt{kind: "bare line feeds", ask: strings.ReplaceAll(get, "\r\n", "\n") + "\n", stranger: true},
		attempt{kind: "long head", ask: post + "X-A: " + strings.Repeat("x", 40<<10) + "\r\n\r\n", stranger: true})
}

func forms() []attempt {
	all := each(`http://shop.example@evil.example/ http://user:pw@shop.example/ http://evil.example\@shop.example/
		http://shop.example%40evil.example/ http://shop.example#@evil.example/ http://shop.example%2eevil.example/
		http://shop.example%00.evil.example/ http://shop.example\.evil.example/ http://ſhop.example/ 
		http://shop．example/ http://%C5%BFhop.example/ http://ѕhop.example/ http://shop.e%78ample/ http://shop_.example/
		http:///path http://shop.example:80:80/ / * shop.example shop.example:80 //shop.example/
		https://shop.example/ HTTPS://shop.example/ ftp://shop.example/ file:///etc/passwd http:shop.example/
		http:/shop.example/ http://?shop.example gopher://shop.example/
		javascript:alert http://[::1]@shop.example/ http://shop.example%20/
		ws://shop.example/`, func(target string) attempt { return get("form of the target", target, "shop.example") })
	all = append(all, each(`user@shop.example:443 http://shop.example:443 / :443 shop.example:443/ shop.example:443?x
		shop.example:443#x shop.e%78ample:443 ſhop.example:443 shop.example%00:443 shop.example:443@evil.example:443
		evil.example:443@shop.example:443 *:443 *.wild.example:443 [shop.example]:443`, func(target string) attempt {
		return connect("form of the target", target)
	})...)
	upgrade := "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
	return append(all, get("WebSocket to another host", "http://evil.example/", "evil.example", upgrade),
		get("WebSocket with another Host", "http://shop.example/", "evil.example", upgrade))
}

// credentials are attempts without the one of a line that runs, or with several.
func credentials(ended, running *Line) (all []attempt) {
	basic := func(text string) string {
		return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(text)) + "\r\n"
	}
	for kind, lines := range map[string]string{
		"no credential":                       "",
		"wrong credential":                    basic("artoo:" + rand.Text()),
		"empty credential":                    basic("artoo:"),
		"empty header":                        "Proxy-Authorization:\r\n",
		"another user":                        basic("root:" + running.credential),
		"no user":                             basic(":" + running.credential),
		"part of a credential":                basic("artoo:" + running.credential[:20]),
		"more than a credential":              basic("artoo:" + running.credential + "x"),
		"credential of a line that has ended": auth(ended),
		"bearer":                              "Proxy-Authorization: Bearer " + running.credential + "\r\n",
		"credential for the host":             strings.Replace(auth(running), "Proxy-", "", 1),
		"two credentials":                     auth(running) + auth(ended),
		"one credential twice":                auth(running) + auth(running),
	} {
		secure, plain := connect(kind, "shop.example:443"), get(kind, "http://shop.example/", "shop.example")
		secure.then = string(hello("shop.example"))
		for _, a := range []attempt{secure, plain} {
			a.ask, a.stranger = strings.Replace(a.ask, "AUTH", lines, 1), true
			all = append(all, a)
		}
	}
	inside := get("credential in the target", "http://artoo:"+running.credential+"@shop.example/", "shop.example")
	inside.ask, inside.stranger = strings.Replace(inside.ask, "AUTH", "", 1), true
	return append(all, inside)
}

func TestHostileRequestsReachNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	page := func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "here") }
	echo := w.echo()
	w.place(good+":80", w.site(false, page))
	w.place(good+":443", w.site(true, page))
	w.place(good+":8443", echo)
	for _, name := range strings.Fields("shop.example api.example evil.example a.wild.example") {
		w.name(name, good)
	}
	w.name("x.own.example", "10.0.0.1")
	for n, list := range privateAddresses {
		w.name(fmt.Sprintf("p%d.wild.example", n), list)
	}
	ended, running := w.proxy.Open(lineHosts), w.proxy.Open(lineHosts)
	ended.Close()
	all := append(otherHosts(), addresses()...)
	all = append(append(all, disagreements()...), handshakes()...)
	all = append(append(all, smuggled()...), forms()...)
	all = append(all, credentials(ended, running)...)
	if len(all) < 200 {
		t.Errorf("%d attempts", len(all))
	}
	for _, a := range all {
		l := w.proxy.Open(lineHosts)
		reached, strangers := w.dials(), count(w.proxy.Strangers())
		c := w.wire()
		c.say(strings.Replace(a.ask, "AUTH", auth(l), 1))
		if a.then != "" {
			c.say(a.then)
		}
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil && !strings.Contains(err.Error(), "not connected") {
			t.Error(err)
		}
		answer := c.rest()
		l.Close()
		refused := count(l.Report().Refused)
		if a.stranger {
			refused = count(w.proxy.Strangers()) - strangers
		}
		switch now := w.dials() - reached; {
		case now != a.reach:
			t.Errorf("%s: %d hosts were reached: %.300q gives %.300q", a.kind, now, a.ask, answer)
		case refused != 1:
			t.Errorf("%s: %d refusals: %.300q gives %.300q, %+v", a.kind, refused, a.ask, answer, l.Report())
		}
	}
	if _, dialled := w.log(); w.strayed() {
		t.Errorf("connections led elsewhere: %s", dialled)
	}
	if n := echo.bytes.Load(); n > 0 {
		t.Errorf("%d bytes came before their check", n)
	}
	if asked, _ := w.log(); strings.Contains(asked, "evil") {
		t.Errorf("names were resolved that no line has: %s", asked)
	}
	t.Logf("%d attempts", len(all))
}

// count is how often something was refused.
func count(list []Refused) (n int) {
	for _, r := range list {
		n += r.Times
	}
	return n
}

func TestNamesThatMoveAndRedirectsReachNothing(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	site := w.site(false, func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://private.example/", http.StatusFound)
	})
	w.place(good+":80", site)
	w.name("moving.example", good, "10.0.0.1", good, "127.0.0.1")
	w.name("private.example", "10.0.0.1")
	l := w.proxy.Open([]Host{{Name: "moving.example"}, {Name: "private.example"}})
	client := w.browser(l)
	for _, want := range []int{302, 403, 302, 403, 403} {
		if status, text := w.get(client, "http://moving.example/"); status != want {
			t.Errorf("%d, want %d: %s", status, want, text)
		}
	}
	follows := w.browser(l)
	follows.CheckRedirect = nil
	w.name("moving.example", good)
	if status, text := w.get(follows, "http://moving.example/"); status != 403 || !strings.Contains(text, "10.0.0.1") {
		t.Errorf("%d: %s", status, text)
	}
	asked, dialled := w.log()
	if n := strings.Count(asked, "moving"); n != 6 || strings.Count(dialled, good) != 3 || w.strayed() {
		t.Errorf("resolved %d times (%s), dialled %s", n, asked, dialled)
	}
	if r := l.Report(); count(r.Refused) != 4 {
		t.Errorf("%+v", r.Refused)
	}
}

func TestOtherProtocolsAreNotChangedTo(t *testing.T) {
	t.Parallel()
	w := shop(t, nil)
	w.place(good+":80", w.serve(func(conn net.Conn) {
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil || request.Header.Get("Upgrade") != "" || request.Header.Get("Connection") != "close" {
			t.Errorf("%v %+v", err, request)
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	}))
	l := w.proxy.Open([]Host{{Name: "shop.example"}})
	c := w.wire()
	c.say("GET http://shop.example/ HTTP/1.1\r\nHost: shop.example\r\n" + auth(l) +
		"Connection: Upgrade, X-Own\r\nX-Own: 1\r\nUpgrade: websocket\r\n\r\n")
	if status, text := c.status("GET"); status != 403 || !strings.Contains(text, "another protocol") {
		t.Errorf("%d %s", status, text)
	}
	if why := refusedOf(l.Report().Refused, "shop.example"); !strings.Contains(why, "another protocol") {
		t.Errorf("%+v", l.Report())
	}
}
