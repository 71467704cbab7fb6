package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"
)

// maxFrame bounds one message of a server, in bytes: more than the symbols of any file.
const maxFrame = 32 << 20

// errGone is the error of a server that has ended or does not keep to the protocol.
var errGone = errors.New("the language server has ended")

// frame is a message of JSON-RPC 2.0; a notification has no id, a response no method.
type frame struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// conn speaks JSON-RPC with a server, framed as the Language Server Protocol has it.
type conn struct {
	notified func(method string, params json.RawMessage)             // called one after another
	asked    func(method string, params json.RawMessage) (any, bool) // answers the server's requests; false for no such method
	writes   chan []byte                                             // frames on their way: a server that does not read blocks no caller
	life     context.Context                                         // done when nothing more will come; its cause says why
	end      context.CancelCauseFunc

	mu      sync.Mutex
	last    int64
	waiting map[int64]chan frame
}

// maxWrites is how many frames wait for a server that does not read.
const maxWrites = 256

func newConn(w io.Writer, r io.Reader, notified func(string, json.RawMessage), asked func(string, json.RawMessage) (any, bool)) *conn {
	c := &conn{notified: notified, asked: asked, writes: make(chan []byte, maxWrites), waiting: map[int64]chan frame{}}
	c.life, c.end = context.WithCancelCause(context.Background())
	go c.run(func() error { return c.read(&io.LimitedReader{R: r}) })
	go c.run(func() error { return c.write(w) })
	return c
}

// run does one direction until it ends. A panic ends the connection with an error.
func (c *conn) run(direction func() error) {
	var err error
	if crash := panics.Try(func() { err = direction() }); crash != nil {
		err = fmt.Errorf("artoo's part crashed: %v", crash.Value)
	}
	c.end(fmt.Errorf("%w: %w", errGone, err))
}

func (c *conn) write(w io.Writer) error {
	for {
		select {
		case f := <-c.writes:
			if _, err := w.Write(f); err != nil {
				return err
			}
		case <-c.life.Done():
			return errGone
		}
	}
}

// read reads messages, none of which may be longer than maxFrame.
func (c *conn) read(bounded *io.LimitedReader) error {
	r := textproto.NewReader(bufio.NewReader(bounded))
	for {
		bounded.N = maxFrame
		head, err := r.ReadMIMEHeader()
		if err != nil {
			return err
		}
		length, err := strconv.ParseUint(head.Get("Content-Length"), 10, 32)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(io.LimitReader(r.R, int64(length)))
		if err != nil {
			return err
		}
		var f frame
		if err := json.Unmarshal(body, &f); err != nil {
			return err
		}
		switch {
		case f.Method == "":
			c.answered(f)
		case f.ID == nil:
			c.notified(f.Method, f.Params)
		default:
			c.reply(f)
		}
	}
}

// answered hands a response to the call that waits for it.
func (c *conn) answered(f frame) {
	var id int64
	if json.Unmarshal(f.ID, &id) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if reply := c.waiting[id]; reply != nil {
		delete(c.waiting, id)
		reply <- f
	}
}

func (c *conn) reply(f frame) {
	if result, ok := c.asked(f.Method, f.Params); ok {
		c.send(frame{ID: f.ID, Result: raw(result)})
	} else {
		c.send(frame{ID: f.ID, Error: &rpcError{Code: -32601, Message: "no such method"}})
	}
}

// raw is the JSON of a value of artoo's own, which can always be written.
func raw(v any) json.RawMessage {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return body
}

// send puts a message on its way. A server that does not read its input is given up.
func (c *conn) send(f frame) {
	f.Version = "2.0"
	body := raw(f)
	select {
	case c.writes <- fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(body), body):
	default:
		c.end(fmt.Errorf("%w: it does not read its input", errGone))
	}
}

// notify sends the server a notification.
func (c *conn) notify(method string, params any) {
	c.send(frame{Method: method, Params: raw(params)})
}

const (
	// contentModified is the code of an answer that is to be asked for again: the files have changed.
	contentModified = -32801
	// maxAsked is how often a question is asked, askAgain the time between.
	maxAsked = 10
	askAgain = 100 * time.Millisecond
)

// call asks the server and waits for the answer, which goes to result.
func (c *conn) call(ctx context.Context, method string, params, result any) (err error) {
	for range maxAsked {
		err = c.ask(ctx, method, params, result)
		if answer, ok := errors.AsType[*rpcError](err); !ok || answer.Code != contentModified {
			return err
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return err
}

// ask is one try of call.
func (c *conn) ask(ctx context.Context, method string, params, result any) error {
	reply := make(chan frame, 1)
	c.mu.Lock()
	c.last++
	number := c.last
	c.waiting[number] = reply
	c.mu.Unlock()
	c.send(frame{ID: raw(number), Method: method, Params: raw(params)})
	select {
	case f := <-reply:
		if f.Error != nil {
			return f.Error
		}
		return json.Unmarshal(f.Result, result)
	case <-c.life.Done():
		return context.Cause(c.life)
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, number)
		c.mu.Unlock()
		c.notify("$/cancelRequest", map[string]any{"id": number})
		return context.Cause(ctx)
	}
}
