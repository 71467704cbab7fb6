package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"artoo/provider"
	"artoo/provider/redact"
	"artoo/tool/text"
)

type call struct {
	Endpoint
	parent    context.Context
	ctx       context.Context
	cancel    context.CancelCauseFunc
	stopTimer context.CancelFunc
	watchdog  *watchdog
	req       Request
	secrets   redact.Known // the keys in req
	resp      *http.Response
	body      *bufio.Reader
	whole     bool // the reply is one JSON document
	ending    *time.Timer
	started   bool
	most      int // bytes of data in a stream
	requestID string
}

// errRequestTimeout is the cause of a request that took longer than allowed.
var errRequestTimeout = errors.New("request timeout")

var errComplete = errors.New("the reply is complete")

func newCall(ctx context.Context, e Endpoint) *call {
	c := &call{Endpoint: e, parent: ctx, most: maxReply}
	limited, cancel := context.WithCancelCause(ctx)
	c.ctx, c.cancel, c.stopTimer = limited, cancel, func() {}
	if e.RequestTimeout > 0 {
		c.ctx, c.stopTimer = context.WithTimeoutCause(limited, e.RequestTimeout, errRequestTimeout)
	}
	c.watchdog = &watchdog{limit: idleLimit(e), cancel: cancel}
	return c
}

func idleLimit(e Endpoint) time.Duration {
	const usual = 5 * time.Minute // measured: large models think for minutes without a byte
	switch {
	case e.Idle > 0:
		return e.Idle
	case e.Idle < 0 || e.Local:
		return 0
	}
	return usual
}

// close ends the request. The context goes first: closing a stalled HTTP/2 stream would wait.
func (c *call) close() {
	c.watchdog.wait(0)
	if c.ending != nil {
		c.ending.Stop()
	}
	c.cancel(nil)
	c.stopTimer()
	if c.resp != nil {
		c.resp.Body.Close()
	}
}

// post sends the request and looks at the head of the reply.
func (c *call) post(r Request) error {
	c.req = r
	method, body := http.MethodGet, io.Reader(nil)
	if r.Body != nil {
		method, body = http.MethodPost, bytes.NewReader(r.Body)
	}
	hr, err := http.NewRequestWithContext(c.ctx, method, r.URL, body)
	if err != nil {
		return &provider.Error{Kind: provider.KindConfig, Message: "bad base URL: " + urlProblem(r.URL, err),
			Hint: "check ARTOO_BASE_URL or base_url in config.toml"}
	}
	hr.Header = r.Header.Clone()
	if hr.Header == nil {
		hr.Header = http.Header{}
	}
	if r.Body != nil {
		setDefault(hr.Header, "Content-Type", "application/json")
	}
	accept := "text/event-stream, application/json"
	switch {
	case c.Lines:
		accept = "application/x-ndjson, application/json"
	case c.Frames:
		accept = frameType + ", application/json"
	}
	setDefault(hr.Header, "Accept", accept)
	setDefault(hr.Header, "User-Agent", "artoo")
	if hr.GetBody != nil {
		c.resendable(hr)
	}
	c.secrets = redact.OfRequest(r.Secret, hr.Header, hr.URL)
	c.watchdog.wait(2 * c.watchdog.limit)
	resp, err := c.client().Do(hr)
	if err != nil {
		return err
	}
	c.resp = resp
	if resp.Request != nil { // a signed one has more that must not be shown
		c.secrets = append(c.secrets, redact.OfRequest(r.Secret, resp.Request.Header, hr.URL)...)
	}
	c.requestID = requestID(resp.Header)
	c.watchdog.Reader = resp.Body
	c.body = bufio.NewReaderSize(c.watchdog, 4096)
	if resp.StatusCode/100 != 2 {
		return c.statusError()
	}
	return c.checkType()
}

// resendable lets net/http send a request again when the kept connection was closed: the header
// without a value asks for that. A server that had it for longer may work on it.
func (c *call) resendable(r *http.Request) {
	const longest = time.Second
	if r.Header.Get("Idempotency-Key") == "" {
		r.Header["Idempotency-Key"] = []string{}
	}
	began, body := time.Now(), r.GetBody
	r.GetBody = func() (io.ReadCloser, error) {
		if time.Since(began) > longest {
			return nil, io.ErrUnexpectedEOF
		}
		return body()
	}
}

