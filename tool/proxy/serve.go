package proxy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Limits of a connection.
const (
	// headBytes are of a request.
	headBytes = 32 << 10
	// mostConnections are served at a time. Each takes files and memory of artoo's, and any command may open one.
	mostConnections = 1024
	// headTime is for a request to begin and its head to come, and for the first bytes of a tunnel.
	headTime = 30 * time.Second
	// connectTime is for the name and all addresses of a host, dialTime for one address.
	connectTime = 30 * time.Second
	dialTime    = 10 * time.Second
	// idleTime is without a byte in either direction.
	idleTime = 10 * time.Minute
	// lingerTime is for a refused client to read the answer before it is cut.
	lingerTime = time.Second
)

// client is one connection out of the commands' network. It serves one request: none can be read as a part of another.
type client struct {
	proxy *Proxy
	conn  net.Conn
	r     *bufio.Reader
	ctx   context.Context
	// cut ends ctx, which closes the connections. timer calls it.
	cut   context.CancelFunc
	timer *time.Timer
	// line is nil before the request has the credential of one.
	line   *Line
	target target
	// host is the target as reports name it.
	host string
	way  way
	// turn says that the host said something after the client did.
	turn atomic.Bool
	// answered says that the client has its answer, so that no other one may follow.
	answered bool
}

// Serve serves one connection out of the commands' network, in a goroutine of its own, and closes it in the end.
func (p *Proxy) Serve(conn net.Conn) {
	defer conn.Close()
	if !p.gate.enter() {
		return
	}
	defer p.gate.leave()
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	default:
		return
	}
	c := &client{proxy: p, conn: conn, r: bufio.NewReaderSize(conn, headBytes)}
	c.ctx, c.cut = context.WithCancel(p.gate.ctx)
	defer c.cut()
	defer closeAfter(c.ctx, conn)()
	c.timer = time.AfterFunc(headTime, c.cut)
	defer c.timer.Stop()
	defer c.rescue()
	if h, err := c.readHead(); err == nil {
		c.serve(h)
	}
}

// closeAfter closes a connection when ctx ends, unless the result is called before.
func closeAfter(ctx context.Context, conn net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { conn.Close() })
}

// rescue is deferred: a panic ends this connection alone, and is reported.
func (c *client) rescue() {
	if failure := recover(); failure != nil {
		c.note(&refusal{Refused: Refused{Host: "a request", Why: fmt.Sprintf("failed in the proxy: %v", failure)}})
		c.cut()
	}
}

// note keeps an error for the report if it is a refusal, which is returned; nil for others.
func (c *client) note(err error) (refused *refusal) {
	if errors.As(err, &refused) {
		tally := &c.proxy.strangers
		if c.line != nil {
			tally = &c.line.tally
		}
		tally.refuse(refused.Refused)
	}
	return refused
}

// serve serves the request.
func (c *client) serve(h head) {
	line := c.proxy.lineOf(h.fields["proxy-authorization"])
	if line == nil || !line.gate.enter() {
		err := h.refuse(http.StatusProxyAuthRequired, "was requested without the credential of a running line")
		c.answer(c.note(err))
		return
	}
	defer line.gate.leave()
	defer context.AfterFunc(line.gate.ctx, c.cut)()
	c.line = line
	c.timer.Reset(idleTime)
	request, err := c.admit(h)
	switch {
	case err != nil:
	case c.target.connect:
		err = c.connect()
	default:
		err = c.plain(request)
	}
	if refused := c.note(err); refused != nil && !c.answered {
		c.answer(refused)
	}
}

// answer refuses a request.
func (c *client) answer(r *refusal) {
	status, challenge := cmp.Or(r.status, http.StatusForbidden), ""
	if status == http.StatusProxyAuthRequired {
		challenge = "Proxy-Authenticate: Basic realm=\"artoo\"\r\n"
	}
	text := r.Error() + "\n"
	_, _ = fmt.Fprintf(c.conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"+
		"Connection: close\r\n%s\r\n%s", status, http.StatusText(status), len(text), challenge, text)
	c.linger()
}

// linger reads what the client still sends: a connection that is closed before that is reset, and the answer lost. The
// client may go at any time.
func (c *client) linger() {
	c.timer.Reset(lingerTime)
	if closeWrite(c.conn) == nil {
		_, _ = io.Copy(io.Discard, c.conn)
	}
}

// closeWrite ends one direction of a connection.
func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return conn.Close()
}

