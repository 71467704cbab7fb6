package mcpserve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/mcp"
	"artoo/tool/sweep"
	"artoo/ui/result"
)

// host obeys the prompt of a call: "wait" until the end of its context, "crash", or ask its question.
type host struct {
	question agent.Question
	began    chan Call // gets the calls that wait
	approved atomic.Int32
}

func (h *host) Run(ctx context.Context, call Call, client Client) result.Result {
	result := func(text string, failure *agent.Failure) result.Result {
		code := 0
		if failure != nil {
			code = failure.Kind.ExitCode()
		}
		return result.New(result.Info{SessionID: "s1", Provider: "fake", Sandbox: "none", Began: time.Now()}, &agent.Response{Text: text}, failure, code)
	}
	switch call.Prompt {
	case "wait":
		h.began <- call
		<-ctx.Done()
		return result("so far", agent.Classify(context.Cause(ctx)))
	case "crash":
		panic("a bug")
	case "ask":
		client.Report("before")
		answer, err := client.Ask(ctx, h.question)
		if context.Cause(ctx) != nil {
			err = context.Cause(ctx)
		}
		client.Report("after \x1b[31m")
		if err == nil && answer.Verdict != agent.No {
			h.approved.Add(1)
		}
		if errors.Is(err, agent.ErrNobody) {
			err = &agent.Failure{Kind: agent.KindApproval, Err: err, Hint: "artoo --allow 'note'"}
		}
		return result(fmt.Sprintf("%s|%s|%s|%v|%v", answer.Verdict, answer.Reason, answer.Text, answer.Form.Content, err), agent.Classify(err))
	}
	return result(fmt.Sprintf("%s in %s of %s; answers %v", call.Prompt, call.Dir, call.Session, client.Answers()), nil)
}

var approval = agent.Question{ID: "q1", Kind: agent.QuestionApproval, Reason: "no rule allows it", Rule: "note(x)", Covers: func(string) error { return nil },
	Call: agent.Call{ToolCall: provider.ToolCall{ID: "c1", Name: "note", Input: json.RawMessage(`{"text":"x"}`)},
		Access: tool.Access{Kind: tool.KindWrite, Verb: "note", Object: "x a word", Diff: "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a word\n"}}}

// served is a server whose streams are pipes.
type served struct {
	in  *io.PipeWriter
	out *io.PipeReader
	end chan error
	log *strings.Builder
}

func serve(t *testing.T, h Host, wait time.Duration) served {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := served{inW, outR, make(chan error, 1), &strings.Builder{}}
	var mu sync.Mutex
	go func() {
		s.end <- Serve(context.Background(), Options{In: inR, Out: outW, Host: h, Version: "1", Wait: wait,
			Log: func(text string) { mu.Lock(); defer mu.Unlock(); s.log.WriteString(text) }})
		outW.Close()
	}()
	t.Cleanup(func() {
		inW.Close()
		go func() { _, _ = io.Copy(io.Discard, outR) }()
		if err := <-s.end; err != nil {
			t.Error(err)
		}
	})
	return s
}

// eras are the versions that a client begins with; "" is the newest.
var eras = map[string]string{"legacy": "2025-11-25", "modern": ""}

// connect is a client of the library's.
func connect(t *testing.T, s served, version string, opt *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opt)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: s.out, Writer: s.in}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func textOf(result *sdk.CallToolResult) string {
	var all []string
	for _, c := range result.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return strings.Join(all, "\n")
}

