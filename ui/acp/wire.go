package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"artoo/provider"
	"artoo/tool/text"
)

// The longest lines in bytes: one that comes in, and one that goes out.
const (
	maxIn  = 32 << 20
	maxOut = 1 << 20
)

// The codes of errors.
const (
	codeParse     = -32700
	codeInvalid   = -32600
	codeMethod    = -32601
	codeParams    = -32602
	codeInternal  = -32603
	codeCancelled = -32800
	codeAuth      = -32000
	codeNotFound  = -32002
)

// Error is the error of a request, as the other side gets it.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// message is a line: a request, a notification or an answer.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"` // nil for none; null is an id, too
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// errGone is the error of requests to a client that has left.
var errGone = errors.New("the editor is gone")

// wire is a connection: one goroutine reads it, any goroutine writes.
type wire struct {
	in  *bufio.Reader
	log func(text string) // gets the errors that cannot be sent

	writing sync.Mutex // One line is written at a time.
	out     io.Writer

	mu      sync.Mutex // guards all below
	last    int64      // the id of the last request to the client
	waiting map[string]chan message
	gone    chan struct{} // closed once the client is gone
	closed  bool
}

func newWire(in io.Reader, out io.Writer, log func(text string)) *wire {
	return &wire{in: bufio.NewReaderSize(in, 64<<10), out: out, log: log, waiting: map[string]chan message{}, gone: make(chan struct{})}
}

// read passes each request and notification to handle, until the input ends. It answers lines
// that are neither, and hands answers to those that wait for them.
func (w *wire) read(handle func(message)) {
	for {
		line, long, err := text.ReadLine(w.in, maxIn)
		switch {
		case long:
			w.fail(nil, &Error{Code: codeInvalid, Message: fmt.Sprintf("the line is longer than %d bytes", maxIn)})
		case len(bytes.TrimSpace(line)) > 0:
			w.take(line, handle)
		}
		if err != nil {
			w.leave()
			return
		}
	}
}

func (w *wire) take(line []byte, handle func(message)) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		code, what := codeParse, "the line is not JSON"
		if json.Valid(line) {
			code, what = codeInvalid, "the line is not a message of JSON-RPC 2.0"
		}
		w.fail(nil, &Error{Code: code, Message: what})
		return
	}
	key, twice := provider.AmbiguousKey(line)
	ambiguous := &Error{Code: codeInvalid, Message: fmt.Sprintf("the line has the key %q twice", key)}
	switch {
	case m.JSONRPC != "2.0" || !validID(m.ID):
		w.fail(nil, &Error{Code: codeInvalid, Message: "the line is not a message of JSON-RPC 2.0"})
	case m.Method != "" && twice:
		w.fail(m.ID, ambiguous)
	case m.Method != "":
		handle(m)
	case m.ID != nil && (m.Result != nil || m.Error != nil):
		w.mu.Lock()
		waits := w.waiting[string(m.ID)]
		delete(w.waiting, string(m.ID))
		w.mu.Unlock()
		if twice {
			m.Error = ambiguous
		}
		if waits != nil {
			waits <- m // It has room.
		}
	default:
		w.fail(m.ID, &Error{Code: codeInvalid, Message: "the line has no method and no result"})
	}
}

// validID reports whether an id is a text, a number, null or missing.
func validID(id json.RawMessage) bool {
	if id == nil {
		return true
	}
	c := id[0]
	return c == '"' || c == '-' || c >= '0' && c <= '9' || c == 'n'
}

// leave ends all requests to the client.
func (w *wire) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		close(w.gone)
	}
}

// send writes one line. One over the limit is not written: the error says so.
func (w *wire) send(m message) error {
	m.JSONRPC = "2.0"
	line, err := provider.Marshal(m)
	if err != nil {
		return err
	}
	if len(line) >= maxOut {
		return fmt.Errorf("a line of %d bytes is over the limit", len(line))
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	if _, err := w.out.Write(append(line, '\n')); err != nil {
		w.leave()
		return errGone
	}
	return nil
}

// answer answers a request. A result that cannot be sent becomes an error.
func (w *wire) answer(id json.RawMessage, result any, err error) {
	if id == nil {
		return // a notification
	}
	if err == nil {
		var data []byte
		if data, err = provider.Marshal(result); err == nil {
			err = w.send(message{ID: id, Result: data})
		}
	}
	if err != nil && !errors.Is(err, errGone) {
		w.fail(id, asError(err))
	}
}

func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: codeInternal, Message: err.Error()}
}

// fail answers with an error; a nil id stands for a line whose id is not known.
func (w *wire) fail(id json.RawMessage, e *Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	if err := w.send(message{ID: id, Error: e}); err != nil && !errors.Is(err, errGone) {
		w.log(err.Error())
	}
}

// notify sends a notification. One that cannot be sent is dropped, and logged.
func (w *wire) notify(method string, params any) {
	data, err := provider.Marshal(params)
	if err == nil {
		err = w.send(message{Method: method, Params: data})
	}
	if err != nil && !errors.Is(err, errGone) {
		w.log(method + ": " + err.Error())
	}
}

// call asks the client and waits. The error is an *Error of the client's, ctx's cause, or errGone.
func (w *wire) call(ctx context.Context, method string, params, result any) error {
	data, err := provider.Marshal(params)
	if err != nil {
		return err
	}
	answered := make(chan message, 1)
	w.mu.Lock()
	w.last++
	id := strconv.FormatInt(w.last, 10)
	w.waiting[id] = answered
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.waiting, id)
		w.mu.Unlock()
	}()
	if err := w.send(message{ID: json.RawMessage(id), Method: method, Params: data}); err != nil {
		return err
	}
	select {
	case m := <-answered:
		if m.Error != nil {
			return m.Error
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		w.notify("$/cancel_request", cancelRequest{RequestID: json.RawMessage(id)})
		return context.Cause(ctx)
	case <-w.gone:
		return errGone
	}
}
