package ollama_test

import (
	"bytes"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/providertest"
)

// long is 10 KB, some 2,000 tokens.
var long = strings.Repeat("word ", 2000)

// TestACutPrompt: the request forbids a cut, and a server that still cuts is detected by its counts.
func TestACutPrompt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		read []int // per request, each 10 KB longer than the one before
		want []bool
	}{
		{"all is read", []int{2100, 4200, 6300}, []bool{false, false, false}},
		{"nothing said", []int{0, 0, 0}, []bool{false, false, false}},
		{"only what is new", []int{2100, 2100, 2100}, []bool{false, false, false}},
		{"full to the brim", []int{2100, 8192}, []bool{false, true}},
		{"more than fits, from the first", []int{2100, 4200, 6300, 7900, 5000},
			[]bool{false, false, false, false, true}},
		{"more than there is room for", []int{2100, 4200, 10500}, []bool{false, false, true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := server(t, able(8192), func(n int, _ providertest.Request) providertest.Reply {
				return providertest.Ollama(providertest.Text("ok"),
					providertest.Usage(provider.Usage{Input: tc.read[n], Output: 1}))
			})
			p, req := provide(s), request()
			req.Tools = nil
			for n, want := range tc.want {
				req.Messages = append(req.Messages, provider.UserText(long))
				r := send(t, p, req)
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				req.Messages = append(req.Messages, r.Done.Message)
				if got := notices(r); (len(got) > 0) != want || want && !strings.Contains(got[0], "CUT") {
					t.Errorf("request %d: %q, want a notice: %v", n, got, want)
				}
			}
			if body := chats(t, s)[0]; !bytes.Contains(body,
				[]byte(`"truncate":false,"shift":false,"options":{"num_ctx":8192`)) {
				t.Errorf("%.300s", body)
			}
		})
	}
	t.Run("of a first request", cutAtFirst)
	t.Run("reasoning of an earlier turn are not read again", dropThoughts)
	t.Run("an image is not text", sendAnImage)
	t.Run("refused by a server that obeys", refuseALongPrompt)
	t.Run("the reply filled it", fillTheWindow)
}

// A request of which no process knows an earlier one: the server cut it, or still had a part of it from another
// process, and the window that it loaded shows which. An older one does not report it, but a cut prompt fills its
// window.
func cutAtFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		read int
		ps   string // answer of /api/ps, "" for none
		want string
	}{
		"the loaded window is small":         {2000, `{"models":[{"name":"other","context_length":9},{"name":"m:latest","context_length":2048}]}`, "its window holds 2048"},
		"it had a part already":              {2048, `{"models":[{"name":"m","context_length":8192}]}`, ""},
		"an older server, a whole window":    {2048, `{"models":[{"name":"m"}]}`, "the model read 2048 tokens of "},
		"an old server, a whole window":      {2048, "", "its window holds 2048"},
		"an old server, that had a part":     {1900, "", ""},
		"all was read, no question is asked": {6400, `{"models":[{"name":"m","context_length":10}]}`, ""},
	} {
		chat := always(providertest.Ollama(providertest.Text("ok"), providertest.Usage(provider.Usage{Input: tc.read, Output: 1})))
		s := providertest.Serve(t, &providertest.Handler{Next: func(n int, r providertest.Request) providertest.Reply {
			switch {
			case r.Path == "/api/show":
				return able(8192)
			case r.Path == "/api/chat":
				return chat(n, r)
			case r.Path == "/api/ps" && tc.ps != "":
				return providertest.JSON(200, tc.ps)
			}
			return providertest.JSON(404, `404 page not found`)
		}})
		r := send(t, provide(s), request(provider.UserText(strings.Repeat("word ", 5000))))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if got := strings.Join(notices(r), "; "); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func dropThoughts(t *testing.T) {
	// The templates of most models leave out the reasoning before the last question: the prompt shrinks, and nothing
	// was cut.
	reads := []int{2100, 4200, 2200, 2250}
	s := server(t, able(32768), func(n int, _ providertest.Request) providertest.Reply {
		items := []providertest.Item{providertest.Text("ok"),
			providertest.Usage(provider.Usage{Input: reads[n], Output: 9})}
		if n == 0 {
			items = append(items, providertest.Reason(strings.Repeat("so ", 2700)),
				providertest.Call("c1", "read", `{}`))
		}
		return providertest.Ollama(items...)
	})
	p, req := provide(s), request(provider.UserText(long))
	req.Tools = nil
	for n, want := range []bool{false, false, false, false} {
		r := send(t, p, req)
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if got := notices(r); (len(got) > 0) != want {
			t.Errorf("request %d: %q, want a notice: %v", n, got, want)
		}
		next := provider.UserText("and then?")
		if n == 0 {
			next = provider.Message{Role: provider.RoleTool,
				Parts: []provider.Part{provider.ToolResult{CallID: "c1", Name: "read", Text: "x"}}}
		}
		req.Messages = append(req.Messages, r.Done.Message, next)
	}
}

func sendAnImage(t *testing.T) {
	s := server(t, able(4096), always(providertest.Ollama(providertest.Text("ok"),
		providertest.Usage(provider.Usage{Input: 900, Output: 1}))))
	r := send(t, provide(s), request(provider.UserText("see",
		provider.Image{MediaType: "image/png", Data: make([]byte, 1<<20)})))
	if r.Err != nil || len(notices(r)) > 0 {
		t.Errorf("%v %q", r.Err, notices(r))
	}
}

func refuseALongPrompt(t *testing.T) {
	for _, reply := range []providertest.Reply{
		providertest.JSON(400, `{"error":"the input length exceeds the context length"}`),
		stream(`{"error":"the prompt exceeds the available context size"}`),
	} {
		r := send(t, provide(server(t, able(4096), always(reply))), request(provider.UserText("hi")))
		if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindContext || e.Window != 4096 {
			t.Errorf("%+v", e)
		}
	}
}

func fillTheWindow(t *testing.T) {
	reply := providertest.Ollama(providertest.Text("ok"), providertest.Usage(provider.Usage{Input: 3000, Output: 1096}),
		providertest.Stop("length"))
	r := send(t, provide(server(t, able(4096), always(reply))), request(provider.UserText("hi")))
	if r.Err != nil || r.Done.Stop != provider.StopContext {
		t.Errorf("%+v %v", r.Done, r.Err)
	}
}
