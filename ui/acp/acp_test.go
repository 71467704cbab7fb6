package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/sweep"
)

// noteTool writes a line that the model makes up, and counts how often it ran.
func noteTool(ran *counter) tool.Tool {
	type input struct {
		Text  string `json:"text"`
		Path  string `json:"path,omitempty"`
		Old   string `json:"old_string,omitempty"`
		New   string `json:"new_string,omitempty"`
		Input string `json:"input,omitempty"`
	}
	return tool.New(tool.Def{Name: "note", Description: "Notes a text.", Kind: tool.KindWrite},
		func(_ context.Context, _ *tool.Env, in input) (tool.Access, error) {
			return tool.Access{Kind: tool.KindWrite, Verb: "note", Object: in.Text, Paths: []string{"/p/notes.txt"},
				Diff: "--- a/notes.txt\n+++ b/notes.txt\n@@ -3,2 +3,2 @@\n same\n-old\n+" + in.Text + "\n"}, nil
		},
		func(_ context.Context, _ *tool.Env, in input, out io.Writer) (tool.Result, error) {
			ran.add()
			fmt.Fprintln(out, "noting")
			return tool.Result{Text: "noted: " + in.Text}, nil
		})
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() { c.mu.Lock(); c.n++; c.mu.Unlock() }

func (c *counter) count() int { c.mu.Lock(); defer c.mu.Unlock(); return c.n }

// host opens sessions whose model plays steps, the same in each session.
type host struct {
	store conversation.Store
	steps []fake.Step
	ran   counter
	noKey bool
}

func (h *host) Store() conversation.Store { return h.store }

func (h *host) Ready() error {
	if h.noKey {
		return &agent.Failure{Kind: agent.KindAuth, Err: errors.New("no key"), Hint: "artoo login"}
	}
	return nil
}

func (h *host) Open(_ context.Context, start Start) (Opened, error) {
	if err := h.Ready(); err != nil {
		return Opened{}, err
	}
	opt := agent.Options{Tools: append(agent.OwnTools(nil), noteTool(&h.ran)), Env: &tool.Env{Dir: start.Dir},
		Model: agent.Model{Provider: &fake.Provider{Steps: slices.Clone(h.steps)}, Name: fake.Name, Defaults: provider.Options{Model: "m"},
			Info: provider.ModelInfo{Context: 100_000}},
		Sessions: agent.Sessions{Store: h.store}}
	if start.ID != "" {
		s, err := h.store.Open(start.ID)
		if err != nil {
			return Opened{}, ErrNotFound
		}
		opt.Sessions.First = s
	}
	opt.Secrets.Mask = func(text string) string { return strings.ReplaceAll(text, "s3cr3t", "‹secret›") }
	a, err := agent.New(opt)
	return Opened{Agent: a, Program: &program{a}}, err
}

type program struct{ agent *agent.Agent }

func (p *program) Models() []string              { return []string{p.agent.Model().String(), "other/x"} }
func (p *program) SwitchModel(name string) error { return errors.New("no key for " + name) }
func (p *program) Notes() []string               { return []string{"this is a test"} }
func (p *program) Commands(context.Context) []Command {
	return []Command{{Name: "compact", Description: "d", Input: &Hint{"h"}}}
}

func (p *program) Send(ctx context.Context, m agent.Message, cb agent.Callbacks) (*agent.Response, error) {
	return p.agent.Send(ctx, m, cb)
}

func (p *program) Close() { _ = p.agent.Close() }

// client is an editor: it holds every line against the schema.
type client struct {
	t       *testing.T
	in      *io.PipeWriter
	last    int
	answers map[int]chan message
	updates []json.RawMessage
	asked   []permissionRequest
	errors  []Error // of lines without an id
	// pick is the answer to a question; "" cancels. ask answers other requests.
	pick   func(permissionRequest) string
	ask    func(method string, params json.RawMessage) any
	mu     sync.Mutex
	valid  func(name string, value json.RawMessage)
	grew   chan struct{}
	served chan struct{}
}

func serve(t *testing.T, h *host) *client {
	t.Helper()
	h.store.Dir = t.TempDir()
	return connect(t, h)
}

func connect(t *testing.T, h *host) *client {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	c := &client{t: t, in: inWrite, answers: map[int]chan message{}, grew: make(chan struct{}, 1), served: make(chan struct{}),
		pick: func(permissionRequest) string { return "yes" }}
	c.valid = validator(t)
	go func() {
		defer close(c.served)
		Serve(t.Context(), Options{In: inRead, Out: outWrite, Log: func(string) {}, Host: h, Version: "1"})
		outWrite.Close()
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewReaderSize(outRead, 2<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			if len(line) > maxOut {
				t.Errorf("a line of %d bytes", len(line))
			}
			c.take(line)
		}
	}()
	t.Cleanup(func() { c.leave(); <-read })
	return c
}

// leave ends the input and waits for the end of the program.
func (c *client) leave() {
	c.in.Close()
	select {
	case <-c.served:
	case <-time.After(10 * time.Second):
		c.t.Error("the program goes on without its editor")
	}
}

func (c *client) take(line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		c.t.Errorf("%v: %s", err, line)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case m.Method == "session/update":
		c.valid("SessionNotification", m.Params)
		var n struct{ Update json.RawMessage }
		_ = json.Unmarshal(m.Params, &n)
		c.updates = append(c.updates, n.Update)
	case m.Method == "session/request_permission":
		c.valid("RequestPermissionRequest", m.Params)
		var r permissionRequest
		_ = json.Unmarshal(m.Params, &r)
		c.asked = append(c.asked, r)
		outcome := map[string]string{"outcome": "cancelled"}
		if id := c.pick(r); id != "" {
			outcome = map[string]string{"outcome": "selected", "optionId": id}
		}
		go c.send(map[string]any{"id": m.ID, "result": map[string]any{"outcome": outcome}})
	case m.Method == "$/cancel_request":
		c.valid("CancelRequestNotification", m.Params)
	case m.Method != "":
		c.valid(map[string]string{"elicitation/create": "CreateElicitationRequest", "fs/read_text_file": "ReadTextFileRequest",
			"fs/write_text_file": "WriteTextFileRequest"}[m.Method], m.Params)
		go c.send(map[string]any{"id": m.ID, "result": c.ask(m.Method, m.Params)})
	case m.Error != nil:
		data, _ := json.Marshal(m.Error)
		c.valid("Error", data)
		fallthrough
	default:
		var id int
		_ = json.Unmarshal(m.ID, &id)
		if waits := c.answers[id]; waits != nil {
			waits <- m
		} else if m.Error != nil {
			c.errors = append(c.errors, *m.Error)
		}
	}
	select {
	case c.grew <- struct{}{}:
	default:
	}
}

