package providertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"artoo/provider"
)

// TestFramingOfEveryKindIsRead: comments, blank lines, carriage returns, an event without data, runes that two reads
// share, and a type in capitals whose parameter is broken.
func TestFramingOfEveryKindIsRead(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		reply := w.Build(Text("漢字 ", "😀"), Call("c1", "read", `{"path":"é"}`))
		body := strings.ReplaceAll(string(reply.Body), "\n", "\r\n")
		switch {
		case reply.ContentType == frames: // their bytes leave no choice
			body = string(reply.Body)
		case lined(w):
			body, reply.ContentType = "\r\n \r\n"+body+"\r\n", "Application/X-NDJSON; charset"
		default:
			reply.ContentType = "Text/Event-Stream ; charset"
			body = ": OPENROUTER PROCESSING\r\n\r\n:\r\n\r\nevent: ping\r\n\r\n" +
				strings.ReplaceAll(body, "\r\n\r\n", "\r\n\r\n: keep-alive\r\n\r\n")
		}
		reply.Body = []byte(body)
		for _, chunk := range []int{0, 1} {
			b := newBench(t, w, Config{}, reply.InChunks(chunk))
			if _, done := b.done(t, question()); done.Message.Text() != "漢字 😀" ||
				string(done.Message.Calls()[0].Input) != `{"path":"é"}` {
				t.Errorf("in pieces of %d: %+v", chunk, done.Message)
			}
		}
	})
}

// TestBlanksBeforeADocument: a whole document may come after blank lines.
func TestBlanksBeforeADocument(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		b := newBench(t, w, Config{}, JSON(503, "\n\n \n"+errorBody("overloaded_error", "busy")))
		if e := b.fails(t, question(), provider.KindOverloaded); e.Message != "busy" {
			t.Errorf("message %q", e.Message)
		}
	})
}

// paced hands out a body piece by piece, with a silence before each; that before
// the first is another.
type paced struct {
	pieces         []string
	first, silence time.Duration
	ctx            <-chan struct{}
}

func (p *paced) Read(buf []byte) (int, error) {
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(p.first):
	case <-p.ctx:
		return 0, errors.New("the request is over")
	}
	p.first = p.silence
	n := copy(buf, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; p.pieces[0] == "" {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}

func (p *paced) Close() error { return nil }

// slow answers with the body at its pace.
type slow struct {
	reply          Reply
	first, silence time.Duration
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	var pieces []string
	events := s.reply.split()
	if s.reply.ContentType != frames {
		events = strings.SplitAfter(string(s.reply.Body), s.reply.end())
	}
	for _, event := range events {
		switch s.reply.ContentType {
		case frames:
			pieces = append(pieces, event[:7], event[7:])
		case lines:
			pieces = append(pieces, event, "\n")
		default:
			pieces = append(pieces, event, ": still here\n\n")
		}
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {s.reply.ContentType}},
		Body: &paced{pieces: pieces, first: s.first, silence: s.silence, ctx: r.Context().Done()}, Request: r}, nil
}

// TestSilenceAndNothingElse ends a request: every byte starts the wait
// again, also comments. A local server may be silent for as long as it likes.
func TestSilenceAndNothingElse(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		for _, tc := range []struct {
			first, silence time.Duration
			local          bool
			ends           time.Duration // 0 for a reply that is read to its end
		}{
			{9 * time.Minute, 4 * time.Minute, false, 0},
			{11 * time.Minute, time.Minute, false, 10 * time.Minute},
			{time.Minute, 6 * time.Minute, false, 6 * time.Minute},
			{time.Hour, time.Hour, true, 0},
		} {
			synctest.Test(t, func(t *testing.T) {
				client := &http.Client{Transport: slow{w.Build(Text("Hello", " world")), tc.first, tc.silence}}
				p := w.New(Config{Name: "bench", URL: "http://bench.test", HTTP: client, Local: tc.local})
				began := time.Now()
				r := Collect(p.Stream(t.Context(), question()))
				e := provider.AsError(r.Err)
				took := time.Since(began)
				if tc.ends > 0 && (e == nil || e.Kind != provider.KindTimeout || took != tc.ends) ||
					tc.ends == 0 && (r.Err != nil || r.Text != "Hello world") {
					t.Errorf("silences of %s and %s, local %v: %v after %s", tc.first, tc.silence, tc.local, r.Err, took)
				}
			})
		}
	})
}

