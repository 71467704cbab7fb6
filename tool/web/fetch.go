package web

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"artoo/tool/pdf"
)

// Limits of a page.
const (
	fetchTime    = 30 * time.Second // all of it, redirects included
	maxRedirects = 10
	maxBody      = 5 << 20     // bytes that are read of a page, packed or not
	maxDocument  = pdf.MaxSize // A partial PDF is useless.
	maxHeader    = 256 << 10
)

// Client fetches pages. Its fields are not changed while it is used; it is safe for
// concurrent use and keeps neither cookies nor connections.
type Client struct {
	// Base is the transport of connections, except its way to dial.
	Base *http.Transport
	// Around wraps each transport, to record its traffic; nil for none.
	Around func(http.RoundTripper) http.RoundTripper
	// UserAgent names the program, such as "artoo/1.2".
	UserAgent string
	// Offline refuses every host that is not of this machine or network by its spelling.
	Offline bool

	lookup  *net.Resolver           // nil for the system's; for tests
	ownAddr func(netip.Addr) string // nil for OwnAddr; for tests

	mu   sync.Mutex
	kept []keptPage // the newest last
}

// keptPage is a page that may be shown further.
type keptPage struct {
	asked string // the address that was asked for
	page  Page
	at    time.Time
}

// How many pages are kept to be shown further, and for how long.
const (
	keepPages = 4
	keepFor   = 15 * time.Minute
)

// Hosts decides by the user's rules about a host with its port: unasked is whether a redirect may be
// followed there, own whether it may be at an address of this machine or of a private network.
type Hosts func(host string) (unasked, own bool)

// Page is a server's answer.
type Page struct {
	URL    *url.URL // where it was found, after redirects
	Status int      // such as 200
	// Elsewhere is where a redirect leads that was not followed, nil for none; there is no Text then.
	Elsewhere *url.URL
	MediaType string // such as text/html, "" if unknown
	Title     string
	// Text is the readable text: Markdown of a page, the text of a PDF, else as it came,
	// in UTF-8 and without control characters. It may be empty.
	Text string
	// Image is the file where MediaType is that of a PNG, JPEG, GIF or WebP.
	Image []byte
	// Bytes is how much was read, Cut that there was more.
	Bytes int
	Cut   bool
}

// OwnError is a host that was not connected to: it is not public, and no rule or user allowed it.
type OwnError struct {
	Host string // includes the port, as a rule has to name it to allow that
	Why  string
}

// Error names the refused address and the reason.
func (e *OwnError) Error() string { return e.Host + " was not contacted: " + e.Why }

// Fetch gets the page of an address from Parse. The caller has the user's leave for its host, also where it is one of
// this machine or network by its spelling. An answer with another status than 200 is a page, too. It returns soon after
// ctx is done.
func (c *Client) Fetch(ctx context.Context, u *url.URL, hosts Hosts) (Page, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, fmt.Errorf("%s did not answer in %s", u.Host, fetchTime))
	defer cancel()
	asked := u.String()
	_, own := hosts(HostPort(u))
	own = own || Own(u.Host) != ""
	for n := 0; ; n++ {
		page, next, err := c.get(ctx, u, own)
		if err != nil || next == nil {
			if cause := context.Cause(ctx); err != nil && cause != nil {
				err = cause
			}
			if err == nil {
				c.keep(asked, page)
			}
			return page, err
		}
		if n == maxRedirects {
			return page, fmt.Errorf("%s redirects more than %d times", u.Host, maxRedirects)
		}
		if !sameHost(u, next) {
			unasked, mayBeOwn := hosts(HostPort(next))
			if !unasked {
				page.Elsewhere = next
				return page, nil
			}
			own = mayBeOwn
		}
		u = next
	}
}

// Kept is the page of an address that was fetched not long ago.
func (c *Client) Kept(u *url.URL) (Page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.kept {
		if k.asked == u.String() && time.Since(k.at) < keepFor {
			return k.page, true
		}
	}
	return Page{}, false
}

func (c *Client) keep(asked string, page Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.DeleteFunc(c.kept, func(k keptPage) bool { return k.asked == asked })
	c.kept = append(c.kept, keptPage{asked, page, time.Now()})
	c.kept = c.kept[max(0, len(c.kept)-keepPages):]
}

