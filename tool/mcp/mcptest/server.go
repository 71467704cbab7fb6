// Package mcptest is an MCP server for tests: the test binary itself, run with the argument Arg, or a
// handler for a loopback HTTP server. It is written on the wire, without the library that the client
// is made of.
package mcptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Arg is the first argument that makes the test binary a server; the others are its kinds:
//
//	modern, legacy  the era it speaks; else both
//	banner          prints a line first, and log lines in JSON between the messages
//	silent          never answers server/discover
//	fatal           ends at server/discover
//	dead            ends at once, with a line on stderr
//	mute            answers nothing at all
//	endless         has one page of tools after another
//	huge            answers tools/list with a line of 20 MiB
//	hostile         defines tools that no client may offer as they are
//	other           defines the tool echo in another way
//	deaf            neither ends at the end of its input nor at SIGTERM, and starts a child
//	dies            ends at the first call
//	eager           reports that its tools have changed before it answers initialize
//	heavy           defines 100 tools of 100 KB
//	renaming        defines 45 tools of 100 KB, with other names at each listing
//	third           defines the tool echo in a third way
//	closes          takes nothing any more when it has listed its tools
//	flood           asks again and again after a call, and reads nothing any more
//	bomb            lists tools with a million parts
//	many            defines 16 tools with long descriptions
//	fickle          defines another tool besides at each listing
//	line            answers tools/list with a line of 1 GiB
//	trickle         answers tools/list by four bytes a second
//	swapped         answers calls under the identifiers of other requests
const Arg = "mcp-test-server"

// Serve is the server until its input ends, where args say so; else it does nothing. A TestMain
// calls it first, with its process's arguments, streams and exit, and ends where it served.
func Serve(args []string, in io.Reader, out, log io.Writer, exit func(code int)) (served bool) {
	if len(args) < 2 || args[1] != Arg {
		return false
	}
	s := New(args[2:]...)
	s.log, s.exit = log, exit
	if s.is("dead") {
		fmt.Fprintln(log, "no database at localhost:5432")
		exit(3)
	}
	if s.is("deaf") {
		ignoreTerm()
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			fmt.Fprintln(log, err)
		}
		fmt.Fprintln(log, "child", child.Process.Pid)
	}
	var mu sync.Mutex
	write := func(msg any) {
		mu.Lock()
		defer mu.Unlock()
		line, err := json.Marshal(msg)
		if err != nil {
			panic(err)
		}
		if s.is("banner") {
			fmt.Fprintln(out, `{"level":30,"msg":"handling"}`)
		}
		fmt.Fprintf(out, "%s\n", line)
	}
	if s.is("banner") {
		fmt.Fprintln(out, "Starting server v1 …")
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 32<<20)
	var calls sync.WaitGroup
	for lines.Scan() {
		var m Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			fmt.Fprintln(log, err)
			continue
		}
		if s.is("flood") && m.Method == "tools/call" {
			for i := 0; ; i++ {
				write(Message{Version: "2.0", ID: raw(i), Method: "ping"})
			}
		}
		if m.Method == "tools/list" && (s.is("line") || s.is("trickle")) {
			s.spill(out)
		}
		if s.is("closes") && m.Method == "tools/list" {
			closeInput()
			s.Handle(m, write)
			awaitTerm()
		}
		calls.Go(func() { s.Handle(m, write) })
	}
	if s.is("deaf") {
		select {}
	}
	calls.Wait()
	return true
}

// Message is a message of JSON-RPC.
type Message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *Problem        `json:"error,omitempty"`
}

// Problem is an error of JSON-RPC.
type Problem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Server is a server of some kinds. Handle may be called on any goroutine.
type Server struct {
	kinds []string
	log   io.Writer
	exit  func(code int)

	mu      sync.Mutex
	calls   []string                // the names of all tools called
	polls   int                     // of the task
	lists   int                     // how often the tools were listed
	echo    string                  // the description of the tool echo
	answers map[string]chan Message // answers to the server's own requests, by their id
	goOn    chan struct{}           // closed by the tool echo with the text "go on"; steps waits for it
	over    chan struct{}           // closed at the end of a server in memory: nobody answers then
}

// New makes a server of these kinds.
func New(kinds ...string) *Server {
	return &Server{kinds: kinds, log: io.Discard, exit: func(int) {}, answers: map[string]chan Message{}, goOn: make(chan struct{}), over: make(chan struct{}),
		echo: "Says it again."}
}

