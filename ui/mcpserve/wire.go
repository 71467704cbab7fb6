package mcpserve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"artoo/tool/text"
	"artoo/ui/sanitize"
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 16 << 20

// conn carries messages on two streams, one a line; it implements sdk.Transport and sdk.Connection.
// The library's own ends at the first line that is no message; this one answers it.
// The library writes no answer once Read has reported the end, so that this waits for Close.
type conn struct {
	messages chan jsonrpc.Message
	gone     chan struct{} // closed when the client has left
	leave    sync.Once
	closed   chan struct{}
	close    sync.Once

	writing sync.Mutex // One line is written at a time.
	out     io.Writer

	mu       sync.Mutex // guards open
	open     int        // requests that are not answered
	answered *sync.Cond // open has changed
}

// newConn begins to read in, on a goroutine of its own that ends with in.
func newConn(in io.Reader, out io.Writer) *conn {
	c := &conn{messages: make(chan jsonrpc.Message), gone: make(chan struct{}), closed: make(chan struct{}), out: out}
	c.answered = sync.NewCond(&c.mu)
	go c.read(bufio.NewReaderSize(in, 64<<10))
	return c
}

func (c *conn) read(in *bufio.Reader) {
	defer c.end()
	for {
		line, long, err := text.ReadLine(in, maxLine)
		line = bytes.TrimSpace(line)
		var message jsonrpc.Message
		var wrong error
		switch {
		case long:
			c.refuse(jsonrpc.CodeInvalidRequest, "the line is longer than "+text.Bytes(maxLine))
		case len(line) == 0:
		case !json.Valid(line):
			c.refuse(jsonrpc.CodeParseError, "the line is not JSON")
		default:
			if message, wrong = jsonrpc.DecodeMessage(line); wrong != nil {
				c.refuse(jsonrpc.CodeInvalidRequest, "the line is not a message of JSON-RPC 2.0")
			}
		}
		if message != nil && wrong == nil {
			if r, ok := message.(*jsonrpc.Request); ok && r.IsCall() {
				c.count(1)
			}
			select {
			case c.messages <- message:
			case <-c.closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// refuse answers a line whose sender is not known.
func (c *conn) refuse(code int64, why string) {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": why}})
	if err == nil {
		err = c.line(line)
	}
	if err != nil {
		c.end()
	}
}

// count counts requests that are not answered.
func (c *conn) count(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += more
	c.answered.Broadcast()
}

// drain waits until all requests are answered, or none can be.
func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open > 0 {
		c.answered.Wait()
	}
}

// end takes note that the client has left.
func (c *conn) end() { c.leave.Do(func() { close(c.gone) }) }

// line writes one line. Characters that a terminal obeys or hides become escapes.
func (c *conn) line(message []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := io.WriteString(c.out, sanitize.JSON(string(message))+"\n")
	return err
}

// Connect implements sdk.Transport.
func (c *conn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// Read implements sdk.Connection.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case message := <-c.messages:
		return message, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements sdk.Connection.
func (c *conn) Write(_ context.Context, message jsonrpc.Message) error {
	if _, ok := message.(*jsonrpc.Response); ok {
		defer c.count(-1)
	}
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	if err = c.line(line); err != nil {
		c.end()
	}
	return err
}

// Close implements sdk.Connection.
func (c *conn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return nil
}

// SessionID implements sdk.Connection.
func (c *conn) SessionID() string { return "" }
