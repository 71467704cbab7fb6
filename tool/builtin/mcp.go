package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"

	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/mcp"
	"artoo/tool/shell"
	"artoo/tool/text"
)

// These bound the text on MCP servers that the model sees before it asks, in bytes as JSON.
const (
	serverLine  = 62 // one server's
	serversMost = 10 // So many are named; the others are a count.
)

// The names of the tools through which the model uses MCP servers.
const (
	FindTool = "mcp_find"
	CallTool = "mcp_call"
)

// These bound the result of mcp_find.
const (
	maxToolRows = 100
	maxToolRow  = 160 // bytes of a tool's line
)

type findInput struct {
	Query  string `json:"query,omitempty" jsonschema:"words to look for"`
	Server string `json:"server,omitempty" jsonschema:"lists its tools"`
	Tool   string `json:"tool,omitempty" jsonschema:"shows its schema"`
}

// callSchema is the input of mcp_call.
const callSchema = `{"type":"object","properties":{"tool":{"type":"string","description":"mcp__SERVER__TOOL"},` +
	`"arguments":{"type":"object","description":"as the tool's schema says"}},"required":["tool"],"additionalProperties":false}`

// MCP makes the tools of the servers of a manager, in the model's order: those that the user wants
// as functions, and all of them where they fit in a request of at most so many bytes as JSON, of which taken
// are used; else mcp_find and mcp_call for the others. They are by the catalogues that are kept now, and do not
// change with these. direct is how many bytes the user's functions take; taken is called where it matters.
func MCP(m *mcp.Manager, most int, taken func() int) (tools []tool.Tool, direct int) {
	servers := m.Servers()
	if len(servers) == 0 {
		return nil, 0
	}
	all, size, least, complete := []tool.Tool{}, 0, 0, true
	for _, s := range servers {
		outlines, known := m.Outlines(s.Name)
		complete = complete && known
		for _, o := range outlines {
			least += o.Bytes
		}
	}
	complete = complete && least <= most && least <= most-taken()
	for _, s := range servers {
		if !complete && len(s.Direct) == 0 {
			continue // No tool of it becomes a function, so its definitions are not read.
		}
		listed, known := m.Tools(s.Name)
		complete = complete && known
		for _, t := range listed {
			made, err := ServerTool(m, t)
			if err != nil {
				continue // A call of it is answered with the error.
			}
			if !plainRoot(t.Input) {
				complete = false
				continue
			}
			size += specBytes(made)
			all = append(all, made)
			if t.Direct {
				direct += specBytes(made)
				tools = append(tools, made)
			}
		}
	}
	if complete && size <= most-taken() {
		return all, direct
	}
	return append(tools, TwoTools(m)...), direct
}

// plainRoot reports whether providers take a schema as that of a function: they refuse the whole request
// for a root that has these beside its properties.
func plainRoot(schema json.RawMessage) bool {
	var root map[string]json.RawMessage
	err := json.Unmarshal(schema, &root)
	return err == nil && !slices.ContainsFunc([]string{"anyOf", "oneOf", "allOf", "not", "enum"}, func(key string) bool { return root[key] != nil })
}

// TwoTools are mcp_find and mcp_call for the servers of a manager.
func TwoTools(m *mcp.Manager) []tool.Tool { return []tool.Tool{findTool(m.Servers(), m), callTool()} }

// MCPTools are the two tools before the servers are known: they let the user name or leave out
// servers as a whole. The agent puts those that MCP makes in their place.
func MCPTools() []tool.Tool { return []tool.Tool{findTool(nil, nil), callTool()} }

// SpecBytes is how many bytes a tool takes in a request.
func SpecBytes(name, description string, schema json.RawMessage) int {
	return len(`{"name":,"description":,"input_schema":},`) + len(tool.Quoted(name)) + len(tool.Quoted(description)) + len(schema)
}

func specBytes(t tool.Tool) int { return SpecBytes(t.Name, t.Description, t.Schema()) }

func findTool(servers []mcp.Info, m *mcp.Manager) tool.Tool {
	var b strings.Builder
	b.WriteString("Find tools of MCP servers, for mcp_call. Without input: the servers. Servers:")
	for _, s := range servers[:min(len(servers), serversMost)] {
		b.WriteString(serverRow(s, m))
	}
	if more := len(servers) - serversMost; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return tool.New(tool.Def{Name: FindTool, Description: b.String(), Kind: tool.KindNone},
		func(_ context.Context, _ *tool.Env, in findInput) (tool.Access, error) {
			return tool.Access{Kind: tool.KindNone, Verb: "mcp", Object: strings.Join(strings.Fields("find "+in.Server+" "+in.Tool+" "+in.Query), " ")}, nil
		}, runFind)
}