// head is what a request says before its body. What two readers may read in two ways is refused, here or where
// net/http reads it again.
type head struct {
	method, target, version string
	// fields are by names in lower case.
	fields map[string][]string
	size   int
	// wrong is why it is refused, "" for no reason.
	wrong string
}

// readHead reads the head of a request and leaves it in the buffer.
func (c *client) readHead() (head, error) {
	for n := 1; ; {
		if _, err := c.r.Peek(n); errors.Is(err, bufio.ErrBufferFull) {
			return parseHead("", "has a head of more than 32 KB"), nil
		} else if err != nil {
			return head{}, err
		}
		data, _ := c.r.Peek(c.r.Buffered())
		if i := bytes.Index(data, []byte("\r\n\r\n")); i >= 0 {
			return parseHead(string(data[:i+4]), ""), nil
		}
		if data[0] < 'A' || data[0] > 'Z' || bytes.Count(data, []byte("\n")) != bytes.Count(data, []byte("\r\n")) {
			return parseHead(string(data), notHTTP), nil
		}
		n = len(data) + 1
	}
}

const notHTTP = "is not an HTTP request"

func parseHead(text, wrong string) head {
	lines := strings.Split(strings.TrimSuffix(text, "\r\n\r\n"), "\r\n")
	h := head{fields: map[string][]string{}, size: len(text), wrong: wrong}
	object := func(bad bool, why string) {
		if bad {
			h.wrong = cmp.Or(h.wrong, why)
		}
	}
	words := append(strings.Split(lines[0], " "), "", "")
	h.method, h.target, h.version = words[0], words[1], words[2]
	object(strings.ContainsFunc(h.target, func(r rune) bool { return r <= ' ' || r > '~' }),
		"is not an address in ASCII")
	object(h.version != "HTTP/1.1" && h.version != "HTTP/1.0", "was not requested with HTTP/1")
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		object(!httpguts.ValidHeaderFieldName(name), "was requested with a nameless header")
		name = strings.ToLower(name)
		h.fields[name] = append(h.fields[name], strings.Trim(value, " \t"))
	}
	hosts, lengths, codings := len(h.fields["host"]), len(h.fields["content-length"]), h.fields["transfer-encoding"]
	object(hosts == 0 && h.version == "HTTP/1.1", "was requested without a Host header")
	object(lengths+len(codings) > 1, "was requested with two body lengths")
	object(len(codings) == 1 && (h.version == "HTTP/1.0" || !strings.EqualFold(codings[0], "chunked")),
		"was requested with a body in an unknown transfer encoding")
	object(h.method == http.MethodConnect && lengths+len(codings) > 0, "was requested by CONNECT with a body")
	object(h.method == http.MethodTrace, "was requested with TRACE, which is not forwarded")
	return h
}

// refuse is a refusal before the target is known.
func (h head) refuse(status int, why string) *refusal {
	return &refusal{status: status, Refused: Refused{Host: fmt.Sprintf("%+.100q", h.target), Why: why}}
}

// admit finds the target of a request and the way to it, if it may be let through.
func (c *client) admit(h head) (*http.Request, error) {
	bad := func(why string) error { return h.refuse(http.StatusBadRequest, why) }
	if h.wrong != "" {
		return nil, bad(h.wrong)
	}
	request, err := http.ReadRequest(c.r)
	if err != nil {
		return nil, bad(notHTTP + ": " + err.Error())
	}
	t, why := h.destination(request)
	if why != "" {
		return nil, bad(why)
	}
	if hosts := h.fields["host"]; len(hosts) == 1 {
		if named, ok := parseTarget(hosts[0], t.usual(), t.connect); !ok || named != t {
			return nil, t.refuse("was requested with another host in the Host header")
		}
	}
	own, err := c.line.allow(t)
	if err != nil {
		return nil, err
	}
	if c.way, err = c.proxy.way(c.ctx, t, own); err != nil {
		return nil, err
	}
	c.target, c.host = t, t.String()
	c.line.begin(c.host)
	return request, c.line.send(c.host, h.size, true)
}

// destination is the target of a request.
func (h head) destination(r *http.Request) (t target, why string) {
	connect, u := h.method == http.MethodConnect, r.URL
	authority, usual := h.target, ""
	switch {
	case connect:
	case u.Scheme != "http" || u.Host == "" || u.Opaque != "":
		return t, "is not an address of plain HTTP; try: CONNECT for others"
	case u.User != nil:
		return t, "has a user before its host"
	default:
		authority, usual = u.Host, "80"
	}
	t, ok := parseTarget(authority, usual, connect)
	if !ok {
		return t, "is not a valid host and port"
	}
	return t, ""
}
