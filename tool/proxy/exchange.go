package proxy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// sends counts bytes that are about to be sent. Those that follow an answer are another request.
func (c *client) sends(n int) error {
	c.timer.Reset(idleTime)
	return c.line.send(c.host, n, c.turn.Swap(false))
}

func (c *client) receives(n int) error {
	c.timer.Reset(idleTime)
	c.turn.Store(n > 0)
	c.line.receive(c.host, n)
	return nil
}

// dial connects to the target: to the addresses that were checked, one after the other, or through the user's proxy.
func (c *client) dial() (conn net.Conn, err error) {
	c.timer.Reset(idleTime)
	ctx, cancel := context.WithTimeout(c.ctx, connectTime)
	defer cancel()
	if c.way.upstream != nil {
		conn, err = c.proxy.through(ctx, c.way.upstream, net.JoinHostPort(c.target.name, c.target.port))
	}
	for _, a := range c.way.addresses {
		conn, err = c.proxy.dial(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), c.target.port))
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	if err == nil {
		closeAfter(c.ctx, conn)
	}
	return conn, c.target.failed(err)
}

// through has the user's proxy connect to an address.
func (p *Proxy) through(ctx context.Context, up *url.URL, address string) (net.Conn, error) {
	if up.Scheme != "http" && up.Scheme != "https" {
		return nil, fmt.Errorf("%s proxies cannot be used for commands; try: an http or https proxy", up.Scheme)
	}
	conn, err := p.dial(ctx, "tcp", net.JoinHostPort(up.Hostname(), cmp.Or(up.Port(), up.Scheme)))
	if err != nil {
		return nil, err
	}
	defer closeAfter(ctx, conn)()
	if up.Scheme == "https" {
		config := p.tls.Clone()
		config.ServerName = up.Hostname()
		conn = tls.Client(conn, config)
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Host: address}, Host: address}
	request.Header = http.Header{}
	if up.User != nil {
		password, _ := up.User.Password()
		request.SetBasicAuth(up.User.Username(), password)
		request.Header = http.Header{"Proxy-Authorization": request.Header["Authorization"]}
	}
	reader := bufio.NewReader(conn)
	var answer *http.Response
	if err = request.Write(conn); err == nil {
		answer, err = http.ReadResponse(reader, request)
	}
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the proxy %s answered %s", up.Host, answer.Status)
	}
	if err != nil {
		conn.Close()
	}
	return buffered{conn, reader}, err
}

// buffered is a connection of which some bytes were read already.
type buffered struct {
	net.Conn
	r io.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// CloseWrite ends the direction to the host.
func (b buffered) CloseWrite() error { return closeWrite(b.Conn) }

// connect serves CONNECT. On port 443 the TLS handshake is checked before there is a connection. Other protocols may
// begin with words of the server, so on other ports the check is before the first byte of the client is sent.
func (c *client) connect() (err error) {
	var server net.Conn
	var first []byte
	secure := c.target.port == "443"
	if !secure {
		server, err = c.dial()
	}
	if err == nil {
		c.answered = true
		_, err = io.WriteString(c.conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	}
	if err == nil && secure {
		c.timer.Reset(headTime)
		first, err = c.firstBytes(secure)
	}
	if err == nil && secure {
		server, err = c.dial()
	}
	if err != nil {
		return err
	}
	down := make(chan bool)
	go func() {
		defer close(down)
		defer c.rescue()
		if pump(c.conn, server, nil, c.receives) != nil {
			c.cut()
		}
	}()
	if !secure {
		first, err = c.firstBytes(secure)
	}
	if err == nil {
		err = pump(server, c.r, first, c.sends)
	}
	if err != nil {
		c.note(err)
		c.cut()
	}
	<-down
	return nil
}

// pump copies the first bytes, and then what comes until its end, which is passed on.
func pump(to net.Conn, from io.Reader, first []byte, count func(int) error) error {
	buffer := make([]byte, 32<<10)
	for {
		if err := count(len(first)); err != nil {
			return err
		}
		if _, err := to.Write(first); err != nil {
			return err
		}
		n, err := from.Read(buffer)
		if n == 0 && errors.Is(err, io.EOF) {
			return closeWrite(to)
		} else if n == 0 {
			return err
		}
		first = buffer[:n]
	}
}

// firstBytes waits for the client's first byte, and reads the message that it begins if that is one of TLS. secure says
// that it has to be.
func (c *client) firstBytes(secure bool) ([]byte, error) {
	first, err := c.r.Peek(1)
	switch {
	case err == nil && first[0] == handshake:
		return c.clientHello()
	case err == nil && secure:
		err = c.target.refuse("was sent something other than a TLS handshake")
	case !secure:
		// The client may say nothing at all.
		err = nil
	}
	return nil, err
}

// handshake is the first byte of a TLS handshake, and helloBytes bounds its first message.
const (
	handshake  = 0x16
	helloBytes = 64 << 10
)

// clientHello reads the client's first message of TLS, and returns all that it read. The message has to name the
// target in the open; only an address may stay unnamed.
func (c *client) clientHello() ([]byte, error) {
	var all bytes.Buffer
	var name string
	seen := errors.New("seen")
	conn := mute{buffered{c.conn, io.TeeReader(io.LimitReader(c.r, helloBytes), &all)}}
	err := tls.Server(conn, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		name = hello.ServerName
		return nil, seen
	}}).HandshakeContext(c.ctx)
	switch {
	case c.ctx.Err() != nil:
		return nil, c.ctx.Err()
	case !errors.Is(err, seen):
		return nil, c.target.refuse("was sent a TLS handshake that cannot be read: %v", err)
	case name == "" && !c.target.isAddress():
		return nil, c.target.refuse("was sent a TLS handshake that names no host")
	case name != "" && !same(name, c.target.name):
		return nil, c.target.refuse("was sent a TLS handshake for %.100q", name)
	}
	return all.Bytes(), nil
}

