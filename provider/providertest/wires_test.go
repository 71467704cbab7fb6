package providertest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/converse"
	"artoo/provider/gemini"
	"artoo/provider/ollama"
	"artoo/provider/openai"
)

// spoken is a wire and a model that reasons there.
type spoken struct {
	Wire
	name  string
	model string
}

// takes is the error of a body as the model of the wire sees it.
func (s spoken) takes(body []byte) error {
	if s.name == WireGemini {
		return Validate(WireGemini3, body)
	}
	return Validate(s.name, body)
}

// describing answers the requests besides chats that only an Ollama server gets.
type describing struct{ next http.RoundTripper }

func (d describing) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/api/show") {
		return d.next.RoundTrip(r)
	}
	show := OllamaShow(200_000, "completion", "tools", "thinking", "vision")
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {show.ContentType}},
		Body: io.NopCloser(bytes.NewReader(show.Body)), Request: r}, nil
}

// CloseIdleConnections is looked for by http.Client.
func (d describing) CloseIdleConnections() {
	if c, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// wires are all six.
func wires() []spoken {
	return []spoken{
		{name: WireAnthropic, model: "claude-opus-4-5", Wire: Wire{Build: Anthropic, New: func(c Config) provider.Provider {
			return &anthropic.Provider{Server: provider.Server{Name: c.Name, BaseURL: c.URL, Key: c.Key, HTTP: c.HTTP,
				Idle: c.Idle, RequestTimeout: c.RequestTimeout, Local: c.Local}}
		}, Stops: map[string]provider.StopReason{"max_tokens": provider.StopMaxTokens, "refusal": provider.StopRefusal}}},
		{name: WireChat, model: "deepseek-reasoner", Wire: Wire{Build: Chat, New: func(c Config) provider.Provider {
			return &openai.Chat{Server: provider.Server{Name: c.Name, BaseURL: c.URL + "/v1", Key: c.Key, HTTP: c.HTTP,
				Idle: c.Idle, RequestTimeout: c.RequestTimeout, Local: c.Local}, Quirks: openai.QuirksFor("compatible")}
		}, Stops: map[string]provider.StopReason{"length": provider.StopMaxTokens,
			"content_filter": provider.StopRefusal}}},
		{name: WireResponses, model: "gpt-5.6-terra", Wire: Wire{Build: Responses, New: func(c Config) provider.Provider {
			return &openai.Responses{Server: provider.Server{Name: c.Name, BaseURL: c.URL + "/v1", Key: c.Key,
				HTTP: c.HTTP, Idle: c.Idle, RequestTimeout: c.RequestTimeout, Local: c.Local}}
		}, Stops: map[string]provider.StopReason{"max_output_tokens": provider.StopMaxTokens,
			"content_filter": provider.StopRefusal}}},
		{name: WireGemini, model: "gemini-3.1-pro-preview",
			Wire: Wire{Build: Gemini, New: func(c Config) provider.Provider {
				return &gemini.Provider{Server: provider.Server{Name: c.Name, BaseURL: c.URL, Key: c.Key, HTTP: c.HTTP,
					Idle: c.Idle, RequestTimeout: c.RequestTimeout, Local: c.Local}}
			}, Stops: map[string]provider.StopReason{"MAX_TOKENS": provider.StopMaxTokens,
				"SAFETY": provider.StopRefusal}}},
		{name: WireOllama, model: "gpt-oss:20b", Wire: Wire{Build: Ollama, New: func(c Config) provider.Provider {
			return &ollama.Provider{Server: provider.Server{Name: c.Name, BaseURL: c.URL, Key: c.Key,
				HTTP: &http.Client{Transport: describing{c.HTTP.Transport}}, Idle: c.Idle,
				RequestTimeout: c.RequestTimeout, Local: c.Local}}
		}, Stops: map[string]provider.StopReason{"length": provider.StopMaxTokens}}},
		{name: WireConverse, model: "eu.anthropic.claude-opus-4-5-20251101-v1:0", Wire: Wire{Build: Converse, New: func(c Config) provider.Provider {
			return &converse.Provider{Server: provider.Server{Name: c.Name, BaseURL: c.URL, Key: c.Key, HTTP: c.HTTP,
				Idle: c.Idle, RequestTimeout: c.RequestTimeout, Local: c.Local}}
		}, Stops: map[string]provider.StopReason{"max_tokens": provider.StopMaxTokens, "content_filtered": provider.StopRefusal}}},
	}
}

// onEach runs a test on all wires, with the validator of each.
func onEach(t *testing.T, run func(t *testing.T, w Wire)) {
	for _, s := range wires() {
		s.Validate = func(body []byte) error { return Validate(s.name, body) }
		t.Run(s.name, func(t *testing.T) { run(t, s.Wire) })
	}
}

// lined reports whether the wire's replies are lines instead of events.
func lined(w Wire) bool { return w.Build().ContentType == lines }

// last is where the reply's terminal event stands, counted in events.
func last(w Wire, r Reply) int {
	events := r.split()
	return slices.IndexFunc(events, func(e string) bool { return strings.Contains(e, quote(aMax(w))) })
}

// encoded is the body that a wire sends for a request.
func encoded(t testing.TB, w Wire, name string, req provider.Request) []byte {
	t.Helper()
	seen := &keeping{}
	p := w.New(Config{Name: name, URL: "http://bench.test", HTTP: &http.Client{Transport: seen}})
	if r := Collect(p.Stream(t.Context(), req)); provider.AsError(r.Err) == nil || seen.body == nil {
		t.Fatalf("got %+v, want the error of a network that is not there", r)
	}
	return seen.body
}

// reply is that of a wire's model, its reasoning and its own payloads included.
func (s spoken) reply(t testing.TB, name string, req provider.Request, items ...Item) provider.Message {
	t.Helper()
	reply := s.Build(items...)
	reply = reply.replace("sig+/", "sig+"+name+"/") // the wire's own proof
	p := s.New(Config{Name: name, URL: "http://bench.test", HTTP: reply.Client()})
	r := Collect(p.Stream(t.Context(), req))
	if err := r.Check(); err != nil || r.Err != nil {
		t.Fatal(s.name, err, r.Err)
	}
	return r.Done.Message
}

// step is a step with reasoning and two calls.
func step(n int) []Item {
	return []Item{Reason("hm ", "hm"), Text("I look."), Call(fmt.Sprintf("call_%d_a", n), "read", `{"path":"a"}`),
		Call(fmt.Sprintf("call_%d_b", n), "read", `{"path":"b"}`)}
}
