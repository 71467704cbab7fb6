package providertest

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"artoo/provider"
)

// Config describes the provider under test.
type Config struct {
	Name           string
	URL            string // the loopback server, without a path
	HTTP           *http.Client
	Key            func(context.Context) (string, error)
	Idle           time.Duration
	RequestTimeout time.Duration
	Local          bool
}

// Wire is one wire under test.
type Wire struct {
	New      func(Config) provider.Provider
	Build    Builder                 // writes replies in the wire's form
	Validate func(body []byte) error // a request body
	// Unmark takes the cache marks out of a request body.
	Unmark func(body []byte) []byte
	// Stops are the wire's words for the end of a reply without calls.
	Stops map[string]provider.StopReason
	// Tells lists the counts of a usage that the wire has; nil means all of them.
	Tells func(provider.Usage) provider.Usage
	// EchoesReasoning says that reasoning goes back to the model that made it.
	EchoesReasoning bool
	// Blind says that the wire sends no images.
	Blind bool
	// Keeps says that the wire keeps payloads of its own with a model's text;
	// all else must come back as it was said, and nothing more.
	Keeps bool
}

// Run runs the conformance suite, which holds for every wire, whatever its bytes look like.
func Run(t *testing.T, w Wire) {
	groups := map[string]func(*testing.T, Wire){
		"text": testText, "calls": testCalls, "reasoning": testReasoning, "usage": testUsage,
		"stops": testStops, "statuses": testStatuses, "broken": testBroken, "in-stream": testInStream,
		"cancel": testCancel, "timeouts": testTimeouts, "framing": testFraming, "prefix": testPrefix,
		"history": testHistory, "concurrent": testConcurrent, "http2": testHTTP2, "leaks": testLeaks, "long": testLong,
	}
	for name, run := range groups {
		t.Run(name, func(t *testing.T) {
			ignore := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
			run(t, w)
		})
	}
}

type bench struct {
	*Server
	wire     Wire
	provider provider.Provider
}

func newBench(t *testing.T, w Wire, cfg Config, replies ...Reply) *bench {
	t.Helper()
	return NewServer(t, replies...).bench(w, cfg)
}

func (s *Server) bench(w Wire, cfg Config) *bench {
	return &bench{Server: s, wire: w, provider: s.connect(w, cfg)}
}

func (s *Server) connect(w Wire, cfg Config) provider.Provider {
	cfg.Name = cmp.Or(cfg.Name, "bench")
	if cfg.Key == nil {
		cfg.Key = func(context.Context) (string, error) { return "key-0123456789", nil }
	}
	cfg.URL, cfg.HTTP = s.URL, s.HTTP
	return w.New(cfg)
}

// ask sends one request and checks everything that holds for all of them.
func (b *bench) ask(t *testing.T, req provider.Request) Result {
	t.Helper()
	r := Collect(b.provider.Stream(t.Context(), req))
	b.check(t, r)
	return r
}

func (b *bench) check(t *testing.T, r Result) {
	t.Helper()
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if r.Done != nil && r.Done.Message.Text() != r.Text {
		t.Errorf("the message's text is not that of the deltas:\n%q\n%q", r.Done.Message.Text(), r.Text)
	}
	for i, seen := range b.Requests() {
		if err := b.wire.Validate(seen.Body); err != nil {
			t.Errorf("request %d: %v\n%.2000s", i, err, seen.Body)
		}
	}
}

func (b *bench) done(t *testing.T, req provider.Request) (Result, provider.Done) {
	t.Helper()
	r := b.ask(t, req)
	if r.Err != nil {
		t.Fatalf("failed: %v", r.Err)
	}
	return r, *r.Done
}

func (b *bench) fails(t *testing.T, req provider.Request, kind provider.ErrorKind) *provider.Error {
	t.Helper()
	r := b.ask(t, req)
	e := provider.AsError(r.Err)
	if e == nil {
		t.Fatalf("got %+v, want an error of kind %s", r.Done, kind)
	}
	if e.Kind != kind {
		t.Errorf("kind %s, want %s (%v)", e.Kind, kind, e)
	}
	if e.Provider != "bench" {
		t.Errorf("the error names the provider %q", e.Provider)
	}
	return e
}

func question(messages ...provider.Message) provider.Request {
	if len(messages) == 0 {
		messages = []provider.Message{provider.UserText("what is <in> the file & why?")}
	}
	return provider.Request{
		Options: provider.Options{Model: "test-model", MaxTokens: 4096},
		System:  "You are a test. 1 < 2 && 3 > 2.",
		Tools: []provider.ToolSpec{
			{Name: "read", Description: "Reads a file.",
				Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
			{Name: "mcp__db__list", Description: "Lists.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		},
		Messages:  messages,
		SessionID: "session-1",
	}
}

func result(call provider.ToolCall, text string) provider.Message {
	return provider.Message{Role: provider.RoleTool, Parts: []provider.Part{
		provider.ToolResult{CallID: call.ID, Name: call.Name, Text: text}}}
}