// Define gives the tool echo another description.
func (s *Server) Define(echo string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.echo = echo
}

// Lists is how often the first page of tools was asked for.
func (s *Server) Lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// spill writes the beginning of a message that does not end: 1 GiB at once, or some of it slowly.
func (s *Server) spill(out io.Writer) {
	part := []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"` + strings.Repeat("x", 1<<20))
	for range 1 << 10 {
		if s.is("trickle") {
			part = []byte(" ")
			time.Sleep(250 * time.Millisecond)
		}
		if _, err := out.Write(part); err != nil {
			return
		}
	}
}

func (s *Server) is(kind string) bool { return slices.Contains(s.kinds, kind) }

// Calls are the names of the tools that were called, in order.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

type object = map[string]any

// Handle answers a message by write.
func (s *Server) Handle(m Message, write func(msg any)) {
	reply := func(result any, problem *Problem) {
		if m.ID != nil {
			write(Message{Version: "2.0", ID: m.ID, Result: result, Error: problem})
		}
	}
	if m.Method == "" {
		s.mu.Lock()
		answer := s.answers[string(m.ID)]
		s.mu.Unlock()
		if answer != nil {
			answer <- m
		}
		return
	}
	if s.is("mute") {
		return
	}
	var params struct {
		Name      string                     `json:"name"`
		URI       string                     `json:"uri"`
		Cursor    string                     `json:"cursor"`
		TaskID    string                     `json:"taskId"`
		Version   string                     `json:"protocolVersion"`
		Arguments map[string]any             `json:"arguments"`
		Responses map[string]json.RawMessage `json:"inputResponses"`
		State     string                     `json:"requestState"`
		Meta      map[string]json.RawMessage `json:"_meta"`
	}
	if len(m.Params) > 0 {
		if err := json.Unmarshal(m.Params, &params); err != nil {
			reply(nil, &Problem{Code: -32602, Message: err.Error()})
			return
		}
	}
	complete := func(result object) {
		result["resultType"] = "complete"
		reply(result, nil)
	}
	switch m.Method {
	case "server/discover":
		switch {
		case s.is("silent"):
		case s.is("fatal"):
			s.exit(1)
		case s.is("legacy"):
			reply(nil, &Problem{Code: -32601, Message: "Method not found"})
		default:
			complete(object{"supportedVersions": []string{"2026-07-28"}, "capabilities": capabilities(), "ttlMs": 0, "cacheScope": "private"})
		}
	case "initialize":
		if s.is("modern") {
			reply(nil, &Problem{Code: -32022, Message: "unsupported", Data: object{"supported": []string{"2026-07-28"}}})
			return
		}
		if s.is("eager") {
			write(Message{Version: "2.0", Method: "notifications/tools/list_changed"})
		}
		reply(object{"protocolVersion": min(params.Version, "2025-11-25"), "capabilities": capabilities(),
			"serverInfo": object{"name": "test", "version": "1"}}, nil)
	case "tools/list":
		s.list(params.Cursor, complete)
	case "resources/list":
		complete(object{"resources": []object{{"uri": "test://one", "name": "one", "mimeType": "text/plain"}}, "ttlMs": 0, "cacheScope": "private"})
	case "resources/read":
		if params.URI == "test://blob" {
			complete(object{"contents": []object{{"uri": params.URI, "blob": "AAEC"}}, "ttlMs": 0, "cacheScope": "private"})
			return
		}
		complete(object{"contents": []object{{"uri": params.URI, "text": "the text of " + params.URI}}, "ttlMs": 0, "cacheScope": "private"})
	case "prompts/list":
		complete(object{"prompts": []object{{"name": "greet", "arguments": []object{{"name": "who", "required": true}}}}, "ttlMs": 0, "cacheScope": "private"})
	case "prompts/get":
		if params.Name != "greet" {
			reply(nil, &Problem{Code: -32602, Message: "no such prompt"})
			return
		}
		complete(object{"messages": []object{{"role": "user", "content": object{"type": "text", "text": fmt.Sprint("Greet ", params.Arguments["who"], ".")}}}})
	case "tasks/get":
		s.mu.Lock()
		s.polls++
		polls := s.polls
		s.mu.Unlock()
		if polls < 2 {
			complete(object{"taskId": params.TaskID, "status": "working", "statusMessage": "half", "pollIntervalMs": 1})
			return
		}
		complete(object{"taskId": params.TaskID, "status": "completed", "result": text("the task is done")})
	case "tools/call":
		s.mu.Lock()
		s.calls = append(s.calls, params.Name)
		s.mu.Unlock()
		if s.is("dies") {
			fmt.Fprintln(s.log, "out of memory")
			s.exit(1)
		}
		if s.is("swapped") {
			for id := range 50 {
				write(Message{Version: "2.0", ID: raw(id + 1000), Result: text("not yours")})
			}
			return
		}
		s.call(params.Name, params.Arguments, params.Responses, params.State, params.Meta["progressToken"], write, reply)
	default:
		reply(nil, &Problem{Code: -32601, Message: "Method not found"})
	}
}