// A result is text and an object that its schema allows, in both eras; the error of a call is its result.
func TestResults(t *testing.T) {
	t.Parallel()
	for name, version := range eras {
		t.Run(name, func(t *testing.T) {
			session := connect(t, serve(t, &host{}, 0), version, nil)
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 1 {
				t.Fatalf("%+v, %v", tools, err)
			}
			data, _ := json.Marshal(tools.Tools[0].OutputSchema)
			var plain struct{ Properties map[string]any }
			if err := json.Unmarshal(data, &plain); err != nil || len(plain.Properties) == 0 {
				t.Fatalf("%s: %v", data, err)
			}
			for name, property := range plain.Properties {
				if _, object := property.(map[string]any); !object { // Clients in TypeScript refuse all tools then.
					t.Errorf("the schema of %s is %v", name, property)
				}
			}
			var schema jsonschema.Schema
			if err := json.Unmarshal(data, &schema); err != nil {
				t.Fatal(err)
			}
			resolved, err := schema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range []struct {
				arguments string
				bad       bool
				want      string
			}{
				{`{"prompt":"hi","cwd":"/p","session":"s0"}`, false, "hi in /p of s0; answers false\nsession s1 continues this"},
				{`{"prompt":" "}`, true, "artoo: the prompt is empty"},
				{`{}`, true, "artoo: the prompt is empty"},
				{`{"prompt":7}`, true, "artoo: the arguments do not match the tool's schema: "},
				{`{"prompt":"hi","mode":"auto"}`, true, "artoo: the arguments do not match the tool's schema: "},
				{`{"prompt":"crash"}`, true, "artoo: artoo crashed in this call"},
			} {
				result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "artoo", Arguments: json.RawMessage(row.arguments)})
				if err != nil {
					t.Errorf("%s: %v", row.arguments, err)
					continue
				}
				if got := textOf(result); result.IsError != row.bad || !strings.HasPrefix(got, row.want) {
					t.Errorf("%s: %v, %s", row.arguments, result.IsError, got)
				}
				if err := resolved.Validate(result.StructuredContent); err != nil {
					t.Errorf("%s: %v", row.arguments, err)
				}
			}
			if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "other"}); err == nil {
				t.Error("another tool is there")
			}
		})
	}
}

// Questions are forms in both eras; nothing but an accepted answer approves.
func TestQuestions(t *testing.T) {
	t.Parallel()
	form := agent.Question{ID: "q1", Kind: agent.QuestionForm, Form: &mcp.Request{Server: "web", Message: "Who?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		Fields: []mcp.Field{{Name: "name", Type: mcp.TextField}}}}
	address := agent.Question{ID: "q1", Kind: agent.QuestionForm, Form: &mcp.Request{Server: "web", Message: "Sign.", URL: "https://example.org/sign"}}
	choice := agent.Question{ID: "q1", Kind: agent.QuestionChoice, Text: "Which?", Choices: []string{"red", "blue"}}
	accept := func(content map[string]any) *sdk.ElicitResult {
		return &sdk.ElicitResult{Action: "accept", Content: content}
	}
	for _, row := range []struct {
		name     string
		question agent.Question
		result   *sdk.ElicitResult // nil: the client shows no forms
		want     string
	}{
		{"yes", approval, accept(map[string]any{"answer": "yes"}), "yes|||map[]|<nil>"},
		{"no with a reason", approval, accept(map[string]any{"answer": "no", "reason": "later"}), "no|later||map[]|<nil>"},
		{"session", approval, accept(map[string]any{"answer": "session"}), "session|||map[]|<nil>"},
		{"declined", approval, &sdk.ElicitResult{Action: "decline"}, "no|||map[]|<nil>"},
		{"declined with an answer", approval, &sdk.ElicitResult{Action: "decline", Content: map[string]any{"answer": "yes"}}, "no|||map[]|<nil>"},
		{"cancelled", approval, &sdk.ElicitResult{Action: "cancel"}, "no|||map[]|the client gave no answer: no one can answer (headless run)"},
		{"no forms", approval, nil, "no|||map[]|no one can answer (headless run)"},
		{"a form", form, accept(map[string]any{"name": "Ada"}), "yes|||map[name:Ada]|<nil>"},
		{"a form that is cancelled", form, &sdk.ElicitResult{Action: "cancel"}, "cancel|||map[]|<nil>"},
		{"an address", address, accept(nil), "yes|||map[]|<nil>"},
		{"a choice", choice, accept(map[string]any{"answer": "yes", "text": "blue"}), "yes||blue|map[]|<nil>"},
	} {
		for name, version := range eras {
			t.Run(row.name+" "+name, func(t *testing.T) {
				var asked []*sdk.ElicitParams
				steps := make(chan string, 2)
				opt := &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
					steps <- fmt.Sprint(r.Params.Progress, r.Params.Message)
				}}
				if row.result != nil {
					opt.Capabilities = &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}}
					opt.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						asked = append(asked, r.Params)
						return row.result, nil
					}
				}
				session := connect(t, serve(t, &host{question: row.question}, 0), version, opt)
				params := &sdk.CallToolParams{Name: "artoo", Arguments: map[string]any{"prompt": "ask"}, Meta: sdk.Meta{"progressToken": "p"}}
				result, err := session.CallTool(t.Context(), params)
				if err != nil {
					t.Fatal(err)
				}
				if got := textOf(result); !strings.HasPrefix(got, row.want+"\n") {
					t.Errorf("%s", got)
				}
				for _, want := range []string{"1before", "2after ^[[31m"} {
					if got := <-steps; got != want { // The library may hand it over after the result.
						t.Errorf("progress: %q", got)
					}
				}
				switch {
				case row.result == nil:
					if asked != nil || !strings.Contains(textOf(result), "try: artoo --allow 'note'") {
						t.Errorf("asked %+v, %s", asked, textOf(result))
					}
				case len(asked) != 1:
					t.Errorf("asked %+v", asked)
				case row.question.Kind == agent.QuestionApproval:
					for _, part := range []string{"note x a word?\n", "+a word\n", "asked because no rule allows it", "session and forever allow note(x)"} {
						if !strings.Contains(asked[0].Message, part) {
							t.Errorf("no %q in %s", part, asked[0].Message)
						}
					}
					if data, _ := json.Marshal(asked[0].RequestedSchema); !strings.Contains(string(data), `"enum":["yes","no","session","forever","stop"]`) {
						t.Errorf("%s", data)
					}
				case row.question.Form != nil && asked[0].URL != row.question.Form.URL:
					t.Errorf("%+v", asked[0])
				}
			})
		}
	}
}