// mute is a connection to which nothing is written.
type mute struct{ buffered }

func (mute) Write(p []byte) (int, error) { return len(p), nil }

// plain forwards a request and its answer, on a connection of their own.
func (c *client) plain(request *http.Request) error {
	request = request.WithContext(c.ctx)
	request.RequestURI, request.Host, request.Trailer = "", request.URL.Host, nil
	forward(request.Header)
	if request.Header["Expect"] != nil {
		request.Header.Del("Expect")
		if _, err := io.WriteString(c.conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return err
		}
	}
	if request.Header["User-Agent"] == nil {
		// The transport would name Go.
		request.Header.Set("User-Agent", "")
	}
	if request.ContentLength != 0 {
		request.Body = sentBody{c, request.Body}
	}
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 256 << 10,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return c.dial() }}
	if c.way.upstream != nil {
		transport.Proxy, transport.DialContext = http.ProxyURL(c.way.upstream), c.proxy.dial
		transport.TLSClientConfig = c.proxy.tls
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return c.target.failed(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return c.target.refuse("changed to another protocol than HTTP")
	}
	forward(answer.Header)
	answer.ProtoMajor, answer.ProtoMinor, answer.Close, answer.Trailer = 1, 1, true, nil
	if answer.ContentLength < 0 && request.ProtoAtLeast(1, 1) {
		answer.TransferEncoding = []string{"chunked"}
	}
	to := bufio.NewWriter(c.conn)
	answer.Body = receivedBody{answer.Body, c, to}
	c.answered = true
	// A bufio.Writer that reads the body by itself cannot be flushed meanwhile.
	if err := errors.Join(answer.Write(struct{ io.Writer }{to}), to.Flush()); err != nil {
		return err
	}
	if request.ContentLength == 0 && c.r.Buffered() > 0 {
		c.note(c.target.refuse("was requested on a connection with more data, which was not read"))
	}
	c.linger()
	return nil
}

// forward takes the headers out that are between two neighbours.
func forward(header http.Header) {
	named := strings.ReplaceAll(strings.Join(header["Connection"], " "), ",", " ")
	for name := range strings.FieldsSeq(named + " Connection Keep-Alive Te Trailer Transfer-Encoding Upgrade") {
		header.Del(name)
	}
	maps.DeleteFunc(header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Proxy-") })
}

// sentBody is a request's body, counted before it is sent.
type sentBody struct {
	client *client
	io.Reader
}

func (b sentBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if counted := b.client.sends(n); counted != nil {
		return 0, counted
	}
	return n, err
}

// Close leaves the rest unread; the client's connection ends.
func (b sentBody) Close() error { return nil }

// receivedBody is an answer's body, counted. What was read before goes to the client before more is waited for.
type receivedBody struct {
	io.ReadCloser
	client *client
	to     *bufio.Writer
}

func (b receivedBody) Read(p []byte) (int, error) {
	if err := b.to.Flush(); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	return n, cmp.Or(b.client.receives(n), err)
}
