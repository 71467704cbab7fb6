package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sort"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/openai"
	"artoo/provider/providertest"
	"artoo/tool"
)

// patient is a model that takes so many steps in each turn, in a window, and counts
// four bytes of a request as a token. It looks at every request it gets.
type patient struct {
	t       testing.TB
	window  int
	perTurn int
	result  int // bytes of a result

	each         func(requests int) // called at each request; may be nil
	requests     int
	step         int // of the turn
	before       []byte
	bytes, same  int64 // of all requests, and of them those that repeat the one before
	broken       int   // requests that repeat less than half of the one before
	largest      int   // request in tokens
	lastNote     string
	heap, halfed uint64 // bytes in use at the end and half-way
}

const charsPerToken = 4

func (p *patient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = providertest.Validate("chat", body)
	}
	if err != nil {
		p.t.Errorf("request %d: %v", p.requests, err)
	}
	p.requests++
	same := sort.Search(min(len(body), len(p.before)), func(i int) bool { return !bytes.Equal(body[:i+1], p.before[:i+1]) })
	if p.before != nil {
		p.bytes, p.same = p.bytes+int64(len(body)), p.same+int64(same)
		if same < len(p.before)/2 {
			p.broken++
		}
	}
	p.before = body
	tokens := len(body) / charsPerToken
	p.largest = max(p.largest, tokens)
	if i := strings.LastIndex(string(body), "was left out to save room"); i >= 0 {
		p.lastNote = string(body[i:min(len(body), i+3000)])
	}
	said := fmt.Sprintf("Step %d: I look at the next part, and then at what follows from it.", p.requests)
	usage := providertest.Usage(provider.Usage{Input: tokens, Output: (len(said) + 40) / charsPerToken})
	reply := providertest.Chat(providertest.Text("Done: the parts were looked at."), usage)
	if p.step++; p.step%p.perTurn != 0 {
		args := fmt.Sprintf(`{"arg":"part %d"}`, p.requests)
		reply = providertest.Chat(providertest.Text(said), providertest.Call(fmt.Sprint("c", p.requests), "look", args), usage)
	}
	w.Header().Set("Content-Type", reply.ContentType)
	if _, err := w.Write(reply.Body); err != nil {
		p.t.Error(err)
	}
}

// look is the tool that the model calls: no two results are the same.
func (p *patient) look() tool.Tool {
	type args struct {
		Arg string `json:"arg"`
	}
	return tool.New(tool.Def{Name: "look", Description: "Looks at a part and says what is there.", Kind: tool.KindRead},
		func(context.Context, *tool.Env, args) (tool.Access, error) {
			return tool.Access{Kind: tool.KindRead, Verb: "look"}, nil
		},
		func(_ context.Context, _ *tool.Env, a args, _ io.Writer) (tool.Result, error) {
			var text strings.Builder
			for i := 0; text.Len() < p.result; i++ {
				fmt.Fprintf(&text, "%s, line %d: %s\n", a.Arg, i, strings.Repeat("word ", 5+(i*7+p.requests)%9))
			}
			return tool.Result{Text: text.String()}, nil
		})
}

// longRun lets the model take so many steps.
func longRun(t testing.TB, p *patient, steps int) {
	p.t = t
	server := httptest.NewServer(p)
	defer server.Close()
	reply := min(8192, p.window/4)
	a := chatAgent(t, server.URL, agent.Options{
		Model: agent.Model{Defaults: provider.Options{MaxTokens: reply}, Info: provider.ModelInfo{Context: p.window, Tools: true}},
		Tools: []tool.Tool{p.look()}, Limits: agent.Limits{MaxTurns: p.perTurn + 10},
		MaxContextTokens: p.window - reply, ToolResultMaxChars: 10_000,
	})
	for turn := 0; p.requests < steps; turn++ {
		if _, err := a.SendMessage(t.Context(), fmt.Sprintf("task %d: look at all parts", turn), agent.NopCallbacks{}); err != nil {
			t.Fatalf("after %d requests: %v", p.requests, err)
		}
		if p.halfed == 0 && p.requests >= steps/2 {
			p.halfed = inUse()
		}
		if p.each != nil {
			p.each(p.requests)
		}
	}
	p.heap = inUse()
	if most := p.window - reply; p.largest > most {
		t.Errorf("a request has %d tokens of a budget of %d", p.largest, most)
	}
}

// chatAgent is an agent of a compatible server; it fills in the other options.
func chatAgent(t testing.TB, url string, o agent.Options) *agent.Agent {
	key := func(context.Context) (string, error) { return "sk-test", nil }
	o.Model.Provider = &openai.Chat{Server: provider.Server{Name: "compatible", BaseURL: url + "/v1", Key: key,
		HTTP: &http.Client{Transport: &http.Transport{}}, Local: true}, Quirks: openai.QuirksFor("compatible")}
	o.Model.Name, o.Model.Defaults.Model = "compatible", "test-model"
	o.System = strings.Repeat("Be of use and say what you do. ", 100)
	o.Env = &tool.Env{Dir: "/w"}
	o.Sessions = agent.Sessions{Store: conversation.Store{Dir: t.TempDir()}}
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// share is how much of all requests repeats the one before.
func (p *patient) share() float64 { return float64(p.same) / float64(p.bytes) }

// A conversation goes on for as long as the user likes: no request is over the budget,
// none is refused for its content, nearly all of each repeats the one before, and
// nothing grows. A note reminds the model of its work in messages that are no longer
// sent. make bench takes ten times as many steps.
func TestLongRuns(t *testing.T) {
	for _, c := range []struct {
		window, perTurn, steps, result int
		share                          float64 // of a request that repeats the one before, at least
		every                          int     // so many requests there are at least for one that does not
	}{
		{window: 32_768, perTurn: 50, steps: 200, result: 900, share: 0.9, every: 10},
		{window: 8192, perTurn: 250, steps: 250, result: 900, share: 0.8, every: 8},
		{window: 4096, perTurn: 250, steps: 250, result: 600, share: 0.8, every: 4}, // ten steps more do not fit
		{window: 32_768, perTurn: 100, steps: 100, result: 6000, share: 0.8, every: 8},
	} {
		t.Run(fmt.Sprintf("%d tokens, turns of %d, results of %d", c.window, c.perTurn, c.result), func(t *testing.T) {
			p := &patient{window: c.window, perTurn: c.perTurn, result: c.result}
			longRun(t, p, c.steps)
			if p.share() < c.share || p.requests < c.every*p.broken {
				t.Errorf("%.3f of what is sent repeats the request before; %d of %d requests do not", p.share(), p.broken, p.requests)
			}
			if p.heap > p.halfed*3/2+1<<20 {
				t.Errorf("%d KB are in use, half-way %d KB", p.heap>>10, p.halfed>>10)
			}
			if !strings.Contains(p.lastNote, "you said: ") {
				t.Errorf("the model is told %q", p.lastNote)
			}
		})
	}
}
