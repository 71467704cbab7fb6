package providertest_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/gemini"
	"artoo/provider/ollama"
	"artoo/provider/openai"
	"artoo/provider/providertest"
)

func post(t *testing.T, s *providertest.Server) (*http.Response, []byte, error) {
	t.Helper()
	resp, err := s.HTTP.Post(s.URL+"/x", "application/json", strings.NewReader("{}"))
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

func TestRepliesGoOutAsScripted(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t,
		providertest.Stream("data: a\n\ndata: b\n\n").With("X-A", "1").InChunks(3),
		providertest.Fail(429, "rate", "slow"),
		providertest.Stream("data: a\n\n").Ends(providertest.Reset),
		providertest.Dropped(),
		providertest.Reply{Body: []byte("hello")},
	)
	resp, body, err := post(t, s)
	if err != nil || string(body) != "data: a\n\ndata: b\n\n" || resp.Header.Get("X-A") != "1" ||
		!strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("%v %q %v", resp, body, err)
	}
	if resp, body, err = post(t, s); err != nil || resp.StatusCode != 429 || !bytes.Contains(body, []byte("slow")) {
		t.Errorf("%v %q %v", resp, body, err)
	}
	if _, _, err = post(t, s); err == nil {
		t.Error("a reset connection gave no error")
	}
	if _, _, err = post(t, s); err == nil {
		t.Error("a dropped connection gave no error")
	}
	if resp, _, err = post(t, s); err != nil || resp.Header.Get("Content-Type") != "" {
		t.Errorf("%v %v", resp, err)
	}
	if resp, body, err = post(t, s); err != nil || resp.StatusCode != 500 ||
		!bytes.Contains(body, []byte("only 5 replies")) {
		t.Errorf("one request too many: %v %q %v", resp, body, err)
	}
	if n := len(s.Requests()); n != 6 {
		t.Errorf("%d requests kept, want 6", n)
	}
}

func TestAGateHoldsTheRest(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	s := providertest.NewServer(t, providertest.Stream("before|after").Hold(-6, open))
	resp, err := s.HTTP.Post(s.URL, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "before" {
		t.Fatalf("%q %v", first, err)
	}
	close(open)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || string(rest) != "|after" {
		t.Errorf("%q %v", rest, err)
	}
}

func TestEventsAreCounted(t *testing.T) {
	t.Parallel()
	r := providertest.Stream("data: a\n\ndata: b\n\ndata: c\n\n")
	for n, want := range map[int]string{0: "", 2: "data: a\n\ndata: b\n\n", -1: "data: a\n\ndata: b\n\n",
		9: "data: a\n\ndata: b\n\ndata: c\n\n"} {
		if got := strings.TrimSuffix(string(r.Events(n).Body), "\n\n"); got != strings.TrimSuffix(want, "\n\n") {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// TestToolLoopStandsAlone runs the loop mode as a plain handler, the way a test
// of the whole program uses it.
func TestToolLoopStandsAlone(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]providertest.Builder{
		"anthropic": providertest.Anthropic, "chat": providertest.Chat, "responses": providertest.Responses,
		"gemini": providertest.Gemini, "ollama": providertest.Ollama,
	} {
		t.Run(name, func(t *testing.T) {
			loop := providertest.ToolLoop(build, 3, "read", `{"path":"go.mod"}`, "All done.")
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/show" {
					providertest.Script(providertest.OllamaShow(8192, "tools")).ServeHTTP(w, r)
					return
				}
				loop.ServeHTTP(w, r)
			}))
			defer srv.Close()
			var p provider.Provider = &anthropic.Provider{Server: provider.Server{Name: "p", BaseURL: srv.URL,
				HTTP: srv.Client()}}
			switch name {
			case "chat":
				p = &openai.Chat{Server: provider.Server{Name: "p", BaseURL: srv.URL, HTTP: srv.Client()}}
			case "responses":
				p = &openai.Responses{Server: provider.Server{Name: "p", BaseURL: srv.URL, HTTP: srv.Client()}}
			case "gemini":
				p = &gemini.Provider{Server: provider.Server{Name: "p", BaseURL: srv.URL, HTTP: srv.Client()}}
			case "ollama":
				p = &ollama.Provider{Server: provider.Server{Name: "p", BaseURL: srv.URL, HTTP: srv.Client()}}
			}
			for range 2 {
				steps := 0
				for {
					r := providertest.Collect(p.Stream(t.Context(),
						provider.Request{Messages: []provider.Message{provider.UserText("go")}}))
					if r.Err != nil {
						t.Fatal(r.Err)
					}
					if len(r.Done.Message.Calls()) == 0 {
						if r.Text != "All done." {
							t.Errorf("answer %q", r.Text)
						}
						break
					}
					steps++
				}
				if steps != 3 {
					t.Errorf("%d steps, want 3", steps)
				}
			}
		})
	}
}

func TestFloodHasItsSize(t *testing.T) {
	t.Parallel()
	for _, build := range []providertest.Builder{providertest.Anthropic, providertest.Chat, providertest.Responses,
		providertest.Gemini, providertest.Ollama} {
		flood, end := providertest.Flood(build, 2000, 20), "\n\n"
		if flood.ContentType == "application/x-ndjson" {
			end = "\n"
		}
		if n := bytes.Count(flood.Body, []byte(end)); n < 100 || n > 110 {
			t.Errorf("%d events for 2000 bytes in pieces of 20", n)
		}
	}
}
