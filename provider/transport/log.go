package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"artoo/provider/redact"
	"artoo/provider/telemetry"
)

// logLimit is how much of a body is kept, and of a piece of a reply, in bytes.
const logLimit = 256 << 10

// Log records requests and replies, keys masked. Several goroutines may use it.
type Log struct {
	// Text gets lines for people, through a sanitiser; JSON a line of JSON each.
	// Either may be nil.
	Text func(line string)
	JSON io.Writer
	// Keys are further keys that must not be written; nil for none. Any goroutine calls it.
	Keys func() []string
	Run  string // the run's id, which every line of JSON has; "" for none

	on      atomic.Bool
	mu      sync.Mutex
	failed  bool // JSON could not be written; said once
	request atomic.Int64
}

// SetOn switches the text record; the JSON record, where there is one, is
// always kept.
func (l *Log) SetOn(on bool) { l.on.Store(on) }

// On reports whether the text record is on.
func (l *Log) On() bool { return l.on.Load() }

func (l *Log) active() bool { return l.JSON != nil || l.Text != nil && l.On() }

// Record records traffic by another way than HTTP. event is request or body.
func (l *Log) Record(event, text string) {
	if !l.active() {
		return
	}
	if event == "request" {
		l.request.Add(1)
	}
	text, cut := limited(mask(l.known(nil), text))
	r := record{Event: event, Request: l.request.Load(), Body: text, Cut: cut}
	if event == "request" {
		r.Method = "run"
	}
	l.write(r)
}

// known are the keys of a request with those of Keys.
func (l *Log) known(own redact.Known) redact.Known {
	if l.Keys == nil {
		return own
	}
	return own.With(l.Keys())
}

type record struct {
	Time  string `json:"time"`
	Event string `json:"event"` // request, response, body, error
	Run   string `json:"run,omitempty"`
	telemetry.IDs
	Request int64             `json:"request"`
	Method  string            `json:"method,omitempty"`
	URL     string            `json:"url,omitempty"`
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Cut     bool              `json:"cut,omitempty"` // the body was longer
	Error   string            `json:"error,omitempty"`
}

func (l *Log) write(r record) {
	r.Run = l.Run
	r.Time = time.Now().UTC().Format(time.RFC3339Nano)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.JSON != nil && !l.failed {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		err := enc.Encode(r)
		if err == nil {
			_, err = l.JSON.Write(b.Bytes())
		}
		if err != nil {
			l.failed = true
			if l.Text != nil {
				l.Text("the log cannot be written: " + err.Error())
			}
		}
	}
	if l.Text != nil && l.On() {
		l.Text(r.line())
	}
}

func (r record) line() string {
	switch r.Event {
	case "request":
		return fmt.Sprintf("debug: request %d: %s %s %s\n%s", r.Request, r.Method, r.URL, headerLine(r.Headers), r.Body)
	case "response":
		return fmt.Sprintf("debug: reply %d: %d %s", r.Request, r.Status, headerLine(r.Headers))
	case "error":
		return fmt.Sprintf("debug: request %d failed: %s", r.Request, r.Error)
	}
	return fmt.Sprintf("debug: reply %d: %s", r.Request, r.Body)
}

func headerLine(h map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		fmt.Fprintf(&b, "%s: %s; ", name, h[name])
	}
	return strings.TrimSuffix(b.String(), "; ")
}

type recording struct {
	next http.RoundTripper
	log  *Log
}

// CloseIdleConnections passes the call on.
func (t *recording) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *recording) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.log.active() {
		return t.next.RoundTrip(r)
	}
	n, ids := t.log.request.Add(1), telemetry.Of(r.Context())
	keys := t.log.known(redact.OfRequest("", r.Header, r.URL))
	body, cut := requestBody(r, keys)
	t.log.write(record{Event: "request", IDs: ids, Request: n, Method: r.Method, URL: redact.Setting(r.URL.String()),
		Headers: headers(r.Header, nil), Body: body, Cut: cut})
	reply, err := t.next.RoundTrip(r)
	if err != nil {
		t.log.write(record{Event: "error", IDs: ids, Request: n, Error: mask(keys, err.Error())})
		return nil, err
	}
	t.log.write(record{Event: "response", IDs: ids, Request: n, Status: reply.StatusCode, Headers: headers(reply.Header, keys)})
	reply.Body = &recordedBody{ReadCloser: reply.Body, log: t.log, request: n, ids: ids, keys: keys}
	return reply, nil
}

// requestBody reads a copy of the body. Keys are masked before it is cut.
func requestBody(r *http.Request, keys redact.Known) (text string, cut bool) {
	if r.GetBody == nil {
		return "", false
	}
	body, err := r.GetBody()
	if err != nil {
		return "", false
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, logLimit+longestKey))
	if err != nil {
		return "", false
	}
	text, cut = limited(mask(keys, string(data)))
	return text, cut || len(data) > logLimit
}

// limited is the part of a text that is kept, without a rune that is cut off at its end.
func limited(text string) (kept string, cut bool) {
	if len(text) <= logLimit {
		return text, false
	}
	return strings.ToValidUTF8(text[:logLimit], ""), true
}

// longestKey is how far beyond the limit a body is read for the end of a key.
const longestKey = 8 << 10

// recordedBody writes down a reply as it is read, in whole lines.
type recordedBody struct {
	io.ReadCloser
	log     *Log
	request int64
	ids     telemetry.IDs
	keys    redact.Known

	mu     sync.Mutex
	held   []byte
	failed bool // it broke off, and that is written down
}

// Read implements io.Reader.
func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	end := bytes.LastIndexByte(p[:n], '\n') + 1
	if end > 0 {
		end += len(b.held)
	}
	b.held = append(b.held, p[:n]...)
	switch {
	case err != nil:
		b.put(len(b.held))
		if !errors.Is(err, io.EOF) && !b.failed {
			b.failed = true
			b.log.write(record{Event: "error", IDs: b.ids, Request: b.request, Error: mask(b.keys, err.Error())})
		}
	case end > 0:
		b.put(end)
	case len(b.held) > logLimit:
		b.held = []byte(b.keys.Hide(string(b.held))) // now only a key's beginning can be left, at the end
		n := max(0, len(b.held)-max(1, b.keys.Longest()))
		for least := n - utf8.UTFMax; n > max(0, least) && !utf8.RuneStart(b.held[n]); { // a rune stays whole
			n--
		}
		b.put(n)
	}
	return n, err
}

// Close implements io.Closer.
func (b *recordedBody) Close() error {
	err := b.ReadCloser.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(len(b.held))
	return err
}

// put writes the first n bytes that are held.
func (b *recordedBody) put(n int) {
	if n <= 0 {
		return
	}
	b.log.write(record{Event: "body", IDs: b.ids, Request: b.request, Body: mask(b.keys, string(b.held[:n]))})
	b.held = append(b.held[:0], b.held[n:]...)
}
