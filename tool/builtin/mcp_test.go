package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/extension"
	"artoo/tool/mcp"
	"artoo/tool/mcp/mcptest"
)

func TestMain(m *testing.M) {
	if mcptest.Serve(os.Args, os.Stdin, os.Stdout, os.Stderr, os.Exit) {
		return
	}
	os.Exit(m.Run())
}

// manager has servers that are the test binary; those named in listed have their catalogue.
func manager(t *testing.T, servers []extension.Server, listed ...string) *mcp.Manager {
	t.Helper()
	for i := range servers {
		servers[i].Source = extension.SourceUser
		servers[i].Command = []string{os.Args[0], mcptest.Arg}
	}
	m := mcp.New(mcp.Config{Servers: servers, Environ: os.Environ()})
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range listed {
		if _, err := m.List(context.Background(), name); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func namesOfTools(tools []tool.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// Whatever is configured, the two tools stay small, and nothing is started for them.
func TestManyServersCostLittleBeforeUse(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 10, 13, 40} {
		var servers []extension.Server
		for i := range n {
			servers = append(servers, extension.Server{Name: fmt.Sprintf("a-server-with-a-name-%03d", i),
				About: strings.Repeat("issues, \"pull\" requests\nand more ‹é›  ", 20)})
		}
		m := manager(t, servers)
		tools, direct := MCP(m, 5000, nothing)
		if got := namesOfTools(tools); !slices.Equal(got, []string{FindTool, CallTool}) || direct != 0 {
			t.Fatalf("%d servers: %v, direct %d", n, got, direct)
		}
		size := 0
		for _, made := range tools {
			size += specBytes(made)
		}
		if most := 1150 + 62*min(n, 10); size > most {
			t.Errorf("%d servers: the tools take %d bytes, more than %d:\n%s\n%s\n%s", n, size, most, tools[0].Description, tools[0].Schema(), tools[1].Schema())
		}
		if more := fmt.Sprintf("and %d more", n-10); n > 10 && !strings.HasSuffix(tools[0].Description, more) {
			t.Errorf("%d servers: no count: %s", n, tools[0].Description)
		}
		for _, s := range m.Servers() {
			if s.State != mcp.NeverStarted {
				t.Errorf("%s: %s", s.Name, s.State)
			}
		}
		again, _ := MCP(m, 5000, nothing)
		if again[0].Description != tools[0].Description || string(again[0].Schema()) != string(tools[0].Schema()) {
			t.Error("the tools differ from one time to the next")
		}
	}
}

// A set of tools that fits becomes functions; so do those that the user wants as such.
func TestToolsThatFitBecomeFunctions(t *testing.T) {
	t.Parallel()
	m := manager(t, []extension.Server{{Name: "s", Direct: []string{"fail"}}}, "s")
	all, _ := MCP(m, 20_000, nothing)
	if got := namesOfTools(all); len(got) != 12 || !slices.Contains(got, "mcp__s__echo") || slices.Contains(got, CallTool) {
		t.Errorf("with room: %v", got)
	}
	some, direct := MCP(m, 100, nothing)
	if got := namesOfTools(some); !slices.Equal(got, []string{"mcp__s__fail", FindTool, CallTool}) || direct <= 0 {
		t.Errorf("without room: %v, direct %d", got, direct)
	}
	m = manager(t, []extension.Server{{Name: "s"}, {Name: "unknown"}}, "s")
	if got, _ := MCP(m, 20_000, nothing); !slices.Equal(namesOfTools(got), []string{FindTool, CallTool}) {
		t.Errorf("with a server whose tools are not known: %v", namesOfTools(got))
	}
}

func TestFindingServersTools(t *testing.T) {
	t.Parallel()
	m := manager(t, []extension.Server{{Name: "s", About: "echoes"}, {Name: "other"}}, "s")
	find := findTool(m.Servers(), m)
	run := func(input string) string {
		t.Helper()
		if err := find.Check(json.RawMessage(input)); err != nil {
			t.Fatal(err)
		}
		r, err := find.Run(context.Background(), &tool.Env{MCP: m}, json.RawMessage(input), io.Discard)
		if err != nil {
			return "error: " + err.Error()
		}
		return r.Text
	}
	for _, c := range [][2]string{
		{`{}`, "s: 12 tools; echoes\nother: tools not listed yet\n"},
		{`{"query":"SAYS again"}`, "mcp__s__echo: Says it again.\n(not listed yet, and not searched; name one as server to list it: other)\n"},
		{`{"query":"nothing of this"}`, "no tool found\n"},
		{`{"tool":"mcp__s__echo"}`, `schema: {"`},
		{`{"tool":"echo","server":"s"}`, "mcp__s__echo\nSays it again.\n"},
		{`{"tool":"mcp__s__ecko"}`, `error: no MCP tool "mcp__s__ecko"; near it: mcp__s__echo`},
		{`{"server":"none"}`, "error: server none: no such server"},
		{`{"server":"other","query":"visit"}`, "mcp__other__visit: Asks to open an address.\n"},
	} {
		if got := run(c[0]); !strings.Contains(got, c[1]) {
			t.Errorf("%s: got %q, want %q", c[0], got, c[1])
		}
	}
}

func TestCallsOfServersTools(t *testing.T) {
	t.Parallel()
	m := manager(t, []extension.Server{{Name: "s"}}, "s")
	var kept []string
	env := &tool.Env{MCP: m, KeepFile: func(name, extension string, data []byte) (string, error) {
		kept = append(kept, fmt.Sprint(name, extension, data))
		return "/out/" + name + extension, nil
	}}
	call := func(input string) (tool.Result, string, error) {
		t.Helper()
		made, arguments, err := ServerCall(m, callTool(), json.RawMessage(input))
		if err != nil {
			return tool.Result{}, "", err
		}
		if err := made.Check(arguments); err != nil {
			return tool.Result{}, made.Name, err
		}
		r, err := made.Run(context.Background(), env, arguments, io.Discard)
		return r, made.Name, err
	}
	r, name, err := call(`{"tool":"mcp__s__echo","arguments":{"text":"héllo"}}`)
	if err != nil || name != "mcp__s__echo" || r.Text != "héllo" || r.Summary != "1 line" {
		t.Errorf("echo: %q %+v %v", name, r, err)
	}
	if r, name, err := call(`{"tool":"echo","arguments":"{\"text\":\"quoted\"}"}`); err != nil || name != "mcp__s__echo" || r.Text != "quoted" {
		t.Errorf("a bare name and quoted arguments: %q %+v %v", name, r, err)
	}
	if _, _, err := call(`{"tool":"mcp__s__echo","arguments":{"text":7}}`); err == nil || !strings.Contains(err.Error(), `"properties"`) {
		t.Errorf("a wrong call is not answered with the schema: %v", err)
	}
	if r, _, err := call(`{"tool":"mcp__s__fail"}`); err != nil || !r.IsError {
		t.Errorf("fail: %+v %v", r, err)
	}
	if r, _, err := call(`{"tool":"mcp__s__media"}`); err != nil || len(r.Images) != 1 || len(kept) == 0 || !strings.Contains(r.Text, "/out/mcp__s__media") {
		t.Errorf("media: %q, %d images, kept %v, %v", r.Text, len(r.Images), kept, err)
	}
	if r, name, err := call(`{"tool":"mcp__s__resource","arguments":{"uri":"test://one"}}`); err != nil || name != "mcp__s__resource" || r.Text != "the text of test://one" {
		t.Errorf("a resource: %q %+v %v", name, r, err)
	}
	env.Digest = "one that was decided on, and is gone"
	if _, _, err := call(`{"tool":"mcp__s__echo"}`); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("another definition than the one decided on: %v", err)
	}
	env.Digest = ""
	if _, _, err := call(`{"tool":"mcp__t__echo"}`); err == nil {
		t.Error("a tool of no server was called")
	}
}

// Providers refuse a whole request for a function whose schema is a choice at its root.
func TestSchemasThatNoProviderTakesAreNoFunctions(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}}}`: true,
		`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`:  false,
		`{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}}]}`: false,
		`{"type":"object","oneOf":[{"required":["a"]}],"properties":{}}`:     false,
	} {
		if plainRoot(json.RawMessage(schema)) != want {
			t.Errorf("%s: %t", schema, !want)
		}
	}
}

// The lists of a server's tools hold for the one that reads its resources, too.
func TestResourcesAreReadAsTheListsSay(t *testing.T) {
	t.Parallel()
	const call = `{"tool":"mcp__s__resource","arguments":{"uri":"test://one"}}`
	for _, c := range []struct {
		tools, read     []string
		callable, reads bool
	}{{nil, nil, true, false}, {[]string{"echo"}, nil, false, false}, {[]string{"-resource"}, nil, false, false}, {nil, []string{"resource"}, true, true}} {
		m := manager(t, []extension.Server{{Name: "s", Tools: c.tools, Read: c.read}}, "s")
		made, arguments, err := ServerCall(m, callTool(), json.RawMessage(call))
		if (err == nil) != c.callable {
			t.Errorf("%+v: %v", c, err)
		}
		if err != nil {
			continue
		}
		if access, err := made.Plan(t.Context(), &tool.Env{MCP: m}, arguments); err != nil || access.Reads != c.reads {
			t.Errorf("%+v: %+v, %v", c, access, err)
		}
	}
}

// nothing is a request without the tools of servers.
func nothing() int { return 0 }