// client is the given client without redirects, which would turn the POST into a GET or hand the
// key to another server.
func (c *call) client() *http.Client {
	hc := http.Client{}
	if c.HTTP != nil {
		hc = *c.HTTP
	}
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &hc
}

func setDefault(h http.Header, key, value string) {
	if h.Get(key) == "" {
		h.Set(key, value)
	}
}

// requestID is the server's ID of this request.
func requestID(h http.Header) string {
	for _, key := range []string{"Request-Id", "X-Request-Id", "X-Generation-Id", "X-Goog-Request-Id", "X-Amzn-Requestid"} {
		if id := h.Get(key); id != "" {
			return id
		}
	}
	return ""
}

// checkType separates a stream from a document and from a page, by the type or the first byte.
func (c *call) checkType() error {
	// net/http has undone the gzip that it asked for
	switch packed := strings.ToLower(c.resp.Header.Get("Content-Encoding")); packed {
	case "br", "zstd", "deflate", "compress", "gzip", "x-gzip": // other words, such as utf-8, are a server's slip
		return &provider.Error{Kind: provider.KindProvider, Status: c.resp.StatusCode,
			Message: "the reply is compressed as " + packed + ", which artoo did not request",
			Hint:    "check ARTOO_BASE_URL and HTTPS_PROXY: the server at " + c.host() + " changes replies"}
	}
	given := c.resp.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(given)
	if err != nil {
		kind = strings.ToLower(strings.TrimSpace(strings.SplitN(given, ";", 2)[0]))
	}
	switch {
	case c.Frames && kind == frameType:
		return nil
	case c.Frames && kind != "application/json" && kind != "":
		return c.pageError(given)
	}
	switch kind {
	case "text/event-stream":
		if !c.Lines {
			return nil
		}
	case "application/x-ndjson", "application/ndjson", "application/jsonl":
		return nil
	case "application/json", "", "text/plain", "application/octet-stream":
	default:
		return c.pageError(given)
	}
	switch first := c.firstByte(); first {
	case 'd', 'e', 'i', 'r', ':':
		if c.Lines {
			return c.pageError(given)
		}
		return nil
	case 0:
		if _, err := c.body.Peek(1); err != nil && err != io.EOF {
			return err
		}
		return nil
	case '{', '[':
		c.whole = !c.Lines
		return nil
	case '<': // a page, whatever its type says
		return c.pageError(given)
	}
	if kind == "application/json" && !c.Lines {
		c.whole = true
		return nil
	}
	return c.pageError(given)
}

// firstByte is the first byte of the body that is no space, or 0.
func (c *call) firstByte() byte {
	for {
		b, err := c.body.Peek(1)
		if err != nil {
			return 0
		}
		if strings.IndexByte(" \t\r\n\xef\xbb\xbf", b[0]) < 0 { // spaces and a byte order mark
			return b[0]
		}
		if _, err := c.body.Discard(1); err != nil {
			return 0
		}
	}
}

// pageError reports a reply that is no reply of a model.
func (c *call) pageError(contentType string) error {
	text := c.excerpt()
	contentType = cmp.Or(contentType, "no content type")
	msg := fmt.Sprintf("unexpected reply (%s), perhaps from a proxy or a wrong address: %s", contentType, text)
	return &provider.Error{Kind: provider.KindProvider, Status: c.resp.StatusCode, Message: msg,
		Hint: "check ARTOO_BASE_URL and HTTPS_PROXY: the server at " + c.host() + " is not a model's API"}
}

// excerpt is the first 200 characters of the body, on one line.
func (c *call) excerpt() string {
	data, _ := io.ReadAll(io.LimitReader(c.body, 8<<10)) // show the part before a fault
	return shorten(c.secrets.Hide(string(data)), 200)
}

// shorten is s on one line, of at most n characters.
func shorten(s string, n int) string {
	return text.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), n)
}

func (c *call) host() string {
	if c.resp != nil && c.resp.Request != nil {
		return c.resp.Request.URL.Host
	}
	return hostOf(c.req.URL)
}

// endWithin bounds how long a server may go on sending after a complete reply, keep-alives included.
func (c *call) endWithin(d time.Duration) {
	if c.ending != nil {
		c.ending.Stop()
	}
	c.ending = time.AfterFunc(d, func() { c.cancel(errComplete) })
}

// drain lets the connection end, so that the next request can reuse it.
func (c *call) drain() {
	c.endWithin(drainGrace)
	// Whatever happens here happens after the reply: nothing to report.
	_, _ = io.CopyN(io.Discard, c.body, 64<<10)
}
