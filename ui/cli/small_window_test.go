package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/providertest"
	"artoo/tool"
	"artoo/tool/sweep"
)

// narrow is a model with a small window that counts every so many bytes of a
// request as a token, and refuses requests that are too long.
type narrow struct {
	*rand.Rand
	wire    spoken
	window  int
	per     int  // bytes of a token
	llama   bool // it refuses in llama-server's words, else in those of the wire's maker
	refused int
	calls   int
}

// refusal is the server's error for so many tokens.
func (n *narrow) refusal(tokens int) (int, string) {
	said := map[string]string{
		"anthropic": fmt.Sprintf(
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: %d tokens > %d maximum"}}`, tokens, n.window),
		"chat": fmt.Sprintf(
			`{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages."}}`, n.window, tokens),
		"responses": `{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again."}}`,
		"gemini": fmt.Sprintf(
			`{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (%d) exceeds the maximum number of tokens allowed (%d)."}}`, tokens, n.window),
		"ollama":   `{"error":"the input length exceeds the context length"}`,
		"converse": `{"message":"Input is too long for requested model."}`,
	}[n.wire.name]
	if n.llama {
		said = fmt.Sprintf(
			`{"error":{"code":400,"message":"request (%d tokens) exceeds the available context size (%d tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":%d,"n_ctx":%d}}`,
			tokens, n.window, tokens, n.window)
	}
	return http.StatusBadRequest, said
}

var replyLimit = regexp.MustCompile(
	`"(?:max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens|maxTokens|num_predict)":(\d+)`)

// RoundTrip implements http.RoundTripper.
func (n *narrow) RoundTrip(r *http.Request) (*http.Response, error) {
	send := func(status int, kind string, body []byte) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}},
			Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
	}
	if strings.HasSuffix(r.URL.Path, "/api/show") {
		show := providertest.OllamaShow(n.window, "completion", "tools")
		return send(200, show.ContentType, show.Body)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if !json.Valid(body) {
		return send(400, "application/json", []byte(`{"error":{"message":"no JSON"}}`))
	}
	tokens := (len(body) + n.per - 1) / n.per
	if tokens >= n.window {
		n.refused++
		status, said := n.refusal(tokens)
		return send(status, "application/json", []byte(said))
	}
	limit := n.window - tokens
	if m := replyLimit.FindSubmatch(body); m != nil {
		asked, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return nil, err
		}
		limit = min(limit, asked)
	}
	reply := n.answer(body, tokens, limit)
	return send(200, reply.ContentType, reply.Body)
}

// answer speaks or calls, within so many tokens.
func (n *narrow) answer(body []byte, tokens, limit int) providertest.Reply {
	usage := func(size int) providertest.Item {
		return providertest.Usage(provider.Usage{Input: tokens, Output: max(1, size/n.per)})
	}
	if args := `{"arg":"piece"}`; n.IntN(3) == 0 && limit*n.per > len(args) {
		n.calls++
		return n.wire.build(providertest.Call(fmt.Sprintf("c%d", n.calls), "look", args), usage(len(args)))
	}
	size := 20 + n.IntN(n.window*n.per/5)
	if bytes.Contains(body, []byte("in fewer words]")) {
		size = min(size, 100)
	}
	text := strings.Repeat("A sentence of the answer. ", size/26+1)[:size]
	if size <= limit*n.per {
		return n.wire.build(providertest.Text(text), usage(size))
	}
	stop := map[string]string{"anthropic": "max_tokens", "chat": "length", "responses": "max_output_tokens",
		"gemini": "MAX_TOKENS", "ollama": "length", "converse": "max_tokens"}[n.wire.name]
	return n.wire.build(providertest.Text(text[:limit*n.per]), providertest.Stop(stop), usage(limit*n.per))
}

// fifty is a user of such a model, and follows the advice of each error.
type fifty struct {
	*testing.T
	*narrow
	agent *agent.Agent
	info  provider.ModelInfo
	path  int // how long a directory's name is
}