func (c *client) send(m map[string]any) {
	m["jsonrpc"] = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		c.t.Error(err)
	}
	_, _ = c.in.Write(append(line, '\n')) // A closed pipe ends the test elsewhere.
}

// begin sends a request; the func waits for its answer, which is held against the schema.
func (c *client) begin(method string, params any) func() (json.RawMessage, *Error) {
	c.mu.Lock()
	c.last++
	id := c.last
	answered := make(chan message, 1)
	c.answers[id] = answered
	c.mu.Unlock()
	c.send(map[string]any{"id": id, "method": method, "params": params})
	return func() (json.RawMessage, *Error) {
		select {
		case m := <-answered:
			if m.Error == nil {
				c.valid(responses()[method], m.Result)
			}
			return m.Result, m.Error
		case <-time.After(30 * time.Second):
			c.t.Errorf("no answer to %s", method)
			return nil, &Error{}
		}
	}
}

func (c *client) request(method string, params any) json.RawMessage {
	c.t.Helper()
	result, err := c.begin(method, params)()
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return result
}

func (c *client) open() string {
	c.t.Helper()
	var out struct{ SessionID string }
	_ = json.Unmarshal(c.request("session/new", map[string]any{"cwd": "/p", "mcpServers": []any{}}), &out)
	if out.SessionID == "" {
		c.t.Fatal("no session")
	}
	return out.SessionID
}

func prompt(id, text string) map[string]any {
	return map[string]any{"sessionId": id, "prompt": []any{map[string]string{"type": "text", "text": text}}}
}

func of(id string) map[string]any {
	return map[string]any{"sessionId": id, "cwd": "/p", "mcpServers": []any{}}
}

// wait waits until an update holds a text.
func (c *client) wait(text string) {
	c.t.Helper()
	for {
		if strings.Contains(c.all(), text) {
			return
		}
		select {
		case <-c.grew:
		case <-time.After(30 * time.Second):
			c.t.Fatalf("no update holds %q: %s", text, c.all())
		}
	}
}