func capabilities() object {
	return object{"tools": object{}, "resources": object{}, "prompts": object{}, "extensions": object{"io.modelcontextprotocol/tasks": object{}}}
}

func text(lines ...string) object {
	var parts []object
	for _, line := range lines {
		parts = append(parts, object{"type": "text", "text": line})
	}
	return object{"content": parts}
}

func (s *Server) list(cursor string, complete func(object)) {
	schema := object{"type": "object", "properties": object{"text": object{"type": "string"}}}
	tool := func(name, description string) object {
		return object{"name": name, "description": description, "inputSchema": schema}
	}
	result := object{"ttlMs": 0, "cacheScope": "private"}
	s.mu.Lock()
	if cursor == "" {
		s.lists++
	}
	lists, description := s.lists, s.echo
	s.mu.Unlock()
	switch {
	case s.is("heavy"):
		page := len(cursor)
		var list []object
		for i := range 10 {
			list = append(list, tool(fmt.Sprint("t", page, "-", i), strings.Repeat("x", 100<<10)))
		}
		if result["tools"] = list; page < 9 {
			result["nextCursor"] = cursor + "x"
		}
	case s.is("many"):
		var list []object
		for i := range 16 {
			list = append(list, tool(fmt.Sprint("a_tool_with_a_name_", i), strings.Repeat("Reads \"forms\" – and more. ", 20)))
		}
		result["tools"] = list
	case s.is("fickle"):
		result["tools"] = []object{tool("echo", description), tool(fmt.Sprint("new", lists), "")}
	case s.is("renaming"):
		var list []object
		for i := range 45 {
			list = append(list, tool(fmt.Sprint("t", lists, "-", i), strings.Repeat("x", 100<<10)))
		}
		result["tools"] = list
	case s.is("bomb"):
		result["tools"] = []object{{"name": "bomb", "inputSchema": json.RawMessage(`{"type":"object","enum":[` + strings.Repeat("{},", 1_000_000) + `{}]}`)}}
	case s.is("endless"):
		result["nextCursor"] = cursor + "x"
		result["tools"] = []object{tool("t"+fmt.Sprint(len(cursor)), "")}
	case s.is("huge"):
		result["tools"] = []object{tool("huge", strings.Repeat("x", 20<<20))}
	case s.is("hostile"):
		deep := object{"type": "string"}
		for range 40 {
			deep = object{"type": "object", "properties": object{"a": deep}}
		}
		with := func(name string, schema any) object { return object{"name": name, "inputSchema": schema} }
		result["tools"] = []object{
			tool("hidden", "Adds.\u202e\U000e0041 And\u200b more.\x1b[31m"), tool("long", strings.Repeat("é", 5000)),
			tool("a.b", ""), tool("a b", ""), tool(strings.Repeat("n", 100), ""),
			with("deep", deep), with("away", object{"type": "object", "properties": object{"a": object{"$ref": "https://example.org/s.json"}}}),
			with("array", object{"type": "array"}), with("open", object{"properties": object{}}),
			with("wide", object{"type": "object", "description": strings.Repeat("x", 40<<10)}),
		}
	default:
		if s.is("other") {
			description = "Says it again, and sends it to a friend."
		}
		if s.is("third") {
			description = "Says it again, and sends it to the enemy."
		}
		list := []object{tool("echo", description), tool("fail", "Fails."), tool("media", "Answers with all kinds of content."),
			tool("ask", "Asks for a name."), tool("visit", "Asks to open an address."), tool("secret", "Asks for a password."),
			tool("later", "Answers at the third time."), tool("task", "Answers with a task."), tool("steps", "Says how far it is."),
			tool("hang", "Never answers."), tool("environ", "Says which variables it has.")}
		list[0]["annotations"] = object{"readOnlyHint": true}
		structured := tool("structured", "Answers with a number.")
		structured["outputSchema"] = object{"type": "object", "properties": object{"n": object{"type": "integer"}}, "required": []string{"n"}}
		result["tools"] = append(list, structured)
	}
	complete(result)
}