// serverRow is a server's line in the description of mcp_find, at most serverLine bytes as JSON.
func serverRow(s mcp.Info, m *mcp.Manager) string {
	about := strings.Join(strings.Fields(s.About), " ")
	if about == "" {
		tools, _ := m.Outlines(s.Name)
		var names []string
		for _, t := range tools {
			names = append(names, t.Name)
		}
		about = strings.Join(names, ", ")
	}
	row := "\n" + s.Name
	if about == "" {
		return row
	}
	row += ": "
	for _, r := range about {
		next := row + string(r)
		if len(tool.Quoted(next))-len(`""`) > serverLine {
			break
		}
		row = next
	}
	return strings.TrimRight(row, ", ")
}

func callTool() tool.Tool {
	return tool.FromConstant(tool.Def{Name: CallTool, Kind: tool.KindServer,
		Description: "Call a tool of an MCP server. A wrong call is answered with the tool's schema. mcp__SERVER__resource with uri " +
			"reads a resource."}, callSchema,
		func(context.Context, *tool.Env, json.RawMessage) (tool.Access, error) {
			return tool.Access{}, errors.New("mcp_call: there are no MCP servers here")
		},
		func(context.Context, *tool.Env, json.RawMessage, io.Writer) (tool.Result, error) {
			return tool.Result{}, errors.New("mcp_call: call the tool that it names instead")
		})
}

// ServerCall is the call of a server's tool that a call of mcp_call means. The error is for the model.
func ServerCall(m *mcp.Manager, call tool.Tool, input json.RawMessage) (t tool.Tool, arguments json.RawMessage, err error) {
	var in struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}
	var quoted string
	if json.Unmarshal(input, &in) == nil && json.Unmarshal(in.Arguments, &quoted) == nil && json.Valid([]byte(quoted)) {
		in.Arguments = json.RawMessage(quoted) // Some models write JSON as a text.
		if input, err = json.Marshal(in); err != nil {
			return tool.Tool{}, nil, err
		}
	}
	if err := call.Check(input); err != nil {
		return tool.Tool{}, nil, err
	}
	if len(in.Arguments) == 0 || string(in.Arguments) == "null" {
		in.Arguments = json.RawMessage("{}")
	}
	t, err = ToolNamed(m, in.Tool)
	return t, in.Arguments, err
}

// ToolNamed is a server's tool by its whole name, or by the name that the server gives it where
// that means only one. The error is for the model.
func ToolNamed(m *mcp.Manager, name string) (tool.Tool, error) {
	found, err := serverTool(m, name)
	if err == nil {
		return ServerTool(m, found)
	}
	if t, ok := resourceTool(m, name); ok {
		return t, nil
	}
	return tool.Tool{}, err
}

