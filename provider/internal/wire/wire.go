// Package wire holds the parts that all HTTP wires share: one POST with a JSON body, one reader of
// server-sent events, one table that sorts failures. A wire brings the body and a Decoder for the events;
// everything about connections, timeouts and status codes is decided here and only here.
package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"artoo/provider"
)

// Endpoint is the server a wire talks to, and how it frames its replies.
type Endpoint struct {
	provider.Server
	// Lines says that a reply is JSON objects, one a line, instead of server-sent events.
	Lines bool
	// Frames says that a reply is an event stream of AWS.
	Frames bool
}

// Request is one POST, or a GET where it has no body.
type Request struct {
	URL    string
	Header http.Header
	Secret string // the key in use, so that it can be hidden in error texts; may be empty
	Model  string // used in hints
	Body   []byte // JSON; nil for a GET
}

// Progress says how far a reply has come.
type Progress int

const (
	More     Progress = iota // the terminal event is still to come
	Complete                 // the reply is complete, but a last event (usage) may follow
	End                      // nothing of interest follows
)

// Decoder turns the wire's events into the provider's, in one goroutine for one reply. Its
// errors are *provider.Error without Provider, Local, RequestID and Usage, or ErrCut.
type Decoder interface {
	// Feed takes the data of one event.
	Feed(data string) (Progress, error)
	// Over takes [DONE], which gateways write on every wire; nothing follows it.
	Over()
	// Whole takes a reply that came as one document, since the server ignored stream:true.
	Whole(data []byte) error
	// Events are those of the last Feed or Whole, valid until the next one.
	Events() []provider.Event
	// Held is about how much of the reply is kept by now, in bytes.
	Held() int
	// Done builds the reply when no more events come. With an error it holds the known Usage.
	Done() (provider.Done, error)
}

// Decode is json.Unmarshal that ignores values of another type, and NaN and infinities as
// Python writes them: these must not cost the reply.
func Decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = json.Unmarshal(withoutNaN(data), v)
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// Count is a server's number of tokens, bounded so that sums neither shrink nor overflow.
func Count(n int) int { return min(max(n, 0), 1<<40) }

// maxHeld bounds the kept part of a reply, maxReply the data read of one, in bytes.
const (
	maxHeld  = 16 << 20
	maxReply = 256 << 20
)

// ErrReplyTooLarge says that a reply was larger than any can be.
var ErrReplyTooLarge = fmt.Errorf("the reply is too large: more than %d MiB of text, or %d MiB of data",
	maxHeld>>20, maxReply>>20)

// ErrCut says that the stream ended before its terminal event.
var ErrCut = errors.New("the stream ended before the reply was complete")

// Missing is an ErrCut of a stream that ended without an error: it is the mark that was to come.
type Missing string

// Error names the mark.
func (m Missing) Error() string { return ErrCut.Error() + ": no " + string(m) + " came" }

// Is makes it an ErrCut.
func (m Missing) Is(target error) bool { return target == ErrCut }

// How long a complete reply may deliver a usage event, and its connection end by itself.
const (
	completeGrace = 5 * time.Second
	drainGrace    = 250 * time.Millisecond
)

// Stream sends one request and yields the reply's events. prepare runs within its time limits.
func Stream(ctx context.Context, e Endpoint,
	prepare func(context.Context) (Request, error), dec Decoder) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		c := newCall(ctx, e)
		defer c.close()
		c.run(prepare, dec, yield)
	}
}

func (c *call) run(prepare func(context.Context) (Request, error), dec Decoder, yield func(provider.Event, error) bool) {
	fail := func(err error) {
		done, _ := dec.Done()
		yield(nil, c.fail(err, done.Usage))
	}
	req, err := prepare(c.ctx)
	if err != nil {
		fail(err)
		return
	}
	err = c.post(req)
	if q := c.quota(provider.AsError(err)); q != nil && !yield(*q, nil) {
		return
	}
	if err != nil {
		fail(err)
		return
	}
	var ok bool
	if c.whole {
		ok, err = c.runWhole(dec, yield)
	} else {
		ok, err = c.runEvents(dec, yield)
	}
	if !ok {
		return
	}
	if err != nil {
		fail(err)
		return
	}
	done, err := dec.Done()
	if err != nil {
		fail(err)
		return
	}
	done.RequestID, done.Tries = c.requestID, 1
	done, notice := finish(done)
	c.drain()
	if notice != "" && !yield(provider.Notice{Text: notice, Warning: true}, nil) {
		return
	}
	yield(done, nil)
}