// all is the updates so far, one a line.
func (c *client) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, u := range c.updates {
		b.Write(u)
		b.WriteByte('\n')
	}
	return b.String()
}

func (c *client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates, c.asked = nil, nil
}

func responses() map[string]string {
	return map[string]string{"initialize": "InitializeResponse", "authenticate": "AuthenticateResponse", "session/new": "NewSessionResponse",
		"session/load": "LoadSessionResponse", "session/resume": "ResumeSessionResponse", "session/list": "ListSessionsResponse",
		"session/close": "CloseSessionResponse", "session/delete": "DeleteSessionResponse", "session/prompt": "PromptResponse",
		"session/set_mode": "SetSessionModeResponse", "session/set_config_option": "SetSessionConfigOptionResponse"}
}

// validator holds values against the types of the protocol's schema. Any goroutine may call it.
func validator(t *testing.T) func(name string, value json.RawMessage) {
	data, err := os.ReadFile(filepath.Join("testdata", "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	types := map[string]*jsonschema.Resolved{}
	typeOf := func(name string) (*jsonschema.Resolved, error) {
		mu.Lock()
		defer mu.Unlock()
		if r := types[name]; r != nil {
			return r, nil
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(data, &schema); err != nil {
			return nil, err
		}
		if schema.Defs[name] == nil {
			return nil, fmt.Errorf("the schema has no type %q", name)
		}
		schema.Ref = "#/$defs/" + name
		r, err := schema.Resolve(nil)
		types[name] = r
		return r, err
	}
	return func(name string, value json.RawMessage) {
		resolved, err := typeOf(name)
		var v any
		if err == nil {
			err = json.Unmarshal(value, &v)
		}
		if err == nil {
			err = resolved.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, value)
		}
	}
}

// A session from initialize to its end: texts, questions, calls and plans reach the editor.
func TestASession(t *testing.T) {
	t.Parallel()
	h := &host{steps: []fake.Step{
		{Text: []string{"I ", "note."}, Calls: []provider.ToolCall{fake.ToolCall("1", "note", `{"text":"new"}`),
			fake.ToolCall("2", "todo", `{"items":[{"text":"look","status":"completed"},{"text":"write","status":"in_progress"}]}`)}},
		fake.Say("Done."),
	}}
	c := serve(t, h)
	var hello initializeResponse
	_ = json.Unmarshal(c.request("initialize", map[string]any{"protocolVersion": 7, "clientCapabilities": map[string]any{"auth": map[string]any{"terminal": true}}}), &hello)
	if hello.ProtocolVersion != 1 || hello.AuthMethods[0].Type != "terminal" || !slices.Equal(hello.AuthMethods[0].Args, []string{"login"}) {
		t.Errorf("%+v", hello)
	}
	id := c.open()
	if got := string(c.request("session/prompt", prompt(id, "note something"))); got != `{"stopReason":"end_turn"}` {
		t.Error(got)
	}
	if h.ran.count() != 1 {
		t.Errorf("the call ran %d times", h.ran.count())
	}
	var names []string
	for _, o := range c.asked[0].Options {
		names = append(names, o.ID+" "+o.Kind+" "+o.Name)
	}
	want := "yes allow_once yes|no reject_once no" // no rule covers a tool that rules do not know
	if got := strings.Join(names, "|"); got != want {
		t.Errorf("options %s\nwant %s", got, want)
	}
	c.wait(`"sessionUpdate":"session_info_update","title":"note something"`)
	for _, part := range []string{
		`"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact"`,
		`"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"this is a test"}`,
		`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I "}`,
		`"sessionUpdate":"tool_call","toolCallId":"1","title":"note new","kind":"edit","status":"pending","content":[{"type":"diff","path":"/p/notes.txt","oldText":"same\nold\n","newText":"same\nnew\n"}],"locations":[{"path":"/p/notes.txt","line":3}],"rawInput":{"text":"new"}`,
		`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"noting\n"}}]`,
		`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","content":[{"type":"diff"`,
		`"sessionUpdate":"plan","entries":[{"content":"look","priority":"medium","status":"completed"},{"content":"write","priority":"medium","status":"in_progress"}]`,
		`"sessionUpdate":"usage_update","used":`, `"_meta":{"artoo/model":"fake/m"}`,
	} {
		if !strings.Contains(c.all(), part) {
			t.Errorf("no update has %s in\n%s", part, c.all())
		}
	}
}

// Keys are masked in the titles and the inputs of calls, in questions too.
func TestKeysInCallsAreMasked(t *testing.T) {
	t.Parallel()
	c := serve(t, &host{steps: []fake.Step{fake.Call("1", "note", `{"text":"s3cr3t"}`), fake.Say("Done.")}})
	id := c.open()
	c.request("session/prompt", prompt(id, "go"))
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := 0
	check := func(call toolCall) {
		calls++
		if call.Title != "note ‹secret›" || string(call.RawInput) != `{"text":"‹secret›"}` {
			t.Errorf("title %q, input %s", call.Title, call.RawInput)
		}
	}
	for _, asked := range c.asked {
		asked.Call.Title = strings.TrimSuffix(asked.Call.Title, "?")
		check(asked.Call)
	}
	for _, update := range c.updates {
		var call toolCall
		if err := json.Unmarshal(update, &call); err == nil && call.Kind == "tool_call" {
			check(call)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls are shown", calls)
	}
}

// A title is one row: the first line stands for a call of several.
func TestATitleIsTheFirstLineOfACall(t *testing.T) {
	for object, want := range map[string]string{"make": "run make", "cat > x <<E\n\ttab\nE\n": "run cat > x <<E …"} {
		var call agent.Call
		call.Access.Verb, call.Access.Object = "run", object
		if got := titleOf(call); got != want {
			t.Errorf("%q: %q", object, got)
		}
		q := agent.Question{Kind: agent.QuestionChanges, Call: call}
		if got := q.Title(); strings.ContainsAny(got, "\n\t") || !strings.HasPrefix(got, `apply the changes of "`) {
			t.Errorf("%q is asked as %q", object, got)
		}
	}
}

// After a crash of everything a session goes on: load replays it all, then answers.
func TestLoadReplaysEverything(t *testing.T) {
	t.Parallel()
	h := &host{steps: []fake.Step{{Reasoning: []string{"hm"}, Calls: []provider.ToolCall{fake.ToolCall("1", "note", `{"text":"new"}`),
		fake.ToolCall("2", "note", `{"text":"more","path":"notes.txt","old_string":"old","new_string":"more"}`),
		fake.ToolCall("3", "note", `{"text":"x","input":"*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** Update File: a.txt\n*** Move to: b.txt\n@@ func\n above\n-was\n+is\n*** Delete File: gone.txt\n*** End Patch"}`)}},
		fake.Say("Done."), fake.Say("Again.")}}
	c := serve(t, h)
	id := c.open()
	c.request("session/prompt", prompt(id, "first words"))
	c.leave()
	h.steps = []fake.Step{fake.Say("Third.")}
	c = connect(t, h)
	if _, err := c.begin("session/prompt", prompt(id, "too early"))(); err == nil || err.Code != codeNotFound {
		t.Errorf("a session that is not open: %v", err)
	}
	c.request("session/load", of(id))
	got := c.all()
	for _, part := range []string{`"user_message_chunk","content":{"type":"text","text":"first words"}`, `"text":"hm"`, `"toolCallId":"1","title":"note","kind":"edit"`,
		`"toolCallId":"1","status":"completed","content":[{"type":"content"`, `"type":"diff","path":"/p/notes.txt","oldText":"old","newText":"more"`,
		`"toolCallId":"2","status":"completed","locations"`,
		`"title":"note new.txt, a.txt, b.txt, gone.txt"`, `"type":"diff","path":"/p/new.txt","newText":"one\ntwo\n"`,
		`"type":"diff","path":"/p/b.txt","oldText":"above\nwas\n","newText":"above\nis\n"`, `"toolCallId":"3","status":"completed","locations"`, `"text":"Done."`, `"usage_update"`} {
		if !strings.Contains(got, part) {
			t.Errorf("not replayed: %s in\n%s", part, got)
		}
	}
	c.request("session/prompt", prompt(id, "go on"))
	c.wait(`"text":"Third."`)
	c.request("session/close", of(id))
	c.forget()
	c.request("session/resume", of(id))
	if got := c.all(); strings.Contains(got, "first words") {
		t.Errorf("resume replays: %s", got)
	}
	if got := string(c.request("session/list", map[string]any{"cwd": "/p"})); !strings.Contains(got, `"sessionId":"`+id+`","cwd":"/p","title":"first words"`) {
		t.Error(got)
	}
	c.request("session/delete", of(id))
	c.request("session/delete", of(id))
	if got := string(c.request("session/list", map[string]any{})); got != `{"sessions":[]}` {
		t.Error(got)
	}
	if _, err := c.begin("session/load", of(id))(); err == nil || err.Code != codeNotFound {
		t.Errorf("a session that is deleted: %v", err)
	}
}

// A cancelled turn is answered within a second, also while a question stands, and the call in question does not run.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &host{steps: []fake.Step{fake.Call("1", "note", `{"text":"x"}`), {Gate: fake.NewGate()}}}
		c := serve(t, h)
		asked := make(chan struct{})
		id := c.open()
		c.pick = func(permissionRequest) string { close(asked); return "" }
		wait := c.begin("session/prompt", prompt(id, "note"))
		<-asked
		began := time.Now()
		c.send(map[string]any{"method": "session/cancel", "params": map[string]string{"sessionId": id}})
		result, err := wait()
		if err != nil || string(result) != `{"stopReason":"cancelled"}` || time.Since(began) > time.Second {
			t.Errorf("%s, %v, after %v", result, err, time.Since(began))
		}
		if h.ran.count() != 0 {
			t.Error("the call ran")
		}
	})
}