// serverTool is ToolNamed for tools in the catalogues.
func serverTool(m *mcp.Manager, name string) (mcp.Tool, error) {
	if t, ok := m.Tool(name); ok {
		return t, nil
	}
	var found []mcp.Tool
	var names, unknown []string
	for _, s := range m.Servers() {
		tools, known := m.Tools(s.Name)
		if !known {
			unknown = append(unknown, s.Name)
		}
		for _, t := range tools {
			names = append(names, t.Full)
			if t.Name == name {
				found = append(found, t)
			}
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	why := fmt.Sprintf("no MCP tool %q", name)
	if near := nearest(name, names); near != nil {
		why += "; near it: " + strings.Join(near, ", ")
	}
	if unknown != nil {
		why += "; the tools of these servers are not listed yet, mcp_find {\"server\": NAME} lists them: " + strings.Join(unknown, ", ")
	}
	return mcp.Tool{}, errors.New(why)
}

// ServerTool is a tool of an MCP server. The error is of a schema that is not one.
func ServerTool(m *mcp.Manager, t mcp.Tool) (tool.Tool, error) {
	description := t.Description
	if !strings.HasPrefix(description, t.Title) {
		description = t.Title + "\n" + description
	}
	return tool.FromSchema(tool.Def{Name: t.Full, Description: strings.TrimSpace(description), Kind: tool.KindServer}, t.Input,
		func(context.Context, *tool.Env, json.RawMessage) (tool.Access, error) {
			return serverAccess(m, t.Full, t)
		},
		func(ctx context.Context, env *tool.Env, input json.RawMessage, out io.Writer) (tool.Result, error) {
			decided := t
			decided.Definition = cmp.Or(env.Digest, t.Definition)
			o := mcp.CallOptions{Ask: env.Forms, Progress: progressTo(out)}
			if env.KeepTask != nil {
				o.Task = func(id string) error { return env.KeepTask(t.Full, id) }
			}
			return given(env, t.Full)(m.Call(ctx, decided, input, o))
		})
}

// resourceTool is the tool that reads the resources of a server, by its whole name; ok is false for another.
func resourceTool(m *mcp.Manager, full string) (t tool.Tool, ok bool) {
	of, ok := m.ResourceTool(full)
	if !ok {
		return tool.Tool{}, false
	}
	schema := json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"]}`)
	t, err := tool.FromSchema(tool.Def{Name: full, Kind: tool.KindServer, Description: "Reads a resource of " + of.Server + "."}, schema,
		func(context.Context, *tool.Env, json.RawMessage) (tool.Access, error) {
			return serverAccess(m, full, of)
		},
		func(ctx context.Context, env *tool.Env, input json.RawMessage, out io.Writer) (tool.Result, error) {
			var in struct{ URI string }
			if err := json.Unmarshal(input, &in); err != nil {
				return tool.Result{}, text.Misread(err)
			}
			return given(env, full)(m.ReadResource(ctx, of.Server, in.URI, mcp.CallOptions{Ask: env.Forms, Progress: progressTo(out)}))
		})
	return t, err == nil
}

// ReadServer reads a resource of a server that the user named.
func ReadServer(ctx context.Context, env *tool.Env, server, uri string) (tool.Result, error) {
	return given(env, mcp.FullName(server, mcp.ResourceName))(env.MCP.ReadResource(ctx, server, uri, mcp.CallOptions{}))
}

// serverAccess is the access of a server's tool, by the present catalogue.
func serverAccess(m *mcp.Manager, full string, t mcp.Tool) (tool.Access, error) {
	if now, ok := m.Tool(full); ok {
		t = now
	}
	access := tool.Access{Kind: tool.KindServer, Verb: "mcp", Object: t.Server + " " + t.Name, Server: t.Server,
		Claims: t.Claims, Reads: t.Reads, Digest: t.Definition}
	for _, s := range m.Servers() {
		if s.Name == t.Server {
			access.Address, access.Local = cmp.Or(s.URL, shell.Quote(s.Command...)), s.URL == ""
		}
	}
	if !t.Changed {
		return access, nil
	}
	changes, err := m.Changes(t.Server)
	if err != nil {
		return access, err
	}
	access.Changed = "(its definition has changed)"
	for _, c := range changes {
		if c.Tool == t.Name {
			access.Changed = edit.DiffFiles(t.Name, []byte(c.Old+"\n"), []byte(c.New+"\n"), true, true)
		}
	}
	return access, nil
}

// progressTo writes a server's reports on a call, a line each.
func progressTo(out io.Writer) func(mcp.Progress) {
	return func(p mcp.Progress) {
		done := fmt.Sprint(p.Done)
		if p.Total > 0 {
			done += fmt.Sprintf(" of %v", p.Total)
		}
		fmt.Fprintln(out, strings.TrimSuffix(done+": "+text.FirstLine(strings.TrimSpace(p.Message)), ": "))
	}
}

// given makes a tool's result of a server's.
func given(env *tool.Env, name string) func(mcp.Result, error) (tool.Result, error) {
	return func(r mcp.Result, err error) (tool.Result, error) {
		if err != nil {
			return tool.Result{}, withHint(err)
		}
		result := tool.Result{IsError: r.IsError, Notices: r.Notices}
		var parts []string
		files := 0
		for _, c := range r.Content {
			switch c.Kind {
			case mcp.Text:
				parts = append(parts, c.Text)
			case mcp.Image:
				result.Images = append(result.Images, tool.Image{MediaType: c.MIME, Data: c.Data, Name: cmp.Or(c.Name, c.URI)})
			case mcp.Link:
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("[resource %s %s %s]", c.URI, c.Name, c.MIME)))
			default: // sounds and other data
				if env.KeepFile == nil {
					return result, fmt.Errorf("it gave %s of %s, which cannot be kept here", text.Bytes(int64(len(c.Data))), c.MIME)
				}
				path, err := env.KeepFile(name, extensionOf(c.MIME), c.Data)
				if err != nil {
					return result, fmt.Errorf("it gave %s of %s, which could not be kept: %w", text.Bytes(int64(len(c.Data))), c.MIME, err)
				}
				files++
				parts = append(parts, fmt.Sprintf("[%s of %s in %s]", text.Bytes(int64(len(c.Data))), c.MIME, path))
			}
		}
		result.Text = strings.Join(parts, "\n")
		if strings.TrimSpace(result.Text) == "" && len(r.Structured) > 0 {
			result.Text = string(r.Structured)
		}
		result.Summary = summaryOf(result, files)
		return result, nil
	}
}

// withHint is a server's error with its remedy, which model and user would not read otherwise.
func withHint(err error) error {
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Hint != "" {
		return fmt.Errorf("%w; try: %s", err, e.Hint)
	}
	return err
}