// TestResetsOverHTTP2, and a server that goes away, are faults that may pass.
func TestResetsOverHTTP2(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		whole := w.Build(Text("Hello", " world"))
		for name, reply := range map[string]Reply{"at once": Dropped(), "in the reply": whole.Events(2).Ends(Reset)} {
			s := ServeTLS(t, Script(reply, whole))
			p := s.connect(w, Config{})
			e := provider.AsError(Collect(p.Stream(t.Context(), question())).Err)
			if e == nil || e.Kind != provider.KindNetwork || !e.Temporary() {
				t.Errorf("%s: %v, want a temporary fault of the network", name, e)
			}
			if r := Collect(p.Stream(t.Context(), question())); r.Err != nil || r.Text != "Hello world" {
				t.Errorf("%s: the next request: %v", name, r.Err)
			}
		}
		e := provider.AsError(Collect(goAway(t, whole.Events(2)).connect(w, Config{}).Stream(t.Context(), question())).Err)
		if e == nil || e.Kind != provider.KindNetwork || !e.Temporary() || !strings.Contains(e.Message, "GOAWAY") {
			t.Errorf("the server goes away: %v", e)
		}
	})
}

// TestAStaleConnection: a kept connection that broke is not used again.
func TestAStaleConnection(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		ok := w.Build(Text("ok"))
		b := newBench(t, w, Config{}, ok, Dropped(), ok)
		b.done(t, question())
		if e := b.fails(t, question(), provider.KindNetwork); !e.Temporary() {
			t.Error("final, want temporary")
		}
		b.done(t, question())
		if n := b.Connections(); n < 2 {
			t.Errorf("%d connections: the broken one was used again", n)
		}
	})
}

// TestAStreamThatJustEnds is no reply, wherever it ends, and can be
// asked for again.
func TestAStreamThatJustEnds(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		whole := w.Build(Text("Hello", " world"), Stop(aMax(w)))
		for n := range last(w, whole) + 1 {
			b := newBench(t, w, Config{}, whole.Events(n))
			if e := b.fails(t, question(), provider.KindNetwork); !e.Temporary() || !errors.Is(e, io.ErrUnexpectedEOF) {
				t.Errorf("after %d events: %v, want a temporary end", n, e)
			}
		}
		begun := whole.Events(last(w, whole)).Body
		for n := 1; n < len(begun); n += 1 + len(begun)/50 { // inside of an event too
			b := newBench(t, w, Config{}, Reply{ContentType: whole.ContentType, Body: begun[:n]})
			if e := b.fails(t, question(), provider.KindNetwork); !e.Temporary() || !errors.Is(e, io.ErrUnexpectedEOF) {
				t.Errorf("after %q: %v, want a temporary end", begun[:n], e)
			}
		}
	})
}

// TestAnErrorInTheStream: its own words decide, not the status of 200.
func TestAnErrorInTheStream(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		whole := w.Build(Text("Hello", " world"))
		for _, at := range []int{0, last(w, w.Build(Text("Hello", " world"), Stop(aMax(w))))} {
			e := newBench(t, w, Config{}, whole.Break(at, "overloaded_error", "busy")).fails(t, question(),
				provider.KindOverloaded)
			if !e.Temporary() || e.Message != "busy" {
				t.Errorf("after %d events: %+v", at, e)
			}
		}
	})
}

// TestAnErrorOfNullIsNone in any event.
func TestAnErrorOfNullIsNone(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		reply := w.Build(Text("Hello"))
		head := "data: {"
		if lined(w) {
			head = "{"
		}
		body := strings.ReplaceAll("\n"+string(reply.Body), "\n"+head, "\n"+head+`"error":null,`)
		reply.Body = []byte(body[1:])
		if r, _ := newBench(t, w, Config{}, reply).done(t, question()); r.Text != "Hello" {
			t.Errorf("%q", r.Text)
		}
	})
}

// TestWhatAProxySays: a page is no reply; the error has its first words and a remedy. One made for a request that is
// too large counts as that.
func TestWhatAProxySays(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		for status, kind := range map[int]provider.ErrorKind{200: provider.KindProvider, 403: provider.KindProvider,
			502: provider.KindProvider, 413: provider.KindContext} {
			e := newBench(t, w, Config{}, Page(status, "Blocked by Squid")).fails(t, question(), kind)
			if !strings.Contains(e.Message, "Blocked by Squid") || kind == provider.KindProvider &&
				!strings.Contains(e.Hint, "HTTPS_PROXY") {
				t.Errorf("%d: %v, hint %q", status, e, e.Hint)
			}
		}
		packed := w.Build(Text("ok")).With("Content-Encoding", "br")
		if e := newBench(t, w, Config{}, packed).fails(t, question(),
			provider.KindProvider); !strings.Contains(e.Message, "compressed as br") ||
			!strings.Contains(e.Hint, "HTTPS_PROXY") {
			t.Errorf("%v, hint %q", e, e.Hint)
		}
		if r, _ := newBench(t, w, Config{}, w.Build(Text("ok")).With("Content-Encoding", "utf-8")).done(t,
			question()); r.Text != "ok" {
			t.Errorf("not packed at all: %q", r.Text)
		}
		cut := Reply{ContentType: "application/json", Body: []byte(`<html>Truncated event message`)}
		if e := newBench(t, w, Config{}, cut).fails(t, question(), provider.KindProvider); !strings.Contains(e.Error(),
			"Truncated event message") {
			t.Errorf("%v", e)
		}
	})
}