// sameHost reports whether leave for one address is leave for the other.
func sameHost(a, b *url.URL) bool {
	return a.Hostname() == b.Hostname() && (a.Port() == "" && b.Port() == "" || HostPort(a) == HostPort(b))
}

// get makes one request. next is where its answer redirects to.
func (c *Client) get(ctx context.Context, u *url.URL, own bool) (page Page, next *url.URL, err error) {
	page.URL = u
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return page, nil, err
	}
	request.Header.Set("User-Agent", c.UserAgent)
	request.Header.Set("Accept", "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5")
	request.Header.Set("Accept-Encoding", "gzip")
	transport, err := c.transport(request, own)
	if err != nil {
		return page, nil, err
	}
	defer transport.CloseIdleConnections()
	var way http.RoundTripper = transport
	if c.Around != nil {
		way = c.Around(transport)
	}
	answer, err := way.RoundTrip(request)
	if err != nil {
		return page, nil, plainly(u, err)
	}
	defer answer.Body.Close()
	page.Status = answer.StatusCode
	if place := answer.Header.Get("Location"); place != "" && slices.Contains(redirects, answer.StatusCode) {
		next, err = u.Parse(place)
		if err == nil {
			next, err = Parse(next.String())
		}
		if err != nil {
			return page, nil, fmt.Errorf("%s redirects to an address that cannot be fetched: %w", u.Host, err)
		}
		return page, next, nil
	}
	return page, nil, page.read(ctx, answer)
}

var redirects = []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
	http.StatusPermanentRedirect}

// transport is the way to one host for one request: no connection serves another leave.
func (c *Client) transport(request *http.Request, own bool) (*http.Transport, error) {
	host, why := HostPort(request.URL), Own(request.URL.Host)
	switch {
	case why != "" && !own:
		return nil, &OwnError{Host: host, Why: why}
	case why == "" && c.Offline:
		return nil, fmt.Errorf("%s was not contacted: ARTOO_OFFLINE forbids it", host)
	}
	t := c.Base.Clone()
	t.DisableKeepAlives, t.DisableCompression = true, true
	t.MaxResponseHeaderBytes = maxHeader
	dialer := &net.Dialer{Timeout: fetchTime, Resolver: c.lookup}
	t.DialContext = dialer.DialContext
	if t.Proxy != nil {
		proxy, err := t.Proxy(request)
		if err != nil {
			return nil, err
		}
		if proxy != nil { // it looks the name up and connects, out of sight
			return t, nil
		}
	}
	ownAddr := c.ownAddr
	if ownAddr == nil {
		ownAddr = OwnAddr
	}
	if !own {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if why := ownAddr(at.Addr()); why != "" {
				return &OwnError{Host: host, Why: fmt.Sprintf("it is at %s, %s", at.Addr(), why)}
			}
			return nil
		}
	}
	if name, port := SplitHost(host); isLocalhost(name) { // whatever a name server says
		t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
			if err != nil {
				conn, err = dialer.DialContext(ctx, network, net.JoinHostPort("::1", port))
			}
			return conn, err
		}
	}
	return t, nil
}

// plainly is an error of a request without words that say nothing to its reader.
func plainly(u *url.URL, err error) error {
	var own *OwnError
	var name *net.DNSError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("no such host: %s", u.Hostname())
	}
	return fmt.Errorf("%s could not be fetched: %w", u.Host, err)
}

// body reads an answer, unpacked, up to limit bytes.
func body(answer *http.Response, limit int64) (data []byte, cut bool, err error) {
	var from io.Reader = io.LimitReader(answer.Body, limit)
	switch coding := strings.ToLower(answer.Header.Get("Content-Encoding")); coding {
	case "", "identity":
		from = answer.Body
	case "gzip", "x-gzip":
		if from, err = gzip.NewReader(from); errors.Is(err, io.EOF) {
			return nil, false, nil
		}
	default:
		err = fmt.Errorf("it is compressed as %.20q, which artoo did not request", coding)
	}
	if err != nil {
		return nil, false, err
	}
	data, err = io.ReadAll(io.LimitReader(from, limit+1))
	if int64(len(data)) > limit {
		return data[:limit], true, nil
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && len(data) > 0 { // A part is useful.
		return data, true, nil
	}
	return data, false, err
}
