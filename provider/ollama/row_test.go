package ollama_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/ollama"
	"artoo/provider/providertest"
)

// server is an Ollama server: chat answers the n-th request to /api/chat.
func server(t *testing.T, show providertest.Reply,
	chat func(n int, r providertest.Request) providertest.Reply) *providertest.Server {
	t.Helper()
	n := 0
	return providertest.Serve(t, &providertest.Handler{Next: func(_ int, r providertest.Request) providertest.Reply {
		switch r.Path {
		case "/api/show":
			return show
		case "/api/chat":
			n++
			return chat(n-1, r)
		case "/api/version":
			return providertest.JSON(200, `{"version":"0.15.0"}`)
		case "/api/tags":
			return providertest.JSON(200, `{"models":[{"name":"qwen3:8b"},{"name":"gpt-oss:20b-cloud"},{}]}`)
		}
		return providertest.JSON(404, `404 page not found`)
	}})
}

func always(r providertest.Reply) func(int, providertest.Request) providertest.Reply {
	return func(int, providertest.Request) providertest.Reply { return r }
}

func able(window int) providertest.Reply {
	return providertest.OllamaShow(window, "completion", "tools", "thinking", "vision")
}

func provide(s *providertest.Server) *ollama.Provider {
	return &ollama.Provider{Server: provider.Server{Name: "o", BaseURL: s.URL, HTTP: s.HTTP, Local: true}}
}

