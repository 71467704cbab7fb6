package ollama_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/ollama"
	"artoo/provider/providertest"
)

func TestTheWindow(t *testing.T) {
	t.Parallel()
	params := func(limit, numCtx string) providertest.Reply {
		return providertest.JSON(200, `{"capabilities":["tools"],"parameters":"stop \"x\"\nnum_ctx    `+numCtx+
			`\ntemperature 1","model_info":{"qwen3.context_length":`+limit+
			`,"qwen3.rope.scaling.original_context_length":"no","general.parameter_count":8}}`)
	}
	for _, tc := range []struct {
		name   string
		show   providertest.Reply
		want   int // the window requested
		window int
	}{
		{"the model's own", able(4096), 0, 4096},
		{"a large model", able(262144), 0, 65536},
		{"less is wanted", able(262144), 20_000, 20_000},
		{"more is wanted", able(262144), 200_000, 200_000},
		{"more than there is", able(8192), 200_000, 8192},
		{"the Modelfile says", params("131072", "16384"), 0, 16384},
		{"the Modelfile says too much", params("8192", "16384"), 0, 8192},
		{"the user says more", params("131072", "16384"), 32_000, 32_000},
		{"a part of it has another", providertest.JSON(200,
			`{"capabilities":["tools"],"model_info":{"general.architecture":"m","a.context_length":77,"m.context_length":8192,"m.vision.context_length":576,"z.context_length":99}}`), 0, 8192},
		{"no word of its architecture", providertest.JSON(200,
			`{"capabilities":["tools"],"model_info":{"clip.context_length":77,"m.context_length":8192,"z.context_length":99}}`), 0, 8192},
		{"in the cloud", providertest.JSON(200,
			`{"capabilities":["tools"],"remote_host":"https://ollama.com","model_info":{"m.context_length":262144}}`),
			0, 262144},
		{"less is wanted in the cloud", providertest.JSON(200,
			`{"capabilities":["tools"],"remote_host":"https://ollama.com","model_info":{"m.context_length":262144}}`),
			20_000, 20_000},
		{"nobody knows", providertest.JSON(200, `{}`), 0, 0},
		{"nobody knows, the user says", providertest.JSON(500, `{"error":"oops"}`), 5000, 5000},
		{"no such end", providertest.Reply{Status: 404, ContentType: "text/plain",
			Body: []byte("404 page not found")}, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := server(t, tc.show, always(providertest.Ollama(providertest.Text("ok"))))
			p := provide(s)
			p.Window = tc.want
			info, err := p.Describe(t.Context(), "m")
			if err != nil {
				t.Fatal(err)
			}
			if tc.window > 0 && (info.Context != tc.window || info.MaxOutput != tc.window/2) ||
				tc.window == 0 && !info.Guess {
				t.Errorf("%+v", info)
			}
			if r := send(t, p, request(provider.UserText("hi"))); r.Err != nil {
				t.Fatal(r.Err)
			}
			body := chats(t, s)[0]
			want := `"options":{"num_predict":8192}`
			if tc.window > 0 {
				want = `"num_ctx":` + number(tc.window) + `,"num_predict":` + number(min(8192, tc.window/2))
			}
			if !bytes.Contains(body, []byte(want)) {
				t.Errorf("lacks %s: %.300s", want, body)
			}
			requests, asked := 2, "one description and one chat"
			if tc.show.Status/100 == 5 { // it may say more later
				requests, asked = 3, "two descriptions and one chat"
			}
			if n := len(s.Requests()); n != requests {
				t.Errorf("%d requests, want %s", n, asked)
			}
		})
	}
}

