package providertest

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/tool/sweep"
)

func testFraming(t *testing.T, w Wire) {
	text := "žluťoučký 😀 kůň 漢字 " + strings.Repeat("x", 100)
	plain := w.Build(Reason("dě"), Text(text), Call("c1", "read", `{"path":"漢"}`))
	replace := func(old, new string) Reply {
		r := plain
		r.Body = bytes.ReplaceAll(r.Body, []byte(old), []byte(new))
		return r
	}
	whole, words := strings.Repeat(`{"k":"0123456789"},`, sweep.Less(30_000)), strings.Repeat("a 漢 ", sweep.Less(1<<17))
	long := w.Build(Text(words),
		Call("c1", "read", `{"list":[`+strings.TrimSuffix(whole, ",")+`]}`))
	tests := map[string]Reply{
		"CR":             replace("\n", "\r"),
		"comments":       replace("\n\n", "\n\n: keep-alive\n\n:\n"),
		"comment inside": replace("data:", ": PROCESSING\ndata:"),
		"no space":       replace("data: ", "data:"),
		"two data lines": replace("data: {", "data: {\ndata: "),
		"empty events":   replace("\n\n", "\n\nevent: ping\n\nretry: 3\n\n"),
		"unknown events": replace("\n\n", "\n\nevent: novelty\ndata: {\"type\":\"novelty\"}\n\n"),
		"odd fields":     replace(`"usage":`, `"usage":"none","x_usage":`),
	}
	if plain.ContentType == lines {
		tests = map[string]Reply{
			"blank lines": replace("\n", "\n\n \n"),
			"odd fields":  replace(`"total_duration":`, `"total_duration":"none","x_duration":`),
		}
	}
	forms := map[string]Reply{
		"byte by byte":   plain.InChunks(1),
		"three bytes":    plain.InChunks(3),
		"CRLF":           replace("\n", "\r\n"),
		"CRLF, bytewise": replace("\n", "\r\n").InChunks(1),
		"byte order":     {ContentType: plain.ContentType, Body: append([]byte("\xef\xbb\xbf"), plain.Body...)},
		"pending at end": {ContentType: plain.ContentType, Body: bytes.TrimRight(plain.Body, "\n")},
		"no type":        {Body: plain.Body},
		"plain type":     {ContentType: "text/plain", Body: plain.Body},
		"JSON type":      {ContentType: "application/json", Body: plain.Body},
	}
	if plain.ContentType == frames { // their bytes leave no choice
		tests, forms = map[string]Reply{}, map[string]Reply{"byte by byte": plain.InChunks(1), "three bytes": plain.InChunks(3)}
	}
	maps.Copy(tests, forms)
	_, want := newBench(t, w, Config{}, plain).done(t, question())
	for name, reply := range tests {
		t.Run(name, func(t *testing.T) {
			_, done := newBench(t, w, Config{}, reply).done(t, question())
			if diff := cmp.Diff(want.Message, done.Message); diff != "" {
				t.Errorf("not the same reply (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a megabyte on one line", func(t *testing.T) {
		_, done := newBench(t, w, Config{}, long).done(t, question())
		if got := len(done.Message.Text()); got != len(words) {
			t.Errorf("%d bytes of text, want %d", got, len(words))
		}
		if got := len(done.Message.Calls()[0].Input); got != len(whole)+10 {
			t.Errorf("%d bytes of arguments, want %d", got, len(whole)+10)
		}
	})
	t.Run("one connection", func(t *testing.T) {
		slow := plain.InChunks(64)
		b := newBench(t, w, Config{}, slow, slow, slow)
		for range 3 {
			b.done(t, question())
		}
		if n := b.Connections(); n != 1 {
			t.Errorf("%d connections for three requests, want 1", n)
		}
	})
}

// testPrefix checks that each request's bytes, without cache marks, begin the next request,
// and that a second session gives the same bytes.
func testPrefix(t *testing.T, w Wire) {
	var runs [2][][]byte
	for run := range runs {
		b := newBench(t, w, Config{}, prefixScript(w)...)
		req := question()
		for i := range 5 {
			_, done := b.done(t, req)
			req.Messages = append(req.Messages, done.Message)
			for n, c := range done.Message.Calls() {
				answer := result(c, fmt.Sprintf("result <%d> of %s", i, c.ID))
				if n == 1 {
					answer.Parts = []provider.Part{provider.ToolResult{CallID: c.ID, Name: c.Name,
						Images: []provider.Image{{MediaType: "image/png", Data: []byte("PNG")}}}}
				}
				req.Messages = append(req.Messages, answer)
			}
			if len(done.Message.Calls()) == 0 {
				req.Messages = append(req.Messages, provider.UserText("and then & then?",
					provider.Image{MediaType: "image/png", Data: []byte("\x89PNG")}))
			}
		}
		for _, seen := range b.Requests() {
			runs[run] = append(runs[run], seen.Body)
		}
	}
	for i, body := range runs[0] {
		if !bytes.Equal(body, runs[1][i]) {
			t.Errorf("request %d is not the same in two runs:\n%s\n%s", i, body, runs[1][i])
		}
		if i == 0 {
			continue
		}
		before := bytes.TrimRight(w.Unmark(runs[0][i-1]), "]}")
		if now := w.Unmark(body); !bytes.HasPrefix(now, before) {
			t.Errorf("request %d is no prefix of the next:\n%s\n%s", i-1, before, now)
		}
	}
}

func prefixScript(w Wire) []Reply {
	var many []Item
	for i := range 24 {
		many = append(many, Call(fmt.Sprintf("c%d", i), "read", `{"path":"a"}`))
	}
	return []Reply{
		w.Build(Reason("let me see"), Text("I look."), Call("x1", "read", `{"path": "a<b"}`)),
		w.Build(many...),
		w.Build(Call("", "mcp__db__list", ``), Call("bad", "read", `{"path`)),
		w.Build(Text("So it is.")),
		w.Build(Text("Then nothing.")),
	}
}

// testHistory sends histories that broke off or came from elsewhere: the
// validator must like all of them.
func testHistory(t *testing.T, w Wire) {
	user := provider.UserText
	foreign := provider.ToolCall{ID: "functions.read:0|" + strings.Repeat("é", 300), Name: "functions.read file",
		Input: []byte(`{"a":"\ud800"}`)}
	answer := result(foreign, "broken \xff\xfe text")
	assistant := func(parts ...provider.Part) provider.Message {
		return provider.Message{Role: provider.RoleAssistant, Provider: "elsewhere", Model: "m", Parts: parts}
	}
	partial := provider.Message{Role: provider.RoleAssistant, Provider: "bench", Model: "test-model", Partial: true,
		Parts: []provider.Part{
			provider.Reasoning{Text: "half a thou", Form: "thinking"}, provider.Text{Text: "half an answ"},
			call("c9", "read", `{}`)}}
	image := provider.Image{MediaType: "image/png", Data: []byte("\x89PNG")}
	seen := provider.Message{Role: provider.RoleTool, Parts: []provider.Part{
		provider.ToolResult{CallID: "p1", Name: "read", Images: []provider.Image{image,
			{MediaType: "image/webp", Data: []byte("RIFF")}}}}}
	second := provider.Message{Role: provider.RoleTool,
		Parts: []provider.Part{provider.ToolResult{CallID: "p2", Name: "read", Text: " \n", IsError: true}}}
	tests := map[string][]provider.Message{
		"from another provider": {user("hi"), assistant(provider.Reasoning{Text: "mine", Form: "thinking", Opaque: "sig"},
			provider.Text{Text: "x"}, foreign), answer},
		"only reasoning": {user("hi"), assistant(provider.Reasoning{Text: "mine", Form: "thinking", Opaque: "sig"}),
			user("again")},
		"broken off":   {user("hi"), partial, user("go on")},
		"nothing said": {user("hi"), user("hello?")},
		"blank texts": {user("hi"), assistant(provider.Text{Text: "\n\n"}, call("c1", "read", ``)),
			result(call("c1", "read", ``), ""), user("", provider.Text{Text: "so?"})},
		"input is not an object": {user("hi"), assistant(provider.ToolCall{ID: "c1", Name: "", Input: []byte(`[1]`),
			Raw: "[1]"}), result(call("c1", "", ``), "bad input")},
		"images": {user("hi", image), assistant(call("p1", "read", `{}`), call("p2", "read", `{}`)), seen,
			second, user("and?")},
		"invalid UTF-8": {user("a \xf0\x9f b")},
	}
	for name, messages := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, w, Config{}, w.Build(Text("ok")))
			b.done(t, question(messages...))
			if body := b.Requests()[0].Body; bytes.Contains(body, []byte("half a thou")) || bytes.Contains(body,
				[]byte(`"c9"`)) {
				t.Errorf("more than the text of a partial message was sent: %s", body)
			}
		})
	}
	t.Run("images arrive", func(t *testing.T) { testImages(t, w) })
	t.Run("nothing but a question", func(t *testing.T) {
		b := newBench(t, w, Config{}, w.Build(Text("ok")))
		b.done(t, provider.Request{Options: provider.Options{Model: "m"}, Messages: []provider.Message{user("hi")}})
	})
}