func request(messages ...provider.Message) provider.Request {
	return provider.Request{Options: provider.Options{Model: "m", MaxTokens: 8192}, Messages: messages, SessionID: "s",
		Tools: []provider.ToolSpec{
			{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
			{Name: "bash", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},` +
				`"timeout":{"type":"integer"}}}`)}}}
}

func send(t *testing.T, p provider.Provider, req provider.Request) providertest.Result {
	t.Helper()
	r := providertest.Collect(p.Stream(t.Context(), req))
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	return r
}

// ask plays one reply.
func ask(t *testing.T, reply providertest.Reply) providertest.Result {
	t.Helper()
	return send(t, provide(server(t, able(32768), always(reply))), request(provider.UserText("hi")))
}

// chats are the bodies of the requests to /api/chat.
func chats(t *testing.T, s *providertest.Server) (bodies [][]byte) {
	t.Helper()
	for _, r := range s.Requests() {
		if r.Path == "/api/chat" {
			if err := providertest.Validate(providertest.WireOllama, r.Body); err != nil {
				t.Errorf("%v\n%.500s", err, r.Body)
			}
			bodies = append(bodies, r.Body)
		}
	}
	return bodies
}

func notices(r providertest.Result) (texts []string) {
	for _, ev := range r.Events {
		if n, ok := ev.(provider.Notice); ok {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

func stream(rows ...string) providertest.Reply {
	return providertest.Reply{ContentType: "application/x-ndjson", Body: []byte(strings.Join(rows, "\n") + "\n")}
}

// TestALineLongerThanAScanner: arguments of some megabytes come on one line.
func TestALineLongerThanAScanner(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 9<<20)
	r := ask(t, providertest.Ollama(providertest.Call("c", "read", `{"path":"`+long+`"}`)))
	if r.Err != nil || len(r.Done.Message.Calls()[0].Input) != len(long)+len(`{"path":""}`) {
		t.Error(r.Err)
	}
}

// TestAStreamThatJustEnds, also in the middle of a line, is a fault.
func TestAStreamThatJustEnds(t *testing.T) {
	t.Parallel()
	const part = `{"model":"m","message":{"role":"assistant","content":"Hel"},"done":false}`
	for _, body := range []string{"", part + "\n", part + "\n" + part[:30], part + "\n" + `{"done":tr`} {
		r := ask(t, providertest.Reply{ContentType: "application/x-ndjson", Body: []byte(body)})
		if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindNetwork || !e.Temporary() {
			t.Errorf("%q: %+v", body, r)
		}
	}
}

// TestAPageOfAProxy: not even its status shows that it is no reply.
func TestAPageOfAProxy(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]providertest.Reply{
		"page":             providertest.Page(200, "Log in"),
		"events":           providertest.Stream("data: {}\n\n"),
		"text":             {ContentType: "text/plain", Body: []byte("Log in")},
		"a page, no type":  {Body: []byte("<html>Log in</html>")},
		"a page said JSON": {ContentType: "application/json", Body: []byte("<html>Log in</html>")},
	} {
		r := ask(t, reply)
		if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindProvider ||
			!strings.Contains(e.Hint, "ARTOO_BASE_URL") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestCallsWithoutIDs, of one name in one reply and the next, get ids that
// differ and are the same in each run.
func TestCallsWithoutIDs(t *testing.T) {
	t.Parallel()
	for range 2 {
		call := `{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read",` +
			`"arguments":{"path":"a"}}},{"id":"","function":{"name":"read","arguments":{"path":"b"}}}]},"done":false}`
		s := server(t, able(32768), always(stream(call,
			`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read"}}]},"done":false}`,
			`{"done":true,"done_reason":"stop"}`)))
		p, req := provide(s), request(provider.UserText("hi"))
		var got []string
		for range 2 {
			r := send(t, p, req)
			if r.Err != nil || r.Done.Stop != provider.StopToolUse {
				t.Fatal(r.Err)
			}
			req.Messages = append(req.Messages, r.Done.Message)
			for _, c := range r.Done.Message.Calls() {
				got = append(got, c.ID+string(c.Input))
				req.Messages = append(req.Messages, provider.Message{Role: provider.RoleTool,
					Parts: []provider.Part{provider.ToolResult{CallID: c.ID, Name: c.Name, Text: "x"}}})
			}
		}
		want := []string{`call_1{"path":"a"}`, `call_2{"path":"b"}`, `call_3{}`, `call_4{"path":"a"}`,
			`call_5{"path":"b"}`, `call_6{}`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		chats(t, s)
	}
}

// TestACallTheServerCannotRead: as a status, in the stream, and under a key of its own. The first is a slip that
// another try fixes; the second is reported to the model.
func TestACallTheServerCannotRead(t *testing.T) {
	t.Parallel()
	const raw = `error parsing tool call: raw='{\"command\":\"ls' -la}', err=invalid character`
	for name, reply := range map[string]providertest.Reply{
		"status": providertest.JSON(500, `{"error":"`+raw+`"}`),
		"in the stream": stream(`{"message":{"role":"assistant","content":"I look."},"done":false}`,
			`{"error":"`+raw+`","status":500}`),
		"another key": stream(`{"message":{"role":"assistant","content":"I look."},"done":false}`,
			`{"error parsing tool call":"raw='{\"command\":\"ls' -la}'"}`),
	} {
		t.Run(name, func(t *testing.T) {
			p := provide(server(t, able(32768), always(reply)))
			r := send(t, p, request(provider.UserText("hi")))
			if r.Err != nil || r.Done.Stop != provider.StopToolUse {
				t.Fatal(r.Err)
			}
			calls := r.Done.Message.Calls()
			if len(calls) != 1 || calls[0].Name != "bash" || string(calls[0].Input) != "{}" ||
				!strings.Contains(calls[0].Raw, `command`) || calls[0].ID == "" {
				t.Errorf("%+v", calls)
			}
			if r.Done.Message.Text() != r.Text {
				t.Errorf("text %q, deltas %q", r.Done.Message.Text(), r.Text)
			}
		})
	}
}

// TestALocalServerMayTakeItsTime: loading a model is silence; there is no
// limit unless one is set.
func TestALocalServerMayTakeItsTime(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	s := server(t, able(4096), always(providertest.Ollama(providertest.Text("ok")).Hold(0, open)))
	p := provide(s)
	p.Idle = 0
	done := make(chan providertest.Result, 1)
	go func() { done <- providertest.Collect(p.Stream(context.Background(), request(provider.UserText("hi")))) }()
	select {
	case r := <-done:
		t.Errorf("gave up: %v", r.Err)
	case <-time.After(100 * time.Millisecond):
	}
	close(open)
	if r := <-done; r.Err != nil {
		t.Error(r.Err)
	}
	p = provide(s)
	p.Idle = 20 * time.Millisecond
	hung := server(t, able(4096), always(providertest.Silent()))
	p.BaseURL, p.HTTP = hung.URL, hung.HTTP
	if e := provider.AsError(send(t, p, request(provider.UserText("hi"))).Err); e == nil ||
		e.Kind != provider.KindTimeout || e.Temporary() {
		t.Errorf("%+v", e)
	}
}

// TestAModelThatCannot: tools, reasoning and images are left out by the server's facts of the model, and the user is
// notified once.
func TestAModelThatCannot(t *testing.T) {
	t.Parallel()
	s := server(t, providertest.OllamaShow(8192, "completion"), always(providertest.Ollama(providertest.Text("ok"))))
	p := provide(s)
	req := request(provider.UserText("see", provider.Image{MediaType: "image/png", Data: []byte("PNG")}))
	req.Effort = provider.EffortHigh
	for n := range 2 {
		r := send(t, p, req)
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		want := 3 * (1 - n)
		if got := notices(r); len(got) != want {
			t.Errorf("request %d: %q", n, got)
		}
	}
	for _, body := range chats(t, s) {
		if bytes.Contains(body, []byte(`"tools"`)) || bytes.Contains(body, []byte(`"think"`)) ||
			bytes.Contains(body, []byte(`"images"`)) || !bytes.Contains(body, []byte("an image was left out")) {
			t.Errorf("%s", body)
		}
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests, want one description and two chats", n)
	}
}

// TestAnOldServerDoesNotSay: without a model's abilities in its answer they are tried, and learned from the refusal.
func TestAnOldServerDoesNotSay(t *testing.T) {
	t.Parallel()
	s := server(t, providertest.JSON(200, `{"model_info":{"llama.context_length":4096}}`),
		func(_ int, r providertest.Request) providertest.Reply {
			switch body := string(r.Body); {
			case strings.Contains(body, `"tools"`):
				return providertest.JSON(400, `{"error":"registry.ollama.ai/library/m:latest does not support tools"}`)
			case strings.Contains(body, `"think"`):
				return providertest.JSON(400, `{"error":"\"m\" does not support thinking"}`)
			}
			return providertest.Ollama(providertest.Text("ok"))
		})
	p, req := provide(s), request(provider.UserText("hi"))
	req.Effort = provider.EffortLow
	r := send(t, p, req)
	if r.Err != nil || len(notices(r)) != 2 || len(chats(t, s)) != 3 {
		t.Errorf("%v %q after %d requests", r.Err, notices(r), len(chats(t, s)))
	}
	if r := send(t, p, req); r.Err != nil || len(notices(r)) != 0 || len(chats(t, s)) != 4 {
		t.Errorf("the next: %v %q", r.Err, notices(r))
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	s := server(t, able(4096), nil)
	list, err := provide(s).Models(t.Context())
	var got []string
	for _, m := range list {
		got = append(got, fmt.Sprint(m.Provider, " ", m.ID, " ", m.Price != nil))
	}
	if diff := cmp.Diff([]string{"o qwen3:8b true", "o gpt-oss:20b-cloud false"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if !answers(t.Context(), provide(s)) {
		t.Error("does not answer")
	}
	s.Close()
	if answers(t.Context(), provide(s)) {
		t.Error("answers, though it is gone")
	}
	if _, err := provide(s).Models(t.Context()); provider.AsError(err) == nil ||
		provider.AsError(err).Kind != provider.KindNetwork {
		t.Errorf("%v", err)
	}
	silent := providertest.NewServer(t, providertest.Silent())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if began := time.Now(); answers(ctx, provide(silent)) || time.Since(began) > 5*time.Second {
		t.Error("a silent server answers, or is waited for")
	}
	other := providertest.NewServer(t, providertest.JSON(200, `{}`), providertest.Page(200, "hello"))
	for range 2 {
		if answers(t.Context(), provide(other)) {
			t.Error("another server is taken for Ollama")
		}
	}
}

// TestModelsSayWhatTheyCan: from the list if it has them, else by a request for each; models without chat are left out.
func TestModelsSayWhatTheyCan(t *testing.T) {
	t.Parallel()
	s := providertest.Serve(t, &providertest.Handler{Next: func(_ int, r providertest.Request) providertest.Reply {
		switch {
		case r.Path == "/api/tags":
			return providertest.JSON(200, `{"models":[
				{"name":"new","capabilities":["completion","tools"],"details":{"context_length":4096}},
				{"name":"blind","capabilities":["completion"],"context_length":2048},
				{"name":"vectors","capabilities":["embedding"]},
				{"name":"old"},{"name":"gone"}]}`)
		case strings.Contains(string(r.Body), `"old"`):
			return providertest.OllamaShow(8192, "completion", "vision")
		}
		return providertest.JSON(404, `{"error":"model not found"}`)
	}})
	list, err := provide(s).Models(t.Context())
	var got []string
	for _, m := range list {
		got = append(got, fmt.Sprint(m.ID, " ", m.Context, " tools ", m.Tools, " sees ", m.Images, " guessed ",
			m.Guess))
	}
	want := []string{"new 4096 tools true sees false guessed false", "blind 2048 tools false sees false guessed false",
		"old 8192 tools false sees true guessed false"}
	if diff := cmp.Diff(want, got[:min(3, len(got))]); diff != "" || err != nil || len(got) != 4 ||
		!strings.HasSuffix(got[3], "guessed true") {
		t.Errorf("%v %q\n%s", err, got, diff)
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func answers(ctx context.Context, p *ollama.Provider) bool {
	version, err := p.Version(ctx)
	if (err == nil) != (version != "") || err != nil && provider.AsError(err) == nil {
		panic(fmt.Sprintf("version %q and the error %v", version, err))
	}
	return err == nil
}

// TestTheServerTellsOfItsModels: the windows of one, and the models in memory.
func TestTheServerTellsOfItsModels(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t,
		providertest.JSON(200, `{"model_info":{"qwen3.context_length":40960},`+
			`"parameters":"stop \"x\"\nnum_ctx 4096\n"}`),
		providertest.JSON(404, `{"error":"model 'm' not found"}`),
		providertest.JSON(200, `{"models":[{"name":"a","size":9,"size_vram":4,"context_length":4096},{"name":"b"}]}`),
		providertest.JSON(200, `[]`))
	p := provide(s)
	if most, set, err := p.Windows(t.Context(), "m"); most != 40960 || set != 4096 || err != nil {
		t.Errorf("%d, set to %d, %v", most, set, err)
	}
	if _, _, err := p.Windows(t.Context(), "m"); err == nil ||
		!strings.HasSuffix(err.Error(), ": model 'm' not found (404)") {
		t.Errorf("got %v", err)
	}
	want := []provider.LoadedModel{{Name: "a", Size: 9, Graphics: 4, Context: 4096}, {Name: "b"}}
	if got, err := p.Loaded(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := p.Loaded(t.Context()); len(got) > 0 && err == nil {
		t.Errorf("%+v of a server that says something else", got)
	}
	var paths []string
	for _, r := range s.Requests() {
		paths = append(paths, r.Method+" "+r.Path)
	}
	if got := strings.Join(paths, " "); got != "POST /api/show POST /api/show GET /api/ps GET /api/ps" {
		t.Errorf("asked %s", got)
	}
}

// TestReasoningInMarks is reasoning, also of a model whose template the server does
// not know.
func TestReasoningInMarks(t *testing.T) {
	t.Parallel()
	r := ask(t, providertest.Ollama(providertest.Text("<think>h", "m</think>\n\nYes."), providertest.Call("a", "read", "{}")))
	if r.Err != nil || r.Reasoning != "hm" || r.Text != "Yes." || r.Done.Message.Text() != "Yes." {
		t.Errorf("thought %q, said %q, %v", r.Reasoning, r.Text, r.Err)
	}
}