// TestCallsAreToldApart: without ids, with one id for all, with the
// ids of an earlier reply.
func TestCallsAreToldApart(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		b := newBench(t, w, Config{},
			w.Build(Call("", "read", `{"path":"1"}`), Call("", "read", `{"path":"2"}`)),
			w.Build(Call("read", "read", `{"path":"1"}`), Call("read", "read", `{"path":"2"}`)),
			w.Build(Call("read", "read", `{"path":"1"}`), Call("call_1", "read", `{"path":"2"}`)), w.Build(Text("ok")))
		req, ids := question(), map[string]bool{}
		for range 3 {
			_, done := b.done(t, req)
			calls := done.Message.Calls()
			if len(calls) != 2 || string(calls[0].Input) != `{"path":"1"}` || string(calls[1].Input) != `{"path":"2"}` {
				t.Fatalf("%+v", calls)
			}
			req.Messages = append(req.Messages, done.Message)
			for _, c := range calls {
				if c.ID == "" || ids[c.ID] {
					t.Errorf("the id %q is empty or there twice", c.ID)
				}
				ids[c.ID] = true
				req.Messages = append(req.Messages, result(c, "x"))
			}
		}
		b.done(t, req)
	})
}

// TestArgumentsArriveInAnyForm: nothing is an empty object, an object in a string is one, an invalid one is reported to
// the model and does not break the history; calls are run whatever the word for the end is.
func TestArgumentsArriveInAnyForm(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		for args, want := range map[string]string{``: `{}`, `null`: `{}`, `""`: `{}`, `{"path":"a"}`: `{"path":"a"}`,
			`"{\"path\":\"a\"}"`: `{"path":"a"}`, `{"path":`: "", `[1]`: "", `"x"`: ""} {
			b := newBench(t, w, Config{}, w.Build(Call("c1", "read", args)), w.Build(Text("ok")))
			req := question()
			_, done := b.done(t, req)
			calls := done.Message.Calls()
			if len(calls) != 1 || done.Stop != provider.StopToolUse {
				t.Fatalf("%s: %+v", args, done)
			}
			if broken := calls[0].Raw != ""; broken != (want == "") || !broken && string(calls[0].Input) != want ||
				broken && string(calls[0].Input) != "{}" {
				t.Errorf("%s: input %s, raw %q, want %s", args, calls[0].Input, calls[0].Raw, want)
			}
			req.Messages = append(req.Messages, done.Message, result(calls[0], "the input is not a JSON object"))
			b.done(t, req) // the validator sees that it goes back as an object
		}
	})
}

// TestACallThatWasCut: a cut call differs from one that is to be run, though its
// arguments may be whole by chance.
func TestACallThatWasCut(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		for _, args := range []string{`{"path":"/"}`, `{"path":"/`} {
			_, done := newBench(t, w, Config{}, w.Build(Call("c1", "read", args), Stop(aMax(w)))).done(t, question())
			if done.Stop != provider.StopMaxTokens {
				t.Errorf("%s: stop %s", args, done.Stop)
			}
		}
	})
}

// TestARefusalIsTold is an end of its own; so that its calls never run, it is
// none that calls for tools.
func TestARefusalIsTold(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		for word, stop := range w.Stops {
			if stop != provider.StopRefusal {
				continue
			}
			for _, items := range [][]Item{{Text("I")}, {Text("I"), Call("c1", "read", `{}`)}} {
				if _, done := newBench(t, w, Config{}, w.Build(append(items, Stop(word))...)).done(t,
					question()); done.Stop != provider.StopRefusal {
					t.Errorf("%s with %d items: stop %s", word, len(items), done.Stop)
				}
			}
		}
	})
}