// testImages checks that images of messages and results arrive whole, once and in order; a
// wire for models that do not see has a word in their place.
func testImages(t *testing.T, w Wire) {
	image := func(name string) provider.Image {
		return provider.Image{MediaType: "image/png", Data: []byte("\x89PNG " + name), Name: name}
	}
	results := provider.Message{Role: provider.RoleTool, Parts: []provider.Part{
		provider.ToolResult{CallID: "p1", Name: "read", Text: "here they are",
			Images: []provider.Image{image("second"), image("third")}}}}
	asked := provider.Message{Role: provider.RoleAssistant, Provider: "elsewhere", Model: "m",
		Parts: []provider.Part{call("p1", "read", `{}`), call("p2", "read", `{}`)}}
	other := provider.Message{Role: provider.RoleTool,
		Parts: []provider.Part{provider.ToolResult{CallID: "p2", Name: "read", Text: "text of the other call"}}}
	b := newBench(t, w, Config{}, w.Build(Text("ok")))
	b.done(t, question(provider.UserText("look", image("first")), asked, results, other,
		provider.UserText("and?", image("fourth"))))
	body, at := string(b.Requests()[0].Body), 0
	for _, name := range []string{"first", "second", "third", "fourth"} {
		data := base64.StdEncoding.EncodeToString(image(name).Data)
		n := strings.Count(body, data)
		if w.Blind {
			if n != 0 {
				t.Errorf("the %s image was sent to a model that does not see", name)
			}
			continue
		}
		if next := strings.Index(body, data); n != 1 || next < at {
			t.Errorf("the %s image is there %d times, at %d after %d", name, n, next, at)
		} else {
			at = next
		}
	}
	for _, words := range []string{"here they are", "text of the other call"} {
		if !strings.Contains(body, words) {
			t.Errorf("%q is lost", words)
		}
	}
}

func testConcurrent(t *testing.T, w Wire) {
	srv := Serve(t, &Handler{Next: func(n int, _ Request) Reply {
		return w.Build(Text(fmt.Sprintf("answer %d", n)), Call("", "read", `{}`)).InChunks(7)
	}})
	p := srv.connect(w, Config{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r := Collect(p.Stream(context.Background(), question()))
			if err := r.Check(); err != nil || r.Err != nil {
				t.Errorf("%v %v", err, r.Err)
			}
		})
	}
	wg.Wait()
}
