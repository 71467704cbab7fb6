package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/providertest"
	"artoo/tool"
	"artoo/tool/sweep"
)

// billing is a model that counts a token for four bytes, breaks its first replies
// off somewhere, and adds up the tokens that it read and wrote. It lives in memory:
// the waits between tries cost no time.
type billing struct {
	*rand.Rand
	build         providertest.Builder
	faults        int  // so many requests fail
	hangs         bool // the last of them by silence, in which the user interrupts
	interrupt     func()
	asked         int
	input, output int // tokens it read and wrote
}

// piece is a part of a reply, and the word that ends it.
type piece struct {
	mark  string
	bytes int
}

// answer is a reply that reports its usage.
func (b *billing) answer(input int) (providertest.Reply, []piece) {
	var items []providertest.Item
	var pieces []piece
	say := func(n int) (texts []string) {
		for range n {
			mark := fmt.Sprintf("mark%dend", len(pieces))
			text := strings.Repeat("more and more of it ", 1+b.IntN(30)) + mark
			texts, pieces = append(texts, text), append(pieces, piece{mark, len(text)})
		}
		return texts
	}
	if b.IntN(2) == 0 {
		items = append(items, providertest.Reason(say(1+b.IntN(20))...))
	}
	items = append(items, providertest.Text(say(1+b.IntN(20))...))
	if b.IntN(2) == 0 {
		items = append(items, providertest.Call("c1", "look", `{"arg":"`+say(1)[0]+`"}`))
	}
	size := 0
	for _, p := range pieces {
		size += p.bytes
	}
	return b.build(append(items, providertest.Usage(provider.Usage{Input: input, Output: size / 4}))...), pieces
}

// RoundTrip implements http.RoundTripper.
func (b *billing) RoundTrip(r *http.Request) (*http.Response, error) {
	send := func(status int, kind string, body io.Reader) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(body),
			Request: r}, nil
	}
	if strings.HasSuffix(r.URL.Path, "/api/show") {
		show := providertest.OllamaShow(200_000, "completion", "tools", "thinking")
		return send(200, show.ContentType, bytes.NewReader(show.Body))
	}
	request, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	input := len(request) / 4
	if b.asked++; b.asked > b.faults {
		reply, pieces := b.answer(input)
		if bytes.Contains(request, []byte("mark")) { // a result has come back
			reply, pieces = b.build(providertest.Text("markdone"),
				providertest.Usage(provider.Usage{Input: input, Output: 2})), []piece{{"markdone", 8}}
		}
		b.count(reply.Body, pieces, input)
		return send(200, reply.ContentType, bytes.NewReader(reply.Body))
	}
	if b.IntN(4) == 0 {
		return send(503, "application/json", strings.NewReader(`{"error":{"message":"busy"}}`))
	}
	reply, pieces := b.answer(input)
	sent := reply.Body[:b.IntN(len(reply.Body)*9/10)]
	b.count(sent, pieces, input)
	end := &failing{err: io.ErrUnexpectedEOF}
	if b.hangs && b.asked == b.faults {
		end.wait, end.silent = r.Context(), b.interrupt
	}
	return send(200, reply.ContentType, io.MultiReader(bytes.NewReader(sent), end))
}

// count adds up the sent part of a reply.
func (b *billing) count(sent []byte, pieces []piece, input int) {
	wrote := 0
	for _, p := range pieces {
		if bytes.Contains(sent, []byte(p.mark)) {
			wrote += p.bytes
		}
	}
	if wrote > 0 {
		b.input += input
		b.output += wrote / 4
	}
}

// failing is the end of a reply that breaks, after the silence of a context.
type failing struct {
	err    error
	wait   context.Context
	silent func() // called when the silence begins
}

func (f *failing) Read([]byte) (int, error) {
	if f.wait != nil {
		f.silent()
		<-f.wait.Done()
		return 0, f.wait.Err()
	}
	return 0, f.err
}

// After any break, retry or interrupt, the cost that artoo reports is never much less
// than the server's.
func TestWhatBreaksOffOfAnyRunIsCounted(t *testing.T) {
	for _, wire := range allWires() {
		t.Run(wire.name, func(t *testing.T) {
			for _, seed := range sweep.Cases(t, 15, 60) {
				synctest.Test(t, func(t *testing.T) { playBill(t, wire, uint64(seed)) })
			}
		})
	}
}

func playBill(t *testing.T, wire spoken, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 9))
	server := &billing{Rand: random, build: wire.build, faults: random.IntN(7), hangs: seed%3 == 0}
	look := tool.New(tool.Def{Name: "look", Description: "looks", Kind: tool.KindRead},
		func(_ context.Context, _ *tool.Env, _ struct {
			Arg string `json:"arg"`
		}) (tool.Access, error) {
			return tool.Access{Kind: tool.KindRead, Verb: "look"}, nil
		},
		func(context.Context, *tool.Env, struct {
			Arg string `json:"arg"`
		}, io.Writer) (tool.Result, error) {
			return tool.Result{Text: "seen, mark"}, nil
		})
	system := strings.Repeat("Be of use to whoever asks. ", 300)
	a, err := agent.New(agent.Options{
		Model: agent.Model{
			Provider: &provider.Retrier{Provider: wire.make("http://model.test", &http.Client{Transport: server}),
				Rand: func() float64 { return 0 }},
			Name: wire.name, Defaults: provider.Options{Model: "test-model", MaxTokens: 8000},
			Info: provider.ModelInfo{Context: 200_000, Price: &provider.Price{Input: 3, Output: 15}},
		},
		System: system, Tools: []tool.Tool{look}, Env: &tool.Env{Dir: "/w"}, MaxContextTokens: 150_000,
		Sessions: agent.Sessions{Ephemeral: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server.interrupt = stop
	response, _ := a.SendMessage(ctx, "go", agent.NopCallbacks{}) // it may fail: the tries may run out
	told := float64(response.Usage.Prompt())*3 + float64(response.Usage.Output)*15
	meant := float64(server.input)*3 + float64(server.output)*15
	if told < 0.8*meant || response.Usage.Output < server.output*8/10 || response.Usage.Prompt() < server.input*8/10 {
		t.Errorf("seed %d: artoo counts %+v after %d requests, the server %d and %d tokens", seed, response.Usage,
			server.asked, server.input, server.output)
	}
	if lost := server.faults > 0 && server.output > 0; !lost && response.Usage.Estimated {
		t.Errorf("seed %d: nothing was lost, yet the count is marked as an estimate", seed)
	}
	if told > 2*meant+float64(len(system)) && meant > 0 {
		t.Errorf("seed %d: artoo counts %+v, more than twice the server's %d and %d tokens", seed, response.Usage,
			server.input, server.output)
	}
}