func (f *fifty) begin(system string) {
	look := tool.New(tool.Def{Name: "look", Description: "Looks at something and says what is there.", Kind: tool.KindRead},
		func(context.Context, *tool.Env, struct {
			Arg string `json:"arg"`
		}) (tool.Access, error) {
			return tool.Access{Kind: tool.KindRead, Verb: "look"}, nil
		},
		func(context.Context, *tool.Env, struct {
			Arg string `json:"arg"`
		}, io.Writer) (tool.Result, error) {
			return tool.Result{Text: strings.Repeat("a line of it\n", 1+f.IntN(900))}, nil
		})
	budget := min(180_000, f.info.Context-min(8192, f.info.Context/4))
	output := filepath.Join(f.TempDir(), strings.Repeat("x", f.path)) // its name is part of each request
	var err error
	f.agent, err = agent.New(agent.Options{
		Model: agent.Model{
			Provider: &provider.Retrier{Provider: f.wire.make("http://model.test", &http.Client{Transport: f.narrow}),
				Rand: func() float64 { return 0 }},
			Name: f.wire.name, Defaults: provider.Options{Model: "test-model", MaxTokens: 8192}, Info: f.info,
		},
		System: system, Tools: []tool.Tool{look}, Env: &tool.Env{Dir: "/w"}, Limits: agent.Limits{MaxTurns: 30},
		MaxContextTokens: budget, ToolResultMaxChars: 10_000,
		Sessions: agent.Sessions{Store: conversation.Store{Dir: output}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := f.agent.Close(); err != nil {
			f.Error(err)
		}
	})
}

var mostCharacters = regexp.MustCompile(`at most (\d+) characters`)

// say sends a message and follows the advice of errors until it is answered.
func (f *fifty) say(text string) (told []string) {
	for range 5 {
		_, err := f.agent.SendMessage(f.Context(), text, agent.NopCallbacks{})
		if err == nil {
			return told
		}
		failure := agent.Classify(err)
		told = append(told, failure.Error()+" / "+failure.Hint)
		most := mostCharacters.FindStringSubmatch(failure.Hint)
		switch {
		case failure.Kind == agent.KindCap && strings.Contains(failure.Error(), "steps"):
			return told // the model went on and on: no matter of windows
		case failure.Kind != agent.KindContext:
			f.Fatalf("%q", told)
		case strings.Contains(failure.Hint, "--tools"):
			if len(f.agent.System()) < 1000 {
				f.Fatalf("%q, with a system prompt of %d bytes", told, len(f.agent.System()))
			}
			f.begin("Be brief.")
		case most != nil:
			n, err := strconv.Atoi(most[1])
			if err != nil || n < 50 {
				f.Fatalf("%q", told)
			}
			text = text[:min(n, len(text))]
		case strings.Contains(failure.Hint, "/compact"):
			if _, err := f.agent.Conversation().Compact(); err != nil {
				f.Fatal(err)
			}
		default:
			f.Fatalf("%q names nothing to do", told)
		}
	}
	f.Fatalf("%d tokens of a window of %d: doing what is said does not help: %q",
		f.agent.Conversation().EstimatedTokens(), f.window, told)
	return nil
}

// A model with a small window is never a dead end: each of fifty turns ends in an
// answer, or in an error whose advice works. make crash tries each with both sizes of a token, and twice as many seeds.
func TestAnySmallWindowIsNoDeadEnd(t *testing.T) {
	t.Parallel()
	for w, wire := range allWires() {
		for i, window := range []int{4096, 8192, 32_768} {
			for k, per := range []int{1, 4} {
				if !sweep.Whole(t) && k != (w+i)%2 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%d", wire.name, window, per), func(t *testing.T) {
					t.Parallel()
					// The differences between seeds are tested on every wire in every window,
					// and with both sizes of a token, but not all three at once.
					seeds := [][]uint64{{0, 3}, {1, 2}}[(i+k)%2]
					if !sweep.Whole(t) { // one that knows the window, and in the next wire one that does not
						seeds = seeds[w%2 : w%2+1]
					}
					for _, seed := range seeds {
						synctest.Test(t, func(t *testing.T) {
							n := &narrow{Rand: rand.New(rand.NewPCG(seed, 3)), wire: wire, window: window, per: per,
								llama: seed%2 == 0}
							f := &fifty{T: t, narrow: n, path: 1 + 13*int(seed),
								info: provider.ModelInfo{Context: 128_000, Tools: true, Guess: true}}
							if seed >= 2 {
								f.info = provider.ModelInfo{Context: window, Tools: true}
							}
							f.begin(strings.Repeat("Be of use. ", []int{20, 700}[seed%2]))
							talkFifty(f)
						})
					}
				})
			}
		}
	}
}

func talkFifty(f *fifty) {
	told := 0
	for i := range 50 {
		text := fmt.Sprintf("message %d: what is next?", i)
		switch {
		case i%7 == 3:
			text += strings.Repeat(" a long paste", 1+f.IntN(f.window*f.per/6))
		case i%5 == 1:
			text += strings.Repeat(" some words", 1+f.IntN(40))
		}
		if len(f.say(text)) > 0 {
			told++
		}
	}
	if told > 25 {
		f.Errorf("%d of 50 messages had to be sent again", told)
	}
}