// Mode and options are set between turns and during one, and come with the whole list.
func TestModesAndOptions(t *testing.T) {
	t.Parallel()
	gate := fake.NewGate()
	h := &host{steps: []fake.Step{{Gate: gate, Calls: []provider.ToolCall{fake.ToolCall("1", "note", `{"text":"x"}`)}}, fake.Say("Done.")}}
	c := serve(t, h)
	id := c.open()
	if got := string(c.request("session/set_config_option", map[string]any{"sessionId": id, "configId": "effort", "value": "low"})); !strings.Contains(got, `"id":"effort","name":"Effort","category":"thought_level","type":"select","currentValue":"low"`) || !strings.Contains(got, `"currentValue":"ask"`) {
		t.Error(got)
	}
	for _, wrong := range []map[string]any{{"configId": "effort", "value": "huge"}, {"configId": "model", "value": "other/x"}, {"configId": "mode", "value": "yolo"},
		{"configId": "x", "value": "y"}, {"configId": "mode", "value": true, "type": "boolean"}} {
		wrong["sessionId"] = id
		if _, err := c.begin("session/set_config_option", wrong)(); err == nil || err.Code != codeParams {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	turn := c.begin("session/prompt", prompt(id, "note"))
	<-gate.Reached()
	mode := c.begin("session/set_mode", map[string]any{"sessionId": id, "modeId": "plan"})
	gate.Open()
	if _, err := mode(); err != nil {
		t.Error(err)
	}
	if _, err := turn(); err != nil {
		t.Error(err)
	}
	c.wait(`"sessionUpdate":"current_mode_update","currentModeId":"plan"`)
}

// Without a model session/new asks for a login.
func TestNoKey(t *testing.T) {
	t.Parallel()
	h := &host{noKey: true}
	c := serve(t, h)
	for _, method := range []string{"session/new", "authenticate"} {
		if _, err := c.begin(method, map[string]any{"cwd": "/p", "mcpServers": []any{}, "methodId": "login"})(); err == nil || err.Code != codeAuth || !strings.Contains(err.Message, "artoo login") {
			t.Errorf("%s: %v", method, err)
		}
	}
	h.noKey = false
	c.request("authenticate", map[string]any{"methodId": "login"})
}

// Lines that are no messages are answered, and the session goes on.
func TestBrokenLines(t *testing.T) {
	t.Parallel()
	c := serve(t, &host{steps: []fake.Step{fake.Say("Fine.")}})
	id := c.open()
	long := append(bytes.Repeat([]byte("x"), maxIn+1), '\n')
	for _, row := range []struct {
		line string
		code int
	}{{"x\n", codeParse}, {"{\n", codeParse}, {"[]\n", codeInvalid}, {"7\n", codeInvalid}, {`{"jsonrpc":"2.0"}` + "\n", codeInvalid},
		{`{"jsonrpc":"1.0","id":1,"method":"initialize"}` + "\n", codeInvalid}, {`{"jsonrpc":"2.0","id":{},"method":"initialize"}` + "\n", codeInvalid},
		{`{"jsonrpc":"2.0","method":"initialize","Method":"session/new"}` + "\n", codeInvalid},
		{string(long), codeInvalid}} {
		c.mu.Lock()
		before := len(c.errors)
		c.mu.Unlock()
		if _, err := io.WriteString(c.in, row.line); err != nil {
			t.Fatal(err)
		}
		if _, err := c.begin("x/unknown", nil)(); err == nil || err.Code != codeMethod {
			t.Errorf("%v", err)
		}
		c.mu.Lock()
		if len(c.errors) != before+1 || c.errors[before].Code != row.code {
			t.Errorf("%.40q: %+v", row.line, c.errors[before:])
		}
		c.mu.Unlock()
	}
	if got := string(c.request("session/prompt", prompt(id, "hi"))); got != `{"stopReason":"end_turn"}` {
		t.Error(got)
	}
}

// Random lines end in no hang, no crash and no call that was not approved.
func TestAnyLines(t *testing.T) {
	t.Parallel()
	const lines = 1000
	for _, seed := range sweep.Cases(t, 2, 10) {
		h := &host{steps: []fake.Step{fake.Call("1", "note", `{"text":"x"}`), fake.Say("Fine.")}}
		c := serve(t, h)
		c.pick = func(permissionRequest) string { return []string{"", "no", "unknown", "never"}[len(c.asked)%4] }
		id := c.open()
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		methods := []string{"initialize", "authenticate", "session/new", "session/load", "session/resume", "session/list", "session/close", "session/delete",
			"session/prompt", "session/set_mode", "session/set_config_option", "session/cancel", "$/cancel_request", "fs/read_text_file", "", "_x"}
		values := []string{`null`, `1`, `-1e9`, `"x"`, `[]`, `{}`, `true`, `"/p"`, `"` + id + `"`, `[{"type":"text","text":"hi"}]`, `[{"type":"image","data":"eA=="}]`,
			`"plan"`, `"mode"`, `"yes"`, `{"outcome":{"outcome":"selected","optionId":"yes"}}`}
		keys := []string{"sessionId", "cwd", "mcpServers", "prompt", "modeId", "configId", "value", "requestId", "cursor", "additionalDirectories", "clientCapabilities"}
		pick := func(list []string) string { return list[r.IntN(len(list))] }
		for i := range lines {
			var line string
			switch r.IntN(5) {
			case 0: // bytes
				raw := make([]byte, r.IntN(60))
				for k := range raw {
					raw[k] = byte(r.IntN(256))
				}
				line = strings.ReplaceAll(string(raw), "\n", " ")
			case 1: // answers to questions that were never asked, or not with these ids
				line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, 1_000_000+r.IntN(1_000_000), pick(values))
			default:
				var fields []string
				for range r.IntN(6) {
					fields = append(fields, fmt.Sprintf(`%q:%s`, pick(keys), pick(values)))
				}
				if r.IntN(3) == 0 {
					fields = []string{`"sessionId":"` + id + `"`, `"cwd":"/p"`, `"prompt":[{"type":"text","text":"hi"}]`, `"modeId":"ask"`}
				}
				line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, 100_000+i, pick(methods), strings.Join(fields, ","))
				if r.IntN(8) == 0 {
					line = line[:r.IntN(len(line))]
				}
			}
			if _, err := io.WriteString(c.in, line+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		c.request("session/list", map[string]any{})
		if h.ran.count() != 0 {
			t.Errorf("%d calls ran", h.ran.count())
		}
	}
}

// An answer that has a key twice, also in other letters, is none.
func TestAmbiguousAnswersApproveNothing(t *testing.T) {
	t.Parallel()
	note := fake.ToolCall("1", "note", `{"text":"new"}`)
	h := &host{steps: []fake.Step{{Calls: []provider.ToolCall{note}}, fake.Say("Done."), {Calls: []provider.ToolCall{note}}, fake.Say("Done.")}}
	c := serve(t, h)
	id, outcome := c.open(), ""
	c.pick = func(permissionRequest) string { // These are all requests, so they are numbered.
		_, _ = fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"result":{"outcome":%s}}`+"\n", len(c.asked), outcome)
		return ""
	}
	for _, outcome = range []string{`{"outcome":"selected","optionId":"no","optionId":"yes"}`, `{"outcome":"selected","optionId":"no","OptionID":"yes"}`} {
		c.request("session/prompt", prompt(id, "note something"))
	}
	if h.ran.count() != 0 || len(c.asked) != 2 {
		t.Errorf("%d calls of %d ran", h.ran.count(), len(c.asked))
	}
}

// The model's own question is a form where the editor has forms, else a choice; free text without forms counts as unanswered.
func TestQuestionsOfTheModel(t *testing.T) {
	t.Parallel()
	choices := `{"question":"Which?","choices":["red","blue"]}`
	for _, row := range []struct {
		name, can, input, pick string
		form                   any
		want                   string
	}{
		{"a form", `{"elicitation":{"form":{}}}`, choices, "", map[string]any{"action": "accept", "content": map[string]string{"choice": "blue"}}, "The user answers: blue"},
		{"a form with text", `{"elicitation":{"form":{}}}`, `{"question":"Which?"}`, "", map[string]any{"action": "accept", "content": map[string]string{"answer": "green"}}, "The user answers: green"},
		{"a form that is declined", `{"elicitation":{"form":{}}}`, choices, "", map[string]any{"action": "decline"}, "The user gave no answer"},
		{"a form with a broken answer", `{"elicitation":{"form":{}}}`, choices, "", map[string]any{"action": "accept", "content": 7}, "does not fit the form"},
		{"a choice", `{}`, choices, "1", nil, "The user answers: blue"},
		{"no choice", `{"elicitation":{}}`, choices, "no", nil, "The user gave no answer"},
		{"text without forms", `{}`, `{"question":"Which?"}`, "", nil, "no one can answer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := serve(t, &host{steps: []fake.Step{fake.Call("1", "ask_user", row.input), fake.Say("Done.")}})
			c.pick = func(permissionRequest) string { return row.pick }
			c.ask = func(string, json.RawMessage) any { return row.form }
			c.request("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": json.RawMessage(row.can)})
			c.request("session/prompt", prompt(c.open(), "ask me"))
			if !strings.Contains(c.all(), row.want) {
				t.Errorf("no update has %q in\n%s", row.want, c.all())
			}
		})
	}
}

// Prompts carry texts, links, images and resources; other content is refused.
func TestPrompts(t *testing.T) {
	t.Parallel()
	m, err := agentMessage([]contentBlock{textBlock("look at "), {Type: "resource_link", URI: "file:///p/a%20b.txt", Name: "a b.txt"},
		{Type: "resource_link", URI: "https://example.org/x", Name: "x"}, {Type: "image", Data: []byte("data"), MimeType: "image/png"},
		{Type: "resource", Resource: &resourceText{URI: "file:///p/c.txt", Text: "see"}}})
	if want := `look at  @"/p/a b.txt" [x](https://example.org/x)`; err != nil || m.Text != want {
		t.Errorf("%q, %v", m.Text, err)
	}
	if len(m.Attachments) != 2 || m.Attachments[1] != (provider.Text{Text: "[file:///p/c.txt, as the editor has it]\nsee"}) {
		t.Errorf("%+v", m.Attachments)
	}
	for _, wrong := range [][]contentBlock{nil, {textBlock(" ")}, {{Type: "audio", Data: []byte("x")}}, {{Type: "image", MimeType: "image/svg+xml", Data: []byte("x")}},
		{{Type: "resource", Resource: &resourceText{Blob: []byte("x")}}}, {{Type: "resource"}}} {
		if _, err := agentMessage(wrong); err == nil {
			t.Errorf("%+v is sent", wrong)
		}
	}
}

// FuzzLines sends an editor's lines, broken ones too: each answer is a message, the end comes, and nothing crashes.
func FuzzLines(f *testing.F) {
	for _, lines := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/p","mcpServers":[]}}`,
		`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"x","prompt":[{"type":"text","text":"hi"}]}}`,
		`{"jsonrpc":"2.0","id":4,"method":"session/set_mode","params":{"sessionId":"x","modeId":"plan"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"session/load","params":{"sessionId":"x","cwd":"/p","mcpServers":[{"name":"s","command":"true","args":[],"env":[]}]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}`, "{", "[]", "",
	} {
		f.Add([]byte(lines + "\n"))
	}
	store := conversation.Store{Dir: f.TempDir()}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		Serve(t.Context(), Options{In: bytes.NewReader(in), Out: &out, Log: func(text string) { t.Error(text) }, Version: "1",
			Host: &host{store: store, steps: []fake.Step{fake.Call("1", "note", `{"text":"x"}`), fake.Say("Fine.")}}})
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("%q", line)
			}
		}
	})
}