// extensionOf is the end of a file's name for a server's data.
func extensionOf(media string) string {
	known, err := mime.ExtensionsByType(media)
	if err != nil || len(known) == 0 {
		return ".bin"
	}
	return known[0]
}

// summaryOf is a server's result in a few words.
func summaryOf(r tool.Result, files int) string {
	if r.IsError {
		return cmp.Or(text.Clip(text.FirstLine(strings.TrimSpace(r.Text)), 100), "failed")
	}
	var words []string
	if t := strings.TrimSpace(r.Text); t != "" {
		words = append(words, text.Count(strings.Count(t, "\n")+1, "line"))
	}
	if n := len(r.Images); n > 0 {
		words = append(words, text.Count(n, "image"))
	}
	if files > 0 {
		words = append(words, text.Count(files, "file"))
	}
	return cmp.Or(strings.Join(words, ", "), "no text")
}

// runFind answers mcp_find.
func runFind(ctx context.Context, env *tool.Env, in findInput, _ io.Writer) (tool.Result, error) {
	m := env.MCP
	if m == nil {
		return tool.Result{}, errors.New("there are no MCP servers here")
	}
	if in.Tool != "" {
		return describeTool(ctx, m, in)
	}
	if in.Server != "" {
		tools, err := m.List(ctx, in.Server)
		if err != nil {
			return tool.Result{}, withHint(err)
		}
		return toolRows(matching(tools, in.Query), ""), nil
	}
	var found []mcp.Tool
	var unknown []string
	var rows strings.Builder
	for _, s := range m.Servers() {
		tools, known := m.Tools(s.Name)
		found = append(found, tools...)
		row := fmt.Sprintf("%s: %s", s.Name, text.Count(len(tools), "tool"))
		if !known {
			unknown = append(unknown, s.Name)
			row = s.Name + ": tools not listed yet"
		}
		if s.State == mcp.Failed || s.State == mcp.NeedsLogin {
			row += ", " + string(s.State)
		}
		if s.About != "" {
			row += "; " + s.About
		}
		fmt.Fprintln(&rows, row)
	}
	if in.Query == "" {
		return tool.Result{Text: rows.String(), Summary: text.Count(len(m.Servers()), "server")}, nil
	}
	note := ""
	if unknown != nil {
		note = "(not listed yet, and not searched; name one as server to list it: " + strings.Join(unknown, ", ") + ")\n"
	}
	return toolRows(matching(found, in.Query), note), nil
}

// describeTool gives a tool's whole description and its schema.
func describeTool(ctx context.Context, m *mcp.Manager, in findInput) (tool.Result, error) {
	if in.Server != "" {
		if _, known := m.Tools(in.Server); !known {
			if _, err := m.List(ctx, in.Server); err != nil {
				return tool.Result{}, withHint(err)
			}
		}
	}
	name := in.Tool
	if full := mcp.FullName(in.Server, in.Tool); in.Server != "" && !strings.HasPrefix(in.Tool, "mcp__") {
		name = full
	}
	t, err := serverTool(m, name)
	if err != nil {
		return tool.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\nschema: %s\n", t.Full, cmp.Or(t.Description, t.Title), t.Input)
	if t.Changed {
		b.WriteString("(its definition has changed since the user accepted it: the user is asked at each call)\n")
	}
	return tool.Result{Text: b.String(), Summary: t.Full}, nil
}

// matching are the tools that hold all words of a query in names and descriptions; those whose
// names hold one stand first.
func matching(tools []mcp.Tool, query string) []mcp.Tool {
	words := strings.Fields(strings.ToLower(query))
	found := slices.DeleteFunc(slices.Clone(tools), func(t mcp.Tool) bool {
		all := strings.ToLower(t.Full + " " + t.Title + " " + t.Description)
		return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) })
	})
	named := func(t mcp.Tool) int {
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(t.Name), w) }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(found, func(a, b mcp.Tool) int { return named(a) - named(b) })
	return found
}

// toolRows lists tools, a line each.
func toolRows(tools []mcp.Tool, note string) tool.Result {
	var b strings.Builder
	for _, t := range tools[:min(len(tools), maxToolRows)] {
		about := strings.Join(strings.Fields(cmp.Or(t.Description, t.Title)), " ")
		fmt.Fprintln(&b, text.Clip(strings.TrimSuffix(t.Full+": "+about, ": "), maxToolRow))
	}
	if more := len(tools) - maxToolRows; more > 0 {
		fmt.Fprintf(&b, "(and %d more: a query narrows the list)\n", more)
	}
	if len(tools) == 0 {
		b.WriteString("no tool found\n")
	}
	b.WriteString(note)
	return tool.Result{Text: b.String(), Summary: text.Count(len(tools), "tool")}
}
