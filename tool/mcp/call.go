package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRounds is how often a server may answer a call by a request of its own.
const maxRounds = 10

func (s *server) silence() time.Duration { return cmp.Or(s.Timeout, 60*time.Second) }

// limit is a context that ends after so much silence, after the longest time of a call, and when artoo
// ends.
func (s *server) limit(ctx context.Context, silence time.Duration) (*limited, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &limited{Context: ctx, silence: silence, until: time.Now().Add(silence)}
	l.quiet = time.AfterFunc(silence, func() { cancel(fmt.Errorf("%w for %s", errSilent, silence)) })
	most := cmp.Or(s.TimeoutMax, 30*time.Minute)
	long := time.AfterFunc(most, func() { cancel(fmt.Errorf("%w of %s", errLong, most)) })
	stop := context.AfterFunc(s.m.closing, func() { cancel(errors.New("artoo ends")) })
	return l, func() {
		l.pause()
		long.Stop()
		stop()
		cancel(nil)
	}
}

var (
	errSilent = errors.New("the server was silent")
	errLong   = errors.New("the call took longer than its limit")
)

// limited is a context that silence ends. The time in which the user answers is none.
type limited struct {
	context.Context
	silence time.Duration
	quiet   *time.Timer

	mu     sync.Mutex    // guards paused, until and left
	paused int           // so many wait for the user
	until  time.Time     // the end of the silence that is allowed, unless paused
	left   time.Duration // the rest of that silence, while paused
}

// heard begins the silence again.
func (l *limited) heard() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left = l.silence; l.paused == 0 {
		l.run()
	}
}

// run lets the time that is left begin; mu is held.
func (l *limited) run() {
	l.until = time.Now().Add(l.left)
	l.quiet.Reset(l.left)
}

// pause stops the silence until resume is called.
func (l *limited) pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused++; l.paused == 1 {
		l.left = time.Until(l.until)
		l.quiet.Stop()
	}
}

// resume lets the silence go on where it was.
func (l *limited) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused--; l.paused == 0 {
		l.run()
	}
}

// causeOf is why a context ended where that is why a request failed.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// calls are the requests that a connection works on.
type calls struct {
	mu   sync.Mutex
	last int64
	open []*openCall
}

// openCall is a request whose result is waited for.
type openCall struct {
	token    string
	options  CallOptions
	limit    *limited
	progress chan Progress // nil where nobody takes it
	waiting  atomic.Int32  // so many requests of the server wait for the user
	asking   gate          // passed while the user answers
	task     string        // the server's ID of the task that it became; "" for none
}

// report hands on how far the call is. It does not wait: where the one before was not taken yet, it
// takes its place.
func (c *openCall) report(p Progress) {
	if c.progress == nil {
		return
	}
	for {
		select {
		case c.progress <- p:
			return
		default:
		}
		select {
		case <-c.progress:
		default:
		}
	}
}

func (c *calls) begin(o CallOptions, l *limited) (*openCall, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	call := &openCall{token: fmt.Sprint("artoo-", c.last), options: o, limit: l, asking: make(gate, 1)}
	c.open = append(c.open, call)
	var handing sync.WaitGroup
	if o.Progress != nil {
		call.progress = make(chan Progress, 1)
		handing.Go(func() {
			for p := range call.progress {
				o.Progress(p)
			}
		})
	}
	return call, func() {
		c.mu.Lock()
		c.open = slices.DeleteFunc(c.open, func(other *openCall) bool { return other == call })
		if call.progress != nil { // Only the holder of mu and the call's own goroutine report.
			close(call.progress)
		}
		c.mu.Unlock()
		handing.Wait()
	}
}

// progress passes on how far a call is.
func (c *calls) progress(p *sdk.ProgressNotificationParams) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.open {
		if call.token != p.ProgressToken {
			continue
		}
		call.limit.heard()
		message, _ := withoutHidden(p.Message)
		call.report(Progress{Done: p.Progress, Total: p.Total, Message: cut(message, 500)})
	}
}