// rawClient writes lines and reads them.
type rawClient struct {
	*testing.T
	served
	lines *bufio.Scanner
	last  int
}

func raw(t *testing.T, s served) *rawClient {
	lines := bufio.NewScanner(s.out)
	lines.Buffer(nil, 1<<20)
	return &rawClient{t, s, lines, 0}
}

func (c *rawClient) send(line string) {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.Fatal(err)
	}
}

// answer is the line with an id.
func (c *rawClient) answer(id int) (m struct {
	ID     any
	Error  json.RawMessage
	Result struct {
		ResultType        string
		RequestState      string
		InputRequests     map[string]json.RawMessage
		IsError           bool
		StructuredContent result.Result
	}
}) {
	c.Helper()
	for c.lines.Scan() {
		m.ID, m.Error = nil, nil
		if err := json.Unmarshal(c.lines.Bytes(), &m); err != nil {
			c.Fatalf("%v: %s", err, c.lines.Text())
		}
		if m.ID == float64(id) {
			return m
		}
	}
	c.Fatalf("no answer to %d", id)
	return m
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"progressToken":"p"}`

// call sends a call of the modern era.
func (c *rawClient) call(prompt, more string) (id int) {
	c.last++
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"artoo","arguments":{"prompt":%q},%s%s}}`, c.last, prompt, modernMeta, more))
	return c.last
}