// TestImagesThatAreRefused separates refused images from other faults, on every wire; a refusal that names no image is
// no such one.
func TestImagesThatAreRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		for message, images := range map[string]bool{
			"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes":                                              true,
			"messages.4.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels": true,
			"Could not process image":                                                             true,
			"At most 1 image(s) may be provided in one request.":                                  true,
			"Too many images in the request: 51 > 50":                                             true,
			"Unable to process input image. Please retry or report in https://developers.example": true,
			"messages: at least one message is required":                                          false,
		} {
			e := newBench(t, w, Config{}, Fail(400, "invalid_request_error", message)).fails(t, question(),
				provider.KindInvalid)
			if e.Images != images || e.Temporary() {
				t.Errorf("%s: %+v", message, e)
			}
		}
	})
}

// TestWhatDoesNotPass: a used-up quota and an overflow are
// final, whatever the status: 429, 500, or 200 with the reply begun.
func TestWhatDoesNotPass(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		whole := w.Build(Text("Hello", " world"))
		at := last(w, w.Build(Text("Hello", " world"), Stop(aMax(w))))
		const full = "the request exceeds the available context size"
		for name, tc := range map[string]struct {
			reply Reply
			kind  provider.ErrorKind
		}{
			"quota": {Fail(429, "insufficient_quota", "You exceeded your current quota."),
				provider.KindBilling},
			"quota in the stream": {whole.Break(at, "insufficient_quota", "You exceeded your current quota."),
				provider.KindBilling},
			"no credit": {JSON(402, `{"error":{"code":402,"message":"Insufficient credits"}}`),
				provider.KindBilling},
			"overflow in the stream": {whole.Break(at, "server_error", full), provider.KindContext},
			"overflow at once":       {whole.Break(0, "server_error", full), provider.KindContext},
			"overflow as a document": {Fail(200, "server_error", full), provider.KindContext},
			"llama.cpp": {JSON(400,
				`{"error":{"code":400,"message":"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4390,"n_ctx":4096}}`),
				provider.KindContext},
			"llama.cpp in mid reply": {JSON(500,
				`{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`),
				provider.KindContext},
		} {
			if e := newBench(t, w, Config{}, tc.reply).fails(t, question(), tc.kind); e.Temporary() {
				t.Errorf("%s: %v is tried again", name, e)
			}
		}
		passing := Fail(429, "rate_limit_error", "slow down").With("Retry-After", "3")
		if e := newBench(t, w, Config{}, passing).fails(t, question(), provider.KindRateLimit); !e.Temporary() ||
			e.RetryAfter != 3*time.Second {
			t.Errorf("a limit that passes: %+v", e)
		}
	})
}

// TestUsageIsCountedAsTheServerCountsIt: cached tokens are counted once, and no count is made up if none is reported.
func TestUsageIsCountedAsTheServerCountsIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		sent := provider.Usage{Input: 100, CacheRead: 2000, CacheWrite: 30, Output: 40, Reasoning: 7}
		b := newBench(t, w, Config{}, w.Build(Text("ok"), Usage(sent)), w.Build(Text("ok"), NoUsage()))
		if _, done := b.done(t, question()); done.Usage.Prompt() != sent.Prompt() || done.Usage.Output != sent.Output {
			t.Errorf("prompt %d, output %d of %+v", done.Usage.Prompt(), done.Usage.Output, done.Usage)
		}
		if _, done := b.done(t, question()); done.Usage != (provider.Usage{}) {
			t.Errorf("usage %+v, of which nothing was told", done.Usage)
		}
	})
}

// TestCallIDsOfElsewhere fit, whatever they were, and results find them.
func TestCallIDsOfElsewhere(t *testing.T) {
	t.Parallel()
	for _, s := range wires() {
		w := s.Wire
		w.Validate = s.takes
		b := newBench(t, w, Config{}, w.Build(Text("ok")))
		foreign := provider.Message{Role: provider.RoleAssistant, Provider: "elsewhere", Model: "m"}
		messages := []provider.Message{provider.UserText("hi"), foreign}
		for i, id := range []string{"call_1|fc_" + strings.Repeat("é", 250), "functions.read:0", "functions_read_0", ""} {
			c := provider.ToolCall{ID: id, Name: "mcp.db.read", Input: []byte(`{}`)}
			messages[1].Parts = append(messages[1].Parts, c)
			messages = append(messages, result(c, fmt.Sprint("result ", i)))
		}
		req := question(provider.Repair(messages)...)
		req.Model = s.model
		b.done(t, req)
		requests := b.Requests()
		body := requests[len(requests)-1].Body
		at := 0
		for i := range 4 {
			n := bytes.Index(body[at:], []byte(fmt.Sprint("result ", i)))
			if n < 0 {
				t.Fatalf("result %d is missing or out of order: %s", i, body)
			}
			at += n
		}
		checkSent(t, s, messages, body)
	}
}