// newest is the call that a request of an old server belongs to: it does not say which. nil for none.
func (c *calls) newest() *openCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) == 0 {
		return nil
	}
	return c.open[len(c.open)-1]
}

// sentKey is the key of the flag that a request sets when it is written.
type sentKey struct{}

// markSent notes that the request of the context may be on its way.
func markSent(ctx context.Context) {
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

// exchange sends a request, again where it cannot have run. do gets a context that silence ends.
func exchange[R any](ctx context.Context, s *server, o CallOptions, do func(ctx context.Context, l *link, call *openCall) (R, error)) (result R, err error) {
	for try := 0; ; try++ {
		var l *link
		if l, err = s.ready(ctx); err != nil {
			return result, err
		}
		limit, cancel := s.limit(ctx, s.silence())
		call, end := l.calls.begin(o, limit)
		sent := &atomic.Bool{}
		result, err = do(context.WithValue(limit, sentKey{}, sent), l, call)
		cause := causeOf(limit, err)
		broken := func(e *Error) error {
			e.Task, e.Unknown = call.task, sent.Load() && !isAnswer(err)
			return e
		}
		cancel() // first, since it ends a form at which the user is still asked
		end()
		switch {
		case err == nil:
			s.forgive()
			return result, nil
		case ctx.Err() != nil:
			return result, ctx.Err()
		case cause != err:
			return result, broken(&Error{Server: s.Name, Kind: KindTimeout, Err: cause, Hint: `timeout = "5m" in [mcp.` + s.Name + `]`})
		case try == 0 && errors.Is(err, sdk.ErrSessionMissing): // the server has refused it
			s.drop(l)
		case isOwn(err):
			return result, s.classify(err)
		case try == 0 && !sent.Load() && isLost(err, l):
			s.ended(l)
		case try == 0 && !sent.Load() && isNetwork(err): // the next one may find the way
		case try == 0 && hasCode(err, codeHeaderMismatch):
			l.stale.Store(true)
			if err := s.renew(ctx, l); err != nil {
				return result, s.classify(err)
			}
		case isLost(err, l):
			s.ended(l) // then its last words are in the log
			return result, broken(s.fail(KindProvider, "ended during the call", nil))
		default:
			return result, broken(s.classify(err))
		}
	}
}

const (
	codeHeaderMismatch = -32020
	codeNotAnswered    = -32005
)

func hasCode(err error, code int64) bool {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && e.Code == code
}

// isAnswer reports whether an error is the server's own answer to a request, and none in the same form by
// which the library says that a request over HTTP failed.
func isAnswer(err error) bool {
	e, is := errors.AsType[*jsonrpc.Error](err)
	return is && e.Code != codeNotAnswered
}

// isLost reports whether a request failed because its connection ended.
func isLost(err error, l *link) bool {
	if isAnswer(err) {
		return false
	}
	for _, end := range []error{sdk.ErrConnectionClosed, io.EOF, syscall.EPIPE, os.ErrClosed} {
		if errors.Is(err, end) && !isURL(err) {
			return true
		}
	}
	return l.lost()
}

func isNetwork(err error) bool {
	_, isNet := errors.AsType[net.Error](err)
	return isNet || isURL(err)
}

func isOwn(err error) bool {
	_, is := errors.AsType[*Error](err)
	return is
}

// isURL reports whether an error is of a request over HTTP.
func isURL(err error) bool {
	_, is := errors.AsType[*url.Error](err)
	return is
}

// rounds repeats a request until it has a result: the server may want an answer of the user first,
// or only to be asked again later.
func rounds[R any](ctx context.Context, s *server, call *openCall, do func(in sdk.InputResponseMap, state string) (R, error),
	asks func(R) (in sdk.InputRequestMap, state string, more bool)) (result R, err error) {
	var in sdk.InputResponseMap
	var state string
	pause := 250 * time.Millisecond
	for range maxRounds {
		if result, err = do(in, state); err != nil {
			return result, err
		}
		call.limit.heard()
		requests, next, more := asks(result)
		if !more {
			return result, nil
		}
		state = next
		if len(requests) == 0 {
			in = nil
			select {
			case <-ctx.Done():
				return result, ctx.Err()
			case <-time.After(pause):
			}
			pause *= 2
			continue
		}
		if in, err = s.answer(ctx, call, requests); err != nil {
			return result, err
		}
	}
	return result, fmt.Errorf("asked for more input %d times without a result", maxRounds)
}

// call is Call for one server's tool.
func (s *server) call(ctx context.Context, t Tool, args json.RawMessage, o CallOptions) (Result, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage(`{}`)
	}
	r, err := exchange(ctx, s, o, func(ctx context.Context, l *link, call *openCall) (*sdk.CallToolResult, error) {
		if l.stale.Load() || s.catalogue().Listed.IsZero() {
			if err := s.renew(ctx, l); err != nil {
				return nil, err
			}
		}
		if now, ok := s.catalogue().find(t.Full); !ok {
			return nil, &Error{Server: s.Name, Kind: KindProvider, Why: "has no tool " + oneLine(t.Name) + " any more"}
		} else if now.Definition != t.Definition {
			return nil, &Error{Server: s.Name, Kind: KindApproval, Why: "the definition of " + oneLine(t.Name) + " has changed",
				Hint: "artoo mcp accept " + s.Name}
		}
		r, err := rounds(ctx, s, call, func(in sdk.InputResponseMap, state string) (*sdk.CallToolResult, error) {
			p := &sdk.CallToolParams{Name: t.Name, Arguments: args, InputResponses: in, RequestState: state}
			p.SetProgressToken(call.token)
			return l.session.CallTool(ctx, p)
		}, func(r *sdk.CallToolResult) (sdk.InputRequestMap, string, bool) {
			return r.InputRequests, r.RequestState, r.NeedsInput()
		})
		if err != nil {
			return nil, err
		}
		return s.finishTask(ctx, l, call, r)
	})
	if err != nil {
		return Result{}, err
	}
	return result(r, t), nil
}