// A question of the modern era waits for the next call: with its state, its arguments and its answer, once.
func TestAStateCountsOnce(t *testing.T) {
	t.Parallel()
	h := &host{question: approval}
	c := raw(t, serve(t, h, 0))
	first := c.answer(c.call("ask", "")).Result
	if first.ResultType != "input_required" || len(first.RequestState) < 20 || first.InputRequests["q1"] == nil {
		t.Fatalf("%+v", first)
	}
	yes := `,"inputResponses":{"q1":{"action":"accept","content":{"answer":"yes"}}},"requestState":`
	for _, wrong := range [][2]string{{"ask", "unknown"}, {"other", first.RequestState}} {
		if r := c.answer(c.call(wrong[0], yes+`"`+wrong[1]+`"`)).Result; !r.IsError || r.StructuredContent.Error.Kind != "usage" {
			t.Errorf("%+v", r)
		}
	}
	// Without the answer the question is asked again, under another state.
	second := c.answer(c.call("ask", `,"inputResponses":{},"requestState":"`+first.RequestState+`"`)).Result
	if second.InputRequests["q1"] == nil || second.RequestState == first.RequestState {
		t.Fatalf("%+v", second)
	}
	if r := c.answer(c.call("ask", yes+`"`+first.RequestState+`"`)).Result; !r.IsError {
		t.Errorf("a state that was used counts: %+v", r)
	}
	if r := c.answer(c.call("ask", "")).Result; r.RequestState != "" { // An answer that does not count is none.
		r = c.answer(c.call("ask", `,"inputResponses":{"q1":{"action":"accept","content":{"answer":"perhaps"}}},"requestState":"`+r.RequestState+`"`)).Result
		if e := r.StructuredContent.Error; e == nil || e.Kind != "approval" || !strings.Contains(e.Message, `"perhaps" is not an answer`) {
			t.Errorf("%+v", r)
		}
	}
	if h.approved.Load() != 0 {
		t.Error("approved")
	}
	if r := c.answer(c.call("ask", yes+`"`+second.RequestState+`"`)).Result; r.IsError || r.ResultType != "complete" || h.approved.Load() != 1 {
		t.Errorf("%+v", r)
	}
}

// A question to which the client brings no answer ends its run after a while.
func TestAnAnswerThatNeverComes(t *testing.T) {
	t.Parallel()
	s := serve(t, &host{question: approval}, time.Millisecond)
	c := raw(t, s)
	state := c.answer(c.call("ask", "")).Result.RequestState
	for { // The run ends by itself; its place is then free.
		r := c.answer(c.call("ask", `,"inputResponses":{},"requestState":"`+state+`"`)).Result
		if r.RequestState == "" {
			if !r.IsError {
				t.Errorf("%+v", r)
			}
			break
		}
		state = r.RequestState
	}
}

// A cancelled call ends its run, and answers with the run's result. So does the end of the input, in bounded time.
func TestCancel(t *testing.T) {
	t.Parallel()
	h := &host{began: make(chan Call)}
	s := serve(t, h, 0)
	c := raw(t, s)
	one, two := c.call("wait", ""), c.call("wait", "")
	<-h.began
	<-h.began
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, one))
	r := c.answer(one).Result
	if e := r.StructuredContent.Error; !r.IsError || e == nil || e.Kind != "interrupted" || e.Message != "cancelled by the client" || r.StructuredContent.Result != "so far" {
		t.Errorf("%+v", r)
	}
	c.in.Close()
	if r := c.answer(two).Result; r.StructuredContent.Error == nil || r.StructuredContent.Error.Message != "the client is gone" {
		t.Errorf("%+v", r)
	}
	if err := <-s.end; err != nil {
		t.Error(err)
	}
	s.end <- nil
}

// So many calls run at once, and no more.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	h := &host{began: make(chan Call)}
	c := raw(t, serve(t, h, 0))
	var ids []int
	for range mostRuns {
		ids = append(ids, c.call("wait", ""))
		<-h.began
	}
	if r := c.answer(c.call("hi", "")).Result; !r.IsError || !strings.Contains(r.StructuredContent.Error.Message, "16 calls run already") {
		t.Errorf("%+v", r)
	}
	for _, id := range ids {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		c.answer(id)
	}
	if r := c.answer(c.call("hi", "")).Result; r.IsError {
		t.Errorf("%+v", r)
	}
}

