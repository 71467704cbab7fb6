// Package providertest is the test bench of the wires: a loopback server that
// plays replies byte for byte, with the faults of real networks; a validator of
// request bodies that is as strict as the strictest server; and a conformance
// suite that every wire passes. Its Handler is also good on its own, as the
// model behind a test of the whole program.
package providertest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
)

// Reply is one scripted answer: head, bytes, and how they go out. Only Body must be set.
// Methods return changed copies.
type Reply struct {
	Status      int         // 0 means 200
	ContentType string      // "" sends none
	Header      http.Header // further headers
	Body        []byte
	Chunk       int // bytes per write, each flushed; 0 writes all at once, as far as the next gate
	Gates       []Gate
	End         End
	BeforeHead  bool // End happens before anything is sent, the head included
}

// Gate holds the reply before the byte at offset At until Open is closed or the
// client has gone.
type Gate struct {
	At   int
	Open <-chan struct{}
}

// End is the end of the reply after its last byte.
type End int

// The ways a reply ends.
const (
	Close End = iota // the handler returns: a clean end of the body
	Reset            // the connection breaks
	Hang             // silence until the client leaves
)

// InChunks writes n bytes at a time.
func (r Reply) InChunks(n int) Reply { r.Chunk = n; return r }

// Cut keeps the first n bytes of the body, or all but the last -n.
func (r Reply) Cut(n int) Reply {
	if n < 0 {
		n = len(r.Body) + n
	}
	r.Body = r.Body[:min(max(n, 0), len(r.Body))]
	return r
}

// Ends sets the end of the reply after its last byte.
func (r Reply) Ends(end End) Reply { r.End = end; return r }

// Hold adds a gate before the byte at offset at; a negative offset counts from
// the end of the body.
func (r Reply) Hold(at int, open <-chan struct{}) Reply {
	if at < 0 {
		at = len(r.Body) + at
	}
	r.Gates = append(slices.Clone(r.Gates), Gate{At: at, Open: open})
	return r
}

// With adds a header.
func (r Reply) With(key, value string) Reply {
	h := r.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set(key, value)
	r.Header = h
	return r
}

// Stream is a reply of server-sent events given as raw bytes.
func Stream(body string) Reply {
	return Reply{ContentType: "text/event-stream; charset=utf-8", Body: []byte(body)}
}

// JSON is a reply of one JSON document.
func JSON(status int, body string) Reply {
	return Reply{Status: status, ContentType: "application/json", Body: []byte(body)}
}

// Page is the HTML page of a proxy.
func Page(status int, title string) Reply {
	return Reply{Status: status, ContentType: "text/html; charset=utf-8",
		Body: []byte("<!DOCTYPE html>\n<html><head><title>" + title + "</title></head>\n<body><h1>" + title +
			"</h1></body></html>\n")}
}

// Dropped is a connection that breaks before any answer.
func Dropped() Reply { return Reply{End: Reset, BeforeHead: true} }

// Silent is a server that takes the request and says nothing at all.
func Silent() Reply { return Reply{End: Hang, BeforeHead: true} }

func (r Reply) play(w http.ResponseWriter, req *http.Request) {
	if !r.BeforeHead {
		r.head(w)
		if !r.body(w, req) {
			return
		}
	}
	switch r.End {
	case Hang:
		flush(w)
		<-req.Context().Done()
	case Reset:
		flush(w)
		reset(w)
	}
}

func (r Reply) head(w http.ResponseWriter) {
	h := w.Header()
	for key, values := range r.Header {
		h[key] = values
	}
	if r.ContentType != "" {
		h.Set("Content-Type", r.ContentType)
	} else {
		h["Content-Type"] = nil // keeps net/http from guessing one
	}
	status := cmp.Or(r.Status, http.StatusOK)
	if status != http.StatusOK {
		h.Set("Content-Length", strconv.Itoa(len(r.Body)))
	}
	w.WriteHeader(status)
}

// body writes the bytes, gate by gate; false when the client has gone.
func (r Reply) body(w http.ResponseWriter, req *http.Request) bool {
	gates := slices.Clone(r.Gates)
	slices.SortStableFunc(gates, func(a, b Gate) int { return a.At - b.At })
	at := 0
	for _, g := range gates {
		to := min(max(g.At, at), len(r.Body))
		if !r.write(w, r.Body[at:to]) {
			return false
		}
		at = to
		flush(w)
		select {
		case <-g.Open:
		case <-req.Context().Done():
			return false
		}
	}
	return r.write(w, r.Body[at:])
}

func (r Reply) write(w http.ResponseWriter, data []byte) bool {
	n := r.Chunk
	if n <= 0 {
		n = len(data)
	}
	for len(data) > 0 {
		n = min(n, len(data))
		if _, err := w.Write(data[:n]); err != nil {
			return false
		}
		data = data[n:]
		if r.Chunk > 0 {
			flush(w)
		}
	}
	return true
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// reset breaks the connection under the client, with a RST where TCP allows.
func reset(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0) // the fault then is a reset, else a plain end
	}
	conn.Close()
}