// result is a result of the library, checked against the tool's schema.
func result(r *sdk.CallToolResult, t Tool) Result {
	out := Result{IsError: r.IsError}
	for _, c := range r.Content {
		if part, ok := content(c); ok {
			out.Content = append(out.Content, part)
		}
	}
	if r.StructuredContent != nil {
		if raw, err := json.Marshal(r.StructuredContent); err == nil { // it was JSON
			out.Structured = raw
		}
	}
	if t.Output != nil && !r.IsError {
		if err := fits(t.Output, out.Structured); err != nil {
			out.Notices = append(out.Notices, "the result does not fit the schema that the server gave for it: "+oneLine(err.Error()))
		}
	}
	return out
}

// fits reports why a value does not fit a schema.
func fits(schema, value json.RawMessage) error {
	if value == nil {
		return errors.New("there is no structured content")
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(schema, &parsed); err != nil {
		return err
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	return resolved.Validate(v)
}

// content is a part of the library's; ok is false for one of no known kind.
func content(c sdk.Content) (Content, bool) {
	switch c := c.(type) {
	case *sdk.TextContent:
		return Content{Kind: Text, Text: c.Text}, true
	case *sdk.ImageContent:
		return Content{Kind: Image, MIME: c.MIMEType, Data: c.Data}, true
	case *sdk.AudioContent:
		return Content{Kind: Audio, MIME: c.MIMEType, Data: c.Data}, true
	case *sdk.ResourceLink:
		return Content{Kind: Link, MIME: c.MIMEType, URI: c.URI, Name: c.Name, Text: c.Description}, true
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return Content{}, false
		}
		return resource(c.Resource), true
	}
	return Content{}, false
}

func resource(r *sdk.ResourceContents) Content {
	c := Content{Kind: Text, Text: r.Text, MIME: r.MIMEType, URI: r.URI}
	if r.Blob != nil {
		c.Kind, c.Text, c.Data = Blob, "", r.Blob
	}
	return c
}

// fileURI is a path as an address.
func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