// runWhole reads a reply that is one document. ok is false when the consumer left.
func (c *call) runWhole(dec Decoder, yield func(provider.Event, error) bool) (ok bool, err error) {
	data, err := io.ReadAll(io.LimitReader(c.body, MaxEvent+1))
	if err != nil {
		return true, err
	}
	if len(data) > MaxEvent {
		return true, ErrEventTooLarge
	}
	if err := dec.Whole(data); err != nil {
		return true, err
	}
	return c.emit(dec.Events(), yield), nil
}

func (c *call) runEvents(dec Decoder, yield func(provider.Event, error) bool) (ok bool, err error) {
	progress, size, sized := More, 0, 0
	var pair halves
	events := Events
	switch {
	case c.Lines:
		events = Lines
	case c.Frames:
		events = Frames
	}
	for data, err := range events(c.body) {
		if size += len(data); size > c.most {
			err = ErrReplyTooLarge
		}
		if err != nil {
			// An error after the terminal event voids the reply only if the caller ended it.
			if progress != More && c.parent.Err() == nil {
				return true, nil
			}
			return true, err
		}
		if size > sized+maxHeld/16 {
			if sized = size; dec.Held() > maxHeld {
				return true, ErrReplyTooLarge
			}
		}
		if strings.TrimSpace(data) == "[DONE]" {
			dec.Over()
			return c.emit(dec.Events(), yield), nil
		}
		p, err := dec.Feed(pair.join(data))
		if !c.emit(dec.Events(), yield) {
			return false, nil
		}
		switch {
		case err != nil && progress != More && !json.Valid([]byte(data)):
			return true, nil
		case err != nil:
			return true, err
		}
		if p > progress {
			progress = p
			c.endWithin(completeGrace)
		}
		if progress == End {
			break
		}
	}
	return true, nil
}

// emit yields the events, with the request's id filled in where it belongs.
func (c *call) emit(events []provider.Event, yield func(provider.Event, error) bool) bool {
	for _, ev := range events {
		if s, ok := ev.(provider.Started); ok {
			if c.started {
				continue
			}
			c.started = true
			c.requestID = cmp.Or(c.requestID, s.RequestID) // some name it in the reply only
			s.RequestID = c.requestID
			ev = s
		}
		if !yield(ev, nil) {
			return false
		}
	}
	return true
}

// Blank reports whether a text says nothing: servers refuse empty parts.
func Blank(text string) bool { return strings.TrimSpace(text) == "" }

// maxDocument bounds a description or list of models, in bytes.
const maxDocument = 16 << 20

// Fetch sends one request and reads its JSON document. Its errors are *provider.Error.
func Fetch(ctx context.Context, s provider.Server, r Request) ([]byte, error) {
	c := newCall(ctx, Endpoint{Server: s})
	defer c.close()
	if err := c.post(r); err != nil {
		return nil, c.fail(err, provider.Usage{})
	}
	data, err := io.ReadAll(io.LimitReader(c.body, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = &provider.Error{Kind: provider.KindProvider, Retry: new(false),
			Message: fmt.Sprintf("the answer is larger than %d MiB", maxDocument>>20)}
	}
	if err != nil {
		return nil, c.fail(err, provider.Usage{})
	}
	return data, nil
}

// List fetches a list of models into v, within provider.ListTimeout.
func List(ctx context.Context, s provider.Server, r Request, v any) error {
	s.RequestTimeout = provider.ListTimeout
	data, err := Fetch(ctx, s, r)
	if err == nil {
		err = DecodeList(s, data, v)
	}
	return err
}

// DecodeList is Decode for a list of models; its error is a *provider.Error.
func DecodeList(s provider.Server, data []byte, v any) error {
	if err := Decode(data, v); err != nil {
		return named(Nonsense("the list of models", err), s)
	}
	return nil
}

// Pages fetches a paged list: request asks for the page behind a token, "" for the first;
// take returns the token of the next, "" after the last.
func Pages[Page any](ctx context.Context, s provider.Server, request func(token string) (Request, error),
	take func(Page) string,
) error {
	const most = 20 // ends a list that never does
	token := ""
	for range most {
		r, err := request(token)
		if err != nil {
			return err
		}
		var page Page
		if err := List(ctx, s, r, &page); err != nil {
			return err
		}
		next := take(page)
		if next == "" || next == token {
			break
		}
		token = next
	}
	return nil
}