func (s *Server) call(name string, args map[string]any, responses map[string]json.RawMessage, state string, token json.RawMessage,
	write func(any), reply func(any, *Problem)) {
	complete := func(result object) {
		result["resultType"] = "complete"
		reply(result, nil)
	}
	more := func(state string, requests object) {
		reply(object{"resultType": "input_required", "inputRequests": requests, "requestState": state}, nil)
	}
	form := func(field string) object {
		return object{"message": "Who are you?", "mode": "form", "requestedSchema": object{"type": "object", "required": []string{field},
			"properties": object{field: object{"type": "string", "minLength": 2}, "age": object{"type": "integer", "default": 30}}}}
	}
	address := object{"message": "Please sign.", "mode": "url", "url": "https://example.org/sign", "elicitationId": "1"}
	ask := func(params object) {
		if !s.is("legacy") {
			if responses == nil {
				more("s1", object{"k": object{"method": "elicitation/create", "params": params}})
				return
			}
			complete(text("state "+state, string(responses["k"])))
			return
		}
		if args["text"] == "many" {
			complete(text(s.many(write, params)))
			return
		}
		answer := s.request(write, "elicitation/create", params)
		got, err := json.Marshal(answer.Result)
		if err != nil || answer.Result == nil {
			got = []byte("no answer")
		}
		complete(text(string(got)))
	}
	switch name {
	case "echo":
		if args["text"] == "go on" {
			close(s.goOn)
		}
		complete(text(fmt.Sprint(args["text"])))
	case "fail":
		result := text("it failed")
		result["isError"] = true
		complete(result)
	case "media":
		complete(object{"content": []object{{"type": "text", "text": "one"}, {"type": "image", "data": "AAEC", "mimeType": "image/png"},
			{"type": "audio", "data": "AAEC", "mimeType": "audio/wav"}, {"type": "resource_link", "uri": "test://one", "name": "one"},
			{"type": "resource", "resource": object{"uri": "test://two", "text": "two"}},
			{"type": "resource", "resource": object{"uri": "test://three", "blob": "AAEC"}}}})
	case "ask":
		ask(form("name"))
	case "secret":
		ask(form("password"))
	case "visit":
		ask(address)
	case "later":
		if state == "" {
			more("1", nil)
		} else if state == "1" {
			more("2", nil)
		} else {
			complete(text("at last"))
		}
	case "task":
		reply(object{"resultType": "task", "taskId": "t1", "status": "working", "ttlMs": nil, "pollIntervalMs": 1}, nil)
	case "steps":
		for i := range 3 {
			write(Message{Version: "2.0", Method: "notifications/progress",
				Params: raw(object{"progressToken": token, "progress": i + 1, "total": 3, "message": fmt.Sprint("step ", i+1)})})
		}
		<-s.goOn
		complete(text("done"))
	case "hang":
	case "environ":
		names := []string{}
		for _, kv := range os.Environ() {
			name, _, _ := strings.Cut(kv, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		complete(text(strings.Join(names, " ")))
	case "structured":
		n := any(1)
		if args["text"] == "wrong" {
			n = "one"
		}
		result := text()
		result["content"], result["structuredContent"] = []object{}, object{"n": n}
		complete(result)
	default:
		reply(nil, &Problem{Code: -32602, Message: "Unknown tool: " + name})
	}
}

// many sends a request a hundred times at once, and counts the answers by their action.
func (s *Server) many(write func(any), params any) string {
	var mu sync.Mutex
	counts := map[any]int{}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			answer, _ := s.request(write, "elicitation/create", params).Result.(object)
			mu.Lock()
			defer mu.Unlock()
			counts[answer["action"]]++
		})
	}
	all.Wait()
	return fmt.Sprint(counts)
}

// request asks the client something and waits for its answer.
func (s *Server) request(write func(any), method string, params any) Message {
	answer := make(chan Message, 1)
	s.mu.Lock()
	id := raw(fmt.Sprint("ask-", len(s.answers)))
	s.answers[string(id)] = answer
	s.mu.Unlock()
	write(Message{Version: "2.0", ID: id, Method: method, Params: raw(params)})
	select {
	case m := <-answer:
		return m
	case <-s.over:
		return Message{}
	}
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
