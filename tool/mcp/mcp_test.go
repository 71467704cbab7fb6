package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"artoo/tool/extension"
	"artoo/tool/mcp/mcptest"
)

func TestMain(m *testing.M) {
	if mcptest.Serve(os.Args, os.Stdin, os.Stdout, os.Stderr, os.Exit) {
		return
	}
	os.Exit(m.Run())
}

// notices collects the notices of a manager.
type notices struct {
	mu   sync.Mutex
	list []string
}

func (n *notices) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, text)
}

func (n *notices) all() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.list, "\n")
}

// server makes a stdio server of these kinds.
func stdio(name string, kinds ...string) extension.Server {
	return extension.Server{Name: name, Origin: extension.Origin{Source: extension.SourceUser},
		Command: append([]string{os.Args[0], mcptest.Arg}, kinds...)}
}

func manage(t *testing.T, c Config) *Manager {
	t.Helper()
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	m := New(c)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// text is the text of a result, its parts on lines.
func textOf(r Result) string {
	var lines []string
	for _, c := range r.Content {
		lines = append(lines, c.Text)
	}
	return strings.Join(lines, "\n")
}

func call(t *testing.T, m *Manager, tool, args string, o CallOptions) Result {
	t.Helper()
	r, err := tryCall(t, m, tool, args, o)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r
}

func tryCall(t *testing.T, m *Manager, tool, args string, o CallOptions) (Result, error) {
	t.Helper()
	if _, known := m.Tools("s"); !known {
		if _, err := m.List(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
	}
	return m.Call(t.Context(), find(t, m, tool), json.RawMessage(args), o)
}

// find is a tool by the kept catalogue.
func find(t *testing.T, m *Manager, tool string) Tool {
	t.Helper()
	found, ok := m.Tool("mcp__s__" + tool)
	if !ok {
		t.Fatalf("no tool %s", tool)
	}
	return found
}

func TestServersOfEachEraAnswer(t *testing.T) {
	t.Parallel()
	for _, kinds := range [][]string{{"modern"}, {"legacy"}, {"banner"}, {"legacy", "banner"}, {"legacy", "fatal"}, {"legacy", "eager"}} {
		t.Run(strings.Join(kinds, ","), func(t *testing.T) {
			m := manage(t, Config{Servers: []extension.Server{stdio("s", kinds...)}})
			if got := m.Servers()[0]; got.State != NeverStarted || got.Known != -1 {
				t.Errorf("before use: %s, %d tools", got.State, got.Known)
			}
			r := call(t, m, "echo", `{"text":"hello"}`, CallOptions{})
			if textOf(r) != "hello" || r.IsError {
				t.Errorf("got %+v", r)
			}
			if got := m.Servers()[0]; got.State != Running || got.Known != 12 {
				t.Errorf("in use: %s, %d tools", got.State, got.Known)
			}
		})
	}
}

func TestASilentServerIsTakenForAnOldOne(t *testing.T) {
	m := manage(t, Config{Servers: []extension.Server{stdio("s", "silent")}})
	begun := time.Now()
	call(t, m, "echo", `{"text":"a"}`, CallOptions{})
	if took := time.Since(begun); took < probeWait || took > probeWait+10*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestTheCatalogueIsKeptAndTheProtocolToo(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	c := Config{Servers: []extension.Server{stdio("s", "legacy")}, State: state}
	m := manage(t, c)
	if _, known := m.Tools("s"); known {
		t.Error("tools are known before the first start")
	}
	first, err := m.List(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	again := manage(t, c)
	kept, known := again.Tools("s")
	if !known || !slices.EqualFunc(kept, first, func(a, b Tool) bool {
		return a.Full == b.Full && a.Description == b.Description && string(a.Input) == string(b.Input)
	}) {
		t.Errorf("kept %v, listed %v", kept, first)
	}
	if again.Servers()[0].State != NeverStarted {
		t.Error("reading the catalogue started the server")
	}
	other := c
	other.Servers = []extension.Server{stdio("s", "modern")}
	if _, known := manage(t, other).Tools("s"); known {
		t.Error("another configuration has the same catalogue")
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	m := New(Config{Servers: []extension.Server{stdio("s", "deaf")}, Environ: os.Environ(), State: t.TempDir()})
	if _, err := m.List(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	_, child, _ := strings.Cut(m.servers[0].log.Load().lastLine(), "child ")
	pid, err := strconv.Atoi(child)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("closing took %s", took)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the server's child %d is there still: %v", pid, err)
	}
}

func TestServersGetOnlyWhatTheyNeed(t *testing.T) {
	t.Parallel()
	s := stdio("s")
	s.Env = map[string]string{"GIVEN": "${HAVE}", "ELSE": "${NOT:-x}"}
	s.PassEnv = []string{"PASSED"}
	m := manage(t, Config{Servers: []extension.Server{s}, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "LC_ALL=C",
		"HAVE=1", "PASSED=1", "ANTHROPIC_API_KEY=k", "https_proxy=http://p", "XDG_CACHE_HOME=/c"}})
	got := textOf(call(t, m, "environ", "", CallOptions{}))
	var names []string
	for name := range strings.FieldsSeq(got) {
		if !strings.HasPrefix(name, "_ARTOO_CALL_") {
			names = append(names, name)
		}
	}
	if want := "ELSE GIVEN HOME LC_ALL PASSED PATH XDG_CACHE_HOME https_proxy"; strings.Join(names, " ") != want {
		t.Errorf("got %v, want %s", names, want)
	}
}

func TestUnsetVariablesAreNamed(t *testing.T) {
	t.Parallel()
	s := stdio("s")
	s.Env = map[string]string{"GIVEN": "${NOT_THERE}"}
	_, err := manage(t, Config{Servers: []extension.Server{s}}).List(t.Context(), "s")
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindConfig || !strings.Contains(err.Error(), "NOT_THERE") {
		t.Errorf("got %v", err)
	}
}

func TestAFailedStartQuotesTheServer(t *testing.T) {
	t.Parallel()
	m := manage(t, Config{Servers: []extension.Server{stdio("s", "dead")}})
	_, err := m.List(t.Context(), "s")
	if err == nil || !strings.Contains(err.Error(), "no database at localhost:5432") {
		t.Errorf("got %v", err)
	}
	if got := m.Servers()[0]; got.State != Failed || got.Err == nil {
		t.Errorf("got %+v", got)
	}
	missing := stdio("s")
	missing.Command = []string{"no-such-program-here"}
	_, err = manage(t, Config{Servers: []extension.Server{missing}}).List(t.Context(), "s")
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindConfig {
		t.Errorf("got %v", err)
	}
}

func TestACallThatMayHaveRunIsNotSentAgain(t *testing.T) {
	t.Parallel()
	m := manage(t, Config{Servers: []extension.Server{stdio("s", "dies")}})
	_, err := tryCall(t, m, "echo", "", CallOptions{})
	if e, ok := errors.AsType[*Error](err); !ok || !e.Unknown || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("got %v", err)
	}
}

func TestSilenceEndsACall(t *testing.T) {
	t.Parallel()
	s := stdio("s")
	s.Timeout = 50 * time.Millisecond
	m := manage(t, Config{Servers: []extension.Server{s}})
	if _, err := m.List(t.Context(), "s"); err != nil && !strings.Contains(err.Error(), "silent") {
		t.Fatal(err)
	}
	s.Timeout = 300 * time.Millisecond
	m = manage(t, Config{Servers: []extension.Server{s}})
	_, err := tryCall(t, m, "hang", "", CallOptions{})
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindTimeout {
		t.Errorf("got %v", err)
	}
	if got := textOf(call(t, m, "echo", `{"text":"still there"}`, CallOptions{})); got != "still there" {
		t.Errorf("got %q", got)
	}
}

func TestHostileDefinitions(t *testing.T) {
	t.Parallel()
	var n notices
	m := manage(t, Config{Servers: []extension.Server{stdio("s", "hostile")}, Notice: n.add})
	tools, err := m.List(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Tool{}
	for _, tool := range tools {
		by[tool.Name] = tool
		if len(tool.Full) > 64 || len(tool.Description) > 2<<10 {
			t.Errorf("%s: name of %d, description of %d bytes", tool.Name, len(tool.Full), len(tool.Description))
		}
	}
	for _, name := range []string{"deep", "away", "array", "wide", "a b"} {
		if _, there := by[name]; there {
			t.Errorf("%q is offered", name)
		}
	}
	if got := by["hidden"].Description; got != "Adds. And more.[31m" {
		t.Errorf("got %q", got)
	}
	if by["a.b"].Full != "mcp__s__a_b" || string(by["open"].Input) != `{"properties":{},"type":"object"}` {
		t.Errorf("got %+v, %+v", by["a.b"], by["open"])
	}
	if got := m.Dropped("s"); len(got) != 6 {
		t.Errorf("dropped: %q", got)
	}
}

func TestListsThatNeverEnd(t *testing.T) {
	t.Parallel()
	var n notices
	m := manage(t, Config{Servers: []extension.Server{stdio("s", "endless")}, Notice: n.add})
	tools, err := m.List(t.Context(), "s")
	if err != nil || len(tools) != 20 || !strings.Contains(n.all(), "does not end") {
		t.Errorf("%d tools, %v, %s", len(tools), err, n.all())
	}
	_, err = manage(t, Config{Servers: []extension.Server{stdio("s", "huge")}}).List(t.Context(), "s")
	if err == nil || !strings.Contains(err.Error(), "16 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestChangedDefinitionsAreMarkedUntilAccepted(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	server := func(kind string) extension.Server {
		s := stdio("s")
		s.Command = []string{"sh", "-c", `exec "$0" ` + mcptest.Arg + ` $(cat "$1")`, os.Args[0], state + "/kind"}
		if err := os.WriteFile(state+"/kind", []byte(kind), 0o600); err != nil {
			t.Fatal(err)
		}
		return s
	}
	listed := func(m *Manager) Tool {
		if _, err := m.List(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		return find(t, m, "echo")
	}
	if listed(manage(t, Config{Servers: []extension.Server{server("modern")}, State: state})).Changed {
		t.Error("changed at first sight")
	}
	m := manage(t, Config{Servers: []extension.Server{server("other")}, State: state})
	echo := find(t, m, "echo")
	if echo.Changed {
		t.Errorf("by the kept catalogue: %+v", echo)
	}
	if _, err := m.Call(t.Context(), echo, nil, CallOptions{}); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a call of a definition that changed since it was decided on: %v", err)
	}
	if !listed(m).Changed {
		t.Error("not changed")
	}
	changes, err := m.Changes("s")
	if err != nil || len(changes) != 1 || !strings.Contains(changes[0].New, "friend") {
		t.Errorf("got %v, %v", changes, err)
	}
	if err := m.Accept("s", changes); err != nil {
		t.Fatal(err)
	}
	if listed(m).Changed {
		t.Error("changed after it was accepted")
	}
}

// A name that becomes one which the user has a rule for is no first sight.
func TestADefinitionKeepsItsPinUnderItsFullName(t *testing.T) {
	t.Parallel()
	c := &catalogue{Definitions: []definition{{Name: "get_x", Input: json.RawMessage(`{}`)}},
		Pinned: map[string]definition{"mcp__s__get_x": {Name: "get.x", Input: json.RawMessage(`{}`)}}}
	c.prepare(&server{Server: extension.Server{Name: "s"}})
	if len(c.tools) != 1 || !c.tools[0].Changed {
		t.Errorf("got %+v", c.tools)
	}
}

// The library checks a value against all references at once, and has no bound of its own.
func TestSchemasWhoseCheckMightNotEndAreRefused(t *testing.T) {
	t.Parallel()
	wide := `{"type":"object","$ref":"#/$defs/0","$defs":{`
	for i := range 30 {
		wide += fmt.Sprintf(`"%d":{"anyOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%[2]d"}]},`, i, i+1)
	}
	wide += `"30":false}}`
	for raw, want := range map[string]string{
		`{"type":"object","$ref":"#"}`: "refers to itself",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}`: "refers to itself",
		wide: "parts with its references",
		`{"type":"object","properties":{"a":{"$ref":"#anchor"}}}`:                                          "does not follow",
		`{"type":"object","properties":{"a":{"$id":"https://x.example/","$ref":"#/b"}}}`:                   "contains another document",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"string"}}}`:   "",
		`{"type":"object","properties":{"a":{"$ref":"#/properties/b"},"b":{"items":[{"type":"string"}]}}}`: "",
	} {
		_, err := schema(json.RawMessage(raw), func(text string) string { return text })
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: %v, want %q", raw, err, want)
		}
	}
}

func TestServersAsk(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			var n notices
			m := manage(t, Config{Servers: []extension.Server{stdio("s", era)}, Notice: n.add})
			var asked []Request
			accept := CallOptions{Ask: func(_ context.Context, r Request) (Answer, error) {
				asked = append(asked, r)
				values := r.Defaults()
				values["name"] = "Ada"
				return Answer{Action: Accept, Content: values}, nil
			}}
			if got := textOf(call(t, m, "ask", "", accept)); !strings.Contains(got, `"name":"Ada"`) || !strings.Contains(got, `"age":30`) {
				t.Errorf("got %s", got)
			}
			if got := textOf(call(t, m, "visit", "", accept)); !strings.Contains(got, `"action":"accept"`) {
				t.Errorf("got %s", got)
			}
			if len(asked) != 2 || asked[0].Message != "Who are you?" || len(asked[0].Fields) != 2 || !asked[0].Fields[0].Required ||
				asked[1].URL != "https://example.org/sign" {
				t.Errorf("asked %+v", asked)
			}
			if got := textOf(call(t, m, "ask", "", CallOptions{})); !strings.Contains(got, `"action":"cancel"`) {
				t.Errorf("without anyone to ask: %s", got)
			}
			if got := textOf(call(t, m, "secret", "", accept)); !strings.Contains(got, `"action":"decline"`) || len(asked) != 2 {
				t.Errorf("a secret: %s", got)
			}
			skip := CallOptions{Ask: func(context.Context, Request) (Answer, error) {
				return Answer{Action: Accept, Content: map[string]any{"name": "Ada"}}, nil
			}}
			if got := textOf(call(t, m, "ask", "", skip)); !strings.Contains(got, `"name":"Ada"`) || strings.Contains(got, "age") {
				t.Errorf("a field that the user left out is answered: %s", got)
			}
			wrong := CallOptions{Ask: func(context.Context, Request) (Answer, error) {
				return Answer{Action: Accept, Content: map[string]any{"name": "A"}}, nil
			}}
			if _, err := tryCall(t, m, "ask", "", wrong); era == "modern" && err == nil {
				t.Error("a name that is too short was sent")
			}
		})
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	m := manage(t, Config{Servers: []extension.Server{stdio("s")}})
	if r := call(t, m, "fail", "", CallOptions{}); !r.IsError || textOf(r) != "it failed" {
		t.Errorf("got %+v", r)
	}
	var kinds []string
	for _, c := range call(t, m, "media", "", CallOptions{}).Content {
		kinds = append(kinds, string(c.Kind))
	}
	if got := strings.Join(kinds, " "); got != "text image audio link text blob" {
		t.Errorf("got %s", got)
	}
	if r := call(t, m, "structured", "", CallOptions{}); string(r.Structured) != `{"n":1}` || r.Notices != nil {
		t.Errorf("got %+v", r)
	}
	if r := call(t, m, "structured", `{"text":"wrong"}`, CallOptions{}); len(r.Notices) != 1 {
		t.Errorf("got %+v", r)
	}
	if got := textOf(call(t, m, "later", "", CallOptions{})); got != "at last" {
		t.Errorf("got %q", got)
	}
	var steps []string
	o := CallOptions{Progress: func(p Progress) { steps = append(steps, p.Message) }}
	if got := textOf(call(t, m, "task", "", o)); got != "the task is done" || !slices.Contains(steps, "half") {
		t.Errorf("got %q, %q", got, steps)
	}
	// Progress comes before the result, which is held back until all of it was seen.
	var last Progress
	var others sync.WaitGroup
	call(t, m, "steps", "", CallOptions{Progress: func(p Progress) {
		if last = p; p.Done == 3 {
			others.Go(func() { call(t, m, "echo", `{"text":"go on"}`, CallOptions{}) })
		}
	}})
	others.Wait()
	if last != (Progress{Done: 3, Total: 3, Message: "step 3"}) {
		t.Errorf("got %+v", last)
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	m := manage(t, Config{Servers: []extension.Server{stdio("s")}})
	if list, err := m.Resources(t.Context(), "s"); err != nil || len(list) != 1 || list[0].URI != "test://one" {
		t.Errorf("got %v, %v", list, err)
	}
	if r, err := m.ReadResource(t.Context(), "s", "test://one", CallOptions{}); err != nil || textOf(r) != "the text of test://one" {
		t.Errorf("got %v, %v", r, err)
	}
	if r, err := m.ReadResource(t.Context(), "s", "test://blob", CallOptions{}); err != nil || string(r.Content[0].Data) != "\x00\x01\x02" {
		t.Errorf("got %v, %v", r, err)
	}
	if list, err := m.Prompts(t.Context(), "s"); err != nil || len(list) != 1 || !list[0].Arguments[0].Required {
		t.Errorf("got %v, %v", list, err)
	}
	list, err := m.GetPrompt(t.Context(), "s", "greet", map[string]string{"who": "Ada"}, CallOptions{})
	if err != nil || len(list) != 1 || list[0].Content.Text != "Greet Ada." {
		t.Errorf("got %v, %v", list, err)
	}
}

// A server that is not approved any more is not started, and the reason is said.
func TestAServerIsStartedOnlyWhileItIsApproved(t *testing.T) {
	t.Parallel()
	changed, servers := errors.New("it has changed"), []extension.Server{stdio("s", "legacy")}
	m := manage(t, Config{Servers: servers, Approved: func(s extension.Extension) error {
		if s.Name != "s" {
			t.Errorf("asked about %s", s.Name)
		}
		return changed
	}})
	if _, err := m.List(t.Context(), "s"); !errors.Is(err, changed) {
		t.Errorf("%v", err)
	}
}