// A line that is no message is answered, and the next one counts.
func TestBrokenLines(t *testing.T) {
	t.Parallel()
	c := raw(t, serve(t, &host{}, 0))
	for _, row := range []struct {
		line string
		code string
	}{{"x", "-32700"}, {"{", "-32700"}, {"[]", "-32600"}, {"7", "-32600"}, {`{"jsonrpc":"2.0"}`, "-32600"}, {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, "-32600"},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "-32600"}, {strings.Repeat("x", maxLine), "-32600"}} {
		c.send(row.line)
		if !c.lines.Scan() || !strings.Contains(c.lines.Text(), `"code":`+row.code) || !strings.Contains(c.lines.Text(), `"id":null`) {
			t.Errorf("%.40q: %s", row.line, c.lines.Text())
		}
	}
	c.send("")
	if r := c.answer(c.call("hi", "")).Result; r.IsError {
		t.Errorf("%+v", r)
	}
}

// Random lines end in no hang, no crash and no call that was not approved.
func TestAnyLines(t *testing.T) {
	t.Parallel()
	const lines = 1000
	for _, seed := range sweep.Cases(t, 2, 10) {
		h := &host{question: approval}
		s := serve(t, h, 0)
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		pick := func(list ...string) string { return list[r.IntN(len(list))] }
		value := func() string {
			return pick(`null`, `1`, `-1e9`, `"x"`, `[]`, `{}`, `true`, `"ask"`, `{"q1":{"action":"accept","content":{"answer":"yes"}}}`, `{"action":"accept","content":{"answer":"yes"}}`)
		}
		go func() {
			for i := range lines {
				var line string
				switch r.IntN(5) {
				case 0: // bytes
					raw := make([]byte, r.IntN(60))
					for k := range raw {
						raw[k] = byte(r.IntN(256))
					}
					line = strings.ReplaceAll(string(raw), "\n", " ")
				case 1: // answers to questions that have other ids
					line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, 1_000_000+r.IntN(1_000_000), value())
				default:
					fields := []string{pick(modernMeta, `"_meta":{}`, `"_meta":null`, `"protocolVersion":"2025-11-25"`)}
					for range r.IntN(6) {
						fields = append(fields, pick(`"name"`, `"arguments"`, `"inputResponses"`, `"requestState"`, `"requestId"`, `"cursor"`, `"capabilities"`, `"notifications"`)+":"+value())
					}
					if r.IntN(3) == 0 {
						fields = append(fields, `"name":"artoo"`, `"arguments":{"prompt":"`+pick("ask", "hi")+`"}`)
					}
					line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, 100+i,
						pick("initialize", "server/discover", "tools/list", "tools/call", "tools/call", "ping", "notifications/cancelled", "notifications/initialized", "notifications/progress",
							"subscriptions/listen", "prompts/get", "completion/complete", "logging/setLevel", "elicitation/create", ""), strings.Join(fields, ","))
					if r.IntN(8) == 0 {
						line = line[:r.IntN(len(line))]
					}
				}
				if _, err := io.WriteString(s.in, line+"\n"); err != nil {
					t.Error(err)
					return
				}
			}
			c := &rawClient{T: t, served: s}
			c.call("hi", "")
		}()
		c := raw(t, s)
		c.answer(1)
		if h.approved.Load() != 0 {
			t.Errorf("%d calls were approved", h.approved.Load())
		}
		if s.log.Len() > 0 {
			t.Error(s.log.String())
		}
	}
}

// FuzzLines sends a client's lines, broken ones too: each answer is a message, the end comes, and nothing crashes.
func FuzzLines(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"artoo","arguments":{"prompt":"hi"},` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"artoo","arguments":{"prompt":"ask"},` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":"e1","result":{"action":"accept","content":{"answer":"no"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":7}}`, "{", "[]", "",
	} {
		f.Add([]byte(line + "\n"))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(in, []byte(`crash`)) || bytes.Contains(in, []byte(`wait`)) {
			return // The host crashes, or waits for the test, if it is told to.
		}
		var out bytes.Buffer
		if err := Serve(t.Context(), Options{In: bytes.NewReader(in), Out: &out, Host: &host{question: approval}, Version: "1",
			Log: func(text string) { t.Error(text) }}); err != nil {
			t.Error(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("%q", line)
			}
		}
	})
}