// TestADescriptionThatFailsIsAskedForAgain: a server that is busy for a moment
// must not cost the window, the tools and the reasoning of the whole run.
func TestADescriptionThatFailsIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]providertest.Reply{
		"busy":    providertest.JSON(503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`),
		"failing": providertest.JSON(500, `{"error":"oops"}`),
		"limited": providertest.JSON(429, `{"error":"slow down"}`),
		"a page":  {Status: 200, ContentType: "text/html", Body: []byte("<html>")},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			s := providertest.Serve(t, &providertest.Handler{Next: func(_ int, r providertest.Request) providertest.Reply {
				if r.Path != "/api/show" {
					return providertest.Ollama(providertest.Text("ok"))
				}
				if n++; n == 1 {
					return failure
				}
				return able(4096)
			}})
			p := provide(s)
			for range 3 {
				if r := send(t, p, request(provider.UserText("hi"))); r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			for i, body := range chats(t, s) {
				if got := bytes.Contains(body, []byte(`"num_ctx":4096`)); got != (i > 0) {
					t.Errorf("request %d asks for the window: %v", i, got)
				}
			}
			if n != 2 {
				t.Errorf("described %d times, want 2", n)
			}
		})
	}
}

func number(n int) string {
	raw, err := provider.Marshal(n)
	if err != nil {
		panic(err) // a number always marshals
	}
	return string(raw)
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	s := server(t, providertest.JSON(200,
		`{"capabilities":["completion","vision"],"remote_host":"https://ollama.com","model_info":{"x.context_length":131072}}`), nil)
	info, err := provide(s).Describe(t.Context(), "m")
	if err != nil || info.Provider != "o" || info.ID != "m" || info.Tools || info.Reasoning || !info.Images ||
		info.Price != nil {
		t.Errorf("%+v %v", info, err)
	}
	for name, tc := range map[string]struct {
		show providertest.Reply
		kind provider.ErrorKind
		hint string
	}{
		"unknown model": {providertest.JSON(404, `{"error":"model 'm' not found"}`), provider.KindConfig, "ollama pull m"},
		"not signed in": {providertest.JSON(401, `{"error":"unauthorized","signin_url":"https://x"}`),
			provider.KindAuth, "ollama signin"},
		"dropped": {providertest.Dropped(), provider.KindNetwork, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := provide(server(t, tc.show, nil))
			if _, err := p.Describe(t.Context(), "m"); provider.AsError(err) == nil ||
				provider.AsError(err).Kind != tc.kind {
				t.Errorf("%v", err)
			}
			r := send(t, p, request(provider.UserText("hi")))
			if e := provider.AsError(r.Err); e == nil || e.Kind != tc.kind || !strings.Contains(e.Hint, tc.hint) ||
				e.Provider != "o" {
				t.Errorf("%+v", e)
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		p := provide(server(t, providertest.Silent(), nil))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := p.Describe(ctx, "m")
		if e := provider.AsError(err); e == nil || e.Kind != provider.KindCanceled || !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		r := providertest.Collect(p.Stream(ctx, request(provider.UserText("hi"))))
		if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindCanceled ||
			!errors.Is(r.Err, context.Canceled) {
			t.Errorf("%v", r.Err)
		}
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reply providertest.Reply
		kind  provider.ErrorKind
		retry bool
		says  string // the message or the hint
	}{
		"not found": {providertest.JSON(404, `{"error":"model \"m\" not found, try pulling it first"}`),
			provider.KindConfig, false, "ollama pull m"},
		"not signed in": {providertest.JSON(401, `{"error":"unauthorized","signin_url":"https://x"}`),
			provider.KindAuth, false, "ollama signin"},
		"queue full": {providertest.JSON(503,
			`{"error":"server busy, please try again.  maximum pending requests exceeded"}`), provider.KindOverloaded,
			true, "busy"},
		"499": {providertest.JSON(499, `{"error":"request canceled"}`), provider.KindProvider,
			true, "canceled"},
		"out of memory": {providertest.JSON(500,
			`{"error":"model requires more system memory (9 GiB) than is available (7 GiB)"}`), provider.KindProvider,
			false, "a smaller model"},
		"in the stream": {stream(`{"message":{"role":"assistant","content":"a"},"done":false}`,
			`{"error":"an error was encountered while running the model"}`), provider.KindProvider, true, "encountered"},
		"no message at all": {stream(`{"message":{"role":"assistant","content":"a"},"done":false}`, `{"novelty":1}`),
			provider.KindProvider, true, "novelty"},
		"only loaded": {stream(
			`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}`),
			provider.KindProvider, true, "loaded"},
	} {
		t.Run(name, func(t *testing.T) {
			e := provider.AsError(ask(t, tc.reply).Err)
			if e == nil || e.Kind != tc.kind || e.Temporary() != tc.retry || !strings.Contains(e.Message+e.Hint, tc.says) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestAServerThatDoesNotRun: the hint names the command that starts it.
func TestAServerThatDoesNotRun(t *testing.T) {
	t.Parallel()
	p := &ollama.Provider{Server: provider.Server{Name: "ollama", BaseURL: "127.0.0.1:1", Local: true}}
	r := send(t, p, request(provider.UserText("hi")))
	if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindNetwork ||
		!strings.Contains(e.Hint, "ollama serve") || !strings.Contains(e.Hint, "OLLAMA_HOST") {
		t.Errorf("%+v", e)
	}
}

// TestAnOldReply: no done_reason, no counts.
func TestAnOldReply(t *testing.T) {
	t.Parallel()
	r := ask(t, stream(`{"model":"m","message":{"role":"assistant","content":"a"},"done":false}`,
		`{"model":"m","done":true}`))
	if r.Err != nil || r.Text != "a" || r.Done.Stop != provider.StopComplete || r.Done.Usage != (provider.Usage{}) {
		t.Errorf("%+v %v", r.Done, r.Err)
	}
}
