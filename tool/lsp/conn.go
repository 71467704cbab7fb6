package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"
)

// maxFrame bounds one message of a server, in bytes: more than the symbols of any file.
const maxFrame = 32 << 20

// errGone is a server that has ended or writes what is no protocol.
var errGone = errors.New("the language server has ended")

// frame is a message of JSON-RPC 2.0 that was read; a notification has no id, a response no
// method.
type frame struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *rpcError
}

// message is one that is sent.
type message struct {
	Version string    `json:"jsonrpc"`
	ID      any       `json:"id,omitempty"`
	Method  string    `json:"method,omitempty"`
	Params  any       `json:"params,omitempty"`
	Result  any       `json:"result,omitempty"`
	Error   *rpcError `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// conn speaks JSON-RPC with a server, framed as the Language Server Protocol has it:
// header lines, an empty one, as many bytes as Content-Length says. No kept library
// speaks it over pipes of a process that somebody else started, which a confined one is.
type conn struct {
	notified func(method string, params json.RawMessage)             // called one after another
	asked    func(method string, params json.RawMessage) (any, bool) // answers what the server asks; false for no such method
	writes   chan []byte                                             // frames on their way: a server that does not read holds nobody up
	gone     chan struct{}                                           // closed when nothing more will come

	mu      sync.Mutex
	why     error
	last    int64
	waiting map[int64]chan frame
}

// maxWrites is how many frames wait for a server that does not read.
const maxWrites = 256

func newConn(w io.Writer, r io.Reader, notified func(string, json.RawMessage), asked func(string, json.RawMessage) (any, bool)) *conn {
	c := &conn{notified: notified, asked: asked, writes: make(chan []byte, maxWrites), gone: make(chan struct{}),
		waiting: map[int64]chan frame{}}
	go c.run(func() error { return c.read(bufio.NewReader(r)) })
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

// end says that nothing more will come, and why.
func (c *conn) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
		close(c.gone)
	}
}

func (c *conn) write(w io.Writer) error {
	for {
		select {
		case f := <-c.writes:
			if _, err := w.Write(f); err != nil {
				return err
			}
		case <-c.gone:
			return errGone
		}
	}
}

func (c *conn) read(r *bufio.Reader) error {
	for {
		f, err := readFrame(r)
		if err != nil {
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

// readFrame reads one message.
func readFrame(r *bufio.Reader) (f frame, err error) {
	length := -1
	for lines := 0; ; lines++ {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return f, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		if name, value, ok := strings.Cut(text, ":"); ok && strings.EqualFold(strings.TrimSpace(name), "content-length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return f, fmt.Errorf("a Content-Length of %.40q", value)
			}
		}
		if lines == 20 {
			return f, errors.New("what it writes is not the Language Server Protocol")
		}
	}
	if length < 0 || length > maxFrame {
		return f, fmt.Errorf("a message of %d bytes", length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return f, err
	}
	return f, json.Unmarshal(body, &f)
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
	result, ok := c.asked(f.Method, f.Params)
	switch {
	case !ok:
		c.send(message{ID: f.ID, Error: &rpcError{Code: -32601, Message: "no such method"}})
	case result == nil:
		c.send(message{ID: f.ID, Result: json.RawMessage("null")})
	default:
		c.send(message{ID: f.ID, Result: result})
	}
}

// send puts a message on its way. A server that does not read its input is given up.
func (c *conn) send(m message) {
	m.Version = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		c.end(err)
		return
	}
	select {
	case c.writes <- append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...):
	case <-c.gone:
	default:
		c.end(fmt.Errorf("%w: it does not read what it is sent", errGone))
	}
}

// notify tells the server something.
func (c *conn) notify(method string, params any) {
	c.send(message{Method: method, Params: params})
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
		var answer *rpcError
		if err = c.ask(ctx, method, params, result); !errors.As(err, &answer) || answer.Code != contentModified {
			return err
		}
		pause := time.NewTimer(askAgain)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
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
	c.send(message{ID: number, Method: method, Params: params})
	select {
	case f := <-reply:
		if f.Error != nil {
			return f.Error
		}
		return json.Unmarshal(f.Result, result)
	case <-c.gone:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.why
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, number)
		c.mu.Unlock()
		c.notify("$/cancelRequest", map[string]any{"id": number})
		return context.Cause(ctx)
	}
}
